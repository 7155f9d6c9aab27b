//! One to three faults at a time, chosen at random, on random nodes, under a random command: what rdmactl says must
//! be explained by the faults.
//!
//! `cargo test --test lab_chaos`, with `RDMACTL_NODE_BINARY`. `RDMACTL_CHAOS_SEEDS=200` sets the number of seeds (20),
//! `RDMACTL_CHAOS_SEED=7` repeats one. The oracle is the table [`FAULTS`]: which verdicts and warnings a fault may
//! cause at its node. A host without a fault must have none.

#![expect(clippy::expect_used, clippy::panic, reason = "a test without its nodes has failed")]
#![expect(clippy::print_stderr, reason = "the log of a long run")]
#![allow(dead_code, reason = "the cluster has more than this test uses")]

#[path = "lab/cluster.rs"]
mod cluster;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cluster::{Cluster, roce};
use serde_json::Value;

const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];
const SET: &str = "n[1-4]";

/// How a fault is made and undone.
#[derive(Clone, Copy)]
enum Inject {
    /// A fault of `lab/lab fault`, with its value.
    Lab(&'static str, Option<&'static str>),
    /// Shell commands that root runs on the node.
    Shell { start: &'static str, stop: &'static str },
}

/// Who logs in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Login {
    /// Any login has the fault.
    Any,
    /// The fault is in the login of `user`.
    User,
}

/// A fault, and what rdmactl may say of its node.
struct Fault {
    name: &'static str,
    inject: Inject,
    login: Login,
    /// Codes of verdicts and findings.
    verdicts: &'static [&'static str],
    /// Codes of warnings.
    warnings: &'static [&'static str],
    /// Whether a listing may lack the host or a part of it.
    hides: bool,
}

const ALIVE: Fault = Fault {
    name: "",
    inject: Inject::Lab("", None),
    login: Login::Any,
    verdicts: &[],
    warnings: &[],
    hides: false,
};

const fn lab(name: &'static str, value: Option<&'static str>) -> Fault {
    Fault { name, inject: Inject::Lab(name, value), ..ALIVE }
}

const fn shell(name: &'static str, start: &'static str, stop: &'static str) -> Fault {
    Fault { name, inject: Inject::Shell { start, stop }, ..ALIVE }
}

/// A line at the beginning of the login file of `user`.
const fn bashrc(name: &'static str, start: &'static str) -> Fault {
    const UNDO: &str = "cd /home/user; test ! -e .bashrc.kept || mv .bashrc.kept .bashrc";
    let fault = shell(name, start, UNDO);
    Fault { login: Login::User, verdicts: UNREACHED, hides: true, ..fault }
}

const UNREACHED: &[&str] = &["peer.unreached"];
const LOST: &[&str] = &[
    "fabric.loss",
    "rc.no_ack",
    "rail.down",
    "l2.no_neighbour",
    "mtu.blackhole",
    "peer.not_posting",
    "path.asymmetric",
    "driver.stuck",
];
const LOSSY: &[&str] = &["path.lossy"];
const DROPPED: &[&str] = &["peer.unreached", "peer.dead", "peer.hung", "peer.connection_lost"];

const NETEM_OFF: &str = "tc qdisc del dev eth1 root 2>/dev/null; true";

