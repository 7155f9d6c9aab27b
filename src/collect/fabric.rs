//! Reads the InfiniBand subnets of a machine: nodes, ports, links, subnet managers, and on request
//! forwarding tables, partitions and counters.
//!
//! Each subnet is swept once, from the best of the ports that lead to it (`ports`). The tables of
//! subnet administration come first (`administration`); directed routes (`sweep`) replace tables
//! that are rejected. The result goes to `analyse::fabric` and `query`.

mod administration;
mod counters;
mod import;
mod managers;
mod paired;
mod partitions;
mod port_info;
mod ports;
mod requests;
mod routes;
mod sweep;

use crate::model::{Fabric, FabricEnd, HostReport, Part, SweepMethod};
use crate::source::{Mads as _, Question, ReadError, parse_mad_ports};

use super::reader::Reader;
use ports::SweepPort;

pub use import::{ImportError, import_fabric, parse_node_names};
pub use sweep::sweep;

/// Key of problems with the fabric.
const KEY: &str = "fabric";

/// Reads the subnets of a machine into the report.
pub(super) fn read(reader: &mut Reader<'_>, report: &mut HostReport) {
    let question = Question::MadPorts;
    let ports = match reader.ask(&question) {
        Ok(answer) => parse_mad_ports(&answer),
        Err(error) => {
            let path = question.to_string();
            if error.is_absent() {
                let detail = format!("cannot read {path}: the kernel module ib_umad is not loaded");
                reader.lacking(KEY, &path, &detail, "modprobe ib_umad");
            } else {
                reader.unreadable(KEY, &path, &error, None);
            }
            return;
        }
    };
    let Some(opened) = ports::open(reader, report, ports) else { return };
    let mut fabrics: Vec<Fabric> = Vec::new();
    for mut port in opened {
        match of_port(reader, report, &mut port, &fabrics) {
            Ok(Some(fabric)) => fabrics.push(fabric),
            Ok(None) => ports::note_plane(reader, &port),
            Err(error) => ports::note_error(reader, &port.facts, &error),
        }
    }
    for fabric in &fabrics {
        for silent in &fabric.silent {
            let detail = format!("{silent}: no {}: {}", silent.attribute, silent.detail);
            reader.unanswered(&format!("{KEY}/silent"), &silent.to_string(), detail);
        }
        if fabric.is_partial {
            let detail = format!(
                "{}/{}: the sweep ended early; {} nodes are listed",
                fabric.device,
                fabric.port,
                fabric.nodes.len()
            );
            reader.lacking(&format!("{KEY}/partial"), "sweep", &detail, "run the command again");
        }
        // Tables of no use cost nothing where directed routes replace them.
        for why in fabric.rejected_tables.iter().filter(|_| fabric.nodes.is_empty()) {
            let detail = format!(
                "{}/{}: tables of subnet administration: {why}",
                fabric.device, fabric.port
            );
            reader.lacking(
                &format!("{KEY}/tables"),
                "subnet administration",
                &detail,
                "omit --via sa",
            );
        }
    }
    report.fabrics = Some(fabrics);
}

/// Reads the subnet of a port; `None` if one of the fabrics holds the port.
fn of_port(
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
    let mut can_count = || own.is_none_or(|own| ports::can_count(reader, facts, &own, &fabric));
    if parts.has(Part::FabricCounters) && can_count() {
        counters::read(mads, &mut fabric)?;
    }
    if mads.is_stopped() {
        fabric.is_partial = true;
        // A table with a gap would look like missing routes.
        fabric.nodes.iter_mut().for_each(|node| node.forwarding = None);
    }
    Ok(Some(fabric))
}

/// Returns every port of every node, with its place.
fn ends(fabric: &Fabric) -> impl Iterator<Item = FabricEnd> {
    fabric.nodes.iter().enumerate().flat_map(|(node, found)| {
        found.ports.iter().map(move |port| FabricEnd { node, port: port.number })
    })
}
