//! rdmactl on real kernels: soft-RoCE and soft-iWARP on virtual nodes of three Debian releases.
//!
//! Run `cargo test --test lab` with `RDMACTL_NODE_BINARY` set to the portable binary. The test
//! boots one cluster. Before each scenario it checks that the cluster is clean.

#![expect(clippy::expect_used, clippy::panic, reason = "a test without its nodes has failed")]

#[allow(dead_code, reason = "several test binaries have this module, and none uses all of it")]
#[path = "lab/check.rs"]
mod check;
#[path = "lab/cluster.rs"]
mod cluster;
#[allow(dead_code, reason = "several test binaries have this module, and none uses all of it")]
#[path = "lab/consumers.rs"]
mod consumers;
#[allow(dead_code, reason = "several test binaries have this module, and none uses all of it")]
#[path = "lab/iproute2.rs"]
mod iproute2;
#[path = "lab/iwarp.rs"]
mod iwarp;
#[allow(dead_code, reason = "several test binaries have this module, and none uses all of it")]
#[path = "lab/older_tools.rs"]
mod older_tools;
#[path = "support/fields.rs"]
mod table;

use cluster::roce;
use serde_json::Value;

const ALL: &[&str] = &["n1", "n2", "n3", "n4"];
const SET: &str = "n[1-4]";

/// Stages at which a run may be when a worker is stopped or killed.
const ANY_STAGE: &[&str] =
    &["agent", "open", "tcp", "connect", "first_message", "full_mtu", "latency"];

