//! Tests that hardware without a fault has no finding that an expert would not report, and that
//! the check still finds the fault.

use serde_json::{Value, json};

use super::{checked, cluster, reports};
use crate::model::{CheckReport, CheckedFinding};

/// Returns the report of the cluster after a change of its hosts.
fn after(change: impl Fn(&mut [Value])) -> CheckReport {
    let mut values = cluster();
    change(&mut values);
    checked(&reports(&values))
}

/// Returns severity and hosts of the findings of a check, without its subject.
fn found(report: &CheckReport, id: &str) -> Vec<String> {
    let of_check = report.findings.iter().filter(|found| found.check.id == id);
    let line = |found: &CheckedFinding| {
        format!("{} {}", found.finding.severity.word(), found.finding.hosts.join(","))
    };
    of_check.map(line).collect()
}

/// Returns the observation of the first finding of a check.
fn observation(report: &CheckReport, id: &str) -> String {
    let mut of_check = report.findings.iter().filter(|found| found.check.id == id);
    of_check.next().map(|found| found.finding.what.clone()).unwrap_or_default()
}

#[test]
fn a_module_that_is_built_in_is_not_missing() {
    let result = |uverbs: Value, umad: Value| {
        let report = after(|hosts| {
            hosts[2]["system"]["modules"] = json!(["mlx5_ib"]);
            hosts[2]["devices"][0]["uverbs"] = uverbs.clone();
            hosts[2]["devices"][0]["ports"][0]["umad"] = umad.clone();
        });
        report.hosts[2].results["module.missing"].word()
    };
    assert_eq!(result(json!("uverbs0"), json!("umad0")), "pass");
    assert_eq!(result(json!("uverbs0"), json!(null)), "warn", "ib_umad is another option");
    assert_eq!(result(json!(null), json!("umad0")), "fail");
}

#[test]
fn programs_of_efa_need_no_rdma_cm() {
    let result = |protocol: &str| {
        let report = after(|hosts| {
            hosts[2]["system"]["modules"] = json!(["ib_uverbs", "ib_umad"]);
            for device in hosts[2]["devices"].as_array_mut().unwrap() {
                device["ports"][0]["protocol"] = json!(protocol);
            }
        });
        report.hosts[2].results["module.missing"].word()
    };
    assert_eq!((result("efa"), result("roce")), ("pass", "warn"));
}

#[test]
fn networks_that_all_interfaces_have_do_not_overlap() {
    let report = |address: &str| {
        after(|hosts| {
            let network = |netdev: &str| json!({ "netdev": netdev, "address": address, "bits": 8 });
            hosts[2]["system"]["networks"] = ["bond0", "eno1", "ib0"].map(network).into();
        })
    };
    for address in ["169.254.0.0", "224.0.0.0"] {
        assert!(report(address).findings.is_empty(), "{address}");
    }
    let report = report("10.0.0.0");
    assert_eq!(found(&report, "network.overlaps"), ["warn n3"]);
    assert_eq!(found(&report, "network.arp"), ["warn n3"]);
}

#[test]
fn a_system_that_could_not_be_read_is_unknown() {
    let report = after(|hosts| hosts[2]["system"] = json!(null));
    for id in ["module.missing", "setting.governor", "log.firmware"] {
        assert_eq!(report.hosts[2].results[id].word(), "unknown", "{id}");
    }
}

/// Leaves link-local GIDs only on the `RoCE` port of a host.
fn remove_address(host: &mut Value) {
    host["devices"][1]["ports"][0]["gids"][1]["value"] = json!("fe80::7");
}

#[test]
fn a_port_without_an_address_is_a_fault_only_if_it_is_for_rdma() {
    const ID: &str = "gid.none_usable";
    let all = |hosts: &mut [Value]| hosts.iter_mut().for_each(remove_address);
    assert_eq!(found(&after(all), ID), ["info n1,n2,n3,n4"], "the InfiniBand port is for RDMA");
    let report = after(|hosts| remove_address(&mut hosts[2]));
    assert_eq!(found(&report, ID), ["warn n3"], "other ports of the type have addresses");
    let report = after(|hosts| {
        all(hosts);
        for host in hosts {
            host["devices"].as_array_mut().unwrap().remove(0);
        }
    });
    assert_eq!(found(&report, ID), ["warn n1,n2,n3,n4"], "no other port works");
    let of_member = |host: &mut Value| {
        remove_address(host);
        host["netdevs"][1]["master"] = json!("br0");
    };
    let report = after(|hosts| of_member(&mut hosts[2]));
    assert_eq!(found(&report, ID), ["warn n3"], "the bridge lost its address");
    let report = after(|hosts| {
        for host in hosts {
            of_member(host);
            host["devices"].as_array_mut().unwrap().remove(0);
        }
    });
    assert_eq!(found(&report, ID), ["info n1,n2,n3,n4"], "guests on Azure");
    let report = after(|hosts| {
        of_member(&mut hosts[2]);
        hosts[2]["devices"][1]["pci_link"]["physical_function"] = json!("0000:80:00.0");
    });
    assert_eq!(found(&report, ID), ["info n3"], "a virtual function");
}