static FAULTS: &[Fault] = &[
    Fault { verdicts: &["roce.udp4791_blocked"], ..lab("udp4791-drop", None) },
    Fault {
        verdicts: &["roce.udp4791_blocked", "path.asymmetric", "rc.no_ack"],
        ..lab("udp4791-drop-in", None)
    },
    Fault {
        verdicts: &["mtu.blackhole", "fabric.loss"],
        warnings: LOSSY,
        ..lab("drop-large", None)
    },
    Fault { warnings: &["mtu.differs"], ..lab("mtu-small", None) },
    Fault { warnings: &["mtu.differs"], ..lab("mtu-small", Some("700")) },
    Fault { verdicts: &["local.link_down", "local.no_port"], ..lab("link-down", None) },
    Fault {
        verdicts: &["gid.family", "l2.no_neighbour"],
        // TCP of the host leaves through the interface of another network, and RDMA passes with
        // link-local GIDs.
        warnings: &["tcp.local_error"],
        ..lab("address-removed", None)
    },
    Fault { verdicts: LOST, warnings: LOSSY, ..lab("loss", Some("5%")) },
    Fault { verdicts: LOST, warnings: LOSSY, ..lab("loss", Some("20%")) },
    Fault { verdicts: &["rail.down", "l2.no_neighbour"], ..lab("loss", Some("100%")) },
    lab("delay", Some("2ms")),
    lab("delay", Some("100ms")),
    Fault { verdicts: &["peer.hung", "peer.dead"], ..lab("worker-stop", None) },
    Fault { verdicts: &["peer.dead"], ..lab("worker-kill", None) },
    Fault { verdicts: &["peer.hung"], hides: true, ..lab("supervisor-stop", None) },
    Fault { verdicts: &["peer.dead"], hides: true, ..lab("supervisor-kill", None) },
    Fault { verdicts: DROPPED, hides: true, ..lab("freeze", None) },
    Fault { verdicts: DROPPED, hides: true, ..lab("power-off", None) },
    Fault { login: Login::User, verdicts: &["local.memlock"], ..lab("memlock", Some("16")) },
    Fault { login: Login::User, verdicts: &["local.memlock"], ..lab("memlock", Some("0")) },
    Fault {
        login: Login::User,
        verdicts: &["local.permission"],
        hides: true,
        ..lab("uverbs-denied", None)
    },
    Fault { verdicts: &["local.permission"], hides: true, ..lab("uverbs-missing", None) },
    Fault { verdicts: &["local.library"], hides: true, ..lab("no-verbs", None) },
    Fault { verdicts: &["local.no_port"], ..lab("no-device", None) },
    Fault { verdicts: &["local.no_port"], hides: true, ..lab("no-module", None) },
    Fault { verdicts: UNREACHED, hides: true, ..lab("ssh-wrong-hostkey", None) },
    Fault { verdicts: UNREACHED, hides: true, ..lab("sshd-silent", None) },
    Fault {
        verdicts: LOST,
        warnings: LOSSY,
        ..shell("corrupt", "tc qdisc add dev eth1 root netem corrupt 10%", NETEM_OFF)
    },
    shell("duplicate", "tc qdisc add dev eth1 root netem duplicate 20%", NETEM_OFF),
    shell("reorder", "tc qdisc add dev eth1 root netem delay 4ms reorder 50%", NETEM_OFF),
    shell("jitter", "tc qdisc add dev eth1 root netem delay 10ms 5ms", NETEM_OFF),
    Fault {
        verdicts: &["fabric.loss"],
        warnings: LOSSY,
        ..shell(
            "slow-queue",
            "tc qdisc add dev eth1 root tbf rate 1mbit burst 10k limit 30k",
            NETEM_OFF,
        )
    },
    Fault {
        warnings: &["tcp.blocked"],
        ..shell(
            "tcp-dropped",
            "tc qdisc add dev eth1 clsact; for way in ingress egress; do tc filter add dev eth1 $way protocol ip flower \
             ip_proto tcp action drop; done",
            "tc qdisc del dev eth1 clsact 2>/dev/null; true",
        )
    },
    Fault {
        warnings: &["address.duplicate"],
        ..shell(
            "address-of-another",
            ". /etc/rdmalab.conf; ip addr add 10.10.1.$((NUMBER % 4 + 1))/24 dev eth1",
            ". /etc/rdmalab.conf; ip addr del 10.10.1.$((NUMBER % 4 + 1))/24 dev eth1 2>/dev/null; true",
        )
    },
    Fault {
        verdicts: &["local.device_gone", "local.no_port", "gid.index"],
        hides: true,
        ..shell(
            "device-removed",
            "(sleep 6; rdma link delete rxe0) >/dev/null 2>&1 </dev/null & true",
            "sleep 4; rdma link show rxe0/1 >/dev/null 2>&1 || { /usr/lib/rdmalab/devices add && /usr/lib/rdmalab/devices wait; }",
        )
    },
    Fault {
        verdicts: &["l2.no_neighbour"],
        ..shell(
            "neighbour-table-full",
            "for n in 1 2 3; do sysctl -qw net.ipv4.neigh.default.gc_thresh$n=2; done",
            "sysctl -qw net.ipv4.neigh.default.gc_thresh1=128 net.ipv4.neigh.default.gc_thresh2=512 \
             net.ipv4.neigh.default.gc_thresh3=1024",
        )
    },
    Fault {
        verdicts: &["ip.prohibited", "rail.down", "l2.no_neighbour"],
        warnings: &["tcp.local_error"],
        ..shell(
            "route-prohibited",
            "ip route add prohibit 10.10.1.128/25; ip route add prohibit 10.10.1.0/25",
            "ip route del prohibit 10.10.1.128/25; ip route del prohibit 10.10.1.0/25",
        )
    },
    Fault {
        warnings: &["tcp.local_error"],
        ..shell(
            "route-blackhole",
            ". /etc/rdmalab.conf; ip route add blackhole 10.10.1.$((NUMBER % 4 + 1))",
            ". /etc/rdmalab.conf; ip route del blackhole 10.10.1.$((NUMBER % 4 + 1)) 2>/dev/null; true",
        )
    },
    Fault {
        verdicts: &["rail.down", "path.asymmetric"],
        ..shell(
            "neighbour-wrong",
            ". /etc/rdmalab.conf; ip neigh replace 10.10.1.$((NUMBER % 4 + 1)) lladdr 02:00:00:00:00:77 nud permanent \
             dev eth1",
            ". /etc/rdmalab.conf; ip neigh del 10.10.1.$((NUMBER % 4 + 1)) dev eth1 2>/dev/null; true",
        )
    },
    Fault {
        verdicts: &["roce.bridge"],
        ..shell(
            "bridge",
            ". /etc/rdmalab.conf; ip link add br0 type bridge; ip link set br0 up; ip addr del 10.10.1.$NUMBER/24 dev eth1; \
             ip link set eth1 master br0; ip addr add 10.10.1.$NUMBER/24 dev br0; sleep 2",
            ". /etc/rdmalab.conf; ip link set eth1 nomaster; ip link del br0 2>/dev/null && ip addr add \
             10.10.1.$NUMBER/24 dev eth1; true",
        )
    },
    Fault {
        verdicts: &["l2.no_neighbour", "rail.down"],
        ..shell(
            "arp-off",
            "ip link set eth1 arp off; ip neigh flush dev eth1",
            "ip link set eth1 arp on",
        )
    },
    shell(
        "full-memory-disks",
        "dd if=/dev/zero of=/dev/shm/fill bs=1M 2>/dev/null; dd if=/dev/zero of=/tmp/fill bs=1M count=64 2>/dev/null; true",
        "rm -f /dev/shm/fill /tmp/fill",
    ),
    shell(
        "no-program",
        "mv /usr/local/bin/rdmactl /run/hidden",
        "test ! -e /run/hidden || mv /run/hidden /usr/local/bin/rdmactl",
    ),
    shell(
        "busy",
        "for n in 1 2 3 4; do nice -n 5 sh -c 'while :; do :; done' >/dev/null 2>&1 </dev/null & done",
        "pkill -f 'while :; do :; done'; true",
    ),
    shell("clock-set-back", "date -s '1 day ago' >/dev/null", "date -s 'tomorrow' >/dev/null"),
    Fault {
        verdicts: DROPPED,
        hides: true,
        ..shell(
            "sessions-killed",
            "(sleep 4; pkill -KILL -f 'sshd.*notty') >/dev/null 2>&1 </dev/null & true",
            "true",
        )
    },
    Fault {
        verdicts: &["peer.unreached", "peer.hung"],
        hides: true,
        ..shell(
            "program-is-a-script",
            "mv /usr/local/bin/rdmactl /run/hidden; printf '#!/bin/sh\\nsleep 500\\n' > /usr/local/bin/rdmactl; chmod +x /usr/local/bin/rdmactl",
            "test ! -e /run/hidden || mv /run/hidden /usr/local/bin/rdmactl",
        )
    },
    bashrc(
        "login-sleeps",
        "cd /home/user; mv .bashrc .bashrc.kept 2>/dev/null || touch .bashrc.kept; echo 'sleep 1000' > .bashrc",
    ),
    bashrc(
        "login-floods",
        "cd /home/user; mv .bashrc .bashrc.kept 2>/dev/null || touch .bashrc.kept; echo 'while :; do echo flood >&2; done' > .bashrc",
    ),
    bashrc(
        "login-exits",
        "cd /home/user; mv .bashrc .bashrc.kept 2>/dev/null || touch .bashrc.kept; echo 'exit 0' > .bashrc",
    ),
    Fault {
        verdicts: &["peer.unreached", "peer.agent_failed", "local.resources", "local.permission"],
        ..bashrc(
            "few-files",
            "cd /home/user; mv .bashrc .bashrc.kept 2>/dev/null || touch .bashrc.kept; echo 'ulimit -n 8' > .bashrc",
        )
    },
    Fault {
        verdicts: &["peer.unreached", "peer.agent_failed", "local.resources"],
        ..bashrc(
            "few-processes",
            "cd /home/user; mv .bashrc .bashrc.kept 2>/dev/null || touch .bashrc.kept; echo 'ulimit -u 3' > .bashrc",
        )
    },
    Fault {
        login: Login::User,
        verdicts: UNREACHED,
        hides: true,
        ..shell(
            "forced-command",
            "cd /home/user/.ssh; cp -p authorized_keys kept; sed -i 's/^/command=\"cat\" /' authorized_keys",
            "cd /home/user/.ssh; test ! -e kept || mv kept authorized_keys",
        )
    },
    Fault {
        login: Login::User,
        verdicts: UNREACHED,
        hides: true,
        ..shell("shell-is-false", "usermod -s /bin/false user", "usermod -s /bin/bash user")
    },
];

