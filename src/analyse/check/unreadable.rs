//! Merges the problems of one item and errno into one finding that counts them, and recognizes
//! the problems of values that a host does not have. Reads no file. `hosts`, `results` and
//! `cmd::check` use this module.

use std::collections::BTreeMap;

use crate::model::{Device, Finding, HostReport, Port, Problem, Severity, Subject};
use crate::names;

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
        return is_list || port_of_rate(report, &problem.key).is_some_and(|port| !port.is_active());
    }
    let device = problem.key.strip_suffix("/verbs").and_then(|name| device_named(report, name));
    device.is_some_and(Device::is_sub_device)
}

/// Returns the port of the key of a rate: `mlx5_0/1/rate_bps`. The ports of a device are sorted
/// by number.
fn port_of_rate<'report>(report: &'report HostReport, key: &str) -> Option<&'report Port> {
    let (device, number) = key.strip_suffix("/rate_bps")?.rsplit_once('/')?;
    let ports = &device_named(report, device)?.ports;
    let number: u32 = number.parse().ok()?;
    let at = ports.binary_search_by_key(&number, |port| port.number).ok()?;
    ports.get(at)
}

/// Returns the device with a name. The devices of a report are sorted by name.
fn device_named<'report>(report: &'report HostReport, name: &str) -> Option<&'report Device> {
    let order = |device: &Device| names::compare(&device.name, name);
    let at = report.devices.binary_search_by(order).ok()?;
    report.devices.get(at)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Via;

    fn problem(key: &str, errno: &str) -> Problem {
        Problem {
            key: key.into(),
            source: format!("/sys/{key}"),
            errno: Some(errno.into()),
            detail: format!("cannot read {key}"),
            fix: None,
            not_recorded: false,
        }
    }

    #[test]
    fn many_files_of_one_port_are_one_finding() {
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
            let (device, path) =
                (format!("mlx5_{number}"), format!("/dev/infiniband/uverbs{number}"));
            Problem::of_device_file(&device, &path, "ENOENT", "ENOENT (no such file)")
        };
        let found: Vec<Finding> = findings(&[&file(0), &file(1), &file(2)]).collect();
        assert_eq!(found.len(), 1);
        let expected =
            "cannot open /dev/infiniband/uverbs0: ENOENT (no such file), and 2 more device files";
        assert_eq!(found[0].what, expected);
        assert!(found[0].fix.as_ref().is_some_and(|fix| fix.contains("docker run --device")));
    }

    /// Returns a host with 12 devices of three ports. The second port of each device is active, and
    /// the last device offers only management datagrams of planes.
    fn host() -> HostReport {
        let ports = json!([
            { "number": 1, "state": "down" },
            { "number": 2, "state": "active" },
            { "number": 3, "state": "down" },
        ]);
        let device = |number: u32| {
            let sub_type = (number == 11).then_some("smi");
            json!({
                "name": format!("mlx5_{number}"), "ports": ports,
                "netlink": { "index": number, "sub_type": sub_type, "parent": "mlx5_0" },
            })
        };
        let devices = (0..12).map(|number| serde_json::from_value(device(number)).unwrap());
        HostReport { devices: devices.collect(), ..HostReport::empty("n1", Via::Agent) }
    }

    #[test]
    fn only_an_inactive_port_has_no_rate() {
        let is_absent = |key: &str| is_absent(&host(), &problem(key, "EINVAL"));
        for key in ["mlx5_0/1/rate_bps", "mlx5_2/3/rate_bps", "mlx5_10/3/rate_bps"] {
            assert!(is_absent(key), "{key}");
        }
        for key in [
            "mlx5_10/2/rate_bps",
            "mlx5_0/4/rate_bps",
            "mlx5_12/1/rate_bps",
            "mlx5_0/x/rate_bps",
            "mlx5_0/1/rate",
            "mlx5_0/rate_bps",
            "rate_bps",
            "",
        ] {
            assert!(!is_absent(key), "{key}");
        }
    }

    #[test]
    fn only_planes_have_no_device_file() {
        let is_absent = |key: &str| is_absent(&host(), &problem(key, "ENOENT"));
        assert!(is_absent("mlx5_11/verbs"));
        for key in ["mlx5_1/verbs", "mlx5_12/verbs", "mlx5_11/1/verbs", "mlx5_11", "verbs"] {
            assert!(!is_absent(key), "{key}");
        }
    }

    #[test]
    fn problems_of_absent_values_are_removed() {
        let mut report = host();
        report.problems = ["mlx5_4/1/rate_bps", "mlx5_4/2/rate_bps", "mlx5_4/1/lid"]
            .map(|key| problem(key, "EINVAL"))
            .into_iter()
            .collect();
        remove_absent(&mut report);
        let keys: Vec<&str> = report.problems.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(keys, ["mlx5_4/1/lid", "mlx5_4/2/rate_bps"]);
    }
}
