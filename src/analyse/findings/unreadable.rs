//! What could not be read: each place once, however many of its files are refused.

use std::collections::BTreeMap;

use super::Found;
use crate::model::{Problem, Subject};

pub(super) fn findings(problems: &[Problem]) -> Vec<Found> {
    let mut places: BTreeMap<(&str, Option<&str>), (&Problem, usize)> = BTreeMap::new();
    for problem in problems {
        let place = (place(&problem.key), problem.errno.as_deref());
        places.entry(place).and_modify(|(_, more)| *more += 1).or_insert((problem, 0));
    }
    let found = |((place, _), (problem, more)): ((&str, _), (&Problem, usize))| {
        let what = match more {
            0 => problem.detail.clone(),
            1 => format!("{}, and 1 more value", problem.detail),
            more => format!("{}, and {more} more values", problem.detail),
        };
        Found { subject: Subject::Part(place.to_owned()), what, fix: problem.fix.clone() }
    };
    places.into_iter().map(found).collect()
}

/// The port, interface or part that a key belongs to: `mlx5_0/1` of `mlx5_0/1/gids/3`.
fn place(key: &str) -> &str {
    key.match_indices('/').nth(1).map_or(key, |(end, _)| &key[..end])
}

#[test]
fn many_files_of_one_port_are_one_finding() {
    let problem = |key: &str, errno: &str| Problem {
        key: key.into(),
        source: format!("/sys/{key}"),
        errno: Some(errno.into()),
        detail: format!("cannot read {key}"),
        fix: None,
        not_recorded: false,
    };
    let problems = [
        problem("mlx5_0/1/gids/0", "EACCES"),
        problem("mlx5_0/1/lid", "EACCES"),
        problem("mlx5_0/1/state", "EIO"),
        problem("resources", "EPERM"),
    ];
    let found = findings(&problems);
    let lines: Vec<String> =
        found.iter().map(|one| format!("{}: {}", one.subject, one.what)).collect();
    assert_eq!(
        lines,
        [
            "mlx5_0/1: cannot read mlx5_0/1/gids/0, and 1 more value",
            "mlx5_0/1: cannot read mlx5_0/1/state",
            "resources: cannot read resources",
        ]
    );
}
