use std::io::Cursor;
use std::path::Path;

use super::*;
use crate::capture::CaptureError;
use crate::model::Counter;

/// Returns the report of a host with one counter, which may have a rate.
fn report(host: &str, value: u64, rate: bool) -> HostReport {
    let rate = rate.then(|| {
        serde_json::json!({
            "change": "counted", "interval_ns": 9, "delta": 1, "rate_per_s": 1.5, "rate_bps": 8
        })
    });
    let counter: Counter = serde_json::from_value(serde_json::json!({
        "name": "port_xmit_data", "group": "pma", "value": value, "unit": "bytes",
        "saturated": false, "read_ns": value, "rate": rate
    }))
    .unwrap();
    let device = serde_json::json!({ "name": "mlx5_0", "counters": [counter], "ports": [] });
    HostReport {
        taken_ns: Some(value),
        devices: vec![serde_json::from_value(device).unwrap()],
        ..HostReport::empty(host, Via::Agent)
    }
}

fn here(host: &str, value: u64) -> HostSample {
    HostSample { report: report(host, value, false), answered_ns: Some(value), failure: None }
}

fn silent(sighting: &HostSample, why: &str) -> HostSample {
    let failure = Some(HostFailure::new(Reason::Lost, why));
    HostSample { failure, ..sighting.clone() }
}

/// Returns samples of two hosts. The first host answers, fails for two reasons, and answers
/// again. The second answers each time.
fn moments(count: u64) -> Vec<[HostSample; 2]> {
    let n1 = |at: u64| match at % 4 {
        0 | 3 => here("n1", at),
        1 => silent(&here("n1", at - 1), "gone"),
        _ => silent(&here("n1", at - 2), "still gone"),
    };
    (0..count).map(|at| [n1(at), here("n2", at)]).collect()
}

fn refs(sightings: &[HostSample]) -> Vec<HostSampleRef<'_>> {
    let sightings = sightings.iter().map(|HostSample { report, answered_ns, failure }| {
        HostSampleRef { report, answered_ns: *answered_ns, failure: failure.as_ref() }
    });
    sightings.collect()
}

fn written(moments: &[[HostSample; 2]]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = RecordingWriter::new(&mut out, ["n1", "n2"]).unwrap();
    let mut before: Option<&[HostSample; 2]> = None;
    for (at, moment) in moments.iter().enumerate() {
        let old = before.map(|before| refs(before));
        writer.write(at as u64, &refs(moment), old.as_deref()).unwrap();
        before = Some(moment);
    }
    out
}

fn parsed(bytes: &[u8]) -> Result<TopRecording<Cursor<&[u8]>>, CaptureError> {
    TopRecording::parse(Cursor::new(bytes), Path::new("x"))
}

#[test]
fn every_moment_is_the_one_that_was_written_in_whatever_order_they_are_asked_for() {
    let moments = moments(130);
    let bytes = written(&moments);
    let mut recording = parsed(&bytes).unwrap();
    assert_eq!((recording.count(), recording.hosts().len()), (130, 2));
    assert!(recording.tail().is_none());
    for place in (0..130).chain((0..130).rev()).chain([0, 129, 1, 60, 59, 61, 61]) {
        assert_eq!(recording.taken_ns(place), Some(place as u64));
        assert_eq!(recording.at(place).unwrap(), moments[place], "{place}");
    }
    assert_eq!(recording.at(130).unwrap(), []);
}

#[test]
fn rates_are_not_recorded() {
    let sighting = HostSample { report: report("n1", 7, true), ..here("n1", 7) };
    let bytes = written(&[[sighting, here("n2", 7)]]);
    assert_eq!(parsed(&bytes).unwrap().at(0).unwrap()[0], here("n1", 7));
}

