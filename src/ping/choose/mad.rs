//! Addresses of management datagrams (MADs) between the two ports of a route, and from a host to
//! an address without an agent.
//!
//! InfiniBand uses LIDs. RoCE uses GIDs, and an IPv6 GID if both ports have one: the kernel
//! matches no response over IPv4 GIDs (`rcv_has_same_gid`, drivers/infiniband/core/mad.c). Over
//! IPv4 GIDs the target replies by the method Send instead.

use std::fmt;

use super::Overrides;
use super::candidate::{Candidate, candidates};
use crate::model::ping::{Route, RoutePort, Side};
use crate::model::probe::{Cause, MadGids, MadOpening, MadRoute, Role, Stage, StepError};
use crate::model::{Gid, GidKind, GidValue, HostReport, Port, Protocol};
use crate::ping::error::step_error;

/// Leading bits that two global IPv6 addresses of one subnet share.
const SUBNET_BITS: u32 = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ping) struct MadPlan {
    pub(in crate::ping) source: MadOpening,
    pub(in crate::ping) target: MadOpening,
    /// Routes in the order of the attempts, each from the source and from the target.
    pub(in crate::ping) routes: Vec<(MadRoute, MadRoute)>,
}

/// Reason why two ports cannot exchange MADs, and the side of the port.
pub(in crate::ping) type NoMads = (Side, StepError);

/// Returns the plan for MADs between the ports of a route. Fails if the protocol has no MADs, or
/// a port has no device file for MADs.
pub(in crate::ping) fn mad_plan(
    source: &HostReport,
    target: &HostReport,
    route: &Route,
    wanted: &Overrides,
) -> Result<MadPlan, NoMads> {
    if !has_mads(route.protocol) {
        let detail = format!("{} has no management datagrams (MADs)", route.protocol.word());
        return Err((Side::Source, step_error(Stage::Open, Cause::Unsupported, detail)));
    }
    let here = End::of(source, &route.source).map_err(|error| (Side::Source, error))?;
    let there = End::of(target, &route.target).map_err(|error| (Side::Target, error))?;
    let routes = if route.protocol.has_subnet() {
        vec![(here.by_lid(there.lid(), wanted), there.by_lid(here.lid(), wanted))]
    } else {
        let both = |(a, b): (IndexedGid, IndexedGid)| {
            (here.by_gid(a, b.1, wanted), there.by_gid(b, a.1, wanted))
        };
        gid_pairs(&here, &there, wanted).into_iter().map(both).collect()
    };
    Ok(MadPlan { source: here.opening(Role::Source), target: there.opening(Role::Target), routes })
}

/// Address of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MadAddressee {
    /// LID of an InfiniBand port.
    Lid(u16),
    /// GID of a RoCE port.
    Gid(GidValue),
}

/// Formats the name of the target in a report: `lid:7`, `gid:fe80::1`.
impl fmt::Display for MadAddressee {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lid(lid) => write!(out, "lid:{lid}"),
            Self::Gid(gid) => write!(out, "gid:{gid}"),
        }
    }
}

/// Returns the port of a host for MADs to an address, and the route to the address. Fails without
/// an active port that reaches the address, or without its device file for MADs.
pub(in crate::ping) fn mad_route_to(
    host: &HostReport,
    to: MadAddressee,
    wanted: &Overrides,
) -> Result<(MadOpening, MadRoute), StepError> {
    let mine = candidates(host, wanted);
    let active = mine.iter().filter(|one| one.is_active());
    let (best, protocol) = match to {
        MadAddressee::Lid(_) => {
            let of_subnet = active.filter(|one| one.protocol.has_subnet());
            (of_subnet.min_by_key(|one| one.index), "InfiniBand")
        }
        MadAddressee::Gid(peer) => {
            let rank = |one: &&Candidate<'_>| {
                (one.gid.kind == Some(GidKind::RoceV2), common_leading_bits(one.gid.value, peer))
            };
            let roce = active.filter(|one| one.protocol == Protocol::Roce);
            (roce.filter(|one| reaches(one.gid.value, peer)).max_by_key(rank), "RoCE")
        }
    };
    let best = best.ok_or_else(|| no_port(wanted, protocol))?;
    let port = best.route_port();
    let end = End::of(host, &port)?;
    let route = match to {
        MadAddressee::Lid(lid) => end.by_lid(lid, wanted),
        MadAddressee::Gid(peer) => end.by_gid((best.index, best.gid.value), peer, wanted),
    };
    Ok((end.opening(Role::Source), route))
}

fn no_port(wanted: &Overrides, protocol: &str) -> StepError {
    let device = wanted.device.as_ref().map_or(String::new(), |name| format!(" on device {name}"));
    let detail = format!("the host has no active {protocol} port{device} that reaches the address");
    step_error(Stage::Open, Cause::NoRoute, detail)
}

/// True if packets with this GID can reach the peer: both have one family and one scope.
fn reaches(own: GidValue, peer: GidValue) -> bool {
    own.ip().is_ipv4() == peer.ip().is_ipv4() && own.is_link_local() == peer.is_link_local()
}

