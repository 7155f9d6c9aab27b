//! Who is to blame when many pairs fail: a host is named once, not once for each of its pairs.

use std::collections::BTreeSet;

use crate::model::ping::{Code, Pair};

/// One line of blame: a host, or a single pair when nothing points at one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blame<'a> {
    /// Who.
    pub culprit: Culprit,
    /// A pair that tells the story.
    pub example: &'a Pair,
    /// Failed pairs that this explains.
    pub failed: usize,
    /// Pairs that the host takes part in; as many as failed when it is a single pair.
    pub of: usize,
}

/// What is blamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Culprit {
    /// A host, by its index.
    Host(usize),
    /// Source and target of one pair, by their indices.
    Pair(usize, usize),
}

/// Explains all failed pairs with as few names as can be: the host with the most failed pairs
/// first, then the same over what is left.
///
/// A host is named only if it fails with more than half of its peers and not every host does as
/// badly; the single pairs that are left are named one by one.
#[must_use]
pub fn blame(pairs: &[Pair], hosts: usize) -> Vec<Blame<'_>> {
    let mut open: Vec<&Pair> = pairs.iter().filter(|pair| pair.verdict.code.is_failure()).collect();
    let mut blames = Vec::new();
    while let Some(host) = worst_host(&open, pairs, hosts) {
        let touches = |pair: &&Pair| pair.source == host || pair.target == host;
        let (explained, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(touches);
        if let Some(example) = most_telling(&explained, host) {
            let of = pairs.iter().filter(touches).count();
            let failed = explained.len();
            blames.push(Blame { culprit: Culprit::Host(host), example, failed, of });
        }
        open = rest;
    }
    blames.extend(open.into_iter().map(|pair| Blame {
        culprit: Culprit::Pair(pair.source, pair.target),
        example: pair,
        failed: 1,
        of: 1,
    }));
    blames
}

/// The host that fails with the most peers, if these are more than half of its peers and not
/// every host is as bad.
fn worst_host(open: &[&Pair], pairs: &[Pair], hosts: usize) -> Option<usize> {
    let peers = |host: usize, pairs: &mut dyn Iterator<Item = &Pair>| {
        let peer = |pair: &Pair| match (pair.source == host, pair.target == host) {
            (true, false) => Some(pair.target),
            (false, true) => Some(pair.source),
            _ => None,
        };
        pairs.filter_map(peer).collect::<BTreeSet<usize>>().len()
    };
    let failed: Vec<usize> =
        (0..hosts).map(|host| peers(host, &mut open.iter().copied())).collect();
    let most = *failed.iter().max()?;
    let worst = failed.iter().position(|&count| count == most)?;
    let stands_out = failed.iter().any(|&count| count < most);
    (stands_out && 2 * most > peers(worst, &mut pairs.iter())).then_some(worst)
}

/// The pair whose verdict is the most common one with this host, seen from a peer if possible.
fn most_telling<'a>(explained: &[&'a Pair], host: usize) -> Option<&'a Pair> {
    let count = |code: Code| explained.iter().filter(|pair| pair.verdict.code == code).count();
    let rank = |pair: &&&Pair| {
        let was_tried = pair.route.is_some();
        (count(pair.verdict.code), was_tried, pair.target == host)
    };
    explained.iter().max_by_key(rank).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ping::{Side, Verdict};

    fn matrix(hosts: usize, fails: impl Fn(usize, usize) -> bool) -> Vec<Pair> {
        let ordered = (0..hosts).flat_map(|a| (0..hosts).map(move |b| (a, b)));
        ordered
            .filter(|(a, b)| a != b)
            .map(|(source, target)| Pair {
                source,
                target,
                verdict: Verdict {
                    code: if fails(source, target) { Code::Udp4791Blocked } else { Code::Ok },
                    stage: None,
                    side: Side::Path,
                    detail: String::new(),
                    hint: None,
                },
                route: None,
                rdma: None,
                tcp: None,
            })
            .collect()
    }

    #[test]
    fn one_bad_host_is_named_once() {
        let pairs = matrix(4, |a, b| a == 2 || b == 2);
        let blames = blame(&pairs, 4);
        assert_eq!(blames.len(), 1);
        assert_eq!((blames[0].culprit, blames[0].failed, blames[0].of), (Culprit::Host(2), 6, 6));
    }

    #[test]
    fn two_bad_hosts_are_two_names() {
        let bad = |host| host == 0 || host == 5;
        let pairs = matrix(8, |a, b| bad(a) || bad(b));
        let names: Vec<_> = blame(&pairs, 8).iter().map(|blame| blame.culprit).collect();
        assert!(
            names.contains(&Culprit::Host(0)) && names.contains(&Culprit::Host(5)),
            "{names:?}"
        );
    }

    #[test]
    fn a_single_bad_pair_blames_no_host() {
        let pairs = matrix(4, |a, b| (a, b) == (0, 1));
        let blames = blame(&pairs, 4);
        assert_eq!(blames.len(), 1);
        assert_eq!(blames[0].culprit, Culprit::Pair(0, 1));
    }

    #[test]
    fn two_hosts_cannot_blame_each_other() {
        let pairs = matrix(2, |_, _| true);
        let names: Vec<_> = blame(&pairs, 2).iter().map(|blame| blame.culprit).collect();
        assert_eq!(names, [Culprit::Pair(0, 1), Culprit::Pair(1, 0)]);
    }

    #[test]
    fn all_well_blames_nobody() {
        assert!(blame(&matrix(3, |_, _| false), 3).is_empty());
    }
}
