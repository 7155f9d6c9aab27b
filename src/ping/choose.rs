//! Which ports, GIDs, partitions and method two hosts use for each other: never a fixed index.

mod overrides;
mod rails;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use crate::model::ping::{Route, RoutePort, Side};
use crate::model::probe::Method;
use crate::model::{
    Device, Gid, GidIndex, GidKind, HostReport, PKey, Port, PortState, Protocol, SOFT_ROCE,
};

pub use overrides::Overrides;
pub(super) use rails::Rails;

/// The first Linux that is known not to hang when a firewall of its own host drops a datagram of
/// soft-RoCE. Of 5.10 and 6.1 `rxe_requester` sends it again for ever, in the process that posted it,
/// which no signal ends: seen in the lab, a host with one processor was dead.
const RXE_SURVIVES_FIREWALLS: (u32, u32) = (6, 12);

/// Why two hosts have no route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoRoute {
    /// One end has no active RDMA port; what it has instead.
    Port(Side, String),
    /// Its port on the rail is down; which one, and its state.
    Down(Side, String),
    /// Its ports have nothing at the GID index that is wanted; what they have.
    NoGid(Side, String),
    /// Its InfiniBand ports wait for a subnet manager; which ones.
    NoSubnetManager(Side, String),
    /// Both have ports, but no protocol in common.
    Disjoint(String),
    /// Both have `RoCE`, but no GIDs of one version and one kind of address.
    GidFamily(String),
    /// The GIDs of both are in different VLANs of one subnet.
    Vlan(String),
    /// Both ends are in no partition in which they may talk.
    PKey(String),
}

/// A rail's number, and the route on it.
pub(super) type OnRail = (usize, Result<Route, NoRoute>);

/// The best route for each rail that both hosts have, with the rail's number; the best of all
/// where they share none.
pub(super) fn choose(
    source: &HostReport,
    target: &HostReport,
    rails: &Rails,
    wanted: &Overrides,
) -> Result<Vec<OnRail>, NoRoute> {
    let (from, to) = (candidates(source, wanted), candidates(target, wanted));
    for (end, side, host) in [(&from, Side::Source, source), (&to, Side::Target, target)] {
        if !end.iter().any(Candidate::is_active) {
            return Err(lack(host, side, wanted));
        }
    }
    let pairs = || {
        let to = || to.iter().filter(|b| b.is_active());
        from.iter().filter(|a| a.is_active()).flat_map(move |a| to().map(move |b| (a, b)))
    };
    let mut routes = Vec::new();
    for (number, key) in rails.keys() {
        let is_on = |host: &[Candidate<'_>], one: &Candidate<'_>| rails.key(host, one) == key;
        let on_rail = pairs().filter(|(a, b)| is_on(&from, a) && is_on(&to, b));
        if let Some((a, b)) = best(on_rail) {
            routes.push((number, route(a, b, wanted)));
            continue;
        }
        let (mine, theirs) =
            (from.iter().find(|a| is_on(&from, a)), to.iter().find(|b| is_on(&to, b)));
        match mine.zip(theirs) {
            Some((a, _)) if !a.is_active() => {
                routes.push((number, Err(down(Side::Source, a))));
            }
            Some((_, b)) if !b.is_active() => {
                routes.push((number, Err(down(Side::Target, b))));
            }
            Some(_) => routes.push((number, Err(no_route(&from, &to)))),
            None => {}
        }
    }
    if !routes.is_empty() {
        return Ok(routes);
    }
    match best(pairs()) {
        Some((a, b)) => Ok(vec![(0, route(a, b, wanted))]),
        None => Err(no_route(&from, &to)),
    }
}

/// The best two of many; the first of equals: lower device names and GID indices, the same on
/// every run.
fn best<'a, 'c>(
    pairs: impl Iterator<Item = (&'c Candidate<'a>, &'c Candidate<'a>)>,
) -> Option<(&'c Candidate<'a>, &'c Candidate<'a>)>
where
    'a: 'c,
{
    pairs
        .filter_map(|(a, b)| Some((score(a, b)?, a, b)))
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, a, b)| (a, b))
}

