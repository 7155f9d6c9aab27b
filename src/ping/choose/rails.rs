//! Which ports of different hosts are on one rail.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Overrides;
use super::candidate::{Candidate, candidates, subnet_prefix, vlan};
use crate::model::{GidKind, HostReport, Protocol};

/// The rails of all hosts of a run: what is rail 1 between two of them is so between any two.
#[derive(Debug, Default)]
pub(in crate::ping) struct Rails {
    keys: Vec<Key>,
    division: Division,
    /// The only numbers that are tested; empty for all.
    only: Vec<usize>,
}

/// What the ports of one rail have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// `RoCE`: the beginning of the IPv4 addresses.
    V4(u128),
    /// The beginning of the IPv6 addresses.
    V6(u128),
    /// InfiniBand: the subnet's prefix, and which of the host's ports in it.
    Subnet(u128, usize),
    /// All others, by protocol: which of the host's ports.
    Order(&'static str, usize),
}

/// How many hosts have a port with one key.
#[derive(Debug, Default)]
struct Ports {
    up: usize,
    down: usize,
}

impl Ports {
    /// Whether hosts were to meet there. Cards have ports that nobody cabled: one that is down was
    /// meant to be up where it has an address, or where most others are.
    fn are_rail(&self, key: Key) -> bool {
        let has_address = matches!(key, Key::V4(_) | Key::V6(_));
        self.up > 0
            && if has_address { self.up + self.down > 1 } else { self.up > 1.max(self.down) }
    }
}

/// How many bits of an address tell its rail.
///
/// A GID does not say how long the prefix of its subnet is. The coarsest division will do that
/// keeps the ports of each host apart: hosts that are cabled alike are on the same rails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Division {
    v4: u32,
    v6: u32,
}

/// Ports of one host that differ only beyond these bits are in one subnet by all custom.
const FINEST_V4: u32 = 24;
const FINEST_V6: u32 = 64;

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
        let mut ports: BTreeMap<Key, Ports> = BTreeMap::new();
        for host in &hosts {
            let mut mine: BTreeMap<Key, bool> = BTreeMap::new();
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

    /// How many there are, at least one.
    pub(in crate::ping) fn count(&self) -> usize {
        self.keys.len().max(1)
    }

    /// Numbers of the rails that are tested.
    pub(in crate::ping) fn tested(&self) -> impl Iterator<Item = usize> {
        (0..self.count()).filter(|rail| self.is_tested(*rail))
    }

    /// All that two hosts may share and that are tested, by number.
    pub(super) fn keys(&self) -> impl Iterator<Item = (usize, Key)> {
        self.keys.iter().copied().enumerate().filter(|(rail, _)| self.is_tested(*rail))
    }

    /// True if a pair that shares no rail is tested with its best ports.
    pub(super) fn takes_best(&self) -> bool {
        self.keys.is_empty() || self.only.is_empty()
    }

    fn is_tested(&self, rail: usize) -> bool {
        self.only.is_empty() || self.only.contains(&rail)
    }

    /// The rail of each of a host's candidates.
    pub(super) fn of_each(&self, host: &[Candidate<'_>]) -> Vec<Key> {
        host.iter().map(|one| self.key(host, one)).collect()
    }

    /// The rail of a port; all its GIDs are on it.
    fn key(&self, host: &[Candidate<'_>], one: &Candidate<'_>) -> Key {
        if one.protocol.has_subnet() {
            let prefix = subnet_prefix(one.gid);
            let in_subnet = host.iter().filter(|other| subnet_prefix(other.gid) == prefix);
            return Key::Subnet(prefix, place(in_subnet, one));
        }
        match first_address(host, one) {
            Some(IpAddr::V4(ip)) => Key::V4(beginning(ip.to_bits().into(), self.division.v4, 32)),
            Some(IpAddr::V6(ip)) => Key::V6(beginning(ip.to_bits(), self.division.v6, 128)),
            None => {
                let alike = host.iter().filter(|other| other.protocol == one.protocol);
                Key::Order(one.protocol.word(), place(alike, one))
            }
        }
    }
}

/// The address of a `RoCE` port that tells its rail: of version 2 before version 1, of the port
/// itself before a VLAN's, IPv4 before IPv6; `None` for a port that has link-local ones only.
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

/// Which of the ports it is, in the order of their PCI addresses.
fn place<'a>(ports: impl Iterator<Item = &'a Candidate<'a>>, one: &Candidate<'_>) -> usize {
    let before: BTreeSet<_> = ports.map(rank).filter(|other| *other < rank(one)).collect();
    before.len()
}

fn rank<'a>(one: &'a Candidate<'_>) -> (Option<&'a str>, &'a str, u8) {
    (one.device.pci.as_deref(), &one.device.name, one.number)
}

/// The first bits of an address.
fn beginning(address: u128, bits: u32, width: u32) -> u128 {
    // A shift by all bits has no result of its own.
    address.checked_shr(width - bits).filter(|_| bits > 0).unwrap_or(0)
}

/// Whether the addresses of a host's different ports differ in their first bits.
fn is_divided(addresses: &[u128], bits: u32, width: u32) -> bool {
    let beginnings: BTreeSet<u128> =
        addresses.iter().map(|&address| beginning(address, bits, width)).collect();
    beginnings.len() == addresses.len()
}

/// The addresses of so many bits that tell the rails of a host's ports.
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
