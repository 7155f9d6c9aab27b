//! Checks of the operating system: modules, unused cards, limits, services, kernel settings.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use super::results::Results;
use super::{on_host, responding};
use crate::analyse::verdict::plain_or;
use crate::model::{
    ConnectedNetwork, Device, Finding, HostReport, Limits, Protocol, SOFT_IWARP, Service, Severity,
    Subject, System, Thresholds,
};
use crate::names;

/// Drivers of Omni-Path and `TrueScale`.
const PSM_DRIVERS: [&str; 2] = ["hfi1", "ib_qib"];
/// Number of memory maps that `BeeGFS` requires on servers with these drivers.
const MEMORY_MAPS: i64 = 1_000_000;
/// Number of open files that `BeeGFS` requires on servers with these drivers.
const OPEN_FILES: u64 = 262_144;
const NO_PSM_CARD: &str = "the host has no Omni-Path or TrueScale card";
/// Number of interfaces of a network that a finding names. Most hosts have at most eight rails.
const MAX_LISTED: usize = 8;
const NO_SETTING: &str = "the kernel does not have the setting";

pub(super) fn judge(reports: &[&HostReport], results: &mut Results<'_>) {
    // A function without an RDMA device may be an Ethernet card by intention, unless another one
    // of its type has an RDMA device.
    let rdma_drivers: BTreeSet<&str> = responding(reports)
        .flat_map(|(_, report)| &report.devices)
        .filter(|device| device.pci.is_some())
        .filter_map(|device| device.driver.as_deref())
        .collect();
    for (host, report) in responding(reports) {
        // results.rs adds "unknown" to the checks of a report without `system`.
        let Some(system) = &report.system else { continue };
        let modules = system.modules.as_ref();
        let modules = modules.map(|names| names.iter().map(String::as_str).collect());
        let one = OneHost { host, report, system, modules };
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
        one.judge_peer_memory(results);
    }
}

struct OneHost<'report> {
    host: usize,
    report: &'report HostReport,
    system: &'report System,
    modules: Option<BTreeSet<&'report str>>,
}

/// RDMA interfaces of each IPv4 network, by first address and length of the prefix.
type Networks<'report> = BTreeMap<(Ipv4Addr, u8), BTreeSet<&'report str>>;

