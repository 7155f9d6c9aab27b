//! Merges the problems of one item and errno into one finding that counts them. `hosts` and
//! `results` use this module.

use std::collections::BTreeMap;

use crate::model::{Finding, HostReport, Problem, Severity, Subject, key};

pub(super) fn findings(problems: &[&Problem]) -> impl Iterator<Item = Finding> {
    let mut places: BTreeMap<(&str, Option<&str>), (&Problem, usize)> = BTreeMap::new();
    for problem in problems {
        // All device files of a host are one place: a container lacks all of them.
        let is_file = problem.is_of_device_file();
        let place = if is_file { "verbs" } else { place(&problem.key) };
        let key = (place, problem.errno.as_deref());
        places.entry(key).and_modify(|(_, more)| *more += 1).or_insert((problem, 0));
    }
    let found = |((place, _), (problem, more)): ((&str, _), (&Problem, usize))| {
        let noun = if problem.is_of_device_file() { "device file" } else { "value" };
        let what = match more {
            0 => problem.detail.clone(),
            1 => format!("{}, and 1 more {noun}", problem.detail),
            more => format!("{}, and {more} more {noun}s", problem.detail),
        };
        let subject = Subject::Part(place.to_owned());
        let finding = Finding::new(Severity::Unknown, "unreadable", subject, what);
        Finding { fix: problem.fix.clone().map(String::from), ..finding }
    };
    places.into_iter().map(found)
}

/// Returns true if the error of a problem is the normal reply of a host without the value.
pub(super) fn is_absent(report: &HostReport, problem: &Problem) -> bool {
    if problem.errno.as_deref() == Some("EINVAL") {
        // Kernels before 4.14 do not list RDMA devices over netlink.
        let is_list = problem.source == "RDMA netlink, devices";
        // A port without a link has no width, and so no rate (`rate_show` of core/sysfs.c).
        let mut inactive = report.ports().filter(|(_, port)| !port.is_active());
        return is_list
            || inactive.any(|(device, port)| {
                problem.key == key::port(&device.name, port.number, "rate_bps")
            });
    }
    let mut planes = report.devices.iter().filter(|device| device.is_sub_device());
    planes.any(|device| problem.key == key::device(&device.name, "verbs"))
}

/// Removes the problems of values that the host does not have. They make no report incomplete.
pub fn remove_absent(report: &mut HostReport) {
    let present = report.problems.iter().filter(|problem| !is_absent(report, problem));
    report.problems = present.cloned().collect();
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
