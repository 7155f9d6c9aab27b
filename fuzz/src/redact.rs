//! Fuzz target for redacted captures.

use std::path::Path;

use rdmactl::capture::Capture;

/// Redacts a capture. The capture keeps its hosts and all their questions, and it can be parsed
/// again. No host keeps its name.
pub fn run(data: &[u8]) {
    let path = Path::new("fuzzed");
    let Ok(capture) = Capture::parse(data, path) else { return };
    let names: Vec<String> = capture.hosts.iter().map(|(head, _)| head.host.clone()).collect();
    let counts: Vec<usize> = capture.hosts.iter().map(|(_, entries)| entries.len()).collect();
    let redacted = capture.redacted().expect("the system has random numbers");
    let kept: Vec<usize> = redacted.hosts.iter().map(|(_, entries)| entries.len()).collect();
    assert_eq!(kept, counts);
    for ((head, _), name) in redacted.hosts.iter().zip(&names) {
        // A replacement may contain a short name by coincidence.
        assert!(name.len() < 6 || !head.host.contains(name.as_str()), "{name:?}");
    }
    let mut written = Vec::new();
    redacted.write(&mut written).expect("memory takes all");
    assert!(Capture::parse(&written[..], path).is_ok(), "what is written is read");
}
