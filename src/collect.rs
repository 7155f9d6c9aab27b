//! Turns the replies of a [`Source`] into a [`HostReport`] with values and problems.
//!
//! The module knows files and formats, but not their origin: this host, a remote host or a
//! capture. A missing value is `None`. An unreadable value is `None` and a problem. The report
//! goes to `analyse` and `query`.

mod caps;
mod consumers;
#[cfg(test)]
mod covered_sysfs;
mod dcb;
mod ethtool;
mod fabric;
#[cfg(test)]
mod long_lists;
mod nldev;
mod provider;
mod reader;
mod sysfs;
mod system;
mod verbs;

use crate::model::{HostReport, Part, Parts, Via};
use crate::source::{Question, Source};

pub use fabric::{
    ImportError, NotCleared, PortToClear, clear_counters, import_fabric, parse_node_names, sweep,
};
use reader::Reader;

/// Reads the requested parts of one host.
pub fn host_report(
    source: &dyn Source,
    parts: &Parts,
    host: impl Into<String>,
    via: Via,
) -> HostReport {
    if parts.has(Part::Verbs) {
        // The child process runs while this process reads. An early fork copies less memory.
        source.expect(&Question::Verbs);
    }
    let mut report = HostReport::empty(host, via);
    report.taken_ns = source.taken_ns();
    let mut reader = Reader::new(source);
    report.parts = parts.clone();
    sysfs::read_host(&mut reader, &mut report);
    nldev::report_covered_devices(&mut reader, &report);
    nldev::read_netdevs(&mut reader, &mut report);
    sysfs::read_rates(&mut reader, &mut report);
    sysfs::compare_links(&mut report.devices);
    if parts.has(Part::Netdevs) || parts.has(Part::Ethernet) {
        sysfs::read_netdevs(&mut reader, &mut report);
    }
    if parts.has(Part::Ethernet) {
        ethtool::read(&mut reader, &mut report);
    }
    provider::read(&mut reader, &mut report);
    if parts.has(Part::Pkeys) {
        sysfs::read_pkeys(&mut reader, &mut report);
    }
    if parts.has(Part::Netlink) {
        nldev::read_inventory(&mut reader, &mut report);
    }
    if parts.has(Part::Gpus) {
        sysfs::read_gpus(&mut reader, &mut report);
    }
    if parts.has(Part::Counters) {
        sysfs::read_counters(&mut reader, &mut report);
        nldev::read_counters(&mut reader, &mut report);
    }
    if parts.has(Part::Resources) {
        nldev::read_resources(&mut reader, &mut report);
        if parts.has(Part::Keys) {
            nldev::report_hidden_keys(&mut reader, &report);
        }
    }
    if parts.has(Part::Connections) {
        consumers::read(&mut reader, &mut report);
    }
    if parts.has(Part::System) {
        system::read(&mut reader, &mut report);
    }
    if parts.has(Part::Fabric) {
        fabric::read(&mut reader, &mut report);
    }
    if parts.has(Part::FabricPeers) {
        fabric::read_peers(&mut reader, &mut report);
    }
    report.problems = reader.problems.into();
    if parts.has(Part::Verbs) {
        verbs::read(source, &mut report);
    }
    report
}