fn common_leading_bits(one: GidValue, other: GidValue) -> u32 {
    (one.0.to_bits() ^ other.0.to_bits()).leading_zeros()
}

/// True if ports of this protocol have queue pair 1.
pub(in crate::ping) fn has_mads(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::Ib | Protocol::Opa | Protocol::Roce)
}

type IndexedGid = (u8, GidValue);

struct End<'a> {
    route: &'a RoutePort,
    port: &'a Port,
    umad: &'a str,
}

impl<'a> End<'a> {
    fn of(host: &'a HostReport, route: &'a RoutePort) -> Result<Self, StepError> {
        let RoutePort { device: name, port: number, .. } = route;
        let mut ports = host.ports();
        let port =
            ports.find(|(device, port)| device.name == *name && port.number == u32::from(*number));
        let end =
            port.and_then(|(_, port)| Some(Self { route, port, umad: port.umad.as_deref()? }));
        end.ok_or_else(|| {
            let detail =
                format!("{name}/{number} has no device file for MADs: ib_umad is not loaded");
            step_error(Stage::Open, Cause::NoUmad, detail)
        })
    }

    fn opening(&self, role: Role) -> MadOpening {
        MadOpening { umad: self.umad.to_owned(), role }
    }

    fn lid(&self) -> u16 {
        self.port.lid.and_then(|lid| u16::try_from(lid).ok()).unwrap_or(0)
    }

    fn by_lid(&self, lid: u16, wanted: &Overrides) -> MadRoute {
        MadRoute {
            lid,
            gids: None,
            pkey_index: self.route.pkey_index,
            service_level: wanted.service_level,
            traffic_class: wanted.traffic_class,
        }
    }

    fn by_gid(&self, (index, own): IndexedGid, peer: GidValue, wanted: &Overrides) -> MadRoute {
        let soft_roce = self.route.is_soft_roce();
        let netdev = self.route.netdev.clone();
        let gids = MadGids { index, own, peer, netdev, soft_roce };
        MadRoute { gids: Some(gids), ..self.by_lid(0, wanted) }
    }

    fn chosen_gid(&self) -> Option<IndexedGid> {
        Some((u8::try_from(self.route.gid_index).ok()?, self.route.gid))
    }

    /// Returns the IPv6 GIDs of one scope with the kind and the interface of the chosen GID.
    fn others(&self, is_link_local: bool) -> impl Iterator<Item = IndexedGid> {
        let kind = self.route.gid_kind.unwrap_or(GidKind::RoceV2);
        let fits = move |gid: &&Gid| {
            let is_of_port = gid.kind.is_none_or(|it| it == kind)
                && (gid.netdev.is_none() || gid.netdev == self.route.netdev);
            let value = gid.value;
            is_of_port && value.ip().is_ipv6() && value.is_link_local() == is_link_local
        };
        let gids = self.port.gids.iter().flatten().filter(fits);
        gids.filter_map(|gid| Some((u8::try_from(gid.index).ok()?, gid.value)))
    }
}

