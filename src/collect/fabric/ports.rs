//! Chooses the ports from which sweeps begin, and reports why others are left out.
//!
//! A port needs an InfiniBand link and subnet management. Omni-Path has its own datagrams and
//! tools. An XDR port with planes has two kinds of devices (Linux 6.12). `smi1` has subnet
//! management, and its ports are the planes. `mlx5_0` has the other classes. This module pairs
//! both devices by their port GUID. `fabric` sweeps from the ports in the order of this module.

use std::net::Ipv6Addr;

use super::paired::PairedMads;
use super::{KEY, Reader};
use crate::mad::{Class, DirectedPath, NodeInfo, directed_smp, smp_attribute};
use crate::model::{Fabric, FabricEnd, FabricPort, Fix, HostReport, KnownFix, Protocol};
use crate::source::{MadError, MadPortFacts, Mads, Question, ReadError};

const MAX_PORTS: usize = 64;

pub(super) struct SweepPort<'source> {
    pub(super) facts: MadPortFacts,
    /// Node of this machine in the reply of this port; `None` if the port did not reply.
    pub(super) own: Option<NodeInfo>,
    pub(super) mads: PairedMads<'source>,
    /// True if the port is a plane of a port that has a device without subnet management, too.
    is_plane: bool,
}

/// Opens the ports that can begin a sweep, the best first. If the machine has none, reports the
/// reason and returns `None`.
pub(super) fn open<'source>(
    reader: &mut Reader<'source>,
    report: &HostReport,
    ports: Vec<MadPortFacts>,
) -> Option<Vec<SweepPort<'source>>> {
    let (opa, mut ports): (Vec<_>, Vec<_>) =
        ports.into_iter().partition(|port| is_omni_path(report, port));
    for port in &opa {
        report_omni_path(reader, port);
    }
    let source = Question::MadPorts.to_string();
    reader.truncate(&format!("{KEY}/ports"), &source, MAX_PORTS, &mut ports);
    let (mut usable, others): (Vec<_>, Vec<_>) =
        ports.into_iter().partition(MadPortFacts::is_infiniband);
    if usable.is_empty() {
        let why = match others.first() {
            Some(port) => format!(
                "{}: link layer {}: there is no subnet manager and no fabric to read",
                title(port),
                port.link_layer
            ),
            None => "no port sends management datagrams (MADs)".to_owned(),
        };
        if opa.is_empty() {
            reader.report_missing(KEY, &source, why, KnownFix::UseOthers);
        }
        return None;
    }
    if usable.iter().any(has_link) {
        usable.retain(has_link);
    } else {
        let down: Vec<String> = usable.iter().take(4).map(title).collect();
        let why = format!("no InfiniBand port has a link: {}", down.join(", "));
        reader.report_missing(KEY, &source, why, KnownFix::CheckCables);
        return None;
    }
    usable.sort_by_key(|port| (port.state != FabricPort::ACTIVE, !has_lid(report, port)));
    let mut opened = Opened::default();
    for facts in usable {
        if let Err(error) = opened.add(reader, facts.clone()) {
            report_error(reader, &facts, &error);
        }
    }
    Some(opened.pair(reader))
}

#[derive(Default)]
struct Opened<'source> {
    ports: Vec<SweepPort<'source>>,
    /// Ports without subnet management, with the error of their first request.
    general: Vec<(MadPortFacts, Box<dyn Mads + 'source>, ReadError)>,
}