impl OneHost<'_> {
    fn has_protocol(&self, protocol: Protocol) -> bool {
        self.report.ports().any(|(_, port)| port.protocol == Some(protocol))
    }

    fn has_driver(&self, names: &[&str]) -> bool {
        let mut drivers = self.report.devices.iter().filter_map(|device| device.driver.as_deref());
        drivers.any(|driver| names.contains(&driver))
    }

    /// Returns true if a module is loaded; `None` if the modules are not known.
    fn has_module(&self, name: &str) -> Option<bool> {
        Some(self.modules.as_ref()?.contains(name))
    }

    /// Returns a kernel setting; `None` if the kernel does not have it.
    ///
    /// # Errors
    /// The setting could not be read, or is no number. The error names the file and the cause.
    fn setting(&self, name: &str) -> Result<Option<i64>, String> {
        let Some(text) = self.system.settings.get(name) else {
            let unread = self.report.problems.affecting(&format!("system/settings/{name}"));
            return unread.map_or(Ok(None), |problem| Err(problem.detail.clone()));
        };
        let number = text.parse::<i64>().ok().map(Some);
        number.ok_or_else(|| format!("/proc/sys/{name} has an unknown format: \"{text}\""))
    }

    /// Returns a setting of an interface. The kernel uses the larger one of the values for the
    /// interface and for all interfaces (`IN_DEV_MAXCONF` of `include/linux/inetdevice.h`).
    ///
    /// # Errors
    /// One of the values could not be read.
    fn netdev_setting(&self, netdev: &str, name: &str) -> Result<Option<i64>, String> {
        let all = self.setting(&format!("net/ipv4/conf/all/{name}"))?;
        Ok(all.max(self.setting(&format!("net/ipv4/conf/{netdev}/{name}"))?))
    }

    /// Judges a kernel setting, if the kernel has it and it could be read.
    fn judge_setting(
        &self,
        id: &'static str,
        name: &str,
        judge: impl FnOnce(i64) -> Option<Finding>,
        results: &mut Results<'_>,
    ) {
        match self.setting(name) {
            Ok(Some(value)) => results.judged(self.host, id, judge(value)),
            Ok(None) => results.skip(self.host, id, NO_SETTING),
            Err(why) => results.unknown(self.host, id, why),
        }
    }

    fn judge_modules(&self, results: &mut Results<'_>) {
        const ID: &str = "module.missing";
        if self.system.modules.is_none() {
            return results.missing(
                self.host,
                &[ID],
                "system/modules",
                "the kernel lists no modules",
            );
        }
        let has = |protocols: &[Protocol]| protocols.iter().any(|one| self.has_protocol(*one));
        let has_subnet = has(&[Protocol::Ib, Protocol::Opa]);
        // Programs of EFA and usNIC do not use rdma_cm.
        let has_connections = has_subnet || has(&[Protocol::Roce, Protocol::Iwarp]);
        // /sys/module lacks modules that are built in. ib_uverbs and rdma_ucm are one option of
        // the kernel (drivers/infiniband/core/Makefile).
        let has_verbs = self.report.devices.iter().any(|device| device.uverbs.is_some());
        let has_mads = self.report.ports().any(|(_, port)| port.umad.is_some());
        let has_verbs_module = self.has_module("ib_uverbs") == Some(true);
        let has_built_in_verbs = has_verbs && !has_verbs_module;
        let needed = [
            (Severity::Fail, "ib_uverbs", "programs cannot open a device", !has_verbs),
            (
                Severity::Warn,
                "rdma_ucm",
                "programs cannot use rdma_cm",
                has_connections && !has_built_in_verbs,
            ),
            (
                Severity::Warn,
                "ib_umad",
                "tools and opensm cannot send MADs",
                has_subnet && !has_mads,
            ),
        ];
        let mut is_complete = true;
        for (severity, module, consequence, is_needed) in needed {
            if is_needed && self.has_module(module) == Some(false) {
                is_complete = false;
                let what = format!("the module {module} is not loaded: {consequence}");
                let command = format!(
                    "modprobe {module} && echo {module} > /etc/modules-load.d/{module}.conf"
                );
                let fix = on_host(self.report, command);
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
            return results.missing(
                self.host,
                &[ID],
                "system/functions",
                "the host has no PCI bus",
            );
        };
        // The list lacks the functions that could not be read.
        match self.report.problems.affecting("system/functions") {
            Some(problem) => results.unknown(self.host, ID, &*problem.detail),
            None if functions.is_empty() => results.pass(self.host, ID),
            None => {}
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
                    let load = format!("modprobe {module}");
                    let (reason, fix) = match self.has_module(module) {
                        Some(true) => {
                            let fix = format!("dmesg | grep {pci}; rdma dev show");
                            (", although the module is loaded", fix)
                        }
                        Some(false) => (", because the module is not loaded", load),
                        None => ("", load),
                    };
                    (
                        format!(
                            "{pci} ({}) uses {driver}, but {module} has made no RDMA device{reason}",
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
                .fix(on_host(self.report, fix))
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
            (_, None) => {
                results.missing(self.host, &[ID], "system/limits", "the host has no limits");
            }
            (may_lock, Some(limits)) => {
                let low = low_locked_memory(limits, &results.policy().thresholds);
                // A user with the capability has no limit.
                if low.is_some()
                    && may_lock.is_none()
                    && let Some(problem) = self.report.problems.affecting("system/capabilities")
                {
                    return results.unknown(self.host, ID, &*problem.detail);
                }
                let found = low.map(|(severity, limit)| {
                    let what = format!("a login may lock {limit} of memory");
                    finding(severity, ID, what)
                        .fix(on_host(
                            self.report,
                            "printf '* soft memlock unlimited\\n* hard memlock unlimited\\n' > \
                             /etc/security/limits.d/rdma.conf  # then log in again",
                        ))
                        .source("/proc/self/limits")
                });
                results.judged(self.host, ID, found);
            }
        }
    }

    fn judge_services(&self, results: &mut Results<'_>) {
        let has_iwarp_card = self.report.devices.iter().any(|device| {
            device.driver.as_deref() != Some(SOFT_IWARP)
                && device.ports.iter().any(|port| port.protocol == Some(Protocol::Iwarp))
        });
        let has_only_omni_path =
            self.has_protocol(Protocol::Opa) && !self.has_protocol(Protocol::Ib);
        let has_psm_card = self.has_driver(&PSM_DRIVERS);
        let mut ids = vec!["limit.service_locked_memory", "service.ibacm"];
        for (id, applies, why) in [
            ("service.iwpmd", has_iwarp_card, "the host has no iWARP card"),
            ("service.opensm", has_only_omni_path, "Omni-Path is not the only fabric of the host"),
            ("limit.service_open_files", has_psm_card, NO_PSM_CARD),
        ] {
            if applies {
                ids.push(id);
            } else {
                results.skip(self.host, id, why);
            }
        }
        let Some(services) = &self.system.services else {
            return results.missing(self.host, &ids, "system/services", "the host has no systemd");
        };
        let runs = |unit: &str| services.iter().any(|service| service.unit == unit);
        self.judge_starters(services, results);
        self.judge_acm(services, results);
        if has_iwarp_card {
            let found = (!runs("iwpmd.service")).then(|| {
                let what =
                    "iwpmd does not run: iWARP connections may use TCP ports of other programs";
                let fix = on_host(self.report, "systemctl enable --now iwpmd");
                finding(Severity::Warn, "service.iwpmd", what).fix(fix).source("systemd")
            });
            results.judged(self.host, "service.iwpmd", found);
        }
        if has_only_omni_path {
            let found = runs("opensm.service").then(|| {
                let what = "opensm runs, and cannot manage Omni-Path, the only fabric of the host";
                let fix = on_host(self.report, "systemctl disable --now opensm");
                finding(Severity::Warn, "service.opensm", what).fix(fix).source("systemd")
            });
            results.judged(self.host, "service.opensm", found);
        }
        if has_psm_card {
            self.judge_open_files(services, results);
        }
    }

    fn judge_acm(&self, services: &[Service], results: &mut Results<'_>) {
        const ID: &str = "service.ibacm";
        let runs = |unit: &&str| services.iter().any(|service| service.unit == *unit);
        let acm: Vec<&str> = ["ibacm.service", "ibacm.socket"].into_iter().filter(runs).collect();
        if acm.is_empty()
            && let Some(problem) = self.report.problems.affecting("system/services/ibacm.socket")
        {
            return results.unknown(self.host, ID, &*problem.detail);
        }
        let has_beegfs =
            self.report.consumers.as_ref().is_some_and(|consumers| consumers.beegfs.is_some());
        let found = (!acm.is_empty()).then(|| {
            let severity = if has_beegfs { Severity::Fail } else { Severity::Warn };
            let what = format!("{} is active: rdma_resolve_route can wait for it", acm.join(", "));
            let command = "systemctl disable --now ibacm.service ibacm.socket";
            let fix = on_host(self.report, command);
            finding(severity, ID, what).fix(fix).source("systemd")
        });
        results.judged(self.host, ID, found);
    }

    /// Judges the services whose limits are those of jobs and containers.
    fn judge_starters(&self, services: &[Service], results: &mut Results<'_>) {
        const ID: &str = "limit.service_locked_memory";
        let thresholds = results.policy().thresholds;
        let describe = |unit: &str, limits: &Limits| {
            let (severity, limit) = low_locked_memory(limits, &thresholds)?;
            severity.is_problem().then_some(())?;
            let what = format!("{unit} may lock {limit} of memory, and its jobs inherit that");
            let fix = self.limit_fix(unit, "memlock", "LimitMEMLOCK=infinity");
            Some((Severity::Warn, what, fix))
        };
        let starters = services.iter().filter(|service| service.starts_programs());
        let none = "no service that starts jobs or containers runs";
        self.judge_limits(ID, starters, none, describe, results);
    }

    fn judge_open_files(&self, services: &[Service], results: &mut Results<'_>) {
        const ID: &str = "limit.service_open_files";
        let describe = |unit: &str, limits: &Limits| {
            let files = limits.open_files.filter(|files| *files < OPEN_FILES)?;
            let what = format!(
                "{unit} may open {files} files; a server with many clients needs {OPEN_FILES}"
            );
            let fix = self.limit_fix(unit, "nofile", &format!("LimitNOFILE={OPEN_FILES}"));
            Some((Severity::Info, what, fix + "  # clients wait until the server runs again"))
        };
        let servers = services.iter().filter(|service| service.is_beegfs_server());
        self.judge_limits(ID, servers, "no server of BeeGFS runs", describe, results);
    }

    /// Judges the limits of services; `none` is the reason to skip without services. `describe`
    /// returns severity, observation and fix of a limit of a unit that is too low.
    fn judge_limits<'service>(
        &self,
        id: &'static str,
        services: impl Iterator<Item = &'service Service>,
        none: &'static str,
        describe: impl Fn(&str, &Limits) -> Option<(Severity, String, String)>,
        results: &mut Results<'_>,
    ) {
        let mut services = services.peekable();
        if services.peek().is_none() {
            results.skip(self.host, id, none);
        }
        for Service { unit, limits } in services {
            let Some(limits) = limits else {
                let key = format!("system/services/{unit}");
                let unread = self.report.problems.affecting(&key);
                let hidden = || format!("no process of {unit} is visible to rdmactl");
                let why = unread.map_or_else(hidden, |problem| problem.detail.clone());
                results.unknown(self.host, id, why);
                continue;
            };
            let found = describe(plain_or(unit, "UNIT"), limits).map(|(severity, what, fix)| {
                let subject = Subject::Part(format!("services/{unit}"));
                Finding::new(severity, id, subject, what).fix(fix).source("/proc/PID/limits")
            });
            results.judged(self.host, id, found);
        }
    }

    /// Returns the fix that sets a limit of a service, in the drop-in `file`.
    fn limit_fix(&self, unit: &str, file: &str, limit: &str) -> String {
        let command = format!(
            "mkdir -p /etc/systemd/system/{unit}.d; printf '[Service]\\n{limit}\\n' > \
             /etc/systemd/system/{unit}.d/{file}.conf; systemctl daemon-reload; systemctl restart \
             {unit}"
        );
        on_host(self.report, command)
    }

    fn judge_networks(&self, results: &mut Results<'_>) {
        let ids = ["network.arp", "network.reverse_path", "network.overlaps"];
        let Some(networks) = &self.system.networks else {
            return results.missing(self.host, &ids, "system/networks", "the host has no IPv4");
        };
        let netdevs: BTreeSet<&str> =
            self.report.ports().filter_map(|(_, port)| port.netdev.as_deref()).collect();
        let (of_rdma, others): (Vec<_>, Vec<_>) = networks
            .iter()
            .filter(|network| network.is_of_hosts())
            .partition(|network| netdevs.contains(network.netdev.as_str()));
        let mut shared = Networks::new();
        for ConnectedNetwork { netdev, address, bits } in &of_rdma {
            shared.entry((*address, *bits)).or_default().insert(netdev);
        }
        shared.retain(|_, netdevs| netdevs.len() > 1);
        self.judge_arp(&shared, results);
        self.judge_reverse_path(&shared, results);
        let found = overlap(&of_rdma, &others).map(|(one, other)| {
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

    fn judge_arp(&self, shared: &Networks<'_>, results: &mut Results<'_>) {
        const ID: &str = "network.arp";
        let is_bad = |netdev: &str| -> Result<Option<bool>, String> {
            let ignore = self.netdev_setting(netdev, "arp_ignore");
            let announce = self.netdev_setting(netdev, "arp_announce");
            match (ignore, announce) {
                // One bad value is enough.
                (Ok(Some(..=0)), _) | (_, Ok(Some(..=1))) => Ok(Some(true)),
                (ignore, announce) => Ok(ignore?.and(announce?).map(|_| false)),
            }
        };
        let describe = |network: &str, netdevs: &str| {
            let what = format!(
                "several RDMA interfaces are in the network {network}; interfaces that answer ARP \
                 requests for the others: {netdevs}"
            );
            let command = "sysctl -w net.ipv4.conf.all.arp_ignore=1 \
                           net.ipv4.conf.all.arp_announce=2  # better: a network for each rail";
            let fix = on_host(self.report, command);
            finding(Severity::Warn, ID, what)
                .fix(fix)
                .source("/proc/sys/net/ipv4/conf/*/arp_ignore")
        };
        self.judge_shared(ID, shared, is_bad, describe, results);
    }

    fn judge_reverse_path(&self, shared: &Networks<'_>, results: &mut Results<'_>) {
        const ID: &str = "network.reverse_path";
        let is_bad = |netdev: &str| -> Result<Option<bool>, String> {
            Ok(self.netdev_setting(netdev, "rp_filter")?.map(|value| value == 1))
        };
        let describe = |network: &str, netdevs: &str| {
            let what = format!(
                "several RDMA interfaces are in the network {network}; interfaces with \
                 rp_filter=1, whose RoCE v2 packets the kernel may drop without a trace: {netdevs}"
            );
            let fix = on_host(self.report, "sysctl -w net.ipv4.conf.all.rp_filter=2");
            finding(Severity::Warn, ID, what).fix(fix).source("/proc/sys/net/ipv4/conf/*/rp_filter")
        };
        self.judge_shared(ID, shared, is_bad, describe, results);
    }

    /// Judges settings of the interfaces that share a network. `is_bad` returns `None` if the
    /// kernel does not have a setting, and the reason if a setting could not be read. `describe`
    /// returns the finding of a network and its interfaces with a bad setting.
    fn judge_shared(
        &self,
        id: &'static str,
        shared: &Networks<'_>,
        is_bad: impl Fn(&str) -> Result<Option<bool>, String>,
        describe: impl Fn(&str, &str) -> Finding,
        results: &mut Results<'_>,
    ) {
        if shared.is_empty() {
            return results.pass(self.host, id);
        }
        for ((address, bits), netdevs) in shared {
            let mut bad = Vec::new();
            for netdev in netdevs {
                match is_bad(netdev) {
                    Ok(Some(true)) => bad.push(*netdev),
                    Ok(Some(false)) => results.pass(self.host, id),
                    Ok(None) => results.skip(self.host, id, NO_SETTING),
                    Err(why) => results.unknown(self.host, id, why),
                }
            }
            if !bad.is_empty() {
                let listed = names::listed(bad.iter().copied(), MAX_LISTED, "more");
                results.found(self.host, describe(&format!("{address}/{bits}"), &listed));
            }
        }
    }

    fn judge_settings(&self, results: &mut Results<'_>) {
        const BALANCING: &str = "setting.numa_balancing";
        const MAPS: &str = "setting.memory_maps";
        const GOVERNOR: &str = "setting.governor";
        let balancing = |value: i64| {
            (value != 0).then(|| {
                let what = "kernel.numa_balancing moves memory between NUMA nodes: latency varies";
                let fix = on_host(self.report, "sysctl -w kernel.numa_balancing=0");
                let found = finding(Severity::Info, BALANCING, what).fix(fix);
                found.source("/proc/sys/kernel/numa_balancing")
            })
        };
        match self.system.numa_nodes {
            None => {
                let why = "the kernel lists no NUMA nodes";
                results.missing(self.host, &[BALANCING], "system/numa_nodes", why);
            }
            Some(0 | 1) => results.skip(self.host, BALANCING, "the host has one NUMA node"),
            Some(_) => self.judge_setting(BALANCING, "kernel/numa_balancing", balancing, results),
        }
        let maps = |maps: i64| {
            (maps < MEMORY_MAPS).then(|| {
                let what = format!(
                    "vm.max_map_count is {maps}; a server with many clients needs {MEMORY_MAPS}"
                );
                let command = format!("sysctl -w vm.max_map_count={MEMORY_MAPS}");
                let fix = on_host(self.report, command);
                finding(Severity::Info, MAPS, what).fix(fix).source("/proc/sys/vm/max_map_count")
            })
        };
        if self.has_driver(&PSM_DRIVERS) {
            self.judge_setting(MAPS, "vm/max_map_count", maps, results);
        } else {
            results.skip(self.host, MAPS, NO_PSM_CARD);
        }
        let Some(governor) = &self.system.cpu_governor else {
            let why = "the kernel does not set the frequency of the CPU";
            return results.missing(self.host, &[GOVERNOR], "system/cpu_governor", why);
        };
        let found = (governor != "performance").then(|| {
            let what =
                format!("the frequency governor is {governor}: the CPU may be slow to start");
            let fix = on_host(self.report, "cpupower frequency-set -g performance");
            finding(Severity::Info, GOVERNOR, what)
                .fix(fix)
                .source("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
        });
        results.judged(self.host, GOVERNOR, found);
    }

    /// Judges the translation of DMA addresses.
    fn judge_dma(&self, results: &mut Results<'_>) {
        const ID: &str = "dma.translated";
        let unread = self.report.problems.within("system/dma");
        if self.system.dma.is_empty() && unread.is_empty() {
            return results.skip(self.host, ID, "no IOMMU is in use");
        }
        for problem in unread {
            results.unknown(self.host, ID, &*problem.detail);
        }
        for (device, kind) in &self.system.dma {
            let found = (kind != "identity").then(|| {
                let has_nvidia = self.has_module("nvidia") == Some(true);
                let severity = if has_nvidia { Severity::Warn } else { Severity::Info };
                let what = format!("the IOMMU translates the DMA addresses of {device} ({kind})");
                let command = "add iommu=pt to the kernel command line, and boot again";
                let fix = on_host(self.report, command);
                let name = plain_or(device, "DEVICE");
                let source = format!("/sys/class/infiniband/{name}/device/iommu_group/type");
                Finding::new(severity, ID, Subject::Device(device.clone()), what)
                    .fix(fix)
                    .source(source)
            });
            results.judged(self.host, ID, found);
        }
    }

    /// Judges the access of RDMA devices to the memory of GPUs.
    fn judge_peer_memory(&self, results: &mut Results<'_>) {
        const ID: &str = "gpu.no_peer_memory";
        if self.report.devices.iter().all(Device::is_software) {
            return results.skip(self.host, ID, "the host has no RDMA card");
        }
        match self.has_module("nvidia") {
            None => {
                let why = "the kernel lists no modules";
                return results.missing(self.host, &[ID], "system/modules", why);
            }
            Some(false) => return results.skip(self.host, ID, "the host has no NVIDIA driver"),
            Some(true) => {}
        }
        let modules = ["nvidia_peermem", "nv_peer_mem", "efa_nv_peermem"];
        let has_path = modules.iter().any(|name| self.has_module(name) == Some(true))
            || self.system.nvidia_is_open == Some(true);
        let problem = self.report.problems.affecting("system/nvidia");
        if !has_path && let Some(problem) = problem {
            return results.unknown(self.host, ID, &*problem.detail);
        }
        let found = (!has_path).then(|| {
            let what = "neither nvidia_peermem nor the open kernel module of NVIDIA is loaded: GPU \
                        data goes through the memory of the host";
            // Without MLNX_OFED, nvidia_peermem finds no interface of ib_core.
            let command = "install the open kernel module of NVIDIA; or with MLNX_OFED: modprobe \
                           nvidia_peermem";
            let fix = on_host(self.report, command);
            finding(Severity::Warn, ID, what).fix(fix).source("/sys/module")
        });
        results.judged(self.host, ID, found);
    }
}

fn finding(severity: Severity, id: &'static str, what: impl Into<String>) -> Finding {
    Finding::new(severity, id, Subject::Host, what)
}

/// Returns the first network that overlaps with another network, and the other network.
fn overlap<'report>(
    networks: &[&'report ConnectedNetwork],
    others: &[&'report ConnectedNetwork],
) -> Option<(&'report ConnectedNetwork, &'report ConnectedNetwork)> {
    let others: BTreeMap<(u32, u32), &ConnectedNetwork> =
        others.iter().rev().map(|other| (range(other.address, other.bits), *other)).collect();
    // One of two networks that overlap contains the other.
    let find = |network: &ConnectedNetwork| {
        let ConnectedNetwork { address, bits, .. } = *network;
        let (first, last) = range(address, bits);
        let around = (0..=bits.min(32)).find_map(|bits| others.get(&range(address, bits)));
        around.or_else(|| others.range((first, 0)..=(last, last)).map(|(_, other)| other).next())
    };
    networks.iter().find_map(|network| Some((*network, *find(network)?)))
}

/// Returns the first and the last address of a network.
fn range(address: Ipv4Addr, bits: u8) -> (u32, u32) {
    let hosts = u32::MAX.checked_shr(bits.into()).unwrap_or(0);
    (address.to_bits() & !hosts, address.to_bits() | hosts)
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{checked, cluster, reports};
    use super::*;

    /// Returns the observations of a check on a host with RDMA interfaces in these networks.
    fn found(id: &str, networks: &[(&str, &str)], change: impl Fn(&mut Value)) -> Vec<String> {
        let mut values = cluster();
        let host = &mut values[2];
        let names: BTreeSet<&str> = networks.iter().map(|(netdev, _)| *netdev).collect();
        let ports = names.iter().enumerate().map(|(at, netdev)| {
            json!({ "number": at + 1, "state": "active", "protocol": "roce", "netdev": netdev })
        });
        host["devices"][1]["ports"] = ports.collect();
        let networks = networks
            .iter()
            .map(|(netdev, address)| json!({ "netdev": netdev, "address": address, "bits": 16 }));
        host["system"]["networks"] = networks.collect();
        host["system"]["settings"] = json!({
            "net/ipv4/conf/all/arp_announce": "0",
            "net/ipv4/conf/all/arp_ignore": "0",
            "net/ipv4/conf/all/rp_filter": "1",
        });
        change(host);
        let report = checked(&reports(&values));
        let of_check = report.findings.into_iter().filter(|found| found.check.id == id);
        let of_host = of_check.filter(|found| found.finding.hosts == ["n3"]);
        of_host.map(|found| found.finding.what).collect()
    }

    const TWO_NETWORKS: [(&str, &str); 5] = [
        ("eth0", "10.0.0.0"),
        ("eth1", "10.0.0.0"),
        ("eth1", "10.0.0.0"),
        ("eth2", "10.1.0.0"),
        ("eth3", "10.1.0.0"),
    ];

    #[test]
    fn each_shared_network_is_one_finding_with_its_own_interfaces() {
        for (id, what) in [
            ("network.arp", "interfaces that answer ARP requests for the others"),
            (
                "network.reverse_path",
                "interfaces with rp_filter=1, whose RoCE v2 packets the kernel may drop without a \
                 trace",
            ),
        ] {
            let of = |network: &str, netdevs: &str| {
                format!("several RDMA interfaces are in the network {network}; {what}: {netdevs}")
            };
            let expected = [of("10.0.0.0/16", "eth0, eth1"), of("10.1.0.0/16", "eth2, eth3")];
            assert_eq!(found(id, &TWO_NETWORKS, |_| {}), expected);
        }
        let one_network = [("eth0", "10.0.0.0"), ("eth0", "10.0.0.0"), ("eth1", "10.1.0.0")];
        assert_eq!(found("network.arp", &one_network, |_| {}), [""; 0], "one interface in each");
    }

    #[test]
    fn only_the_interfaces_with_the_setting_are_named() {
        let found = found("network.reverse_path", &TWO_NETWORKS, |host| {
            let settings = &mut host["system"]["settings"];
            settings["net/ipv4/conf/all/rp_filter"] = json!("0");
            settings["net/ipv4/conf/eth3/rp_filter"] = json!("1");
        });
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("10.1.0.0/16") && found[0].ends_with(": eth3"), "{found:?}");
    }

    #[test]
    fn a_long_list_of_interfaces_is_cut() {
        let names: Vec<String> = (0..10).map(|number| format!("eth{number}")).collect();
        let networks: Vec<(&str, &str)> =
            names.iter().map(|name| (name.as_str(), "10.0.0.0")).collect();
        let found = found("network.arp", &networks, |_| {});
        let listed = ": eth0, eth1, eth2, eth3, eth4, eth5, eth6, eth7 and 2 more";
        assert!(found[0].ends_with(listed), "{found:?}");
    }

    #[test]
    fn a_network_overlaps_with_networks_in_it_and_around_it() {
        let network = |text: &str| {
            let (address, bits) = text.split_once('/').unwrap();
            let (address, bits) = (address.parse().unwrap(), bits.parse().unwrap());
            ConnectedNetwork { netdev: text.to_owned(), address, bits }
        };
        let found = |networks: &[&str], others: &[&str]| {
            let list = |texts: &[&str]| texts.iter().copied().map(network).collect::<Vec<_>>();
            let (networks, others) = (list(networks), list(others));
            let networks: Vec<&ConnectedNetwork> = networks.iter().collect();
            let others: Vec<&ConnectedNetwork> = others.iter().collect();
            overlap(&networks, &others)
                .map(|(one, other)| format!("{} {}", one.netdev, other.netdev))
        };
        let others = ["10.0.0.0/8", "172.16.4.0/24", "192.168.7.0/24", "192.168.9.1/32"];
        for (one, other) in [
            ("10.9.0.0/16", "10.0.0.0/8"),
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.255.255.255/32", "10.0.0.0/8"),
            ("0.0.0.0/1", "10.0.0.0/8"),
            ("172.16.0.0/12", "172.16.4.0/24"),
            ("192.168.9.0/24", "192.168.9.1/32"),
            ("192.168.7.255/200", "192.168.7.0/24"),
        ] {
            let found = found(&["11.0.0.0/8", one, "10.0.0.0/8"], &others);
            assert_eq!(found, Some(format!("{one} {other}")));
        }
        assert_eq!(found(&["11.0.0.0/8", "192.168.8.0/24", "172.16.5.0/24"], &others), None);
        assert_eq!(found(&[], &others), None);
    }
}