fn route(a: &Candidate<'_>, b: &Candidate<'_>, wanted: &Overrides) -> Result<Route, NoRoute> {
    let (mut source, mut target) = (a.port(), b.port());
    if let Some((mine, theirs)) = common_partition(a, b, wanted)? {
        (source.pkey_index, source.pkey) = mine;
        (target.pkey_index, target.pkey) = theirs;
    }
    Ok(Route {
        method: match a.protocol {
            Protocol::Iwarp => Method::Cm,
            Protocol::Efa => Method::Datagrams,
            _ => Method::Relay,
        },
        protocol: a.protocol,
        unreliable: a.survives_loss() && b.survives_loss(),
        mtu: None,
        source,
        target,
    })
}

/// Index and key of a partition on one host.
type Partition = (u16, Option<u16>);

/// The partition at both ends: the one that is wanted, else that of index 0, else the first in which
/// they may talk; `None` where a table is not known. Two members talk when one of them is a full one (IBA 10.9.1.1).
fn common_partition<'a>(
    a: &Candidate<'a>,
    b: &Candidate<'a>,
    wanted: &Overrides,
) -> Result<Option<(Partition, Partition)>, NoRoute> {
    const BASE: u16 = 0x7fff;
    let find = |one: &Candidate<'_>, end: &str| -> Result<Option<PKey>, NoRoute> {
        let Some(table) = one.port.pkeys.as_ref().filter(|table| !table.is_empty()) else {
            return Ok(None);
        };
        let found = match wanted.pkey {
            Some(wanted) => table.iter().find(|key| key.value & BASE == wanted & BASE),
            None => table.iter().find(|key| key.index == 0).or_else(|| table.first()),
        };
        found.copied().map(Some).ok_or_else(|| {
            let keys: Vec<String> = table.iter().map(ToString::to_string).collect();
            let (device, port) = (&one.device.name, one.number);
            let wanted = wanted.pkey.unwrap_or_default();
            NoRoute::PKey(format!(
                "{device}/{port} at the {end} is in no partition {wanted:#06x}; its keys are {}",
                keys.join(", ")
            ))
        })
    };
    let (Some(mut mine), Some(mut theirs)) = (find(a, "source")?, find(b, "target")?) else {
        return Ok(None);
    };
    let may_talk = |x: u16, y: u16| x & BASE == y & BASE && (x | y) & !BASE != 0;
    if wanted.pkey.is_none() && !may_talk(mine.value, theirs.value) {
        let keys = |one: &Candidate<'a>| one.port.pkeys.iter().flatten().copied();
        let common = keys(a)
            .flat_map(|mine| keys(b).map(move |theirs| (mine, theirs)))
            .filter(|(mine, theirs)| may_talk(mine.value, theirs.value))
            .min_by_key(|(mine, theirs)| (mine.index, theirs.index));
        (mine, theirs) = common.unwrap_or((mine, theirs));
    }
    let (x, y) = (mine.value, theirs.value);
    if x & BASE != y & BASE {
        return Err(NoRoute::PKey(format!(
            "the source's partition key is {x:#06x}, the target's {y:#06x}: other partitions"
        )));
    }
    if (x | y) & !BASE == 0 {
        return Err(NoRoute::PKey(format!(
            "both ends are limited members of partition {x:#06x}, who may not talk to each other"
        )));
    }
    let partition =
        |key: PKey| u16::try_from(key.index).map_or((0, None), |index| (index, Some(key.value)));
    Ok(Some((partition(mine), partition(theirs))))
}

fn no_route(from: &[Candidate<'_>], to: &[Candidate<'_>]) -> NoRoute {
    let apart = from.iter().flat_map(|a| to.iter().map(move |b| (a, b))).find_map(|(a, b)| {
        (a.protocol == b.protocol && a.gid.kind == b.gid.kind).then_some(())?;
        different_vlans(a, b)
    });
    if let Some((here, there)) = apart {
        return NoRoute::Vlan(format!(
            "addresses of one subnet are in VLAN {here} at the source and in VLAN {there} at the target"
        ));
    }
    let is_roce = |end: &[Candidate<'_>]| {
        end.iter().any(|one| one.is_active() && one.protocol == Protocol::Roce)
    };
    if is_roce(from) && is_roce(to) {
        return NoRoute::GidFamily(format!("{} here, {} there", families(from), families(to)));
    }
    NoRoute::Disjoint(format!("{} here, {} there", protocols(from), protocols(to)))
}

