//! Scenarios that need other nodes or more time than those of `tests/lab.rs`: `make test-full`.

#![expect(clippy::expect_used, clippy::panic, reason = "a test without its nodes has failed")]

#[allow(dead_code, reason = "several test binaries have this module, and none uses all of it")]
#[path = "lab/check.rs"]
mod check;
#[path = "lab/cluster.rs"]
mod cluster;
#[allow(dead_code, reason = "several test binaries have this module, and none uses all of it")]
#[path = "lab/consumers.rs"]
mod consumers;
#[path = "lab/iproute2.rs"]
mod iproute2;
#[path = "lab/iwarp.rs"]
mod iwarp;
#[path = "lab/older_tools.rs"]
mod older_tools;
#[path = "support/fields.rs"]
mod table;
#[allow(dead_code, reason = "several test binaries have this module, and none uses all of it")]
#[path = "top/terminal.rs"]
mod terminal;
#[allow(dead_code, reason = "several test binaries have this module, and none uses all of it")]
#[path = "lab/top.rs"]
mod top;
#[path = "lab/worker.rs"]
mod worker;

use std::io::BufReader;
use std::time::Duration;

use cluster::{Cluster, Matrix, roce, wait};
use rdmactl::model::probe::{Act, Cause, Opened, StepError, StepResult};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use worker::Worker;

const ALL: &[&str] = &["n1", "n2", "n3", "n4"];
const SET: &str = "n[1-4]";

fn codes(matrix: &Matrix) -> Vec<&str> {
    matrix.pairs().iter().map(|pair| pair["verdict"]["code"].as_str().expect("a code")).collect()
}

/// Returns the codes of the findings, each with the host that it names.
fn findings(matrix: &Matrix) -> Vec<(&str, &Value)> {
    let findings = matrix.0.json["findings"].as_array().expect("a list").iter();
    findings.map(|finding| (finding["code"].as_str().expect("a code"), &finding["host"])).collect()
}

#[test]
fn reports_match_iproute2_on_three_releases() {
    let lab = roce();
    iproute2::assert_matched(&lab, SET, ALL);
}

#[test]
fn older_tools_are_matched_on_three_releases() {
    let lab = roce();
    older_tools::assert_matched(&lab, ALL);
    for (node, tool) in [("n2", "ibstat"), ("n3", "ibv_devinfo")] {
        assert_eq!(lab.compat(node, tool), lab.on(node, tool), "{tool} of {node} by -H");
    }
}

#[test]
fn an_odd_number_of_nodes_is_pinged_in_full() {
    roce().matrix("n[1-3]", &["n1", "n2", "n3"]).assert_all_well(6);
}

#[test]
fn a_node_that_loses_all_packets_is_down_on_this_rail_and_not_dead() {
    let lab = roce();
    lab.lab(&["fault", "loss", "n2", "--value", "100%"]);
    let matrix = lab.ping(&["--matrix", SET], ALL);
    matrix.assert_only("n2", &["rail.down", "l2.no_neighbour"], ANY_STAGE);
}

fn warnings(matrix: &Matrix) -> Vec<(&str, &Value)> {
    let warnings = matrix.0.json["warnings"].as_array().expect("a list").iter();
    warnings.map(|one| (one["code"].as_str().expect("a code"), &one["hosts"])).collect()
}

#[test]
fn a_node_whose_packets_are_damaged_is_named() {
    let lab = roce();
    lab.on("n2", "tc qdisc add dev eth1 root netem corrupt 10%");
    let matrix = lab.ping(&["--matrix", SET], ALL);
    lab.on("n2", "tc qdisc del dev eth1 root");
    matrix.assert_all_well(12);
    assert_eq!(warnings(&matrix), [("path.lossy", &json!([1]))], "{matrix:?}");
}

#[test]
fn a_node_that_drops_tcp_beside_rdma_is_named() {
    let lab = roce();
    let filter =
        |way| format!("tc filter add dev eth1 {way} protocol ip flower ip_proto tcp action drop");
    lab.on(
        "n2",
        &format!("tc qdisc add dev eth1 clsact && {} && {}", filter("ingress"), filter("egress")),
    );
    let matrix = lab.ping(&["--matrix", SET], ALL);
    lab.on("n2", "tc qdisc del dev eth1 clsact");
    matrix.assert_all_well(12);
    assert_eq!(warnings(&matrix), [("tcp.blocked", &json!([1]))], "{matrix:?}");
}

#[test]
fn a_route_that_takes_the_replies_of_tcp_is_no_firewall() {
    let lab = roce();
    let told = |node: &str, start: &str, stop: &str| {
        lab.on(node, start);
        let matrix = lab.ping(&["--matrix", "n[1-3]"], &["n1", "n2", "n3"]);
        lab.on(node, stop);
        matrix.assert_all_well(6);
        assert_eq!(warnings(&matrix), [("tcp.local_error", &json!([1]))], "{matrix:?}");
        let warning = &matrix.0.json["warnings"][0];
        let hint = warning["hint"].as_str().expect("a hint");
        assert!(hint.contains("on n2, find the route or rule: ip route get 10.10.1."), "{hint}");
        warning["detail"].as_str().expect("a sentence").to_owned()
    };
    let route = |kind: &str| {
        let act = |act: &str| format!("ip route {act} {kind} 10.10.1.1");
        told("n2", &act("add"), &act("del"))
    };
    for (kind, errno) in
        [("blackhole", "EINVAL"), ("prohibit", "EACCES"), ("unreachable", "EHOSTUNREACH")]
    {
        let detail = route(kind);
        assert!(detail.contains(errno) && detail.contains(kind), "{detail}");
    }
    for rule in ["from 10.10.1.2 to 10.10.1.1 prohibit", "to 10.10.1.1 ipproto tcp prohibit"] {
        let act = |act: &str| format!("ip rule {act} {rule}");
        let detail = told("n2", &act("add"), &act("del"));
        assert!(detail.contains("EACCES"), "{detail}");
    }
    let detail = told(
        "n2",
        "ip addr del 10.10.1.2/24 dev eth1; ip addr add 10.10.1.2/32 dev eth1",
        "ip addr del 10.10.1.2/32 dev eth1; ip addr add 10.10.1.2/24 dev eth1",
    );
    assert!(detail.contains("leave through another network interface"), "{detail}");
}

#[test]
fn a_host_without_a_free_port_is_no_firewall() {
    let lab = roce();
    lab.on("n2", "sysctl -w net.ipv4.ip_local_port_range='60000 60000'");
    let taken = "python3 -c 'import socket, time; s = socket.socket(); s.bind((\"0.0.0.0\", 60000)); s.listen(); time.sleep(60)'";
    lab.on("n2", &format!("{taken} >/dev/null 2>&1 </dev/null & sleep 1"));
    let matrix = lab.ping(&["--matrix", "n[1-3]"], &["n1", "n2", "n3"]);
    lab.on("n2", "sysctl -w net.ipv4.ip_local_port_range='32768 60999'; pkill -f time.sleep");
    matrix.assert_all_well(6);
    assert_eq!(warnings(&matrix), [("tcp.local_error", &json!([1]))], "{matrix:?}");
    let detail = matrix.0.json["warnings"][0]["detail"].as_str().expect("a sentence");
    assert!(detail.contains("no local port is free"), "{detail}");
}

