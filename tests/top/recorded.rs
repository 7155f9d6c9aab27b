//! Hosts from the captures of the fixtures, also with invalid data.

use std::fs;

use rdmactl::analyse::connections::connections;
use rdmactl::capture::Capture;
use rdmactl::collect::host_report;
use rdmactl::model::{HostReport, Parts, Via};
use rdmactl::query::LIVE_PARTS;
use rdmactl::source::Recorded;

use crate::committed::package;
use crate::pictures::Host;

/// Returns the hosts of one fixture, or of all fixtures.
pub(crate) fn hosts(fixture: Option<&str>) -> Vec<Host> {
    let folders = fs::read_dir(package("tests/fixtures")).expect("fixtures");
    let mut names: Vec<String> = folders
        .map(|folder| folder.expect("a fixture").path())
        .filter(|path| path.join("capture.ndjson").exists())
        .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
        .filter(|name| fixture.is_none_or(|wanted| wanted == name))
        .collect();
    names.sort();
    let parts = Parts::from(LIVE_PARTS);
    let mut reports: Vec<HostReport> = Vec::new();
    for name in names {
        let path = package(&format!("tests/fixtures/{name}/capture.ndjson"));
        for (host, entries) in Capture::read(&path).expect("a capture").hosts {
            let recorded = Recorded::new(entries, None);
            let name = format!("{name}-{}", host.host);
            reports.push(host_report(&recorded, &parts, &name, Via::File));
        }
    }
    let all = connections(&reports);
    let host =
        |(report, connections)| Host { report, answered_s: Some(0), failure: None, connections };
    reports.into_iter().zip(all).map(host).collect()
}
