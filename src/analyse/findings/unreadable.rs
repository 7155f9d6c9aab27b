//! Findings of unreadable data and device files: one for each place and error, with the number of
//! the other values or files.

use std::collections::BTreeMap;

use crate::model::{Finding, Problem, Severity, Subject};

pub(crate) fn findings(problems: &[&Problem]) -> impl Iterator<Item = Finding> {
    let mut places: BTreeMap<(&str, Option<&str>), (&Problem, usize)> = BTreeMap::new();
    for problem in problems {
        // All device files of a host are one place: a container lacks all of them.
        let is_file = problem.is_of_device_file();
        let place = if is_file { "verbs" } else { place(&problem.key) };
        let key = (place, problem.errno.as_deref());
        places.entry(key).and_modify(|(_, more)| *more += 1).or_insert((problem, 0));
    }
    let found = |((place, _), (problem, more)): ((&str, _), (&Problem, usize))| {
        let (severity, code, noun) = if problem.is_of_device_file() {
            (Severity::Warn, "device.file", "device file")
        } else {
            (Severity::Unknown, "unreadable", "value")
        };
        let what = match more {
            0 => problem.detail.clone(),
            1 => format!("{}, and 1 more {noun}", problem.detail),
            more => format!("{}, and {more} more {noun}s", problem.detail),
        };
        let finding = Finding::new(severity, code, Subject::Part(place.to_owned()), what);
        Finding { fix: problem.fix.clone().map(String::from), ..finding }
    };
    places.into_iter().map(found)
}

/// Returns the port, interface or part of a key: `mlx5_0/1` for `mlx5_0/1/gids/3`.
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
    let problems: Vec<&Problem> = problems.iter().collect();
    let lines: Vec<String> =
        findings(&problems).map(|one| format!("{}: {}", one.subject, one.what)).collect();
    assert_eq!(
        lines,
        [
            "mlx5_0/1: cannot read mlx5_0/1/gids/0, and 1 more value",
            "mlx5_0/1: cannot read mlx5_0/1/state",
            "resources: cannot read resources",
        ]
    );
}

#[test]
fn the_device_files_of_a_host_are_one_finding() {
    let file = |number: u32| {
        let path = format!("/dev/infiniband/uverbs{number}");
        Problem::of_device_file(&format!("mlx5_{number}"), &path, "ENOENT", "ENOENT (no such file)")
    };
    let found: Vec<Finding> = findings(&[&file(0), &file(1), &file(2)]).collect();
    assert_eq!(found.len(), 1);
    let expected =
        "cannot open /dev/infiniband/uverbs0: ENOENT (no such file), and 2 more device files";
    assert_eq!(found[0].what, expected);
    assert!(found[0].fix.as_ref().is_some_and(|fix| fix.contains("docker run --device")));
}
