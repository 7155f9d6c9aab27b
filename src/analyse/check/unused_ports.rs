//! Ports that are down on purpose: the second port of a card without a cable, or an interface
//! without a configuration. `ports` uses this module.

use std::collections::{HashMap, HashSet};

use super::port_findings::PortRef;
use super::rates::{PortKind, kind};
use super::responding;
use crate::analyse::traffic::counts_received_bytes;
use crate::model::{
    Counter, Device, Finding, HostReport, Netdev, Port, PortState, Protocol, Severity, key,
};

/// Number of hosts with each port, and the ports and interfaces that their hosts use.
pub(super) struct OffPorts<'run> {
    /// Number of hosts, by device and port number.
    counts: HashMap<(&'run str, u32), HostCounts>,
    /// Use of each host that has a port that is off, by the address of its report.
    hosts: HashMap<*const HostReport, HostUse<'run>>,
}

/// Number of hosts with a port.
#[derive(Clone, Copy, Default)]
struct HostCounts {
    all: usize,
    /// Hosts on which the port is off.
    off: usize,
    /// Hosts on which the port is off, and its state is DOWN.
    down: usize,
}

impl<'run> OffPorts<'run> {
    pub(super) fn of(reports: &'run [&'run HostReport]) -> Self {
        let mut off_ports = Self { counts: HashMap::new(), hosts: HashMap::new() };
        for (_, report) in responding(reports) {
            let mut has_off_port = false;
            for PortRef { device, port, .. } in PortRef::all(report) {
                let key = (device.name.as_str(), port.number);
                let counts = off_ports.counts.entry(key).or_default();
                let is_off = is_off(port);
                counts.all += 1;
                counts.off += usize::from(is_off);
                counts.down += usize::from(is_off && port.state != Some(PortState::Init));
                has_off_port |= is_off;
            }
            if has_off_port {
                off_ports.hosts.insert(std::ptr::from_ref(report), HostUse::of(report));
            }
        }
        off_ports
    }

    /// Adds the number of hosts to the finding of a port that is off on all hosts. Sets the
    /// severity to info if nothing seems to use the port, and to warn if a used port may be
    /// disabled on purpose.
    pub(super) fn set_severity(&self, place: PortRef<'_>, found: Finding) -> Finding {
        let PortRef { report, device, port } = place;
        let of_host = self.hosts.get(&std::ptr::from_ref(report));
        let Some(host) = of_host.filter(|_| is_off(port)) else { return found };
        let counts = self.counts.get(&(device.name.as_str(), port.number));
        let HostCounts { all, off, down } = counts.copied().unwrap_or_default();
        let is_off_everywhere = off == all;
        let is_off_in_fleet = is_off_everywhere && all > 2;
        let what = match (is_off_in_fleet, down == all) {
            (false, _) => found.what,
            (true, true) => format!("{}; this port is down on all {all} hosts", found.what),
            (true, false) => {
                format!("{}; this port is not active on any of the {all} hosts", found.what)
            }
        };
        if !is_off_everywhere || !host.has_alternative_to(device, port, is_off_in_fleet) {
            return Finding { what, ..found };
        }
        if is_in_use(place, host) {
            // Administrators may have disabled the port of several hosts on purpose.
            let is_disabled = found.code == "port.disabled" && all > 1;
            let severity = if is_disabled { Severity::Warn } else { found.severity };
            return Finding { severity, what, ..found };
        }
        let what = format!("{what}; it seems unused: no sign of an address, a LID or traffic");
        Finding { severity: Severity::Info, what, ..found }
    }
}

/// Returns true for a port without a cable or without a configuration. Without an IPv4 address
/// on the interface, drivers of usNIC and iWARP report INIT for a link (`usnic_ib_query_port`).
fn is_off(port: &Port) -> bool {
    let has_subnet = port.protocol.is_none_or(Protocol::has_subnet);
    let has_link = port.phys_state.as_deref() == Some("LinkUp");
    match port.state {
        Some(PortState::Down | PortState::Nop) => !(has_subnet && has_link),
        Some(PortState::Init) => !has_subnet,
        _ => false,
    }
}

