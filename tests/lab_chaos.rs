//! Runs a random command while one to three random faults are active on random nodes. The faults
//! must explain each report of rdmactl.
//!
//! Run `cargo test --test lab_chaos` with `RDMACTL_NODE_BINARY`. `RDMACTL_CHAOS_SEEDS=200` sets
//! the number of seeds (default 20). `RDMACTL_CHAOS_FIRST=7` sets the first seed (default 1), to
//! repeat a failed seed or to split a long run.
//!
//! The oracle is the table [`FAULTS`]. It lists the verdicts, warnings and findings that a fault
//! may cause at its node. A host without a fault must have none. A command that hangs is killed,
//! and its seed fails.
//!
//! `top` has no `--count`: it runs until a key ends it. It runs in a pseudo-terminal, records its
//! samples, and ends with q. The oracle reads the recording.

#![expect(clippy::expect_used, clippy::panic, reason = "a test without its nodes has failed")]
#![expect(clippy::print_stderr, reason = "the log of a long run")]
#![allow(dead_code, reason = "the cluster has more than this test uses")]

#[path = "lab/cluster.rs"]
mod cluster;
#[path = "top/terminal.rs"]
mod terminal;
#[path = "lab/top.rs"]
mod top;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Child;
use std::time::Duration;

use cluster::{Answer, Cluster, roce, wait};
use rdmactl::capture::TopRecording;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];
const SET: &str = "n[1-4]";
/// The node with Linux 5.10.
const OLDEST: &str = "n3";

/// Method that causes and removes a fault.
#[derive(Clone, Copy)]
enum Inject {
    /// Fault of `lab/lab fault`, with its value.
    Lab(&'static str, Option<&'static str>),
    /// Shell commands that root runs on the node, to cause and to remove the fault.
    Shell { start: &'static str, stop: &'static str },
    /// Additional host in the host set. `NODE` stands for the node.
    Host(&'static str),
    /// The fault is on the machine of the operator, and no host may have a finding.
    Operator,
}

/// Logins that a fault affects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Login {
    /// The fault affects each login.
    Any,
    /// The fault affects only the login of `user`.
    User,
}

/// Fault, and the codes that rdmactl may report about its node.
#[derive(Clone, Copy)]
struct Fault {
    name: &'static str,
    inject: Inject,
    login: Login,
    /// Codes of verdicts and findings.
    verdicts: &'static [&'static str],
    /// Codes of warnings.
    warnings: &'static [&'static str],
    /// Ids of findings of `check`, of the severity warn or fail.
    checks: &'static [&'static str],
    /// True if a listing may lack the host or a part of its data.
    hides: bool,
    /// True if Linux 5.10 may hang, crash or report a message without its bytes. Its soft-RoCE sends
    /// a packet again at once if a full queue drops the packet. It panics in `rxe_mmap_release` if
    /// the queue has packets of a queue pair whose device is closed.
    breaks_linux_5_10: bool,
}

const ALIVE: Fault = Fault {
    name: "",
    inject: Inject::Lab("", None),
    login: Login::Any,
    verdicts: &[],
    warnings: &[],
    checks: &[],
    hides: false,
    breaks_linux_5_10: false,
};

const fn lab(name: &'static str, value: Option<&'static str>) -> Fault {
    Fault { name, inject: Inject::Lab(name, value), ..ALIVE }
}

const fn shell(name: &'static str, start: &'static str, stop: &'static str) -> Fault {
    Fault { name, inject: Inject::Shell { start, stop }, ..ALIVE }
}

/// Changes a fault to a fault that may prevent the report of the agent.
const fn silent(verdicts: &'static [&'static str], fault: Fault) -> Fault {
    Fault { verdicts, checks: &["host.silent"], hides: true, ..fault }
}