#[test]
fn a_wrong_neighbour_entry_of_one_pair_is_no_broken_link() {
    let lab = roce();
    lab.on("n1", "ip neigh replace 10.10.1.2 lladdr 02:00:00:00:00:77 nud permanent dev eth1");
    let matrix = lab.ping(&["--matrix", "n[1-3]"], &["n1", "n2", "n3"]);
    lab.on("n1", "ip neigh del 10.10.1.2 dev eth1");
    assert_eq!(findings(&matrix), [("rail.down", &Value::Null)], "{matrix:?}");
    let finding = &matrix.0.json["findings"][0];
    let hint = finding["hint"].as_str().expect("a hint");
    assert!(hint.contains("on n1: ip neigh show 10.10.1.2; ip route get 10.10.1.2"), "{hint}");
    assert!(!hint.contains("ethtool"), "{hint}");
}

#[test]
fn a_bridge_and_a_mac_address_of_two_hosts_are_no_firewall() {
    let lab = roce();
    let three = ["n1", "n2", "n3"];
    lab.on(
        "n2",
        "ip link add br0 type bridge; ip link set br0 up; ip addr del 10.10.1.2/24 dev eth1; ip link set eth1 master br0; \
         ip addr add 10.10.1.2/24 dev br0; sleep 2",
    );
    let matrix = lab.ping(&["--matrix", "n[1-3]"], &three);
    lab.on("n2", "ip link set eth1 nomaster; ip link del br0; ip addr add 10.10.1.2/24 dev eth1");
    matrix.assert_only("n2", &["roce.bridge"], ANY_STAGE);
    let mac = lab.on("n1", "cat /sys/class/net/eth1/address");
    let own = lab.on("n2", "cat /sys/class/net/eth1/address");
    lab.on("n2", &format!("ip link set eth1 address {}", mac.trim()));
    let matrix = lab.ping(&["--matrix", "n[1-3]"], &three);
    lab.on("n2", &format!("ip link set eth1 address {}", own.trim()));
    assert!(warnings(&matrix).contains(&("mac.duplicate", &json!([0, 1]))), "{matrix:?}");
    assert!(!codes(&matrix).contains(&"roce.udp4791_blocked"), "{matrix:?}");
    assert!(codes(&matrix).contains(&"l2.mac_duplicate"), "{matrix:?}");
}

#[test]
fn a_full_queue_is_no_firewall() {
    let lab = roce();
    lab.on("n2", "tc qdisc add dev eth1 root tbf rate 1mbit burst 10k limit 30k");
    let matrix = lab.ping(&["--matrix", "n[1-3]", "--test", "bw"], &["n1", "n2", "n3"]);
    lab.on("n2", "tc qdisc del dev eth1 root");
    for pair in matrix.pairs() {
        let codes = [&pair["verdict"]["code"], &pair["first"]["code"]];
        assert!(!codes.contains(&&json!("roce.udp4791_blocked")), "{pair}");
    }
}

/// Stops the operator while it tests the first pair. Returns the report of the run.
fn ping_with_pause(lab: &Cluster, pause: Duration) -> Value {
    // Each pair takes two seconds, so the run is not over when the operator is stopped.
    let flags = ["ping", "--matrix", "n[1-3]", "--iters", "1000000", "--slot", "2s"];
    let run = lab.start(&flags);
    let pid = Pid::from_child(&run);
    lab.wait_on("n1", "rdma resource show qp | grep -q rdmactl")();
    kill_process(pid, Signal::STOP).expect("the program runs");
    wait(pause);
    kill_process(pid, Signal::CONT).expect("the program is there");
    let output = run.wait_with_output().expect("the program ends");
    for node in ["n1", "n2", "n3"] {
        lab.assert_nothing_left(node);
    }
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["summary"]["failed"], 0, "{report}");
    assert_eq!(report["findings"], json!([]), "{report}");
    report
}

#[test]
fn operator_paused_beyond_the_lease_reports_no_failed_pair() {
    let report = ping_with_pause(&roce(), Duration::from_secs(5));
    assert_eq!(report["summary"]["ok"], 6, "{report}");
}

#[test]
fn operator_paused_beyond_the_lease_of_the_agents_tests_no_more_pairs() {
    let report = ping_with_pause(&roce(), Duration::from_secs(90));
    assert_ne!(report["summary"]["not_tested"], 0, "{report}");
    let pairs = report["pairs"].as_array().expect("a list");
    let of = |code: &str| pairs.iter().filter(|pair| pair["verdict"]["code"] == code).count();
    assert_eq!(of("ok") + of("not_tested"), 6, "{report}");
}

#[test]
fn an_mtu_that_is_forced_on_a_smaller_link_is_named() {
    let lab = roce();
    // n1, n3 and n4 have Linux 6.1, 5.10 and 6.12. Each kernel handles a larger MTU differently.
    for node in ["n1", "n3", "n4"] {
        lab.lab(&["fault", "mtu-small", node]);
        let matrix = lab.ping(&["--matrix", SET, "--mtu", "4096"], ALL);
        matrix.assert_only(node, &["mtu.mismatch"], &["connect"]);
        assert_eq!(findings(&matrix).len(), 1, "{matrix:?}");
        lab.lab(&["fault", "--undo", "mtu-small", node]);
    }
}

const ANY_STAGE: &[&str] =
    &["agent", "choose", "open", "tcp", "connect", "first_message", "full_mtu", "latency"];

#[test]
fn gids_that_do_not_fit_are_named_and_one_that_was_removed_is_not_used() {
    let lab = roce();
    let three = ["n1", "n2", "n3"];
    let matrix = lab.ping(&["--matrix", "n[1-3]", "--gid-index", "n2=200"], &three);
    matrix.assert_only("n2", &["gid.index"], &["choose"]);
    // GID 0 is link-local, and GID 1 has the IPv4 address.
    let matrix = lab.ping(&["--matrix", "n[1-3]", "--gid-index", "1,n2=0"], &three);
    matrix.assert_only("n2", &["gid.family"], &["choose"]);
    // n3 then has only its link-local GID. All nodes of the link have such a GID.
    lab.lab(&["fault", "address-removed", "n3"]);
    lab.matrix(SET, ALL).assert_all_well(12);
}

