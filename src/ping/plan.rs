//! Which pairs run at the same time: rounds in which no host appears twice.

/// Rounds of unordered pairs that together hold every pair of `hosts` once (the circle method).
///
/// An odd number of hosts leaves one out in each round.
#[must_use]
pub(super) fn rounds(hosts: usize) -> Vec<Vec<(usize, usize)>> {
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
    fn every_pair_comes_once_and_no_host_twice_in_a_round() {
        for hosts in 0..40 {
            let mut seen = BTreeSet::new();
            for round in rounds(hosts) {
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
