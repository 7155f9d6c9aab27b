//! Checks of the operating system: modules, unused cards, limits, services, kernel settings.

use std::collections::BTreeSet;

use super::responding;
use super::results::{Results, problem};
use crate::analyse::verdict::plain_or;
use crate::model::{
    ConnectedNetwork, Device, Finding, HostReport, Limits, Part, Protocol, SOFT_IWARP, Service,
    Severity, Subject, Subnet, System, Thresholds,
};

/// Number of memory maps that `BeeGFS` requires on servers with `TrueScale` or Omni-Path.
const MEMORY_MAPS: u64 = 1_000_000;

/// Checks that need nothing but [`Part::System`].
const IDS: [&str; 14] = [
    "module.missing",
    "device.idle_function",
    "limit.locked_memory",
    "limit.service_locked_memory",
    "service.ibacm",
    "service.iwpmd",
    "network.arp",
    "network.reverse_path",
    "setting.numa_balancing",
    "setting.memory_maps",
    "setting.governor",
    "dma.translated",
    "network.overlaps",
    "gpu.no_peer_memory",
];

pub(super) fn judge(reports: &[HostReport], results: &mut Results<'_>) {
    // A function without an RDMA device may be an Ethernet card by intention, unless another one
    // of its type has an RDMA device.
    let rdma_drivers: BTreeSet<&str> = responding(reports)
        .flat_map(|(_, report)| &report.devices)
        .filter(|device| device.pci.is_some())
        .filter_map(|device| device.driver.as_deref())
        .collect();
    for (host, report) in responding(reports) {
        if !results.has_part(host, report, Part::System, &IDS) {
            continue;
        }
        let Some(system) = &report.system else {
            for id in IDS {
                results.unknown(host, id, "the settings of the system could not be read");
            }
            continue;
        };
        let one = OneHost { host, report, system };
        one.judge_idle_functions(&rdma_drivers, results);
        if report.devices.is_empty() {
            continue;
        }
        one.judge_modules(results);
        one.judge_locked_memory(results);
        one.judge_services(results);
        one.judge_networks(results);
        one.judge_settings(results);
        one.judge_dma(results);
    }
}

struct OneHost<'report> {
    host: usize,
    report: &'report HostReport,
    system: &'report System,
}