/// A fault that begins during a run is one finding, which names the node with the fault.
#[test]
fn fault_during_a_run_is_one_finding_of_its_host() {
    let lab = roce();
    // Each pair takes a second, so the run is not over when the fault begins.
    let flags = ["--matrix", SET, "--iters", "1000000", "--slot", "1s"];
    let breaks = |command: &str| {
        let fault = format!("{{ pgrep -f '[a]gent worker' && sleep 3 && {command}; }}");
        let happened = lab.wait_on("n4", &fault);
        let matrix = lab.ping(&flags, ALL);
        happened();
        assert_eq!(matrix.0.code, 1, "{matrix:?}");
        assert_eq!(findings(&matrix).len(), 1, "{matrix:?}");
        lab.lab(&["reset"]);
        (findings(&matrix)[0].0.to_owned(), findings(&matrix)[0].1.clone())
    };
    assert_eq!(breaks("ip link set eth1 down"), ("local.link_down".into(), 3.into()));
    assert_eq!(breaks("ip addr flush dev eth1"), ("gid.index".into(), 3.into()));
}

#[test]
fn a_full_neighbor_table_is_reported_with_its_limit() {
    let lab = roce();
    let limit = |limits: [u32; 3]| {
        let set = |(number, limit): (usize, &u32)| {
            format!("sysctl -w net.ipv4.neigh.default.gc_thresh{}={limit}; ", number + 1)
        };
        lab.on("n1", &limits.iter().enumerate().map(set).collect::<String>());
    };
    limit([2; 3]);
    let matrix = lab.ping(&["--matrix", SET], ALL);
    limit([128, 512, 1_024]);
    assert_eq!(matrix.0.code, 1, "{matrix:?}");
    assert_eq!(findings(&matrix), [("l2.no_neighbour", &Value::from(0))], "{matrix:?}");
    let finding = &matrix.0.json["findings"][0];
    assert!(finding["detail"].as_str().unwrap().contains("2 of 2 entries"), "{finding}");
    assert!(finding["hint"].as_str().unwrap().contains("gc_thresh3="), "{finding}");
}

/// Without a route, the kernel of n1 and n4 looks for the address on the local network. So the
/// address of n2 works if n2 replies to ARP, and it has no route if n2 does not.
#[test]
fn an_address_outside_all_subnets_has_no_route() {
    let lab = roce();
    lab.lab(&["fault", "address-removed", "n2"]);
    let stray = |act: &str, address: &str, arp: &str| {
        let link = "dev $(cat /sys/class/infiniband/rxe0/parent)";
        lab.on("n2", &format!("ip addr {act} {address}/24 {link}; ip link set {link} arp {arp}"));
    };
    let three = ["n1", "n2", "n4"];
    stray("add", "10.99.1.1", "on");
    let with_arp = lab.ping(&["--matrix", "n1,n2,n4"], &three);
    stray("del", "10.99.1.1", "on");
    // Another address, which is in no neighbor table.
    stray("add", "10.99.1.2", "off");
    let matrix = lab.ping(&["--matrix", "n1,n2,n4"], &three);
    stray("del", "10.99.1.2", "on");
    with_arp.assert_all_well(6);
    matrix.assert_only("n2", &["ip.no_route"], &["connect"]);
}

#[test]
fn a_node_that_pauses_during_a_run_is_tested_again() {
    let lab = roce();
    let is_measured = lab.wait_on("n1", "rdma resource show qp | grep comm | grep -qv '\\['");
    let matrix = std::thread::scope(|scope| {
        // Each pair takes a second, so the run is not over when the node stops.
        let flags = &["--matrix", SET, "--iters", "1000000", "--slot", "1s"];
        let run = scope.spawn(|| lab.ping(flags, ALL));
        is_measured();
        lab.lab(&["fault", "freeze", "n1"]);
        wait(Duration::from_secs(4));
        lab.lab(&["fault", "--undo", "freeze", "n1"]);
        run.join().expect("the run ends")
    });
    matrix.assert_all_well(12);
    let is_reported = matrix.pairs().iter().any(|pair| !pair["first"].is_null());
    assert!(is_reported, "{matrix:?}");
}

#[test]
fn a_run_that_is_ended_early_leaves_nothing() {
    let lab = roce();
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let is_measured = lab.wait_on("n1", "rdma resource show qp | grep comm | grep -qv '\\['");
        let run = lab.start(&["ping", "--matrix", SET, "--iters", "1000000", "--slot", "1s"]);
        is_measured();
        kill_process(Pid::from_child(&run), signal).expect("it runs");
        let output = run.wait_with_output().expect("it ends");
        for node in ALL {
            lab.assert_nothing_left(node);
        }
        if signal == Signal::KILL {
            continue;
        }
        assert_eq!(output.status.code(), Some(128 + signal.as_raw()), "{signal:?}");
        let known: Value = serde_json::from_slice(&output.stdout).expect("what is known by then");
        let pairs = known["pairs"].as_array().expect("pairs");
        let of = |code| pairs.iter().filter(|pair| pair["verdict"]["code"] == code).count();
        assert_eq!((pairs.len(), of("ok") + of("not_tested")), (12, 12), "{known}");
        assert!(of("not_tested") > 0, "{known}");
    }
}

#[test]
fn a_worker_that_stops_or_dies_during_a_run_has_its_own_verdict() {
    let lab = roce();
    for (fault, code) in [("worker-stop", "peer.hung"), ("worker-kill", "peer.dead")] {
        lab.lab(&["fault", fault, "n2", "--value", "3000"]);
        let flags = ["--matrix", SET, "--iters", "1000000", "--slot", "1s"];
        let matrix = lab.ping(&flags, ALL);
        matrix.assert_from_some_point_on("n2", code);
        assert_eq!(findings(&matrix).len(), 1, "{matrix:?}");
        lab.lab(&["reset"]);
    }
}

#[test]
fn a_device_that_is_removed_during_a_run_has_its_own_verdict() {
    let lab = roce();
    let add = "rdma link add rxe0 type rxe netdev eth1";
    for again in [String::new(), format!("; {add}"), format!("; sleep 3; {add}")] {
        let removal = format!(
            "until rdma resource show qp | grep -q 'type RC'; do sleep 0.2; done; sleep 1; \
             rdma link delete rxe0{again}"
        );
        let command = format!("setsid sh -c \"{removal}\" </dev/null >/dev/null 2>&1 &");
        lab.on("n2", &command);
        let flags = ["--matrix", "n[1-3]", "--iters", "1000000", "--slot", "1s"];
        let matrix = lab.ping(&flags, &["n1", "n2", "n3"]);
        matrix.assert_from_some_point_on("n2", "local.device_gone");
        assert_eq!(findings(&matrix).len(), 1, "{matrix:?}");
        lab.lab(&["reset"]);
    }
}