#[test]
fn unchanged_report_is_not_written_again() {
    let still = |at: u64| [silent(&here("n1", 0), "gone"), here("n2", at)];
    let bytes = written(&[still(0), still(1), still(2)]);
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.matches("\"host\":0").count(), 1, "{text}");
    assert_eq!(text.matches("\"report\":").count(), 2, "{text}");
}

#[test]
fn a_recording_that_was_cut_is_played_up_to_its_last_whole_moment() {
    let moments = moments(3);
    let bytes = written(&moments);
    let whole = written(&moments[..2]).len();
    for length in whole + 1..bytes.len() {
        let mut recording = parsed(&bytes[..length]).unwrap();
        assert_eq!(recording.count(), 2, "{length}");
        assert!(recording.tail().is_some(), "{length}");
        assert_eq!(recording.at(1).unwrap(), moments[1]);
    }
    let garbage = [&bytes[..], b"\0\0\0\0"].concat();
    let recording = parsed(&garbage).unwrap();
    assert_eq!(recording.count(), 3);
    assert!(recording.tail().unwrap().to_string().contains("line 11"), "{:?}", recording.tail());
}

#[test]
fn a_wrong_line_is_named_and_what_is_before_it_can_still_be_seen() {
    let moments = moments(3);
    let text = String::from_utf8(written(&moments)).unwrap();
    let last = text.lines().last().unwrap();
    for (line, cause) in [
        (r#"{"host":9,"answered_ns":1,"failure":null}"#, "line 10: the header has no host 9"),
        (
            r#"{"host":1,"answered_ns":1,"failure":null,"change":[[9999,0,""]]}"#,
            "line 10: the delta does not fit",
        ),
        (r#"{"host":1,"answered_ns":1,"failure":null,"report":{}}"#, "line 10: missing field"),
        (
            r#"{"host":1,"answered_ns":1,"failure":null,"report":{},"change":[]}"#,
            "line 10: both a report and a change",
        ),
        ("noise", "line 10: expected"),
    ] {
        let bytes = text.replace(last, line).into_bytes();
        let mut recording = parsed(&bytes).unwrap();
        let error = recording.at(2).unwrap_err().to_string();
        assert!(error.contains(cause), "{error}");
        assert_eq!(recording.at(1).unwrap(), moments[1], "{line}");
    }
}

#[test]
fn a_report_on_the_way_to_a_moment_is_not_read_when_a_later_one_is_in_its_place() {
    let moments = moments(2);
    let text = String::from_utf8(written(&moments[..1])).unwrap();
    let wrong = r#"{"host":1,"answered_ns":1,"failure":null,"report":{}}"#;
    let report = serde_json::to_string(&moments[1][1].report).unwrap();
    let right = format!(r#"{{"host":1,"answered_ns":1,"failure":null,"report":{report}}}"#);
    let text = format!(
        "{text}{}\n{wrong}\n{}\n{right}\n",
        r#"{"moment":1,"whole":false,"lines":1}"#, r#"{"moment":2,"whole":false,"lines":1}"#
    );
    let mut recording = parsed(text.as_bytes()).unwrap();
    assert_eq!(recording.at(2).unwrap()[1], moments[1][1]);
    assert!(recording.at(1).unwrap_err().to_string().contains("line 6: missing field"));
}

#[test]
fn invalid_recording_is_an_error_with_its_cause() {
    let header = r#"{"schema":"rdmactl.recording/1","tool":"rdmactl 0.1.0","hosts":["n1"]}"#;
    let late = format!("{header}\n{}\n", r#"{"moment":1,"whole":false,"lines":0}"#);
    for (text, cause) in [
        ("", "line 1: the file is empty"),
        ("{}\n", "line 1: not a header"),
        (
            r#"{"schema":"rdmactl.recording/9","tool":"","hosts":[]}"#,
            "line 1: the file is a rdmactl.recording/9",
        ),
        (header, "the recording has no sample"),
        (&late, "line 2: the first moment is not whole"),
    ] {
        let error = parsed(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(cause), "{error}");
    }
}