/// Ports and interfaces that a host uses.
struct HostUse<'run> {
    /// Protocols of the active ports of hardware.
    protocols: HashSet<Option<Protocol>>,
    /// Kinds of the active ports of hardware.
    kinds: HashSet<Option<PortKind<'run>>>,
    /// Names of the devices on whose card a port of hardware is active. Devices without a port
    /// that is off are omitted.
    devices: HashSet<&'run str>,
    /// Interfaces with an IPv4 network, and the interfaces below them.
    netdevs: HashSet<&'run str>,
}

impl<'run> HostUse<'run> {
    fn of(report: &'run HostReport) -> Self {
        // The switch in a card keeps the ports of virtual functions active without a cable.
        let is_working = |PortRef { device, port, .. }: &PortRef<'_>| {
            port.is_active() && !device.is_software() && !device.is_virtual_function()
        };
        let working: Vec<PortRef<'run>> = PortRef::all(report).filter(is_working).collect();
        let mut devices: Vec<&Device> = working.iter().map(|place| place.device).collect();
        devices.dedup_by_key(|device| std::ptr::from_ref(*device));
        let has_working_card = |device: &&Device| {
            let has_off_port = device.ports.iter().any(is_off);
            has_off_port && devices.iter().any(|other| other.shares_card_with(device))
        };
        let with_card = report.devices.iter().filter(has_working_card);
        let networks = report.system.iter().flat_map(|system| &system.networks).flatten();
        let of_hosts = networks.filter(|network| network.is_of_hosts());
        let with_parent = |name: &'run str| {
            [Some(name), report.netdev(name).and_then(parent)].into_iter().flatten()
        };
        Self {
            protocols: working.iter().map(|place| place.port.protocol).collect(),
            kinds: working.iter().map(|place| kind(place.device, place.port)).collect(),
            devices: with_card.map(|device| device.name.as_str()).collect(),
            netdevs: of_hosts.flat_map(|network| with_parent(&network.netdev)).collect(),
        }
    }

    /// Returns true if an active port of the host may make a port unnecessary. If the port is off
    /// on all of several hosts, any port of its protocol may do so. A software device is
    /// necessary: an administrator created it for its interface.
    fn has_alternative_to(&self, device: &Device, port: &Port, is_off_in_fleet: bool) -> bool {
        let needs_address = match port.protocol {
            // Without an address, RDMA cannot use an interface.
            Some(Protocol::Roce | Protocol::Iwarp | Protocol::Usnic) => true,
            // InfiniBand needs no address, so that a card without a link is a fault.
            Some(Protocol::Ib | Protocol::Opa) => false,
            Some(Protocol::Efa) | None => return false,
        };
        if device.pci.is_none() || device.is_sub_device() {
            return false;
        }
        let shares_card = self.devices.contains(device.name.as_str());
        let has_protocol = self.protocols.contains(&port.protocol);
        if shares_card || (is_off_in_fleet && has_protocol) {
            return true;
        }
        // DHCP sets no address without a link, so that a card without a link is a fault if an
        // equal card works. A virtual function may have no guest.
        let may_differ = port.state == Some(PortState::Init) || device.is_virtual_function();
        let has_equal = self.kinds.contains(&kind(device, port));
        needs_address && !self.protocols.is_empty() && (may_differ || !has_equal)
    }
}

/// Returns true if traffic, an address, a bond, a bridge or a LID shows that the port is used.
/// Unknown counters count as traffic, unknown addresses as an address.
fn is_in_use(place: PortRef<'_>, host: &HostUse<'_>) -> bool {
    let PortRef { report, device, port } = place;
    let Some(counters) = &port.counters else { return true };
    let shows_use = |counter: &Counter| {
        counter.value.is_some_and(|value| value > 0)
            && (counter.name == "link_downed" || counts_received_bytes(counter))
    };
    let key = key::port(&device.name, port.number, "counters");
    counters.iter().any(shows_use)
        || report.problems.affecting(&key).is_some()
        || is_configured(place, host)
}