#[test]
fn a_watched_device_is_gone_until_it_is_back() {
    let lab = roce();
    let watch = ["devices", "-H", "n[1-2]", "--watch=1s", "--count", "30"];
    let mut run = lab.start_with_limit(&watch);
    let stdout = BufReader::new(run.stdout.take().expect("it is piped"));
    let samples = serde_json::Deserializer::from_reader(stdout).into_iter::<Value>();
    let (mut was_gone, mut is_back) = (false, false);
    for (number, sample) in samples.enumerate() {
        let sample = sample.expect("JSON");
        let is_gone = |host: usize| sample["hosts"][host]["devices"][0]["gone_since_ns"].is_u64();
        assert!(!is_gone(0), "{sample}");
        if number == 0 {
            lab.on("n2", "rdma link delete rxe0");
        }
        if is_gone(1) && !was_gone {
            was_gone = true;
            lab.on("n2", "sleep 3; rdma link add rxe0 type rxe netdev eth1");
        }
        is_back = was_gone && !is_gone(1);
    }
    let output = run.wait_with_output().expect("the program ends");
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(was_gone && is_back, "{notes}");
    assert_eq!(output.status.code(), Some(3), "{notes}");
    for note in [
        "n2: rxe0: the device was removed; first missing at ",
        "n2: rxe0: the device is back; it was missing for ",
    ] {
        assert_eq!(notes.matches(note).count(), 1, "{note}: {notes}");
    }
    for node in ["n1", "n2"] {
        lab.assert_nothing_left(node);
    }
}

#[test]
fn top_shows_a_removed_device_until_it_is_back() {
    let lab = roce();
    let folder = tempfile::tempdir().expect("a directory");
    let mut terminal = top::start(&lab, folder.path(), &["top", "-H", "n[1-2]"]);
    terminal.await_frame("2 hosts up");
    lab.on("n2", "rdma link delete rxe0");
    terminal.await_frame("device_gone");
    lab.on("n2", "sleep 3; rdma link add rxe0 type rxe netdev eth1");
    terminal.await_screen("device that is back", |screen| {
        let text = screen.contents();
        text.contains("2 hosts up") && !text.contains("device_gone")
    });
    terminal.press("q");
    assert_eq!(terminal.await_end().exit_code(), 0);
    for node in ["n1", "n2"] {
        lab.assert_nothing_left(node);
    }
}

#[test]
fn a_killed_agent_takes_its_worker_along() {
    let lab = roce();
    lab.lab(&["fault", "supervisor-kill", "n2", "--value", "3000"]);
    let flags = ["--matrix", SET, "--iters", "1000000", "--slot", "1s"];
    let matrix = lab.ping(&flags, ALL);
    matrix.assert_from_some_point_on("n2", "peer.dead");
    assert_eq!(findings(&matrix).len(), 1, "{matrix:?}");
}

/// Opens a port of soft-RoCE for datagrams only, as on EFA.
fn datagrams_only(worker: &mut Worker, gid: &str, role: &str) -> Result<Opened, StepError> {
    open(worker, gid, json!({ "method": "datagrams", "qkey": 17, "role": role }))
}

/// Opens rxe0. `how` has the method, the role and the numbers of the pair.
fn open(worker: &mut Worker, gid: &str, how: Value) -> Result<Opened, StepError> {
    let mut opening = json!({
        "device": "rxe0", "port": 1, "gid_index": 1, "gid": gid, "pkey_index": 0,
        "service_level": 0, "traffic_class": 0, "tcp_address": null, "netdev": "eth1",
        "purpose": "messages", "tcp_stream": false
    });
    let Value::Object(how) = how else { panic!("{how} is no object") };
    opening.as_object_mut().expect("an object").extend(how);
    let asked = worker.ask(Act::Open(serde_json::from_value(opening).expect("an opening")));
    match worker.answer(asked)? {
        StepResult::Opened(opened) => Ok(opened),
        other => panic!("{other:?}"),
    }
}

/// Sends the step that connects to the end `remote`. Returns the number of the step.
fn connect(worker: &mut Worker, remote: &Opened, gid: &str) -> u64 {
    let connecting = json!({
        "remote": remote, "remote_gid": gid, "mtu": 1024, "ack_timeout": 14, "retries": 3,
        "deadline_ms": 5_000
    });
    worker.ask(Act::Connect(serde_json::from_value(connecting).expect("a connecting")))
}

/// A third process may connect to the listener of a pair, or may listen at its address.
#[test]
fn an_rdma_cm_connection_is_made_by_the_peer_of_the_pair_only() {
    let lab = roce();
    let gids = ["::ffff:10.10.1.2", "::ffff:10.10.1.4"];
    let cm = |role: &str, proof: [u64; 2]| json!({ "method": "cm", "role": role, "proof": proof });
    let mut source = Worker::start(&lab, "n2", "");
    let mut intruder = Worker::start(&lab, "n2", "");
    let mut target = Worker::start(&lab, "n4", "");
    let listening = open(&mut target, gids[1], cm("target", [1, 2])).expect("a listener");
    let connecting = open(&mut source, gids[0], cm("source", [1, 2])).expect("an end");
    let unpaired = open(&mut intruder, gids[0], cm("source", [1, 3])).expect("an end");

    let accepted = connect(&mut target, &connecting, gids[0]);
    let refused = connect(&mut intruder, &listening, gids[1]);
    let refused = intruder.answer(refused).expect_err("the other end lacks the number");
    assert_eq!(refused.cause, Cause::Refused, "{refused:?}");
    let connected = connect(&mut source, &listening, gids[1]);
    for result in [source.answer(connected), target.answer(accepted)] {
        assert!(matches!(result, Ok(StepResult::Connected)), "{result:?}");
    }

    for worker in [&mut source, &mut intruder, &mut target] {
        let closed = worker.ask(Act::Close);
        worker.answer(closed).expect("closed");
    }
    // The listener has the number of the source, but not the number of the target.
    let listening = open(&mut target, gids[1], cm("target", [4, 2])).expect("a listener");
    let connecting = open(&mut source, gids[0], cm("source", [1, 2])).expect("an end");
    let accepted = connect(&mut target, &connecting, gids[0]);
    let connected = connect(&mut source, &listening, gids[1]);
    let error = source.answer(connected).expect_err("the listener lacks the number");
    assert!(error.detail.contains("the listener is not the peer"), "{error:?}");
    drop((target.answer(accepted), unpaired));
    for worker in [source, intruder, target] {
        worker.end();
    }
    lab.assert_nothing_left("n2");
    lab.assert_nothing_left("n4");
}

