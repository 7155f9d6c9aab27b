//! Fuzz target for simulated fabrics (`rdmactl ping --simulate`).

use rdmactl::hosts::HostSet;
use rdmactl::model::ping::Code;
use rdmactl::ping::fabric::SimulatedFabric;
use rdmactl::ping::simulation;
use rdmactl::render::{render_findings, render_matrix};

use super::shown;

/// Parses a fabric and runs it if it is small. The run counts each pair once. If a pair fails,
/// findings exist. Outliers name hosts and rails of the fabric.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let expand = |set: &str| match HostSet::parse(set) {
        Ok(set) => Ok(set.iter().map(ToString::to_string).collect()),
        Err(error) => Err(error.to_string()),
    };
    let fabric = match SimulatedFabric::parse(text, &expand) {
        Ok(fabric) => fabric,
        Err(error) => {
            let lines = text.lines().count();
            assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{error:?}");
            assert!(!error.fix.is_empty() && error.what.len() <= 8 * text.len() + 1_000);
            return;
        }
    };
    let (hosts, rails) = (fabric.hosts().len(), fabric.rails());
    assert!(
        (1..=SimulatedFabric::MAX_HOSTS).contains(&hosts)
            && (1..=SimulatedFabric::MAX_RAILS).contains(&rails)
    );
    if hosts > 20 || rails > 2 {
        return;
    }
    let report = simulation::run(&fabric, "fabric.txt");
    let summary = report.summary;
    assert_eq!(summary.pairs, hosts * (hosts - 1) * rails);
    assert_eq!(summary.pairs, summary.ok + summary.failed);
    assert_eq!(report.pairs.len(), summary.pairs);
    assert_eq!(summary.failed == 0, report.findings.is_empty());
    assert!(report.findings.iter().all(|found| found.code != Code::Ok));
    let slow = report.outliers.iter();
    assert!(slow.clone().all(|slow| slow.host.is_none_or(|host| host < hosts)));
    assert!(slow.clone().all(|slow| slow.rails.iter().all(|&rail| rail < rails)));
    assert!(hosts >= 4 || report.outliers.is_empty());
    for text in [render_matrix(&report, true), render_findings(&report)] {
        assert!(shown::is_harmless(&text), "{text:?}");
    }
}
