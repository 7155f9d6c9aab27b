//! Reads the settings of the operating system that decide whether programs can use RDMA.
//!
//! Reading changes nothing and starts no process. `analyse::check` judges the settings.

mod idle_functions;
mod kernel_faults;

use std::net::Ipv4Addr;

use super::Reader;
use crate::model::{ConnectedNetwork, HostReport, Limits, SOCKET_UNITS, Service, System};

const MODULES: &str = "/sys/module";
/// Directory of the running units of cgroup v2 and of cgroup v1.
const UNITS: [&str; 2] = ["/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice"];
const ROUTES: &str = "/proc/net/route";
const NODES: &str = "/sys/devices/system/node";
const GOVERNOR: &str = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
const NVIDIA: &str = "/proc/driver/nvidia/version";

/// Modules of checks, in addition to the modules that make RDMA devices.
const CHECKED_MODULES: [&str; 7] = [
    "efa_nv_peermem",
    "ib_umad",
    "ib_uverbs",
    "nv_peer_mem",
    "nvidia",
    "nvidia_peermem",
    "rdma_ucm",
];

const ACM_SOCKET: &str = "ibacm.socket";

/// Kernel settings that do not belong to an interface.
const SETTINGS: [&str; 6] = [
    "kernel/numa_balancing",
    "net/ipv4/conf/all/arp_announce",
    "net/ipv4/conf/all/arp_ignore",
    "net/ipv4/conf/all/rp_filter",
    "vm/max_map_count",
    "vm/zone_reclaim_mode",
];
/// Kernel settings of an interface.
const OF_NETDEV: [&str; 3] = ["arp_announce", "arp_ignore", "rp_filter"];

/// Limit of the networks of a host; a host has at most 4,094 VLANs.
const MAX_NETWORKS: usize = 8192;
/// Bit of `CAP_IPC_LOCK` in a set of capabilities (`include/uapi/linux/capability.h`).
const IPC_LOCK: u32 = 14;

/// Reads the settings into the report.
pub(super) fn read(reader: &mut Reader<'_>, report: &mut HostReport) {
    let idle_functions = idle_functions::read(reader, report);
    let mut system = System {
        modules: reader.names("system/modules", MODULES).map(checked_modules),
        limits: parsed(reader, "system/limits", "/proc/self/limits", parse_limits),
        may_lock_memory: parsed(reader, "system/capabilities", "/proc/self/status", parse_ipc_lock),
        services: read_services(reader),
        networks: read_networks(reader),
        numa_nodes: reader.names("system/numa_nodes", NODES).map(|names| count_nodes(&names)),
        cpu_governor: reader.text("system/cpu_governor", GOVERNOR),
        nvidia_is_open: reader
            .content("system/nvidia", NVIDIA)
            .map(|version| version.contains("Open Kernel Module")),
        kernel_faults: kernel_faults::read(reader, report, idle_functions.as_deref()),
        idle_functions,
        ..System::default()
    };
    let mut names: Vec<String> = SETTINGS.map(str::to_owned).into();
    for netdev in netdevs(report) {
        names.extend(OF_NETDEV.map(|name| format!("net/ipv4/conf/{netdev}/{name}")));
    }
    for name in names {
        let key = format!("system/settings/{name}");
        if let Some(value) = reader.text(&key, &format!("/proc/sys/{name}")) {
            system.settings.insert(name, value);
        }
    }
    for device in report.devices.iter().filter(|device| device.pci.is_some()) {
        let key = format!("system/dma/{}", device.name);
        let path = format!("/sys/class/infiniband/{}/device/iommu_group/type", device.name);
        if let Some(kind) = reader.text(&key, &path) {
            system.dma.insert(device.name.clone(), kind);
        }
    }
    report.system = Some(system);
}

/// Returns the names of the modules that checks look for.
fn checked_modules(names: Vec<String>) -> Vec<String> {
    let is_checked = |name: &String| {
        CHECKED_MODULES.contains(&name.as_str()) || idle_functions::is_rdma_module(name)
    };
    names.into_iter().filter(is_checked).collect()
}

