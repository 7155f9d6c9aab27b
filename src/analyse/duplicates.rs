//! Duplicate addresses (GIDs and MACs), GUIDs and LIDs of two hosts, and hosts with two names.
//!
//! A packet to a duplicate address arrives at either host, so verdicts on its pairs accuse cables
//! and switches. `ping::matrix` does not use duplicate GIDs. Link-local GIDs of RoCE are not
//! compared: they are valid on one link only. Inventories lack the IP addresses of `IPoIB` and
//! iWARP interfaces; `ping::matrix` adds the addresses that its pairs use.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::grouped;
use super::verdict::plain_or;
use crate::model::ping::{Warning, WarningCode};
use crate::model::{GidValue, Guid, HostReport, NetdevKind, Protocol};
use crate::names;

/// Maximum number of warnings of one kind; the last one has the number of the others.
const MAX: usize = 20;

/// Node GUID of an interface with the MAC address 0. All devices of usNIC have it
/// (`usnic_ib_device_add`).
const OF_NO_ADDRESS: Guid = Guid(0x0200_00ff_fe00_0000);

/// Duplicate values of the hosts of a run.
#[derive(Debug, Clone, Default)]
pub struct Duplicates {
    /// GIDs that more than one host has.
    pub gids: BTreeSet<GidValue>,
    /// Hosts with one of these GIDs.
    hosts: BTreeSet<usize>,
    /// Network interfaces whose MAC address another host has too.
    macs: BTreeSet<Place>,
    /// For each host the index of the first host on the same machine; usually its own index.
    machines: Vec<usize>,
    /// Hosts whose machine has another name in the run.
    twins: BTreeSet<usize>,
    /// Findings to report.
    pub warnings: Vec<Warning>,
}

/// Index of the host, and device, network interface or port.
type Place = (usize, String);

/// IP address of the network interface of a port whose GID contains no IP address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NetdevAddress {
    /// Index of the host.
    pub host: usize,
    /// Network interface.
    pub netdev: String,
    /// Subnet prefix of the port; 0 for a protocol without a subnet manager.
    pub subnet: u64,
    /// Rail of the port if the prefix is the default prefix, which separate subnets may share.
    /// `None` if the prefix identifies the subnet, or without a subnet manager.
    pub rail: Option<usize>,
    /// Address.
    pub address: IpAddr,
}

impl Duplicates {
    /// Compares the inventories of the named hosts; an unreached host has no inventory.
    pub fn of(names: &[&str], inventories: &[Option<&HostReport>]) -> Self {
        let machines = machines(inventories);
        let twins = twins(&machines);
        let own = |host: &usize| machines.get(*host) == Some(host);
        let hosts = inventories.iter().enumerate().filter(|(at, _)| own(at));
        let hosts = hosts.filter_map(|(at, report)| Some((at, (*report)?)));
        let addresses = shared(hosts.clone().flat_map(|(at, report)| gids(at, report)));
        let macs = shared(hosts.clone().flat_map(|(at, report)| macs(at, report)));
        let nodes = shared(hosts.clone().flat_map(|(at, report)| guids(at, report)));
        let lids = shared(hosts.flat_map(|(at, report)| lids(at, report)));
        let warnings = [
            host_twice(names, &twins),
            limited(addresses.iter().map(|(gid, places)| {
                duplicate_address(names, gid.ip(), "packets reach either host", places)
            })),
            limited(macs.iter().map(|(mac, places)| duplicate_mac(names, mac, places))),
            limited(nodes.iter().map(|(guid, places)| duplicate_guid(names, *guid, places))),
            limited(lids.iter().map(|(lid, places)| duplicate_lid(names, lid, places))),
        ];
        Self {
            hosts: addresses.values().flatten().map(|place| place.0).collect(),
            gids: addresses.into_keys().collect(),
            macs: macs.into_values().flatten().collect(),
            machines,
            twins: twins.into_iter().flatten().collect(),
            warnings: warnings.into_iter().flatten().collect(),
        }
    }

    /// Adds the duplicates among addresses that the inventories lack. Different subnets may have
    /// equal addresses.
    pub fn add_addresses(&mut self, names: &[&str], found: &BTreeSet<NetdevAddress>) {
        let own = |one: &&NetdevAddress| self.machines.get(one.host) == Some(&one.host);
        let at = |one: &NetdevAddress| {
            ((one.subnet, one.rail, one.address), (one.host, one.netdev.clone()))
        };
        let addresses = shared(found.iter().filter(own).map(at));
        self.hosts.extend(addresses.values().flatten().map(|place| place.0));
        let warnings = addresses.iter().map(|((_, _, address), places)| {
            duplicate_address(names, *address, "TCP packets reach either host", places)
        });
        self.warnings.extend(limited(warnings));
    }

