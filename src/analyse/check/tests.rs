//! Tests of the rules: each check has a change of a healthy cluster on which it fires, and stays
//! silent on the healthy cluster.

mod healthy_hardware;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Baseline, CheckOptions, Selection, run};
use crate::analyse::connections::connections;
use crate::analyse::fabric::tests::fabric;
use crate::model::{
    Acceptance, CHECKS, Check, CheckReport, CheckResult, CheckScope, ExpectedValue, Fabric,
    FabricPort, ForwardingTable, HostFailure, HostReport, Part, Parts, Policy, Reason, Severity,
    SweepMethod, UnansweredRequest, Via, selects_check,
};

/// Healthy host with an InfiniBand adapter and a `RoCE` adapter with a bond.
const HEALTHY: &str = include_str!("../../../tests/fixtures/check/healthy.json");

/// Returns a healthy host with addresses and names of its own.
fn healthy(number: u32) -> Value {
    let mut host: Value = serde_json::from_str(HEALTHY).unwrap();
    for (place, value) in [
        ("/host", json!(format!("n{number}"))),
        ("/devices/0/node_guid", json!(format!("5054:00ff:fe12:{number:04x}"))),
        ("/devices/0/ports/0/lid", json!(number)),
        ("/devices/0/ports/0/gids/0/value", json!(format!("fec0::{number}"))),
        ("/devices/1/node_guid", json!(format!("5054:00ff:fe13:{number:04x}"))),
        ("/devices/1/ports/0/gids/1/value", json!(format!("::ffff:10.9.0.{number}"))),
        ("/netdevs/1/address", json!(format!("02:00:00:00:00:{number:02x}"))),
    ] {
        *host.pointer_mut(place).unwrap() = value;
    }
    host
}

/// Returns the reports of JSON values, with all parts of a host and its subnets.
pub(super) fn reports(values: &[Value]) -> Vec<HostReport> {
    let report = |value: &Value| {
        let mut report: HostReport = serde_json::from_value(value.clone()).unwrap();
        report.parts = Part::ALL.into_iter().collect();
        report
    };
    values.iter().map(report).collect()
}

pub(super) fn cluster() -> Vec<Value> {
    (1..=4).map(healthy).collect()
}

pub(super) fn checked(reports: &[HostReport]) -> CheckReport {
    run(reports, &connections(reports), &CheckOptions::default())
}

/// Returns the ids of the findings after a change of the healthy cluster, with their hosts.
fn after(change: impl Fn(&mut [Value])) -> Vec<String> {
    let mut values = cluster();
    change(&mut values);
    lines(&checked(&reports(&values)))
}

fn lines(report: &CheckReport) -> Vec<String> {
    let line = |found: &crate::model::CheckedFinding| {
        let finding = &found.finding;
        let severity = finding.severity.word();
        format!("{severity} {} {} {}", found.check.id, finding.hosts.join(","), finding.subject)
    };
    report.findings.iter().map(line).collect()
}

/// Consumers of a host with a client of `BeeGFS`: number of buffers, and memory of the host.
macro_rules! beegfs {
    ($buffers:literal, $memory:literal) => {
        concat!(
            r#"{ "memory_bytes": "#,
            $memory,
            r#", "beegfs": [{ "id": "1-A", "path": "/proc/fs/beegfs/1-A", "config": [
                ["connUseRDMA", "1"], ["connRDMABufSize", "8192"], ["connRDMABufNum", ""#,
            $buffers,
            r#""], ["connMaxInternodeNum", "12"]],
                "nodes": [{ "kind": "storage", "name": "s1", "id": 1, "pools": [] }] }] }"#
        )
    };
}

