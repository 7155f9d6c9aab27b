//! Faults of the link layer that the inventories show: two VLANs, a bridge above the port, and a
//! MAC address that two hosts have. TCP may pass where RoCE does not, which looks like a
//! firewall.
//!
//! `ping::matrix` passes each verdict to this module.

use std::net::IpAddr;

use super::duplicates::Duplicates;
use super::verdict::Ends;
use crate::model::HostReport;
use crate::model::ping::{Code, FIX_VLAN, RoutePort, Side, Verdict};
use crate::model::probe::Stage;

/// Host of a pair: its index, its inventory and the port that the pair uses.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// Index of the host in the run.
    pub host: usize,
    /// Inventory of the host.
    pub inventory: Option<&'a HostReport>,
    /// Port of the route.
    pub port: &'a RoutePort,
}

/// Returns the verdict, or a more exact one if packets were lost without a reply and a fault of
/// the link layer explains it. `at` has the source and the target.
pub fn explained(
    verdict: Verdict,
    at: [End<'_>; 2],
    duplicates: &Duplicates,
    ends: &Ends<'_>,
) -> Verdict {
    use Code::{Asymmetric, NoAck, NoNeighbour, RailDown, Udp4791Blocked};
    if verdict.code == NoNeighbour
        && let Some((source, target)) = at[0].address().zip(at[1].address())
        && let Some((here, there)) = different_vlans(&source, &target)
    {
        let detail = format!(
            "{}; similar addresses are in VLAN {here} on {} and in VLAN {there} on {}",
            verdict.detail, ends.source, ends.target
        );
        return Verdict { detail, hint: Some(ends.fill(FIX_VLAN, verdict.side)), ..verdict };
    }
    let is_no_response = matches!(verdict.code, Udp4791Blocked | NoAck | RailDown | Asymmetric);
    // A filter of the own host is observed directly, before a connection is made.
    if !is_no_response || verdict.stage == Some(Stage::Connect) {
        return verdict;
    }
    let sides = [Side::Source, Side::Target].into_iter().zip(at);
    let bridged = sides.clone().find_map(|(side, end)| Some((side, bridge(&end)?)));
    // TCP, which the bridge carries, distinguishes a bridge from a rail that is down.
    let bridged = bridged.filter(|_| verdict.code != RailDown);
    if let Some((side, (bridge, port))) = bridged {
        let host = ends.host(side);
        let fault = format!("the address of {host} is on {bridge}, a bridge above the port {port}");
        return replaced(verdict, Code::Bridge, side, &fault, ends);
    }
    let shared = |(side, end): (Side, End<'_>)| {
        let netdev = end.port.netdev.as_deref()?;
        duplicates.has_shared_mac(end.host, netdev).then_some((side, netdev.to_owned()))
    };
    let Some((side, netdev)) = sides.into_iter().find_map(shared) else { return verdict };
    let fault = format!("another host has the MAC address of {netdev} on {}", ends.host(side));
    replaced(verdict, Code::MacDuplicate, side, &fault, ends)
}

impl<'a> End<'a> {
    fn address(&self) -> Option<AddressOfNetdev<'a>> {
        let (address, netdev) = (self.port.gid.ip(), self.port.netdev.as_deref());
        Some(AddressOfNetdev { host: self.inventory?, netdev, address })
    }
}

/// Address of a GID, and its network interface on a host.
#[derive(Debug, Clone, Copy)]
pub struct AddressOfNetdev<'a> {
    /// Inventory of the host.
    pub host: &'a HostReport,
    /// Name of the network interface, if it is known.
    pub netdev: Option<&'a str>,
    /// IP address.
    pub address: IpAddr,
}

impl AddressOfNetdev<'_> {
    /// Returns the VLAN id of the interface; `None` without a VLAN, or if the interfaces were not
    /// read.
    pub fn vlan(&self) -> Option<u16> {
        self.host.netdev(self.netdev?)?.vlan.as_ref()?.id
    }
}