fn is_configured(PortRef { report, port, .. }: PortRef<'_>, host: &HostUse<'_>) -> bool {
    // Only a subnet manager sets the LID.
    if port.lid.is_some() {
        return true;
    }
    let has_networks = report.system.as_ref().is_some_and(|system| system.networks.is_some());
    // Only the GIDs of RoCE are IP addresses.
    let may_have_address = match port.protocol {
        Some(Protocol::Roce) => {
            port.gids.as_ref().is_none_or(|gids| gids.iter().any(|gid| !gid.value.is_link_local()))
        }
        _ => !has_networks,
    };
    if may_have_address {
        return true;
    }
    let Some(name) = port.netdev.as_deref() else { return false };
    let is_member = |netdev: &Netdev| netdev.master.is_some() || netdev.bond.is_some();
    host.netdevs.contains(name) || report.netdev(name).is_some_and(is_member)
}

/// Returns the interface below a VLAN or an `IPoIB` partition.
fn parent(netdev: &Netdev) -> Option<&str> {
    let of_vlan = netdev.vlan.as_ref().and_then(|vlan| vlan.parent.as_deref());
    of_vlan.or_else(|| netdev.ipoib.as_ref()?.parent.as_deref())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::port_findings::state_finding;
    use super::*;
    use crate::model::{Guid, Via};

    /// Returns a host with an active port, and a port of the same protocol that is down.
    fn host(protocol: &str, same_card: bool) -> HostReport {
        let device = |number: u32, pci: &str, state: &str, phys_state: &str| {
            json!({
                "name": format!("mlx5_{number}"), "driver": "mlx5_core", "pci": pci,
                "ports": [{
                    "number": 1, "state": state, "phys_state": phys_state, "protocol": protocol,
                    "netdev": format!("eth{number}"),
                    "gids": [{ "index": 0, "value": "fe80::1" }], "counters": [],
                }],
            })
        };
        let second = if same_card { "0000:4b:00.1" } else { "0000:ce:00.0" };
        let devices =
            [device(0, "0000:4b:00.0", "active", "LinkUp"), device(1, second, "down", "Polling")];
        let mut report = HostReport::empty("n1", Via::Agent);
        report.devices =
            devices.into_iter().map(|device| serde_json::from_value(device).unwrap()).collect();
        report.system = value(json!({ "settings": {}, "dma": {}, "networks": [] }));
        report
    }

    /// Returns the severity of the finding about the second device of the first host.
    fn severity(reports: &[HostReport]) -> Severity {
        let reports: Vec<&HostReport> = reports.iter().collect();
        let report = reports[0];
        let device = &report.devices[1];
        let place = PortRef { report, device, port: &device.ports[0] };
        OffPorts::of(&reports).set_severity(place, state_finding(place).unwrap()).severity
    }

    /// Returns the severity after a change of the port that is down.
    fn after(protocol: &str, change: impl Fn(&mut Port)) -> Severity {
        let mut report = host(protocol, true);
        change(&mut report.devices[1].ports[0]);
        severity(&[report])
    }

    fn value<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_second_port_of_a_card_may_be_unused() {
        for protocol in ["roce", "iwarp", "ib", "opa"] {
            assert_eq!(severity(&[host(protocol, true)]), Severity::Info, "{protocol}");
        }
        assert_eq!(severity(&[host("efa", true)]), Severity::Fail);
        let mut all_down = host("roce", true);
        all_down.devices[0].ports[0].state = Some(PortState::Down);
        assert_eq!(severity(&[all_down]), Severity::Fail, "no port of the host works");
    }

    #[test]
    fn only_an_interface_without_an_address_makes_a_whole_card_unused() {
        let with_other_board = |protocol: &str| {
            let mut report = host(protocol, false);
            report.devices[1].board_id = Some("MT_2".into());
            severity(&[report])
        };
        for protocol in ["roce", "iwarp", "usnic"] {
            assert_eq!(with_other_board(protocol), Severity::Info, "{protocol}");
        }
        assert_eq!(with_other_board("ib"), Severity::Fail, "InfiniBand needs no address");
        let mut report = host("ib", false);
        for device in &mut report.devices {
            device.sys_image_guid = Some(Guid(7));
        }
        assert_eq!(severity(&[report]), Severity::Info, "one card in two slots");
    }

    #[test]
    fn a_card_without_a_link_is_a_fault_if_an_equal_card_works() {
        let equal = || host("roce", false);
        assert_eq!(severity(&[equal()]), Severity::Fail);
        assert_eq!(severity(&[equal(), equal()]), Severity::Fail, "on both hosts");
        assert_eq!(severity(&[equal(), equal(), equal()]), Severity::Info, "on all hosts");
        let mut used = equal();
        used.devices[1].ports[0].lid = Some(38);
        assert_eq!(severity(&[used, equal(), equal()]), Severity::Fail, "in use");
        let mut report = equal();
        let second = Device { pci: Some("0000:ce:00.1".into()), ..report.devices[1].clone() };
        report.devices.push(Device { name: "mlx5_2".into(), ..second });
        assert_eq!(severity(&[report.clone()]), Severity::Fail, "both functions are down");
        report.devices[2].ports[0].state = Some(PortState::Active);
        assert_eq!(severity(&[report]), Severity::Info, "the other function works");
        let mut report = equal();
        report.devices[1].ports[0].protocol = Some(Protocol::Iwarp);
        assert_eq!(severity(&[report]), Severity::Info, "another protocol");
        let mut report = host("usnic", false);
        report.devices[1].ports[0].state = Some(PortState::Init);
        assert_eq!(severity(&[report]), Severity::Info, "a link without an address");
    }

    #[test]
    fn a_virtual_function_may_be_unused_and_makes_no_port_unnecessary() {
        let after = |virtual_function: usize, same_card: bool| {
            let mut report = host("roce", same_card);
            report.devices[virtual_function].pci_link = value(json!({
                "current": { "lane_mtps": 16000, "lanes": 16, "rate_bps": 252_061_538_461_u64 },
                "physical_function": "0000:4b:00.0",
            }));
            severity(&[report])
        };
        assert_eq!(after(1, false), Severity::Info, "perhaps without a guest");
        assert_eq!(after(0, true), Severity::Fail, "only a virtual function works");
    }

    #[test]
    fn a_port_that_was_in_use_is_not_unused() {
        assert_eq!(after("ib", |port| port.lid = Some(38)), Severity::Fail);
        let disabled = |port: &mut Port| {
            port.lid = Some(38);
            port.phys_state = Some("Disabled".into());
        };
        assert_eq!(after("ib", disabled), Severity::Fail, "on one host");
        let mut report = host("ib", true);
        disabled(&mut report.devices[1].ports[0]);
        assert_eq!(severity(&[report.clone(), report]), Severity::Warn, "perhaps on purpose");
        let address = json!([{ "index": 0, "value": "::ffff:10.9.0.1" }]);
        assert_eq!(after("roce", |port| port.gids = value(address.clone())), Severity::Fail);
        assert_eq!(after("roce", |port| port.gids = None), Severity::Fail, "unknown addresses");
        for (name, group, expected) in [
            ("link_downed", "pma", Severity::Fail),
            ("port_rcv_data", "pma", Severity::Fail),
            ("ip4InOctets", "hardware", Severity::Fail),
            ("rx_bytes", "hardware", Severity::Fail),
            ("rx_bytes_cnt", "hardware", Severity::Fail),
            ("tx_bytes", "hardware", Severity::Info),
        ] {
            let counter = |count: u64| {
                let counters = json!([{
                    "name": name, "group": group, "value": count, "unit": "events",
                    "saturated": false,
                }]);
                after("ib", |port| port.counters = value(counters.clone()))
            };
            assert_eq!((counter(0), counter(1)), (Severity::Info, expected), "{name}");
        }
    }

    #[test]
    fn unknown_counters_and_addresses_may_show_use() {
        assert_eq!(after("roce", |port| port.counters = None), Severity::Fail);
        let with_problem = |key: &str| {
            let mut report = host("roce", true);
            report.problems = value(json!([{ "key": key, "source": "x", "detail": "x" }]));
            severity(&[report])
        };
        assert_eq!(with_problem("mlx5_0/1/counters"), Severity::Info, "another port");
        assert_eq!(with_problem("mlx5_1/1/counters"), Severity::Fail);
        assert_eq!(with_problem("mlx5_1/1/counters/link_downed"), Severity::Fail);
        let without_system = |protocol: &str| {
            let report = HostReport { system: None, ..host(protocol, true) };
            severity(&[report])
        };
        assert_eq!(without_system("roce"), Severity::Info, "the GIDs show the addresses");
        for protocol in ["ib", "opa", "iwarp", "usnic"] {
            assert_eq!(without_system(protocol), Severity::Fail, "{protocol}");
        }
        let mut without_networks = host("ib", true);
        without_networks.system = value(json!({ "settings": {}, "dma": {} }));
        assert_eq!(severity(&[without_networks]), Severity::Fail);
    }

    #[test]
    fn a_network_or_a_bond_of_the_interface_shows_that_the_port_is_to_be_used() {
        let with_network = |netdev: &str, address: &str| {
            let mut report = host("iwarp", true);
            report.system = value(json!({
                "settings": {}, "dma": {},
                "networks": [{ "netdev": netdev, "address": address, "bits": 16 }],
            }));
            report.netdevs =
                value(json!([{ "name": "eth1.5", "vlan": { "id": 5, "parent": "eth1" } }]));
            severity(&[report])
        };
        assert_eq!(with_network("eth0", "10.9.0.0"), Severity::Info);
        assert_eq!(with_network("eth1", "10.9.0.0"), Severity::Fail);
        assert_eq!(with_network("eth1.5", "10.9.0.0"), Severity::Fail, "its VLAN");
        assert_eq!(with_network("eth1", "169.254.0.0"), Severity::Info, "a route of no host");
        let mut report = host("roce", true);
        report.netdevs = value(json!([{ "name": "eth1", "master": "bond0" }]));
        assert_eq!(severity(&[report]), Severity::Fail);
    }

    #[test]
    fn the_finding_of_a_fleet_says_whether_the_port_is_down() {
        let what = |states: [&str; 3]| {
            let report = |state: &str| {
                let mut report = host("iwarp", true);
                report.devices[1].ports[0].state = value(json!(state));
                report
            };
            let reports = states.map(report);
            let reports: Vec<&HostReport> = reports.iter().collect();
            let device = &reports[0].devices[1];
            let place = PortRef { report: reports[0], device, port: &device.ports[0] };
            OffPorts::of(&reports).set_severity(place, state_finding(place).unwrap()).what
        };
        let down = what(["down"; 3]);
        assert!(down.contains("; this port is down on all 3 hosts"), "{down}");
        for states in [["init"; 3], ["down", "init", "init"], ["init", "down", "down"]] {
            let what = what(states);
            assert!(what.contains("; this port is not active on any of the 3 hosts"), "{what}");
        }
        let other = what(["init", "init", "active"]);
        assert!(!other.contains("this port is"), "{other}");
    }

    #[test]
    fn several_ports_of_a_host_are_judged_by_their_own_card() {
        let mut report = host("ib", true);
        let port = report.devices[1].ports[0].clone();
        report.devices[1].ports.push(Port { number: 2, ..port.clone() });
        let other_card = Device {
            name: "mlx5_2".into(),
            pci: Some("0000:ce:00.0".into()),
            ports: vec![port],
            ..Device::default()
        };
        report.devices.push(other_card);
        let off_ports = [&report];
        let off_ports = OffPorts::of(&off_ports);
        let severity = |device: usize, port: usize| {
            let device = &report.devices[device];
            let place = PortRef { report: &report, device, port: &device.ports[port] };
            off_ports.set_severity(place, state_finding(place).unwrap()).severity
        };
        assert_eq!((severity(1, 0), severity(1, 1)), (Severity::Info, Severity::Info));
        assert_eq!(severity(2, 0), Severity::Fail, "no port of its card works");
    }

    #[test]
    fn a_port_that_another_host_uses_is_not_unused() {
        let mut other = host("roce", true);
        assert_eq!(severity(&[host("roce", true), other.clone()]), Severity::Info);
        other.devices[1].ports[0].state = Some(PortState::Active);
        assert_eq!(severity(&[host("roce", true), other]), Severity::Fail);
    }

    #[test]
    fn an_interface_without_an_address_is_init_on_usnic() {
        let init = |port: &mut Port| {
            port.state = Some(PortState::Init);
            port.phys_state = Some("LinkUp".into());
        };
        assert_eq!(after("usnic", init), Severity::Info);
        assert_eq!(after("ib", init), Severity::Fail, "no subnet manager");
        let down = |port: &mut Port| port.phys_state = Some("LinkUp".into());
        assert_eq!(after("ib", down), Severity::Fail, "BlueField-3 without a subnet manager");
    }
}
