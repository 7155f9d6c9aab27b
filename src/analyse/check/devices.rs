//! Checks of devices: presence, userspace provider, identity, distance to CPU and GPUs, limits.

use std::collections::BTreeMap;

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
        let has_numa_nodes = report.devices.iter().any(|device| device.numa_node > Some(0));
        for device in &report.devices {
            results.judged(host, "device.gone", removal(report, device));
            if device.gone_since_ns.is_some() {
                continue;
            }
            judge_provider(host, report, device, results);
            judge_identity(host, report, device, results);
            judge_numa(host, device, has_numa_nodes, results);
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

/// Reports an unknown NUMA node, if another device of the host shows that the host has several.
fn judge_numa(host: usize, device: &Device, has_numa_nodes: bool, results: &mut Results<'_>) {
    const ID: &str = "device.numa_unknown";
    if device.pci.is_none() {
        return results.skip(host, ID, "the device is no PCI device");
    }
    let what = "the firmware does not say to which NUMA node the device belongs";
    let found = finding(device, Severity::Info, ID, what)
        .fix("update the BIOS; in a virtual machine, give it the NUMA topology of its host")
        .source(format!("/sys/class/infiniband/{}/device/numa_node", device.name));
    results.judged(host, ID, (device.numa_node.is_none() && has_numa_nodes).then_some(found));
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

/// RDMA devices of a host that are nearest to a GPU, each with the path.
#[derive(Default)]
struct Nearest<'report> {
    /// Nearest device; `None` if all paths are unknown.
    device: Option<(PciPath, &'report Device)>,
    /// Nearest device with an active port.
    active: Option<(PciPath, &'report Device)>,
    /// True if the path to a device is unknown.
    has_unknown: bool,
}

impl<'report> Nearest<'report> {
    fn add(&mut self, device: &'report Device, is_active: bool, path: Option<PciPath>) {
        let Some(path) = path else {
            self.has_unknown = true;
            return;
        };
        let is_nearer =
            |known: Option<(PciPath, &Device)>| known.is_none_or(|(known, _)| path < known);
        if is_nearer(self.device) {
            self.device = Some((path, device));
        }
        if is_active && is_nearer(self.active) {
            self.active = Some((path, device));
        }
    }
}

/// Returns the nearest devices of each GPU of a host, by the PCI address of the GPU.
fn nearest_devices(report: &HostReport) -> BTreeMap<&str, Nearest<'_>> {
    let mut gpus: BTreeMap<&str, Nearest<'_>> = BTreeMap::new();
    for device in &report.devices {
        let is_active = device.ports.iter().any(Port::is_active);
        for gpu in device.gpus.iter().flatten() {
            gpus.entry(&gpu.pci).or_default().add(device, is_active, gpu.path);
        }
    }
    gpus
}

/// Finds GPUs whose nearest RDMA device has no active port, if the next device is farther away.
fn judge_gpus(host: usize, report: &HostReport, results: &mut Results<'_>) {
    const ID: &str = "gpu.far";
    let gpus = nearest_devices(report);
    if gpus.is_empty() {
        return results.skip(host, ID, "no RDMA device of the host has a GPU");
    }
    for (pci, Nearest { device, active, has_unknown }) in gpus {
        let found = match (device, active) {
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
            // Each path that depends on a NUMA node crosses several host bridges.
            _ if has_unknown && active.is_none_or(|(path, _)| path > PciPath::Node) => {
                let why = format!(
                    "the path from the GPU {pci} to an RDMA device depends on an unknown NUMA node"
                );
                results.unknown(host, ID, why);
                continue;
            }
            _ => None,
        };
        results.judged(host, ID, found);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{checked, cluster, reports};

    /// Returns the result of `gpu.far` on the third host, and the observations of its findings.
    /// `paths` are the paths of the GPU to the first and to the second device.
    fn gpu_far(paths: [Value; 2], change: impl Fn(&mut Value)) -> (&'static str, Vec<String>) {
        let mut values = cluster();
        for (at, path) in paths.into_iter().enumerate() {
            values[2]["devices"][at]["gpus"][0]["path"] = path;
        }
        change(&mut values[2]);
        let report = checked(&reports(&values));
        let found = report.findings.iter().filter(|found| found.check.id == "gpu.far");
        let whats = found.map(|found| found.finding.what.clone()).collect();
        (report.hosts[2].results["gpu.far"].word(), whats)
    }

    fn disable_first(host: &mut Value) {
        host["devices"][0]["ports"][0]["state"] = json!(null);
    }

    #[test]
    fn a_gpu_with_unknown_paths_is_unknown() {
        let result = |first: Value, second: Value, change: fn(&mut Value)| {
            gpu_far([first, second], change).0
        };
        let (pix, sys) = (|| json!("pix"), || json!("sys"));
        assert_eq!(result(json!(null), json!(null), |_| {}), "unknown");
        assert_eq!(result(json!(null), json!(null), disable_first), "unknown");
        assert_eq!(result(pix(), json!(null), disable_first), "unknown", "the active device");
        assert_eq!(result(json!(null), sys(), disable_first), "unknown", "the inactive device");
        assert_eq!(result(pix(), json!(null), |_| {}), "pass", "a near device is active");
        assert_eq!(result(pix(), sys(), |_| {}), "pass");
        assert_eq!(result(pix(), pix(), disable_first), "pass", "another device is as near");
    }

    #[test]
    fn a_gpu_whose_nearest_device_has_no_active_port_is_a_finding() {
        let (result, found) = gpu_far([json!("pix"), json!("sys")], disable_first);
        assert_eq!(result, "warn");
        let what = "the device is the nearest one of the GPU 0000:41:00.0, and has no active port; \
                    the traffic of the GPU takes the path SYS instead of PIX";
        assert_eq!(found, [what]);
    }

    #[test]
    fn each_gpu_is_judged() {
        let (result, found) = gpu_far([json!("pix"), json!("pix")], |host| {
            disable_first(host);
            for (at, path) in [(0_usize, "phb"), (1, "node")] {
                let gpu = json!({ "pci": "0000:42:00.0", "path": path });
                host["devices"][at]["gpus"].as_array_mut().unwrap().push(gpu);
            }
        });
        assert_eq!((result, found.len()), ("warn", 1));
        assert!(found[0].contains("0000:42:00.0"), "{found:?}");
    }

    #[test]
    fn a_numa_node_is_unknown_only_on_a_host_with_several() {
        let result = |first: Value| {
            let mut values = cluster();
            values[2]["devices"][0]["numa_node"] = first;
            values[2]["devices"][1]["numa_node"] = json!(null);
            checked(&reports(&values)).hosts[2].results["device.numa_unknown"].word()
        };
        assert_eq!([json!(1), json!(0), json!(null)].map(result), ["info", "pass", "pass"]);
    }
}