/// Returns the VLANs of two addresses if the prefixes of the addresses are equal, as in one
/// subnet, but their VLANs differ. `None` if their frames may reach each other, or if a VLAN is
/// unknown: an interface without a tag may be in any VLAN, because its switch port decides.
pub fn different_vlans(
    one: &AddressOfNetdev<'_>,
    other: &AddressOfNetdev<'_>,
) -> Option<(u16, u16)> {
    let (here, there) = one.vlan().zip(other.vlan())?;
    (here != there && have_one_prefix(one.address, other.address)).then_some((here, there))
}

/// True if the first 24 bits of two IPv4 addresses, or the first 64 of two IPv6 addresses, are
/// equal. The addresses are then usually in one subnet.
fn have_one_prefix(one: IpAddr, other: IpAddr) -> bool {
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            (one.to_bits() ^ other.to_bits()).leading_zeros() >= 24
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => {
            (one.to_bits() ^ other.to_bits()).leading_zeros() >= 64
        }
        _ => false,
    }
}

fn replaced(seen: Verdict, code: Code, side: Side, fault: &str, ends: &Ends<'_>) -> Verdict {
    let detail = format!("{}; {fault}", seen.detail);
    let hint = code.fixes().first().map(|fix| ends.fill(fix, side));
    Verdict { code, side, detail, hint, ..seen }
}