    /// True if another host has an address of this host too.
    pub fn has_shared_address(&self, host: usize) -> bool {
        self.hosts.contains(&host)
    }

    /// True if another host has the MAC address of this network interface too.
    pub fn has_shared_mac(&self, host: usize, netdev: &str) -> bool {
        self.macs.contains(&(host, netdev.to_owned()))
    }

    /// True if another name of the run belongs to the machine of this host.
    pub fn has_second_name(&self, host: usize) -> bool {
        self.twins.contains(&host)
    }

    /// True if two host names belong to one machine.
    pub fn are_one_machine(&self, a: usize, b: usize) -> bool {
        let machine = |host: usize| self.machines.get(host).copied().unwrap_or(host);
        machine(a) == machine(b)
    }
}

/// Returns for each host the first host with equal device GUIDs and equal GIDs. Clones of a
/// virtual machine may have equal GUIDs, but not equal addresses.
fn machines(inventories: &[Option<&HostReport>]) -> Vec<usize> {
    let mut first = BTreeMap::new();
    let of = |(at, report): (usize, Option<&HostReport>)| {
        let Some(report) = report else { return at };
        let nodes: BTreeSet<Guid> = guids(at, report).map(|(guid, _)| guid).collect();
        let addresses: BTreeSet<GidValue> = gids(at, report).map(|(gid, _)| gid).collect();
        // Without GUIDs and GIDs, hosts cannot be distinguished.
        if nodes.is_empty() || addresses.is_empty() {
            return at;
        }
        *first.entry((nodes, addresses)).or_insert(at)
    };
    inventories.iter().copied().enumerate().map(of).collect()
}

/// Returns the values that more than one host has, with their places.
fn shared<T: Ord + Clone>(
    values: impl Iterator<Item = (T, Place)>,
) -> BTreeMap<T, BTreeSet<Place>> {
    let mut values: Vec<(T, Place)> = values.collect();
    values.sort_unstable();
    let of_value = |found: &[(T, Place)]| {
        let [(value, first), .., (_, last)] = found else { return None };
        let places = found.iter().map(|(_, place)| place.clone());
        (first.0 != last.0).then(|| (value.clone(), places.collect()))
    };
    values.chunk_by(|(a, _), (b, _)| a == b).filter_map(of_value).collect()
}

fn gids(host: usize, report: &HostReport) -> impl Iterator<Item = (GidValue, Place)> {
    report.ports().flat_map(move |(device, port)| {
        let has_subnet = port.protocol.is_some_and(Protocol::has_subnet);
        let is_roce = port.protocol == Some(Protocol::Roce);
        let counts = move |gid: GidValue| {
            gid.0.to_bits() != 0 && (has_subnet || (is_roce && !gid.is_link_local()))
        };
        let gids = port.gids.iter().flatten().filter(move |gid| counts(gid.value));
        gids.map(move |gid| {
            let netdev = gid.netdev.as_ref().or(port.netdev.as_ref());
            let place = || format!("{}/{}", device.name, port.number);
            (gid.value, (host, netdev.cloned().unwrap_or_else(place)))
        })
    })
}

fn macs(host: usize, report: &HostReport) -> impl Iterator<Item = (String, Place)> {
    let names = report.ports().flat_map(|(_, port)| {
        let of_gids = port.gids.iter().flatten().map(|gid| gid.netdev.as_deref());
        of_gids.chain([port.netdev.as_deref()]).flatten()
    });
    let names: BTreeSet<&str> = names.collect();
    let netdevs = names.into_iter().filter_map(|name| report.netdev(name));
    let is_real = |mac: &String| mac.bytes().any(|byte| !matches!(byte, b'0' | b':'));
    netdevs.filter(|netdev| netdev.kind == Some(NetdevKind::Ethernet)).filter_map(move |netdev| {
        let mac = netdev.address.clone().filter(is_real)?;
        Some((mac, (host, netdev.name.clone())))
    })
}

fn guids(host: usize, report: &HostReport) -> impl Iterator<Item = (Guid, Place)> {
    // The hardware of a removed device may be in another host.
    let devices = report.devices.iter().filter(|device| device.gone_since_ns.is_none());
    let known = devices.filter_map(|device| Some((device, device.node_guid?)));
    let own = known.filter(|(_, guid)| *guid != OF_NO_ADDRESS);
    own.map(move |(device, guid)| (guid, (host, device.name.clone())))
}

