//! Simulated samples of hosts, in the form in which the engine of `top` sends them to the screen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdmactl::model::ping::PingReport;
use rdmactl::model::{
    Connection, Consumers, HostFailure, HostReport, Parts, Problem, Reason, Resource, VerbsState,
    Via,
};
use rdmactl::query::LIVE_PARTS;
use rdmactl::tui::{LastResponse, Sample};
use serde_json::{Value, json};

/// Wall-clock time of the first sample: 2026-09-21 14:13:20 UTC.
const BEGIN_NS: u64 = 1_790_000_000_000_000_000;

const SECOND: u64 = 1_000_000_000;

/// Host with its report.
pub(crate) struct Host {
    pub(crate) report: HostReport,
    /// Age of the report at the sample, in seconds; `None` if the host never responded.
    pub(crate) answered_s: Option<u64>,
    pub(crate) failure: Option<HostFailure>,
    pub(crate) connections: Vec<Connection>,
}

/// Returns the sample of hosts at a second after the first sample.
pub(crate) fn picture(begin: Instant, second: u64, hosts: Vec<Host>) -> Arc<Sample> {
    let at = begin + Duration::from_secs(second);
    let mut picture = Sample {
        at,
        taken_ns: BEGIN_NS + second * SECOND,
        reports: Vec::new(),
        seen: Vec::new(),
        connections: Vec::new(),
    };
    for host in hosts {
        let answered = host.answered_s.map(|ago| {
            at.checked_sub(Duration::from_secs(ago)).expect("a clock that runs for long enough")
        });
        picture.seen.push(LastResponse { answered, failure: host.failure });
        picture.reports.push(host.report);
        picture.connections.push(host.connections);
    }
    Arc::new(picture)
}

/// Returns a counter that increased by `per_s` in the last second.
fn counter(group: &str, name: &str, unit: &str, per_s: u64) -> Value {
    json!({
        "name": name, "group": group, "value": per_s * 1_000 + 7, "unit": unit,
        "saturated": false, "read_ns": BEGIN_NS,
        "rate": {
            "change": "counted", "interval_ns": SECOND, "delta": per_s,
            "rate_per_s": per_s, "rate_bps": (unit == "bytes").then_some(per_s * 8),
        },
    })
}

/// Returns a port with its traffic in bytes per second.
pub(crate) fn port(number: u32, state: &str, rx: u64, tx: u64) -> Value {
    let is_active = state == "active";
    let (phys, rate) = if is_active { ("LinkUp", Some(400 * SECOND)) } else { ("Polling", None) };
    json!({
        "number": number, "state": state, "phys_state": phys, "link_layer": "infiniband",
        "protocol": "ib", "rate_bps": rate, "rate_text": "400 Gb/sec (4X NDR)", "lid": 7 + number,
        "counters": [
            counter("pma", "port_rcv_data", "bytes", rx),
            counter("pma", "port_rcv_packets", "events", rx / 4_096),
            counter("pma", "port_xmit_data", "bytes", tx),
            counter("pma", "port_xmit_packets", "events", tx / 4_096),
            counter("pma", "symbol_error", "events", 0),
            counter("pma", "link_downed", "events", 0),
            counter("hardware", "np_cnp_sent", "events", 3),
        ],
    })
}

/// Returns a device with ports. A device named `mlx5_*` has a PCI address.
pub(crate) fn device(name: &str, ports: &[Value]) -> Value {
    let pci = name.strip_prefix("mlx5_").map(|number| format!("0000:{number}7:00.0"));
    json!({
        "name": name, "hca_type": "MT4129", "driver": "mlx5_core", "firmware": "28.39.2048",
        "pci": pci, "ports": ports,
    })
}

/// Returns a host that responded at the time of the sample.
pub(crate) fn host(name: &str, devices: &[Value]) -> Host {
    let mut report = HostReport::empty(name, Via::Agent);
    report.rdma_core = Some(true);
    report.kernel = Some("5.14.0-427.el9.x86_64".into());
    report.parts = Parts::from(LIVE_PARTS);
    report.verbs = VerbsState::Answered;
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    let device = |(at, one): (usize, &Value)| {
        let mut one = one.clone();
        one["node_guid"] = json!(format!("0002:c903:{digits:0>4}:{at:04x}"));
        serde_json::from_value(one).expect("a device")
    };
    report.devices = devices.iter().enumerate().map(device).collect();
    report.resources = Some(Vec::new());
    report.consumers = Some(Consumers::default());
    Host { report, answered_s: Some(0), failure: None, connections: Vec::new() }
}

