//! Assigns the ports of all hosts to rails.
//!
//! Does not choose the ports of a pair. `choose`, `missing_rails` and the matrix use the rails.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Overrides;
use super::candidate::{Candidate, candidates, vlan};
use crate::model::{GidKind, HostReport, Protocol};

/// Rails of all hosts of a run. A rail has one number for all pairs of hosts.
#[derive(Debug, Default)]
pub(in crate::ping) struct Rails {
    /// Key of each rail, by the number of the rail.
    keys: Vec<RailKey>,
    /// Prefix lengths that divide IPv4 and IPv6 addresses into rails, in bits.
    ///
    /// A GID does not contain the prefix length of its subnet. The shortest prefix that separates
    /// the ports of each host is used. Hosts with equal cabling then have the same rails.
    v4_bits: u32,
    v6_bits: u32,
    /// Numbers of the tested rails; empty for all.
    only: Vec<usize>,
}

/// Property that the ports of one rail share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RailKey {
    /// `RoCE`: the prefix of the IPv4 addresses.
    V4(u128),
    /// `RoCE`: the prefix of the IPv6 addresses.
    V6(u128),
    /// InfiniBand and OPA: the subnet prefix, and the position of the port among the ports of the
    /// host in the subnet.
    Subnet(u64, usize),
    /// All other ports, and `RoCE` ports with link-local addresses only: the name of the
    /// protocol, and the position of the port among the ports of the host with this protocol.
    Order(&'static str, usize),
}

/// Number of hosts that have a port with one rail key: an active one, or only inactive ones.
#[derive(Debug, Default)]
struct HostCounts {
    up: usize,
    down: usize,
}

impl HostCounts {
    /// True if the ports with the key are a rail: two or more hosts have one, and one is up.
    ///
    /// A card may have a port without a cable, which is down. A port without an IP address must
    /// therefore be up on two hosts, and on more hosts than it is down.
    fn is_rail(&self, key: RailKey) -> bool {
        self.up > 0
            && if key.is_network() { self.up + self.down > 1 } else { self.up > 1.max(self.down) }
    }
}

/// Longest prefixes, in bits. Ports of a host that share such a prefix are usually in one subnet.
const LONGEST_V4: u32 = 24;
const LONGEST_V6: u32 = 64;

impl RailKey {
    pub(super) fn is_network(self) -> bool {
        matches!(self, Self::V4(_) | Self::V6(_))
    }
}

