//! Which pairs run at the same time: rounds in which no host appears twice.

/// Rounds of one pair each: the first of `hosts` with every other.
#[must_use]
pub(super) fn from_first(hosts: usize) -> Vec<Vec<(usize, usize)>> {
    (1..hosts).map(|other| vec![(0, other)]).collect()
}

/// Rounds of unordered pairs that together hold every pair of `hosts` once (the circle method).
///
/// An odd number of hosts leaves one out in each round.
#[must_use]
pub(super) fn every_two(hosts: usize) -> Vec<Vec<(usize, usize)>> {
    let seats = hosts + hosts % 2;
    if seats < 2 {
        return Vec::new();
    }
    (0..seats - 1)
        .map(|round| {
            // Seat 0 stays, the others turn by one each round.
            let at = |seat: usize| match seat {
                0 => 0,
                seat => (seat - 1 + round) % (seats - 1) + 1,
            };
            (0..seats / 2)
                .map(|seat| (at(seat), at(seats - 1 - seat)))
                .map(|(a, b)| (a.min(b), a.max(b)))
                .filter(|&(_, b)| b < hosts)
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn from_one_host_each_other_has_a_round_of_its_own() {
        assert_eq!(from_first(4), [[(0, 1)], [(0, 2)], [(0, 3)]]);
        assert!(from_first(1).is_empty() && from_first(0).is_empty());
    }

    #[test]
    fn every_pair_comes_once_and_no_host_twice_in_a_round() {
        for hosts in 0..40 {
            let mut seen = BTreeSet::new();
            for round in every_two(hosts) {
                let mut busy = BTreeSet::new();
                for (a, b) in round {
                    assert!(a < b && b < hosts);
                    assert!(busy.insert(a) && busy.insert(b), "{hosts} hosts, {a} and {b}");
                    assert!(seen.insert((a, b)));
                }
            }
            assert_eq!(seen.len(), hosts * hosts.saturating_sub(1) / 2, "{hosts} hosts");
        }
    }
}
