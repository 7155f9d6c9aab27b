//! Capture files that are made anonymous, of any content.

use std::path::Path;

use rdmactl::capture::Capture;

/// Takes the names out of a capture: it keeps its hosts and all their questions, no host keeps its
/// name, and it can be read again.
pub fn run(data: &[u8]) {
    let path = Path::new("fuzzed");
    let Ok(capture) = Capture::parse(data, path) else { return };
    let names: Vec<String> = capture.hosts.iter().map(|(head, _)| head.host.clone()).collect();
    let counts: Vec<usize> = capture.hosts.iter().map(|(_, entries)| entries.len()).collect();
    let redacted = capture.redacted().expect("the system has random numbers");
    let kept: Vec<usize> = redacted.hosts.iter().map(|(_, entries)| entries.len()).collect();
    assert_eq!(kept, counts);
    for ((head, _), name) in redacted.hosts.iter().zip(&names) {
        // Short ones may come out as others were.
        assert!(name.len() < 6 || !head.host.contains(name.as_str()), "{name:?}");
    }
    let mut written = Vec::new();
    redacted.write(&mut written).expect("memory takes all");
    assert!(Capture::parse(&written[..], path).is_ok(), "what is written is read");
}
