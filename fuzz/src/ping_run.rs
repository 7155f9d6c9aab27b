//! Fuzz target for saved ping runs.

use std::path::Path;

use rdmactl::analyse::regression;
use rdmactl::capture::PingRun;
use rdmactl::render::{
    PingDocument, render_diff, render_findings, render_html, render_matrix, render_svg, to_json,
};

use super::shown::is_harmless;

/// Parses a ping run and prints it. The written run is read back, a run does not differ from
/// itself, and no format controls the terminal.
pub fn run(data: &[u8]) {
    let Ok(report) = PingRun::parse(data, Path::new("run.json")) else { return };
    let again = to_json(&PingDocument::new(&report)).expect("JSON");
    let again =
        PingRun::parse(again.as_bytes(), Path::new("run.json")).expect("it was read before");
    assert_eq!(again, report);
    let rails = report.grid().rails();
    if report.hosts.len() > 40 || rails > 4 {
        return;
    }
    assert!(is_harmless(&render_findings(&report)) && is_harmless(&render_matrix(&report, true)));
    for picture in [render_svg(&report), render_html(&report)].into_iter().flatten() {
        assert!(is_harmless(&picture) && !picture.contains("<script"));
    }
    let diff = regression::between(&report, &report);
    assert!(diff.broken.is_empty() && diff.mended.is_empty());
    assert!(is_harmless(&render_diff(&diff)));
}
