//! Reasons why two hosts have no route between them, and their verdicts.
//!
//! `choose` returns the reasons; the matrix reports the verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Overrides;
use super::candidate::{Candidate, candidates, different_vlans, is_usable};
use crate::analyse::verdict::Ends;
use crate::model::ping::{Code, FIX_SET_UP, FIX_VLAN, Side, Verdict};
use crate::model::probe::Stage;
use crate::model::{Device, GidKind, Guid, HostReport, Port, PortState, Protocol, WantedGid};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ping) enum NoMatch {
    /// One end has no usable active port. The text says why.
    Port(Side, String),
    /// The port of one end on the rail is down.
    Down {
        side: Side,
        /// The port and its state.
        state: String,
        netdev: Option<String>,
        /// True if the interface is set down (`ip link set NETDEV down`).
        is_set_down: bool,
    },
    /// No port of one end has a GID at the requested index. The text lists its GID indices.
    NoGid(Side, String),
    /// An InfiniBand port of one end waits for a subnet manager. The text is its state.
    NoSubnetManager(Side, String),
    /// The hosts have no common protocol.
    Disjoint(String),
    /// Both hosts have `RoCE`, but no GIDs of one version and one kind of address.
    GidFamily(String),
    /// The GIDs of both hosts are link-local, but in different VLANs.
    Vlan(String),
    /// The hosts have no common partition in which they may communicate.
    PKey(String),
}

impl NoMatch {
    pub(in crate::ping) fn verdict(self, ends: &Ends<'_>) -> Verdict {
        let netdev = if let Self::Down { netdev, .. } = &self { netdev.clone() } else { None };
        let special_fix = match self {
            Self::Down { is_set_down: true, .. } => Some(FIX_SET_UP),
            Self::Vlan(_) => Some(FIX_VLAN),
            _ => None,
        };
        let (code, side, detail) = match self {
            Self::Port(side, detail) => (Code::NoPort, side, detail),
            Self::Down { side, state, is_set_down: true, .. } => {
                let interface = netdev.as_deref().unwrap_or("its network interface");
                (Code::LinkDown, side, format!("{state}; {interface} is administratively down"))
            }
            Self::Down { side, state, .. } => (Code::LinkDown, side, state),
            Self::NoGid(side, detail) => (Code::GidIndex, side, detail),
            Self::NoSubnetManager(side, detail) => (Code::NoSubnetManager, side, detail),
            Self::Disjoint(detail) => (Code::NoTransport, Side::Path, detail),
            Self::GidFamily(detail) => (Code::GidFamily, Side::Path, detail),
            Self::Vlan(detail) => (Code::NoNeighbour, Side::Path, detail),
            Self::PKey(detail) => (Code::PKey, Side::Path, detail),
        };
        let fix = special_fix.or_else(|| code.fixes().first().copied());
        let hint = fix.map(|fix| ends.fill_with(fix, side, netdev.as_deref()));
        Verdict { code, stage: Some(Stage::Choose), side, error: None, detail, hint }
    }
}

/// Returns the reason why no active port of one host matches an active port of the other host.
pub(super) fn between(from: &[Candidate<'_>], to: &[Candidate<'_>]) -> NoMatch {
    let vlans = from.iter().flat_map(|a| to.iter().map(move |b| (a, b))).find_map(|(a, b)| {
        (a.protocol == b.protocol && a.gid.kind == b.gid.kind).then_some(())?;
        different_vlans(a, b)
    });
    if let Some((here, there)) = vlans {
        return NoMatch::Vlan(format!(
            "link-local addresses are in VLAN {here} on the source and in VLAN {there} on the target"
        ));
    }
    let has = |from: String, to: String| format!("the source has {from}, the target has {to}");
    if [from, to].iter().all(|end| end.iter().any(is_active_roce)) {
        return NoMatch::GidFamily(has(families(from), families(to)));
    }
    if let Some((here, there)) = different_subnets(from, to) {
        return NoMatch::Disjoint(format!(
            "the source is in the InfiniBand subnet {here}, the target in {there}"
        ));
    }
    NoMatch::Disjoint(has(protocols(from), protocols(to)))
}

/// Returns the subnet prefixes of two active ports of one protocol, whose subnets differ.
fn different_subnets(from: &[Candidate<'_>], to: &[Candidate<'_>]) -> Option<(Guid, Guid)> {
    let prefix = |one: &Candidate<'_>| Guid(one.gid.value.subnet_prefix());
    let is_usable = |one: &&Candidate<'_>| one.is_active() && one.protocol.has_subnet();
    from.iter().filter(is_usable).find_map(|a| {
        let of_protocol = |b: &&Candidate<'_>| is_usable(b) && b.protocol == a.protocol;
        Some((prefix(a), prefix(to.iter().find(of_protocol)?)))
    })
}

fn is_active_roce(one: &Candidate<'_>) -> bool {
    one.is_active() && one.protocol == Protocol::Roce
}

/// Formats the version and the kind of address of each active `RoCE` GID, which must match.
fn families(end: &[Candidate<'_>]) -> String {
    let family = |one: &Candidate<'_>| {
        let family = match one.gid.value.ip() {
            _ if one.gid.value.is_link_local() => "link-local",
            IpAddr::V4(_) => "IPv4",
            IpAddr::V6(_) => "IPv6",
        };
        format!("{} {family}", one.gid.kind.map_or("of unknown version", GidKind::word))
    };
    let families: BTreeSet<String> =
        end.iter().filter(|one| is_active_roce(one)).map(family).collect();
    Vec::from_iter(families).join(", ")
}

