//! Formats which part of all pairs a run has tested.

use std::fmt::Write as _;

use crate::model::ping::Coverage;

/// Formats the coverage of a run, for example: `12.4 % of 4032 pairs tested, each host with at
/// least 16 others, 136 of 136 pairs of leaf switches; random, seed 7`.
pub(super) fn describe(coverage: &Coverage) -> String {
    let permille = coverage.permille();
    let part = match permille {
        0 if coverage.tested > 0 => "less than 0.1 %".to_owned(),
        1_000 => "100 %".to_owned(),
        permille => format!("{}.{} %", permille / 10, permille % 10),
    };
    let mut text = format!("{part} of {} pairs tested", coverage.possible);
    let others = if coverage.least_peers == 1 { "other" } else { "others" };
    let _ = write!(text, ", each host with at least {} {others}", coverage.least_peers);
    if let Some(leaves) = coverage.leaf_pairs {
        let _ = write!(text, ", {} of {} pairs of leaf switches", leaves.tested, leaves.possible);
    }
    if let Some(budget) = coverage.budget_ms.filter(|_| coverage.tested < coverage.planned) {
        let (seconds, ms) = (budget / 1_000, budget % 1_000);
        let dot = if ms > 0 { format!(".{:01}", ms / 100) } else { String::new() };
        let _ = write!(text, ", within the budget of {seconds}{dot} s");
    }
    let _ = write!(text, "; {}", coverage.schedule.word());
    if let Some(seed) = coverage.seed {
        let _ = write!(text, ", seed {seed}");
    }
    text
}

#[test]
fn a_part_is_never_called_all_nor_nothing() {
    use crate::model::ping::{LeafPairs, Schedule};

    let coverage = |tested, possible| Coverage {
        schedule: Schedule::Random,
        seed: Some(7),
        peers: Some(16),
        budget_ms: Some(1_500),
        rounds: 9,
        possible,
        planned: possible,
        tested,
        least_peers: 1,
        leaf_pairs: Some(LeafPairs { tested: 3, possible: 6 }),
    };
    assert_eq!(
        describe(&coverage(124, 1_000)),
        "12.4 % of 1000 pairs tested, each host with at least 1 other, 3 of 6 pairs of leaf switches, \
         within the budget of 1.5 s; random, seed 7"
    );
    assert!(describe(&coverage(1, 100_000)).starts_with("less than 0.1 % of 100000"));
    assert!(describe(&coverage(99_999, 100_000)).starts_with("99.9 % of"));
    assert!(describe(&coverage(9, 9)).starts_with("100 % of 9 pairs tested"));
}