impl OneHost<'_> {
    fn name(&self) -> &str {
        plain_or(&self.report.host, "HOST")
    }

    fn has_protocol(&self, protocol: Protocol) -> bool {
        self.report.ports().any(|(_, port)| port.protocol == Some(protocol))
    }

    fn has_driver(&self, names: &[&str]) -> bool {
        let mut drivers = self.report.devices.iter().filter_map(|device| device.driver.as_deref());
        drivers.any(|driver| names.contains(&driver))
    }

    fn has_module(&self, name: &str) -> bool {
        self.system.modules.iter().flatten().any(|module| module == name)
    }

    /// Adds "unknown" if a value is missing because of a problem, "skip" if the host does not have
    /// the value.
    fn missing(
        &self,
        ids: &[&'static str],
        key: &str,
        why: &'static str,
        results: &mut Results<'_>,
    ) {
        for id in ids {
            match problem(self.report, key) {
                Some(problem) => results.unknown(self.host, id, &*problem.detail),
                None => results.skip(self.host, id, why),
            }
        }
    }

    fn judge_modules(&self, results: &mut Results<'_>) {
        const ID: &str = "module.missing";
        if self.system.modules.is_none() {
            return self.missing(&[ID], "system/modules", "the kernel lists no modules", results);
        }
        let has_subnet = self.has_protocol(Protocol::Ib) || self.has_protocol(Protocol::Opa);
        let needed = [
            (Severity::Fail, "ib_uverbs", "programs cannot open a device", true),
            (Severity::Warn, "rdma_ucm", "programs cannot use rdma_cm", true),
            (Severity::Warn, "ib_umad", "tools and opensm cannot send MADs", has_subnet),
        ];
        let mut is_complete = true;
        for (severity, module, consequence, is_needed) in needed {
            if is_needed && !self.has_module(module) {
                is_complete = false;
                let what = format!("the module {module} is not loaded: {consequence}");
                let fix = format!(
                    "on {}: modprobe {module} && echo {module} > /etc/modules-load.d/{module}.conf",
                    self.name()
                );
                let found = finding(severity, ID, what).fix(fix).source("/sys/module");
                results.found(self.host, found);
            }
        }
        if is_complete {
            results.pass(self.host, ID);
        }
    }

    fn judge_idle_functions(&self, rdma_drivers: &BTreeSet<&str>, results: &mut Results<'_>) {
        const ID: &str = "device.idle_function";
        let Some(functions) = &self.system.idle_functions else {
            return self.missing(&[ID], "system/functions", "the host has no PCI bus", results);
        };
        if functions.is_empty() {
            return results.pass(self.host, ID);
        }
        for function in functions {
            let module = plain_or(&function.rdma_module, "MODULE");
            let pci = plain_or(&function.pci, "PCI");
            let (what, fix, is_meant) = match &function.driver {
                None => (
                    format!("{pci} ({}) has no driver", function.id),
                    format!("dmesg | grep {pci}; modprobe {module}"),
                    true,
                ),
                Some(driver) => {
                    let (reason, fix) = if self.has_module(module) {
                        let fix = format!("dmesg | grep {pci}; rdma dev show");
                        ("although the module is loaded", fix)
                    } else {
                        ("because the module is not loaded", format!("modprobe {module}"))
                    };
                    (
                        format!(
                            "{pci} ({}) uses {driver}, but {module} has made no RDMA device, {reason}",
                            function.id
                        ),
                        fix,
                        rdma_drivers.contains(driver.as_str()),
                    )
                }
            };
            let severity = if is_meant { Severity::Warn } else { Severity::Info };
            let subject = Subject::Part(format!("pci/{}", function.pci));
            let found = Finding::new(severity, ID, subject, what)
                .fix(format!("on {}: {fix}", self.name()))
                .source(format!("/sys/bus/pci/devices/{pci}"));
            results.found(self.host, found);
        }
    }

    fn judge_locked_memory(&self, results: &mut Results<'_>) {
        const ID: &str = "limit.locked_memory";
        match (self.system.may_lock_memory, &self.system.limits) {
            (Some(true), _) => {
                let why = "the user of rdmactl may lock memory without a limit";
                results.skip(self.host, ID, why);
            }
            (_, None) => self.missing(&[ID], "system/limits", "the host has no limits", results),
            (_, Some(limits)) => {
                let low = low_locked_memory(limits, &results.policy().thresholds);
                let found = low.map(|(severity, limit)| {
                    let what = format!("a login may lock {limit} of memory");
                    finding(severity, ID, what)
                        .fix(format!(
                            "on {}: printf '* soft memlock unlimited\\n* hard memlock unlimited\\n' \
                             > /etc/security/limits.d/rdma.conf  # then log in again",
                            self.name()
                        ))
                        .source("/proc/self/limits")
                });
                results.judged(self.host, ID, found);
            }
        }
    }

    fn judge_services(&self, results: &mut Results<'_>) {
        let ids = ["limit.service_locked_memory", "service.ibacm", "service.iwpmd"];
        let Some(services) = &self.system.services else {
            return self.missing(&ids, "system/services", "the host has no systemd", results);
        };
        self.judge_starters(services, results);
        let of = |unit: &str| services.iter().any(|service| service.unit == unit);
        let acm: Vec<&str> =
            ["ibacm.service", "ibacm.socket"].into_iter().filter(|unit| of(unit)).collect();
        let has_beegfs =
            self.report.consumers.as_ref().is_some_and(|consumers| consumers.beegfs.is_some());
        let found = (!acm.is_empty()).then(|| {
            let severity = if has_beegfs { Severity::Fail } else { Severity::Warn };
            let what = format!("{} is active: rdma_resolve_route can wait for it", acm.join(", "));
            let fix =
                format!("on {}: systemctl disable --now ibacm.service ibacm.socket", self.name());
            finding(severity, "service.ibacm", what).fix(fix).source("systemd")
        });
        results.judged(self.host, "service.ibacm", found);
        let is_hardware = |device: &&Device| {
            device.driver.as_deref() != Some(SOFT_IWARP)
                && device.ports.iter().any(|port| port.protocol == Some(Protocol::Iwarp))
        };
        if !self.report.devices.iter().any(|device| is_hardware(&device)) {
            return results.skip(self.host, "service.iwpmd", "the host has no iWARP card");
        }
        let found = (!of("iwpmd.service")).then(|| {
            let what = "iwpmd does not run: iWARP connections may use TCP ports of other programs";
            let fix = format!("on {}: systemctl enable --now iwpmd", self.name());
            finding(Severity::Warn, "service.iwpmd", what).fix(fix).source("systemd")
        });
        results.judged(self.host, "service.iwpmd", found);
    }

    /// Judges the services whose limits are those of jobs and containers.
    fn judge_starters(&self, services: &[Service], results: &mut Results<'_>) {
        const ID: &str = "limit.service_locked_memory";
        let mut is_any = false;
        for service in services {
            let Some(limits) = &service.limits else { continue };
            is_any = true;
            let unit = plain_or(&service.unit, "UNIT");
            let low = low_locked_memory(limits, &results.policy().thresholds)
                .filter(|(severity, _)| severity.is_problem());
            let found = low.map(|(_, limit)| {
                let what = format!("{unit} may lock {limit} of memory, and its jobs inherit that");
                let fix = format!(
                    "on {}: mkdir -p /etc/systemd/system/{unit}.d; printf \
                     '[Service]\\nLimitMEMLOCK=infinity\\n' > \
                     /etc/systemd/system/{unit}.d/memlock.conf; systemctl daemon-reload; systemctl \
                     restart {unit}",
                    self.name()
                );
                let subject = Subject::Part(format!("services/{}", service.unit));
                Finding::new(Severity::Warn, ID, subject, what).fix(fix).source("/proc/PID/limits")
            });
            results.judged(self.host, ID, found);
        }
        if !is_any {
            results.skip(self.host, ID, "no service that starts jobs or containers runs");
        }
    }

    fn judge_networks(&self, results: &mut Results<'_>) {
        let ids = ["network.arp", "network.reverse_path", "network.overlaps"];
        let Some(networks) = &self.system.networks else {
            return self.missing(&ids, "system/networks", "the host has no IPv4", results);
        };
        let netdevs: BTreeSet<&str> =
            self.report.ports().filter_map(|(_, port)| port.netdev.as_deref()).collect();
        let (of_rdma, others): (Vec<_>, Vec<_>) =
            networks.iter().partition(|network| netdevs.contains(network.netdev.as_str()));
        let shares = |one: &&&ConnectedNetwork| {
            of_rdma.iter().any(|other| {
                other.netdev != one.netdev && (other.address, other.bits) == (one.address, one.bits)
            })
        };
        let sharing: Vec<&str> =
            of_rdma.iter().filter(shares).map(|network| network.netdev.as_str()).collect();
        let setting = |netdev: &str, name: &str| {
            let value = |scope: &str| {
                let value = self.system.settings.get(&format!("net/ipv4/conf/{scope}/{name}"))?;
                value.parse::<u32>().ok()
            };
            value("all").max(value(netdev)).unwrap_or(0)
        };
        let bad = |is_bad: &dyn Fn(&str) -> bool| -> Vec<&str> {
            sharing.iter().copied().filter(|netdev| is_bad(netdev)).collect()
        };
        let arp =
            bad(&|netdev| setting(netdev, "arp_ignore") < 1 || setting(netdev, "arp_announce") < 2);
        let found = (!arp.is_empty()).then(|| {
            let what = format!(
                "{} are in one network, and each one answers ARP requests for the others",
                arp.join(", ")
            );
            let fix = format!(
                "on {}: sysctl -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2  \
                 # better: a network for each rail",
                self.name()
            );
            finding(Severity::Warn, "network.arp", what)
                .fix(fix)
                .source("/proc/sys/net/ipv4/conf/*/arp_ignore")
        });
        results.judged(self.host, "network.arp", found);
        let strict = bad(&|netdev| setting(netdev, "rp_filter") == 1);
        let found = (!strict.is_empty()).then(|| {
            let what = format!(
                "{} are in one network with rp_filter=1: the kernel may drop RoCE v2 packets \
                 without a trace",
                strict.join(", ")
            );
            let fix = format!("on {}: sysctl -w net.ipv4.conf.all.rp_filter=2", self.name());
            finding(Severity::Warn, "network.reverse_path", what)
                .fix(fix)
                .source("/proc/sys/net/ipv4/conf/*/rp_filter")
        });
        results.judged(self.host, "network.reverse_path", found);
        let overlap = of_rdma.iter().find_map(|one| {
            let covers = |other: &&&ConnectedNetwork| {
                let bits = one.bits.min(other.bits);
                Subnet { address: one.address.into(), bits }.contains(other.address.into())
            };
            Some((*one, *others.iter().find(covers)?))
        });
        let found = overlap.map(|(one, other)| {
            let what = format!(
                "{} ({}/{}) and {} ({}/{}) overlap: traffic for one may leave through the other",
                one.netdev, one.address, one.bits, other.netdev, other.address, other.bits
            );
            finding(Severity::Warn, "network.overlaps", what)
                .fix("give the RDMA interface a network of its own")
                .source("/proc/net/route")
        });
        results.judged(self.host, "network.overlaps", found);
    }

    fn judge_settings(&self, results: &mut Results<'_>) {
        const GOVERNOR: &str = "setting.governor";
        let number = |name: &str| self.system.settings.get(name)?.parse::<u64>().ok();
        let balancing = number("kernel/numa_balancing");
        if self.system.numa_nodes.is_some_and(|nodes| nodes > 1) && balancing.is_some() {
            let found = (balancing != Some(0)).then(|| {
                let what = "kernel.numa_balancing moves memory between NUMA nodes: latency varies";
                let fix = format!("on {}: sysctl -w kernel.numa_balancing=0", self.name());
                finding(Severity::Info, "setting.numa_balancing", what)
                    .fix(fix)
                    .source("/proc/sys/kernel/numa_balancing")
            });
            results.judged(self.host, "setting.numa_balancing", found);
        } else {
            results.skip(self.host, "setting.numa_balancing", "the host has one NUMA node");
        }
        let maps = number("vm/max_map_count");
        match maps.filter(|_| self.has_driver(&["hfi1", "ib_qib"])) {
            None => {
                let why = "the host has no Omni-Path or TrueScale card";
                results.skip(self.host, "setting.memory_maps", why);
            }
            Some(maps) => {
                let found = (maps < MEMORY_MAPS).then(|| {
                    let what = format!(
                        "vm.max_map_count is {maps}; a server with many clients needs {MEMORY_MAPS}"
                    );
                    let fix =
                        format!("on {}: sysctl -w vm.max_map_count={MEMORY_MAPS}", self.name());
                    finding(Severity::Info, "setting.memory_maps", what)
                        .fix(fix)
                        .source("/proc/sys/vm/max_map_count")
                });
                results.judged(self.host, "setting.memory_maps", found);
            }
        }
        let Some(governor) = &self.system.cpu_governor else {
            let why = "the kernel does not set the frequency of the CPU";
            return self.missing(&[GOVERNOR], "system/cpu_governor", why, results);
        };
        let found = (governor != "performance").then(|| {
            let what =
                format!("the frequency governor is {governor}: the CPU may be slow to start");
            let fix = format!("on {}: cpupower frequency-set -g performance", self.name());
            finding(Severity::Info, GOVERNOR, what)
                .fix(fix)
                .source("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
        });
        results.judged(self.host, GOVERNOR, found);
    }

    /// Judges the paths of GPU memory: translation of DMA addresses, and peer memory.
    fn judge_dma(&self, results: &mut Results<'_>) {
        const PEER: &str = "gpu.no_peer_memory";
        let has_nvidia = self.has_module("nvidia");
        let mut is_any = false;
        for (device, kind) in &self.system.dma {
            is_any = true;
            let found = (kind != "identity").then(|| {
                let severity = if has_nvidia { Severity::Warn } else { Severity::Info };
                let what = format!("the IOMMU translates the DMA addresses of {device} ({kind})");
                let fix = format!(
                    "on {}: add iommu=pt to the kernel command line, and boot again",
                    self.name()
                );
                let name = plain_or(device, "DEVICE");
                let source = format!("/sys/class/infiniband/{name}/device/iommu_group/type");
                Finding::new(severity, "dma.translated", Subject::Device(device.clone()), what)
                    .fix(fix)
                    .source(source)
            });
            results.judged(self.host, "dma.translated", found);
        }
        if !is_any {
            self.missing(&["dma.translated"], "system/dma", "no IOMMU is in use", results);
        }
        if self.system.modules.is_none() || !has_nvidia {
            return results.skip(self.host, PEER, "the host has no NVIDIA driver");
        }
        let has_path = self.has_module("nvidia_peermem")
            || self.has_module("nv_peer_mem")
            || self.system.nvidia_is_open == Some(true);
        let found = (!has_path).then(|| {
            let what = "neither nvidia_peermem nor the open kernel module of NVIDIA is loaded: GPU \
                        data goes through the memory of the host";
            let fix = format!("on {}: modprobe nvidia_peermem", self.name());
            finding(Severity::Warn, PEER, what).fix(fix).source("/sys/module")
        });
        results.judged(self.host, PEER, found);
    }
}

fn finding(severity: Severity, id: &'static str, what: impl Into<String>) -> Finding {
    Finding::new(severity, id, Subject::Host, what)
}

/// Returns severity and text of a limit of locked memory; `None` for no limit.
fn low_locked_memory(limits: &Limits, thresholds: &Thresholds) -> Option<(Severity, String)> {
    let bytes = limits.locked_memory_bytes?;
    let mebibytes = bytes >> 20;
    let severity = if bytes <= thresholds.locked_memory_fail_mib.saturating_mul(1 << 20) {
        Severity::Fail
    } else if mebibytes < thresholds.locked_memory_warn_mib {
        Severity::Warn
    } else {
        Severity::Info
    };
    let text =
        if mebibytes == 0 { format!("{} KiB", bytes >> 10) } else { format!("{mebibytes} MiB") };
    Some((severity, text))
}