impl<'source> Opened<'source> {
    fn add(&mut self, reader: &mut Reader<'source>, facts: MadPortFacts) -> Result<(), ReadError> {
        let mut mads = reader.source.mads(&facts.umad)?;
        match own_node(&mut *mads) {
            Ok(Some(own)) if own.base_version == Class::OMNI_PATH_VERSION => {
                report_omni_path(reader, &facts);
            }
            Ok(own) => {
                let mads = PairedMads::new(mads);
                self.ports.push(SweepPort { facts, own, mads, is_plane: false });
            }
            // In a record, the port had no subnet management.
            Err(error) if error.is_missing_class() || error == ReadError::NotRecorded => {
                self.general.push((facts, mads, error));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Pairs the ports without subnet management with the planes of the same port.
    fn pair(self, reader: &mut Reader<'_>) -> Vec<SweepPort<'source>> {
        let Self { mut ports, general } = self;
        for (facts, mads, error) in general {
            let guid = port_guid(reader, &facts);
            let is_same = |port: &&mut SweepPort<'_>| {
                guid.is_some() && port.own.map(|own| own.port_guid) == guid
            };
            let mut planes: Vec<_> = ports.iter_mut().filter(is_same).collect();
            for plane in &mut planes {
                plane.is_plane = true;
            }
            match planes.into_iter().next() {
                Some(best) => best.mads.general = Some(mads),
                None if error.is_missing_class() => {
                    let why =
                        "has no subnet management, and no device of its planes (smi1) was found";
                    let fix = KnownFix::MakePlane.with(&[&facts.device]);
                    report(reader, &facts, why, fix);
                }
                None => report_error(reader, &facts, &error),
            }
        }
        ports
    }
}

/// Requests the node of this machine; `None` if the port does not reply.
fn own_node(mads: &mut dyn Mads) -> Result<Option<NodeInfo>, ReadError> {
    mads.ask(None, directed_smp::<NodeInfo>(&DirectedPath::own(), 0))?;
    let mut own = Ok(None);
    while let Some((_, answer)) = mads.next_answer()? {
        own = match answer {
            Ok(mad) => Ok(smp_attribute(&mad)),
            Err(MadError::NotRecorded) => Err(ReadError::NotRecorded),
            Err(_) => Ok(None),
        };
    }
    own
}

fn title(port: &MadPortFacts) -> String {
    format!("{} port {}", port.device, port.port)
}

fn key(port: &MadPortFacts) -> String {
    format!("{KEY}/{}/{}", port.device, port.port)
}

fn device_file(port: &MadPortFacts) -> String {
    format!("/dev/infiniband/{}", port.umad)
}

/// True unless the kernel reports that the port has no link.
fn has_link(port: &MadPortFacts) -> bool {
    matches!(port.physical_state, 0 | FabricPort::LINK_UP)
}

fn port_of<'report>(
    report: &'report HostReport,
    facts: &MadPortFacts,
) -> Option<&'report crate::model::Port> {
    let device = report.devices.iter().find(|device| device.name == facts.device)?;
    device.ports.iter().find(|port| port.number == facts.port)
}

/// True if the port has the driver of Omni-Path, which reports the link layer InfiniBand.
fn is_omni_path(report: &HostReport, facts: &MadPortFacts) -> bool {
    port_of(report, facts).is_some_and(|port| port.protocol == Some(Protocol::Opa))
}

fn has_lid(report: &HostReport, facts: &MadPortFacts) -> bool {
    port_of(report, facts).is_none_or(|port| port.lid.is_some())
}

/// Returns the GUID of a port: the lower half of its first GID.
fn port_guid(reader: &Reader<'_>, facts: &MadPortFacts) -> Option<u64> {
    let MadPortFacts { device, port, .. } = facts;
    let path = format!("/sys/class/infiniband/{device}/ports/{port}/gids/0");
    let answer = reader.ask(&Question::File(path)).ok()?;
    let gid: Ipv6Addr = std::str::from_utf8(&answer).ok()?.trim().parse().ok()?;
    u64::try_from(gid.to_bits() & u128::from(u64::MAX)).ok().filter(|guid| *guid != 0)
}

fn report(reader: &mut Reader<'_>, port: &MadPortFacts, why: &str, fix: impl Into<Fix>) {
    let why = format!("{} {why}", title(port));
    reader.report_missing(&key(port), &device_file(port), why, fix);
}

fn report_omni_path(reader: &mut Reader<'_>, port: &MadPortFacts) {
    let why = "is an Omni-Path port: its management datagrams have 2,048 bytes, which rdmactl \
               does not read";
    report(reader, port, why, KnownFix::UseOpa);
}

/// Reports a plane that carries no traffic, because the sweep shows another plane.
pub(super) fn report_plane(reader: &mut Reader<'_>, port: &SweepPort<'_>) {
    if port.is_plane && port.facts.state != FabricPort::ACTIVE {
        let state = FabricPort { state: port.facts.state, ..FabricPort::default() };
        let why = format!(
            "is a plane in state {}; the sweep shows another plane of the same port",
            state.state_word()
        );
        report(reader, &port.facts, &why, KnownFix::StartManager);
    }
}

/// True if the own port has a LID, which requests for counters need. Reports a missing LID.
pub(super) fn can_count(
    reader: &mut Reader<'_>,
    port: &MadPortFacts,
    own: &NodeInfo,
    fabric: &Fabric,
) -> bool {
    let end = FabricEnd { node: 0, port: own.local_port };
    let has_none = fabric.port(end).is_some_and(|own| own.lid == 0);
    if has_none {
        let why = "has no LID, because no subnet manager has configured it: counters are not read";
        report(reader, port, why, KnownFix::StartManager);
    }
    !has_none
}

/// Reports a port that cannot be used, also without a device file: the kernel lists the port.
pub(super) fn report_error(reader: &mut Reader<'_>, port: &MadPortFacts, error: &ReadError) {
    let file = device_file(port);
    if error.is_absent() {
        let why = format!("cannot open {file}: {error}");
        reader.report_missing(&key(port), &file, why, KnownFix::LoadUmadOrShow);
    } else {
        reader.report_unreadable(&key(port), &file, error, None);
    }
}