/// Commands, each as often as it is here.
const COMMANDS: &[&[&str]] = &[
    &["ping", "--matrix"],
    &["ping", "--matrix"],
    &["ping", "--matrix"],
    &["ping", "--matrix", "--quick"],
    &["devices", "-v"],
    &["ports"],
    &["counters"],
    &["connections"],
    &["resources"],
];

/// The generator `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("it is below the limit")
    }
}

/// What one seed does: faults with the indices of their nodes, and a command.
struct Scenario {
    seed: u64,
    faults: Vec<(usize, &'static Fault)>,
    command: &'static [&'static str],
}

impl Scenario {
    fn of(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut nodes: Vec<usize> = (0..NODES.len()).collect();
        let mut faults = Vec::new();
        for _ in 0..=random.below(3) {
            let node = nodes.remove(random.below(nodes.len()));
            faults.push((node, &FAULTS[random.below(FAULTS.len())]));
        }
        Self { seed, faults, command: COMMANDS[random.below(COMMANDS.len())] }
    }

    fn of_node(&self, node: usize) -> Option<&'static Fault> {
        self.faults.iter().find(|(at, _)| *at == node).map(|(_, fault)| *fault)
    }

    /// What may be said of a node: the fault there, or that of the node whose address it took or lost.
    fn told(&self) -> String {
        let faults = self.faults.iter().map(|(node, fault)| {
            let value = match fault.inject {
                Inject::Lab(_, Some(value)) => format!("={value}"),
                _ => String::new(),
            };
            format!("{}:{}{value}", NODES[*node], fault.name)
        });
        let faults: Vec<String> = faults.collect();
        format!("seed {}: {} under {}", self.seed, self.command.join(" "), faults.join(", "))
    }

    /// Faults of one login are seen by that login only.
    fn logs_in_as_user(&self) -> bool {
        self.faults.iter().any(|(_, fault)| fault.login == Login::User)
    }

    fn run(&self, lab: &Cluster) -> Vec<String> {
        for (node, fault) in &self.faults {
            inject(lab, NODES[*node], fault);
        }
        let login = if self.logs_in_as_user() { "user" } else { "root" };
        let mut arguments = self.command.to_vec();
        if arguments[0] == "ping" {
            arguments.push(SET);
        } else {
            arguments.extend(["-H", SET]);
        }
        arguments.extend(["-l", login]);
        let answer = catch_unwind(AssertUnwindSafe(|| lab.rdmactl(&arguments)));
        for (node, fault) in self.faults.iter().rev() {
            undo(lab, NODES[*node], fault);
        }
        let mut wrong = Vec::new();
        match &answer {
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map_or("no JSON", String::as_str);
                wrong.push(format!(
                    "no answer: {}",
                    text.lines().take(12).collect::<Vec<_>>().join(" | ")
                ));
            }
            Ok(answer) if self.command[0] == "ping" => self.check_ping(&answer.json, &mut wrong),
            Ok(answer) => self.check_listing(&answer.json, &mut wrong),
        }
        for node in NODES {
            if let Err(left) = catch_unwind(AssertUnwindSafe(|| lab.assert_nothing_left(node))) {
                wrong.push(
                    left.downcast_ref::<String>().map_or("something is left".into(), Clone::clone),
                );
            }
            let files =
                lab.on(node, "find / -xdev /dev/shm /run /tmp -name '.rdmactl-*' 2>/dev/null");
            if !files.is_empty() {
                wrong.push(format!("files left on {node}: {files}"));
            }
        }
        wrong
    }

    /// Every finding and failed pair is explained by the fault of its node, and so is every warning.
    fn check_ping(&self, report: &Value, wrong: &mut Vec<String>) {
        let codes = |node: usize| self.of_node(node).map_or(&[][..], |fault| fault.verdicts);
        let index = |value: &Value| value.as_u64().and_then(|at| usize::try_from(at).ok());
        let list = |name: &str| report[name].as_array().cloned().unwrap_or_default();
        for pair in list("pairs") {
            let code = pair["verdict"]["code"].as_str().unwrap_or("?").to_owned();
            let ends: Vec<usize> =
                ["source", "target"].iter().filter_map(|end| index(&pair[*end])).collect();
            // Faults at both ends can take the evidence that names the cause.
            let is_between_faults =
                code == "rc.no_ack" && ends.iter().all(|end| self.of_node(*end).is_some());
            let is_allowed = ends.iter().any(|end| codes(*end).contains(&code.as_str()));
            if code != "ok" && !is_allowed && !is_between_faults {
                let names: Vec<&str> = ends.iter().map(|end| NODES[*end]).collect();
                wrong.push(format!(
                    "{}: {code}: {}",
                    names.join(" -> "),
                    pair["verdict"]["detail"]
                ));
            }
        }
        for finding in list("findings") {
            let code = finding["code"].as_str().unwrap_or("?").to_owned();
            if let Some(host) = index(&finding["host"])
                && !codes(host).contains(&code.as_str())
            {
                wrong.push(format!("{} is accused of {code}: {}", NODES[host], finding["detail"]));
            }
        }
        for warning in list("warnings") {
            let code = warning["code"].as_str().unwrap_or("?").to_owned();
            let hosts: BTreeSet<usize> =
                warning["hosts"].as_array().into_iter().flatten().filter_map(index).collect();
            let is_allowed = |host: &usize| {
                self.of_node(*host).is_some_and(|fault| fault.warnings.contains(&code.as_str()))
            };
            if !hosts.iter().any(is_allowed) {
                wrong.push(format!("warning {code} of {hosts:?}: {}", warning["detail"]));
            }
        }
        if !list("left_behind").is_empty() {
            wrong.push(format!("left behind: {}", report["left_behind"]));
        }
    }

    /// A host without a fault is read completely, up to what the kernel hides from `user`: the
    /// open files of other users (proc(5), `/proc/PID/fd`). A host without rdmactl says so.
    fn check_listing(&self, report: &Value, wrong: &mut Vec<String>) {
        for (node, host) in report["hosts"].as_array().into_iter().flatten().enumerate() {
            if self.of_node(node).is_some_and(|fault| fault.hides) {
                continue;
            }
            if !host["failure"].is_null() {
                wrong.push(format!("{} has a failure: {}", NODES[node], host["failure"]));
            }
            let has_no_program = self.of_node(node).is_some_and(|one| one.name == "no-program");
            let is_explained = |problem: &Value| {
                let is_of_program = problem["detail"]
                    .as_str()
                    .is_some_and(|detail| detail.ends_with("rdmactl is needed on the host"));
                let is_hidden = self.logs_in_as_user()
                    && problem["key"] == "consumers/holders"
                    && problem["errno"] == "EPERM";
                is_hidden || (has_no_program && is_of_program)
            };
            let problems = host["problems"].as_array();
            if !problems.into_iter().flatten().all(is_explained) {
                wrong.push(format!("{} has problems: {}", NODES[node], host["problems"]));
            }
        }
    }
}