/// Changes of the third host of the cluster: expected finding, JSON pointer, new value as JSON.
const CHANGES: &[(&str, &str, &str)] = &[
    (
        "fail port.down n3 mlx5_0/1",
        "/devices/0/ports/0",
        r#"{ "number": 1, "state": "down", "phys_state": "Polling", "protocol": "ib" }"#,
    ),
    (
        "fail port.disabled n3 mlx5_1/1",
        "/devices/1/ports/0",
        r#"{ "number": 1, "state": "down", "phys_state": "Disabled", "protocol": "roce", "netdev": "bond0" }"#,
    ),
    ("fail port.not_active n3 mlx5_0/1", "/devices/0/ports/0/state", r#""init""#),
    ("warn port.slow n3 mlx5_0/1", "/devices/0/ports/0/rate_bps", "100000000000"),
    ("warn port.pci_slow n3 mlx5_0/1", "/devices/0/ports/0/pci_suffices", "false"),
    ("info port.link_lost n3 mlx5_0/1", "/devices/0/ports/0/counters/0/value", "3"),
    ("info counter.saturated n3 mlx5_0/1", "/devices/0/ports/0/counters/1/saturated", "true"),
    (
        "warn port.errors n3 mlx5_0/1",
        "/devices/0/ports/0/counters/0/rate",
        r#"{ "change": "counted", "interval_ns": 1, "delta": 3 }"#,
    ),
    ("info port.lossy n3 mlx5_1/1", "/netdevs/2/ethernet/dcb/pfc/enabled", "[5]"),
    ("warn pfc.differs n3 netdevs/eth0", "/netdevs/2/ethernet/dcb/pfc/enabled", "[5]"),
    ("warn mtu.differs n3 host", "/devices/1/ports/0/active_mtu", "1024"),
    (
        "info port.pkey_limited n3 mlx5_0/1",
        "/devices/0/ports/0/pkeys/0",
        r#"{ "index": 0, "value": 32767, "membership": "limited" }"#,
    ),
    ("fail gid.none_usable n3 mlx5_1/1", "/devices/1/ports/0/gids", "[]"),
    ("warn gid.none_usable n3 mlx5_1/1", "/devices/1/ports/0/gids/1/value", r#""fe80::7""#),
    (
        "fail roce.version_differs n3 mlx5_1/1",
        "/devices/1/ports/0/gids",
        r#"[{ "index": 0, "value": "::ffff:10.9.0.3", "kind": "roce_v1" }]"#,
    ),
    ("info gid.index_differs n3 mlx5_1/1", "/devices/1/ports/0/gids/1/index", "5"),
    ("fail ipoib.pkey_missing n3 mlx5_0/1", "/netdevs/0/ipoib/pkey", "32769"),
    ("warn ipoib.differs n3 netdevs/ib0", "/netdevs/0/mtu", "4092"),
    ("warn bond.member_down n3 netdevs/bond0", "/netdevs/3/carrier", "false"),
    ("warn bond.mode n3 netdevs/bond0", "/netdevs/1/bond/mode", r#""balance-rr""#),
    (
        "fail address.duplicate n2,n3 host",
        "/devices/1/ports/0/gids/1/value",
        r#""::ffff:10.9.0.2""#,
    ),
    ("fail mac.duplicate n2,n3 host", "/netdevs/1/address", r#""02:00:00:00:00:02""#),
    ("fail guid.duplicate n2,n3 host", "/devices/0/node_guid", r#""5054:00ff:fe12:0002""#),
    ("fail lid.duplicate n2,n3 host", "/devices/0/ports/0/lid", "2"),
    ("warn firmware.differs n3 mlx5_0", "/devices/0/firmware", r#""28.37.1014""#),
    ("info board.differs n3 mlx5_0", "/devices/0/board_id", r#""MT_2""#),
    ("info device.slot_differs n3 mlx5_0", "/devices/0/pci", r#""0000:ba:00.0""#),
    ("warn kernel.differs n3 host", "/kernel", r#""6.1.0""#),
    ("warn device.count_differs n3 host", "/devices/0/driver", r#""rdma_rxe""#),
    ("warn roce.mode_differs n3 mlx5_1/1", "/devices/1/ports/0/default_roce_mode", r#""roce_v1""#),
    ("info roce.tos_differs n3 mlx5_1/1", "/devices/1/ports/0/default_roce_tos", "0"),
    ("info lmc.differs n3 mlx5_0/1", "/devices/0/ports/0/lmc", "1"),
    (
        "fail device.no_provider n3 mlx5_0",
        "/devices/0",
        r#"{ "name": "mlx5_0", "ports": [], "provider": { "name": "mlx5", "is_listed": true } }"#,
    ),
    ("fail device.no_guid n3 mlx5_0", "/devices/0/node_guid", "null"),
    ("info device.numa_unknown n3 mlx5_1", "/devices/1/numa_node", "null"),
    ("warn device.exhausted n3 mlx5_0", "/devices/0/netlink/objects/0/count", "801"),
    ("info device.software n3 mlx5_1", "/devices/1/driver", r#""rdma_rxe""#),
    ("warn gpu.far n3 mlx5_0", "/devices/0/ports/0/state", "null"),
    ("fail device.gone n3 mlx5_0", "/devices/0/gone_since_ns", "1"),
    (
        "fail device.file_missing n3 verbs",
        "/problems",
        r#"[{ "key": "mlx5_0/verbs", "source": "/dev/infiniband/uverbs0", "errno": "ENOENT", "detail": "x" }]"#,
    ),
    (
        "fail device.file_denied n3 verbs",
        "/problems",
        r#"[{ "key": "mlx5_0/verbs", "source": "/dev/infiniband/uverbs0", "errno": "EACCES", "detail": "x" }]"#,
    ),
    (
        "unknown unreadable n3 mlx5_0/1",
        "/problems",
        r#"[{ "key": "mlx5_0/1/lid", "source": "/sys/x", "errno": "EIO", "detail": "cannot read" }]"#,
    ),
    ("warn host.no_device n3 host", "/devices", "[]"),
    (
        "fail connection.fallback_confirmed n3 nfs /mnt",
        "/consumers",
        r#"{ "nfs_mounts": [{ "device": "10.9.0.1:/", "mount_point": "/mnt", "version": "4.2", "proto": "tcp", "port": 2049, "address": "10.9.0.1", "transports": [] }], "mount_intents": [{ "device": "10.9.0.1:/", "mount_point": "/mnt", "fs_type": "nfs4", "options": "proto=rdma", "source": "/etc/fstab:12" }] }"#,
    ),
    (
        "warn beegfs.rdma_off n3 beegfs/1-A",
        "/consumers/beegfs",
        r#"[{ "id": "1-A", "path": "/proc/fs/beegfs/1-A", "config": [["connUseRDMA", "0"]], "nodes": [] }]"#,
    ),
    ("info beegfs.buffers n3 beegfs", "/consumers", beegfs!("70", "1099511627776")),
    ("fail beegfs.buffers n3 beegfs", "/consumers", beegfs!("2", "1099511627776")),
    ("warn beegfs.memory n3 beegfs", "/consumers", beegfs!("70", "16777216")),
    ("fail module.missing n3 host", "/system/modules", r#"["rdma_ucm", "ib_umad"]"#),
    ("warn module.missing n3 host", "/system/modules", r#"["ib_uverbs", "ib_umad"]"#),
    (
        "warn device.idle_function n3 pci/0000:c0:00.0",
        "/system/idle_functions",
        r#"[{ "pci": "0000:c0:00.0", "id": "15b3:1021", "driver": "mlx5_core", "rdma_module": "mlx5_ib" }]"#,
    ),
    (
        "info device.idle_function n3 pci/0000:c0:00.0",
        "/system/idle_functions",
        r#"[{ "pci": "0000:c0:00.0", "id": "8086:1592", "driver": "ice", "rdma_module": "irdma" }]"#,
    ),
    ("fail limit.locked_memory n3 host", "/system/limits/locked_memory_bytes", "8388608"),
    ("warn limit.locked_memory n3 host", "/system/limits/locked_memory_bytes", "8388609"),
    (
        "warn limit.service_locked_memory n3 services/slurmd.service",
        "/system/services/0/limits/locked_memory_bytes",
        "8388608",
    ),
    ("warn service.ibacm n3 host", "/system/services", r#"[{ "unit": "ibacm.socket" }]"#),
    ("warn service.iwpmd n3 host", "/devices/1/ports/0/protocol", r#""iwarp""#),
    (
        "warn network.arp n3 host",
        "/system/networks/2",
        r#"{ "netdev": "ib0", "address": "10.9.0.0", "bits": 16 }"#,
    ),
    (
        "warn network.overlaps n3 host",
        "/system/networks/1",
        r#"{ "netdev": "eno1", "address": "10.9.7.0", "bits": 24 }"#,
    ),
    ("info setting.numa_balancing n3 host", "/system/settings/kernel~1numa_balancing", r#""1""#),
    ("warn setting.differs n3 host", "/system/settings/kernel~1numa_balancing", r#""1""#),
    ("info setting.memory_maps n3 host", "/devices/0/driver", r#""hfi1""#),
    ("warn governor.differs n3 host", "/system/cpu_governor", r#""powersave""#),
    ("warn dma.differs n3 mlx5_0", "/system/dma/mlx5_0", r#""DMA-FQ""#),
    (
        "warn gpu.no_peer_memory n3 host",
        "/system/modules",
        r#"["ib_uverbs", "ib_umad", "rdma_ucm", "nvidia"]"#,
    ),
    ("warn limit.differs n3 host", "/system/limits/locked_memory_bytes", "1073741824"),
    (
        "fail log.firmware n3 mlx5_0",
        "/system/kernel_faults",
        r#"[{ "kind": "firmware", "pci": "0000:40:00.0", "count": 2, "last_us": 5000007, "text": "x" }]"#,
    ),
    (
        "warn log.firmware_file n3 host",
        "/system/kernel_faults",
        r#"[{ "kind": "firmware_file", "count": 1, "last_us": 5, "text": "x" }]"#,
    ),
    (
        "fail log.probe n3 pci/0000:c0:00.0",
        "/system/kernel_faults",
        r#"[{ "kind": "probe", "pci": "0000:c0:00.0", "count": 1, "last_us": 5, "text": "x" }]"#,
    ),
    (
        "warn log.transmit_timeout n3 host",
        "/system/kernel_faults",
        r#"[{ "kind": "transmit_timeout", "count": 1, "last_us": 5, "text": "x" }]"#,
    ),
    (
        "warn log.cable n3 mlx5_0",
        "/system/kernel_faults",
        r#"[{ "kind": "cable", "pci": "0000:40:00.0", "count": 1, "last_us": 5, "text": "x" }]"#,
    ),
    (
        "warn log.temperature n3 mlx5_0",
        "/system/kernel_faults",
        r#"[{ "kind": "temperature", "pci": "0000:40:00.0", "count": 1, "last_us": 5, "text": "x" }]"#,
    ),
    (
        "info log.slot_power n3 mlx5_0",
        "/system/kernel_faults",
        r#"[{ "kind": "slot_power", "pci": "0000:40:00.0", "count": 1, "last_us": 5, "text": "x" }]"#,
    ),
];

/// Returns a change that sets a value of the third host.
fn with(place: &str, value: &Value) -> impl Fn(&mut [Value]) {
    move |hosts: &mut [Value]| {
        if let Some(old) = hosts[2].pointer_mut(place) {
            *old = value.clone();
        } else {
            let (parent, field) = place.rsplit_once('/').unwrap();
            hosts[2].pointer_mut(parent).unwrap()[field] = value.clone();
        }
    }
}

#[test]
fn a_healthy_cluster_has_no_finding() {
    assert_eq!(after(|_| {}), [""; 0]);
    assert_eq!(lines(&checked(&reports(&[healthy(1)]))), [""; 0], "a single host");
}

#[test]
fn each_check_of_hosts_fires_on_its_fault() {
    let mut fired = BTreeSet::from([
        "host.silent",
        "host.twice",
        "port.mtu_low",
        "ipoib.mtu",
        "network.reverse_path",
        "dma.translated",
        "setting.governor",
        "limit.service_open_files",
        "service.opensm",
    ]);
    for (expected, place, value) in CHANGES {
        let found = after(with(place, &serde_json::from_str(value).unwrap()));
        assert!(found.iter().any(|line| line == expected), "{expected}: {found:?}");
        let id = expected.split(' ').nth(1).unwrap();
        fired.extend(CHECKS.iter().map(|check| check.id).filter(|known| *known == id));
    }
    // Tests of `analyse::connections`, `analyse::fabric` and `live` produce these findings.
    let others = [
        "connection.changed",
        "connection.down",
        "connection.degraded",
        "connection.mixed",
        "connection.suspected",
    ];
    // The checks of pairs have their faults in the tests of `matrix`.
    let has_other_tests = |scope| matches!(scope, CheckScope::Subnet | CheckScope::Pair);
    for check in CHECKS.iter().filter(|check| !has_other_tests(check.scope)) {
        assert!(fired.contains(check.id) || others.contains(&check.id), "{}", check.id);
    }
}

#[test]
fn strict_reverse_path_filtering_matters_with_two_rails_in_one_network() {
    let found = |networks: &str| {
        let found = after(|hosts| {
            for host in hosts {
                host["system"]["settings"]["net/ipv4/conf/all/rp_filter"] = json!("1");
                host["system"]["settings"]["net/ipv4/conf/all/arp_ignore"] = json!("1");
                host["system"]["settings"]["net/ipv4/conf/all/arp_announce"] = json!("2");
                host["system"]["networks"][2]["address"] = json!(networks);
            }
        });
        found.join(";")
    };
    assert_eq!(found("10.20.0.0"), "");
    assert_eq!(found("10.9.0.0"), "warn network.reverse_path n1,n2,n3,n4 host");
}

#[test]
fn a_setting_of_all_hosts_is_no_difference() {
    let found = after(|hosts| {
        for host in hosts {
            host["system"]["cpu_governor"] = json!("powersave");
            host["system"]["dma"]["mlx5_0"] = json!("DMA-FQ");
        }
    });
    assert_eq!(
        found,
        ["warn dma.translated n1,n2,n3,n4 mlx5_0", "info setting.governor n1,n2,n3,n4 host"]
    );
}

#[test]
fn opensm_cannot_manage_omni_path() {
    let found = |protocol: &str, unit: &str| {
        let found = after(|hosts| {
            for host in hosts {
                host["devices"][0]["ports"][0]["protocol"] = json!(protocol);
                host["system"]["services"] = json!([{ "unit": unit }]);
            }
        });
        found.join(";")
    };
    assert_eq!(found("opa", "opensm.service"), "warn service.opensm n1,n2,n3,n4 host");
    assert_eq!(found("ib", "opensm.service"), "");
    assert_eq!(found("opa", "opafm.service"), "");
}

#[test]
fn a_server_of_beegfs_with_many_clients_opens_many_files() {
    let result = |driver: &str, unit: &str, limits: Value| {
        let mut values = cluster();
        values[2]["devices"][0]["driver"] = json!(driver);
        values[2]["system"]["services"] = json!([{ "unit": unit, "limits": limits }]);
        let report = checked(&reports(&values));
        report.hosts[2].results["limit.service_open_files"].word()
    };
    let files = |count: u32| json!({ "locked_memory_bytes": null, "open_files": count });
    assert_eq!(result("hfi1", "beegfs-storage.service", files(262_143)), "info");
    assert_eq!(result("hfi1", "beegfs-storage.service", files(262_144)), "pass");
    assert_eq!(result("ib_qib", "beegfs-meta.service", files(50_000)), "info");
    assert_eq!(result("ib_qib", "beegfs-meta.service", json!(null)), "unknown");
    assert_eq!(result("mlx5_core", "beegfs-storage.service", files(1024)), "skip");
    assert_eq!(result("hfi1", "slurmd.service", files(1024)), "skip");
}

#[test]
fn ibacm_breaks_the_clients_of_beegfs() {
    let found = after(|hosts| {
        hosts[2]["system"]["services"] = json!([{ "unit": "ibacm.service" }]);
        hosts[2]["consumers"]["beegfs"] = json!([]);
    });
    assert!(found.contains(&"fail service.ibacm n3 host".to_owned()), "{found:?}");
}

#[test]
fn root_has_no_limit_of_locked_memory() {
    let mut values = cluster();
    for host in &mut values {
        host["system"]["limits"]["locked_memory_bytes"] = json!(8_388_608);
        host["system"]["may_lock_memory"] = json!(true);
    }
    let report = checked(&reports(&values));
    assert_eq!(lines(&report), [""; 0]);
    assert_eq!(report.hosts[2].results["limit.locked_memory"].word(), "skip");
}

#[test]
fn a_datagram_interface_with_a_small_mtu_is_a_finding() {
    let found = after(|hosts| {
        for host in hosts {
            host["netdevs"][0]["mtu"] = json!(1500);
        }
    });
    assert_eq!(found, ["warn ipoib.mtu n1,n2,n3,n4 netdevs/ib0"]);
}

#[test]
fn an_mtu_of_a_path_mtu_without_its_headers_is_too_low() {
    let found = |netdev_mtu: u32, active_mtu: u32| {
        let found = after(|hosts| {
            for host in hosts {
                let port = &mut host["devices"][1]["ports"][0];
                (port["netdev_mtu"], port["active_mtu"]) = (json!(netdev_mtu), json!(active_mtu));
            }
        });
        found.join(";")
    };
    assert_eq!(found(4096, 2048), "warn port.mtu_low n1,n2,n3,n4 mlx5_1/1");
    assert_eq!(found(2048, 1024), "warn port.mtu_low n1,n2,n3,n4 mlx5_1/1");
    // The usual MTU, that of a tunnel, and the largest one of some clouds.
    for (netdev_mtu, active_mtu) in [(1500, 1024), (1600, 1024), (3900, 2048)] {
        let expected = "info port.mtu_low n1,n2,n3,n4 mlx5_1/1";
        assert_eq!(found(netdev_mtu, active_mtu), expected, "{netdev_mtu}");
    }
    assert_eq!(found(4200, 4096), "");
}

#[test]
fn a_port_that_never_carried_a_packet_may_be_unused() {
    let down = |number: u32, received: u64| {
        json!({
            "number": number, "state": "down", "phys_state": "Polling", "protocol": "ib",
            "counters": [
                { "name": "link_downed", "group": "pma", "value": 0, "unit": "events", "saturated": false },
                { "name": "port_rcv_data", "group": "pma", "value": received, "unit": "bytes", "saturated": false },
            ],
        })
    };
    let second = |received: u64, hosts: usize| {
        let found = after(|all| {
            for host in &mut all[..hosts] {
                host["devices"][0]["ports"].as_array_mut().unwrap().push(down(2, received));
            }
        });
        found.join(";")
    };
    assert_eq!(second(0, 4), "info port.down n1,n2,n3,n4 mlx5_0/2");
    assert_eq!(second(7, 4), "fail port.down n1,n2,n3,n4 mlx5_0/2", "it carried packets");
    let found = after(|all| {
        for host in all {
            host["devices"][0]["ports"][0] = down(1, 0);
        }
    });
    let only_port = "fail port.down n1,n2,n3,n4 mlx5_0/1".to_owned();
    assert!(found.contains(&only_port), "a dead switch, or new cables: {found:?}");
}

#[test]
fn a_consequence_stands_below_its_cause() {
    let found = after(with("/devices/0/ports/0/state", &json!("init")));
    assert_eq!(found.iter().filter(|line| line.contains("mlx5_0/1")).count(), 1, "{found:?}");
    let mut values = cluster();
    let v1 = json!([{ "index": 0, "value": "::ffff:10.9.0.2", "kind": "roce_v2" }]);
    values[2]["devices"][1]["ports"][0]["gids"] = v1;
    let report = checked(&reports(&values));
    let cause = report.findings.iter().find(|one| one.check.id == "address.duplicate").unwrap();
    let explained = &cause.explains;
    assert!(explained.contains("gid.index_differs"), "{explained:?} {:?}", lines(&report));
}

const NO_LINK: (&str, &str) =
    ("/devices/0/ports/0", r#"{ "number": 1, "state": "down", "phys_state": "Polling" }"#);
const DISABLED: (&str, &str) =
    ("/devices/0/ports/0", r#"{ "number": 1, "state": "down", "phys_state": "Disabled" }"#);
const NO_MANAGER: (&str, &str) =
    ("/devices/0/ports/0", r#"{ "number": 1, "state": "init", "phys_state": "LinkUp" }"#);
const SLOW: (&str, &str) = (
    "/devices/0/ports/0",
    r#"{ "number": 1, "protocol": "ib", "rate_bps": 10000000000, "pci_suffices": false }"#,
);
const ERRORS: (&str, &str) = (
    "/devices/0/ports/0",
    r#"{ "counters": [{ "name": "link_downed", "group": "pma", "value": 3, "unit": "events",
        "saturated": false, "rate": { "change": "counted", "interval_ns": 1, "delta": 3 } }] }"#,
);
const NO_GUID: (&str, &str) = ("/devices/0", r#"{ "node_guid": null }"#);
const NO_PROVIDER: (&str, &str) =
    ("/devices/0", r#"{ "verbs": null, "provider": { "name": "mlx5", "is_listed": true } }"#);
const IDLE_FUNCTION: (&str, &str) = (
    "/system",
    r#"{ "idle_functions": [{ "pci": "0000:c0:00.0", "id": "15b3:1021", "driver": "mlx5_core",
        "rdma_module": "mlx5_ib" }] }"#,
);
const VERBS_UNAVAILABLE: (&str, &str) =
    ("", r#"{ "verbs": { "state": "unavailable", "detail": "x" } }"#);

/// Changes of a host report: JSON pointer of an object, and the fields to set as JSON.
type Changes = &'static [(&'static str, &'static str)];

/// Cause and consequence, and changes of the third host that make both.
const CONSEQUENCES: &[(&str, &str, Changes)] = &[
    ("host.no_device", "device.count_differs", &[("", r#"{ "devices": [] }"#)]),
    ("host.no_device", "device.idle_function", &[("", r#"{ "devices": [] }"#), IDLE_FUNCTION]),
    ("device.gone", "device.count_differs", &[("/devices/0", r#"{ "gone_since_ns": 1 }"#)]),
    (
        "device.file_missing",
        "unreadable",
        &[
            VERBS_UNAVAILABLE,
            (
                "",
                r#"{ "problems": [{ "key": "mlx5_0/verbs", "source": "/dev/infiniband/uverbs0",
                    "errno": "ENOENT", "detail": "x" }] }"#,
            ),
        ],
    ),
    (
        "device.file_denied",
        "unreadable",
        &[
            VERBS_UNAVAILABLE,
            (
                "",
                r#"{ "problems": [{ "key": "mlx5_0/verbs", "source": "/dev/infiniband/uverbs0",
                    "errno": "EACCES", "detail": "x" }] }"#,
            ),
        ],
    ),
    (
        "device.no_provider",
        "unreadable",
        &[
            NO_PROVIDER,
            (
                "",
                r#"{ "problems": [{ "key": "mlx5_0/verbs", "source": "libibverbs",
                    "detail": "libibverbs has no driver for the device" }] }"#,
            ),
        ],
    ),
    ("device.no_guid", "port.not_active", &[NO_GUID, NO_MANAGER]),
    ("device.no_guid", "port.down", &[NO_GUID, NO_LINK]),
    ("port.down", "port.slow", &[NO_LINK, SLOW]),
    ("port.down", "port.pci_slow", &[NO_LINK, SLOW]),
    ("port.down", "port.link_lost", &[NO_LINK, ERRORS]),
    ("port.down", "port.errors", &[NO_LINK, ERRORS]),
    ("port.down", "gpu.far", &[NO_LINK]),
    ("port.disabled", "port.slow", &[DISABLED, SLOW]),
    ("port.disabled", "port.link_lost", &[DISABLED, ERRORS]),
    ("port.disabled", "port.errors", &[DISABLED, ERRORS]),
    ("port.disabled", "gpu.far", &[DISABLED]),
    ("port.not_active", "port.slow", &[NO_MANAGER, SLOW]),
    ("port.not_active", "gpu.far", &[NO_MANAGER]),
    (
        "module.missing",
        "device.no_provider",
        &[("/system", r#"{ "modules": ["rdma_ucm", "ib_umad"] }"#), NO_PROVIDER],
    ),
    (
        "log.firmware",
        "port.down",
        &[
            NO_LINK,
            (
                "/system",
                r#"{ "kernel_faults": [{ "kind": "firmware", "pci": "0000:40:00.0", "count": 1,
                    "last_us": 5, "text": "x" }] }"#,
            ),
        ],
    ),
    (
        "log.probe",
        "device.idle_function",
        &[
            IDLE_FUNCTION,
            (
                "/system",
                r#"{ "kernel_faults": [{ "kind": "probe", "pci": "0000:c0:00.0", "count": 1,
                    "last_us": 5, "text": "x" }] }"#,
            ),
        ],
    ),
    (
        "address.duplicate",
        "gid.index_differs",
        &[(
            "/devices/1/ports/0",
            r#"{ "gids": [{ "index": 0, "value": "::ffff:10.9.0.2", "kind": "roce_v2" }] }"#,
        )],
    ),
    (
        "mtu.differs",
        "port.mtu_low",
        &[("/devices/1/ports/0", r#"{ "netdev_mtu": 1500, "active_mtu": 1024 }"#)],
    ),
    (
        "device.count_differs",
        "device.slot_differs",
        &[
            ("/devices/1", r#"{ "driver": "rdma_rxe" }"#),
            ("/devices/0", r#"{ "pci": "0000:ba:00.0" }"#),
        ],
    ),
    (
        "device.count_differs",
        "board.differs",
        &[
            ("/devices/1", r#"{ "driver": "rdma_rxe" }"#),
            ("/devices/0", r#"{ "board_id": "MT_2" }"#),
        ],
    ),
    ("governor.differs", "setting.governor", &[("/system", r#"{ "cpu_governor": "powersave" }"#)]),
    ("dma.differs", "dma.translated", &[("/system/dma", r#"{ "mlx5_0": "DMA-FQ" }"#)]),
    ("ipoib.differs", "ipoib.mtu", &[("/netdevs/0", r#"{ "mtu": 1500 }"#)]),
];

/// Sets fields of objects of a host.
fn set(host: &mut Value, changes: &[(&str, &str)]) {
    for (place, fields) in changes {
        let fields: Value = serde_json::from_str(fields).unwrap();
        let object = host.pointer_mut(place).unwrap().as_object_mut().unwrap();
        object.extend(fields.as_object().unwrap().clone());
    }
}

/// Checks that the third host has both findings, and that the consequence stands below the cause
/// only.
fn assert_explained(cause: &str, consequence: &str, values: &[Value]) {
    let report = checked(&reports(values));
    let of_host = |id: &str| {
        let is_of_host = |hosts: &[String]| hosts.iter().any(|host| host == "n3");
        let mut found = report.findings.iter();
        found.find(|one| one.check.id == id && is_of_host(&one.finding.hosts))
    };
    let found = lines(&report);
    let explains = of_host(cause).map(|found| found.explains.contains(consequence));
    assert_eq!(explains, Some(true), "{cause} explains {consequence}: {found:?}");
    assert!(of_host(consequence).is_none(), "{cause} explains {consequence}: {found:?}");
}

/// Returns causes and consequences of a subnet, each with a subnet that has both.
fn subnets() -> Vec<(&'static str, &'static str, Fabric)> {
    let changed = |change: &dyn Fn(&mut Fabric)| {
        let mut fabric = fabric();
        change(&mut fabric);
        fabric
    };
    let manager = fabric().nodes[0].ports[0].subnet_manager;
    let inactive = |fabric: &mut Fabric| {
        fabric.nodes[0].ports[0].subnet_manager = None;
        fabric.nodes[3].ports[0].state = FabricPort::INIT;
    };
    let unrouted = |fabric: &mut Fabric| {
        fabric.nodes[0].ports[0].subnet_manager = None;
        let table = fabric.nodes[4].forwarding.as_mut().unwrap();
        table.0[4] = ForwardingTable::NO_PORT;
    };
    let twice = |fabric: &mut Fabric| {
        fabric.nodes[1].ports[0].subnet_manager = manager;
        fabric.nodes[3].ports[0].lid = 3;
    };
    vec![
        ("fabric.no_manager", "fabric.port_not_active", changed(&inactive)),
        ("fabric.no_manager", "fabric.route_missing", changed(&unrouted)),
        ("fabric.two_managers", "fabric.duplicate_lid", changed(&twice)),
    ]
}

#[test]
fn each_consequence_of_the_table_stands_below_its_cause() {
    let mut tested = Vec::new();
    for (cause, consequence, changes) in CONSEQUENCES {
        let mut values = cluster();
        set(&mut values[2], changes);
        assert_explained(cause, consequence, &values);
        tested.push((*cause, *consequence));
    }
    for (cause, consequence, fabric) in subnets() {
        let mut values = cluster();
        values[2]["fabrics"] = json!([fabric]);
        assert_explained(cause, consequence, &values);
        tested.push((cause, consequence));
    }
    for check in CHECKS {
        for explained in check.explains {
            let is_tested = tested.iter().any(|(cause, consequence)| {
                *cause == check.id && selects_check(explained, consequence)
            });
            assert!(is_tested, "{} explains {explained}", check.id);
        }
    }
}

#[test]
fn a_consequence_of_a_consequence_stands_below_the_root_cause() {
    let mut values = cluster();
    set(&mut values[2], &[NO_MANAGER]);
    assert_explained("port.not_active", "gpu.far", &values);
    set(&mut values[2], &[NO_GUID]);
    assert_explained("device.no_guid", "port.not_active", &values);
    assert_explained("device.no_guid", "gpu.far", &values);
}

#[test]
fn no_check_explains_itself_through_other_checks() {
    for check in CHECKS {
        let mut explained: BTreeSet<&str> = BTreeSet::new();
        let mut next = vec![check];
        while let Some(one) = next.pop() {
            let is_explained =
                |other: &&Check| one.explains.iter().any(|id| selects_check(id, other.id));
            let others = CHECKS.iter().filter(is_explained);
            next.extend(others.filter(|other| explained.insert(other.id)));
        }
        assert!(!explained.contains(check.id), "{}", check.id);
    }
}

#[test]
fn a_finding_of_one_subnet_explains_none_of_another() {
    let mut without_manager = fabric();
    without_manager.nodes[0].ports[0].subnet_manager = None;
    let mut inactive = fabric();
    inactive.nodes[3].ports[0].state = FabricPort::INIT;
    let mut values = cluster();
    values[2]["fabrics"] = json!([without_manager, inactive]);
    let found = lines(&checked(&reports(&values)));
    let ids: Vec<&str> = found.iter().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(ids, ["fabric.no_manager", "fabric.port_not_active"]);
}

#[test]
fn a_subnet_of_which_nothing_was_read_is_unknown() {
    let mut unread = Fabric::empty("mlx5_0", 1, SweepMethod::Smp);
    unread.unanswered.push(UnansweredRequest {
        route: Vec::new(),
        lid: 0,
        attribute: "NodeInfo".into(),
        detail: "no reply".into(),
    });
    let mut values = cluster();
    values[2]["fabrics"] = json!([unread]);
    let report = checked(&reports(&values));
    let found = lines(&report);
    assert!(found.contains(&"unknown fabric.no_answer n3 mlx5_0 port 1".to_owned()), "{found:?}");
    assert_eq!(report.hosts[2].results["fabric.no_manager"].word(), "unknown");
}

#[test]
fn an_unreadable_value_of_sysfs_is_no_consequence_of_a_missing_provider() {
    let mut values = cluster();
    set(&mut values[2], &[NO_PROVIDER]);
    values[2]["problems"] = json!([
        { "key": "mlx5_0/firmware", "source": "/x", "errno": "EIO", "detail": "cannot read" },
    ]);
    let found = lines(&checked(&reports(&values)));
    assert!(found.contains(&"unknown unreadable n3 mlx5_0/firmware".to_owned()), "{found:?}");
}

#[test]
fn a_check_without_its_part_has_no_finding() {
    let mut values = cluster();
    values[2]["devices"][1]["ports"][0]["gids"] = json!(null);
    values[2]["devices"][0]["ports"][0]["state"] = json!("init");
    let mut all = reports(&values);
    all[2].parts = Part::ALL.into_iter().filter(|part| *part != Part::Gids).collect();
    let report = checked(&all);
    let result = |id: &str| report.hosts[2].results[id].word();
    assert_eq!(result("gid.none_usable"), "skip");
    assert_eq!(result("port.not_active"), "fail", "the port needs no other part");
    let found = lines(&report);
    assert!(!found.iter().any(|line| line.contains("gid.")), "{found:?}");
}

#[test]
fn a_finding_of_several_hosts_omits_a_host_without_its_part() {
    let mut values = cluster();
    values[2]["devices"][1]["ports"][0]["gids"][1]["value"] = json!("::ffff:10.9.0.2");
    let mut all = reports(&values);
    assert!(lines(&checked(&all)).contains(&"fail address.duplicate n2,n3 host".to_owned()));
    all[2].parts = Part::ALL.into_iter().filter(|part| *part != Part::Gids).collect();
    let report = checked(&all);
    let found = lines(&report);
    assert!(found.contains(&"fail address.duplicate n2 host".to_owned()), "{found:?}");
    assert_eq!(report.hosts[2].results["address.duplicate"].word(), "skip");
}

#[test]
fn a_part_of_the_kernel_log_is_no_all_clear() {
    let mut values = cluster();
    let fault = json!({ "kind": "cable", "count": 1, "last_us": 5, "text": "x" });
    values[2]["system"]["kernel_faults"] = json!([fault]);
    values[2]["problems"] = json!([{
        "key": "system/kernel_faults", "source": "/dev/kmsg", "detail": "older lines are not used",
    }]);
    let report = checked(&reports(&values));
    let result = |host: usize, id: &str| report.hosts[host].results[id].word();
    assert_eq!(result(2, "log.cable"), "warn");
    assert_eq!(result(2, "log.firmware"), "unknown");
    assert_eq!(result(1, "log.firmware"), "pass");
}

#[test]
fn an_unread_value_is_no_pass() {
    let unread = |key: &str| {
        let mut values = cluster();
        values[2]["problems"] = json!([{ "key": key, "source": "/x", "detail": "cannot read" }]);
        checked(&reports(&values))
    };
    for (key, id) in [
        ("mlx5_0/node_guid", "guid.duplicate"),
        ("mlx5_0/node_guid", "host.twice"),
        ("mlx5_1/1/gids/3", "address.duplicate"),
        ("mlx5_0/1/lid", "lid.duplicate"),
        ("netdevs/bond0/address", "mac.duplicate"),
        ("mlx5_0/1/counters/symbol_error", "counter.saturated"),
    ] {
        let report = unread(key);
        let result = |host: usize| report.hosts[host].results[id].word();
        assert_eq!((result(2), result(1)), ("unknown", "pass"), "{key}");
    }
    let mut values = cluster();
    values[2]["devices"][0]["ports"][0]["active_mtu"] = json!(null);
    assert_eq!(checked(&reports(&values)).hosts[2].results["mtu.differs"].word(), "unknown");
}

#[test]
fn an_error_counter_at_its_maximum_shows_no_increase_and_is_no_pass() {
    let mut values = cluster();
    let rate = |delta: Value| json!({ "change": "counted", "interval_ns": 1, "delta": delta });
    let counters = values[2]["devices"][0]["ports"][0]["counters"].as_array_mut().unwrap();
    for counter in counters {
        counter["rate"] = rate(json!(0));
    }
    let result =
        |values: &[Value]| checked(&reports(values)).hosts[2].results["port.errors"].word();
    assert_eq!(result(&values), "pass");
    values[2]["devices"][0]["ports"][0]["counters"][0]["rate"] = rate(json!(null));
    assert_eq!(result(&values), "unknown");
}

#[test]
fn the_driver_of_gpus_needs_no_peer_memory_without_a_card_or_with_that_of_efa() {
    let result = |change: &dyn Fn(&mut Value)| {
        let mut values = cluster();
        values[2]["system"]["modules"] = json!(["ib_uverbs", "nvidia"]);
        change(&mut values[2]);
        checked(&reports(&values)).hosts[2].results["gpu.no_peer_memory"].word()
    };
    assert_eq!(result(&|_| {}), "warn");
    let efa = |host: &mut Value| {
        host["system"]["modules"] = json!(["efa_nv_peermem", "ib_uverbs", "nvidia"]);
    };
    assert_eq!(result(&efa), "pass");
    let software = |host: &mut Value| {
        for device in host["devices"].as_array_mut().unwrap() {
            device["driver"] = json!("rdma_rxe");
        }
    };
    assert_eq!(result(&software), "skip");
    assert_eq!(result(&|host| host["devices"] = json!([])), "skip");
}

#[test]
fn a_port_without_a_link_has_no_version_of_roce() {
    let gids = json!([{ "index": 0, "value": "::ffff:10.9.0.3", "kind": "roce_v1" }]);
    let result = |state: &str| {
        let mut values = cluster();
        let port = &mut values[2]["devices"][1]["ports"][0];
        (port["gids"], port["state"]) = (gids.clone(), json!(state));
        checked(&reports(&values)).hosts[2].results["roce.version_differs"].word()
    };
    assert_eq!((result("active"), result("down")), ("fail", "skip"));
}

#[test]
fn a_host_without_a_report_has_one_finding_and_no_pass() {
    let mut all = reports(&cluster());
    all[1] = HostReport::failed("n2", HostFailure::new(Reason::Timeout, "no reply within 1 s"));
    let report = checked(&all);
    assert_eq!(lines(&report), ["fail host.silent n2 host"]);
    assert_eq!(report.hosts[1].count("pass"), 0);
}

#[test]
fn an_unreadable_value_is_never_a_pass() {
    let found = |key: &str, id: &str| {
        let mut values = cluster();
        values[2]["problems"] =
            json!([{ "key": key, "source": "/sys/x", "errno": "EIO", "detail": "cannot read" }]);
        let mut all = reports(&values);
        match key {
            "mlx5_0/1/state" => all[2].devices[0].ports[0].state = None,
            "mlx5_0/1/counters" => all[2].devices[0].ports[0].counters = None,
            "mlx5_1/1/gids" => all[2].devices[1].ports[0].gids = None,
            "system/kernel_faults" => all[2].system.as_mut().unwrap().kernel_faults = None,
            "system/functions" => all[2].system.as_mut().unwrap().idle_functions = None,
            _ => {}
        }
        checked(&all).hosts[2].results[id].word()
    };
    assert_eq!(found("mlx5_0/1/state", "port.down"), "unknown");
    assert_eq!(found("mlx5_0/1/counters", "port.link_lost"), "unknown");
    assert_eq!(found("mlx5_1/1/gids", "gid.none_usable"), "unknown");
    assert_eq!(found("pkeys", "port.pkey_limited"), "unknown");
    assert_eq!(found("connections", "connection.fallback_confirmed"), "unknown");
    assert_eq!(found("system/kernel_faults", "log.firmware"), "unknown");
    assert_eq!(found("system/functions", "device.idle_function"), "unknown");
    let mut unread = reports(&cluster());
    unread[2].parts = Parts::from([Part::Gids]);
    assert_eq!(checked(&unread).hosts[2].results["bond.mode"].word(), "skip");
}

/// Returns the result of a check on a host whose two rails share a network, after a change. The
/// host has the settings that the checks expect, and an Omni-Path card.
fn on_shared_network(id: &str, change: impl Fn(&mut Value)) -> CheckResult {
    let mut values = cluster();
    let host = &mut values[2];
    host["devices"][0]["driver"] = json!("hfi1");
    host["system"]["networks"][2]["address"] = json!("10.9.0.0");
    host["system"]["settings"] = json!({
        "kernel/numa_balancing": "0",
        "net/ipv4/conf/all/arp_announce": "2",
        "net/ipv4/conf/all/arp_ignore": "1",
        "net/ipv4/conf/all/rp_filter": "2",
        "vm/max_map_count": "1000000",
    });
    change(host);
    checked(&reports(&values)).hosts[2].results[id].clone()
}

/// Values of `system`: key of the problem, check that needs the value.
const SYSTEM_VALUES: [(&str, &str); 12] = [
    ("settings/net/ipv4/conf/all/arp_ignore", "network.arp"),
    ("settings/net/ipv4/conf/all/arp_announce", "network.arp"),
    ("settings/net/ipv4/conf/all/rp_filter", "network.reverse_path"),
    ("networks", "network.overlaps"),
    ("settings/kernel/numa_balancing", "setting.numa_balancing"),
    ("numa_nodes", "setting.numa_balancing"),
    ("settings/vm/max_map_count", "setting.memory_maps"),
    ("cpu_governor", "setting.governor"),
    ("modules", "gpu.no_peer_memory"),
    ("modules", "module.missing"),
    ("limits", "limit.locked_memory"),
    ("services", "service.ibacm"),
];

#[test]
fn an_unreadable_setting_is_unknown_and_an_absent_one_does_not_apply() {
    for (key, id) in SYSTEM_VALUES {
        assert_eq!(on_shared_network(id, |_| {}).word(), "pass", "{id}");
        let remove = |host: &mut Value| {
            let system = &mut host["system"];
            let (object, field) = match key.strip_prefix("settings/") {
                Some(name) => (&mut system["settings"], name),
                None => (system, key),
            };
            assert!(object.as_object_mut().unwrap().remove(field).is_some(), "{key}");
        };
        let absent = on_shared_network(id, remove);
        assert_eq!(absent.word(), "skip", "{id} without {key}: {absent:?}");
        let detail = format!("cannot read the file of {key}: EACCES");
        let unreadable = on_shared_network(id, |host| {
            remove(host);
            let key = format!("system/{key}");
            let problem =
                json!({ "key": key, "source": "/x", "errno": "EACCES", "detail": detail });
            host["problems"] = json!([problem]);
        });
        assert_eq!(unreadable, CheckResult::Unknown(detail), "{id}");
    }
}

#[test]
fn a_setting_that_is_no_number_is_unknown() {
    for (name, id) in [
        ("net/ipv4/conf/all/arp_ignore", "network.arp"),
        ("net/ipv4/conf/bond0/rp_filter", "network.reverse_path"),
        ("kernel/numa_balancing", "setting.numa_balancing"),
        ("vm/max_map_count", "setting.memory_maps"),
    ] {
        for text in ["", "x", "1.5", "99999999999999999999"] {
            let result = on_shared_network(id, |host| {
                host["system"]["settings"][name] = json!(text);
            });
            let why = format!("/proc/sys/{name} has an unknown format: \"{text}\"");
            assert_eq!(result, CheckResult::Unknown(why), "{id}");
        }
    }
}

#[test]
fn one_bad_setting_is_enough_for_a_finding() {
    let result = on_shared_network("network.arp", |host| {
        host["system"]["settings"]["net/ipv4/conf/all/arp_ignore"] = json!("0");
        host["system"]["settings"]["net/ipv4/conf/all/arp_announce"] = json!("x");
    });
    assert_eq!(result.word(), "warn");
    let result = on_shared_network("network.reverse_path", |host| {
        host["system"]["settings"]["net/ipv4/conf/all/rp_filter"] = json!("0");
        host["system"]["settings"]["net/ipv4/conf/bond0/rp_filter"] = json!("1");
        host["system"]["settings"]["net/ipv4/conf/ib0/rp_filter"] = json!("x");
    });
    assert_eq!(result.word(), "warn");
}

#[test]
fn a_part_of_a_list_that_could_not_be_read_is_no_pass() {
    let result = |key: &str, id: &str| {
        let result = on_shared_network(id, |host| {
            host["system"]["services"][0]["limits"] = json!(null);
            host["system"]["nvidia_is_open"] = json!(null);
            host["system"]["modules"] = json!(["ib_uverbs", "ib_umad", "rdma_ucm", "nvidia"]);
            host["system"]["may_lock_memory"] = json!(null);
            host["system"]["limits"]["locked_memory_bytes"] = json!(8_388_608);
            let key = format!("system/{key}");
            host["problems"] =
                json!([{ "key": key, "source": "/x", "errno": "EIO", "detail": "cannot read" }]);
        });
        result.word()
    };
    for (key, id) in [
        ("functions/0000:c0:00.0", "device.idle_function"),
        ("dma/mlx5_0", "dma.translated"),
        ("services/slurmd.service", "limit.service_locked_memory"),
        ("services/ibacm.socket", "service.ibacm"),
        ("nvidia", "gpu.no_peer_memory"),
        ("capabilities", "limit.locked_memory"),
    ] {
        assert_eq!(result(key, id), "unknown", "{key} {id}");
    }
    assert_eq!(result("x", "limit.service_locked_memory"), "unknown", "the process is invisible");
    assert_eq!(result("x", "gpu.no_peer_memory"), "warn");
    assert_eq!(result("x", "limit.locked_memory"), "fail");
}

#[test]
fn a_value_that_could_not_be_read_is_not_compared() {
    let result = |key: &str, id: &str, hosts: std::ops::Range<usize>| {
        let mut values = cluster();
        let key = format!("system/{key}");
        values[2]["problems"] =
            json!([{ "key": key, "source": "/x", "errno": "EIO", "detail": "cannot read" }]);
        let report = checked(&reports(&values[hosts]));
        let mut hosts = report.hosts.iter();
        hosts.find(|host| host.host == "n3").unwrap().results[id].word()
    };
    for (key, id) in [
        ("settings/kernel/numa_balancing", "setting.differs"),
        ("settings/net/ipv4/conf/all/rp_filter", "setting.differs"),
        ("cpu_governor", "governor.differs"),
        ("dma/mlx5_0", "dma.differs"),
        ("limits", "limit.differs"),
    ] {
        assert_eq!(result(key, id, 0..4), "unknown", "{key}");
        assert_eq!(result(key, id, 2..3), "skip", "{key} of a single host");
    }
    let of_netdev = "settings/net/ipv4/conf/bond0/rp_filter";
    assert_eq!(result(of_netdev, "setting.differs", 0..4), "pass", "no host compares it");
}

#[test]
fn devices_without_ib_rules_stay_silent() {
    let efa = json!({
        "host": "n1", "via": "agent", "kernel": "6.1", "rdma_core": true, "parts": [],
        "verbs": { "state": "answered" }, "problems": [],
        "devices": [{
            "name": "rdmap0", "node_type": "unspecified", "driver": "efa", "pci": "0000:00:06.0",
            "numa_node": 0,
            "ports": [{
                "number": 1, "state": "active", "phys_state": "LinkUp", "link_layer": "unknown",
                "protocol": "efa", "lid": 0, "sm_lid": 0, "lmc": 1, "rate_bps": 100_000_000_000_u64,
                "gids": [{ "index": 0, "value": "fe80::1" }],
            }],
        }, {
            "name": "siw0", "node_type": "rnic", "driver": "siw",
            "ports": [{
                "number": 1, "state": "active", "phys_state": "LinkUp", "link_layer": "ethernet",
                "protocol": "iwarp", "gids": [{ "index": 0, "value": "5254:ff:fe12::" }],
            }],
        }],
        "netdevs": [], "consumers": {},
    });
    let found = lines(&checked(&reports(&[efa])));
    assert_eq!(found, ["info device.software n1 siw0"]);
}

#[test]
fn a_selection_runs_no_other_check() {
    let mut values = cluster();
    values[2]["kernel"] = json!("6.1.0");
    values[2]["devices"][0]["ports"][0]["state"] = json!("init");
    let all = reports(&values);
    let of = |only: &[&str], skip: &[&str]| {
        let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect();
        let selection = Selection { only: words(only), skip: words(skip) };
        let options = CheckOptions { selection, ..CheckOptions::default() };
        lines(&run(&all, &connections(&all), &options))
    };
    assert_eq!(of(&["kernel.*"], &[]), ["warn kernel.differs n3 host"]);
    assert_eq!(of(&["port.*", "kernel.differs"], &["port.*"]), ["warn kernel.differs n3 host"]);
    assert!(!of(&[], &["kernel.differs"]).contains(&"warn kernel.differs n3 host".to_owned()));
}

/// Returns the findings of a change of the third host under a policy, and the accepted ones with
/// their reasons.
fn under(policy: Policy, change: impl Fn(&mut [Value])) -> (Vec<String>, Vec<String>) {
    let mut values = cluster();
    change(&mut values);
    let all = reports(&values);
    let policy = Policy { file: "p".into(), ..policy };
    let options = CheckOptions { policy, today: "2026-11-27".into(), ..CheckOptions::default() };
    let report = run(&all, &connections(&all), &options);
    let accepted = report
        .accepted
        .iter()
        .map(|(found, why)| format!("{} {}: {why}", found.finding.hosts.join(","), found.check.id));
    (lines(&report), accepted.collect())
}

fn old_kernel(hosts: &mut [Value]) {
    hosts[2]["kernel"] = json!("6.1.0");
}

#[test]
fn a_site_accepts_a_finding_until_a_day() {
    let accepting = |host: &str, day: &str| {
        let acceptance = Acceptance {
            check: "kernel.*".into(),
            hosts: Some(BTreeSet::from([host.to_owned()])),
            subject: None,
            reason: "test".into(),
            until: Some(day.into()),
        };
        Policy { accepted: vec![acceptance], ..Policy::default() }
    };
    let (found, accepted) = under(accepting("n3", "2026-11-27"), old_kernel);
    assert_eq!(found, [""; 0]);
    assert_eq!(accepted, ["n3 kernel.differs: accepted until 2026-11-27 by p: test"]);
    let (found, accepted) = under(accepting("n3", "2026-11-26"), old_kernel);
    assert_eq!(found, ["warn kernel.differs n3 host"], "expired");
    assert_eq!(accepted, [""; 0]);
    let (found, _) = under(accepting("n1", "2026-11-27"), old_kernel);
    assert_eq!(found, ["warn kernel.differs n3 host"], "another host");
}

#[test]
fn an_expected_value_replaces_the_majority() {
    let expected =
        ExpectedValue { check: "kernel.differs".into(), of: String::new(), value: "6.1.0".into() };
    let policy = Policy { expected: vec![expected], ..Policy::default() };
    assert_eq!(under(policy, old_kernel).0, ["warn kernel.differs n1,n2,n4 host"]);
    let severities = BTreeMap::from([("kernel.differs", Severity::Fail)]);
    let policy = Policy { severities, ..Policy::default() };
    assert_eq!(under(policy, old_kernel).0, ["fail kernel.differs n3 host"]);
}

#[test]
fn a_learned_policy_finds_nothing_on_the_cluster_that_it_learned_from() {
    let learned = checked(&reports(&cluster())).usual;
    assert!(learned.iter().any(|one| one.check == "kernel.differs"), "{learned:?}");
    let policy = Policy { expected: learned, ..Policy::default() };
    assert_eq!(under(policy.clone(), |_| {}).0, [""; 0]);
    let all_old = |hosts: &mut [Value]| {
        for host in hosts {
            host["kernel"] = json!("6.1.0");
        }
    };
    assert_eq!(under(policy, all_old).0, ["warn kernel.differs n1,n2,n3,n4 host"]);
}

#[test]
fn a_finding_of_the_baseline_is_not_reported_again() {
    let baseline = r#"{ "schema": "rdmactl.check/1",
        "findings": [{ "id": "kernel.differs", "hosts": ["n3"], "subject": "host" }] }"#;
    let found = |host: usize| {
        let mut values = cluster();
        values[host]["kernel"] = json!("6.1.0");
        let all = reports(&values);
        let baseline = Some(Baseline::parse("b", baseline).unwrap());
        let options = CheckOptions { baseline, ..CheckOptions::default() };
        lines(&run(&all, &connections(&all), &options))
    };
    assert_eq!(found(2), [""; 0]);
    assert_eq!(found(1), ["warn kernel.differs n2 host"]);
}

#[test]
fn a_name_that_a_shell_would_run_is_in_no_fix() {
    const NAME: &str = "x;reboot";
    for (place, value) in CHANGES.iter().map(|(_, place, value)| (place, value)) {
        let mut values = cluster();
        with(place, &serde_json::from_str(value).unwrap())(&mut values);
        let text = serde_json::to_string(&values).unwrap();
        let text = ["mlx5_0", "mlx5_1", "bond0", "eth0", "eth1", "ib0", "0000:40:00.0", "n3"]
            .iter()
            .fold(text, |text, name| {
                text.replace(&format!("\"{name}\""), &format!("\"{NAME}{name}\""))
            });
        let values: Vec<Value> = serde_json::from_str(&text).unwrap();
        for found in checked(&reports(&values)).findings {
            let fix = found.finding.fix.unwrap_or_default();
            assert!(!fix.contains(NAME), "{}: {fix}", found.check.id);
        }
    }
}

#[test]
fn the_table_has_unique_ids_and_known_consequences() {
    let mut ids = BTreeSet::new();
    for check in CHECKS {
        assert!(ids.insert(check.id), "{}", check.id);
        assert!(check.title.ends_with('.') && check.severity != Severity::Past, "{}", check.id);
        for text in [check.rule, check.origin, check.consequence, check.remedy, check.applies_to] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text}", check.id);
        }
        assert!(check.needs.iter().all(|part| check.parts.contains(part)), "{}", check.id);
        for explained in check.explains {
            let is_known = CHECKS.iter().any(|other| selects_check(explained, other.id));
            assert!(is_known, "{}: {explained}", check.id);
        }
    }
    let via = Via::Agent;
    assert!(lines(&checked(&[HostReport::empty("n1", via)])).is_empty());
}
