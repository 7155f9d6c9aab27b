//! Ports whose MTU differs from that of the other ports on their rail.
//!
//! A pair with such a port works with the smaller path MTU of both ends, so no verdict reports
//! the difference. `ping` compares the ports of tested pairs, `check` all active ports.

use std::collections::{BTreeMap, BTreeSet};

use super::verdict::{plain_or, plain_set};
use crate::model::Protocol;
use crate::model::ping::{Pair, Route, RoutePort, Warning, WarningCode};
use crate::names;

/// Maximum number of bytes that RoCE adds to the payload of a packet (`iboe_get_mtu`,
/// `include/rdma/ib_addr.h`).
pub const ROCE_HEADERS: u32 = 96;

/// Maximum number of port groups in a warning.
const MAX_GROUPS: usize = 4;

/// A port whose MTU is compared.
#[derive(Debug, Clone, Copy)]
pub struct UsedPort<'a> {
    /// Rail of the port.
    pub rail: usize,
    /// Index of the host.
    pub host: usize,
    /// Protocol of the port.
    pub protocol: Protocol,
    /// Kernel name of the device.
    pub device: &'a str,
    /// Port number.
    pub number: u32,
    /// Network interface of the port.
    pub netdev: Option<&'a str>,
    /// MTU of the network interface, in bytes.
    pub netdev_mtu: Option<u32>,
    /// Active RDMA MTU, in bytes.
    pub active_mtu: Option<u32>,
}

impl<'a> UsedPort<'a> {
    /// Returns the end of a route.
    pub fn of_route(rail: usize, host: usize, protocol: Protocol, port: &'a RoutePort) -> Self {
        Self {
            rail,
            host,
            protocol,
            device: &port.device,
            number: port.port.into(),
            netdev: port.netdev.as_deref(),
            netdev_mtu: port.netdev_mtu,
            active_mtu: port.active_mtu,
        }
    }
}

/// Returns the ports that pairs used; a port appears once for each of its pairs.
pub fn used_ports(pairs: &[Pair]) -> impl Iterator<Item = UsedPort<'_>> {
    let routes = pairs.iter().filter_map(|pair| Some((pair, pair.route.as_ref()?)));
    routes.flat_map(|(pair, route): (&Pair, &Route)| {
        let of = |host, port| UsedPort::of_route(pair.rail, host, route.protocol, port);
        [of(pair.source, &route.source), of(pair.target, &route.target)]
    })
}

/// Compares the RDMA MTUs of the ports of each rail; `names` has the names of all hosts.
///
/// A value of more than half of the ports is normal, and the other ports are reported. Without a
/// normal value, one warning lists all groups of ports.
pub fn differences<'a>(
    names: &[&str],
    ports: impl IntoIterator<Item = UsedPort<'a>>,
) -> Vec<Warning> {
    let mut rails: BTreeMap<usize, BTreeMap<Group<'a>, BTreeSet<usize>>> = BTreeMap::new();
    for one in ports {
        // iWARP uses TCP, which negotiates a segment size.
        let Some(group) = Group::of(&one).filter(|_| one.protocol != Protocol::Iwarp) else {
            continue;
        };
        rails.entry(one.rail).or_default().entry(group).or_default().insert(one.host);
    }
    let number = |rail: usize| (rails.len() > 1).then_some(rail);
    let compared = rails.iter().map(|(rail, groups)| Rail { names, number: number(*rail), groups });
    compared.flat_map(|rail| rail.warnings()).collect()
}

/// Ports with equal MTUs and equal names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Group<'a> {
    active_mtu: u32,
    netdev_mtu: Option<u32>,
    device: &'a str,
    port: u32,
    netdev: Option<&'a str>,
}

impl<'a> Group<'a> {
    fn of(one: &UsedPort<'a>) -> Option<Self> {
        let UsedPort { protocol, device, number: port, netdev, netdev_mtu, active_mtu, .. } = *one;
        // On InfiniBand, the MTU of the IPoIB interface does not affect RDMA.
        let netdev_mtu = netdev_mtu.filter(|_| protocol == Protocol::Roce);
        let active_mtu = active_mtu.or_else(|| path_mtu(netdev_mtu?))?;
        Some(Self { active_mtu, netdev_mtu, device, port, netdev })
    }

    /// Formats `MTU 1500 (RDMA path MTU 1024)`.
    fn mtus(&self) -> String {
        match self.netdev_mtu {
            Some(mtu) => format!("MTU {mtu} (RDMA path MTU {})", self.active_mtu),
            None => format!("RDMA path MTU {}", self.active_mtu),
        }
    }

    /// Formats `mlx5_1/1 on eth1`.
    fn place(&self) -> String {
        let on = self.netdev.map_or(String::new(), |netdev| format!(" on {netdev}"));
        format!("{}/{}{on}", self.device, self.port)
    }
}

