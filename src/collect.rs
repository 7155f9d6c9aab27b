//! Turns the answers of a source into a [`HostReport`], each part with its values and problems.
//!
//! It knows files and formats, and not where they come from: this host, a node, a capture. What is
//! not there is `None`; what is there but unreadable is `None` and a problem. The report goes to
//! `analyse` and `query`.

mod caps;
mod consumers;
mod dcb;
mod ethtool;
mod fabric;
mod nldev;
mod provider;
mod reader;
mod rtnetlink;
mod sysfs;
mod verbs;

use crate::model::{HostReport, Part, Parts, Via};
use crate::source::{Question, Source};

pub use fabric::{
    ImportError, NotCleared, PortToClear, clear_counters, import_fabric, parse_node_names, sweep,
};
use reader::Reader;

/// Reads one host.
pub fn host_report(
    source: &dyn Source,
    parts: &Parts,
    host: impl Into<String>,
    via: Via,
) -> HostReport {
    if parts.has(Part::Verbs) {
        // It works while the files are read, and copies less of this process the earlier it starts.
        source.expect(&Question::Verbs);
    }
    let mut report = HostReport::empty(host, via);
    report.taken_ns = source.taken_ns();
    let mut reader = Reader::new(source);
    report.parts = parts.clone();
    sysfs::read_host(&mut reader, &mut report);
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
            nldev::read_keys(&mut reader, &report);
        }
    }
    if parts.has(Part::Connections) {
        consumers::read(&mut reader, &mut report);
    }
    if parts.has(Part::Fabric) {
        fabric::read(&mut reader, &mut report);
    }
    if parts.has(Part::FabricPeers) {
        fabric::read_peers(&mut reader, &mut report);
    }
    report.problems = reader.into_problems().into();
    if parts.has(Part::Verbs) {
        verbs::read(source, &mut report);
    }
    report
}