impl Rails {
    /// Finds the rails of all hosts; none with `--rails first`: each pair uses its best ports.
    pub(in crate::ping) fn of<'a>(
        hosts: impl Iterator<Item = &'a HostReport>,
        wanted: &Overrides,
    ) -> Self {
        if wanted.first_rail {
            return Self::default();
        }
        let hosts: Vec<Vec<Candidate<'_>>> = hosts.map(|host| candidates(host, wanted)).collect();
        let shortest = |width, longest| {
            let of_hosts: Vec<Vec<u128>> =
                hosts.iter().map(|host| addresses(host, width)).collect();
            let separates = |&bits: &u32| of_hosts.iter().all(|of| are_separate(of, bits, width));
            (0..longest).find(separates).unwrap_or(longest)
        };
        let (v4_bits, v6_bits) = (shortest(32, LONGEST_V4), shortest(128, LONGEST_V6));
        let mut rails = Self { keys: Vec::new(), v4_bits, v6_bits, only: wanted.rails.clone() };
        let mut counts: BTreeMap<RailKey, HostCounts> = BTreeMap::new();
        for host in &hosts {
            let mut is_up: BTreeMap<RailKey, bool> = BTreeMap::new();
            for (one, key) in host.iter().zip(rails.of_each(host)) {
                *is_up.entry(key).or_default() |= one.is_active();
            }
            for (key, is_active) in is_up {
                let counts = counts.entry(key).or_default();
                if is_active { counts.up += 1 } else { counts.down += 1 }
            }
        }
        let keys = counts.into_iter().filter(|(key, counts)| counts.is_rail(*key));
        rails.keys = keys.map(|(key, _)| key).collect();
        rails
    }

    /// Returns the number of rails, at least one.
    pub(in crate::ping) fn count(&self) -> usize {
        self.keys.len().max(1)
    }

    pub(in crate::ping) fn tested(&self) -> impl Iterator<Item = usize> {
        (0..self.count()).filter(|rail| self.is_tested(*rail))
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = (usize, RailKey)> {
        self.keys.iter().copied().enumerate().filter(|(rail, _)| self.is_tested(*rail))
    }

    /// True if a rail has this key. The rail may be excluded from the test.
    pub(super) fn has(&self, key: RailKey) -> bool {
        self.keys.contains(&key)
    }

    /// True if a pair without a common rail is tested on its best ports.
    pub(super) fn takes_best(&self) -> bool {
        self.keys.is_empty() || self.only.is_empty()
    }

    fn is_tested(&self, rail: usize) -> bool {
        self.only.is_empty() || self.only.contains(&rail)
    }

    pub(super) fn of_each(&self, host: &[Candidate<'_>]) -> Vec<RailKey> {
        host.iter().map(|one| self.key(host, one)).collect()
    }

    /// Returns the rail key of a port. All GIDs of the port have the same key.
    fn key(&self, host: &[Candidate<'_>], one: &Candidate<'_>) -> RailKey {
        if one.protocol.has_subnet() {
            let prefix = one.gid.value.subnet_prefix();
            let in_subnet = host.iter().filter(|other| other.gid.value.subnet_prefix() == prefix);
            return RailKey::Subnet(prefix, position(in_subnet, one));
        }
        match first_address(host, one) {
            Some(IpAddr::V4(ip)) => RailKey::V4(prefix(ip.to_bits().into(), self.v4_bits, 32)),
            Some(IpAddr::V6(ip)) => RailKey::V6(prefix(ip.to_bits(), self.v6_bits, 128)),
            None => {
                let of_protocol = host.iter().filter(|other| other.protocol == one.protocol);
                RailKey::Order(one.protocol.word(), position(of_protocol, one))
            }
        }
    }
}

/// Returns the address that identifies the rail of a `RoCE` port; `None` if all are link-local.
/// The order is: `RoCE` v2 before v1, the address of the port before the address of a VLAN, IPv4
/// before IPv6, then the GID index.
fn first_address(host: &[Candidate<'_>], one: &Candidate<'_>) -> Option<IpAddr> {
    let rank = |it: &&Candidate<'_>| {
        let is_old = it.gid.kind != Some(GidKind::RoceV2);
        (is_old, vlan(it).is_some(), it.gid.value.ip().is_ipv6(), it.index)
    };
    host.iter()
        .filter(|other| other.place() == one.place() && other.protocol == Protocol::Roce)
        .filter(|other| !other.gid.value.is_link_local())
        .min_by_key(rank)
        .map(|first| first.gid.value.ip())
}

/// Returns the position of a port in the order of PCI addresses, counted from 0.
fn position<'a>(ports: impl Iterator<Item = &'a Candidate<'a>>, one: &Candidate<'_>) -> usize {
    ports.map(pci_order).filter(|other| *other < pci_order(one)).collect::<BTreeSet<_>>().len()
}

fn pci_order<'a>(one: &'a Candidate<'_>) -> (Option<&'a str>, &'a str, u8) {
    (one.device.pci.as_deref(), &one.device.name, one.number)
}

fn prefix(address: u128, bits: u32, width: u32) -> u128 {
    // Rust defines no shift by the whole width, which is needed for 0 bits.
    address.checked_shr(width - bits).filter(|_| bits > 0).unwrap_or(0)
}

/// True if no two addresses have the same first `bits` bits.
fn are_separate(addresses: &[u128], bits: u32, width: u32) -> bool {
    let prefixes: BTreeSet<u128> =
        addresses.iter().map(|&address| prefix(address, bits, width)).collect();
    prefixes.len() == addresses.len()
}

/// Returns the addresses that identify the rails of a host's ports, for one address family.
/// `width` is 32 for IPv4 and 128 for IPv6.
fn addresses(host: &[Candidate<'_>], width: u32) -> Vec<u128> {
    let ports: BTreeMap<_, _> =
        host.iter().map(|one| (one.place(), first_address(host, one))).collect();
    ports
        .into_values()
        .filter_map(|address| match address? {
            IpAddr::V4(ip) => (width == 32).then(|| ip.to_bits().into()),
            IpAddr::V6(ip) => (width == 128).then(|| ip.to_bits()),
        })
        .collect()
}