fn protocols(candidates: &[Candidate<'_>]) -> String {
    let words: BTreeSet<&str> = candidates.iter().map(|one| one.protocol.word()).collect();
    Vec::from_iter(words).join(", ")
}

/// Returns the reason why no port of a host can be used.
pub(super) fn lack(host: &HostReport, side: Side, wanted: &Overrides) -> NoMatch {
    let has_active = |wanted: &Overrides| candidates(host, wanted).iter().any(Candidate::is_active);
    if let Some(index) = wanted.gid_index.of(&host.host) {
        let any_index = Overrides { gid_index: WantedGid::default(), ..wanted.clone() };
        if has_active(&any_index) {
            return NoMatch::NoGid(side, missing_gid(host, index, &any_index));
        }
    }
    let requested = [
        wanted.device.as_ref().map(|name| format!("device {name}")),
        wanted.port.map(|port| format!("port {port}")),
    ];
    let requested: Vec<String> = requested.into_iter().flatten().collect();
    if !requested.is_empty() && has_active(&Overrides::default()) {
        // Without the flag, a run reports this port as down, on the rail of the port.
        if let Some((device, port)) = first_if_none_active(host, wanted) {
            return down_port(side, host, (device, port), port.netdev.clone());
        }
        let detail = format!("no usable GID on the requested {}", requested.join(", "));
        return NoMatch::Port(side, detail);
    }
    if host.devices.is_empty() {
        return NoMatch::Port(side, "no RDMA device".into());
    }
    let candidates = candidates(host, wanted);
    if let Some(one) = candidates.iter().find(|one| waits_for_manager(one.port)) {
        return down(side, one);
    }
    let is_off = |port: &Port| port.netdev.as_ref().is_some_and(|name| is_set_down(host, name));
    if !host.ports().any(|(_, port)| port.is_active())
        && let Some((device, port)) = host.ports().find(|(_, port)| is_off(port))
    {
        return down_port(side, host, (device, port), port.netdev.clone());
    }
    let state = |(device, port): (&Device, &Port)| {
        let why = if port.is_active() { unusable_because(port) } else { String::new() };
        format!("{}{why}", state_text(device, port))
    };
    let states: Vec<String> = host.ports().map(state).collect();
    NoMatch::Port(side, format!("no active port with a usable GID: {}", states.join(", ")))
}

pub(super) fn only_duplicates(side: Side) -> NoMatch {
    let detail = "each address of its active ports is also an address of another host of this run";
    NoMatch::Port(side, detail.to_owned())
}

/// Formats the missing GID index, and the GID indices that the usable active ports have.
fn missing_gid(host: &HostReport, index: u32, wanted: &Overrides) -> String {
    let mut ports: BTreeMap<(&str, u8), Vec<String>> = BTreeMap::new();
    for one in candidates(host, wanted).iter().filter(|one| one.is_active()) {
        ports.entry(one.place()).or_default().push(one.index.to_string());
    }
    let ports: Vec<String> = ports
        .into_iter()
        .map(|((device, port), indices)| format!("{device}/{port} has {}", indices.join(", ")))
        .collect();
    format!("no GID at index {index}: {}", ports.join("; "))
}

/// Returns the reason why the port of a candidate is not active.
pub(super) fn down(side: Side, one: &Candidate<'_>) -> NoMatch {
    let netdev = one.gid.netdev.clone().or_else(|| one.port.netdev.clone());
    down_port(side, one.host, (one.device, one.port), netdev)
}

/// Returns the reason why a port is not active. `netdev` is its network interface.
fn down_port(
    side: Side,
    host: &HostReport,
    (device, port): (&Device, &Port),
    netdev: Option<String>,
) -> NoMatch {
    let state = state_text(device, port);
    if waits_for_manager(port) {
        NoMatch::NoSubnetManager(side, state)
    } else {
        let is_set_down = netdev.as_ref().is_some_and(|name| is_set_down(host, name));
        NoMatch::Down { side, state, netdev, is_set_down }
    }
}

/// True if a network interface is administratively down (`ip link set NETDEV down`). The kernel
/// then reports no carrier state.
fn is_set_down(host: &HostReport, name: &str) -> bool {
    host.netdev(name)
        .is_some_and(|one| one.operstate.as_deref() == Some("down") && one.carrier.is_none())
}

/// Returns the first of the requested ports if none of them is active.
fn first_if_none_active<'a>(
    host: &'a HostReport,
    wanted: &Overrides,
) -> Option<(&'a Device, &'a Port)> {
    let ports = || host.ports().filter(|(device, port)| wanted.has_port(device, port));
    ports().next().filter(|_| ports().all(|(_, port)| !port.is_active()))
}

/// True if the link is up, but no subnet manager has assigned a LID to the port (IBA 7.2.7).
fn waits_for_manager(port: &Port) -> bool {
    port.protocol.is_some_and(Protocol::has_subnet) && port.state == Some(PortState::Init)
}

fn state_text(device: &Device, port: &Port) -> String {
    let state = port.state.map_or("?", PortState::word);
    format!("{}/{} is {state}", device.name, port.number)
}

fn unusable_because(port: &Port) -> String {
    match port.protocol {
        None => " with an unknown protocol".into(),
        Some(protocol) if !is_usable(protocol) => {
            format!(" with {}, which rdmactl does not support", protocol.word())
        }
        Some(_) if u8::try_from(port.number).is_err() => " with a number over 255".into(),
        Some(_) if port.gids.is_none() => " with a GID table that could not be read".into(),
        Some(_) if port.gids.iter().flatten().next().is_none() => " without a GID".into(),
        Some(_) => " without a GID up to index 255".into(),
    }
}
