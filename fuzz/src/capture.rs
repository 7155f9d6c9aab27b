//! Fuzz target for capture files.

use std::collections::HashMap;
use std::path::Path;

use rdmactl::capture::Capture;
use rdmactl::collect::host_report;
use rdmactl::model::{Parts, Via};
use rdmactl::source::{Entry, Question};

use super::shown;

/// Parses a capture, writes it, parses the written capture, and prints the reports of its hosts.
pub fn run(data: &[u8]) {
    let path = Path::new("fuzzed");
    let capture = match Capture::parse(data, path) {
        Ok(capture) => capture,
        Err(error) => {
            // An error quotes only a part of the file.
            assert!(error.to_string().len() <= 1_000 + data.len());
            return;
        }
    };
    let mut written = Vec::new();
    capture.write(&mut written).expect("memory takes all");
    let again = Capture::parse(&written[..], path).expect("what is written is read");
    assert_eq!(again.taken_ns, capture.taken_ns);
    assert_eq!(again.hosts.len(), capture.hosts.len());
    for ((head, entries), (head_again, entries_again)) in capture.hosts.iter().zip(&again.hosts) {
        assert_eq!(head, head_again);
        assert!(first_answers(entries) == first_answers(entries_again));
    }
    let hosts = capture.into_sources().into_iter().take(4);
    let reports: Vec<_> = hosts
        .map(|(host, source)| host_report(&source, &Parts::all(), host.host, Via::File))
        .collect();
    shown::print(&reports);
}

/// Returns the first entry for each question. A capture uses only the first entry, and the writer
/// moves equal entries next to each other.
fn first_answers(entries: &[Entry]) -> HashMap<&Question, &Entry> {
    let mut first = HashMap::new();
    for entry in entries {
        first.entry(&entry.question).or_insert(entry);
    }
    first
}
