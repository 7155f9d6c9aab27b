//! Capture files, of any content.

use std::path::Path;

use rdmactl::capture::Capture;
use rdmactl::collect::host_report;
use rdmactl::model::{Parts, Via};

use super::shown;

/// Reads a file, writes it, reads it back, and prints what its hosts said.
pub fn run(data: &[u8]) {
    let path = Path::new("fuzzed");
    let capture = match Capture::parse(data, path) {
        Ok(capture) => capture,
        Err(error) => {
            // The file's own words are quoted in part only.
            assert!(error.to_string().len() <= 1_000 + data.len());
            return;
        }
    };
    let mut written = Vec::new();
    capture.write(&mut written).expect("memory takes all");
    assert!(Capture::parse(&written[..], path).expect("what is written is read") == capture);
    let hosts = capture.into_sources().into_iter().take(4);
    let reports: Vec<_> = hosts
        .map(|(host, source)| host_report(&source, Parts::ALL, host.host, Via::File))
        .collect();
    shown::print(&reports);
}