/// No node has an EFA adapter. The library of EFA rejects other adapters. With this library, and
/// with an empty file in its place, reliable datagrams fail and ordinary datagrams pass.
#[test]
fn where_reliable_datagrams_are_not_to_be_had_ordinary_ones_pass() {
    let lab = roce();
    let gids = ["::ffff:10.10.1.2", "::ffff:10.10.1.4"];
    for node in ["n2", "n4"] {
        lab.on(node, "mkdir -p /run/no-efa && : > /run/no-efa/libefa.so.1");
    }
    for environment in ["", "LD_LIBRARY_PATH=/run/no-efa"] {
        let mut here = Worker::start(&lab, "n2", environment);
        let mut there = Worker::start(&lab, "n4", environment);
        let moved = datagrams_only(&mut here, "::ffff:10.10.1.99", "source").expect_err("moved");
        assert_eq!(moved.cause, Cause::Errno("ENODATA".into()), "{moved:?}");
        let mine = datagrams_only(&mut here, gids[0], "source").expect("a port");
        let theirs = datagrams_only(&mut there, gids[1], "target").expect("a port");
        let number = |opened: &Opened| {
            *opened.datagrams.as_ref().expect("asked for").as_ref().expect("datagrams")
        };
        let meeting = |queue_pair: u32, gid: &str, rounds: u32| {
            let meeting = json!({
                "nonce": 1, "connection": 1, "queue_pair": queue_pair, "lid": 0, "gid": gid,
                "rounds": rounds, "slot_ms": 200, "reply_ms": 1_000
            });
            Act::ExchangeDatagrams(serde_json::from_value(meeting).expect("a meeting"))
        };
        let staying = there.ask(meeting(number(&mine), gids[0], 0));
        let asked = here.ask(meeting(number(&theirs), gids[1], 10));
        let met = here.answer(asked);
        assert!(
            matches!(&met, Ok(StepResult::DatagramsExchanged(met)) if met.answered > 0),
            "{met:?}"
        );
        there.ask(Act::Stop);
        let stayed = there.answer(staying);
        assert!(
            matches!(&stayed, Ok(StepResult::DatagramsExchanged(met)) if met.heard > 0),
            "{stayed:?}"
        );
        // The peer has ended its step. Missing replies are no error.
        let asked = here.ask(meeting(number(&theirs), gids[1], 10));
        let met = here.answer(asked);
        assert!(
            matches!(&met, Ok(StepResult::DatagramsExchanged(met)) if met.answered == 0),
            "{met:?}"
        );
        let asked = connect(&mut here, &theirs, gids[1]);
        let refused = here.answer(asked).expect_err("there is no connection");
        assert_eq!(refused.cause, Cause::Order, "{refused:?}");
        here.end();
        there.end();
        lab.assert_nothing_left("n2");
        lab.assert_nothing_left("n4");
    }
}

#[test]
fn limits_of_a_login_have_their_own_verdicts() {
    let lab = roce();
    for (fault, value, code) in [
        ("memlock", Some("16"), "local.memlock"),
        // With a limit of 0 the kernel returns EPERM instead of ENOMEM.
        ("memlock", Some("0"), "local.memlock"),
        ("uverbs-missing", None, "local.permission"),
        ("uverbs-denied", None, "local.permission"),
        ("no-verbs", None, "local.library"),
    ] {
        let value = value.map(|value| ["--value", value]);
        let value = value.as_ref().map_or(&[][..], |value| &value[..]);
        lab.lab(&[&["fault", fault, "n2"], value].concat());
        let matrix = lab.ping(&["--matrix", "n[1-3]", "-l", "user"], &["n1", "n2", "n3"]);
        matrix.assert_only("n2", &[code], ANY_STAGE);
        lab.lab(&["fault", "--undo", fault, "n2"]);
    }
}

#[test]
fn checks_of_a_login_name_each_fault_and_their_fixes_end_it() {
    check::assert_fixes_of_a_login_work(&roce(), SET);
}

#[test]
fn checks_of_addresses_name_each_fault_and_their_fixes_end_it() {
    check::assert_fixes_of_addresses_work(&roce(), SET);
}

#[test]
fn an_active_check_finds_a_firewall() {
    check::assert_firewall_is_found(&roce(), SET);
}

#[test]
fn nfs_over_tcp_is_named() {
    let lab = cluster::consumers();
    check::assert_fixes_of_nfs_work(&lab);
    lab.lab(&["down"]);
}

#[test]
fn one_node_with_another_kernel_is_named() {
    let lab = Cluster::up("kernels", &["--nodes", "4", "--node", "n4=13"]);
    check::assert_other_kernel_is_named(&lab, SET);
    lab.lab(&["down"]);
}

#[test]
fn six_healthy_nodes_of_three_releases_have_no_finding() {
    // Tests on the other nodes measure times, so they wait until these six nodes are down.
    let _others = roce();
    let releases = ["n1=11", "n2=11", "n5=13", "n6=13"];
    let releases = releases.into_iter().flat_map(|node| ["--node", node]);
    let nodes: Vec<&str> = ["--nodes", "6"].into_iter().chain(releases).collect();
    let lab = Cluster::up("six", &nodes);
    for flags in [&[] as &[&str], &["--active"]] {
        check::assert_healthy(&lab, "n[1-6]", flags, "healthy nodes");
    }
    lab.lab(&["down"]);
}

#[test]
fn a_host_without_device_files_is_named_once_in_each_listing() {
    let lab = roce();
    lab.lab(&["fault", "uverbs-missing", "n2"]);
    for command in [&["devices"][..], &["devices", "-v"], &["connections"]] {
        let answer = lab.rdmactl(&[command, &["-H", "n[1-3]"]].concat());
        assert_eq!(answer.code, 3, "{command:?}: {}", answer.stderr);
        let hosts = answer.json["hosts"].as_array().expect("hosts");
        let problems = |host: usize| hosts[host]["problems"].as_array().expect("problems");
        let [problem] = problems(1).as_slice() else { panic!("{command:?}: {}", hosts[1]) };
        assert_eq!(
            (&problem["key"], &problem["errno"]),
            (&"rxe0/verbs".into(), &"ENOENT".into()),
            "{command:?}: {problem}"
        );
        assert!(problems(0).is_empty() && problems(2).is_empty(), "{command:?}: {hosts:?}");
        let notes: Vec<&str> =
            answer.stderr.lines().filter(|line| line.starts_with("rdmactl: ")).collect();
        let [note] = notes.as_slice() else { panic!("{command:?}: {}", answer.stderr) };
        let expected = "rdmactl: n2: rxe0/verbs: cannot open /dev/infiniband/uverbs0: ENOENT";
        assert!(note.starts_with(expected), "{command:?}: {note}");
    }
}

#[test]
fn a_host_with_two_names_is_tested_under_both_and_not_with_itself() {
    let lab = roce();
    let matrix = lab.ping(&["--matrix", "n1,root@n1,n2"], &["n1", "n2"]);
    let node = |host: &Value| matrix.name(host).trim_start_matches("root@").to_owned();
    for pair in matrix.pairs() {
        let is_one_host = node(&pair["source"]) == node(&pair["target"]);
        let wanted = if is_one_host { "not_tested" } else { "ok" };
        assert_eq!(pair["verdict"]["code"], wanted, "{matrix:?}");
    }
    // A pair that was not tested is not a failure, but the exit code is 1 (docs/ping.md).
    assert!(findings(&matrix).is_empty(), "{matrix:?}");
    assert_eq!(matrix.0.code, 1, "{matrix:?}");
    let found = warnings(&matrix);
    let twice: Vec<&Value> =
        found.iter().filter(|one| one.0 == "host.twice").map(|one| one.1).collect();
    let [hosts] = twice.as_slice() else { panic!("{found:?}") };
    let hosts = hosts.as_array().expect("hosts").iter();
    let mut names: Vec<&str> = hosts.map(|host| matrix.name(host)).collect();
    names.sort_unstable();
    assert_eq!(names, ["n1", "root@n1"]);
    // Two agents run on n1, so the counters of its port include the packets of both.
    let known = ["host.twice", "loss.not_counted"];
    assert!(found.iter().all(|one| known.contains(&one.0)), "{found:?}");
}

