//! Fuzz target for reports from the agent of another host.

use rdmactl::analyse::fabric::errors::Thresholds;
use rdmactl::analyse::rate::CounterSample;
use rdmactl::model::{Counter, Device, Gid, HostReport, Netdev, Port, Problem, Resource};
use rdmactl::wire::limits::REPORT;

use super::{HEAP, shown, subnet};

/// Prints the report in the first line, and the rates between it and the report in the second
/// line.
pub fn run(data: &[u8]) {
    let mut reports = data.split(|byte| *byte == b'\n').map_while(read);
    let Some(first) = reports.next() else { return };
    if first.fabrics.is_some() {
        subnet::judge(first.clone(), &Thresholds::default());
    }
    let before = [first];
    shown::print(&before);
    if let Some(second) = reports.next() {
        let mut now = [second];
        CounterSample::of(&before).add_rates(&mut now);
        shown::print(&now);
    }
}

/// Memory of a report that the estimate does not count, in bytes: the tree nodes of two maps,
/// which the fuzzer can fill.
const UNCOUNTED: usize = 512 << 10;

/// Parses a report as the operator's rdmactl does. The estimate covers the memory that the report
/// keeps, and the memory of its lists.
fn read(line: &[u8]) -> Option<HostReport> {
    let estimate = REPORT.check(line).ok()?;
    let before = HEAP.current_usage();
    let report: HostReport = serde_json::from_slice(line).ok()?;
    let kept = HEAP.current_usage().saturating_sub(before);
    assert!(kept <= estimate + UNCOUNTED, "{kept} bytes are kept, {estimate} estimated");
    let made = list_bytes(&report);
    assert!(made <= estimate, "{made} bytes of lists, {estimate} estimated");
    Some(report)
}

/// Returns the memory of the lists with the largest members, in bytes. It counts the capacity of
/// a list where the capacity is known.
fn list_bytes(report: &HostReport) -> usize {
    fn of<T>(list: &Vec<T>) -> usize {
        list.capacity() * size_of::<T>()
    }
    fn optional<T>(list: Option<&Vec<T>>) -> usize {
        list.map_or(0, of)
    }
    let ports = |device: &Device| -> usize {
        let lists = |port: &Port| {
            optional::<Gid>(port.gids.as_ref()) + optional::<Counter>(port.counters.as_ref())
        };
        of::<Port>(&device.ports) + device.ports.iter().map(lists).sum::<usize>()
    };
    of::<Device>(&report.devices)
        + report.devices.iter().map(ports).sum::<usize>()
        + report.netdevs.as_ref().map_or(0, |all| all.len() * size_of::<Netdev>())
        + optional::<Resource>(report.resources.as_ref())
        + report.problems.len() * size_of::<Problem>()
}
