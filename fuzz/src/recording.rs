//! Fuzz target for recordings of `rdmactl top`.

use std::io::Cursor;
use std::path::Path;

use rdmactl::capture::{HostSample, HostSampleRef, RecordingWriter, TopRecording};

/// Maximum number of moments that are read from an input.
const MAX: usize = 64;

/// Plays a recording forward and backward, writes its samples, and plays the written recording.
pub fn run(data: &[u8]) {
    let Some((hosts, mut moments)) = played(data) else { return };
    // Each sample gets a time of its own: the writer omits a sample whose time did not change.
    for (place, sample) in moments
        .iter_mut()
        .enumerate()
        .flat_map(|(place, moment)| moment.iter_mut().map(move |sample| (place, sample)))
    {
        sample.answered_ns = Some(place as u64);
    }
    let once = written(&hosts, &moments);
    let (_, again) = played(&once).expect("what is written is played");
    assert_eq!(again.len(), moments.len());
    assert_eq!(written(&hosts, &again), once);
}

/// Plays a recording forward, then backward. Returns its hosts and the samples of each moment,
/// up to the first invalid moment; `None` if the file is not a recording.
fn played(data: &[u8]) -> Option<(Vec<String>, Vec<Vec<HostSample>>)> {
    let mut recording = match TopRecording::parse(Cursor::new(data), Path::new("fuzzed")) {
        Ok(recording) => recording,
        Err(error) => {
            // An error quotes only a part of the file.
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
    // The first moment is invalid.
    if moments.is_empty() {
        return None;
    }
    for (place, moment) in moments.iter().enumerate().rev() {
        let again = recording.at(place).expect("it was there before");
        assert!(again == moment.as_slice(), "moment {place} differs when played backward");
    }
    Some((recording.hosts().to_vec(), moments))
}

fn written(hosts: &[String], moments: &[Vec<HostSample>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let names = hosts.iter().map(String::as_str);
    let mut writer = RecordingWriter::new(&mut bytes, names).expect("memory takes all");
    let mut before: Option<Vec<HostSampleRef<'_>>> = None;
    for (place, moment) in moments.iter().enumerate() {
        let now: Vec<_> = moment.iter().map(sample_ref).collect();
        writer.write(place as u64, &now, before.as_deref()).expect("memory takes all");
        before = Some(now);
    }
    bytes
}

fn sample_ref(HostSample { report, answered_ns, failure }: &HostSample) -> HostSampleRef<'_> {
    HostSampleRef { report, answered_ns: *answered_ns, failure: failure.as_ref() }
}