/// File on a node that is not a library. The file system records the time of the first access: a
/// program that loads the file changes this time.
const LIBRARY: &str = "/dev/shm/library";

/// Returns the variables that replace libraries in debug builds.
fn library_variables() -> String {
    let set = |name: &str| format!("RDMACTL_{name}={LIBRARY}");
    ["LIBIBVERBS", "LIBRDMACM", "LIBEFA"].map(set).join(" ")
}

/// Returns the time of the last access to [`LIBRARY`].
fn last_access(lab: &Cluster, node: &str) -> String {
    lab.on(node, &format!("stat -c %x {LIBRARY}"))
}

#[test]
fn the_release_binary_loads_no_library_that_a_variable_names() {
    let lab = roce();
    lab.on("n2", &format!("echo none > {LIBRARY}"));
    let written = last_access(&lab, "n2");
    let environment = library_variables();
    let said = lab.on("n2", &format!("{environment} rdmactl devices -v --json"));
    let report: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(report["hosts"][0]["verbs"]["state"], "answered", "{said}");
    let gid = "::ffff:10.10.1.2";
    let listener = json!({ "method": "cm", "role": "target", "proof": [1, 2] });
    let datagrams = json!({ "method": "datagrams", "qkey": 17, "role": "source" });
    for how in [listener, datagrams] {
        let mut worker = Worker::start(&lab, "n2", &environment);
        open(&mut worker, gid, how).expect("an open port");
        worker.end();
    }
    assert_eq!(last_access(&lab, "n2"), written);
    lab.on("n2", &format!("cat {LIBRARY}"));
    assert_ne!(last_access(&lab, "n2"), written, "the file system records no access time");
    lab.assert_nothing_left("n2");
}

/// Returns the sudoers rules of docs/ssh.md: a rule with a pattern, and a rule for sudo before
/// 1.9.10.
fn sudo_rules() -> [String; 2] {
    let lines = include_str!("../docs/ssh.md").lines();
    let rules: Vec<String> = lines
        .filter_map(|line| line.strip_prefix("    alice "))
        .map(|rule| ["user ", rule].concat())
        .collect();
    rules.try_into().expect("two rules")
}

/// Commands that would run a program, load a library or write a file as root, or signal a process
/// of root. `AGENT` stands for the command that the rules allow.
const FORBIDDEN: [&str; 11] = [
    "/usr/local/bin/rdmactl devices -H n1 --launcher exec 'touch /root/stolen {host} {command}'",
    "/usr/local/bin/rdmactl devices -H n1 --ssh-option 'ProxyCommand=touch /root/stolen'",
    "/usr/local/bin/rdmactl devices --save /root/stolen",
    "/usr/local/bin/rdmactl capture --save /root/stolen",
    "AGENT --save /root/stolen",
    "AGENT --launcher exec 'touch /root/stolen {host} {command}'",
    "AGENT --ssh-option 'ProxyCommand=touch /root/stolen'",
    "RDMACTL_LIBIBVERBS=/dev/shm/library AGENT",
    "LD_PRELOAD=/dev/shm/library AGENT",
    "sh -c 'touch /root/stolen'",
    "kill -0 1",
];

const AGENT: &str = "/usr/local/bin/rdmactl agent 0123456789abcdef0123456789abcdef";

#[test]
fn the_documented_sudo_rule_allows_the_agent_and_nothing_else() {
    let lab = roce();
    let [pattern, older] = sudo_rules();
    // Debian 11 has sudo 1.9.5.
    let nodes = [("n1", &pattern), ("n3", &older), ("n4", &pattern)];
    for (node, rule) in nodes {
        lab.on(node, &format!("echo '{rule}' > /etc/sudoers.d/user; echo none > {LIBRARY}"));
        lab.on(node, &format!("echo 'export {}' > /home/user/.bashrc", library_variables()));
    }
    let written = nodes.map(|(node, _)| last_access(&lab, node));
    let ask = |command: &[&str]| {
        lab.rdmactl(&[command, &["-H", "n[1,3-4]", "-l", "user", "--sudo"]].concat())
    };
    let listings = [ask(&["devices", "-v"]), ask(&["connections"])];
    let ping = lab.rdmactl(&["ping", "--matrix", "n[1,3-4]", "-l", "user", "--sudo"]);
    let mut allowed = Vec::new();
    for (node, _) in nodes {
        for command in FORBIDDEN {
            let command = command.replace("AGENT", AGENT);
            let run = format!("sudo -n {command} </dev/null >/dev/null 2>&1; echo $?");
            let code = lab.on(&format!("user@{node}"), &run);
            if ["", "0"].contains(&code.trim()) {
                allowed.push(format!("{node}: {command}: {code}"));
            }
        }
        let stolen = lab.on(node, "ls /root/stolen 2>/dev/null");
        if !stolen.is_empty() {
            allowed.push(format!("{node}: {stolen}"));
        }
    }
    let read = nodes.map(|(node, _)| last_access(&lab, node));
    for (node, _) in nodes {
        lab.on(node, "echo 'user ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/user");
        lab.on(node, "rm -f /home/user/.bashrc /root/stolen");
    }
    for answer in &listings {
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        for host in answer.json["hosts"].as_array().expect("hosts") {
            assert_eq!((&host["via"], &host["problems"]), (&"agent".into(), &json!([])), "{host}");
        }
    }
    for host in listings[0].json["hosts"].as_array().expect("hosts") {
        assert_eq!(host["verbs"]["state"], "answered", "{host}");
    }
    assert_eq!((ping.code, &ping.json["summary"]["ok"]), (0, &6.into()), "{}", ping.stderr);
    assert!(allowed.is_empty(), "{allowed:#?}");
    assert_eq!(read, written, "a library of the caller was read");
    for (node, _) in nodes {
        lab.assert_nothing_left(node);
    }
}

#[test]
fn a_host_that_is_absent_is_named_once() {
    let lab = roce();
    lab.lab(&["fault", "power-off", "n4"]);
    let matrix = lab.matrix(SET, &["n1", "n2", "n3"]);
    matrix.assert_only("n4", &["peer.dead", "peer.unreached"], ANY_STAGE);
    assert_eq!(findings(&matrix).len(), 1, "{matrix:?}");
    assert_eq!(findings(&matrix)[0].1, 3, "{matrix:?}");
}