#[test]
fn the_backup_of_a_bond_has_no_address() {
    let result = |active: &str, has_gids: bool| {
        let report = after(|hosts| {
            remove_address(&mut hosts[2]);
            let port = &mut hosts[2]["devices"][1]["ports"][0];
            port["netdev"] = json!("eth1");
            if !has_gids {
                port["gids"] = json!([]);
            }
            hosts[2]["netdevs"][1]["bond"]["active"] = json!(active);
        });
        report.hosts[2].results["gid.none_usable"].word()
    };
    assert_eq!((result("eth0", true), result("eth0", false)), ("info", "skip"));
    assert_eq!((result("eth1", true), result("eth1", false)), ("warn", "fail"), "active");
}

#[test]
fn the_interface_of_a_virtual_function_may_be_in_a_container() {
    let result = |physical_function: Value| {
        let report = after(|hosts| {
            let device = &mut hosts[2]["devices"][1];
            device["pci_link"]["physical_function"] = physical_function.clone();
            device["ports"][0]["gids"] = json!([]);
            device["ports"][0]["netdev"] = json!(null);
        });
        report.hosts[2].results["gid.none_usable"].word()
    };
    assert_eq!((result(json!("0000:80:00.0")), result(json!(null))), ("skip", "fail"));
}

#[test]
fn a_virtual_function_without_a_guid_may_have_no_guest() {
    let report = |physical_function: Value| {
        after(|hosts| {
            let device = &mut hosts[2]["devices"][0];
            device["node_guid"] = json!(null);
            device["pci_link"]["physical_function"] = physical_function.clone();
        })
    };
    assert_eq!(found(&report(json!("0000:40:00.0")), "device.no_guid"), ["info n3"]);
    assert_eq!(found(&report(json!(null)), "device.no_guid"), ["fail n3"], "in the guest");
}

#[test]
fn totals_since_boot_are_no_fault() {
    let report = after(|hosts| {
        let counters = &mut hosts[2]["devices"][0]["ports"][0]["counters"];
        counters[0]["value"] = json!(1);
        for name in ["symbol_error", "port_rcv_errors", "port_xmit_discards"] {
            counters.as_array_mut().unwrap().push(json!({
                "name": name, "group": "pma", "value": 12, "unit": "events", "saturated": false,
            }));
        }
    });
    let ids: Vec<&str> = report.findings.iter().map(|found| found.check.id).collect();
    assert_eq!(ids, ["port.link_lost"]);
    assert_eq!(found(&report, "port.link_lost"), ["info n3"]);
}

#[test]
fn a_full_counter_has_at_least_its_value() {
    let report = |protocol: &str| {
        after(|hosts| {
            let port = &mut hosts[2]["devices"][0]["ports"][0];
            port["protocol"] = json!(protocol);
            for (at, value) in [(0_usize, 255_u64), (1, 4_294_967_295)] {
                port["counters"][at]["value"] = json!(value);
                port["counters"][at]["saturated"] = json!(true);
            }
        })
    };
    let of_ib = report("ib");
    assert_eq!(found(&of_ib, "counter.saturated"), ["info n3"]);
    assert!(observation(&of_ib, "counter.saturated").contains("at least"));
    assert!(observation(&of_ib, "port.link_lost").contains("at least 255 times"));
    for (protocol, has_perfquery) in [("ib", true), ("opa", false), ("roce", false)] {
        let fixes = report(protocol).findings.into_iter().filter_map(|found| found.finding.fix);
        let mut fixes = fixes.filter(|fix| fix.contains("perfquery"));
        assert_eq!(fixes.next().is_some(), has_perfquery, "{protocol}");
    }
}

#[test]
fn only_infiniband_has_ibportstate() {
    let fix = |protocol: &str, netdev: Value| {
        let report = after(|hosts| {
            let port = &mut hosts[2]["devices"][0]["ports"][0];
            port["state"] = json!("down");
            port["phys_state"] = json!("Disabled");
            port["protocol"] = json!(protocol);
            port["netdev"] = netdev.clone();
        });
        let mut disabled =
            report.findings.into_iter().filter(|found| found.check.id == "port.disabled");
        disabled.next().unwrap().finding.fix.unwrap()
    };
    let enable =
        "on n3: connect the cable, and enable the port: ibportstate -C mlx5_0 -P 1 -D 0 1 enable";
    assert_eq!(fix("ib", json!("ib0")), enable);
    assert_eq!(fix("opa", json!(null)), "on n3: opaportconfig -p 1 enable");
    for (protocol, netdev) in
        [("roce", json!("eth1")), ("iwarp", json!("eth1")), ("roce", json!(null))]
    {
        assert!(!fix(protocol, netdev.clone()).contains("portstate"), "{protocol} {netdev}");
    }
}

