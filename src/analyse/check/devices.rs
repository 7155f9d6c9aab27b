//! Checks of devices: presence, userspace provider, identity, distance to CPU and GPUs, limits.

use super::results::Results;
use super::{on_host, responding};
use crate::analyse::removed_devices::removal;
use crate::analyse::verdict::plain_or;
use crate::model::{
    Device, Finding, HostReport, ObjectCount, PciPath, Port, Protocol, Severity, Subject,
    VerbsDevice, VerbsState, key,
};

pub(super) fn judge(reports: &[&HostReport], results: &mut Results<'_>) {
    for (host, report) in responding(reports) {
        let has_hardware = report.devices.iter().any(|device| !device.is_software());
        for device in &report.devices {
            results.judged(host, "device.gone", removal(report, device));
            if device.gone_since_ns.is_some() {
                continue;
            }
            judge_provider(host, report, device, results);
            judge_identity(host, report, device, results);
            judge_numa(host, report, device, results);
            judge_limits(host, report, device, results);
            let soft = device.is_software() && has_hardware;
            let what = "a software device on a host with RDMA hardware: the CPU does its work";
            let fix = on_host(report, format_args!("rdma link delete {}", name(device)));
            results.judged(
                host,
                "device.software",
                soft.then(|| finding(device, Severity::Info, "device.software", what).fix(fix)),
            );
        }
        judge_gpus(host, report, results);
    }
}

fn finding(
    device: &Device,
    severity: Severity,
    id: &'static str,
    what: impl Into<String>,
) -> Finding {
    Finding::new(severity, id, Subject::Device(device.name.clone()), what)
}

fn plain(report: &HostReport) -> &str {
    plain_or(&report.host, "HOST")
}

fn name(device: &Device) -> &str {
    plain_or(&device.name, "DEVICE")
}

fn judge_provider(host: usize, report: &HostReport, device: &Device, results: &mut Results<'_>) {
    const ID: &str = "device.no_provider";
    let Some(provider) = &device.provider else {
        return results.skip(host, ID, "the userspace provider of the driver is not known");
    };
    let key = key::device(&device.name, "provider");
    let problems = &report.problems;
    if let Some(problem) = problems.affecting(&key).or_else(|| problems.affecting("provider")) {
        return results.unknown(host, ID, &*problem.detail);
    }
    // A device that libibverbs reports has a provider, whatever the files show: containers have
    // providers in other directories.
    let has_answer = report.verbs == VerbsState::Answered && device.verbs.is_some();
    if has_answer || (provider.file.is_some() && provider.is_listed) {
        return results.pass(host, ID);
    }
    let missing = if provider.file.is_none() { "library" } else { "entry in /etc/libibverbs.d" };
    let what = format!(
        "the kernel has the device, but libibverbs does not: the {missing} of the provider {} is \
         missing",
        provider.name
    );
    let package = provider.package.as_deref().map_or("PACKAGE", |name| plain_or(name, "PACKAGE"));
    let fix = on_host(report, format_args!("install the package {package}"));
    let source = "/etc/libibverbs.d";
    results.found(host, finding(device, Severity::Fail, ID, what).fix(fix).source(source));
}

fn judge_identity(host: usize, report: &HostReport, device: &Device, results: &mut Results<'_>) {
    const ID: &str = "device.no_guid";
    let is_ib = device.ports.iter().any(|port| port.protocol == Some(Protocol::Ib));
    if !is_ib {
        return results.skip(host, ID, "only InfiniBand needs a GUID from the driver");
    }
    if let Some(problem) = report.problems.affecting(&key::device(&device.name, "node_guid")) {
        return results.unknown(host, ID, &*problem.detail);
    }
    // The host of a virtual function may not have given it to a guest yet.
    let (severity, what) = if device.is_virtual_function() {
        (
            Severity::Info,
            "the virtual function has node GUID 0; until it has a GUID, the subnet manager does \
             not activate its ports",
        )
    } else {
        (
            Severity::Fail,
            "the device has node GUID 0, so the subnet manager never activates its ports",
        )
    };
    let fix = "on the hypervisor: ip link set INTERFACE vf N node_guid GUID; ip link set \
               INTERFACE vf N port_guid GUID";
    let source = format!("/sys/class/infiniband/{}/node_guid", device.name);
    let found = finding(device, severity, ID, what).fix(fix).source(source);
    results.judged(host, ID, device.node_guid.is_none().then_some(found));
}