#[test]
fn three_releases_ping_each_other() {
    let lab = roce();
    let matrix = lab.matrix(SET, ALL);
    matrix.assert_all_well(12);
    assert_eq!(warnings(&matrix), []);
    let kernels: Vec<&str> = matrix.0.json["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| &host["kernel"].as_str().unwrap()[..4])
        .collect();
    assert_eq!(kernels, ["6.1.", "6.12", "5.10", "6.12"]);
    for pair in matrix.pairs() {
        assert_eq!(pair["route"]["protocol"], "roce");
        assert_eq!(pair["route"]["mtu"], 4096);
        assert!(pair["tcp"]["rtt_ns"]["p50"].as_u64().unwrap() > 0, "{pair}");
    }
}

#[test]
fn devices_are_listed_from_every_node() {
    let lab = roce();
    let answer = lab.rdmactl(&["devices", "-v", "-H", SET]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    for host in answer.json["hosts"].as_array().unwrap() {
        assert_eq!(host["via"], "agent");
        let port = &host["devices"][0]["ports"][0];
        assert_eq!((&port["state"], &port["active_mtu"]), (&"active".into(), &4096.into()));
        assert_eq!(host["verbs"]["state"], "answered");
    }
}

#[test]
fn checks_name_each_fault_and_their_fixes_end_it() {
    check::assert_fixes_work(&roce(), SET);
}

#[test]
fn connections_and_tcp_fallbacks_are_reported() {
    consumers::assert_told(&cluster::consumers());
}

#[test]
fn a_node_without_rdmactl_gets_it_by_upload_and_keeps_nothing() {
    let lab = roce();
    let hide = "mv /usr/local/bin/rdmactl /run/hidden";
    lab.on("n1", hide);
    let without = lab.rdmactl(&["devices", "-H", "n[1-2]"]);
    let objects = lab.rdmactl(&["resources", "-H", "n1"]);
    let uploaded = lab.rdmactl(&["devices", "-H", "n1", "--upload"]);
    let left = lab.on("n1", "find / -xdev /dev/shm /run /tmp -name '.rdmactl-*' 2>/dev/null");
    lab.on("n1", "mv /run/hidden /usr/local/bin/rdmactl");
    // Without rdmactl on n1, its shell reads files. Reports of netlink are problems with a fix.
    let by_shell = &without.json["hosts"][0];
    assert_eq!((without.code, &by_shell["via"]), (0, &"sh".into()), "{}", without.stderr);
    let problems = objects.json["hosts"][0]["problems"].as_array().unwrap();
    let advice = "add --upload, or install rdmactl on the host";
    assert_eq!(objects.code, 3, "{}", objects.stderr);
    assert!(problems.iter().any(|problem| problem["fix"] == advice), "{problems:?}");
    let (shell, agent) = (&by_shell["devices"][0], &uploaded.json["hosts"][0]["devices"][0]);
    for field in ["name", "driver", "node_guid", "node_type", "fw_version", "protocol"] {
        assert_eq!(shell[field], agent[field], "{field}");
    }
    for field in ["number", "state", "phys_state", "link_layer", "rate_bps", "gids"] {
        assert_eq!(shell["ports"][0][field], agent["ports"][0][field], "{field}");
    }
    assert_eq!(without.json["hosts"][1]["via"], "agent");
    assert_eq!((uploaded.code, &uploaded.json["hosts"][0]["via"]), (0, &"upload".into()));
    assert_eq!(left, "", "the uploaded agent removes itself");
}

#[test]
fn the_portable_binary_is_sent_to_the_oldest_release() {
    let lab = roce();
    let hide = "mv /usr/local/bin/rdmactl /run/hidden";
    lab.on("n3", hide);
    let uploaded = lab.rdmactl(&["devices", "-v", "-H", "n[2-3]", "--upload"]);
    lab.on("n3", "mv /run/hidden /usr/local/bin/rdmactl");
    assert_eq!(uploaded.code, 0, "{}", uploaded.stderr);
    let hosts = uploaded.json["hosts"].as_array().unwrap();
    let via: Vec<&serde_json::Value> = hosts.iter().map(|host| &host["via"]).collect();
    assert_eq!(via, ["agent", "upload"]);
    for host in hosts {
        assert_eq!(host["verbs"]["state"], "answered", "{host}");
        assert_eq!(host["devices"][0]["ports"][0]["state"], "active");
    }
}

#[test]
fn where_root_may_not_log_in_sudo_reads_what_only_root_may() {
    let lab = roce();
    lab.lab(&["fault", "ssh-refuse-user", "n2"]);
    let ask = |login: &[&str]| {
        let answer = lab.rdmactl(&[&["connections", "-H", "n2"], login].concat());
        answer.json["hosts"][0].clone()
    };
    assert_eq!(ask(&[])["failure"]["reason"], "auth");
    let (user, root) = (ask(&["-l", "user"]), ask(&["-l", "user", "--sudo"]));
    assert_eq!(user["problems"][0]["key"], "consumers/holders", "{user}");
    assert_eq!(root["problems"], serde_json::json!([]), "{root}");
    let ping = lab.rdmactl(&["ping", "-H", "n2", "n1", "-l", "user", "--sudo"]);
    let verdict = &ping.json["pairs"][0]["verdict"];
    assert_eq!((ping.code, &verdict["code"]), (0, &"ok".into()), "{}", ping.json);
}

#[test]
fn root_without_the_capability_for_ptrace_knows_that_processes_are_hidden() {
    let lab = roce();
    let ask = |prefix: &str| {
        let answer = lab.on("n2", &format!("{prefix} rdmactl connections --json || true"));
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        answer["hosts"][0]["problems"].clone()
    };
    let (all, some) = (ask(""), ask("setpriv --bounding-set=-sys_ptrace"));
    assert_eq!(all, serde_json::json!([]));
    assert_eq!(some[0]["key"], "consumers/holders", "{some}");
}

#[test]
fn unreachable_hosts_are_one_clear_row_each() {
    let lab = roce();
    lab.lab(&["fault", "power-off", "n1"]);
    lab.lab(&["fault", "ssh-wrong-hostkey", "n2"]);
    lab.lab(&["fault", "ssh-refuse-user", "n3"]);
    let answer = lab.rdmactl(&["devices", "-H", SET]);
    assert_eq!(answer.code, 3, "{}", answer.stderr);
    let reasons: Vec<&serde_json::Value> = answer.json["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| &host["failure"]["reason"])
        .collect();
    assert_eq!(reasons[1..3], ["hostkey_changed", "auth"]);
    assert!(["refused", "unreachable", "timeout"].contains(&reasons[0].as_str().unwrap()));
    assert_eq!(answer.json["hosts"][3]["devices"][0]["name"], "rxe0");
}

#[test]
fn a_filtered_port_is_not_a_dead_host() {
    let lab = roce();
    lab.lab(&["fault", "udp4791-drop", "n3"]);
    let matrix = lab.matrix(SET, ALL);
    matrix.assert_only("n3", &["roce.udp4791_blocked"], &["connect"]);
}

#[test]
fn bandwidth_datagrams_and_unreliable_connections_are_measured_where_asked_for() {
    let lab = roce();
    let tests = "lat,bw,tcp-lat,tcp-bw,ud,uc";
    let matrix = lab.ping(&["--matrix", "n2,n4", "--test", tests], &["n2", "n4"]);
    matrix.assert_all_well(2);
    for pair in matrix.pairs() {
        assert_eq!((&pair["verdict"]["code"], &pair["transport"]), (&"ok".into(), &"rdma".into()));
        for name in ["bandwidth", "tcp_bandwidth"] {
            let seen = |key: &str| pair[name][key].as_u64().unwrap();
            assert!(seen("bytes") > 0 && seen("median_bps") >= seen("min_bps"), "{pair}");
        }
        let datagrams = &pair["datagrams"];
        let count = |key: &str| datagrams[key].as_u64().unwrap();
        assert!(0 < count("answered") && count("answered") <= count("sent"), "{pair}");
        assert!(datagrams["latency"]["rtt_ns"]["p50"].as_u64().unwrap() > 0, "{pair}");
        assert!(pair["unreliable"]["passed"]["count"].as_u64().unwrap() > 0, "{pair}");
    }
}

/// Returns the numbers of management datagrams of a pair: sent requests and received replies.
fn mads(pair: &Value) -> (u64, u64) {
    let count = |key: &str| pair["mad"][key].as_u64().unwrap_or_default();
    (count("sent"), count("answered"))
}

#[test]
fn mads_pass_between_three_releases_over_ipv6_and_ipv4_gids() {
    let lab = roce();
    let three = &["n1", "n2", "n3"];
    for (more, is_gid) in [(&[][..], "fe80:"), (&["--gid-index", "1"][..], "::ffff:")] {
        let matrix = lab.ping(&[&["--mad", "--matrix", "n[1-3]"], more].concat(), three);
        assert_eq!((matrix.0.code, matrix.pairs().len()), (0, 6), "{matrix:?}");
        for pair in matrix.pairs() {
            let (sent, answered) = mads(pair);
            assert!(answered > 0 && sent - answered <= 1, "{pair}");
            assert!(pair["mad"]["source_gid"].as_str().unwrap().starts_with(is_gid), "{pair}");
            let rtt = &pair["mad"]["latency"]["rtt_ns"];
            assert!(rtt["min"].as_u64().unwrap() <= rtt["p50"].as_u64().unwrap(), "{pair}");
            assert_eq!(pair["rdma"], Value::Null, "no connection is made: {pair}");
        }
    }
    let both = lab.ping(&["--test", "conn,lat,mad", "--matrix", "n[1-2]"], &["n1", "n2"]);
    both.assert_all_well(2);
    assert!(both.pairs().iter().all(|pair| mads(pair).1 > 0), "{both:?}");
}

#[test]
fn a_host_without_ib_umad_and_a_login_without_access_are_clear_rows() {
    let lab = roce();
    lab.on("n4", "modprobe -r ib_umad");
    let three = &["n1", "n2", "n4"];
    let matrix = lab.ping(&["--mad", "--matrix", "n[1-2,4]"], three);
    lab.on("n4", "modprobe ib_umad");
    matrix.assert_only("n4", &["local.no_umad"], &["open"]);
    for pair in matrix.pairs().iter().filter(|pair| pair["verdict"]["code"] != "ok") {
        let hint = pair["verdict"]["hint"].as_str().unwrap_or_default();
        assert!(hint.starts_with("on n4, load the module") && hint.contains("modprobe ib_umad"));
    }
    let denied = lab.ping(&["--mad", "-H", "n1", "user@n2"], &["n1", "n2"]);
    let verdict = &denied.pairs()[0]["verdict"];
    assert_eq!(
        (&verdict["code"], &verdict["side"]),
        (&"local.permission".into(), &"target".into())
    );
    assert!(verdict["detail"].as_str().unwrap().contains("/dev/infiniband/umad0"), "{verdict}");
    assert!(verdict["hint"].as_str().unwrap().contains("--sudo"), "{verdict}");
    let allowed = lab.ping(&["--mad", "-H", "n1", "user@n2", "--sudo"], &["n1", "n2"]);
    assert_eq!(allowed.0.code, 0, "{allowed:?}");
}

/// Four nodes share two CPUs, so round-trip times vary by several times. The delays of the test
/// are longer than this variation.
#[test]
fn a_node_that_answers_late_is_named_and_no_other() {
    let lab = roce();
    for (node, delay) in [("n1", "30ms"), ("n2", "30ms"), ("n3", "30ms"), ("n4", "90ms")] {
        lab.lab(&["fault", "delay", node, "--value", delay]);
    }
    let answer = lab.rdmactl(&["ping", "--matrix", SET, "--slot", "100ms"]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let outliers = answer.json["outliers"].as_array().unwrap();
    assert_eq!(outliers.len(), 1, "{outliers:?}");
    let slow = &outliers[0];
    assert_eq!((&slow["kind"], &slow["host"]), (&"host".into(), &3.into()), "{slow}");
    assert_eq!((&slow["retested"], &slow["software"]), (&true.into(), &true.into()), "{slow}");
    // Half a round trip to n4 takes 30 ms longer than to the other nodes.
    let slower = slow["slower_ns"].as_u64().unwrap();
    assert!((20_000_000..45_000_000).contains(&slower), "{slow}");
}

/// Returns the codes of the warnings, each with the hosts that it names.
fn warnings(matrix: &cluster::Matrix) -> Vec<(String, Vec<u64>)> {
    let all = matrix.0.json["warnings"].as_array().expect("a list").iter();
    let code = |one: &Value| one["code"].as_str().expect("a code").to_owned();
    let hosts = |one: &Value| -> Vec<u64> {
        one["hosts"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect()
    };
    all.map(|one| (code(one), hosts(one))).collect()
}

#[test]
fn an_address_of_two_nodes_is_named_and_not_used() {
    let lab = roce();
    let own = lab.on("n1", "ip -4 -o address show eth1 | awk '{print $4}'");
    let own = own.trim();
    lab.on("n2", &format!("ip address add {own} dev eth1"));
    let matrix = lab.ping(&["--matrix", "n[1-3]"], &["n1", "n2", "n3"]);
    lab.on("n2", &format!("ip address del {own} dev eth1"));
    matrix.assert_all_well(6);
    assert_eq!(warnings(&matrix), [("address.duplicate".into(), vec![0, 1])], "{matrix:?}");
    let address = own.split('/').next().expect("an address");
    for pair in matrix.pairs() {
        for end in ["source", "target"] {
            let gid = pair["route"][end]["gid"].as_str().expect("a GID");
            assert!(!gid.ends_with(&format!(":{address}")), "{pair}");
        }
    }
}

#[test]
fn a_smaller_mtu_is_negotiated() {
    let lab = roce();
    lab.lab(&["fault", "mtu-small", "n4"]);
    let matrix = lab.matrix(SET, ALL);
    matrix.assert_all_well(12);
    assert_eq!(matrix.pairs()[2]["route"]["mtu"], 1024, "{matrix:?}");
    assert_eq!(matrix.pairs()[0]["route"]["mtu"], 4096, "{matrix:?}");
}

#[test]
fn a_path_that_drops_full_packets_is_a_black_hole() {
    let lab = roce();
    lab.lab(&["fault", "drop-large", "n4"]);
    lab.matrix(SET, ALL).assert_only("n4", &["mtu.blackhole"], &["full_mtu"]);
}

#[test]
fn a_stopped_worker_is_a_hung_peer() {
    let lab = roce();
    lab.lab(&["fault", "worker-stop", "n2"]);
    lab.matrix(SET, ALL).assert_only("n2", &["peer.hung"], ANY_STAGE);
}

#[test]
fn a_node_that_loses_power_in_the_middle_is_a_dead_peer() {
    let lab = roce();
    let alive = ["n1", "n2", "n3"];
    let worker_appears = lab.wait_on("n4", "pgrep -f '[a]gent worker'");
    let matrix = std::thread::scope(|scope| {
        let run = scope.spawn(|| lab.matrix(SET, &alive));
        worker_appears();
        lab.lab(&["fault", "power-off", "n4"]);
        run.join().expect("the run ends")
    });
    matrix.assert_from_some_point_on("n4", "peer.dead");
}

#[test]
fn soft_iwarp_is_connected_through_the_connection_manager() {
    iwarp::assert_connected(&["12", "12"]);
}
