//! Fuzz target for files about subnets: ibnetdiscover output, opensm-subnet.lst, thresholds, node
//! name maps and topologies.

use rdmactl::analyse::fabric::errors::Thresholds;
use rdmactl::collect::{import_fabric, parse_node_names};
use rdmactl::hosts::HostSet;
use rdmactl::model::{Fabric, HostReport, Via};
use rdmactl::topology::LeafSwitches;

use super::subnet;

/// Parses the text as each kind of file. Judges and prints an imported subnet. An error names a
/// line.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let lines = text.lines().count();
    let thresholds = thresholds(text, lines);
    match parse_node_names(text) {
        Ok(names) => assert!(names.len() <= lines),
        Err(error) => is_bounded(error.line, &error.to_string(), lines),
    }
    topology(text, lines);
    match import_fabric("file", text) {
        None => {}
        Some(Err(error)) => is_bounded(error.line, &error.to_string(), lines),
        Some(Ok(fabric)) => {
            imported(&fabric, text);
            let mut report = HostReport::empty("fuzzed", Via::File);
            report.fabrics = Some(vec![fabric]);
            let length = subnet::check(report, &thresholds);
            assert!(length <= 16_384 + 4_096 * lines + 64 * text.len(), "{length} bytes of JSON");
        }
    }
}

fn is_bounded(line: usize, error: &str, lines: usize) {
    assert!((1..=lines).contains(&line), "{error}");
    assert!(error.len() <= 200, "{error}");
}

/// Checks that the lines of a file bound the nodes and links of its subnet.
fn imported(fabric: &Fabric, text: &str) {
    let lines = text.lines().count();
    assert!(fabric.nodes.len() <= 2 * lines);
    assert!(fabric.links().count() <= 2 * lines);
}

fn thresholds(text: &str, lines: usize) -> Thresholds {
    Thresholds::parse(text).unwrap_or_else(|error| {
        is_bounded(error.line, &error.to_string(), lines);
        Thresholds::default()
    })
}

fn topology(text: &str, lines: usize) {
    let expand = |set: &str| match HostSet::parse(set) {
        Ok(set) => Ok(set.iter().map(ToString::to_string).collect()),
        Err(error) => Err(error.to_string()),
    };
    match LeafSwitches::parse(text, &expand) {
        Ok(leaves) => assert!((1..=LeafSwitches::MAX_NAMES).contains(&leaves.hosts())),
        Err(error) => {
            assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{error:?}");
            assert!(!error.fix.is_empty() && error.what.len() <= 8 * text.len() + 1_000);
        }
    }
}