/// Returns an NFS mount that uses RDMA or has fallen back to TCP.
pub(crate) fn mount(host: &str, instance: &str, is_rdma: bool) -> Connection {
    let (transport, verdict) = if is_rdma { ("rdma", "ok") } else { ("tcp", "fallback_confirmed") };
    let cause = json!({
        "code": "nfs.client_reused",
        "text": "RDMA was asked for, but an earlier mount of the same server uses TCP, and its client was taken again",
        "fix": "nfsstat -m; when nothing uses them: unmount every TCP mount of 10.9.0.1, then mount -o vers=4.1,proto=rdma,port=20049 10.9.0.1:/ /mnt",
    });
    let count = u32::from;
    let json = json!({
        "id": format!("{host}/nfs/{instance}"),
        "consumer": { "kind": "nfs", "instance": instance, "role": "client", "pid": null },
        "peer": {
            "name": "storage", "address": "10.9.0.1", "port": 20049, "gid": null, "host": null,
            "known_by": "consumer",
        },
        "local": null,
        "transport": transport,
        "channels": { "rdma": count(is_rdma), "tcp": count(!is_rdma), "is_busy": null },
        "state": "up", "rdma": [], "tcp": [],
        "requested": { "transport": "rdma", "source": "/etc/fstab:12" },
        "verdict": verdict,
        "cause": (!is_rdma).then_some(cause),
        "evidence": [
            { "source": "/proc/self/mounts", "text": format!("proto={transport}"), "strength": "direct" },
            { "source": "/etc/fstab:12", "text": "proto=rdma", "strength": "config" },
        ],
        "missing": [], "memory": null,
    });
    serde_json::from_value(json).expect("a connection")
}

/// Returns the resources of a process with a queue pair and memory, and a queue pair of the
/// kernel.
pub(crate) fn resources(state: &str) -> Vec<Resource> {
    let process = json!({ "process": { "pid": 4711, "name": "ib_write_bw" } });
    let kernel = json!({ "kernel": { "name": "ib_core" } });
    let json = json!([
        { "device": "mlx5_0", "owner": kernel, "kind": "qp", "port": 1, "lqpn": 1, "qp_type": "GSI", "state": "RTS" },
        { "device": "mlx5_0", "owner": kernel, "kind": "cq", "cqn": 1, "entries": 2048 },
        { "device": "mlx5_0", "owner": process, "kind": "ctx", "ctxn": 3 },
        { "device": "mlx5_0", "owner": process, "kind": "pd", "pdn": 3, "users": 2 },
        { "device": "mlx5_0", "owner": process, "kind": "cq", "cqn": 9, "entries": 128 },
        { "device": "mlx5_0", "owner": process, "kind": "mr", "mrn": 5, "length_bytes": 134_217_728 },
        { "device": "mlx5_0", "owner": process, "kind": "qp", "port": 1, "lqpn": 330, "rqpn": 17, "qp_type": "RC", "state": state },
    ]);
    serde_json::from_value(json).expect("resources")
}

fn failure(reason: Reason, detail: &str, fix: Option<&str>) -> HostFailure {
    HostFailure { reason, detail: detail.into(), fix: fix.map(str::to_owned) }
}

/// Returns traffic that rises and falls, in bytes per second.
fn wave(second: u64, host: u64) -> u64 {
    let step = (second * 3 + host * 5) % 24;
    let height = if step < 12 { step } else { 24 - step };
    height * 4 * SECOND / 12 * 10
}

/// Returns this host, with one device.
pub(crate) fn one(second: u64) -> Vec<Host> {
    let ports = [port(1, "active", wave(second, 1), wave(second, 4) / 3)];
    let mut host = host("n01", &[device("mlx5_0", &ports)]);
    host.report.via = Via::Local;
    host.report.resources = Some(resources("RTS"));
    host.connections = vec![mount("n01", "/home", true), mount("n01", "/scratch", true)];
    vec![host]
}

/// Returns hosts whose driver counts packets but no bytes, like soft-RoCE. Their links have no
/// rate.
pub(crate) fn packets(second: u64) -> Vec<Host> {
    let one = |number: u64| {
        let rate = wave(second, number) / SECOND * 1_000;
        let mut port = port(1, "active", 0, 0);
        port["protocol"] = json!("roce");
        port["link_layer"] = json!("ethernet");
        port["rate_bps"] = Value::Null;
        port["netdev"] = json!("eth0");
        let address = format!("::ffff:10.9.0.{number}");
        port["gids"] = json!([{ "index": 1, "value": address, "kind": "roce_v2" }]);
        port["counters"] = json!([
            counter("hardware", "rcvd_pkts", "events", rate),
            counter("hardware", "sent_pkts", "events", rate / 3),
            counter("hardware", "send_err", "events", 0),
        ]);
        host(&format!("n{number}"), &[device("rxe0", &[port])])
    };
    (1..=4).map(one).collect()
}

