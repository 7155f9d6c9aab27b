//! Judges links: width and speed below the capabilities of both ends, and ports that no subnet
//! manager has configured. If most links of a node are slow, one finding names the node.

use std::collections::BTreeMap;

use super::{fail, grouped, ports, title, warn};
use crate::model::{Fabric, FabricEnd, FabricPort, Finding, speed_word, width_word};
use crate::names;

const MIN_SLOW_LINKS: usize = 3;

/// A link below the capabilities of both ends.
struct Slow {
    near: FabricEnd,
    far: FabricEnd,
    code: &'static str,
    is: String,
    could_be: String,
}

pub(super) fn judge(fabric: &Fabric, found: &mut Vec<Finding>) {
    not_configured(fabric, found);
    let slow: Vec<Slow> = fabric.links().flat_map(|(near, far)| slow(fabric, near, far)).collect();
    let of_node = grouped(
        slow.iter().flat_map(|link| [link.near, link.far].map(|end| ((end.node, link.code), link))),
    );
    let mut causes: BTreeMap<(usize, &'static str), Cause> = BTreeMap::new();
    for ((node, code), links) in of_node {
        let Some(cause) = Cause::of(fabric, node, &links) else { continue };
        let first = links[0];
        let (name, guid) = (fabric.nodes[node].title(), fabric.nodes[node].guid);
        let what = format!(
            "{} of {} links{} are {} although both ends support {}",
            cause.slow_links,
            cause.links,
            if cause.only_switches { " to switches" } else { "" },
            first.is,
            first.could_be
        );
        let fix = format!(
            "check power, modules and firmware of {name}; list its links: \
             rdmactl fabric links -w 'guid==\"{guid}\" or peer_guid==\"{guid}\"'"
        );
        found.push(warn(code, name, what).fix(fix));
        causes.insert((node, code), cause);
    }
    let is_explained = |link: &&Slow| {
        let by = |node: usize, peer: usize| {
            let cause = causes.get(&(node, link.code));
            cause.is_some_and(|cause| !cause.only_switches || fabric.nodes[peer].is_switch())
        };
        by(link.near.node, link.far.node) || by(link.far.node, link.near.node)
    };
    for link in slow.iter().filter(|link| !is_explained(link)) {
        let (near, far) = (title(fabric, link.near), title(fabric, link.far));
        let Slow { is, could_be, .. } = link;
        let what = format!("the link to {far} is {is} although both ends support {could_be}");
        let fix = format!("reseat or replace the cable between {near} and {far}");
        found.push(warn(link.code, near, what).fix(fix));
    }
}

/// A node whose links are mostly slow.
struct Cause {
    /// True if only the links to switches are mostly slow: the uplinks of a leaf switch.
    only_switches: bool,
    slow_links: usize,
    links: usize,
}

impl Cause {
    /// Returns `None` if each link gets its own finding.
    fn of(fabric: &Fabric, node: usize, bad: &[&Slow]) -> Option<Self> {
        [false, true].into_iter().find_map(|only_switches| {
            let counts = |peer: FabricEnd| !only_switches || fabric.nodes[peer.node].is_switch();
            let peers = fabric.nodes[node].ports.iter().filter_map(|port| port.peer);
            let links = peers.filter(|peer| counts(*peer)).count();
            let far = |link: &&&Slow| if link.near.node == node { link.far } else { link.near };
            let slow_links = bad.iter().filter(|link| counts(far(link))).count();
            let is_cause = slow_links >= MIN_SLOW_LINKS && slow_links * 2 > links;
            is_cause.then_some(Self { only_switches, slow_links, links })
        })
    }
}

/// Returns width and speed of a link that are below the capabilities of both ends.
fn slow(fabric: &Fabric, near: FabricEnd, far: FabricEnd) -> Vec<Slow> {
    let (Some(one), Some(other)) = (fabric.port(near), fabric.port(far)) else { return Vec::new() };
    if one.physical_state != FabricPort::LINK_UP {
        return Vec::new();
    }
    let link = |code, is, could_be| Slow { near, far, code, is, could_be };
    let mut slow = Vec::new();
    if let Some(best) = best_width(one.width_supported & other.width_supported)
        && crate::model::lanes(one.width_active) < crate::model::lanes(best)
        && one.width_active != 0
    {
        slow.push(link("fabric.width", width_word(one.width_active), width_word(best)));
    }
    let both = one.speed_supported & other.speed_supported;
    // A larger speed code is a higher speed.
    if let Some(best) = both.checked_ilog2().map(|bit| 1 << bit)
        && one.speed_active != 0
        && one.speed_active < best
    {
        slow.push(link("fabric.speed", speed_word(one.speed_active), speed_word(best)));
    }
    slow
}

/// Returns the widest link width that both ports support, without 8X and 12X: ports that support
/// 12X usually have 4X connectors, and iblinkinfo reports such links too.
fn best_width(both: u8) -> Option<u8> {
    [2, 16, 1].into_iter().find(|width| both & width != 0)
}

fn not_configured(fabric: &Fabric, found: &mut Vec<Finding>) {
    let is_waiting = |(end, port): &(FabricEnd, &FabricPort)| {
        port.physical_state == FabricPort::LINK_UP
            && matches!(port.state, FabricPort::INIT | 3)
            && (end.port != 0 || !fabric.nodes[end.node].is_switch())
    };
    let waiting: Vec<_> = ports(fabric).filter(is_waiting).collect();
    let Some((_, first)) = waiting.first() else { return };
    let titles = waiting.iter().map(|(end, _)| title(fabric, *end));
    let state = first.state_word();
    let what = format!(
        "the link is up, but the port is in state {state}: no subnet manager has activated it"
    );
    found.push(fail("fabric.port_not_active", names::listed(titles, 1, "more ports"), what).fix(
        "list the subnet managers: rdmactl fabric sm; if none is master: \
             systemctl start opensm",
    ));
}
