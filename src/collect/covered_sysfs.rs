//! Tests of hosts on which another mount covers `/sys/class/infiniband` or more of sysfs.

use super::long_lists::{dir, netlink_devices, report};
use crate::model::{HostReport, Part};
use crate::source::{Question, RdmaCommand, RdmaQuery};

/// Returns the report of a host with these directories. Its kernel has two RDMA devices.
fn host(directories: &[&str]) -> HostReport {
    let query = RdmaQuery { command: RdmaCommand::Devices, device: None, port: None };
    let directories = directories.iter().map(|path| (dir(path), Vec::new()));
    let devices = (Question::Rdma(query), netlink_devices(2));
    report(Part::Netlink, directories.chain([devices]).collect())
}

fn problem(report: &HostReport) -> Option<&str> {
    report.problems.iter().find(|one| one.key == "devices").map(|one| one.detail.as_str())
}

#[test]
fn devices_that_only_netlink_has_are_a_problem() {
    for class in [&["/sys/class/infiniband"][..], &[]] {
        let report = host(&[class, &["/sys/module", "/sys/module/ib_core"]].concat());
        assert_eq!(
            problem(&report),
            Some(
                "the kernel has rxe[0-1] (RDMA netlink), but /sys/class/infiniband lists no device"
            )
        );
        assert!(report.rdma_core == Some(true) && report.no_device().is_none());
    }
}

#[test]
fn a_host_without_sysfs_is_not_a_host_without_rdma() {
    let report = host(&[]);
    assert_eq!(
        problem(&report),
        Some("/sys/module does not exist: sysfs is not mounted, or another mount covers it")
    );
    assert!(report.rdma_core.is_none() && report.no_device().is_none());
}

#[test]
fn a_host_without_the_rdma_core_has_no_problem() {
    let report = host(&["/sys/module"]);
    assert!(problem(&report).is_none() && report.rdma_core == Some(false));
    assert!(report.no_device().is_some_and(|(reason, _)| reason.contains("is not loaded")));
}