/// Returns a fault that changes the login file of `user`.
const fn bashrc(name: &'static str, start: &'static str) -> Fault {
    const UNDO: &str = "cd /home/user; test ! -e .bashrc.kept || mv .bashrc.kept .bashrc";
    let fault = Fault { login: Login::User, ..shell(name, start, UNDO) };
    silent(UNREACHED, fault)
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
const MTU: &[&str] = &["mtu.differs"];
const DUPLICATE: &[&str] = &["address.duplicate"];
const MEMLOCK: &[&str] = &["limit.locked_memory", "limit.differs"];
const DROPPED: &[&str] = &["peer.unreached", "peer.dead", "peer.hung", "peer.connection_lost"];

/// Names of faults that change the command.
const STOPPED: &str = "operator-stopped";
const UNWRITABLE: &str = "save-unwritable";
const FULL: &str = "full-memory-disks";

/// File in a directory that does not exist.
const UNWRITABLE_FILE: &str = "/nonexistent/chaos.json";

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
    Fault { warnings: MTU, checks: MTU, ..lab("mtu-small", None) },
    Fault { warnings: MTU, checks: MTU, ..lab("mtu-small", Some("700")) },
    Fault {
        verdicts: &["local.link_down", "local.no_port"],
        checks: &["port.disabled"],
        ..lab("link-down", None)
    },
    Fault {
        verdicts: &["gid.family", "l2.no_neighbour"],
        checks: &["gid.none_usable"],
        // TCP packets of the host leave through the interface of another network. RDMA works with
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
    silent(&["peer.hung"], lab("supervisor-stop", None)),
    silent(&["peer.dead"], lab("supervisor-kill", None)),
    silent(DROPPED, lab("freeze", None)),
    silent(DROPPED, lab("power-off", None)),
    Fault {
        login: Login::User,
        verdicts: &["local.memlock"],
        checks: MEMLOCK,
        ..lab("memlock", Some("16"))
    },
    Fault {
        login: Login::User,
        verdicts: &["local.memlock"],
        checks: MEMLOCK,
        ..lab("memlock", Some("0"))
    },
    Fault {
        login: Login::User,
        verdicts: &["local.permission"],
        checks: &["device.file_denied"],
        hides: true,
        ..lab("uverbs-denied", None)
    },
    Fault {
        verdicts: &["local.permission"],
        checks: &["device.file_missing"],
        hides: true,
        ..lab("uverbs-missing", None)
    },
    Fault {
        verdicts: &["local.library"],
        checks: &["device.no_provider"],
        hides: true,
        ..lab("no-verbs", None)
    },
    Fault { verdicts: &["local.no_port"], checks: &["host.no_device"], ..lab("no-device", None) },
    Fault {
        verdicts: &["local.no_port"],
        checks: &["host.no_device"],
        hides: true,
        ..lab("no-module", None)
    },
    silent(UNREACHED, lab("ssh-wrong-hostkey", None)),
    silent(UNREACHED, lab("ssh-refuse-user", None)),
    silent(UNREACHED, lab("sshd-silent", None)),
    // The node has no fault, only a second name. The counters of its port include the packets of
    // both names.
    Fault {
        name: "host-twice",
        inject: Inject::Host("root@NODE"),
        warnings: &["host.twice", "loss.not_counted"],
        ..ALIVE
    },
    silent(
        UNREACHED,
        Fault { name: "unresolved", inject: Inject::Host("no-NODE.invalid"), ..ALIVE },
    ),
    Fault { name: STOPPED, inject: Inject::Operator, ..ALIVE },
    Fault { name: UNWRITABLE, inject: Inject::Operator, ..ALIVE },
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
        breaks_linux_5_10: true,
        ..shell(
            "slow-queue",
            "tc qdisc add dev eth1 root tbf rate 1mbit burst 10k limit 30k",
            NETEM_OFF,
        )
    },
    Fault {
        verdicts: LOST,
        warnings: LOSSY,
        breaks_linux_5_10: true,
        ..shell(
            "queue-of-others",
            ". /etc/rdmalab.conf; tc qdisc add dev eth1 root tbf rate 1mbit burst 10k limit 30k; \
             TO=10.10.1.$((NUMBER % 4 + 1)) perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 17); \
             $to = sockaddr_in(9, inet_aton($ENV{TO})); while (1) { send(S, q(x) x 1400, 0, $to); \
             select(undef, undef, undef, 0.011) }' queue-filler >/dev/null 2>&1 </dev/null & true",
            "pkill -f 'queue-fille[r]'; tc qdisc del dev eth1 root 2>/dev/null; true",
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
        warnings: DUPLICATE,
        checks: DUPLICATE,
        ..shell(
            "address-of-another",
            ". /etc/rdmalab.conf; ip addr add 10.10.1.$((NUMBER % 4 + 1))/24 dev eth1",
            ". /etc/rdmalab.conf; ip addr del 10.10.1.$((NUMBER % 4 + 1))/24 dev eth1 2>/dev/null; true",
        )
    },
    Fault {
        verdicts: &["local.device_gone", "local.no_port", "gid.index"],
        checks: &["host.no_device", "gid.none_usable"],
        hides: true,
        ..shell(
            "device-returns",
            "setsid sh -c 'sleep 6; rdma link delete rxe0; sleep 3; rdma link add rxe0 type rxe netdev eth1' \
             >/dev/null 2>&1 </dev/null & true",
            "while pgrep -f 'rdma link ad[d]' >/dev/null; do sleep 0.2; done; \
             /usr/lib/rdmalab/devices add && /usr/lib/rdmalab/devices wait",
        )
    },
    Fault {
        verdicts: &["local.device_gone", "local.no_port", "gid.index"],
        checks: &["host.no_device"],
        hides: true,
        ..shell(
            "device-removed",
            "(sleep 6; rdma link delete rxe0) >/dev/null 2>&1 </dev/null & true",
            "sleep 4; rdma link show rxe0/1 >/dev/null 2>&1 || { /usr/lib/rdmalab/devices add && /usr/lib/rdmalab/devices wait; }",
        )
    },
    Fault {
        verdicts: &["l2.no_neighbour"],
        // TCP starts after RDMA has its entries of the table.
        warnings: &["tcp.blocked"],
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
    // rdmactl is removed from the node, so that the upload finds the full disks.
    shell(
        FULL,
        "dd if=/dev/zero of=/dev/shm/fill bs=1M 2>/dev/null; dd if=/dev/zero of=/tmp/fill bs=1M count=64 2>/dev/null; \
         mv /usr/local/bin/rdmactl /run/hidden",
        "rm -f /dev/shm/fill /tmp/fill; test ! -e /run/hidden || mv /run/hidden /usr/local/bin/rdmactl",
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
    silent(
        DROPPED,
        shell(
            "sessions-killed",
            "(sleep 4; pkill -KILL -f 'sshd.*notty') >/dev/null 2>&1 </dev/null & true",
            "true",
        ),
    ),
    silent(
        &["peer.unreached", "peer.hung"],
        shell(
            "program-is-a-script",
            "mv /usr/local/bin/rdmactl /run/hidden; printf '#!/bin/sh\\nsleep 500\\n' > /usr/local/bin/rdmactl; chmod +x /usr/local/bin/rdmactl",
            "test ! -e /run/hidden || mv /run/hidden /usr/local/bin/rdmactl",
        ),
    ),
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
        verdicts: &["peer.unreached", "peer.agent_failed", "local.resources"],
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
    // The stack limit is too small for the main thread of the agent or for the login shell.
    Fault {
        verdicts: &["peer.unreached", "peer.agent_failed"],
        ..bashrc(
            "small-stack",
            "cd /home/user; mv .bashrc .bashrc.kept 2>/dev/null || touch .bashrc.kept; echo 'ulimit -s 64' > .bashrc",
        )
    },
    Fault {
        login: Login::User,
        ..silent(
            UNREACHED,
            shell(
                "forced-command",
                "cd /home/user/.ssh; cp -p authorized_keys kept; sed -i 's/^/command=\"cat\" /' authorized_keys",
                "cd /home/user/.ssh; test ! -e kept || mv kept authorized_keys",
            ),
        )
    },
    Fault {
        login: Login::User,
        ..silent(
            UNREACHED,
            shell("shell-is-false", "usermod -s /bin/false user", "usermod -s /bin/bash user"),
        )
    },
];

/// Commands. A command is chosen with a probability that is proportional to its number of
/// entries.
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
    &["check", "--severity", "warn"],
    &["top", "--every", "5s"],
];

/// Random number generator `SplitMix64`.
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

/// Faults with the indices of their nodes, and the command of a seed.
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

    /// Returns the fault that explains a report about a host, by the name of the host in the set.
    fn of_host(&self, name: &str) -> Option<&'static Fault> {
        let is_of_host = |(node, fault): &&(usize, &'static Fault)| match fault.inject {
            Inject::Host(_) => {
                let added = added_host(*node, fault).unwrap_or_default();
                added == name || node_of(&added) == name
            }
            Inject::Operator => false,
            Inject::Lab(..) | Inject::Shell { .. } => NODES[*node] == name,
        };
        self.faults.iter().find(is_of_host).map(|(_, fault)| *fault)
    }

    /// True if a fault may have broken the kernel of a node.
    fn may_be_broken(&self, node: &str) -> bool {
        node == OLDEST && self.of_host(node).is_some_and(|fault| fault.breaks_linux_5_10)
    }

    /// True if the fault of a host explains the code of a verdict or of a finding.
    fn explains(&self, host: &str, code: &str) -> bool {
        let of_fault = self.of_host(host).map_or(&[][..], |fault| fault.verdicts);
        let is_of_kernel = DROPPED.contains(&code) || code == "data.corrupted";
        of_fault.contains(&code) || (is_of_kernel && self.may_be_broken(host))
    }

    fn has(&self, name: &str) -> bool {
        self.faults.iter().any(|(_, fault)| fault.name == name)
    }

    /// True if rdmactl must reject the command before it queries a host. `top` has no --save.
    fn is_refused(&self) -> bool {
        self.has(UNWRITABLE) && self.command[0] != "top"
    }

    /// Returns the seed, the command and the faults with their nodes.
    fn description(&self) -> String {
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

    /// True if the command must log in as `user`, because a fault affects only that login.
    fn logs_in_as_user(&self) -> bool {
        self.faults.iter().any(|(_, fault)| fault.login == Login::User)
    }

    fn arguments(&self) -> Vec<String> {
        let added = self.faults.iter().filter_map(|(node, fault)| added_host(*node, fault));
        let hosts: Vec<String> = [SET.to_owned()].into_iter().chain(added).collect();
        let set = hosts.join(",");
        let mut words: Vec<&str> = self.command.to_vec();
        if self.command[0] != "ping" {
            words.push("-H");
        }
        let login = if self.logs_in_as_user() { "user" } else { "root" };
        words.extend([set.as_str(), "-l", login]);
        if self.has(FULL) {
            words.push("--upload");
        }
        if self.is_refused() {
            words.extend(["--save", UNWRITABLE_FILE]);
        }
        words.into_iter().map(str::to_owned).collect()
    }

    fn run(&self) -> Vec<String> {
        let lab = roce();
        for (node, fault) in &self.faults {
            inject(&lab, NODES[*node], fault);
        }
        let mut wrong = Vec::new();
        let judged = catch_unwind(AssertUnwindSafe(|| self.judge(&lab, &mut wrong)));
        for (node, fault) in self.faults.iter().rev() {
            undo(&lab, NODES[*node], fault);
        }
        if let Err(panic) = judged {
            wrong.push(format!("no answer: {}", message(&*panic)));
        }
        for node in NODES {
            if self.may_be_broken(node) && lab.on(node, "echo responds") != "responds\n" {
                continue;
            }
            if let Err(left) = catch_unwind(AssertUnwindSafe(|| lab.assert_nothing_left(node))) {
                wrong.push(message(&*left));
            }
            let files =
                lab.on(node, "find / -xdev /dev/shm /run /tmp -name '.rdmactl-*' 2>/dev/null");
            if !files.is_empty() {
                wrong.push(format!("files left on {node}: {files}"));
            }
        }
        wrong
    }

    /// Runs the command, and adds to `wrong` all reports that the faults do not explain.
    fn judge(&self, lab: &Cluster, wrong: &mut Vec<String>) {
        let arguments = self.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if self.command[0] == "top" {
            return self.check_listing(&self.recorded(lab, &arguments), wrong);
        }
        let run = lab.start_with_limit(&arguments);
        if self.is_refused() {
            return check_refusal(run, wrong);
        }
        if self.has(STOPPED) {
            // After this time the agents run.
            wait(Duration::from_secs(5));
            let group = Pid::from_child(&run);
            // The run may have ended.
            let _ = kill_process_group(group, Signal::STOP);
            wait(STOP);
            let _ = kill_process_group(group, Signal::CONT);
        }
        let report = Answer::of(&arguments, run).json;
        match self.command[0] {
            "ping" => self.check_ping(&report, wrong),
            "check" => self.check_findings(&report, wrong),
            _ => self.check_listing(&report, wrong),
        }
    }

    /// Runs `top`, which records samples. Returns the last report of each host, in the format of
    /// a listing.
    fn recorded(&self, lab: &Cluster, arguments: &[&str]) -> Value {
        let folder = tempfile::tempdir().expect("a directory");
        let mut terminal = top::start(lab, folder.path(), arguments);
        top::await_hosts(&terminal);
        terminal.press("w");
        terminal.await_frame("REC");
        if self.has(STOPPED) {
            terminal.signal(Signal::STOP);
            wait(STOP);
            terminal.signal(Signal::CONT);
        }
        wait(Duration::from_secs(12));
        terminal.press("w");
        terminal.await_frame("saved ");
        terminal.press("q");
        let code = terminal.await_end().exit_code();
        assert_eq!(code, 0, "top: {}", terminal.restored());
        let mut files = std::fs::read_dir(folder.path()).expect("a directory").flatten();
        let file = files.next().expect("a recording").path();
        let mut recording = TopRecording::open(&file).expect("a recording");
        let mut hosts: Vec<Value> = Vec::new();
        for place in 0..recording.count() {
            for (index, sample) in recording.at(place).expect("a sample").iter().enumerate() {
                let host = json!({
                    "host": sample.report.host,
                    "problems": sample.report.problems,
                    "failure": sample.failure,
                });
                match hosts.get_mut(index) {
                    None => hosts.push(host),
                    Some(known) if sample.failure.is_none() => *known = host,
                    Some(_) => {}
                }
            }
        }
        json!({ "hosts": hosts })
    }

    /// Every finding and failed pair is explained by the fault of its node, and so is every
    /// warning.
    fn check_ping(&self, report: &Value, wrong: &mut Vec<String>) {
        let name = |host: &Value| {
            let index = host.as_u64().and_then(|at| usize::try_from(at).ok());
            index.and_then(|at| report["hosts"][at]["name"].as_str()).unwrap_or("?")
        };
        let list = |key: &str| report[key].as_array().into_iter().flatten();
        for pair in list("pairs") {
            let code = pair["verdict"]["code"].as_str().unwrap_or("?");
            let ends = [&pair["source"], &pair["target"]].map(name);
            if !self.explains_pair(code, ends) {
                let detail = &pair["verdict"]["detail"];
                wrong.push(format!("{}: {code}: {detail}", ends.join(" -> ")));
            }
        }
        for finding in list("findings").filter(|finding| !finding["host"].is_null()) {
            let (host, code) = (name(&finding["host"]), finding["code"].as_str().unwrap_or("?"));
            if !self.explains(host, code) {
                wrong.push(format!("{host} is accused of {code}: {}", finding["detail"]));
            }
        }
        for warning in list("warnings") {
            let code = warning["code"].as_str().unwrap_or("?");
            let hosts: Vec<&str> =
                warning["hosts"].as_array().into_iter().flatten().map(name).collect();
            let is_allowed = |host: &&str| {
                self.of_host(host).is_some_and(|fault| fault.warnings.contains(&code))
            };
            if !hosts.iter().any(is_allowed) {
                wrong.push(format!("warning {code} of {hosts:?}: {}", warning["detail"]));
            }
        }
        // Nothing can be ended on a node that does not respond.
        let is_of_broken = |text: &Value| {
            let on_oldest = format!(" on {OLDEST} ");
            self.may_be_broken(OLDEST)
                && text.as_str().is_some_and(|text| text.contains(&on_oldest))
        };
        if !list("left_behind").all(is_of_broken) {
            wrong.push(format!("left behind: {}", report["left_behind"]));
        }
    }

    /// True if the faults explain the verdict of a pair. A node is not tested with itself.
    fn explains_pair(&self, code: &str, ends: [&str; 2]) -> bool {
        if node_of(ends[0]) == node_of(ends[1]) {
            return code == "not_tested";
        }
        let faults = ends.map(|end| self.of_host(end));
        // Faults at both ends can take the evidence that names the cause.
        let is_between_faults = code == "rc.no_ack" && faults.iter().all(Option::is_some);
        // The stopped operator did not test the pair.
        let is_interrupted = code == "not_tested" && self.has(STOPPED);
        code == "ok"
            || is_between_faults
            || is_interrupted
            || ends.iter().any(|end| self.explains(end, code))
    }

    /// Checks that a host without a fault was read completely, except the open files of other
    /// users: the kernel hides them from `user` (proc(5), `/proc/PID/fd`). A host without rdmactl
    /// has a problem that names the missing program.
    fn check_listing(&self, report: &Value, wrong: &mut Vec<String>) {
        for host in report["hosts"].as_array().into_iter().flatten() {
            let name = host["host"].as_str().unwrap_or("?");
            let fault = self.of_host(name);
            if fault.is_some_and(|fault| fault.hides) {
                continue;
            }
            if !host["failure"].is_null() {
                wrong.push(format!("{name} has a failure: {}", host["failure"]));
            }
            let has_no_program = fault.is_some_and(|one| one.name == "no-program");
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
                wrong.push(format!("{name} has problems: {}", host["problems"]));
            }
        }
    }

    /// Checks that the faults of its hosts explain each finding of `check`. A finding that
    /// compares hosts also names hosts without a fault.
    fn check_findings(&self, report: &Value, wrong: &mut Vec<String>) {
        for finding in report["findings"].as_array().into_iter().flatten() {
            let id = finding["id"].as_str().unwrap_or("?");
            let is_explained =
                |host: &str| self.of_host(host).is_some_and(|fault| fault.checks.contains(&id));
            let mut hosts =
                finding["hosts"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let is_right = match id {
                // The nodes have three kernels.
                "kernel.differs" => true,
                "address.duplicate" | "mtu.differs" => hosts.any(is_explained),
                _ => hosts.all(is_explained),
            };
            if !is_right {
                wrong.push(format!("{id} of {}: {}", finding["hosts"], finding["what"]));
            }
        }
    }
}

/// Time for which the operator is stopped. It is longer than the lease of a worker.
const STOP: Duration = Duration::from_secs(4);

/// Returns the first lines of the message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("no message").lines().take(12).collect::<Vec<_>>().join(" | ")
}