/// Returns a host with the RDMA core and without a device.
pub(crate) fn empty(_: u64) -> Vec<Host> {
    vec![host("n01", &[])]
}

/// Returns three hosts: one has responded, and rdmactl still connects to the others.
pub(crate) fn connecting(second: u64) -> Vec<Host> {
    let mut hosts = one(second);
    for name in ["n02", "n03"] {
        let mut host = unanswered(name);
        host.failure = Some(failure(Reason::Connecting, "still connecting", None));
        host.report.failure.clone_from(&host.failure);
        hosts.push(host);
    }
    hosts
}

/// Returns four hosts that could not be read.
pub(crate) fn not_read(_: u64) -> Vec<Host> {
    let one = |name: &str| {
        let mut host = unanswered(name);
        let detail = "no response within 10 s";
        host.failure = Some(failure(Reason::Timeout, detail, Some("ping the host")));
        host.report.failure.clone_from(&host.failure);
        host
    };
    ["n01", "n02", "n03", "n04"].map(one).into()
}

/// Returns 64 hosts with two ports each. One link is down, one host does not respond, and two
/// mounts fell back.
pub(crate) fn fleet(second: u64) -> Vec<Host> {
    fleet_of(64, second)
}

/// Returns the first hosts of [`fleet`].
pub(crate) fn fleet_of(hosts: u64, second: u64) -> Vec<Host> {
    let one = |number: u64| {
        let name = format!("n{number:02}");
        let second_state = if number == 17 { "down" } else { "active" };
        let traffic = if second_state == "down" { 0 } else { wave(second, number + 9) };
        let devices = [
            device("mlx5_0", &[port(1, "active", wave(second, number), wave(second, number + 3))]),
            device("mlx5_1", &[port(1, second_state, traffic, traffic / 2)]),
        ];
        let mut host = host(&name, &devices);
        host.report.resources = Some(resources("RTS"));
        let is_fallen = matches!(number, 40 | 41);
        host.connections = vec![mount(&name, "/home", true), mount(&name, "/scratch", !is_fallen)];
        if number == 23 {
            host.answered_s = Some(47);
            host.failure = Some(failure(
                Reason::Timeout,
                "no answer within 1 s",
                Some("look whether n23 is overloaded or gone: ssh n23 uptime"),
            ));
        }
        host
    };
    (1..=hosts).map(one).collect()
}

/// Returns a host that never responded.
fn unanswered(name: &str) -> Host {
    let report = HostReport::empty(name, Via::None);
    Host { report, answered_s: None, failure: None, connections: Vec::new() }
}

/// Returns hosts with each state of a host, a port, a connection and a process.
pub(crate) fn marks(second: u64) -> Vec<Host> {
    let good = device("mlx5_0", &[port(1, "active", 30 * SECOND, 29 * SECOND)]);
    let mut hosts = vec![host("n01", std::slice::from_ref(&good))];

    let ports = [port(1, "down", 0, 0), port(2, "init", 0, 0)];
    hosts.push(host("n02", &[device("mlx5_0", &ports)]));

    let mut silent = host("n03", std::slice::from_ref(&good));
    silent.answered_s = Some(125);
    let detail = "the agent on n03 does not run, though its SSH service answers";
    silent.failure = Some(failure(Reason::Hung, detail, Some("ssh n03 pgrep -a rdmactl")));
    hosts.push(silent);

    let mut refused = unanswered("n04");
    let detail = "the host refused the user root: publickey";
    refused.failure = Some(failure(Reason::Auth, detail, Some("ssh-copy-id root@n04")));
    refused.report.failure.clone_from(&refused.failure);
    hosts.push(refused);

    let mut connecting = unanswered("n05");
    connecting.failure = Some(failure(Reason::Connecting, "still connecting", None));
    connecting.report.failure.clone_from(&connecting.failure);
    hosts.push(connecting);

    let mut bad_port = port(1, "active", 3 * SECOND, 2 * SECOND);
    bad_port["rate_bps"] = json!(100 * SECOND);
    bad_port["pci_suffices"] = json!(false);
    bad_port["counters"][4] = counter("pma", "symbol_error", "events", 12);
    let mut unread_port = port(2, "active", 0, 0);
    unread_port["state"] = Value::Null;
    unread_port["counters"] = Value::Null;
    let mut both = device("mlx5_0", &[bad_port, unread_port]);
    both["counters"] = json!([counter("hardware", "alloc_pd_err", "events", 0)]);
    let mut unread = host("n06", &[both]);
    unread.report.problems.push(Problem {
        key: "mlx5_0/2/state".into(),
        source: "/sys/class/infiniband/mlx5_0/ports/2/state".into(),
        errno: Some("EIO".into()),
        detail: "cannot read /sys/class/infiniband/mlx5_0/ports/2/state: EIO (input/output error)"
            .into(),
        fix: None,
        not_recorded: false,
    });
    unread.report.resources = Some(resources("ERR"));
    hosts.push(unread);

    let mut fallen = host("n07", std::slice::from_ref(&good));
    fallen.connections = vec![
        mount("n07", "/home", true),
        mount("n07", "/scratch", second < 12),
        mount("n07", "/evil\u{1b}[2J\u{202e}name", true),
    ];
    hosts.push(fallen);

    hosts.push(host("n08", &[]));
    hosts.extend(["n09", "n10", "n11"].map(|name| host(name, std::slice::from_ref(&good))));
    hosts
}

