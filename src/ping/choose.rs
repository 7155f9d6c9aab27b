//! Which port, GID and method two hosts use for each other: never a fixed index.

use std::net::{IpAddr, SocketAddr};

use crate::model::ping::{Route, RoutePort};
use crate::model::probe::Method;
use crate::model::{Device, Gid, GidKind, HostReport, Port, PortState, Protocol};

/// Why two hosts have no route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoRoute {
    /// The source has no active RDMA port; what it has instead.
    Source(String),
    /// Nor has the target.
    Target(String),
    /// Both have ports, but no protocol in common.
    Disjoint(String),
}

/// The best route from one host to the other.
pub(super) fn choose(source: &HostReport, target: &HostReport) -> Result<Route, NoRoute> {
    let from = candidates(source);
    let to = candidates(target);
    if from.is_empty() {
        return Err(NoRoute::Source(lack(source)));
    }
    if to.is_empty() {
        return Err(NoRoute::Target(lack(target)));
    }
    let pairs = from.iter().flat_map(|a| to.iter().map(move |b| (a, b)));
    pairs
        .filter_map(|(a, b)| Some((score(a, b)?, a, b)))
        // The first of equals: lower device names and GID indices, the same on every run.
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, a, b)| Route {
            method: if a.protocol == Protocol::Iwarp { Method::Cm } else { Method::Relay },
            protocol: a.protocol,
            mtu: None,
            source: a.port(),
            target: b.port(),
        })
        .ok_or_else(|| {
            NoRoute::Disjoint(format!("{} here, {} there", protocols(&from), protocols(&to)))
        })
}

/// The address of a chosen port that TCP can use; `None` for link-local and hardware addresses.
pub(super) fn tcp_address(port: &RoutePort) -> Option<SocketAddr> {
    if port.gid_kind != Some(GidKind::RoceV2) && port.gid_kind != Some(GidKind::RoceV1) {
        return None;
    }
    (!port.gid.is_link_local()).then(|| SocketAddr::new(port.gid.ip(), 0))
}

struct Candidate<'a> {
    device: &'a Device,
    port: &'a Port,
    gid: &'a Gid,
    protocol: Protocol,
    /// The port's number, as verbs and address vectors have it.
    number: u8,
    /// The GID's index, as address vectors have it.
    index: u8,
}

impl Candidate<'_> {
    fn port(&self) -> RoutePort {
        RoutePort {
            device: self.device.name.clone(),
            port: self.number,
            gid_index: self.index.into(),
            gid: self.gid.value,
            gid_kind: self.gid.kind,
            netdev: self.gid.netdev.clone().or_else(|| self.port.netdev.clone()),
            driver: self.device.driver.clone(),
        }
    }
}

fn candidates(host: &HostReport) -> Vec<Candidate<'_>> {
    let mut found = Vec::new();
    for device in &host.devices {
        for port in &device.ports {
            let (true, Some(protocol)) = (is_active(port), port.protocol) else { continue };
            // What does not fit the calls of verbs cannot be used.
            let Ok(number) = u8::try_from(port.number) else { continue };
            if !has_connections(protocol) {
                continue;
            }
            let gids = port.gids.iter().flatten();
            let usable = gids.filter_map(|gid| Some((gid, gid.index.try_into().ok()?)));
            found.extend(usable.map(|(gid, index)| Candidate {
                device,
                port,
                gid,
                protocol,
                number,
                index,
            }));
        }
    }
    found
}

fn is_active(port: &Port) -> bool {
    port.state.is_some_and(PortState::is_active)
}

/// Whether an RC queue pair can be had: the transports of the others come with their issue.
fn has_connections(protocol: Protocol) -> bool {
    !matches!(protocol, Protocol::Efa | Protocol::Usnic)
}

