//! Why two hosts have nothing in common to send with.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Overrides;
use super::candidate::{Candidate, candidates, different_vlans, is_active, is_usable};
use crate::model::ping::{Code, Side, Verdict};
use crate::model::probe::Stage;
use crate::model::{Device, GidKind, HostReport, Port, PortState, Protocol, WantedGid};

/// Why two hosts have no route between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::ping) enum NoMatch {
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

impl NoMatch {
    /// The verdict on the pair.
    pub(in crate::ping) fn verdict(self) -> Verdict {
        let (code, side, detail, hint) = match self {
            Self::Port(side, detail) => (Code::NoPort, side, detail, Some(NO_PORT)),
            Self::Down(side, detail) => (Code::LinkDown, side, detail, Some(DOWN)),
            Self::NoGid(side, detail) => (Code::GidIndex, side, detail, Some(GIDS)),
            Self::NoSubnetManager(side, detail) => (Code::NoSubnetManager, side, detail, Some(SM)),
            Self::Disjoint(detail) => (Code::NoTransport, Side::Path, detail, None),
            Self::GidFamily(detail) => (Code::GidFamily, Side::Path, detail, Some(FAMILY)),
            Self::Vlan(detail) => (Code::NoNeighbour, Side::Path, detail, Some(VLAN)),
            Self::PKey(detail) => (Code::PKey, Side::Path, detail, Some(PARTITION)),
        };
        let (stage, hint) = (Some(Stage::Choose), hint.map(str::to_owned));
        Verdict { code, stage, side, error: None, detail, hint }
    }
}

/// Why no two active ports of two hosts go together.
pub(super) fn between(from: &[Candidate<'_>], to: &[Candidate<'_>]) -> NoMatch {
    let apart = from.iter().flat_map(|a| to.iter().map(move |b| (a, b))).find_map(|(a, b)| {
        (a.protocol == b.protocol && a.gid.kind == b.gid.kind).then_some(())?;
        different_vlans(a, b)
    });
    if let Some((here, there)) = apart {
        return NoMatch::Vlan(format!(
            "addresses of one subnet are in VLAN {here} at the source and in VLAN {there} at the target"
        ));
    }
    let is_roce = |end: &[Candidate<'_>]| {
        end.iter().any(|one| one.is_active() && one.protocol == Protocol::Roce)
    };
    if is_roce(from) && is_roce(to) {
        return NoMatch::GidFamily(format!("{} here, {} there", families(from), families(to)));
    }
    NoMatch::Disjoint(format!("{} here, {} there", protocols(from), protocols(to)))
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

fn protocols(candidates: &[Candidate<'_>]) -> String {
    let mut words: Vec<&str> = candidates.iter().map(|one| one.protocol.word()).collect();
    words.sort_unstable();
    words.dedup();
    words.join(", ")
}

/// Why nothing of a host can be used.
pub(super) fn lack(host: &HostReport, side: Side, wanted: &Overrides) -> NoMatch {
    let has = |wanted: &Overrides| candidates(host, wanted).iter().any(Candidate::is_active);
    if let Some(index) = wanted.gid_index.of(&host.host) {
        let any = Overrides { gid_index: WantedGid::default(), ..wanted.clone() };
        if has(&any) {
            return NoMatch::NoGid(side, missing_gid(host, index, &any));
        }
    }
    let asked = [
        wanted.device.as_ref().map(|name| format!("device {name}")),
        wanted.port.map(|port| format!("port {port}")),
    ];
    let asked: Vec<String> = asked.into_iter().flatten().collect();
    if !asked.is_empty() && has(&Overrides::default()) {
        return NoMatch::Port(side, format!("it has nothing usable as {}", asked.join(", ")));
    }
    if host.devices.is_empty() {
        return NoMatch::Port(side, "no RDMA device".into());
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
    NoMatch::Port(side, format!("no active port with a usable GID: {}", states.join(", ")))
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

/// Why a port is not active.
pub(super) fn down(side: Side, one: &Candidate<'_>) -> NoMatch {
    let state = told_state(one.device, one.port);
    if waits_for_manager(one.port) {
        NoMatch::NoSubnetManager(side, state)
    } else {
        NoMatch::Down(side, state)
    }
}

/// The link of such a port is up; it has no LID yet (IBA 7.2.7).
fn waits_for_manager(port: &Port) -> bool {
    port.protocol.is_some_and(Protocol::has_subnet) && port.state == Some(PortState::Init)
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
        Some(_) if port.gids.is_none() => " with GIDs that could not be read".into(),
        Some(_) if port.gids.iter().flatten().next().is_none() => " without a GID".into(),
        Some(_) => " without a GID up to index 255".into(),
    }
}

const DOWN: &str = "see why on that host: rdmactl ports -v; then its cable, the switch port, and \
                    ip link set NETDEV up";

const GIDS: &str =
    "see which there are: rdmactl gids -H HOST; without --gid-index the best one is taken";

const FAMILY: &str = "both need addresses of one family, and RoCE of one version; --gid-index may hide them: \
                      rdmactl gids -H HOST,HOST";

const SM: &str = "start a subnet manager on a host or a switch of the fabric (systemctl start opensm; \
                  Omni-Path: opafm), or see why it leaves this port out: sminfo";

const VLAN: &str = "give both interfaces the same VLAN id: ip -d link show";

const PARTITION: &str = "have the subnet manager make one end a full member of a partition of both \
                         (opensm: partitions.conf), or choose another one with --pkey";

const NO_PORT: &str = "see rdmactl devices on that host, then its cable, driver and address";