/// Reads a file of several lines; `parse` returns `None` for text of an unknown form.
fn parsed<T>(
    reader: &mut Reader<'_>,
    key: &str,
    path: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Option<T> {
    let text = reader.content(key, path)?;
    reader.parse(key, path, &text, parse)
}

/// Returns the interfaces of the ports, each one once, as far as their names can be part of a
/// path.
fn netdevs(report: &HostReport) -> Vec<&str> {
    let mut names: Vec<&str> =
        report.ports().filter_map(|(_, port)| port.netdev.as_deref()).collect();
    names.retain(|name| super::reader::is_name(name));
    names.sort_unstable();
    names.dedup();
    names
}

/// Parses the soft limits of `/proc/PID/limits`; `None` for text of another form.
fn parse_limits(text: &str) -> Option<Limits> {
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        match line.split_whitespace().next()? {
            "unlimited" => Some(None),
            number => number.parse().ok().map(Some),
        }
    };
    Some(Limits {
        locked_memory_bytes: of("Max locked memory")?,
        open_files: of("Max open files")?,
    })
}

/// Parses the effective capabilities of `/proc/PID/status`.
fn parse_ipc_lock(status: &str) -> Option<bool> {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let set = u64::from_str_radix(set.trim(), 16).ok()?;
    Some(set >> IPC_LOCK & 1 == 1)
}

fn read_services(reader: &mut Reader<'_>) -> Option<Vec<Service>> {
    const KEY: &str = "system/services";
    let (folder, mut names) =
        UNITS.into_iter().find_map(|folder| Some((folder, reader.names(KEY, folder)?)))?;
    // An enabled socket unit starts its service at the first use.
    let sockets = reader.names(&format!("{KEY}/{ACM_SOCKET}"), SOCKET_UNITS).unwrap_or_default();
    names.extend(sockets.into_iter().filter(|name| name == ACM_SOCKET));
    let mut services = Vec::new();
    for unit in names.into_iter().filter(|unit| Service::is_judged(unit)) {
        let limits = if Service::has_judged_limits(&unit) {
            read_limits(reader, &format!("{KEY}/{unit}"), &format!("{folder}/{unit}"))
        } else {
            None
        };
        services.push(Service { unit, limits });
    }
    Some(services)
}

/// Reads the limits of the first process of a unit, which is its main process.
fn read_limits(reader: &mut Reader<'_>, key: &str, unit: &str) -> Option<Limits> {
    let processes = reader.content(key, &format!("{unit}/cgroup.procs"))?;
    let first: u32 = processes.lines().find_map(|line| line.parse().ok())?;
    parsed(reader, key, &format!("/proc/{first}/limits"), parse_limits)
}

/// Reads the routes without a gateway of the main table.
fn read_networks(reader: &mut Reader<'_>) -> Option<Vec<ConnectedNetwork>> {
    const KEY: &str = "system/networks";
    let mut networks: Vec<ConnectedNetwork> =
        reader.content(KEY, ROUTES)?.lines().skip(1).filter_map(parse_route).collect();
    networks.sort();
    networks.dedup();
    reader.truncate(KEY, ROUTES, MAX_NETWORKS, &mut networks);
    Some(networks)
}

/// Parses a line of `/proc/net/route` (`fib_route_seq_show` of `net/ipv4/fib_trie.c`): interface,
/// destination, gateway, flags, …, mask; addresses are hexadecimal in the byte order of the
/// machine. Returns `None` for a route with a gateway, for the default route, and for a route
/// without an interface (`*`: prohibit, blackhole, unreachable).
fn parse_route(line: &str) -> Option<ConnectedNetwork> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let address = |at: usize| {
        let number = u32::from_str_radix(fields.get(at)?, 16).ok()?;
        // Capture and operator may have another byte order; all machines with RDMA are
        // little-endian, except for some of IBM.
        Some(Ipv4Addr::from(number.to_le_bytes()))
    };
    let (network, gateway, mask) = (address(1)?, address(2)?, address(7)?);
    let bits = mask.to_bits().leading_ones();
    let netdev = *fields.first()?;
    (gateway.is_unspecified() && bits > 0 && netdev != "*").then_some(())?;
    Some(ConnectedNetwork {
        netdev: netdev.to_owned(),
        address: network,
        bits: u8::try_from(bits).ok()?,
    })
}