#[test]
fn clients_ask_servers_and_a_run_is_read_again() {
    let lab = roce();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let file = file.to_str().unwrap();
    let matrix = lab.ping(&["--clients", "n[1-2]", "--servers", "n[3-4]", "--save", file], ALL);
    matrix.assert_all_well(8);
    let again = Matrix(lab.rdmactl(&["ping", "--from", file]));
    assert_eq!(again.pairs(), matrix.pairs());
    for schedule in ["shift", "random", "bisection"] {
        let pairs = if schedule == "bisection" { 4 } else { 12 };
        lab.ping(&["--matrix", SET, "--schedule", schedule], ALL).assert_all_well(pairs);
    }
    let matrix = lab.ping(&["--matrix", SET, "--peers", "1", "--seed", "7"], ALL);
    assert_eq!(matrix.0.code, 0, "{matrix:?}");
    assert!(matrix.pairs().len() < 12, "{matrix:?}");
}

#[test]
fn a_rail_that_is_down_leaves_the_other_one_alone() {
    let lab = Cluster::up("rails", &["--nodes", "2", "--rails", "2"]);
    lab.matrix("n[1-2]", &["n1", "n2"]).assert_all_well(4);
    lab.lab(&["fault", "link-down", "n2", "--rail", "2"]);
    let matrix = lab.matrix("n[1-2]", &["n1", "n2"]);
    for pair in matrix.pairs() {
        let code = &pair["verdict"]["code"];
        let wanted = if pair["rail"] == 0 { "ok" } else { "local.link_down" };
        assert_eq!(code, wanted, "{matrix:?}");
    }
    lab.lab(&["down"]);
}

#[test]
fn soft_roce_and_soft_iwarp_have_no_transport_in_common() {
    let lab = Cluster::up("mixed", &["--nodes", "2", "--node", "n2=12,iwarp"]);
    let matrix = lab.matrix("n[1-2]", &["n1", "n2"]);
    assert_eq!(matrix.0.code, 0, "{matrix:?}");
    assert_eq!(codes(&matrix), ["n/a.transport", "n/a.transport"], "{matrix:?}");
    lab.lab(&["down"]);
}

#[test]
fn requested_port_settings_are_used_or_reported_as_missing() {
    let lab = roce();
    let pair = |flags: &[&str]| lab.ping(&[&["--matrix", "n[1-2]"], flags].concat(), &["n1", "n2"]);
    let usual =
        ["--dev", "rxe0", "--port", "1", "--sl", "3", "--tclass", "104", "--pkey", "0xffff"];
    pair(&usual).assert_all_well(2);
    let mtu = pair(&["--mtu", "256"]);
    mtu.assert_all_well(2);
    assert!(mtu.pairs().iter().all(|pair| pair["route"]["mtu"] == 256), "{mtu:?}");
    for (flag, value, code) in [
        ("--dev", "mlx5_0", "local.no_port"),
        ("--port", "2", "local.no_port"),
        ("--pkey", "0x8001", "ib.pkey"),
    ] {
        let matrix = pair(&[flag, value]);
        assert_eq!(codes(&matrix), [code, code], "{matrix:?}");
    }
}

/// Only the receiving host sees the traffic class of a packet. So n2 drops the packets of one
/// class.
#[test]
fn packets_have_the_requested_traffic_class() {
    let lab = roce();
    let tc = "/usr/sbin/tc";
    let drop = "protocol ip flower ip_proto udp dst_port 4791 ip_tos 104 action drop";
    let set = format!(
        "{tc} qdisc add dev eth1 clsact && {tc} filter add dev eth1 ingress {drop} && echo set"
    );
    assert_eq!(lab.on("n2", &set).trim(), "set");
    let classes = ["104", "96"].map(|class| {
        let flags = ["--matrix", "n[1-2]", "--dev", "rxe0", "--tclass", class];
        lab.ping(&flags, &["n1", "n2"])
    });
    lab.on("n2", &format!("{tc} qdisc del dev eth1 clsact"));
    assert_eq!(codes(&classes[0]), ["roce.udp4791_blocked"; 2], "{:?}", classes[0]);
    classes[1].assert_all_well(2);
}

#[test]
fn bandwidth_of_soft_iwarp_is_measured_and_what_it_lacks_is_no_failure() {
    let lab =
        Cluster::up("siw", &["--nodes", "2", "--node", "n1=12,iwarp", "--node", "n2=13,iwarp"]);
    let tests = "lat,bw,tcp-lat,tcp-bw,ud,uc";
    let matrix = lab.ping(&["--matrix", "n[1-2]", "--test", tests], &["n1", "n2"]);
    matrix.assert_all_well(2);
    for pair in matrix.pairs() {
        assert!(pair["bandwidth"]["median_bps"].as_u64().unwrap() > 0, "{pair}");
        assert_eq!(pair["datagrams"], Value::Null, "{pair}");
    }
    // The kernel would try to connect for two minutes. rdmactl must not wait for the kernel.
    let tc = "/usr/sbin/tc";
    let drop = "ingress protocol ip flower ip_proto tcp action drop";
    let set =
        format!("{tc} qdisc add dev eth1 clsact && {tc} filter add dev eth1 {drop} && echo set");
    assert_eq!(lab.on("n2", &set).trim(), "set");
    let matrix = lab.matrix("n[1-2]", &["n1", "n2"]);
    assert_eq!(codes(&matrix), ["rail.down"; 2], "{matrix:?}");
    lab.lab(&["down"]);
}

#[test]
fn a_node_without_rdma_core_is_read_and_has_a_fix() {
    let lab = roce();
    lab.on("n4", "mkdir /run/core; mv /usr/lib/*/lib{ibverbs,rdmacm}.so* /run/core");
    let agent = lab.rdmactl(&["devices", "-v", "-H", "n4"]);
    let ping = lab.matrix("n[1,4]", &["n1", "n4"]);
    lab.on("n4", "mv /usr/local/bin/rdmactl /run/hidden");
    let shell = lab.rdmactl(&["devices", "-H", "n4"]);
    lab.on("n4", "mv /run/hidden /usr/local/bin/rdmactl");
    lab.on("n4", "mv /run/core/* /usr/lib/x86_64-linux-gnu; rmdir /run/core");
    let install = "install the packages libibverbs1 and ibverbs-providers";
    for (answer, via) in [(&agent, "agent"), (&shell, "sh")] {
        let host = &answer.json["hosts"][0];
        assert_eq!((&host["via"], &host["devices"][0]["name"]), (&via.into(), &"rxe0".into()));
        assert_eq!(host["devices"][0]["ports"][0]["state"], "active", "{host}");
    }
    let said = agent.json["hosts"][0].to_string();
    assert!(said.contains(install), "{said}");
    ping.assert_only("n4", &["local.library"], &["open"]);
    for pair in ping.pairs() {
        let hint = pair["verdict"]["hint"].as_str().unwrap_or_default();
        assert!(hint.contains(install), "{pair}");
    }
}

