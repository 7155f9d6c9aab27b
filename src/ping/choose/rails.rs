//! Assigns the ports of all hosts to rails.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Overrides;
use super::candidate::{Candidate, candidates, subnet_prefix, vlan};
use crate::model::{GidKind, HostReport, Protocol};

/// Rails of all hosts of a run. A rail has one number for all pairs of hosts.
#[derive(Debug, Default)]
pub(in crate::ping) struct Rails {
    keys: Vec<RailKey>,
    division: Division,
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
    /// InfiniBand: the subnet prefix, and the position of the port among those of the host in the
    /// subnet.
    Subnet(u128, usize),
    /// All other protocols: the name of the protocol, and the position of the port on the host.
    Order(&'static str, usize),
}

/// Number of hosts that have a port with one key.
#[derive(Debug, Default)]
struct Ports {
    up: usize,
    down: usize,
}

impl Ports {
    /// True if these ports are a rail. Cards have ports without a cable: a port that is down was
    /// meant to be up if it has an address, or if most other hosts have it up.
    fn are_rail(&self, key: RailKey) -> bool {
        self.up > 0
            && if key.is_network() { self.up + self.down > 1 } else { self.up > 1.max(self.down) }
    }
}

/// Number of leading bits of an address that identify its rail.
///
/// A GID does not contain the prefix length of its subnet. The shortest prefix that separates the
/// ports of each host is used: hosts with equal cabling are then on the same rails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Division {
    v4: u32,
    v6: u32,
}

/// Longest prefixes. By custom, ports of one host with this prefix in common are in one subnet.
const FINEST_V4: u32 = 24;
const FINEST_V6: u32 = 64;

impl RailKey {
    /// True if the rail is an IP network.
    pub(super) fn is_network(self) -> bool {
        matches!(self, Self::V4(_) | Self::V6(_))
    }
}

impl Rails {
    pub(in crate::ping) fn of<'a>(
        hosts: impl Iterator<Item = &'a HostReport>,
        wanted: &Overrides,
    ) -> Self {
        if wanted.first_rail {
            return Self::default();
        }
        let hosts: Vec<Vec<Candidate<'_>>> = hosts.map(|host| candidates(host, wanted)).collect();
        let coarsest = |width, finest| {
            let of_hosts: Vec<Vec<u128>> =
                hosts.iter().map(|host| addresses(host, width)).collect();
            let divides = |&bits: &u32| of_hosts.iter().all(|of| is_divided(of, bits, width));
            (0..finest).find(divides).unwrap_or(finest)
        };
        let division = Division { v4: coarsest(32, FINEST_V4), v6: coarsest(128, FINEST_V6) };
        let mut rails = Self { division, only: wanted.rails.clone(), ..Self::default() };
        let mut ports: BTreeMap<RailKey, Ports> = BTreeMap::new();
        for host in &hosts {
            let mut mine: BTreeMap<RailKey, bool> = BTreeMap::new();
            for (one, key) in host.iter().zip(rails.of_each(host)) {
                *mine.entry(key).or_default() |= one.is_active();
            }
            for (key, is_active) in mine {
                let ports = ports.entry(key).or_default();
                if is_active { ports.up += 1 } else { ports.down += 1 }
            }
        }
        let keys = ports.into_iter().filter(|(key, ports)| ports.are_rail(*key));
        rails.keys = keys.map(|(key, _)| key).collect();
        rails
    }

    /// Returns the number of rails, at least one.
    pub(in crate::ping) fn count(&self) -> usize {
        self.keys.len().max(1)
    }

    /// Returns the numbers of the tested rails.
    pub(in crate::ping) fn tested(&self) -> impl Iterator<Item = usize> {
        (0..self.count()).filter(|rail| self.is_tested(*rail))
    }

    /// Returns the tested rails with their numbers.
    pub(super) fn keys(&self) -> impl Iterator<Item = (usize, RailKey)> {
        self.keys.iter().copied().enumerate().filter(|(rail, _)| self.is_tested(*rail))
    }

    /// True if the key is one of a rail, tested or not.
    pub(super) fn has(&self, key: RailKey) -> bool {
        self.keys.contains(&key)
    }

    /// True if a pair that shares no rail is tested with its best ports.
    pub(super) fn takes_best(&self) -> bool {
        self.keys.is_empty() || self.only.is_empty()
    }

    fn is_tested(&self, rail: usize) -> bool {
        self.only.is_empty() || self.only.contains(&rail)
    }

    /// Returns the rail of each candidate of a host.
    pub(super) fn of_each(&self, host: &[Candidate<'_>]) -> Vec<RailKey> {
        host.iter().map(|one| self.key(host, one)).collect()
    }

    /// Returns the rail of a port; all its GIDs are on this rail.
    fn key(&self, host: &[Candidate<'_>], one: &Candidate<'_>) -> RailKey {
        if one.protocol.has_subnet() {
            let prefix = subnet_prefix(one.gid);
            let in_subnet = host.iter().filter(|other| subnet_prefix(other.gid) == prefix);
            return RailKey::Subnet(prefix, place(in_subnet, one));
        }
        match first_address(host, one) {
            Some(IpAddr::V4(ip)) => {
                RailKey::V4(beginning(ip.to_bits().into(), self.division.v4, 32))
            }
            Some(IpAddr::V6(ip)) => RailKey::V6(beginning(ip.to_bits(), self.division.v6, 128)),
            None => {
                let alike = host.iter().filter(|other| other.protocol == one.protocol);
                RailKey::Order(one.protocol.word(), place(alike, one))
            }
        }
    }
}

/// Returns the address of a `RoCE` port that identifies its rail: version 2 before version 1, an
/// address of the port before that of a VLAN, IPv4 before IPv6. `None` if all addresses are
/// link-local.
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

/// Returns the position of a port among others, in the order of their PCI addresses.
fn place<'a>(ports: impl Iterator<Item = &'a Candidate<'a>>, one: &Candidate<'_>) -> usize {
    let before: BTreeSet<_> = ports.map(rank).filter(|other| *other < rank(one)).collect();
    before.len()
}

fn rank<'a>(one: &'a Candidate<'_>) -> (Option<&'a str>, &'a str, u8) {
    (one.device.pci.as_deref(), &one.device.name, one.number)
}

/// Returns the first bits of an address.
fn beginning(address: u128, bits: u32, width: u32) -> u128 {
    // A shift by the whole width is not defined.
    address.checked_shr(width - bits).filter(|_| bits > 0).unwrap_or(0)
}

/// True if the addresses of the ports of a host differ in their first bits.
fn is_divided(addresses: &[u128], bits: u32, width: u32) -> bool {
    let beginnings: BTreeSet<u128> =
        addresses.iter().map(|&address| beginning(address, bits, width)).collect();
    beginnings.len() == addresses.len()
}

/// Returns the addresses of the given width that identify the rails of the ports of a host.
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
