//! Chooses ports, GIDs, partitions and the method for a pair of hosts. No index is fixed. The
//! matrix uses the result; it sends no message itself.

mod candidate;
mod mad;
mod missing_rails;
mod no_match;
mod overrides;
mod partition;
mod rails;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use self::candidate::{Candidate, candidates, score};
use self::partition::common_partition;
use self::rails::RailKey;
use crate::model::ping::{Route, RoutePort, Side};
use crate::model::probe::Method;
use crate::model::{GidKind, GidValue, HostReport, Protocol};

pub use mad::MadAddressee;
pub(super) use mad::{MadPlan, NoMads, has_mads, mad_plan, mad_route_to};
pub(super) use missing_rails::missing_rails;
pub(super) use no_match::NoMatch;
pub use overrides::Overrides;
pub(super) use rails::Rails;

/// Number of a rail, and the route on it.
pub(super) type OnRail = (usize, Result<Route, NoMatch>);

/// Returns the best route on each rail that both hosts have; if they share no rail, the best
/// route of all. GIDs in `duplicates` are not used, because several hosts have them.
pub(super) fn choose(
    source: &HostReport,
    target: &HostReport,
    rails: &Rails,
    duplicates: &BTreeSet<GidValue>,
    wanted: &Overrides,
) -> Result<Vec<OnRail>, NoMatch> {
    let of_end = |host, side| Usable::of(host, side, rails, duplicates, wanted);
    let (from, to) = (of_end(source, Side::Source)?, of_end(target, Side::Target)?);
    let mut routes = Vec::new();
    for (number, key) in rails.keys() {
        let (mine, theirs) = (from.on_rail(key), to.on_rail(key));
        let found = match (best(&mine, &theirs), mine.first(), theirs.first()) {
            (Some((a, b)), ..) => route(a, b, wanted),
            (None, None, theirs)
                if from.has_only_duplicates(key)
                    && (theirs.is_some() || to.has_only_duplicates(key)) =>
            {
                Err(no_match::only_duplicates(Side::Source))
            }
            (None, Some(_), None) if to.has_only_duplicates(key) => {
                Err(no_match::only_duplicates(Side::Target))
            }
            (None, Some(a), Some(_)) if !a.is_active() => Err(no_match::down(Side::Source, a)),
            (None, Some(_), Some(b)) if !b.is_active() => Err(no_match::down(Side::Target, b)),
            (None, Some(_), Some(_)) => Err(no_match::between(&from.candidates, &to.candidates)),
            (None, ..) => continue,
        };
        routes.push((number, found));
    }
    if !routes.is_empty() || !rails.takes_best() {
        return Ok(routes);
    }
    match best(&Vec::from_iter(&from.candidates), &Vec::from_iter(&to.candidates)) {
        Some((a, b)) => Ok(vec![(0, route(a, b, wanted))]),
        None => Err(no_match::between(&from.candidates, &to.candidates)),
    }
}

/// GIDs of a host that no other host has.
struct Usable<'a> {
    candidates: Vec<Candidate<'a>>,
    /// Rail of each candidate. A removed duplicate counts for the rails: it moves no other port
    /// to another rail.
    rails: Vec<RailKey>,
    /// Rails of the active ports whose GIDs were removed.
    removed: BTreeSet<RailKey>,
}

impl<'a> Usable<'a> {
    /// Returns the GIDs of a host; fails if none of them is on an active port.
    fn of(
        host: &'a HostReport,
        side: Side,
        rails: &Rails,
        duplicates: &BTreeSet<GidValue>,
        wanted: &Overrides,
    ) -> Result<Self, NoMatch> {
        let all = candidates(host, wanted);
        let keys = rails.of_each(&all);
        // An index from the user is used as it is.
        let is_fixed = wanted.gid_index.of(&host.host).is_some();
        let is_removed = |one: &Candidate<'_>| !is_fixed && duplicates.contains(&one.gid.value);
        let (removed, left): (Vec<_>, Vec<_>) =
            keys.into_iter().zip(all).partition(|(_, one)| is_removed(one));
        let removed = removed.into_iter().filter(|(_, one)| one.is_active());
        let removed: BTreeSet<RailKey> = removed.map(|(key, _)| key).collect();
        if !left.iter().any(|(_, one)| one.is_active()) {
            return Err(if removed.is_empty() {
                no_match::lack(host, side, wanted)
            } else {
                no_match::only_duplicates(side)
            });
        }
        let (rails, candidates) = left.into_iter().unzip();
        Ok(Self { candidates, rails, removed })
    }

    fn on_rail(&self, key: RailKey) -> Vec<&Candidate<'a>> {
        let on_rail = self.candidates.iter().zip(&self.rails).filter(|(_, rail)| **rail == key);
        on_rail.map(|(one, _)| one).collect()
    }

    /// True if every active GID on the rail was removed.
    fn has_only_duplicates(&self, key: RailKey) -> bool {
        self.removed.contains(&key) && !self.on_rail(key).iter().any(|one| one.is_active())
    }
}

/// Returns the best pair of active candidates. Of equal pairs, the first one is taken: lower
/// device names and GID indices, so that every run has the same result.
fn best<'c, 'a>(
    from: &[&'c Candidate<'a>],
    to: &[&'c Candidate<'a>],
) -> Option<(&'c Candidate<'a>, &'c Candidate<'a>)> {
    from.iter()
        .flat_map(|a| to.iter().map(move |b| (*a, *b)))
        .filter(|(a, b)| a.is_active() && b.is_active())
        .filter_map(|(a, b)| Some((score(a, b)?, a, b)))
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, a, b)| (a, b))
}

fn route(a: &Candidate<'_>, b: &Candidate<'_>, wanted: &Overrides) -> Result<Route, NoMatch> {
    let (mut source, mut target) = (a.route_port(), b.route_port());
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

/// Returns the address of a chosen port for TCP; `None` for link-local and hardware addresses.
pub(super) fn tcp_address(port: &RoutePort) -> Option<SocketAddr> {
    let is_roce = matches!(port.gid_kind, Some(GidKind::RoceV2 | GidKind::RoceV1));
    (is_roce && !port.gid.is_link_local()).then(|| SocketAddr::new(port.gid.ip(), 0))
}