fn count_nodes(names: &[String]) -> u32 {
    let is_node = |name: &&String| {
        name.strip_prefix("node").is_some_and(|rest| rest.bytes().all(|one| one.is_ascii_digit()))
    };
    u32::try_from(names.iter().filter(is_node).count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{KernelFaultKind, Part};
    use crate::source::{Answer, Question, ReadError};

    #[test]
    fn limits_are_the_soft_ones() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max open files            1024                 524288               files     \n\
                    Max locked memory         8388608              unlimited            bytes     \n";
        let limits = Limits { locked_memory_bytes: Some(8_388_608), open_files: Some(1024) };
        assert_eq!(parse_limits(text), Some(limits));
        let unlimited = text.replace("8388608", "unlimited");
        let limits = Limits { locked_memory_bytes: None, ..limits };
        assert_eq!(parse_limits(&unlimited), Some(limits));
        for bad in ["", "Max locked memory", "Max locked memory x y\nMax open files 1 1", "\0"] {
            assert_eq!(parse_limits(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_capability_is_one_bit_of_the_effective_set() {
        assert_eq!(parse_ipc_lock("Name:\tcat\nCapEff:\t000001ffffffffff\n"), Some(true));
        assert_eq!(parse_ipc_lock("CapEff:\t0000000000000000\n"), Some(false));
        assert_eq!(parse_ipc_lock("CapEff:\t0000000000004000\n"), Some(true));
        assert_eq!(parse_ipc_lock("CapPrm:\t0000000000004000\n"), None);
        assert_eq!(parse_ipc_lock("CapEff:\tx\n"), None);
    }

    #[test]
    fn a_connected_network_has_no_gateway() {
        let network = |netdev: &str, address: &str, bits| {
            Some(ConnectedNetwork {
                netdev: netdev.into(),
                address: address.parse().unwrap(),
                bits,
            })
        };
        let line = |text| parse_route(text);
        assert_eq!(
            line("eth1\t0000090A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0"),
            network("eth1", "10.9.0.0", 16)
        );
        assert_eq!(line("eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0"), None);
        assert_eq!(line("eth0\t0000090A\t0101A8C0\t0003\t0\t0\t100\t0000FFFF\t0\t0\t0"), None);
        assert_eq!(line("*\t0000090A\t00000000\t0201\t0\t0\t0\t0000FFFF\t0\t0\t0"), None);
        assert_eq!(line("eth0"), None);
        assert_eq!(line("eth0 x y z"), None);
    }

    /// Machine with a card of NVIDIA that has an RDMA device, one that has none, and Slurm.
    fn machine() -> Vec<(Question, Vec<u8>)> {
        let pci = "/sys/bus/pci/devices";
        let device = "/sys/class/infiniband/mlx5_0";
        let limits = "Max open files 1024 4096 files\nMax locked memory 65536 65536 bytes\n";
        let dirs = [
            ("/sys/class/infiniband".to_owned(), "mlx5_0\n"),
            (format!("{device}/ports"), "1\n"),
            (MODULES.to_owned(), "ext4\nib_core\nib_uverbs\nmlx5_core\nmlx5_ib\n"),
            (
                UNITS[0].to_owned(),
                "beegfs-storage.service\ncron.service\nopensm.service\nslurmd.service\n",
            ),
            (SOCKET_UNITS.to_owned(), "ibacm.socket\nssh.socket\n"),
            (NODES.to_owned(), "node0\nnode1\nonline\n"),
            (pci.to_owned(), "0000:00:00.0\n0000:5c:00.0\n0000:5d:00.0\n0000:5d:00.2\n"),
        ];
        let functions = [
            ("0000:00:00.0/class", "0x060000"),
            ("0000:5d:00.0/class", "0x020000"),
            ("0000:5d:00.0/vendor", "0x15b3"),
            ("0000:5d:00.0/device", "0x1021"),
            ("0000:5d:00.2/class", "0x020000"),
            ("0000:5d:00.2/vendor", "0x15b3"),
            ("0000:5d:00.2/device", "0x101e"),
        ];
        let files = [
            (format!("{device}/ports/1/gid_attrs/ndevs/0"), "eth1\n"),
            (format!("{device}/device/iommu_group/type"), "DMA-FQ\n"),
            ("/proc/self/limits".to_owned(), limits),
            ("/proc/self/status".to_owned(), "CapEff:\t0000000000000000\n"),
            (format!("{}/slurmd.service/cgroup.procs", UNITS[0]), "812\n813\n"),
            ("/proc/812/limits".to_owned(), limits),
            (format!("{}/beegfs-storage.service/cgroup.procs", UNITS[0]), "901\n"),
            ("/proc/901/limits".to_owned(), limits),
            ("/proc/sys/vm/max_map_count".to_owned(), "65530\n"),
            (
                ROUTES.to_owned(),
                "Iface\tDestination\neth1\t0000090A\t00000000\t0001\t0\t0\t0\t0000FFFF\n",
            ),
            (GOVERNOR.to_owned(), "powersave\n"),
        ];
        let links = [
            (format!("{device}/device"), "../../../0000:5c:00.0"),
            (format!("{device}/device/driver"), "../../bus/pci/drivers/mlx5_core"),
            (format!("{pci}/0000:5d:00.0/driver"), "../../bus/pci/drivers/mlx5_core"),
            (format!("{pci}/0000:5d:00.2/driver"), "../../bus/pci/drivers/mlx5_core"),
            (format!("{pci}/0000:5d:00.2/physfn"), "../0000:5d:00.0"),
        ];
        let log = "3,1,7,-;mlx5_core 0000:5d:00.0: probe with driver mlx5_core failed with error -110\n\
             4,2,8,-;NETDEV WATCHDOG: eth9 (e1000e): transmit queue 0 timed out 5000 ms\n";
        let functions = functions.map(|(path, text)| (format!("{pci}/{path}"), text));
        let files = files.into_iter().chain(functions);
        let answer = |text: &str| text.as_bytes().to_vec();
        dirs.into_iter()
            .map(|(path, text)| (Question::Dir(path), answer(text)))
            .chain(files.map(|(path, text)| (Question::File(path), answer(text))))
            .chain(links.map(|(path, text)| (Question::Link(path), answer(text))))
            .chain([(Question::KernelLog("mlx5_core\nNETDEV WATCHDOG: ".into()), answer(log))])
            .collect()
    }

    #[test]
    fn the_settings_of_a_machine_are_read() {
        let report = super::super::long_lists::report(Part::System, machine());
        let problems: Vec<&str> = report.problems.iter().map(|one| &*one.detail).collect();
        assert_eq!(problems, [""; 0]);
        let system = report.system.unwrap();
        assert_eq!(system.modules.unwrap(), ["ib_uverbs", "mlx5_ib"]);
        let limits = Some(Limits { locked_memory_bytes: Some(65536), open_files: Some(1024) });
        assert_eq!((system.limits, system.may_lock_memory), (limits, Some(false)));
        let services = system.services.unwrap();
        let units: Vec<_> = services.iter().map(|one| (&*one.unit, one.limits)).collect();
        assert_eq!(
            units,
            [
                ("beegfs-storage.service", limits),
                ("opensm.service", None),
                ("slurmd.service", limits),
                ("ibacm.socket", None)
            ]
        );
        assert_eq!(system.settings["vm/max_map_count"], "65530");
        assert_eq!(system.networks.unwrap().len(), 1);
        assert_eq!(
            (system.numa_nodes, system.cpu_governor.as_deref()),
            (Some(2), Some("powersave"))
        );
        assert_eq!(system.dma["mlx5_0"], "DMA-FQ");
        let idle = system.idle_functions.unwrap();
        let idle: Vec<_> =
            idle.iter().map(|one| (&*one.pci, &*one.id, &*one.rdma_module)).collect();
        assert_eq!(idle, [("0000:5d:00.0", "15b3:1021", "mlx5_ib")], "no VF, no used function");
        assert_eq!(system.kernel_faults.unwrap().len(), 1, "no fault of another driver");
    }

    /// Returns the report of the machine with other replies to some questions, and the details of
    /// the problems with a key.
    fn changed(changes: &[(Question, Answer)], key: &str) -> (System, Vec<String>) {
        let same = machine().into_iter().map(|(question, text)| (question, Ok(text)));
        let answers = changes.iter().cloned().chain(same).collect();
        let report = super::super::long_lists::report_of(Part::System, answers);
        let problems = report.problems.within(key).iter();
        let details = problems.map(|problem| problem.detail.clone()).collect();
        (report.system.unwrap(), details)
    }

    fn denied() -> Answer {
        Err(ReadError::from("EACCES".to_owned()))
    }

    #[test]
    fn an_unreadable_setting_has_a_problem_of_its_own() {
        let path = "/proc/sys/vm/max_map_count";
        let file = Question::File(path.into());
        let key = "system/settings/vm/max_map_count";
        let (system, problems) = changed(&[(file.clone(), denied())], key);
        assert!(!system.settings.contains_key("vm/max_map_count"));
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains(path) && problems[0].contains("EACCES"), "{problems:?}");
        let absent = Err(ReadError::from("ENOENT".to_owned()));
        let (system, problems) = changed(&[(file, absent)], key);
        assert!(!system.settings.contains_key("vm/max_map_count"));
        assert_eq!(problems, [""; 0], "the kernel does not have the setting");
    }

    #[test]
    fn an_unreadable_value_is_no_default() {
        let file = |path: &str| Question::File(path.into());
        let dir = |path: &str| Question::Dir(path.into());
        let first = |question: Question, key: &str| {
            let (system, problems) = changed(&[(question, denied())], key);
            (system, problems.join("; "))
        };
        let (system, why) = first(dir(MODULES), "system/modules");
        assert_eq!(system.modules, None);
        assert_eq!(why, "cannot read /sys/module: EACCES (permission denied)");
        let (system, why) = first(dir(NODES), "system/numa_nodes");
        assert!(system.numa_nodes.is_none() && why.contains(NODES), "{why}");
        let (system, why) = first(file(NVIDIA), "system/nvidia");
        assert!(system.nvidia_is_open.is_none() && why.contains(NVIDIA), "{why}");
        let (system, why) = first(file("/proc/self/status"), "system/capabilities");
        assert!(system.may_lock_memory.is_none() && why.contains("/proc/self/status"), "{why}");
        let (_, why) = first(dir(SOCKET_UNITS), "system/services/ibacm.socket");
        assert!(why.contains(SOCKET_UNITS), "{why}");
        let kind = "/sys/class/infiniband/mlx5_0/device/iommu_group/type";
        let (system, why) = first(file(kind), "system/dma/mlx5_0");
        assert!(system.dma.is_empty() && why.contains(kind), "{why}");
        let (system, why) = first(file("/proc/812/limits"), "system/services/slurmd.service");
        assert!(why.contains("/proc/812/limits"), "{why}");
        let slurmd = system.services.unwrap().into_iter().find(|one| one.unit == "slurmd.service");
        assert_eq!(slurmd.unwrap().limits, None);
    }

    #[test]
    fn a_card_without_a_driver_is_idle_and_its_faults_are_read() {
        let driver = Question::Link("/sys/bus/pci/devices/0000:5d:00.0/driver".into());
        let absent = || Err(ReadError::from("ENOENT".to_owned()));
        let id = Question::File("/sys/bus/pci/devices/0000:5d:00.0/device".into());
        let log = "3,1,7,-;mlx4_core: probe of 0000:5d:00.0 failed with error -12\n";
        let tags = Question::KernelLog("mlx4_core\nmlx5_core\nNETDEV WATCHDOG: ".into());
        let changes =
            [(driver, absent()), (id, Ok(b"0x1003\n".into())), (tags, Ok(log.as_bytes().into()))];
        let (system, problems) = changed(&changes, "system");
        let idle = &system.idle_functions.unwrap()[0];
        assert_eq!((idle.driver.as_deref(), &*idle.rdma_module), (None, "mlx4_ib"), "{problems:?}");
        let faults = system.kernel_faults.unwrap();
        assert_eq!(faults[0].kind, KernelFaultKind::Probe);
        assert_eq!(faults[0].pci.as_deref(), Some("0000:5d:00.0"));
    }

    #[test]
    fn older_lines_of_the_kernel_log_are_reported() {
        let log = |count: usize| {
            let question = Question::KernelLog("mlx5_core\nNETDEV WATCHDOG: ".into());
            let lines = "3,1,7,-;mlx5_core 0000:5d:00.0: x\n".repeat(count);
            let fault = "3,0,6,-;mlx5_core 0000:5d:00.0: High temperature on sensors\n";
            let log = format!("{fault}{lines}").into_bytes();
            let (system, problems) = changed(&[(question, Ok(log))], "system/kernel_faults");
            (system.kernel_faults.unwrap().len(), problems)
        };
        assert_eq!(log(4095), (1, Vec::new()));
        let more = "/dev/kmsg, lines that start with \"mlx5_core\" or \"NETDEV WATCHDOG:\": more \
                    than 4096 lines; older lines are not used";
        assert_eq!(log(4096), (0, vec![more.to_owned()]));
    }

    #[test]
    fn a_function_with_an_unreadable_link_is_not_listed() {
        let functions = "/sys/bus/pci/devices";
        let class = Question::File(format!("{functions}/0000:5d:00.0/class"));
        let class: (Question, Answer) = (class, Ok(b"0x020700".to_vec()));
        let link = |path: &str| Question::Link(format!("{functions}/{path}"));
        let absent = |path: &str| (link(path), Err(ReadError::from("ENOENT".to_owned())));
        let idle = |changes: &[(Question, Answer)], key: &str| {
            let (system, problems) = changed(changes, &format!("system/functions/{key}"));
            let idle = system.idle_functions.unwrap();
            (idle.into_iter().map(|function| function.pci).collect::<Vec<_>>(), problems.len())
        };
        let whole = vec!["0000:5d:00.0".to_owned()];
        let driver = "0000:5d:00.0/driver";
        let without_driver = [class.clone(), absent(driver)];
        assert_eq!(idle(&without_driver, "0000:5d:00.0"), (whole.clone(), 0));
        assert_eq!(idle(&[class, (link(driver), denied())], "0000:5d:00.0"), (Vec::new(), 1));
        let virtual_function = (link("0000:5d:00.2/physfn"), denied());
        assert_eq!(idle(&[virtual_function], "0000:5d:00.2"), (whole, 1));
    }

    #[test]
    fn limits_of_an_unknown_form_are_a_problem() {
        let limits = Question::File("/proc/self/limits".into());
        let (system, problems) = changed(&[(limits, Ok(b"none".to_vec()))], "system/limits");
        assert_eq!(system.limits, None);
        assert_eq!(problems, ["/proc/self/limits has an unknown format: \"none\""]);
    }

    #[test]
    fn a_machine_without_settings_has_no_problem() {
        let report = super::super::long_lists::report(Part::System, Vec::new());
        let problems: Vec<&str> = report.problems.iter().map(|one| &*one.key).collect();
        assert_eq!(problems, ["devices"], "only the list of devices is missing");
        let system = report.system.unwrap();
        assert_eq!((system.modules, system.services, system.networks), (None, None, None));
        assert_eq!(system.kernel_faults, Some(Vec::new()), "no card has messages");
    }

    #[test]
    fn only_numbered_nodes_count() {
        let names = ["has_cpu", "node0", "node12", "nodex", "online"].map(str::to_owned);
        assert_eq!(count_nodes(&names), 2);
    }
}
