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
use crate::model::{Device, GidKind, HostReport, Port, PortState, Protocol, WantedGid};

/// Reason why two hosts have no route between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ping) enum NoMatch {
    /// One end has no usable active port. The text says why.
    Port(Side, String),
    /// The port of one end on the rail is down.
    Down {
        /// End with the port.
        side: Side,
        /// The port and its state.
        state: String,
        /// Network interface of the port.
        netdev: Option<String>,
        /// True if the interface is set down (`ip link set NETDEV down`).
        is_set_down: bool,
    },
    /// No port of one end has a GID at the requested index. The text lists the GID indices of its
    /// ports.
    NoGid(Side, String),
    /// An InfiniBand port of one end waits for a subnet manager. The text is the port and its
    /// state.
    NoSubnetManager(Side, String),
    /// The hosts have no common protocol.
    Disjoint(String),
    /// Both hosts have `RoCE`, but no GIDs of one version and one kind of address.
    GidFamily(String),
    /// The GIDs of both hosts are in one subnet, but in different VLANs.
    Vlan(String),
    /// The hosts have no common partition in which they may communicate.
    PKey(String),
}

impl NoMatch {
    /// Returns the verdict on the pair.
    pub(in crate::ping) fn verdict(self, ends: &Ends<'_>) -> Verdict {
        let with_first_fix = |code: Code| (code, code.fixes().first().copied());
        let netdev = if let Self::Down { netdev, .. } = &self { netdev.clone() } else { None };
        let ((code, fix), side, detail) = match self {
            Self::Port(side, detail) => (with_first_fix(Code::NoPort), side, detail),
            Self::Down { side, state, is_set_down: true, .. } => {
                let interface = netdev.as_deref().unwrap_or("its network interface");
                let detail = format!("{state}; {interface} is administratively down");
                ((Code::LinkDown, Some(FIX_SET_UP)), side, detail)
            }
            Self::Down { side, state, .. } => (with_first_fix(Code::LinkDown), side, state),
            Self::NoGid(side, detail) => (with_first_fix(Code::GidIndex), side, detail),
            Self::NoSubnetManager(side, detail) => {
                (with_first_fix(Code::NoSubnetManager), side, detail)
            }
            Self::Disjoint(detail) => (with_first_fix(Code::NoTransport), Side::Path, detail),
            Self::GidFamily(detail) => (with_first_fix(Code::GidFamily), Side::Path, detail),
            Self::Vlan(detail) => ((Code::NoNeighbour, Some(FIX_VLAN)), Side::Path, detail),
            Self::PKey(detail) => (with_first_fix(Code::PKey), Side::Path, detail),
        };
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
            "addresses of one subnet are in VLAN {here} on the source and in VLAN {there} on the target"
        ));
    }
    let is_roce = |end: &[Candidate<'_>]| {
        end.iter().any(|one| one.is_active() && one.protocol == Protocol::Roce)
    };
    if is_roce(from) && is_roce(to) {
        return NoMatch::GidFamily(format!(
            "the source has {}, the target has {}",
            families(from),
            families(to)
        ));
    }
    NoMatch::Disjoint(format!(
        "the source has {}, the target has {}",
        protocols(from),
        protocols(to)
    ))
}

/// Formats the properties of active `RoCE` GIDs that must match at both ends: the `RoCE` version
/// and the kind of address.
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

/// Formats the protocols of the candidates, each one once, in alphabetical order.
fn protocols(candidates: &[Candidate<'_>]) -> String {
    let mut words: Vec<&str> = candidates.iter().map(|one| one.protocol.word()).collect();
    words.sort_unstable();
    words.dedup();
    words.join(", ")
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
        // Without the flag, a run reports this port as down, on the rail of the port. Report the
        // same reason here.
        if let Some((device, port)) = first_if_none_active(host, wanted) {
            return down_port(side, host, (device, port), port.netdev.clone());
        }
        return NoMatch::Port(
            side,
            format!("no usable GID on the requested {}", requested.join(", ")),
        );
    }
    if host.devices.is_empty() {
        return NoMatch::Port(side, "no RDMA device".into());
    }
    let ports = || host.ports();
    let candidates = candidates(host, wanted);
    if let Some(one) = candidates.iter().find(|one| waits_for_manager(one.port)) {
        return down(side, one);
    }
    let is_off = |port: &Port| port.netdev.as_ref().is_some_and(|name| is_set_down(host, name));
    if !ports().any(|(_, port)| port.is_active())
        && let Some((device, port)) = ports().find(|(_, port)| is_off(port))
    {
        return down_port(side, host, (device, port), port.netdev.clone());
    }
    let states: Vec<String> = ports()
        .map(|(device, port)| {
            let why = if port.is_active() { unusable_because(port) } else { String::new() };
            format!("{}{why}", state_text(device, port))
        })
        .collect();
    NoMatch::Port(side, format!("no active port with a usable GID: {}", states.join(", ")))
}

/// Returns the reason for a host that shares each of its GIDs with another host.
pub(super) fn only_duplicates(side: Side) -> NoMatch {
    let detail = "each address of its active ports is also an address of another host of this run";
    NoMatch::Port(side, detail.to_owned())
}

/// Formats the missing GID index, and the GID indices that the usable active ports have.
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

/// Returns the reason why a port is not active.
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
    let is_wanted = |device: &&Device| wanted.device.as_ref().is_none_or(|it| *it == device.name);
    let devices = host.devices.iter().filter(is_wanted);
    let ports = devices.flat_map(|device| device.ports.iter().map(move |port| (device, port)));
    let is_number = |port: &Port| wanted.port.is_none_or(|number| number == port.number);
    let ports: Vec<_> = ports.filter(|(_, port)| is_number(port)).collect();
    let is_down = ports.iter().all(|(_, port)| !port.is_active());
    ports.first().copied().filter(|_| is_down)
}

/// True if the link of a port is up, but no subnet manager has assigned a LID to the port
/// (IBA 7.2.7).
fn waits_for_manager(port: &Port) -> bool {
    port.protocol.is_some_and(Protocol::has_subnet) && port.state == Some(PortState::Init)
}

/// Formats a port and its logical state.
fn state_text(device: &Device, port: &Port) -> String {
    let state = port.state.map_or("?", PortState::word);
    format!("{}/{} is {state}", device.name, port.number)
}

/// Formats the reason why an active port cannot be used.
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
