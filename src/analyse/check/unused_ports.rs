//! Ports that are down on purpose: the second port of a card without a cable, or an interface
//! without a configuration. `ports` uses this module.

use std::collections::HashMap;

use super::port_findings::PortRef;
use super::responding;
use crate::model::{Device, Finding, HostReport, Netdev, Port, PortState, Protocol, Severity};

/// Numbers of hosts by device and port number: those on which the port is off, and all.
pub(super) struct OffPorts<'run>(HashMap<(&'run str, u32), (usize, usize)>);

impl<'run> OffPorts<'run> {
    pub(super) fn of(reports: &'run [&'run HostReport]) -> Self {
        let mut ports = HashMap::new();
        for (device, port) in responding(reports).flat_map(|(_, report)| report.ports()) {
            if device.gone_since_ns.is_some() {
                continue;
            }
            let (off, all): &mut (usize, usize) =
                ports.entry((device.name.as_str(), port.number)).or_default();
            *off += usize::from(is_off(port));
            *all += 1;
        }
        Self(ports)
    }

    /// Adds to the finding of a port that is off what other hosts show. The finding of a port
    /// that nothing uses is an observation.
    pub(super) fn explain(&self, place: PortRef<'_>, found: Finding) -> Finding {
        let PortRef { device, port, .. } = place;
        if !is_off(port) {
            return found;
        }
        let counts = self.0.get(&(device.name.as_str(), port.number));
        let (off, all) = counts.copied().unwrap_or_default();
        let is_off_everywhere = off == all;
        let what = if is_off_everywhere && all > 2 {
            format!("{}; this port is down on all {all} hosts", found.what)
        } else {
            found.what
        };
        if !is_off_everywhere || !has_working_sibling(place) {
            return Finding { what, ..found };
        }
        if is_in_use(place) {
            // An administrator may have disabled the port on purpose.
            let is_disabled = found.code == "port.disabled";
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

/// Returns true if another port of the host works that may make this port unnecessary. A software
/// device is necessary: an administrator created it for its interface.
fn has_working_sibling(PortRef { report, device, port }: PortRef<'_>) -> bool {
    let Some(protocol) = port.protocol else { return false };
    let is_comparable = |other: &Device| match protocol {
        // Without an address, RDMA cannot use an interface.
        Protocol::Roce | Protocol::Iwarp | Protocol::Usnic => !other.is_software(),
        // InfiniBand needs no address, so that a card without a link is a fault.
        Protocol::Ib | Protocol::Opa => other.shares_card_with(device),
        Protocol::Efa => false,
    };
    device.pci.is_some()
        && !device.is_sub_device()
        && report.ports().any(|(other, port)| port.is_active() && is_comparable(other))
}

/// Returns true if traffic, an address, a bond, a bridge or a LID shows that a port is to be
/// used, and if the addresses are unknown.
fn is_in_use(place: PortRef<'_>) -> bool {
    let counted = |name: &str| {
        let counter = place.port.counters.iter().flatten().find(|counter| counter.name == name);
        counter.and_then(|counter| counter.value).is_some_and(|value| value > 0)
    };
    ["link_downed", "port_rcv_data"].into_iter().any(counted) || is_configured(place)
}

fn is_configured(PortRef { report, port, .. }: PortRef<'_>) -> bool {
    // Only a subnet manager sets the LID.
    if port.lid.is_some() {
        return true;
    }
    if port.protocol == Some(Protocol::Roce)
        && port.gids.as_ref().is_none_or(|gids| gids.iter().any(|gid| !gid.value.is_link_local()))
    {
        return true;
    }
    let Some(name) = port.netdev.as_deref() else { return false };
    let is_member = |netdev: &Netdev| netdev.master.is_some() || netdev.bond.is_some();
    let is_of_port =
        |netdev: &str| netdev == name || report.netdev(netdev).and_then(parent) == Some(name);
    let mut networks = report.system.iter().flat_map(|system| system.networks.iter().flatten());
    report.netdev(name).is_some_and(is_member)
        || networks.any(|network| network.is_of_hosts() && is_of_port(&network.netdev))
}

/// Returns the interface below a VLAN or an `IPoIB` partition.
fn parent(netdev: &Netdev) -> Option<&str> {
    let of_vlan = netdev.vlan.as_ref().and_then(|vlan| vlan.parent.as_deref());
    of_vlan.or_else(|| netdev.ipoib.as_ref()?.parent.as_deref())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::port_findings::state;
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
                    "gids": [{ "index": 0, "value": "fe80::1" }],
                }],
            })
        };
        let second = if same_card { "0000:4b:00.1" } else { "0000:ce:00.0" };
        let devices =
            [device(0, "0000:4b:00.0", "active", "LinkUp"), device(1, second, "down", "Polling")];
        let mut report = HostReport::empty("n1", Via::Agent);
        report.devices =
            devices.into_iter().map(|device| serde_json::from_value(device).unwrap()).collect();
        report
    }

    /// Returns the severity of the finding about the second device of the first host.
    fn severity(reports: &[HostReport]) -> Severity {
        let reports: Vec<&HostReport> = reports.iter().collect();
        let report = reports[0];
        let device = &report.devices[1];
        let place = PortRef { report, device, port: &device.ports[0] };
        OffPorts::of(&reports).explain(place, state(place).unwrap()).severity
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
        assert_eq!(severity(&[host("roce", false)]), Severity::Info);
        assert_eq!(severity(&[host("ib", false)]), Severity::Fail, "InfiniBand needs no address");
        let mut report = host("ib", false);
        for device in &mut report.devices {
            device.sys_image_guid = Some(Guid(7));
        }
        assert_eq!(severity(&[report]), Severity::Info, "one card in two slots");
    }

    #[test]
    fn a_port_that_was_in_use_is_not_unused() {
        assert_eq!(after("ib", |port| port.lid = Some(38)), Severity::Fail);
        let disabled = |port: &mut Port| {
            port.lid = Some(38);
            port.phys_state = Some("Disabled".into());
        };
        assert_eq!(after("ib", disabled), Severity::Warn, "perhaps on purpose");
        let address = json!([{ "index": 0, "value": "::ffff:10.9.0.1" }]);
        assert_eq!(after("roce", |port| port.gids = value(address.clone())), Severity::Fail);
        assert_eq!(after("roce", |port| port.gids = None), Severity::Fail, "unknown addresses");
        for name in ["link_downed", "port_rcv_data"] {
            let counter = |count: u64| {
                let counters = json!([{
                    "name": name, "group": "pma", "value": count, "unit": "events",
                    "saturated": false,
                }]);
                after("ib", |port| port.counters = value(counters.clone()))
            };
            assert_eq!((counter(0), counter(1)), (Severity::Info, Severity::Fail), "{name}");
        }
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