/// How good a pair of GIDs is; `None` when they cannot talk to each other.
///
/// In this order: `RoCE` v2 before v1, the longest common prefix of their addresses (the same
/// subnet, the same rail), IPv4 before IPv6, global before link-local.
fn score(a: &Candidate<'_>, b: &Candidate<'_>) -> Option<(bool, bool, u32, bool)> {
    if a.protocol != b.protocol {
        return None;
    }
    if a.protocol.has_subnet() {
        // Ports of two subnets reach each other only through a router: the same fabric first.
        let same_subnet = subnet_prefix(a.gid) == subnet_prefix(b.gid);
        return Some((true, same_subnet, 0, a.gid.index == 0 && b.gid.index == 0));
    }
    if a.protocol != Protocol::Roce {
        return Some((true, true, 0, a.gid.index == 0 && b.gid.index == 0));
    }
    if a.gid.kind != b.gid.kind {
        return None;
    }
    let version_2 = a.gid.kind == Some(GidKind::RoceV2);
    let is_global = !a.gid.value.is_link_local() && !b.gid.value.is_link_local();
    if a.gid.value.is_link_local() != b.gid.value.is_link_local() {
        return None;
    }
    match (a.gid.value.ip(), b.gid.value.ip()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            Some((version_2, is_global, (a.to_bits() ^ b.to_bits()).leading_zeros(), true))
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            // Scaled to IPv4's 32 bits, so that the families compare.
            let common = (a.to_bits() ^ b.to_bits()).leading_zeros() / 4;
            Some((version_2, is_global, common, false))
        }
        _ => None,
    }
}

/// The upper half of a GID (IBA 4.1.1): the same in all ports of a subnet.
fn subnet_prefix(gid: &Gid) -> u128 {
    gid.value.0.to_bits() >> 64
}

fn lack(host: &HostReport) -> String {
    if host.devices.is_empty() {
        return "no RDMA device".into();
    }
    let states: Vec<String> = host
        .devices
        .iter()
        .flat_map(|device| device.ports.iter().map(move |port| (device, port)))
        .map(|(device, port)| {
            let state = port.state.map_or("?", PortState::word);
            let lacks = if is_active(port) { unfit(port) } else { String::new() };
            format!("{}/{} is {state}{lacks}", device.name, port.number)
        })
        .collect();
    format!("no active port with a usable GID: {}", states.join(", "))
}

/// What an active port lacks that is no candidate.
fn unfit(port: &Port) -> String {
    match port.protocol {
        None => " with an unknown protocol".into(),
        Some(protocol) if !has_connections(protocol) => {
            format!(" with {}, which has no reliable connections", protocol.word())
        }
        Some(_) if u8::try_from(port.number).is_err() => " with a number over 255".into(),
        Some(_) if port.gids.iter().flatten().next().is_none() => " without a GID".into(),
        Some(_) => " without a GID up to index 255".into(),
    }
}

