//! Reads the InfiniBand subnets of a machine: nodes, ports, links, subnet managers, and on request
//! forwarding tables, partitions and counters.
//!
//! Each subnet is swept once, from the best of the ports that lead to it. The tables of subnet
//! administration come first (`administration`); directed routes (`sweep`) replace them where the
//! tables are rejected. The result goes to `analyse::fabric` and `query`.

mod administration;
mod counters;
mod import;
mod managers;
mod partitions;
mod port_info;
mod requests;
mod routes;
mod sweep;

use crate::mad::{DirectedPath, NodeInfo, directed_smp, smp_attribute};
use crate::model::{Fabric, FabricEnd, HostReport, Part, SweepMethod};
use crate::source::{MadPortFacts, Mads, Question, ReadError, Source, parse_mad_ports};

use super::reader::Reader;

pub use import::{ImportError, import_fabric, parse_node_names};
pub use sweep::sweep;

/// Key of problems with the fabric.
const KEY: &str = "fabric";
/// Logical state of a port that carries traffic.
const ACTIVE: u8 = 4;
/// Most ports of a machine from which sweeps begin.
const MOST_PORTS: usize = 64;

/// Reads the subnets of a machine into the report.
pub(super) fn read(reader: &mut Reader<'_>, report: &mut HostReport) {
    let question = Question::MadPorts;
    let source = reader.source();
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
    let mut fabrics: Vec<Fabric> = Vec::new();
    let (mut usable, others): (Vec<_>, Vec<_>) =
        ports.into_iter().take(MOST_PORTS).partition(MadPortFacts::is_infiniband);
    if usable.is_empty() {
        let why = match others.first() {
            Some(port) => format!(
                "{} port {}: link layer {}: there is no subnet manager and no fabric to read",
                port.device, port.port, port.link_layer
            ),
            None => "no port sends management datagrams (MADs)".to_owned(),
        };
        let fix = "for RoCE use rdmactl ports, rdmactl ping --matrix and the tools of the switches";
        reader.lacking(KEY, &question.to_string(), &why, fix);
        return;
    }
    // The best port of each subnet is swept; the others are found to be in it.
    usable.sort_by_key(|port| (port.state != ACTIVE, port.physical_state != 5));
    for facts in usable {
        match of_port(source, report, &facts, &fabrics) {
            Ok(Some(fabric)) => fabrics.push(fabric),
            Ok(None) => {}
            Err(error) => {
                let key = format!("{KEY}/{}/{}", facts.device, facts.port);
                let path = format!("/dev/infiniband/{}", facts.umad);
                reader.unreadable(&key, &path, &error, None);
            }
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
    source: &dyn Source,
    report: &HostReport,
    facts: &MadPortFacts,
    known: &[Fabric],
) -> Result<Option<Fabric>, ReadError> {
    let mut mads = source.mads(&facts.umad)?;
    let mads = &mut *mads;
    let own = own_node(mads)?;
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
    if parts.has(Part::FabricCounters) {
        counters::read(mads, &mut fabric)?;
    }
    if mads.is_stopped() {
        fabric.is_partial = true;
        // A table with a gap would look like missing routes.
        fabric.nodes.iter_mut().for_each(|node| node.forwarding = None);
    }
    Ok(Some(fabric))
}

/// Asks the own port for its node; `None` if it does not answer.
fn own_node(mads: &mut dyn Mads) -> Result<Option<NodeInfo>, ReadError> {
    mads.ask(None, directed_smp::<NodeInfo>(&DirectedPath::own(), 0))?;
    let mut own = None;
    while let Some((_, answer)) = mads.next_answer()? {
        own = answer.ok().and_then(|mad| smp_attribute::<NodeInfo>(&mad));
    }
    Ok(own)
}

/// Returns every port of every node, with its place.
fn ends(fabric: &Fabric) -> impl Iterator<Item = FabricEnd> {
    fabric.nodes.iter().enumerate().flat_map(|(node, found)| {
        found.ports.iter().map(move |port| FabricEnd { node, port: port.number })
    })
}