/// Returns the pairs of GIDs to try, the best one first: global IPv6 addresses of one subnet,
/// then link-local ones, then the GIDs of the route.
fn gid_pairs(here: &End<'_>, there: &End<'_>, wanted: &Overrides) -> Vec<(IndexedGid, IndexedGid)> {
    let chosen = here.chosen_gid().zip(there.chosen_gid());
    let has_override = wanted.gid_index != Overrides::default().gid_index;
    if has_override || !here.route.gid.ip().is_ipv4() {
        return chosen.into_iter().collect();
    }
    let are_near = |a: IndexedGid, b: IndexedGid| common_leading_bits(a.1, b.1) >= SUBNET_BITS;
    let in_one_subnet = here
        .others(false)
        .find_map(|a| there.others(false).find(|&b| are_near(a, b)).map(|b| (a, b)));
    let link_local = here.others(true).next().zip(there.others(true).next());
    in_one_subnet.into_iter().chain(link_local).chain(chosen).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::tests::host;
    use super::super::{Rails, choose};
    use super::*;
    use crate::model::{PortState, WantedGid};

    const UP: PortState = PortState::Active;

    /// Returns a host with one RoCE port and its device file for MADs.
    fn roce(gids: &[&str]) -> HostReport {
        let gids: Vec<_> = gids.iter().map(|gid| (*gid, GidKind::RoceV2)).collect();
        let mut host = host(&[("rxe0", Protocol::Roce, UP, &gids)]);
        host.devices[0].ports[0].umad = Some("umad0".into());
        host
    }

    fn ib(lid: u32) -> HostReport {
        let mut host = host(&[("mlx5_0", Protocol::Ib, UP, &[("fe80::1", GidKind::Ib)])]);
        let port = &mut host.devices[0].ports[0];
        (port.umad, port.lid) = (Some("umad1".into()), Some(lid));
        host
    }

    fn plan(a: &HostReport, b: &HostReport, wanted: &Overrides) -> Result<MadPlan, NoMads> {
        let routes =
            choose(a, b, &Rails::of([a, b].into_iter(), wanted), &BTreeSet::new(), wanted).unwrap();
        mad_plan(a, b, routes[0].1.as_ref().unwrap(), wanted)
    }

    /// Returns the GIDs of the attempts, as `INDEX OWN PEER` of the source.
    fn tried(a: &HostReport, b: &HostReport, wanted: &Overrides) -> Vec<String> {
        let plan = plan(a, b, wanted).unwrap();
        let gids = |(here, there): (MadRoute, MadRoute)| {
            let (here, there) = (here.gids.unwrap(), there.gids.unwrap());
            assert_eq!((here.own, here.peer), (there.peer, there.own));
            format!("{} {} {}", here.index, here.own, here.peer)
        };
        plan.routes.into_iter().map(gids).collect()
    }

    #[test]
    fn roce_ports_use_ipv6_before_ipv4() {
        let usual = Overrides::default();
        let a = roce(&["fe80::1", "::ffff:10.1.0.1", "fd00::a:0:0:1"]);
        let b = roce(&["fe80::2", "::ffff:10.1.0.2", "fd00::2"]);
        let ipv4 = "1 ::ffff:10.1.0.1 ::ffff:10.1.0.2";
        let global = "2 fd00::a:0:0:1 fd00::2";
        assert_eq!(tried(&a, &b, &usual), [global, "0 fe80::1 fe80::2", ipv4]);
        let other_subnet = roce(&["fe80::2", "::ffff:10.1.0.2", "fd00:1::2"]);
        assert_eq!(tried(&a, &other_subnet, &usual), ["0 fe80::1 fe80::2", ipv4]);
        let only_ipv4 = roce(&["::ffff:10.1.0.2"]);
        assert_eq!(tried(&a, &only_ipv4, &usual), [ipv4]);
    }

    #[test]
    fn a_gid_index_that_was_given_is_used() {
        let gid_index: WantedGid = "1".parse().unwrap();
        let wanted = Overrides { gid_index, ..Overrides::default() };
        let a = roce(&["fe80::1", "::ffff:10.1.0.1"]);
        let b = roce(&["fe80::2", "::ffff:10.1.0.2"]);
        assert_eq!(tried(&a, &b, &wanted), ["1 ::ffff:10.1.0.1 ::ffff:10.1.0.2"]);
    }

    #[test]
    fn infiniband_ports_use_lids() {
        let plan = plan(&ib(3), &ib(9), &Overrides::default()).unwrap();
        assert_eq!((plan.source.umad.as_str(), plan.target.role), ("umad1", Role::Target));
        let (here, there) = &plan.routes[0];
        assert_eq!((here.lid, there.lid, &here.gids), (9, 3, &None));
    }

    #[test]
    fn the_error_of_a_port_without_a_device_file_has_its_side() {
        let mut without = ib(9);
        without.devices[0].ports[0].umad = None;
        let (side, error) = plan(&ib(3), &without, &Overrides::default()).unwrap_err();
        assert_eq!((side, error.cause), (Side::Target, Cause::NoUmad));
        assert_eq!(error.detail, "mlx5_0/1 has no device file for MADs: ib_umad is not loaded");
        let (side, _) = plan(&without, &ib(3), &Overrides::default()).unwrap_err();
        assert_eq!(side, Side::Source);
    }

    #[test]
    fn iwarp_has_no_mads() {
        let siw = host(&[("siw0", Protocol::Iwarp, UP, &[("5254:12:3456::", GidKind::Ib)])]);
        let (_, error) = plan(&siw, &siw, &Overrides::default()).unwrap_err();
        assert_eq!(error.cause, Cause::Unsupported);
        assert_eq!(error.detail, "iWARP has no management datagrams (MADs)");
    }

    #[test]
    fn an_address_is_reached_by_a_port_of_its_kind() {
        let usual = Overrides::default();
        let to = |host: &HostReport, to| mad_route_to(host, to, &usual);
        let gid = |text: &str| MadAddressee::Gid(GidValue(text.parse().unwrap()));
        let (opening, route) = to(&ib(3), MadAddressee::Lid(7)).unwrap();
        assert_eq!((opening.umad.as_str(), route.lid, route.gids), ("umad1", 7, None));
        assert!(to(&roce(&["fe80::1"]), MadAddressee::Lid(7)).is_err());
        let host = roce(&["fe80::1", "::ffff:10.1.0.1", "fd00::1"]);
        for (peer, index) in [("fe80::9", 0), ("::ffff:10.9.0.1", 1), ("fd00::9", 2)] {
            assert_eq!(to(&host, gid(peer)).unwrap().1.gids.unwrap().index, index, "{peer}");
        }
        let error = to(&roce(&["fe80::1"]), gid("fd00::9")).unwrap_err();
        assert_eq!(error.detail, "the host has no active RoCE port that reaches the address");
        assert!(to(&ib(3), gid("fe80::9")).is_err());
    }
}
