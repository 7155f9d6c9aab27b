//! Recordings of `rdmactl top`, of any content.

use std::io::Cursor;
use std::path::Path;

use rdmactl::capture::{HostSample, HostSampleRef, RecordingWriter, TopRecording};

/// No input needs more moments to be tried.
const MAX: usize = 64;

/// Plays a file from its beginning and backwards, writes what was seen, and plays that.
pub fn run(data: &[u8]) {
    let Some((hosts, mut moments)) = played(data) else { return };
    // Each is an answer of its own: who tells nothing new is not written again.
    for (place, sighting) in moments
        .iter_mut()
        .enumerate()
        .flat_map(|(place, moment)| moment.iter_mut().map(move |sighting| (place, sighting)))
    {
        sighting.answered_ns = Some(place as u64);
    }
    let once = written(&hosts, &moments);
    let (_, again) = played(&once).expect("what is written is played");
    assert_eq!(again.len(), moments.len());
    assert_eq!(written(&hosts, &again), once);
}

/// The hosts, and what they tell at each moment up to the first one that is wrong; nothing of a file that
/// is none.
fn played(data: &[u8]) -> Option<(Vec<String>, Vec<Vec<HostSample>>)> {
    let mut recording = match TopRecording::parse(Cursor::new(data), Path::new("fuzzed")) {
        Ok(recording) => recording,
        Err(error) => {
            // The file's own words are quoted in part only.
            assert!(error.to_string().len() <= 1_000 + data.len());
            return None;
        }
    };
    assert!(recording.count() > 0);
    let mut moments = Vec::new();
    for place in 0..recording.count().min(MAX) {
        let Ok(moment) = recording.at(place) else { break };
        moments.push(moment.to_vec());
    }
    // Without its first moment there is nothing to play.
    if moments.is_empty() {
        return None;
    }
    for (place, moment) in moments.iter().enumerate().rev() {
        let again = recording.at(place).expect("it was there before");
        assert!(again == moment.as_slice(), "moment {place} is another one backwards");
    }
    Some((recording.hosts().to_vec(), moments))
}

fn written(hosts: &[String], moments: &[Vec<HostSample>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let names = hosts.iter().map(String::as_str);
    let mut writer = RecordingWriter::new(&mut bytes, names).expect("memory takes all");
    let mut before: Option<Vec<HostSampleRef<'_>>> = None;
    for (place, moment) in moments.iter().enumerate() {
        let now: Vec<_> = moment.iter().map(sighting).collect();
        writer.write(place as u64, &now, before.as_deref()).expect("memory takes all");
        before = Some(now);
    }
    bytes
}

fn sighting(HostSample { report, answered_ns, failure }: &HostSample) -> HostSampleRef<'_> {
    HostSampleRef { report, answered_ns: *answered_ns, failure: failure.as_ref() }
}