/// Returns the report of a matrix of hosts, with one fault of each kind.
pub(crate) fn matrix(hosts: usize) -> Arc<PingReport> {
    let names: Vec<Value> = (1..=hosts)
        .map(|at| json!({ "name": format!("n{at:02}"), "kernel": null, "failure": null }))
        .collect();
    let quantiles = |ns: u64| json!({ "min": ns, "p50": ns, "p99": null, "max": ns });
    let end = json!({
        "device": "mlx5_0", "port": 1, "gid_index": 3, "gid": "fe80::1", "gid_kind": null,
        "netdev": "eth0", "driver": "mlx5_core",
    });
    let route = json!({
        "method": "relay", "protocol": "roce", "mtu": 4096, "source": end, "target": end,
    });
    let pair = |source: usize, target: usize| {
        let ns = match (source, target) {
            (0, 3) => 2_400,
            (1, 3) => 3_300,
            (2, 3) => 4_500,
            (0, 4) => 9_000,
            _ => 2_000 + u64::try_from((source * 7 + target * 3) % 11).expect("a small number"),
        };
        let (code, detail, hint) = match (source, target) {
            (3, 1) => (
                "roce.udp4791_blocked",
                "TCP passes between n04 and n02, and no RoCE version 2 packet arrives",
                Some(
                    "let UDP port 4791 through: nft list ruleset; look at the switch's access lists",
                ),
            ),
            (4, 2) => ("n/a.transport", "no protocol in common", None),
            (4, 1) => ("not_tested", "the run was ended before", None),
            _ => ("ok", "all sizes were answered rightly", None),
        };
        let is_ok = code == "ok";
        let figures = |ns: u64| json!({ "count": 1000, "rtt_ns": quantiles(ns * 2), "half_rtt_ns": quantiles(ns) });
        json!({
            "source": source, "target": target, "route": route, "first": null,
            "rdma": is_ok.then(|| figures(ns)), "tcp": figures(ns * 20),
            "verdict": { "code": code, "stage": null, "side": "path", "detail": detail, "hint": hint },
        })
    };
    let all = (0..hosts).flat_map(|source| (0..hosts).map(move |target| (source, target)));
    let pairs: Vec<Value> = all
        .filter(|(source, target)| source != target)
        .map(|(source, target)| pair(source, target))
        .collect();
    let json = json!({
        "hosts": names, "pairs": pairs, "findings": [], "elapsed_ms": 1, "left_behind": [],
    });
    Arc::new(serde_json::from_value(json).expect("a report"))
}

/// Returns three hosts. The device of n01 is removed in second 12. The device of n02 is missing
/// from second 5 to 9. n03 does not respond from second 3 to 6.
pub(crate) fn removed(second: u64) -> Vec<Host> {
    let of = |name: &str, gone: Option<u64>| {
        let mut host = host(name, &[device("mlx5_0", &[port(1, "active", 1 << 30, 1 << 29)])]);
        if let Some(since) = gone {
            let device = &mut host.report.devices[0];
            *device = device.removed(BEGIN_NS + since * SECOND);
        }
        host
    };
    let mut silent = of("n03", None);
    if (3..6).contains(&second) {
        silent.answered_s = Some(second - 2);
        silent.failure = Some(HostFailure::new(Reason::Timeout, "no response yet"));
    }
    let first = of("n01", (second >= 12).then_some(12));
    vec![first, of("n02", (5..9).contains(&second).then_some(5)), silent]
}
