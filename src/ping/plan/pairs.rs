use std::collections::BTreeSet;

use super::Turn;

/// Which ordered pairs of hosts may be asked for, by the hosts' numbers. No host is a pair with itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pairs {
    hosts: usize,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// Everyone asks everyone.
    All,
    /// Some ask, and some answer; a host may do both.
    Sets {
        is_source: Vec<bool>,
        is_target: Vec<bool>,
        /// Whether those that answer ask back.
        both_ways: bool,
    },
    /// These.
    Listed(BTreeSet<(usize, usize)>),
}

impl Pairs {
    /// Every ordered pair of so many hosts.
    #[must_use]
    pub fn all(hosts: usize) -> Self {
        Self { hosts, kind: Kind::All }
    }

    /// Those from a source to a target, each host with whether it is one and the other; and back where
    /// `both_ways` says so.
    #[must_use]
    pub fn between(hosts: &[(bool, bool)], both_ways: bool) -> Self {
        let (is_source, is_target) = hosts.iter().copied().unzip();
        Self { hosts: hosts.len(), kind: Kind::Sets { is_source, is_target, both_ways } }
    }

    /// These ordered pairs.
    #[must_use]
    pub(super) fn listed(hosts: usize, wanted: BTreeSet<(usize, usize)>) -> Self {
        Self { hosts, kind: Kind::Listed(wanted) }
    }

    /// How many hosts there are.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.hosts
    }

    /// Whether everyone asks everyone.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.kind == Kind::All
    }

    /// Whether one may ask the other.
    #[must_use]
    pub fn wants(&self, source: usize, target: usize) -> bool {
        self.leads(source, target)
            || matches!(self.kind, Kind::Sets { both_ways: true, .. }) && self.leads(target, source)
    }

    /// The same, without those who ask back.
    fn leads(&self, source: usize, target: usize) -> bool {
        source != target
            && match &self.kind {
                Kind::All => true,
                Kind::Sets { is_source, is_target, .. } => is_source[source] && is_target[target],
                Kind::Listed(wanted) => wanted.contains(&(source, target)),
            }
    }

    /// The turn of two hosts, clients before servers, else the first before the second; `None` where
    /// neither may ask the other.
    #[must_use]
    pub fn turn(&self, one: usize, other: usize) -> Option<Turn> {
        let (first, second) = (one.min(other), one.max(other));
        let (source, target) = match (self.leads(first, second), self.leads(second, first)) {
            (true, _) => (first, second),
            (false, true) => (second, first),
            (false, false) => return None,
        };
        Some(Turn { source, target, back: self.wants(target, source) })
    }

    /// Whether a host takes part at all.
    #[must_use]
    pub(super) fn has(&self, host: usize) -> bool {
        match &self.kind {
            Kind::All => self.hosts > 1,
            Kind::Sets { is_source, is_target, .. } => is_source[host] || is_target[host],
            Kind::Listed(wanted) => wanted.iter().any(|&(a, b)| a == host || b == host),
        }
    }

    /// How many others a host may be tried with, whoever asks.
    #[must_use]
    pub(super) fn peers(&self, host: usize) -> usize {
        match &self.kind {
            Kind::All => self.hosts.saturating_sub(1),
            _ => (0..self.hosts).filter(|&peer| self.turn(host, peer).is_some()).count(),
        }
    }

    /// How many ordered pairs there are.
    #[must_use]
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
                    // Without what is in both directions anyway, and nobody with himself.
                    2 * sources * targets - both * both - both
                } else {
                    sources * targets - both
                }
            }
        }
    }

    /// Sources and targets in this order, where no host is both.
    #[must_use]
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

    /// `c` a client, `s` a server, `b` both.
    fn sets(roles: &str, both_ways: bool) -> Pairs {
        let role = |letter| (letter != 's', letter != 'c');
        Pairs::between(&roles.chars().map(role).collect::<Vec<_>>(), both_ways)
    }

    #[test]
    fn as_many_are_counted_as_there_are() {
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
            let hosts = pairs.hosts();
            let ordered = (0..hosts).flat_map(|a| (0..hosts).map(move |b| (a, b)));
            let count = ordered.filter(|&(a, b)| pairs.wants(a, b)).count();
            assert_eq!(pairs.count(), count as u64, "{pairs:?}");
        }
    }

    #[test]
    fn clients_ask_first() {
        let pairs = sets("sc", true);
        assert_eq!(pairs.turn(0, 1), Some(Turn { source: 1, target: 0, back: true }));
        let pairs = sets("sc", false);
        assert_eq!(pairs.turn(0, 1), Some(Turn { source: 1, target: 0, back: false }));
        assert_eq!(sets("cc", true).turn(0, 1), None);
        assert_eq!(sets("bb", true).turn(0, 0), None, "a host is not pinged from itself");
        assert_eq!((sets("ccs", true).peers(0), sets("ccs", true).peers(2)), (1, 2));
    }
}
