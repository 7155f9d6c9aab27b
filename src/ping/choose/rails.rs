//! Assigns the ports of all hosts to rails.
//!
//! Does not choose the ports of a pair. `choose`, `missing_rails` and the matrix use the rails.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Overrides;
use super::candidate::{Candidate, candidates};
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
        let (addresses, orders) = (first_addresses(host), pci_orders(host));
        host.iter().map(|one| self.key(one, &addresses, &orders)).collect()
    }

    /// Returns the rail key of a port. All GIDs of the port have the same key.
    fn key(
        &self,
        one: &Candidate<'_>,
        addresses: &FirstAddresses<'_>,
        orders: &PciOrders<'_>,
    ) -> RailKey {
        let ports = orders.get(&group(one)).map(Vec::as_slice).unwrap_or_default();
        let position = ports.partition_point(|other| *other < pci_order(one));
        if let (_, Some(prefix)) = group(one) {
            return RailKey::Subnet(prefix, position);
        }
        match addresses.get(&one.place()) {
            Some(IpAddr::V4(ip)) => RailKey::V4(prefix(ip.to_bits().into(), self.v4_bits, 32)),
            Some(IpAddr::V6(ip)) => RailKey::V6(prefix(ip.to_bits(), self.v6_bits, 128)),
            None => RailKey::Order(one.protocol.word(), position),
        }
    }
}

/// Address that identifies the rail of a `RoCE` port, by device and port. A port with link-local
/// addresses only has none.
type FirstAddresses<'a> = BTreeMap<(&'a str, u8), IpAddr>;

/// Returns the first address of each port. The order is: `RoCE` v2 before v1, the address of the
/// port before the address of a VLAN, IPv4 before IPv6, then the GID index.
fn first_addresses<'a>(host: &[Candidate<'a>]) -> FirstAddresses<'a> {
    let rank = |it: &Candidate<'_>| {
        let is_old = it.gid.kind != Some(GidKind::RoceV2);
        (is_old, it.address().vlan().is_some(), it.gid.value.ip().is_ipv6(), it.index)
    };
    let has_address =
        |it: &&Candidate<'_>| it.protocol == Protocol::Roce && !it.gid.value.is_link_local();
    let mut ranked: Vec<&Candidate<'_>> = host.iter().filter(has_address).collect();
    ranked.sort_by_key(|it| rank(it));
    // The last insertion remains.
    ranked.into_iter().rev().map(|it| (it.place(), it.gid.value.ip())).collect()
}

/// Group of ports whose order makes rails: the protocol, and the prefix of the subnet if the
/// protocol has one.
type Group = (&'static str, Option<u64>);

fn group(one: &Candidate<'_>) -> Group {
    let prefix = one.protocol.has_subnet().then(|| one.gid.value.subnet_prefix());
    (one.protocol.word(), prefix)
}

/// Ports of each group in the order of PCI addresses, without duplicates.
type PciOrders<'a> = BTreeMap<Group, Vec<PciOrder<'a>>>;

/// PCI address, name of the device and number of the port.
type PciOrder<'a> = (Option<&'a str>, &'a str, u8);

fn pci_orders<'a>(host: &'a [Candidate<'_>]) -> PciOrders<'a> {
    let mut orders = PciOrders::new();
    for one in host {
        orders.entry(group(one)).or_default().push(pci_order(one));
    }
    for ports in orders.values_mut() {
        ports.sort_unstable();
        ports.dedup();
    }
    orders
}

fn pci_order<'a>(one: &'a Candidate<'_>) -> PciOrder<'a> {
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
    first_addresses(host)
        .into_values()
        .filter_map(|address| match address {
            IpAddr::V4(ip) => (width == 32).then(|| ip.to_bits().into()),
            IpAddr::V6(ip) => (width == 128).then(|| ip.to_bits()),
        })
        .collect()
}