/// Returns the name of the host that a fault adds to the set.
fn added_host(node: usize, fault: &Fault) -> Option<String> {
    match fault.inject {
        Inject::Host(name) => Some(name.replace("NODE", NODES[node])),
        _ => None,
    }
}

/// Returns the name of a host without the user.
fn node_of(name: &str) -> &str {
    name.rsplit('@').next().unwrap_or(name)
}

/// Checks that rdmactl reports an unwritable file before it queries hosts.
fn check_refusal(run: Child, wrong: &mut Vec<String>) {
    let output = run.wait_with_output().expect("rdmactl ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let is_reported = stderr.contains(&format!("cannot write {UNWRITABLE_FILE}: "));
    if output.status.code() != Some(2) || !output.stdout.is_empty() || !is_reported {
        wrong.push(format!("--save: {}: {stderr}", output.status));
    }
}

fn inject(lab: &Cluster, node: &str, fault: &Fault) {
    match fault.inject {
        Inject::Lab(name, value) => {
            let value = value.map_or(Vec::new(), |value| vec!["--value", value]);
            lab.lab(&[&["fault", name, node], &value[..]].concat());
        }
        Inject::Shell { start, .. } => drop(lab.on(node, start)),
        Inject::Host(_) | Inject::Operator => {}
    }
}

fn undo(lab: &Cluster, node: &str, fault: &Fault) {
    match fault.inject {
        Inject::Lab(name, _) => drop(lab.lab(&["fault", "--undo", name, node])),
        Inject::Shell { stop, .. } => drop(lab.on(node, stop)),
        Inject::Host(_) | Inject::Operator => {}
    }
}

#[test]
fn findings_under_random_faults_match_the_faults() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("RDMACTL_CHAOS_FIRST").unwrap_or(1);
    let seeds = number("RDMACTL_CHAOS_SEEDS").unwrap_or(20);
    let mut failed = Vec::new();
    for seed in first..first + seeds {
        let scenario = Scenario::of(seed);
        // If the lab fails, only this seed fails.
        let run = catch_unwind(AssertUnwindSafe(|| scenario.run()));
        let wrong = run.unwrap_or_else(|panic| vec![message(&*panic)]);
        eprintln!("{} {}", if wrong.is_empty() { "ok  " } else { "FAIL" }, scenario.description());
        if !wrong.is_empty() {
            eprintln!("     {}", wrong.join("\n     "));
            failed.push(format!("{}\n  {}", scenario.description(), wrong.join("\n  ")));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn there_are_forty_faults_and_their_codes_exist() {
    use rdmactl::model::check;
    use rdmactl::model::ping::{Code, WarningCode};

    assert!(FAULTS.len() >= 40, "{}", FAULTS.len());
    for name in [STOPPED, UNWRITABLE, FULL] {
        assert!(FAULTS.iter().any(|fault| fault.name == name), "{name}");
    }
    for fault in FAULTS {
        for word in fault.verdicts {
            assert!(Code::ALL.iter().any(|code| code.word() == *word), "{}: {word}", fault.name);
        }
        for id in fault.checks {
            assert!(check(id).is_some_and(|one| one.severity.is_problem()), "{}: {id}", fault.name);
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
