//! Ports and GIDs that a host can use, and the score of a pair of them.

use std::net::IpAddr;

use super::Overrides;
use crate::analyse::link_fault::{self, AddressOfNetdev};
use crate::model::ping::RoutePort;
use crate::model::{Device, Gid, GidKind, HostReport, Port, Protocol, SOFT_ROCE};

/// First Linux version that is known not to hang if a firewall of the host drops a soft-RoCE
/// datagram. In 5.10 and 6.1, `rxe_requester` sends the datagram again for ever, in the process
/// that posted it, and no signal ends this. Seen in the lab: a host with one CPU stopped
/// responding.
const RXE_SURVIVES_FIREWALLS: (u32, u32) = (6, 12);

/// Limit of GIDs of a host. Its pairs compare each GID with each GID of a peer. A host with eight
/// full GID tables has 2,048.
const MAX_CANDIDATES: usize = 4_096;

/// GID of a port that can be used while the port is up.
pub(super) struct Candidate<'a> {
    pub(super) host: &'a HostReport,
    pub(super) device: &'a Device,
    pub(super) port: &'a Port,
    pub(super) gid: &'a Gid,
    pub(super) protocol: Protocol,
    /// Number of the port, in the type of verbs and address vectors.
    pub(super) number: u8,
    /// Index of the GID, in the type of address vectors.
    pub(super) index: u8,
}

impl<'a> Candidate<'a> {
    /// True if the port is active. A port that is not active is on its rail, too.
    pub(super) fn is_active(&self) -> bool {
        self.port.is_active()
    }

    /// Returns the address of the GID with its network interface.
    pub(super) fn address(&self) -> AddressOfNetdev<'a> {
        let (address, netdev) = (self.gid.value.ip(), self.gid.netdev.as_deref());
        AddressOfNetdev { host: self.host, netdev, address }
    }

    pub(super) fn place(&self) -> (&'a str, u8) {
        (&self.device.name, self.number)
    }

    /// True if unacknowledged messages do no harm to the host. False for iWARP, which has none.
    pub(super) fn survives_loss(&self) -> bool {
        let is_soft = self.device.driver.as_deref() == Some(SOFT_ROCE);
        self.protocol != Protocol::Iwarp
            && (!is_soft || self.host.kernel_release() >= Some(RXE_SURVIVES_FIREWALLS))
    }

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

    /// Returns the MTU of the interface of the GID, in bytes: a port, a VLAN or a bond.
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

pub(super) fn candidates<'a>(host: &'a HostReport, wanted: &Overrides) -> Vec<Candidate<'a>> {
    let mut found = Vec::new();
    let wanted_index = wanted.gid_index.of(&host.host);
    for (device, port) in host.ports().filter(|&(device, port)| wanted.has_port(device, port)) {
        let Some(protocol) = port.protocol.filter(|&it| is_usable(it)) else { continue };
        // A number that does not fit the calls of verbs cannot be used.
        let Ok(number) = u8::try_from(port.number) else { continue };
        let gids = port.gids.iter().flatten();
        let gids = gids.filter(|gid| wanted_index.is_none_or(|wanted| wanted == gid.index));
        found.extend(gids.filter_map(|gid| {
            let index = gid.index.try_into().ok()?;
            Some(Candidate { host, device, port, gid, protocol, number, index })
        }));
    }
    found.truncate(MAX_CANDIDATES);
    found
}

/// Returns the VLANs of two `RoCE` GIDs, as [`link_fault::different_vlans`] does.
pub(super) fn different_vlans(a: &Candidate<'_>, b: &Candidate<'_>) -> Option<(u16, u16)> {
    if a.protocol != Protocol::Roce {
        return None;
    }
    link_fault::different_vlans(&a.address(), &b.address())
}

/// True if rdmactl can send messages over the protocol: connections, or datagrams with replies.
pub(super) fn is_usable(protocol: Protocol) -> bool {
    protocol != Protocol::Usnic
}

/// Returns the score of a pair of GIDs; `None` if they cannot reach each other.
///
/// The order is: one VLAN before two, `RoCE` v2 before v1, global before link-local, the longest
/// common prefix of the addresses (one subnet, one rail), IPv4 before IPv6.
pub(super) fn score(a: &Candidate<'_>, b: &Candidate<'_>) -> Option<(bool, bool, bool, u32, bool)> {
    if a.protocol != b.protocol {
        return None;
    }
    if a.protocol != Protocol::Roce {
        // Ports of two subnets reach each other only through a router, and rdmactl asks for no
        // path through a router: a LID would lead to a port of the own subnet.
        let is_one_subnet =
            !a.protocol.has_subnet() || a.gid.value.subnet_prefix() == b.gid.value.subnet_prefix();
        let is_first = a.gid.index == 0 && b.gid.index == 0;
        return is_one_subnet.then_some((true, true, true, 0, is_first));
    }
    if a.gid.kind != b.gid.kind {
        return None;
    }
    // A GID does not contain the length of its prefix: a router may join two VLANs with similar
    // addresses. It forwards no link-local address.
    let is_one_vlan = different_vlans(a, b).is_none();
    if !is_one_vlan && a.gid.value.is_link_local() {
        return None;
    }
    let version_2 = a.gid.kind == Some(GidKind::RoceV2);
    let is_global = !a.gid.value.is_link_local();
    if is_global == b.gid.value.is_link_local() {
        return None;
    }
    match (a.gid.value.ip(), b.gid.value.ip()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            let common = (a.to_bits() ^ b.to_bits()).leading_zeros();
            Some((is_one_vlan, version_2, is_global, common, true))
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            // Scaled to the 32 bits of IPv4, so that both families are comparable.
            let common = (a.to_bits() ^ b.to_bits()).leading_zeros() / 4;
            Some((is_one_vlan, version_2, is_global, common, false))
        }
        _ => None,
    }
}