/// The GIDs of active `RoCE` ports as pairs of them are matched: the version, and what kind of address.
fn families(end: &[Candidate<'_>]) -> String {
    let roce = end.iter().filter(|one| one.is_active() && one.protocol == Protocol::Roce);
    let families: BTreeSet<String> = roce
        .map(|one| {
            let family = match one.gid.value.ip() {
                _ if one.gid.value.is_link_local() => "link-local",
                IpAddr::V4(_) => "IPv4",
                IpAddr::V6(_) => "IPv6",
            };
            let kind = one.gid.kind.map_or("of unknown version", GidKind::word);
            format!("{kind} {family}")
        })
        .collect();
    Vec::from_iter(families).join(", ")
}

/// The address of a chosen port that TCP can use; `None` for link-local and hardware addresses.
pub(super) fn tcp_address(port: &RoutePort) -> Option<SocketAddr> {
    if port.gid_kind != Some(GidKind::RoceV2) && port.gid_kind != Some(GidKind::RoceV1) {
        return None;
    }
    (!port.gid.is_link_local()).then(|| SocketAddr::new(port.gid.ip(), 0))
}

struct Candidate<'a> {
    host: &'a HostReport,
    device: &'a Device,
    port: &'a Port,
    gid: &'a Gid,
    protocol: Protocol,
    /// The port's number, as verbs and address vectors have it.
    number: u8,
    /// The GID's index, as address vectors have it.
    index: u8,
}

impl<'a> Candidate<'a> {
    /// Whether it can be used; one that cannot is on its rail all the same.
    fn is_active(&self) -> bool {
        is_active(self.port)
    }

    /// Which port of the host it is.
    fn place(&self) -> (&'a str, u8) {
        (&self.device.name, self.number)
    }

    /// Whether it can send what nobody acknowledges without harm to its host. iWARP has no such thing.
    fn survives_loss(&self) -> bool {
        let is_soft = self.device.driver.as_deref() == Some(SOFT_ROCE);
        self.protocol != Protocol::Iwarp
            && (!is_soft || self.host.kernel_release() >= Some(RXE_SURVIVES_FIREWALLS))
    }

    fn port(&self) -> RoutePort {
        RoutePort {
            device: self.device.name.clone(),
            port: self.number,
            gid_index: self.index.into(),
            gid: self.gid.value,
            gid_kind: self.gid.kind,
            netdev: self.gid.netdev.clone().or_else(|| self.port.netdev.clone()),
            driver: self.device.driver.clone(),
            rate_bps: self.port.rate_bps,
            pkey_index: 0,
            pkey: None,
        }
    }
}

