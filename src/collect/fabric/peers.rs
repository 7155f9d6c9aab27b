//! Reads the other end of the link of each InfiniBand port of a host: two requests for each port
//! along the directed route of one hop, without a sweep.
//!
//! The result fills the columns "remote", "remote port" and "leaf switch" of other listings.

use super::super::reader::Reader;
use super::NO_IB_UMAD;
use super::requests::Requests;
use crate::mad::{
    DirectedPath, MadAttribute as _, NodeDescription, NodeInfo, directed_smp, smp_attribute,
};
use crate::model::{
    Device, FabricNodeKind, FabricPort, Guid, HostReport, KnownFix, LinkLayer, LinkPeer, Protocol,
    key,
};
use crate::source::{Mads, Question, ReadError, parse_mad_ports};

const KEY: &str = "fabric_peers";

pub(in crate::collect) fn read_peers(reader: &mut Reader<'_>, report: &mut HostReport) {
    let path = Question::MadPorts.to_string();
    let ports = match reader.ask(&Question::MadPorts) {
        Ok(answer) => parse_mad_ports(&answer),
        Err(error) if error.is_absent() => {
            // Without an InfiniBand port, no port has another end to report.
            if report.devices.iter().any(has_infiniband) {
                let detail = format!("cannot read {path}: {NO_IB_UMAD}");
                reader.report_missing(KEY, &path, detail, KnownFix::LoadUmad);
            }
            return;
        }
        Err(error) => return reader.report_unreadable(KEY, &path, &error, None),
    };
    for facts in ports {
        if !facts.is_infiniband() || facts.physical_state != FabricPort::LINK_UP {
            continue;
        }
        let mut devices = report.devices.iter_mut();
        let device = devices.find(|device| device.name == facts.device);
        let ports = device.into_iter().flat_map(|device| &mut device.ports);
        let Some(port) = ports.into_iter().find(|port| port.number == facts.port) else { continue };
        let Ok(number) = u8::try_from(facts.port) else { continue };
        // Omni-Path has its own management datagrams.
        if port.protocol == Some(Protocol::Opa) {
            continue;
        }
        let key = key::port(&facts.device, facts.port, "link_peer");
        let path = format!("/dev/infiniband/{}", facts.umad);
        match reader.source.mads(&facts.umad).and_then(|mut mads| peer(&mut *mads, number)) {
            Ok(Some(peer)) => port.link_peer = Some(peer),
            Ok(None) => {
                let detail = format!("{path}: the other end of the link does not reply");
                reader.report(&key, &path, detail);
            }
            // The planes of an XDR port have their own devices, which show their links.
            Err(error) if error.is_missing_class() => {}
            Err(error) => reader.report_unreadable(&key, &path, &error, None),
        }
    }
}

fn has_infiniband(device: &Device) -> bool {
    device.ports.iter().any(|port| port.link_layer == Some(LinkLayer::Infiniband))
}

/// Requests the node at the other end of a port's link; `None` if it does not reply.
fn peer(mads: &mut dyn Mads, port: u8) -> Result<Option<LinkPeer>, ReadError> {
    let Ok(path) = DirectedPath::own().through(port) else { return Ok(None) };
    let mut requests = Requests::new(mads);
    requests.ask(None, directed_smp::<NodeInfo>(&path, 0), NodeInfo::ID)?;
    requests.ask(None, directed_smp::<NodeDescription>(&path, 0), NodeDescription::ID)?;
    let (mut info, mut name) = (None, None);
    while let Some((id, answer)) = requests.next()? {
        let Ok(mad) = answer else { continue };
        if id == NodeInfo::ID {
            info = smp_attribute::<NodeInfo>(&mad);
        } else {
            name = smp_attribute::<NodeDescription>(&mad).map(|NodeDescription(name)| name);
        }
    }
    // The reply names the port by which the request came in, which is the port of the link.
    Ok(info.map(|info| LinkPeer {
        node: name,
        node_guid: Guid(info.node_guid),
        node_kind: FabricNodeKind::from(info.node_type),
        node_port: info.local_port,
    }))
}