fn judge_numa(host: usize, report: &HostReport, device: &Device, results: &mut Results<'_>) {
    const ID: &str = "device.numa_unknown";
    if device.pci.is_none() {
        return results.skip(host, ID, "the device is no PCI device");
    }
    let has_several = report.devices.iter().any(|one| one.numa_node.is_some_and(|node| node > 0));
    let what = "the firmware does not say to which NUMA node the device belongs";
    let found = finding(device, Severity::Info, ID, what)
        .fix("update the BIOS; in a virtual machine, give it the NUMA topology of its host")
        .source(format!("/sys/class/infiniband/{}/device/numa_node", device.name));
    results.judged(host, ID, (device.numa_node.is_none() && has_several).then_some(found));
}

/// Compares the number of objects with the limits of the device.
fn judge_limits(host: usize, report: &HostReport, device: &Device, results: &mut Results<'_>) {
    const ID: &str = "device.exhausted";
    let objects = device.netlink.as_ref().and_then(|netlink| netlink.objects.as_deref());
    let Some((limits, objects)) = device.verbs.as_ref().zip(objects) else {
        return results.skip(host, ID, "the limits or the number of objects are unknown");
    };
    let most = |kind: &str| -> Option<u64> {
        let VerbsDevice { max_qp, max_cq, max_mr, max_pd, .. } = limits;
        let most = match kind {
            "qp" => max_qp,
            "cq" => max_cq,
            "mr" => max_mr,
            "pd" => max_pd,
            _ => return None,
        };
        u64::try_from(*most).ok().filter(|most| *most > 0)
    };
    let percent = results.policy().thresholds.device_used_percent;
    let full = objects.iter().find_map(|ObjectCount { kind, count, .. }| {
        let most = most(kind)?;
        let used = *count;
        (used.saturating_mul(100) >= most.saturating_mul(percent))
            .then(|| format!("{used} of {most} objects of the kind {kind} exist"))
    });
    let found = full.map(|what| {
        let fix =
            format!("find the process that holds them: rdmactl resources -H {}", plain(report));
        finding(device, Severity::Warn, ID, what).fix(fix).source("RDMA netlink, summary")
    });
    results.judged(host, ID, found);
}

/// Finds GPUs whose nearest RDMA device with an active port is behind another NUMA node.
fn judge_gpus(host: usize, report: &HostReport, results: &mut Results<'_>) {
    const ID: &str = "gpu.far";
    let is_active = |device: &&Device| device.ports.iter().any(Port::is_active);
    let near = |device: &Device, pci: &str| -> Option<PciPath> {
        device.gpus.iter().flatten().find(|gpu| gpu.pci == pci)?.path
    };
    let mut gpus: Vec<&str> = report
        .devices
        .iter()
        .flat_map(|one| one.gpus.iter().flatten())
        .map(|gpu| &*gpu.pci)
        .collect();
    gpus.sort_unstable();
    gpus.dedup();
    if gpus.is_empty() {
        return results.skip(host, ID, "no RDMA device of the host has a GPU");
    }
    for pci in gpus {
        let best = |only_active: bool| {
            let devices = report.devices.iter().filter(|one| !only_active || is_active(one));
            devices.filter_map(|one| Some((near(one, pci)?, one))).min_by_key(|(path, _)| *path)
        };
        let found = match (best(false), best(true)) {
            (Some((nearest, device)), Some((active, _))) if nearest < active => {
                let what = format!(
                    "the device is the nearest one of the GPU {pci}, and has no active port; the \
                     traffic of the GPU takes the path {} instead of {}",
                    active.word(),
                    nearest.word()
                );
                let fix = format!("repair the ports of {} on {}", name(device), plain(report));
                Some(finding(device, Severity::Warn, ID, what).fix(fix))
            }
            _ => None,
        };
        results.judged(host, ID, found);
    }
}