fn protocols(candidates: &[Candidate<'_>]) -> String {
    let mut words: Vec<&str> = candidates.iter().map(|one| one.protocol.word()).collect();
    words.sort_unstable();
    words.dedup();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{GidValue, Via};

    type PortFacts<'a> = (&'a str, Protocol, PortState, &'a [(&'a str, GidKind)]);

    fn host(ports: &[PortFacts<'_>]) -> HostReport {
        let mut report = HostReport::empty("n", Via::File);
        report.devices = ports
            .iter()
            .map(|(name, protocol, state, gids)| {
                let gids = gids.iter().enumerate().map(|(index, (text, kind))| Gid {
                    index: u32::try_from(index).unwrap(),
                    value: GidValue(text.parse().unwrap()),
                    kind: Some(*kind),
                    netdev: None,
                });
                let json = serde_json::json!({
                    "name": name, "ports": [{"number": 1, "gids": []}]
                });
                let mut device: Device = serde_json::from_value(json).unwrap();
                device.ports[0].state = Some(*state);
                device.ports[0].protocol = Some(*protocol);
                device.ports[0].gids = Some(gids.collect());
                device
            })
            .collect();
        report
    }

    const V2: GidKind = GidKind::RoceV2;
    const ROCE: Protocol = Protocol::Roce;
    const UP: PortState = PortState::Active;

    #[test]
    fn the_rail_with_the_common_subnet_is_taken() {
        let a = host(&[
            ("mlx5_0", ROCE, UP, &[("fe80::1", V2), ("::ffff:10.1.0.1", V2)]),
            ("mlx5_1", ROCE, UP, &[("fe80::2", V2), ("::ffff:10.2.0.1", V2)]),
        ]);
        let b = host(&[("mlx5_9", ROCE, UP, &[("::ffff:10.2.0.7", V2), ("fe80::9", V2)])]);
        let route = choose(&a, &b).unwrap();
        assert_eq!((route.source.device.as_str(), route.source.gid_index), ("mlx5_1", 1));
        assert_eq!((route.target.device.as_str(), route.target.gid_index), ("mlx5_9", 0));
    }

    #[test]
    fn ports_of_one_infiniband_subnet_are_taken() {
        const IB: Protocol = Protocol::Ib;
        let a = host(&[
            ("mlx5_0", IB, UP, &[("fec0::1", GidKind::Ib)]),
            ("mlx5_1", IB, UP, &[("fe80::1", GidKind::Ib)]),
        ]);
        let b = host(&[("mlx5_0", IB, UP, &[("fe80::2", GidKind::Ib)])]);
        assert_eq!(choose(&a, &b).unwrap().source.device, "mlx5_1");
    }

    #[test]
    fn version_2_is_taken_before_version_1() {
        let gids: &[_] = &[("::ffff:10.1.0.1", GidKind::RoceV1), ("::ffff:10.1.0.1", V2)];
        let both = host(&[("a", ROCE, UP, gids)]);
        assert_eq!(choose(&both, &both).unwrap().source.gid_index, 1);
        let old = host(&[("b", ROCE, UP, &gids[..1])]);
        assert_eq!(choose(&both, &old).unwrap().source.gid_index, 0);
    }

    #[test]
    fn iwarp_is_connected_by_the_connection_manager() {
        let siw = host(&[("siw0", Protocol::Iwarp, UP, &[("5254:12:3456::", GidKind::Ib)])]);
        assert_eq!(choose(&siw, &siw).unwrap().method, Method::Cm);
    }

    #[test]
    fn hosts_without_a_common_protocol_say_so() {
        let rxe = host(&[("rxe0", ROCE, UP, &[("fe80::1", V2)])]);
        let siw = host(&[("siw0", Protocol::Iwarp, UP, &[("5254:12:3456::", GidKind::Ib)])]);
        let why = choose(&rxe, &siw).unwrap_err();
        assert_eq!(why, NoRoute::Disjoint("RoCE here, iWARP there".into()));
    }

    #[test]
    fn an_active_port_without_a_route_says_what_it_lacks() {
        let whole = host(&[("a", ROCE, UP, &[("fe80::1", V2)])]);
        let why = |change: &dyn Fn(&mut Port)| {
            let mut lacking = whole.clone();
            change(&mut lacking.devices[0].ports[0]);
            match choose(&lacking, &whole) {
                Err(NoRoute::Source(why)) => why,
                other => panic!("{other:?}"),
            }
        };
        let end = |text: &str| format!("no active port with a usable GID: a/{text}");
        assert_eq!(why(&|port| port.gids = Some(Vec::new())), end("1 is ACTIVE without a GID"));
        assert_eq!(why(&|port| port.number = 257), end("257 is ACTIVE with a number over 255"));
        assert_eq!(
            why(&|port| port.gids.as_mut().unwrap()[0].index = 256),
            end("1 is ACTIVE without a GID up to index 255")
        );
        assert_eq!(
            why(&|port| port.protocol = Some(Protocol::Efa)),
            end("1 is ACTIVE with EFA, which has no reliable connections")
        );
        assert_eq!(why(&|port| port.protocol = None), end("1 is ACTIVE with an unknown protocol"));
    }

    #[test]
    fn a_port_that_is_down_is_named() {
        let up = host(&[("rxe0", ROCE, UP, &[("fe80::1", V2)])]);
        let down = host(&[("rxe0", ROCE, PortState::Down, &[("fe80::1", V2)])]);
        let NoRoute::Target(why) = choose(&up, &down).unwrap_err() else { panic!() };
        assert!(why.contains("rxe0/1 is DOWN"), "{why}");
    }
}