fn candidates<'a>(host: &'a HostReport, wanted: &Overrides) -> Vec<Candidate<'a>> {
    let mut found = Vec::new();
    let is = |wanted: Option<u32>, number| wanted.is_none_or(|wanted| wanted == number);
    let devices = host
        .devices
        .iter()
        .filter(|device| wanted.device.as_ref().is_none_or(|name| *name == device.name));
    for device in devices {
        for port in device.ports.iter().filter(|port| is(wanted.port, port.number)) {
            let Some(protocol) = port.protocol else { continue };
            // What does not fit the calls of verbs cannot be used.
            let Ok(number) = u8::try_from(port.number) else { continue };
            if !is_usable(protocol) {
                continue;
            }
            let index = wanted.gid_index.of(&host.host);
            let gids = port.gids.iter().flatten().filter(|gid| is(index, gid.index));
            let usable = gids.filter_map(|gid| Some((gid, gid.index.try_into().ok()?)));
            found.extend(usable.map(|(gid, index)| Candidate {
                host,
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

/// The VLAN of a GID's interface; `None` without one, and where interfaces were not read.
fn vlan(one: &Candidate<'_>) -> Option<u16> {
    let name = one.gid.netdev.as_ref()?;
    let netdev = one.host.netdevs.as_ref()?.iter().find(|netdev| netdev.name == *name)?;
    netdev.vlan.as_ref()?.id
}

/// The VLANs of two GIDs that begin as those of one subnet do and whose frames do not meet; `None`
/// where they may, or where it is not known.
fn different_vlans(a: &Candidate<'_>, b: &Candidate<'_>) -> Option<(u16, u16)> {
    if a.protocol != Protocol::Roce {
        return None;
    }
    let is_one_subnet = match (a.gid.value.ip(), b.gid.value.ip()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros() >= 24,
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros() >= 64,
        _ => false,
    };
    // Who sends without a tag may be in any VLAN: its switch port says.
    let (here, there) = vlan(a).zip(vlan(b))?;
    (is_one_subnet && here != there).then_some((here, there))
}

fn is_active(port: &Port) -> bool {
    port.state.is_some_and(PortState::is_active)
}

/// Whether messages can be sent at all as we send them: connections, or datagrams with answers.
fn is_usable(protocol: Protocol) -> bool {
    protocol != Protocol::Usnic
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
    if a.gid.kind != b.gid.kind || different_vlans(a, b).is_some() {
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

/// Why a port is not active.
fn down(side: Side, one: &Candidate<'_>) -> NoRoute {
    let state = told_state(one.device, one.port);
    if waits_for_manager(one.port) {
        NoRoute::NoSubnetManager(side, state)
    } else {
        NoRoute::Down(side, state)
    }
}

/// The link of such a port is up; it has no LID yet (IBA 7.2.7).
fn waits_for_manager(port: &Port) -> bool {
    port.protocol.is_some_and(Protocol::has_subnet) && port.state == Some(PortState::Init)
}

/// Why nothing of a host can be used.
fn lack(host: &HostReport, side: Side, wanted: &Overrides) -> NoRoute {
    let has = |wanted: &Overrides| candidates(host, wanted).iter().any(Candidate::is_active);
    if let Some(index) = wanted.gid_index.of(&host.host) {
        let any = Overrides { gid_index: GidIndex::default(), ..wanted.clone() };
        if has(&any) {
            return NoRoute::NoGid(side, missing_gid(host, index, &any));
        }
    }
    let asked = [
        wanted.device.as_ref().map(|name| format!("device {name}")),
        wanted.port.map(|port| format!("port {port}")),
    ];
    let asked: Vec<String> = asked.into_iter().flatten().collect();
    if !asked.is_empty() && has(&Overrides::default()) {
        return NoRoute::Port(side, format!("it has nothing usable as {}", asked.join(", ")));
    }
    if host.devices.is_empty() {
        return NoRoute::Port(side, "no RDMA device".into());
    }
    let ports = || {
        let devices = host.devices.iter();
        devices.flat_map(|device| device.ports.iter().map(move |port| (device, port)))
    };
    let wanted = candidates(host, wanted);
    if let Some(one) = wanted.iter().find(|one| waits_for_manager(one.port)) {
        return down(side, one);
    }
    let states: Vec<String> = ports()
        .map(|(device, port)| {
            let lacks = if is_active(port) { unfit(port) } else { String::new() };
            format!("{}{lacks}", told_state(device, port))
        })
        .collect();
    NoRoute::Port(side, format!("no active port with a usable GID: {}", states.join(", ")))
}

/// What the active ports that could be used have instead of one GID.
fn missing_gid(host: &HostReport, index: u32, wanted: &Overrides) -> String {
    let mut ports: BTreeMap<(&str, u8), Vec<String>> = BTreeMap::new();
    let candidates = candidates(host, wanted);
    for one in candidates.iter().filter(|one| one.is_active()) {
        ports.entry(one.place()).or_default().push(one.index.to_string());
    }
    let ports: Vec<String> = ports
        .into_iter()
        .map(|((device, port), indices)| format!("{device}/{port} has {}", indices.join(", ")))
        .collect();
    format!("no GID at index {index}: {}", ports.join("; "))
}

fn told_state(device: &Device, port: &Port) -> String {
    let state = port.state.map_or("?", PortState::word);
    format!("{}/{} is {state}", device.name, port.number)
}

/// What an active port lacks that is no candidate.
fn unfit(port: &Port) -> String {
    match port.protocol {
        None => " with an unknown protocol".into(),
        Some(protocol) if !is_usable(protocol) => {
            format!(" with {}, which this program does not speak", protocol.word())
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
    use crate::model::{GidValue, Membership, Netdev, Via, Vlan};

    /// The best route, of one rail.
    fn choose(source: &HostReport, target: &HostReport) -> Result<Route, NoRoute> {
        let all = super::choose(source, target, &Rails::default(), &Overrides::default())?;
        all.into_iter().next().unwrap().1
    }

    /// The rails of two hosts of a run of so many: number, and device at both ends.
    fn shared(hosts: &[&HostReport], wanted: &Overrides) -> Vec<(usize, String, String)> {
        let rails = Rails::of(hosts.iter().copied(), wanted);
        let routes = super::choose(hosts[0], hosts[1], &rails, wanted).unwrap();
        let ends = |(rail, route): OnRail| {
            let Route { source, target, .. } = route.unwrap();
            (rail, source.device, target.device)
        };
        routes.into_iter().map(ends).collect()
    }

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
    fn efa_has_datagrams_only() {
        let efa = host(&[("rdmap0s6", Protocol::Efa, UP, &[("fe80::1", GidKind::Ib)])]);
        assert_eq!(choose(&efa, &efa).unwrap().method, Method::Datagrams);
    }

    #[test]
    fn hosts_without_a_common_protocol_say_so() {
        let rxe = host(&[("rxe0", ROCE, UP, &[("fe80::1", V2)])]);
        let siw = host(&[("siw0", Protocol::Iwarp, UP, &[("5254:12:3456::", GidKind::Ib)])]);
        let why = choose(&rxe, &siw).unwrap_err();
        assert_eq!(why, NoRoute::Disjoint("RoCE here, iWARP there".into()));
    }

    #[test]
    fn a_gid_index_that_a_host_has_not_or_that_is_of_another_kind_is_told() {
        let named = |name: &str| {
            let gids: &[_] = &[("fe80::1", V2), ("::ffff:10.1.0.1", V2)];
            HostReport { host: name.into(), ..host(&[("rxe0", ROCE, UP, gids)]) }
        };
        let (a, b) = (named("n1"), named("n2"));
        let with = |gid_index: &str| {
            let wanted =
                Overrides { gid_index: gid_index.parse().unwrap(), ..Overrides::default() };
            super::choose(&a, &b, &Rails::default(), &wanted)?.remove(0).1
        };
        assert_eq!(with("0").unwrap().target.gid_index, 0);
        let missing = "no GID at index 200: rxe0/1 has 0, 1";
        assert_eq!(with("200"), Err(NoRoute::NoGid(Side::Source, missing.into())));
        assert_eq!(with("n2=200"), Err(NoRoute::NoGid(Side::Target, missing.into())));
        let families = "RoCE v2 link-local here, RoCE v2 IPv4 there";
        assert_eq!(with("1,n1=0"), Err(NoRoute::GidFamily(families.into())));
    }

    #[test]
    fn an_active_port_without_a_route_says_what_it_lacks() {
        let whole = host(&[("a", ROCE, UP, &[("fe80::1", V2)])]);
        let why = |change: &dyn Fn(&mut Port)| {
            let mut lacking = whole.clone();
            change(&mut lacking.devices[0].ports[0]);
            match choose(&lacking, &whole) {
                Err(NoRoute::Port(Side::Source, why)) => why,
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
            why(&|port| port.protocol = Some(Protocol::Usnic)),
            end("1 is ACTIVE with usNIC, which this program does not speak")
        );
        assert_eq!(why(&|port| port.protocol = None), end("1 is ACTIVE with an unknown protocol"));
    }

    #[test]
    fn a_port_that_is_down_is_named() {
        let up = host(&[("rxe0", ROCE, UP, &[("fe80::1", V2)])]);
        let down = host(&[("rxe0", ROCE, PortState::Down, &[("fe80::1", V2)])]);
        let NoRoute::Port(Side::Target, why) = choose(&up, &down).unwrap_err() else { panic!() };
        assert!(why.contains("rxe0/1 is DOWN"), "{why}");
    }

    #[test]
    fn an_infiniband_port_that_waits_for_a_subnet_manager_is_told_as_such() {
        let of = |state| host(&[("mlx5_0", Protocol::Ib, state, &[("fe80::1", GidKind::Ib)])]);
        let (up, waits) = (of(UP), of(PortState::Init));
        let told = NoRoute::NoSubnetManager(Side::Target, "mlx5_0/1 is INIT".into());
        assert_eq!(choose(&up, &waits), Err(told));
        let second = |state| {
            host(&[
                ("mlx5_0", Protocol::Ib, UP, &[("fe80::1", GidKind::Ib)]),
                ("mlx5_1", Protocol::Ib, state, &[("fe80::2", GidKind::Ib)]),
            ])
        };
        let (all, lacks) = (second(UP), second(PortState::Init));
        let rails = Rails::of([&all, &all, &lacks].into_iter(), &Overrides::default());
        let found = super::choose(&lacks, &all, &rails, &Overrides::default()).unwrap();
        let told = NoRoute::NoSubnetManager(Side::Source, "mlx5_1/1 is INIT".into());
        assert_eq!(found[1], (1, Err(told)));
        let roce = host(&[("mlx5_0", ROCE, PortState::Init, &[("fe80::1", V2)])]);
        assert!(matches!(choose(&roce, &up), Err(NoRoute::Port(Side::Source, _))));
    }

    fn two_rails(host: u8) -> HostReport {
        let [first, second] = [1, 2].map(|rail| format!("::ffff:10.10.{rail}.{host}"));
        self::host(&[
            ("rxe0", ROCE, UP, &[("fe80::1", V2), (&first, V2)]),
            ("rxe1", ROCE, UP, &[("fe80::2", V2), (&second, V2)]),
        ])
    }

    #[test]
    fn every_rail_that_both_have_is_taken_and_has_its_number_everywhere() {
        let (a, b) = (two_rails(1), two_rails(2));
        let all = Overrides::default();
        let text = |it: &str| it.to_owned();
        let both = [(0, text("rxe0"), text("rxe0")), (1, text("rxe1"), text("rxe1"))];
        assert_eq!(shared(&[&a, &b], &all), both);
        let second = host(&[("mlx5_9", ROCE, UP, &[("::ffff:10.10.2.7", V2)])]);
        assert_eq!(shared(&[&a, &second, &b], &all), [(1, text("rxe1"), text("mlx5_9"))]);
        let first = Overrides { first_rail: true, ..Overrides::default() };
        assert_eq!(shared(&[&a, &b], &first).len(), 1);
        let named = Overrides { device: Some("rxe1".into()), ..Overrides::default() };
        assert_eq!(shared(&[&a, &b], &named), [(0, text("rxe1"), text("rxe1"))]);
    }

    #[test]
    fn a_rail_that_is_down_at_one_end_is_told_and_leaves_the_other_alone() {
        let (a, mut b) = (two_rails(1), two_rails(2));
        b.devices[0].ports[0].state = Some(PortState::Down);
        let ways = |source: &HostReport, target: &HostReport| {
            let rails = Rails::of([&a, &b].into_iter(), &Overrides::default());
            let found = super::choose(source, target, &rails, &Overrides::default()).unwrap();
            let [(0, Err(first)), (1, Ok(second))] = &found[..] else { panic!("{found:?}") };
            assert_eq!(second.source.device, "rxe1");
            first.clone()
        };
        assert_eq!(ways(&a, &b), NoRoute::Down(Side::Target, "rxe0/1 is DOWN".into()));
        assert_eq!(ways(&b, &a), NoRoute::Down(Side::Source, "rxe0/1 is DOWN".into()));
    }

    #[test]
    fn soft_roce_of_a_kernel_that_would_hang_sends_no_datagrams() {
        let of = |driver: &str, kernel: &str| {
            let mut one = host(&[("rxe0", ROCE, UP, &[("::ffff:10.1.0.1", V2)])]);
            one.devices[0].driver = Some(driver.into());
            HostReport { kernel: Some(kernel.into()), ..one }
        };
        let new = of("rdma_rxe", "6.12.48+deb13-amd64");
        let sends = |other: &HostReport| {
            let there = choose(&new, other).unwrap().unreliable;
            assert_eq!(there, choose(other, &new).unwrap().unreliable);
            there
        };
        assert!(sends(&new) && sends(&of("mlx5_core", "5.10.0-35-amd64")));
        assert!(!sends(&of("rdma_rxe", "6.1.0-40-amd64")));
        assert!(!sends(&of("rdma_rxe", "")));
    }

    #[test]
    fn ports_that_nobody_cabled_are_no_rail() {
        let dual = |second: PortState| {
            host(&[
                ("mlx5_0", Protocol::Ib, UP, &[("fe80::1", GidKind::Ib)]),
                ("mlx5_1", Protocol::Ib, second, &[("fe80::2", GidKind::Ib)]),
            ])
        };
        let (cabled, bare) = (dual(UP), dual(PortState::Down));
        let rails =
            |hosts: &[&HostReport]| Rails::of(hosts.iter().copied(), &Overrides::default()).count();
        assert_eq!(rails(&[&cabled, &bare, &bare]), 1);
        assert_eq!(rails(&[&cabled, &cabled, &bare, &bare]), 1);
        assert_eq!(rails(&[&cabled, &cabled, &cabled, &bare]), 2);
    }

    #[test]
    fn one_wide_subnet_is_one_rail() {
        let at = |ip: &str| host(&[("a", ROCE, UP, &[(ip, V2)])]);
        let (a, b) = (at("::ffff:10.0.1.1"), at("::ffff:10.0.200.7"));
        assert_eq!(shared(&[&a, &b], &Overrides::default()).len(), 1);
    }

    #[test]
    fn infiniband_ports_of_one_subnet_are_paired_in_order() {
        let ib = |first: &str, second: &str| {
            host(&[
                ("mlx5_0", Protocol::Ib, UP, &[(first, GidKind::Ib)]),
                ("mlx5_1", Protocol::Ib, UP, &[(second, GidKind::Ib)]),
            ])
        };
        let (a, b) = (ib("fe80::1", "fe80::2"), ib("fe80::3", "fe80::4"));
        let found = shared(&[&a, &b], &Overrides::default());
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|(_, here, there)| here == there), "{found:?}");
    }

    fn with_key(value: u16) -> HostReport {
        let mut report = host(&[("mlx5_0", Protocol::Ib, UP, &[("fe80::1", GidKind::Ib)])]);
        let membership = Membership::Full;
        let keys = [0xffff, value].into_iter().enumerate();
        let key = |(index, value): (usize, u16)| PKey {
            index: u32::try_from(index).unwrap(),
            value,
            membership,
        };
        report.devices[0].ports[0].pkeys = Some(keys.map(key).collect());
        report
    }

    #[test]
    fn a_partition_is_found_at_the_index_it_has_on_each_host() {
        let wanted = Overrides { pkey: Some(0x0001), ..Overrides::default() };
        let choose = |a: &HostReport, b: &HostReport| {
            super::choose(a, b, &Rails::default(), &wanted)?.remove(0).1
        };
        let route = choose(&with_key(0x8001), &with_key(0x0001)).unwrap();
        assert_eq!((route.source.pkey_index, route.source.pkey), (1, Some(0x8001)));
        assert_eq!(route.target.pkey, Some(0x0001));
        let why = |a: u16, b: u16| match choose(&with_key(a), &with_key(b)) {
            Err(NoRoute::PKey(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(why(1, 1).contains("limited members"));
        assert!(why(0x8001, 0x8002).contains("at the target is in no"));
    }

    #[test]
    fn where_all_are_limited_members_at_first_another_partition_is_taken() {
        let member = || {
            let mut report = with_key(0x8001);
            report.devices[0].ports[0].pkeys.as_mut().unwrap()[0].value = 0x7fff;
            report
        };
        let route = choose(&member(), &member()).unwrap();
        assert_eq!((route.source.pkey_index, route.target.pkey), (1, Some(0x8001)));
    }

    #[test]
    fn ports_of_other_partitions_do_not_talk() {
        let mut other = with_key(2);
        other.devices[0].ports[0].pkeys.as_mut().unwrap()[0].value = 0x8003;
        assert!(matches!(choose(&with_key(2), &other), Err(NoRoute::PKey(_))));
        assert_eq!(choose(&with_key(2), &with_key(3)).unwrap().source.pkey, Some(0xffff));
    }

    #[test]
    fn gids_of_other_vlans_on_one_subnet_do_not_meet() {
        let on = |netdev: &str, id: Option<u16>, ip: &str| {
            let mut report = host(&[("a", ROCE, UP, &[(ip, V2)])]);
            report.devices[0].ports[0].gids.as_mut().unwrap()[0].netdev = Some(netdev.into());
            let vlan = id.map(|id| Vlan { id: Some(id), parent: None });
            let json = serde_json::json!({ "name": netdev });
            let mut device: Netdev = serde_json::from_value(json).unwrap();
            device.vlan = vlan;
            report.netdevs = Some(vec![device]);
            report
        };
        let tagged = on("eth0.100", Some(100), "::ffff:10.1.0.1");
        let also = on("eth1.100", Some(100), "::ffff:10.1.0.2");
        let plain = on("eth0", None, "::ffff:10.1.0.3");
        assert!(choose(&tagged, &also).is_ok());
        // An access port of that VLAN takes the tag away.
        assert!(choose(&tagged, &plain).is_ok());
        let other = on("eth0.200", Some(200), "::ffff:10.1.0.4");
        let Err(NoRoute::Vlan(why)) = choose(&tagged, &other) else { panic!() };
        assert!(why.contains("VLAN 100 at the source and in VLAN 200"), "{why}");
        let routed = on("eth0.200", Some(200), "::ffff:10.2.0.3");
        assert!(choose(&tagged, &routed).is_ok());
    }
}
