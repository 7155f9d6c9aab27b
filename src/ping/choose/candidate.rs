//! What a host has to send with, and how well two of these go together.

use std::net::IpAddr;

use super::Overrides;
use crate::model::ping::RoutePort;
use crate::model::{Device, Gid, GidKind, HostReport, Port, PortState, Protocol, SOFT_ROCE};

/// The first Linux that is known not to hang when a firewall of its own host drops a datagram of
/// soft-RoCE. Of 5.10 and 6.1 `rxe_requester` sends it again for ever, in the process that posted it,
/// which no signal ends: seen in the lab, a host with one processor was dead.
const RXE_SURVIVES_FIREWALLS: (u32, u32) = (6, 12);

/// A GID of a port that can be used when the port is up.
pub(super) struct Candidate<'a> {
    pub(super) host: &'a HostReport,
    pub(super) device: &'a Device,
    pub(super) port: &'a Port,
    pub(super) gid: &'a Gid,
    pub(super) protocol: Protocol,
    /// The port's number, as verbs and address vectors have it.
    pub(super) number: u8,
    /// The GID's index, as address vectors have it.
    pub(super) index: u8,
}

impl<'a> Candidate<'a> {
    /// Whether it can be used; one that cannot is on its rail all the same.
    pub(super) fn is_active(&self) -> bool {
        is_active(self.port)
    }

    /// Which port of the host it is.
    pub(super) fn place(&self) -> (&'a str, u8) {
        (&self.device.name, self.number)
    }

    /// Whether it can send what nobody acknowledges without harm to its host. iWARP has no such thing.
    pub(super) fn survives_loss(&self) -> bool {
        let is_soft = self.device.driver.as_deref() == Some(SOFT_ROCE);
        self.protocol != Protocol::Iwarp
            && (!is_soft || self.host.kernel_release() >= Some(RXE_SURVIVES_FIREWALLS))
    }

    /// What a route tells of it.
    pub(super) fn route_port(&self) -> RoutePort {
        RoutePort {
            device: self.device.name.clone(),
            port: self.number,
            gid_index: self.index.into(),
            gid: self.gid.value,
            gid_kind: self.gid.kind,
            netdev: self.gid.netdev.clone().or_else(|| self.port.netdev.clone()),
            driver: self.device.driver.clone(),
            rate_bps: self.port.rate_bps,
            pkey_index: 0,
            pkey: None,
            netdev_mtu: self.netdev_mtu(),
            active_mtu: None,
        }
    }

    /// MTU of the interface of the GID, which may be a VLAN or a bond.
    fn netdev_mtu(&self) -> Option<u32> {
        let of_port = || self.port.netdev_mtu;
        let Some(name) = &self.gid.netdev else { return of_port() };
        let is_of_port = self.port.netdev.as_ref() == Some(name);
        self.host
            .netdev(name)
            .and_then(|netdev| netdev.mtu)
            .or_else(|| of_port().filter(|_| is_of_port))
    }
}

/// All that a host has of what is wanted.
pub(super) fn candidates<'a>(host: &'a HostReport, wanted: &Overrides) -> Vec<Candidate<'a>> {
    let mut found = Vec::new();
    let is = |wanted: Option<u32>, number| wanted.is_none_or(|wanted| wanted == number);
    let devices = host
        .devices
        .iter()
        .filter(|device| wanted.device.as_ref().is_none_or(|name| *name == device.name));
    for device in devices {
        for port in device.ports.iter().filter(|port| is(wanted.port, port.number)) {
            let Some(protocol) = port.protocol else { continue };
            // What does not fit the calls of verbs cannot be used.
            let Ok(number) = u8::try_from(port.number) else { continue };
            if !is_usable(protocol) {
                continue;
            }
            let index = wanted.gid_index.of(&host.host);
            let gids = port.gids.iter().flatten().filter(|gid| is(index, gid.index));
            let usable = gids.filter_map(|gid| Some((gid, gid.index.try_into().ok()?)));
            found.extend(usable.map(|(gid, index)| Candidate {
                host,
                device,
                port,
                gid,
                protocol,
                number,
                index,
            }));
        }
    }
    found
}

/// The VLAN of a GID's interface; `None` without one, and where interfaces were not read.
pub(super) fn vlan(one: &Candidate<'_>) -> Option<u16> {
    let name = one.gid.netdev.as_ref()?;
    let netdev = one.host.netdev(name)?;
    netdev.vlan.as_ref()?.id
}

/// The VLANs of two GIDs that begin as those of one subnet do and whose frames do not meet; `None`
/// where they may, or where it is not known.
pub(super) fn different_vlans(a: &Candidate<'_>, b: &Candidate<'_>) -> Option<(u16, u16)> {
    if a.protocol != Protocol::Roce {
        return None;
    }
    let is_one_subnet = match (a.gid.value.ip(), b.gid.value.ip()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros() >= 24,
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros() >= 64,
        _ => false,
    };
    // Who sends without a tag may be in any VLAN: its switch port says.
    let (here, there) = vlan(a).zip(vlan(b))?;
    (is_one_subnet && here != there).then_some((here, there))
}

pub(super) fn is_active(port: &Port) -> bool {
    port.state.is_some_and(PortState::is_active)
}

/// Whether messages can be sent at all as we send them: connections, or datagrams with answers.
pub(super) fn is_usable(protocol: Protocol) -> bool {
    protocol != Protocol::Usnic
}

/// How good a pair of GIDs is; `None` when they cannot talk to each other.
///
/// In this order: `RoCE` v2 before v1, global before link-local, the longest common prefix of their
/// addresses (the same subnet, the same rail), IPv4 before IPv6.
pub(super) fn score(a: &Candidate<'_>, b: &Candidate<'_>) -> Option<(bool, bool, u32, bool)> {
    if a.protocol != b.protocol {
        return None;
    }
    if a.protocol.has_subnet() {
        // Ports of two subnets reach each other only through a router: the same fabric first.
        let same_subnet = subnet_prefix(a.gid) == subnet_prefix(b.gid);
        return Some((true, same_subnet, 0, a.gid.index == 0 && b.gid.index == 0));
    }
    if a.protocol != Protocol::Roce {
        return Some((true, true, 0, a.gid.index == 0 && b.gid.index == 0));
    }
    if a.gid.kind != b.gid.kind || different_vlans(a, b).is_some() {
        return None;
    }
    let version_2 = a.gid.kind == Some(GidKind::RoceV2);
    let is_global = !a.gid.value.is_link_local() && !b.gid.value.is_link_local();
    if a.gid.value.is_link_local() != b.gid.value.is_link_local() {
        return None;
    }
    match (a.gid.value.ip(), b.gid.value.ip()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            Some((version_2, is_global, (a.to_bits() ^ b.to_bits()).leading_zeros(), true))
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            // Scaled to IPv4's 32 bits, so that the families compare.
            let common = (a.to_bits() ^ b.to_bits()).leading_zeros() / 4;
            Some((version_2, is_global, common, false))
        }
        _ => None,
    }
}

/// The upper half of a GID (IBA 4.1.1): the same in all ports of a subnet.
pub(super) fn subnet_prefix(gid: &Gid) -> u128 {
    gid.value.0.to_bits() >> 64
}
