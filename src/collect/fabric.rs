//! Reads the InfiniBand subnets of a machine: nodes, ports, links and subnet managers. Forwarding
//! tables, partitions and counters are read on request.
//!
//! Each subnet is swept once, from the best of the ports that lead to it (`ports`). The tables of
//! subnet administration come first (`administration`); directed routes (`sweep`) replace tables
//! that are rejected. The result goes to `analyse::fabric` and `query`.

mod administration;
mod clear;
mod counters;
#[cfg(test)]
mod fake_mads;
mod import;
mod managers;
mod paired;
mod partitions;
mod peers;
mod port_info;
mod ports;
mod requests;
mod routes;
mod sweep;

use std::collections::BTreeSet;

use super::reader::Reader;
use crate::model::{Fabric, FabricEnd, HostReport, KnownFix, Part, SweepMethod};
use crate::source::{Mads as _, Question, ReadError, parse_mad_ports};
use counters::CounterSelection;
use ports::SweepPort;

pub use clear::{NotCleared, PortToClear, clear_counters};
pub use import::{ImportError, import_fabric, parse_node_names};
pub(super) use peers::read_peers;
pub use sweep::sweep;

const NO_IB_UMAD: &str = "the kernel module ib_umad is not loaded";
/// Start of the keys of problems with a fabric.
const KEY: &str = "fabric";

pub(super) fn read(reader: &mut Reader<'_>, report: &mut HostReport) {
    let path = Question::MadPorts.to_string();
    let ports = match reader.ask(&Question::MadPorts) {
        Ok(answer) => parse_mad_ports(&answer),
        Err(error) if error.is_absent() => {
            let detail = format!("cannot read {path}: {NO_IB_UMAD}");
            return reader.report_missing(KEY, &path, detail, KnownFix::LoadUmad);
        }
        Err(error) => return reader.report_unreadable(KEY, &path, &error, None),
    };
    let Some(opened) = ports::open(reader, report, ports) else { return };
    let mut fabrics: Vec<Fabric> = Vec::new();
    for mut port in opened {
        match read_subnet(reader, report, &mut port, &fabrics) {
            Ok(Some(fabric)) => fabrics.push(fabric),
            Ok(None) => ports::report_plane(reader, &port),
            Err(error) => ports::report_error(reader, &port.facts, &error),
        }
    }
    for fabric in &fabrics {
        report_missing_replies(reader, fabric);
    }
    if !fabrics.is_empty() {
        report.fabrics = Some(fabrics);
    }
}

fn report_missing_replies(reader: &mut Reader<'_>, fabric: &Fabric) {
    let mut report = |key: &str, source: &str, detail: String, fix: KnownFix| {
        let detail = format!("{}/{}: {detail}", fabric.device, fabric.port);
        reader.report_missing(&format!("{KEY}/{key}"), source, detail, fix);
    };
    if let Some(first) = fabric.unanswered.first() {
        let routes: BTreeSet<String> = fabric.unanswered.iter().map(ToString::to_string).collect();
        let first = format!("{first}: no {}: {}", first.attribute, first.detail);
        let detail = match routes.len() {
            1 => first,
            nodes => format!("{first}; {} other nodes with missing replies", nodes - 1),
        };
        report("unanswered", "sweep", detail, KnownFix::ListProblems);
    }
    if fabric.unrecorded > 0 {
        let (unrecorded, requests) = (fabric.unrecorded, fabric.requests);
        let detail =
            format!("the file has no reply to {unrecorded} of {requests} requests of this view");
        report("unrecorded", "sweep", detail, KnownFix::SaveSubnet);
    }
    if fabric.is_partial {
        let detail = format!("the sweep ended early; {} nodes are listed", fabric.nodes.len());
        report("partial", "sweep", detail, KnownFix::Repeat);
    }
    // Rejected tables matter only if no sweep by directed routes replaces them.
    for why in fabric.rejected_tables.iter().filter(|_| fabric.nodes.is_empty()) {
        let detail = format!("tables of subnet administration: {why}");
        report("tables", "subnet administration", detail, KnownFix::OmitViaSa);
    }
}

/// Reads the subnet of a port; `None` if one of the known fabrics holds the port.
fn read_subnet(
    reader: &mut Reader<'_>,
    report: &HostReport,
    port: &mut SweepPort<'_>,
    known: &[Fabric],
) -> Result<Option<Fabric>, ReadError> {
    let SweepPort { facts, own, mads, .. } = port;
    let own = *own;
    let holds = |fabric: &Fabric| {
        let is_own = |guid: u64| own.is_some_and(|own| own.port_guid == guid);
        let ports = fabric.nodes.iter().flat_map(|node| &node.ports);
        ports.filter_map(|port| port.guid).any(|guid| is_own(guid.0))
    };
    if known.iter().any(holds) {
        return Ok(None);
    }
    let parts = &report.parts;
    let mut rejected = Vec::new();
    let mut fabric = None;
    if !parts.has(Part::FabricSmp) {
        match administration::read(mads, own.as_ref())? {
            Ok(found) => fabric = Some(found),
            Err(why) => rejected.push(why.to_string()),
        }
    }
    let mut fabric = match fabric {
        Some(fabric) => fabric,
        None if parts.has(Part::FabricSa) => {
            return Ok(Some(Fabric {
                rejected_tables: rejected,
                ..Fabric::empty(&facts.device, facts.port, SweepMethod::Sa)
            }));
        }
        None => sweep(mads)?,
    };
    fabric.device.clone_from(&facts.device);
    (fabric.port, fabric.rejected_tables) = (facts.port, rejected);
    managers::read(mads, &mut fabric)?;
    if parts.has(Part::FabricRoutes) {
        routes::read(mads, &mut fabric)?;
    }
    if parts.has(Part::FabricPartitions) {
        partitions::read(mads, &mut fabric)?;
    }
    let wanted = match (parts.has(Part::FabricCounters), parts.has(Part::FabricErrors)) {
        (true, _) => Some(CounterSelection::All),
        (false, true) => Some(CounterSelection::Errors),
        (false, false) => None,
    };
    if let Some(wanted) = wanted
        && own.is_none_or(|own| ports::can_count(reader, facts, &own, &fabric))
    {
        let question = Question::Mads(facts.umad.clone());
        counters::read(mads, &mut fabric, wanted, &|| reader.source.answered_ns(&question))?;
    }
    if mads.is_stopped() {
        fabric.is_partial = true;
        // A table with a gap would look like missing routes.
        fabric.nodes.iter_mut().for_each(|node| node.forwarding = None);
    }
    Ok(Some(fabric))
}

/// Returns every port of every node, with the index of its node.
fn ends(fabric: &Fabric) -> impl Iterator<Item = FabricEnd> {
    fabric.nodes.iter().enumerate().flat_map(|(node, found)| {
        found.ports.iter().map(move |port| FabricEnd { node, port: port.number })
    })
}
