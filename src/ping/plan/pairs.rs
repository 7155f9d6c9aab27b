//! Ordered pairs that a plan may contain, before they are arranged in rounds.

use std::collections::BTreeSet;

use super::Turn;

/// Ordered pairs of hosts that may be tested, by index of host. No host is a pair with itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pairs {
    pub(crate) hosts: usize,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// Every host is a source for every other host.
    All,
    /// Some hosts are sources and some are targets; a host may be both.
    Sets {
        is_source: Vec<bool>,
        is_target: Vec<bool>,
        /// True if each target is also a source for the sources.
        both_ways: bool,
    },
    Listed(BTreeSet<(usize, usize)>),
}

impl Pairs {
    /// Returns every ordered pair of a number of hosts.
    pub fn all(hosts: usize) -> Self {
        Self { hosts, kind: Kind::All }
    }

    /// Returns the pairs from each source to each target. Each host has two flags: true if it is
    /// a source, and true if it is a target. With `both_ways`, the opposite directions are added.
    pub fn between(hosts: &[(bool, bool)], both_ways: bool) -> Self {
        let (is_source, is_target) = hosts.iter().copied().unzip();
        Self { hosts: hosts.len(), kind: Kind::Sets { is_source, is_target, both_ways } }
    }

    pub(super) fn listed(hosts: usize, wanted: BTreeSet<(usize, usize)>) -> Self {
        Self { hosts, kind: Kind::Listed(wanted) }
    }

    /// True if these are all ordered pairs.
    pub fn is_all(&self) -> bool {
        self.kind == Kind::All
    }

    /// True if the ordered pair may be tested.
    pub fn wants(&self, source: usize, target: usize) -> bool {
        self.leads(source, target)
            || matches!(self.kind, Kind::Sets { both_ways: true, .. }) && self.leads(target, source)
    }

    /// True if the ordered pair may be tested, without the directions that `both_ways` adds.
    fn leads(&self, source: usize, target: usize) -> bool {
        source != target
            && match &self.kind {
                Kind::All => true,
                Kind::Sets { is_source, is_target, .. } => is_source[source] && is_target[target],
                Kind::Listed(wanted) => wanted.contains(&(source, target)),
            }
    }

    /// Returns the turn of two hosts: a client is the source first, else the host with the lower
    /// index. `None` if neither direction may be tested.
    pub fn turn(&self, one: usize, other: usize) -> Option<Turn> {
        let (first, second) = (one.min(other), one.max(other));
        let (source, target) = match (self.leads(first, second), self.leads(second, first)) {
            (true, _) => (first, second),
            (false, true) => (second, first),
            (false, false) => return None,
        };
        Some(Turn { source, target, back: self.wants(target, source) })
    }

    pub(super) fn has(&self, host: usize) -> bool {
        match &self.kind {
            Kind::All => self.hosts > 1,
            Kind::Sets { is_source, is_target, .. } => is_source[host] || is_target[host],
            Kind::Listed(wanted) => wanted.iter().any(|&(a, b)| a == host || b == host),
        }
    }

    /// Returns the number of hosts with which a host may be tested, in any direction.
    pub(super) fn peers(&self, host: usize) -> usize {
        match &self.kind {
            Kind::All => self.hosts.saturating_sub(1),
            _ => (0..self.hosts).filter(|&peer| self.turn(host, peer).is_some()).count(),
        }
    }

    /// Returns the number of ordered pairs.
    pub fn count(&self) -> u64 {
        let hosts = self.hosts as u64;
        match &self.kind {
            Kind::All => hosts * hosts.saturating_sub(1),
            Kind::Listed(wanted) => wanted.len() as u64,
            Kind::Sets { is_source, is_target, both_ways } => {
                let count = |is_it: &[bool]| is_it.iter().filter(|&&is| is).count() as u64;
                let (sources, targets) = (count(is_source), count(is_target));
                let both = is_source.iter().zip(is_target).filter(|&(&a, &b)| a && b);
                let both = both.count() as u64;
                if *both_ways {
                    // Pairs with both directions count once, and no host is a pair with itself.
                    2 * sources * targets - both * both - both
                } else {
                    sources * targets - both
                }
            }
        }
    }

    /// Returns the sources and the targets in the given order; `None` if a host is both.
    pub(super) fn sides(&self, order: &[u32]) -> Option<(Vec<u32>, Vec<u32>)> {
        let Kind::Sets { is_source, is_target, .. } = &self.kind else { return None };
        if is_source.iter().zip(is_target).any(|(&source, &target)| source && target) {
            return None;
        }
        let of =
            |is_it: &[bool]| order.iter().copied().filter(|&host| is_it[host as usize]).collect();
        Some((of(is_source), of(is_target)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds pairs from roles: `c` is a client, `s` a server, `b` both.
    fn sets(roles: &str, both_ways: bool) -> Pairs {
        let role = |letter| (letter != 's', letter != 'c');
        Pairs::between(&roles.chars().map(role).collect::<Vec<_>>(), both_ways)
    }

    #[test]
    fn count_equals_the_number_of_wanted_pairs() {
        let all = [
            Pairs::all(0),
            Pairs::all(1),
            Pairs::all(5),
            sets("ccsss", true),
            sets("ccsss", false),
            sets("cbsb", true),
            sets("cbsb", false),
            sets("bbb", true),
            sets("bbb", false),
            Pairs::listed(4, [(0, 1), (3, 0)].into()),
        ];
        for pairs in all {
            let hosts = pairs.hosts;
            let ordered = (0..hosts).flat_map(|a| (0..hosts).map(move |b| (a, b)));
            let count = ordered.filter(|&(a, b)| pairs.wants(a, b)).count();
            assert_eq!(pairs.count(), count as u64, "{pairs:?}");
        }
    }

    #[test]
    fn client_is_the_source_of_the_first_direction() {
        let pairs = sets("sc", true);
        assert_eq!(pairs.turn(0, 1), Some(Turn { source: 1, target: 0, back: true }));
        let pairs = sets("sc", false);
        assert_eq!(pairs.turn(0, 1), Some(Turn { source: 1, target: 0, back: false }));
        assert_eq!(sets("cc", true).turn(0, 1), None);
        assert_eq!(sets("bb", true).turn(0, 0), None, "a host is not pinged from itself");
        assert_eq!((sets("ccs", true).peers(0), sets("ccs", true).peers(2)), (1, 2));
    }
}
