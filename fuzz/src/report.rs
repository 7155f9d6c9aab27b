//! Reports from the agent of another host, of any content.

use rdmactl::analyse::fabric::errors::Thresholds;
use rdmactl::analyse::rate::Counted;
use rdmactl::model::HostReport;

use super::{shown, subnet};

/// Prints a report, and the rates between it and a second one, which stands in the next line.
pub fn run(data: &[u8]) {
    let mut reports = data
        .split(|byte| *byte == b'\n')
        .map_while(|line| serde_json::from_slice::<HostReport>(line).ok());
    let Some(first) = reports.next() else { return };
    if first.fabrics.is_some() {
        subnet::judge(first.clone(), &Thresholds::default());
    }
    let before = [first];
    shown::print(&before);
    if let Some(second) = reports.next() {
        let mut now = [second];
        Counted::of(&before).add_rates(&mut now);
        shown::print(&now);
    }
}