/// Subnet prefix, LID of the subnet manager, device, port and LID. Different subnets may have
/// equal LIDs: only ports with equal names and managers with equal LIDs count as one subnet.
type LidKey = (u64, u32, String, u32, u32);

fn lids(host: usize, report: &HostReport) -> impl Iterator<Item = (LidKey, Place)> {
    report.ports().filter_map(move |(device, port)| {
        port.protocol.filter(|protocol| protocol.has_subnet())?;
        let lid = port.lid.filter(|lid| *lid != 0)?;
        let gid = port.gids.iter().flatten().find(|gid| gid.index == 0)?;
        let key = (gid.value.subnet_prefix(), port.sm_lid?, device.name.clone(), port.number, lid);
        Some((key, (host, format!("{}/{}", device.name, port.number))))
    })
}

/// Returns the hosts of each machine with several names.
fn twins(machines: &[usize]) -> Vec<Vec<usize>> {
    let members = machines.iter().enumerate().map(|(host, machine)| (*machine, host));
    grouped(members).into_values().filter(|hosts| hosts.len() > 1).collect()
}

fn host_twice(names: &[&str], twins: &[Vec<usize>]) -> Vec<Warning> {
    let warnings = twins.iter().map(|hosts| {
        let same: Vec<&str> = hosts.iter().filter_map(|&host| names.get(host).copied()).collect();
        let detail = format!(
            "{} have the same GUIDs and addresses: they are names of one host",
            same.join(" and ")
        );
        let hint =
            format!("remove all but one of these names from the host set: {}", same.join(" "));
        Warning::new(WarningCode::HostTwice, hosts.iter().copied(), detail, hint)
    });
    limited(warnings)
}

fn duplicate_address(
    names: &[&str],
    address: IpAddr,
    effect: &str,
    places: &BTreeSet<Place>,
) -> Warning {
    let (host, netdev) = last_host_and_netdev(names, places);
    warning(
        WarningCode::AddressDuplicate,
        places,
        format!("{address} is an address of {}; {effect}", describe_places(names, places)),
        format!(
            "find out which host is to have the address, and remove it from the others; for example on \
             {host}: ip addr show dev {netdev} to {address}; ip addr del {address}/PREFIX dev {netdev}"
        ),
    )
}

fn duplicate_mac(names: &[&str], mac: &str, places: &BTreeSet<Place>) -> Warning {
    let (host, netdev) = last_host_and_netdev(names, places);
    warning(
        WarningCode::MacDuplicate,
        places,
        format!("the MAC address {mac} is that of {}", describe_places(names, places)),
        format!(
            "give each network interface a MAC address of its own; for example on {host}: ip link set dev {netdev} \
             address MAC; then flush the old entries on all hosts: ip neigh flush dev {netdev}"
        ),
    )
}

fn duplicate_guid(names: &[&str], guid: Guid, places: &BTreeSet<Place>) -> Warning {
    let hosts: BTreeSet<_> = places.iter().map(|place| plain_name(names, place.0)).collect();
    warning(
        WarningCode::GuidDuplicate,
        places,
        format!("the node GUID {guid} is that of {}", describe_places(names, places)),
        format!(
            "give each device a GUID of its own: a cloned virtual machine needs a new MAC address, a \
             card its own firmware configuration; compare: rdmactl devices -v -H {}",
            names::in_shell(&names::fold(hosts))
        ),
    )
}

fn duplicate_lid(names: &[&str], key: &LidKey, places: &BTreeSet<Place>) -> Warning {
    let (_, sm_lid, _, _, lid) = key;
    warning(
        WarningCode::LidDuplicate,
        places,
        format!(
            "LID {lid} is that of {}; their subnet manager has LID {sm_lid}",
            describe_places(names, places)
        ),
        "find out whether two subnet managers configure the subnet: sminfo; rdmactl fabric; then \
         restart the one that is to stay"
            .to_owned(),
    )
}

/// Formats places: `eth1 on n1 and eth1 on n2`.
fn describe_places(names: &[&str], places: &BTreeSet<Place>) -> String {
    let name = |host: usize| names.get(host).copied().unwrap_or("?");
    let places = places.iter().map(|(host, place)| format!("{place} on {}", name(*host)));
    names::limited(places, MAX, "more").join(" and ")
}

fn plain_name<'a>(names: &[&'a str], host: usize) -> &'a str {
    plain_or(names.get(host).copied().unwrap_or_default(), "HOST")
}