/// Returns the names of the bridge that has the address of the GID, and of its member, which is
/// the interface of the port; `None` for a bond, whose members send for the bond.
fn bridge(end: &End<'_>) -> Option<(String, String)> {
    let upper = end.port.netdev.as_deref()?;
    let device = end.inventory?.devices.iter().find(|device| device.name == end.port.device)?;
    let port = device.ports.iter().find(|port| port.number == u32::from(end.port.port))?;
    let lower = port.netdev.as_deref().filter(|lower| *lower != upper)?;
    let is_member = end.inventory?.netdev(lower)?.master.as_deref() == Some(upper);
    let is_bond = end.inventory?.netdev(upper).is_none_or(|netdev| netdev.bond.is_some());
    (is_member && !is_bond).then(|| (upper.to_owned(), lower.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::analyse::verdict::not_tested;
    use crate::model::ping::Route;
    use crate::model::{Netdev, Via};

    fn host(name: &str, mac: &str, bond: Option<Value>) -> HostReport {
        let netdev = |name: &str, master: Option<&str>, bond: Option<Value>| -> Netdev {
            let kind = if name == "lo" { "other" } else { "ethernet" };
            serde_json::from_value(json!({
                "name": name, "kind": kind, "address": mac, "master": master, "bond": bond,
            }))
            .unwrap()
        };
        let device = json!({ "name": "rxe0", "ports": [
            { "number": 1, "netdev": "eth1", "protocol": "roce" },
        ] });
        HostReport {
            devices: vec![serde_json::from_value(device).unwrap()],
            netdevs: Some(
                vec![netdev("eth1", Some("br0"), None), netdev("br0", None, bond)].into(),
            ),
            ..HostReport::empty(name, Via::Agent)
        }
    }

    fn judged(code: Code, stage: Stage, netdev: &str, hosts: [&HostReport; 2]) -> Verdict {
        let port = |netdev: &str| {
            serde_json::from_value::<RoutePort>(json!({
                "device": "rxe0", "port": 1, "gid_index": 1, "gid": "::ffff:10.10.1.1", "netdev": netdev,
            }))
            .unwrap()
        };
        let route: Route = serde_json::from_value(json!({
            "method": "relay", "protocol": "roce", "source": port(netdev), "target": port("eth1"),
        }))
        .unwrap();
        let ends = Ends { source: "n1", target: "n2", route: Some(&route) };
        let at = [
            End { host: 0, inventory: Some(hosts[0]), port: &route.source },
            End { host: 1, inventory: Some(hosts[1]), port: &route.target },
        ];
        let duplicates = Duplicates::of(&["n1", "n2"], &hosts.map(Some));
        let seen = Verdict { code, stage: Some(stage), detail: "seen".into(), ..not_tested() };
        explained(seen, at, &duplicates, &ends)
    }

    const MACS: [&str; 2] = ["52:54:00:00:00:01", "52:54:00:00:00:02"];

    #[test]
    fn an_address_on_a_bridge_is_no_firewall() {
        let (one, two) = (host("n1", MACS[0], None), host("n2", MACS[1], None));
        let code = |code, stage, netdev| judged(code, stage, netdev, [&one, &two]).code;
        let first = Stage::FirstMessage;
        let verdict = judged(Code::Udp4791Blocked, first, "br0", [&one, &two]);
        assert_eq!((verdict.code, verdict.side), (Code::Bridge, Side::Source));
        assert_eq!(
            verdict.detail,
            "seen; the address of n1 is on br0, a bridge above the port eth1"
        );
        assert!(verdict.hint.unwrap().contains("on n1: ip addr show dev br0"));
        assert_eq!(code(Code::Udp4791Blocked, first, "eth1"), Code::Udp4791Blocked);
        assert_eq!(code(Code::Udp4791Blocked, Stage::Connect, "br0"), Code::Udp4791Blocked);
        assert_eq!(code(Code::Corrupted, first, "br0"), Code::Corrupted);
        assert_eq!(code(Code::RailDown, first, "br0"), Code::RailDown);
        assert_eq!(code(Code::Ok, first, "br0"), Code::Ok);
    }

    #[test]
    fn two_vlans_explain_a_missing_neighbor() {
        let with = |name: &str, vlan: u16| {
            let json = json!([{ "name": "eth1", "vlan": { "id": vlan, "parent": "eth0" } }]);
            let netdevs: Vec<Netdev> = serde_json::from_value(json).unwrap();
            HostReport { netdevs: Some(netdevs.into()), ..HostReport::empty(name, Via::Agent) }
        };
        let verdict = |vlans: [u16; 2], code| {
            let (one, two) = (with("n1", vlans[0]), with("n2", vlans[1]));
            judged(code, Stage::Connect, "eth1", [&one, &two])
        };
        let found = verdict([10, 20], Code::NoNeighbour);
        assert_eq!(
            found.detail,
            "seen; similar addresses are in VLAN 10 on n1 and in VLAN 20 on n2"
        );
        assert!(found.hint.unwrap().starts_with("set the same VLAN id on n1 and n2"));
        assert_eq!(verdict([10, 10], Code::NoNeighbour).detail, "seen");
        assert_eq!(verdict([10, 20], Code::NoAck).detail, "seen");
    }

    #[test]
    fn a_bond_sends_for_its_address() {
        let bond = json!({ "mode": "802.3ad", "members": ["eth1"], "active": null });
        let (one, two) = (host("n1", MACS[0], Some(bond)), host("n2", MACS[1], None));
        let verdict = judged(Code::Udp4791Blocked, Stage::FirstMessage, "br0", [&one, &two]);
        assert_eq!(verdict.code, Code::Udp4791Blocked);
    }

    #[test]
    fn two_hosts_with_one_mac_address_are_no_firewall() {
        let (one, two) = (host("n1", MACS[0], None), host("n2", MACS[0], None));
        for code in [Code::Udp4791Blocked, Code::RailDown, Code::Asymmetric, Code::NoAck] {
            let verdict = judged(code, Stage::FirstMessage, "eth1", [&one, &two]);
            assert_eq!(verdict.code, Code::MacDuplicate);
            assert!(verdict.hint.unwrap().contains("on n1: ip link show dev eth1"));
        }
        let none = (host("n1", "00:00:00:00:00:00", None), host("n2", "00:00:00:00:00:00", None));
        let verdict = judged(Code::NoAck, Stage::FirstMessage, "eth1", [&none.0, &none.1]);
        assert_eq!(verdict.code, Code::NoAck);
    }
}
