//! Finds hosts that lack a rail of most other hosts, and ports in a network that no other host
//! has.
//!
//! Does not judge pairs: a pair is tested on the rails that both hosts have. `ping::matrix` uses
//! this module.

use std::collections::BTreeMap;

use super::candidate::{Candidate, candidates};
use super::rails::RailKey;
use super::{Overrides, Rails};
use crate::analyse::verdict::plain_or;
use crate::model::HostReport;
use crate::model::ping::{Warning, WarningCode};
use crate::names;

const MAX_PORTS_IN_WARNING: usize = 4;

struct HostPorts<'a> {
    index: usize,
    name: &'a str,
    /// One port for each rail. A port that is down is on its rail, too.
    ports: BTreeMap<RailKey, Candidate<'a>>,
}

/// Returns one warning for each rail that hosts lack, and one for all ports without a peer. The
/// inventory of a host that was not reached is `None`.
pub(in crate::ping) fn missing_rails(
    names: &[&str],
    inventories: &[Option<&HostReport>],
    rails: &Rails,
    wanted: &Overrides,
) -> Vec<Warning> {
    let hosts: Vec<HostPorts<'_>> = names
        .iter()
        .zip(inventories)
        .enumerate()
        .filter_map(|(index, (name, inventory))| {
            let ports = by_rail((*inventory)?, rails, wanted);
            Some(HostPorts { index, name: plain_or(name, "HOST"), ports })
        })
        // A host without any rail needs no warning: its pairs are tested on its best port.
        .filter(|host| {
            !rails.takes_best() || rails.keys().any(|(_, key)| host.ports.contains_key(&key))
        })
        .collect();
    let without_port =
        rails.keys().filter_map(|(rail, key)| without_port(&hosts, rails, rail, key));
    without_port.chain(without_peer(&hosts, rails)).collect()
}

/// Returns one port of a host for each rail key: of several GIDs, the first.
fn by_rail<'a>(
    host: &'a HostReport,
    rails: &Rails,
    wanted: &Overrides,
) -> BTreeMap<RailKey, Candidate<'a>> {
    let ports = candidates(host, wanted);
    let keys = rails.of_each(&ports);
    // A warning shows the first address of a port on an IP network, not a link-local GID.
    let is_shown = |(key, port): &(RailKey, Candidate<'_>)| {
        !key.is_network() || !port.gid.value.is_link_local()
    };
    keys.into_iter().zip(ports).rev().filter(is_shown).collect()
}

/// Returns the warning about hosts without a port on a rail. A rail of at most half of the hosts
/// may be intended: it gives no warning, unless `--rails` selects rails.
fn without_port(
    hosts: &[HostPorts<'_>],
    rails: &Rails,
    rail: usize,
    key: RailKey,
) -> Option<Warning> {
    let (have, lack): (Vec<&HostPorts<'_>>, Vec<_>) =
        hosts.iter().partition(|host| host.ports.contains_key(&key));
    let example = have.first().filter(|_| !lack.is_empty())?;
    if rails.takes_best() && have.len() <= lack.len() {
        return None;
    }
    let set = names::fold(lack.iter().map(|host| host.name));
    let port = example.ports.get(&key).map(place)?;
    let verb = if lack.len() == 1 { "has" } else { "have" };
    let noun = if have.len() == 1 { "host has" } else { "hosts have" };
    let detail = format!(
        "{set} {verb} no port on a rail that {} {noun}, for example {}: {port}; no pair of {set} \
         is tested on this rail",
        have.len(),
        example.name
    );
    Some(Warning {
        rails: (rails.count() > 1).then_some(rail).into_iter().collect(),
        ..warning(&lack, detail, &set)
    })
}

/// Returns the warning about active ports in a network that no other host has.
fn without_peer(hosts: &[HostPorts<'_>], rails: &Rails) -> Option<Warning> {
    let alone: Vec<(&HostPorts<'_>, &Candidate<'_>)> = hosts
        .iter()
        .flat_map(|host| host.ports.iter().map(move |(key, port)| (host, key, port)))
        .filter(|(_, key, port)| key.is_network() && port.is_active() && !rails.has(**key))
        .map(|(host, _, port)| (host, port))
        .collect();
    if alone.is_empty() {
        return None;
    }
    let ports = alone.iter().map(|(host, port)| format!("{}: {}", host.name, place(port)));
    let detail = format!(
        "no pair tests these ports, because no other host has a port in their network: {}",
        names::listed(ports, MAX_PORTS_IN_WARNING, "more")
    );
    let mut hosts: Vec<&HostPorts<'_>> = alone.iter().map(|(host, _)| *host).collect();
    hosts.dedup_by_key(|host| host.index);
    let set = names::fold(hosts.iter().map(|host| host.name));
    Some(warning(&hosts, detail, &set))
}

/// Returns a warning with `detail` about hosts. `set` is the folded form of their names.
fn warning(hosts: &[&HostPorts<'_>], detail: String, set: &str) -> Warning {
    let set = names::in_shell(set);
    let hint =
        format!("compare the addresses and GIDs with those of another host: rdmactl gids -H {set}");
    Warning::new(WarningCode::RailMissing, hosts.iter().map(|host| host.index), detail, hint)
}

/// Formats a port with its interface and address: `rxe0/1 on eth1 (10.10.1.2)`.
fn place(port: &Candidate<'_>) -> String {
    let route = port.route_port();
    format!("{} ({})", route.place(), route.gid.ip())
}