#[test]
fn a_port_without_a_link_does_not_move_the_rails_of_its_host() {
    let report = after(|hosts| {
        for (at, host) in hosts.iter_mut().enumerate() {
            let ports = host["devices"][1]["ports"].as_array_mut().unwrap();
            let mut second = ports[0].clone();
            (second["number"], second["gids"]) = (json!(2), json!([]));
            (second["active_mtu"], second["netdev_mtu"]) = (json!(1024), json!(1500));
            ports.push(second);
            if at == 2 {
                ports[0]["state"] = json!("down");
            }
        }
    });
    assert_eq!(found(&report, "mtu.differs"), [""; 0]);
    let report = after(|hosts| hosts[2]["devices"][1]["ports"][0]["active_mtu"] = json!(2048));
    assert_eq!(found(&report, "mtu.differs"), ["warn n3"]);
}

#[test]
fn boards_of_one_type_may_have_different_rates() {
    let slow = |board: &str| {
        let report = after(|hosts| {
            let device = &mut hosts[2]["devices"][0];
            device["board_id"] = json!(board);
            device["ports"][0]["rate_bps"] = json!(200_000_000_000_u64);
        });
        found(&report, "port.slow")
    };
    assert_eq!(slow("MT_2"), [""; 0]);
    assert_eq!(slow("MT_1"), ["warn n3"]);
}

/// Adds a device for the planes of the first device to the third host.
fn add_planes(hosts: &mut [Value]) {
    let host = &mut hosts[2];
    let mut planes = host["devices"][0].clone();
    planes["name"] = json!("smi0");
    planes["netlink"] = json!({ "index": 7, "sub_type": "smi", "parent": "mlx5_0" });
    (planes["verbs"], planes["uverbs"], planes["gpus"]) = (json!(null), json!(null), json!(null));
    (planes["provider"], planes["node_guid"]) = (json!(null), json!("5054:00ff:fe12:9999"));
    planes["ports"][0]["rate_bps"] = json!(100_000_000_000_u64);
    planes["ports"][0]["netdev"] = json!(null);
    host["devices"].as_array_mut().unwrap().push(planes);
    host["problems"] = json!([{
        "key": "smi0/verbs", "source": "libibverbs", "detail": "not listed",
    }]);
}

#[test]
fn the_planes_of_a_port_are_no_slow_device_without_a_file() {
    let report = after(add_planes);
    for id in ["device.count_differs", "port.slow", "unreadable"] {
        assert_eq!(found(&report, id), [""; 0], "{id}");
    }
    let report = after(|hosts| {
        add_planes(hosts);
        hosts[2]["devices"][2]["netlink"]["sub_type"] = json!(null);
    });
    for id in ["device.count_differs", "port.slow", "unreadable"] {
        assert_eq!(found(&report, id).len(), 1, "{id}");
    }
}

#[test]
fn a_value_that_the_kernel_does_not_have_is_not_unreadable() {
    let report = |key: &str, source: &str, is_down: bool| {
        after(|hosts| {
            if is_down {
                hosts[2]["devices"][0]["ports"][0]["state"] = json!("init");
            }
            hosts[2]["problems"] = json!([{
                "key": key, "source": source, "errno": "EINVAL", "detail": "cannot read",
            }]);
        })
    };
    let of_netlink = report("netlink", "RDMA netlink, devices", false);
    assert_eq!(found(&of_netlink, "unreadable"), [""; 0], "Linux 3.10");
    assert_eq!(of_netlink.hosts[2].results["device.exhausted"].word(), "skip");
    let rate = "/sys/class/infiniband/mlx5_0/ports/1/rate";
    assert_eq!(found(&report("mlx5_0/1/rate_bps", rate, true), "unreadable"), [""; 0]);
    assert_eq!(found(&report("mlx5_0/1/rate_bps", rate, false), "unreadable").len(), 1);
    let of_link = report("netlink", "RDMA netlink, ports of device 0", false);
    assert_eq!(found(&of_link, "unreadable").len(), 1);
    assert_eq!(of_link.hosts[2].results["device.exhausted"].word(), "unknown");
}

#[test]
fn a_driver_without_flow_control_is_not_lossy() {
    let result = |pause: Value| {
        let report = after(|hosts| {
            let netdev = &mut hosts[2]["netdevs"][2];
            netdev["ethernet"] = json!({ "counters": [], "pause": pause.clone() });
            netdev["master"] = json!(null);
            hosts[2]["devices"][1]["ports"][0]["netdev"] = json!("eth0");
        });
        report.hosts[2].results["port.lossy"].word()
    };
    assert_eq!(result(json!(null)), "skip", "a virtual function");
    assert_eq!(result(json!({ "rx": false, "tx": false })), "info");
}