#[test]
fn a_filter_in_one_direction_differs_from_a_filter_in_both() {
    let lab = roce();
    lab.lab(&["fault", "udp4791-drop-in", "n2"]);
    let answer = lab.rdmactl(&["ping", "--matrix", "n2,n4"]);
    assert_eq!(answer.code, 1, "{}", answer.stderr);
    for pair in answer.json["pairs"].as_array().unwrap() {
        assert_eq!(pair["verdict"]["code"], "path.asymmetric", "{pair}");
        assert_eq!(pair["transport"], "tcp-fallback", "{pair}");
        // The packets of n2 arrive, but n2 receives no packet.
        let heard_by_n2 = if pair["source"] == 0 { "heard_by_source" } else { "heard_by_target" };
        assert_eq!(pair["datagrams"][heard_by_n2], 0, "{pair}");
    }
}

/// Soft-RoCE of an older kernel sends a packet again in a busy loop if a firewall of its host
/// drops the packet. For a datagram, the loop runs in the sending process, which no signal ends.
/// For a message, the loop runs until the queue pair is destroyed.
#[test]
fn an_older_soft_roce_is_not_brought_to_hang_by_its_own_firewall() {
    let lab = roce();
    lab.lab(&["fault", "udp4791-drop", "n1"]);
    let matrix = lab.matrix("n[1-2]", &["n1", "n2"]);
    matrix.assert_only("n1", &["roce.udp4791_blocked"], &["connect"]);
    for pair in matrix.pairs() {
        let (verdict, at_n1) = (&pair["verdict"], pair["source"] == 0);
        assert_eq!(verdict["side"], if at_n1 { "source" } else { "target" }, "{verdict}");
        let expected = "n1 drops its own outgoing RoCE packets (UDP 4791) to 10.10.";
        assert!(verdict["detail"].as_str().unwrap().contains(expected), "{verdict}");
        assert_eq!(
            (&pair["route"]["unreliable"], &pair["datagrams"]),
            (&false.into(), &Value::Null)
        );
    }
}

#[test]
fn the_kernel_of_a_host_that_serves_no_mads_is_not_taken_for_a_server() {
    let lab = roce();
    let gid = lab.on("n2", "cat /sys/class/infiniband/rxe0/ports/1/gids/0");
    let answer = lab.rdmactl(&["ping", "--mad", "-H", "n1", "--gid", gid.trim()]);
    let pair = &answer.json["pairs"][0];
    assert_eq!((answer.code, &pair["verdict"]["code"]), (1, &"mad.no_reply".into()), "{pair}");
    let count = |key: &str| pair["mad"][key].as_u64().unwrap_or_default();
    assert_eq!((count("sent"), count("answered")), (3, 0), "{pair}");
}

#[test]
fn mads_do_not_bring_an_older_soft_roce_to_hang_by_its_own_firewall() {
    let lab = roce();
    lab.lab(&["fault", "udp4791-drop", "n1"]);
    let matrix = lab.ping(&["--mad", "--matrix", "n[1-2]"], &["n1", "n2"]);
    matrix.assert_only("n1", &["roce.udp4791_blocked"], &["connect"]);
}

#[test]
fn a_slow_path_is_slow_and_not_dead() {
    let lab = roce();
    lab.lab(&["fault", "delay", "n2", "--value", "300ms"]);
    for (source, target) in [("n1", "n2"), ("n2", "n1")] {
        let answer = lab.rdmactl(&["ping", "-H", source, target]);
        let pair = &answer.json["pairs"][0];
        assert_eq!((answer.code, &pair["verdict"]["code"]), (0, &"ok".into()), "{pair}");
        assert!(pair["rdma"]["rtt_ns"]["p50"].as_u64().unwrap() > 290_000_000, "{pair}");
        assert!(pair["tcp"]["rtt_ns"]["p50"].as_u64().unwrap() > 290_000_000, "{pair}");
    }
}

#[test]
fn a_lossy_path_is_not_a_blocked_one() {
    let lab = roce();
    lab.lab(&["fault", "loss", "n3", "--value", "20%"]);
    // With retransmissions, a pair takes longer than in a matrix of healthy nodes.
    let matrix = lab.ping(&["--matrix", SET, "--slot", "100ms"], ALL);
    matrix.assert_all_well(12);
    assert_eq!(warnings(&matrix), [("path.lossy", &json!([2]))], "{matrix:?}");
}

#[test]
fn a_rail_in_a_wrong_subnet_is_a_warning() {
    let lab = Cluster::up("rails", &["--nodes", "3", "--rails", "2"]);
    lab.lab(&["reset"]);
    lab.on("n3", "ip address flush dev eth2 scope global; ip address add 10.10.99.3/24 dev eth2");
    let matrix = lab.ping(&["--matrix", "n[1-3]"], &["n1", "n2", "n3"]);
    let missing = ("rail.missing", &json!([2]));
    assert_eq!(warnings(&matrix), [missing, missing], "{matrix:?}");
}

#[test]
fn a_stopped_supervisor_is_a_hung_peer() {
    let lab = roce();
    lab.lab(&["fault", "supervisor-stop", "n4", "--value", "1500"]);
    lab.matrix(SET, ALL).assert_from_some_point_on("n4", "peer.hung");
}

#[test]
fn a_killed_worker_is_a_dead_peer() {
    let lab = roce();
    lab.lab(&["fault", "worker-kill", "n1"]);
    lab.matrix(SET, ALL).assert_only("n1", &["peer.dead"], ANY_STAGE);
}

#[test]
fn a_node_that_hangs_before_it_greets_is_an_unreached_peer() {
    let lab = roce();
    lab.lab(&["fault", "freeze", "n4"]);
    lab.matrix(SET, &["n1", "n2", "n3"]).assert_only("n4", &["peer.unreached"], &["agent"]);
}

#[test]
fn soft_iwarp_of_three_releases_is_connected_through_the_connection_manager() {
    iwarp::assert_connected(&["12", "13", "11"]);
}

/// In two seconds without a lost packet, a pair has 50 round trips or more. n3 sends two packets
/// in each. So a pair with n3 loses no packet with a probability of at most 0.95^100 = 0.6 %, and
/// both pairs of a link with 0.0035 %. rdmactl names n3 if two of its three links lose packets:
/// the test fails randomly once in 270 million runs.
#[test]
fn a_path_that_loses_5_percent_is_named_and_works() {
    let lab = roce();
    lab.lab(&["fault", "loss", "n3", "--value", "5%"]);
    let matrix = lab.ping(&["--matrix", SET, "--slot", "2s"], ALL);
    matrix.assert_all_well(12);
    assert_eq!(warnings(&matrix), [("path.lossy", &json!([2]))], "{matrix:?}");
}