/// Returns the largest RDMA path MTU that fits the MTU of a network interface.
pub fn path_mtu(netdev_mtu: u32) -> Option<u32> {
    let room = netdev_mtu.checked_sub(ROCE_HEADERS)?;
    [4_096, 2_048, 1_024, 512, 256].into_iter().find(|mtu| *mtu <= room)
}

struct Rail<'a> {
    names: &'a [&'a str],
    /// Number of the rail; `None` if the run has only one.
    number: Option<usize>,
    groups: &'a BTreeMap<Group<'a>, BTreeSet<usize>>,
}

impl Rail<'_> {
    fn warnings(&self) -> Vec<Warning> {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for (group, hosts) in self.groups {
            *counts.entry(group.active_mtu).or_default() += hosts.len();
        }
        let all: usize = counts.values().sum();
        match counts.iter().max_by_key(|(_, count)| **count) {
            None => Vec::new(),
            Some(_) if counts.len() == 1 => Vec::new(),
            Some((&usual, &most)) if 2 * most > all => self.differing_from(usual, (most, all)),
            Some(_) => vec![self.undecided(all)],
        }
    }

    /// Returns a warning for each group that differs from the normal value.
    fn differing_from(&self, usual: u32, (most, all): (usize, usize)) -> Vec<Warning> {
        let normal = self.largest(usual);
        let usual_mtus = normal.map(Group::mtus).unwrap_or_default();
        let different = self.groups.iter().filter(|(group, _)| group.active_mtu != usual);
        let warning = |(group, hosts): (&Group<'_>, &BTreeSet<usize>)| {
            let (place, mtus) = (group.place(), group.mtus());
            let detail = format!("{place} has {mtus}; {most} of {all} hosts have {usual_mtus}");
            self.warning(hosts, detail, self.fix(group, hosts, normal))
        };
        different.map(warning).collect()
    }

    /// Returns one warning that lists all groups, for a rail without a normal value.
    fn undecided(&self, all: usize) -> Warning {
        let largest = self.groups.keys().map(|group| group.active_mtu).max().unwrap_or_default();
        let normal = self.largest(largest);
        let clauses = self.groups.iter().map(|(group, hosts)| {
            format!("{} ({}): {}", plain_set(self.names, hosts), group.place(), group.mtus())
        });
        let clauses = names::limited(clauses, MAX_GROUPS, "more").join("; ");
        let small = self.groups.iter().filter(|(group, _)| group.active_mtu < largest);
        let fixes: Vec<String> =
            small.take(MAX_GROUPS).map(|(group, hosts)| self.fix(group, hosts, normal)).collect();
        let hosts: BTreeSet<usize> = self.groups.values().flatten().copied().collect();
        let detail = format!("{all} hosts have different MTUs: {clauses}");
        self.warning(&hosts, detail, fixes.join("; "))
    }

    fn warning(&self, hosts: &BTreeSet<usize>, detail: String, hint: String) -> Warning {
        let rails = self.number.into_iter().collect();
        let hosts = hosts.iter().copied();
        Warning { rails, ..Warning::new(WarningCode::MtuDiffers, hosts, detail, hint) }
    }

    /// Returns the group with this RDMA MTU that has the most hosts.
    fn largest(&self, active_mtu: u32) -> Option<&Group<'_>> {
        let groups = self.groups.iter().filter(|(group, _)| group.active_mtu == active_mtu);
        groups.max_by_key(|(_, hosts)| hosts.len()).map(|(group, _)| group)
    }

    fn fix(
        &self,
        group: &Group<'_>,
        hosts: &BTreeSet<usize>,
        normal: Option<&Group<'_>>,
    ) -> String {
        let set = plain_set(self.names, hosts);
        let mtu = normal.and_then(|normal| normal.netdev_mtu);
        let Some((mtu, netdev)) = mtu.zip(group.netdev) else {
            let set = names::in_shell(&set);
            return format!("compare the MTUs that the ports support: rdmactl ports -v -H {set}");
        };
        let netdev = plain_or(netdev, "NETDEV");
        let set_mtu = format!("on {set}: ip link set {netdev} mtu {mtu}");
        if group.netdev_mtu < Some(mtu) {
            let noun = if hosts.len() == 1 { "switch port passes" } else { "switch ports pass" };
            format!("check that the {noun} packets of {mtu} bytes; then, {set_mtu}")
        } else {
            set_mtu
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["n1", "n2", "n3", "n4"];

    fn port(netdev: &str, netdev_mtu: Option<u32>, active_mtu: Option<u32>) -> RoutePort {
        RoutePort {
            device: "mlx5_1".into(),
            netdev: Some(netdev.into()),
            netdev_mtu,
            active_mtu,
            ..RoutePort::example("::ffff:10.1.0.1")
        }
    }

    fn compare(protocol: Protocol, mtus: [u32; 4], active: Option<[u32; 4]>) -> Vec<Warning> {
        let ports: Vec<RoutePort> = (0..4)
            .map(|host| port("eth1", Some(mtus[host]), active.map(|active| active[host])))
            .collect();
        let used = ports.iter().enumerate();
        differences(&NAMES, used.map(|(host, port)| UsedPort::of_route(0, host, protocol, port)))
    }

    #[test]
    fn a_host_with_another_mtu_is_named_with_both_values_and_a_fix() {
        let found = compare(Protocol::Roce, [9_000, 9_000, 9_000, 1_500], None);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((one.hosts.as_slice(), one.rails.as_slice()), (&[3][..], &[][..]));
        assert_eq!(
            one.detail,
            "mlx5_1/1 on eth1 has MTU 1500 (RDMA path MTU 1024); 3 of 4 hosts have MTU 9000 (RDMA \
             path MTU 4096)"
        );
        assert_eq!(
            one.hint,
            "check that the switch port passes packets of 9000 bytes; then, on n4: ip link set \
             eth1 mtu 9000"
        );
        let found = compare(Protocol::Roce, [1_500, 9_000, 1_500, 1_500], None);
        assert_eq!(found[0].hint, "on n2: ip link set eth1 mtu 1500", "most hosts are normal");
    }

    #[test]
    fn without_a_majority_both_groups_are_named() {
        let found = compare(Protocol::Roce, [9_000, 9_000, 1_500, 1_500], None);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(one.hosts, [0, 1, 2, 3]);
        assert_eq!(
            one.detail,
            "4 hosts have different MTUs: n[3-4] (mlx5_1/1 on eth1): MTU 1500 (RDMA path MTU \
             1024); n[1-2] (mlx5_1/1 on eth1): MTU 9000 (RDMA path MTU 4096)"
        );
        assert!(one.hint.ends_with("on n[3-4]: ip link set eth1 mtu 9000"), "{}", one.hint);
    }

    #[test]
    fn only_what_rdma_notices_is_reported() {
        assert_eq!(compare(Protocol::Roce, [9_000, 9_216, 9_000, 4_200], None), []);
        assert_eq!(compare(Protocol::Iwarp, [9_000, 9_000, 9_000, 1_500], None), []);
        // The MTU of an IPoIB interface differs from the RDMA MTU.
        let same = compare(Protocol::Ib, [2_044, 65_520, 2_044, 2_044], Some([4_096; 4]));
        assert_eq!(same, []);
        let one = compare(Protocol::Ib, [2_044; 4], Some([4_096, 2_048, 4_096, 4_096]));
        assert_eq!(
            one[0].detail,
            "mlx5_1/1 on eth1 has RDMA path MTU 2048; 3 of 4 hosts have RDMA path MTU 4096"
        );
        assert!(one[0].hint.ends_with("rdmactl ports -v -H n2"), "{}", one[0].hint);
    }

    #[test]
    fn rails_are_compared_one_by_one() {
        let (large, small) = (port("eth0", Some(9_000), None), port("eth1", Some(1_500), None));
        let used = |rail, host, port| UsedPort::of_route(rail, host, Protocol::Roce, port);
        let apart =
            [used(0, 0, &large), used(0, 1, &large), used(1, 0, &small), used(1, 1, &small)];
        assert_eq!(differences(&NAMES, apart), []);
        let mixed =
            [used(0, 0, &large), used(1, 0, &small), used(1, 1, &small), used(1, 2, &large)];
        assert_eq!(differences(&NAMES, mixed)[0].rails, [1]);
    }

    #[test]
    fn a_name_that_a_shell_would_run_is_left_out_of_the_fix() {
        let (bad, good) = (port("$(reboot)", Some(1_500), None), port("eth1", Some(9_000), None));
        let used = |host, port| UsedPort::of_route(0, host, Protocol::Roce, port);
        let names = ["`reboot`", "n2", "n3"];
        let found = differences(&names, [used(0, &bad), used(1, &good), used(2, &good)]);
        assert!(found[0].hint.ends_with("on HOST: ip link set NETDEV mtu 9000"), "{found:?}");
    }

    #[test]
    fn the_path_mtu_follows_from_the_network_interface() {
        let known = [351, 352, 1_119, 1_120, 1_500, 4_191, 4_192, 65_535].map(path_mtu);
        let wanted = [0, 256, 512, 1_024, 1_024, 2_048, 4_096, 4_096];
        assert_eq!(known.map(Option::unwrap_or_default), wanted);
        assert_eq!(path_mtu(0), None);
    }
}