fn inject(lab: &Cluster, node: &str, fault: &Fault) {
    match fault.inject {
        Inject::Lab(name, value) => {
            let value = value.map_or(Vec::new(), |value| vec!["--value", value]);
            lab.lab(&[&["fault", name, node], &value[..]].concat());
        }
        Inject::Shell { start, .. } => drop(lab.on(node, start)),
    }
}

fn undo(lab: &Cluster, node: &str, fault: &Fault) {
    match fault.inject {
        Inject::Lab(name, _) => drop(lab.lab(&["fault", "--undo", name, node])),
        Inject::Shell { stop, .. } => drop(lab.on(node, stop)),
    }
}

#[test]
fn findings_under_random_faults_match_the_faults() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("RDMACTL_CHAOS_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..1 + number("RDMACTL_CHAOS_SEEDS").unwrap_or(20),
    };
    let mut failed = Vec::new();
    for seed in seeds {
        let lab = roce();
        let scenario = Scenario::of(seed);
        let wrong = scenario.run(&lab);
        eprintln!("{} {}", if wrong.is_empty() { "ok  " } else { "FAIL" }, scenario.told());
        if !wrong.is_empty() {
            eprintln!("     {}", wrong.join("\n     "));
            failed.push(format!("{}\n  {}", scenario.told(), wrong.join("\n  ")));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn there_are_forty_faults_and_their_codes_exist() {
    use rdmactl::model::ping::{Code, WarningCode};

    assert!(FAULTS.len() >= 40, "{}", FAULTS.len());
    for fault in FAULTS {
        for word in fault.verdicts {
            assert!(Code::ALL.iter().any(|code| code.word() == *word), "{}: {word}", fault.name);
        }
        for word in fault.warnings {
            assert!(
                WarningCode::ALL.iter().any(|code| code.word() == *word),
                "{}: {word}",
                fault.name
            );
        }
    }
}
