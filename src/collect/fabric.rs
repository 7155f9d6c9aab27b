//! Reads the InfiniBand subnets of a machine: nodes, ports, links, subnet managers, and on request
//! forwarding tables, partitions and counters.
//!
//! Each subnet is swept once, from the best of the ports that lead to it. The tables of subnet
//! administration come first (`administration`); directed routes (`sweep`) replace them where the
//! tables are rejected. The result goes to `analyse::fabric` and `query`.

mod administration;
mod clear;
mod counters;
mod import;
mod managers;
mod partitions;
mod peers;
mod port_info;
mod requests;
mod routes;
mod sweep;

use std::collections::BTreeSet;

use crate::mad::{DirectedPath, NodeInfo, directed_smp, smp_attribute};
use crate::model::{Fabric, FabricEnd, HostReport, Part, SweepMethod};
use crate::source::{MadPortFacts, Mads, Question, ReadError, Source, parse_mad_ports};

use super::reader::Reader;
use counters::Wanted;

pub use clear::{NotCleared, PortToClear, clear_counters};
pub use import::{ImportError, import_fabric};
pub(super) use peers::read_peers;
pub use sweep::sweep;

/// Why a machine has no list of ports that send MADs.
const NO_IB_UMAD: &str = "the kernel module ib_umad is not loaded";
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
                let detail = format!("cannot read {path}: {NO_IB_UMAD}");
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
        add_problems(reader, fabric);
    }
    report.fabrics = Some(fabrics);
}

/// Notes what is missing of a fabric.
fn add_problems(reader: &mut Reader<'_>, fabric: &Fabric) {
    let name = format!("{}/{}", fabric.device, fabric.port);
    if let Some(first) = fabric.silent.first() {
        let routes: BTreeSet<String> = fabric.silent.iter().map(ToString::to_string).collect();
        let first = format!("{first}: no {}: {}", first.attribute, first.detail);
        let detail = match routes.len() {
            1 => format!("{name}: {first}"),
            nodes => format!("{name}: {first}; {} other nodes with missing replies", nodes - 1),
        };
        let fix = "list the nodes: rdmactl fabric problems";
        reader.lacking(&format!("{KEY}/silent"), "sweep", &detail, fix);
    }
    if fabric.unrecorded > 0 {
        let detail = format!(
            "{name}: the file has no reply to {} of {} requests of this view",
            fabric.unrecorded, fabric.requests
        );
        let fix = "save the whole subnet: rdmactl fabric --save FILE";
        reader.lacking(&format!("{KEY}/unrecorded"), "sweep", &detail, fix);
    }
    if fabric.is_partial {
        let nodes = fabric.nodes.len();
        let detail = format!("{name}: the sweep ended early; {nodes} nodes are listed");
        reader.lacking(&format!("{KEY}/partial"), "sweep", &detail, "run the command again");
    }
    // Tables of no use cost nothing where directed routes replace them.
    for why in fabric.rejected_tables.iter().filter(|_| fabric.nodes.is_empty()) {
        let detail = format!("{name}: tables of subnet administration: {why}");
        let source = "subnet administration";
        reader.lacking(&format!("{KEY}/tables"), source, &detail, "omit --via sa");
    }
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
        counters::read(mads, &mut fabric, Wanted::All)?;
    } else if parts.has(Part::FabricErrors) {
        counters::read(mads, &mut fabric, Wanted::Errors)?;
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