fn last_host_and_netdev<'a>(names: &[&'a str], places: &'a BTreeSet<Place>) -> (&'a str, &'a str) {
    let last = places.last();
    last.map(|place| (plain_name(names, place.0), plain_or(&place.1, "NETDEV"))).unwrap_or_default()
}

fn warning(code: WarningCode, places: &BTreeSet<Place>, detail: String, hint: String) -> Warning {
    let hosts: BTreeSet<usize> = places.iter().map(|place| place.0).collect();
    Warning::new(code, hosts, detail, hint)
}

/// Returns the first warnings of a kind; the last one has the number of the others.
fn limited(warnings: impl Iterator<Item = Warning>) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = warnings.collect();
    let more = warnings.len().saturating_sub(MAX);
    warnings.truncate(MAX);
    if let Some(last) = warnings.last_mut().filter(|_| more > 0) {
        last.detail = format!("{}; and {more} more of this kind", last.detail);
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_addresses_of_interfaces_in_one_subnet_are_duplicates() {
        let names = ["n1", "n2", "n3"];
        let found = |of_third: &str, subnet, rail| {
            let at = |host, address: &str, subnet, rail| NetdevAddress {
                host,
                netdev: "ib0".into(),
                subnet,
                rail: Some(rail),
                address: address.parse().unwrap(),
            };
            let all =
                [at(0, "10.9.0.1", 1, 0), at(1, "10.9.0.2", 1, 0), at(2, of_third, subnet, rail)];
            let mut duplicates = Duplicates::of(&names, &[None, None, None]);
            duplicates.add_addresses(&names, &BTreeSet::from(all));
            assert_eq!(duplicates.has_shared_address(0), !duplicates.warnings.is_empty());
            duplicates.warnings
        };
        assert_eq!(found("10.9.0.3", 1, 0), []);
        assert_eq!(found("10.9.0.1", 2, 0), [], "another subnet");
        assert_eq!(found("10.9.0.1", 1, 1), [], "another rail");
        let [one] = <[Warning; 1]>::try_from(found("10.9.0.1", 1, 0)).unwrap();
        assert_eq!((one.code, one.hosts.as_slice()), (WarningCode::AddressDuplicate, &[0, 2][..]));
        let detail =
            "10.9.0.1 is an address of ib0 on n1 and ib0 on n3; TCP packets reach either host";
        assert_eq!(one.detail, detail);
    }

    #[test]
    fn the_node_guid_of_usnic_is_no_duplicate() {
        use crate::model::{Device, Via};
        let host = |name: &str, guid: Guid| {
            let mut report = HostReport::empty(name, Via::Agent);
            let node_guid = Some(guid);
            report.devices =
                vec![Device { name: "usnic_0".into(), node_guid, ..Device::default() }];
            report
        };
        let count = |guid| {
            let (one, other) = (host("n1", guid), host("n2", guid));
            Duplicates::of(&["n1", "n2"], &[Some(&one), Some(&other)]).warnings.len()
        };
        assert_eq!(count(OF_NO_ADDRESS), 0);
        assert_eq!(count(Guid(0x0200_00ff_fe00_0001)), 1);
    }

    #[test]
    fn a_warning_mentions_no_test_because_check_runs_none() {
        use crate::model::{Device, Gid, Port, Via};
        let host = |name: &str, guid: u64| {
            let gid = Gid {
                index: 0,
                value: GidValue("fec0::1".parse().unwrap()),
                kind: None,
                netdev: None,
            };
            let port = Port {
                number: 1,
                protocol: Some(Protocol::Ib),
                gids: Some(vec![gid]),
                ..Port::default()
            };
            let mut report = HostReport::empty(name, Via::Agent);
            report.devices = vec![Device {
                name: "mlx5_0".into(),
                node_guid: Some(Guid(guid)),
                ports: vec![port],
                ..Device::default()
            }];
            report
        };
        let detail = |guid: u64| {
            let (one, other) = (host("n1", 1), host("n2", guid));
            let duplicates = Duplicates::of(&["n1", "n2"], &[Some(&one), Some(&other)]);
            let [warning] = <[Warning; 1]>::try_from(duplicates.warnings).unwrap();
            warning.detail
        };
        assert_eq!(
            detail(2),
            "fec0::1 is an address of mlx5_0/1 on n1 and mlx5_0/1 on n2; packets reach either host"
        );
        assert_eq!(
            detail(1),
            "n1 and n2 have the same GUIDs and addresses: they are names of one host"
        );
    }
}
