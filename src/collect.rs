//! Turns the answers of a source into a [`HostReport`], each part with its values and problems.
//!
//! It knows files and formats, and not where they come from: this host, a node, a capture. What is
//! not there is `None`; what is there but unreadable is `None` and a problem. The report goes to
//! `analyse` and `query`.

mod caps;
mod dcb;
mod ethtool;
mod nldev;
mod provider;
mod reader;
mod rtnetlink;
mod sysfs;
mod verbs;

use crate::model::{HostReport, Parts, Via};
use crate::source::Source;

use reader::Reader;
use sysfs::Extent;

/// Reads one host.
pub fn host_report(
    source: &dyn Source,
    parts: Parts,
    host: impl Into<String>,
    via: Via,
) -> HostReport {
    let mut report = HostReport::empty(host, via);
    report.taken_ns = source.taken_ns();
    let mut reader = Reader::new(source);
    let extent = if parts.brief_gids { Extent::Address } else { Extent::Whole };
    sysfs::read_host(&mut reader, &mut report, extent);
    nldev::read_netdevs(&mut reader, &mut report);
    sysfs::read_rates(&mut reader, &mut report);
    if parts.netdevs || parts.ethernet {
        sysfs::read_netdevs(&mut reader, &mut report);
    }
    if parts.ethernet {
        ethtool::read(&mut reader, &mut report);
    }
    provider::read(&mut reader, &mut report);
    if parts.pkeys {
        sysfs::read_pkeys(&mut reader, &mut report);
    }
    if parts.netlink {
        nldev::read_inventory(&mut reader, &mut report);
    }
    if parts.gpus {
        sysfs::read_gpus(&mut reader, &mut report);
    }
    if parts.counters {
        sysfs::read_counters(&mut reader, &mut report);
        nldev::read_counters(&mut reader, &mut report);
    }
    if parts.resources {
        nldev::read_resources(&mut reader, &mut report);
        if parts.keys {
            nldev::read_keys(&mut reader, &report);
        }
    }
    report.problems = reader.into_problems();
    if parts.verbs {
        verbs::read(source, &mut report);
    }
    report
}
