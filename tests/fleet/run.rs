//! Complete runs against a real sshd: reports, errors and signals, and no process or file that
//! stays on the node.

#![allow(clippy::unwrap_used, reason = "without its test bed a test must end")]

use std::fs;
use std::io::{BufRead as _, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::bed::{Said, rdmactl, tool, wait_until};
use crate::programs::Programs;
use crate::sshd::{Setup, Sshd};
use rdmactl::clock;
use rdmactl::wire::{FrameWriter, FromAgent, PROTOCOL, Process};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Node whose PATH begins with a directory of test programs.
struct Node {
    sshd: Sshd,
    programs: Programs,
}

impl Node {
    /// Starts a node. `environment` adds variables to each session, and the script `forced` runs
    /// before each command.
    fn new(environment: &str, forced: &str) -> Self {
        let programs = Programs::new();
        let path = programs.directory().display();
        // An upload tries the runtime directory first.
        let mut config = format!(
            "SetEnv SHLVL=2 PATH={path}:/usr/bin:/bin RDMACTL_PATH=/nonexistent XDG_RUNTIME_DIR={path} {environment}\n"
        );
        if !forced.is_empty() {
            programs
                .write("forced", &format!("{forced}\nexec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\""));
            config = format!("{config}ForceCommand {}\n", programs.path("forced").display());
        }
        let sshd = Sshd::with(&Setup { config: &config, ..Setup::default() });
        Self { sshd, programs }
    }

    fn program(&self) -> PathBuf {
        self.programs.path("rdmactl")
    }

    fn install(&self) {
        self.programs.install();
    }

    fn start(&self, arguments: &[&str]) -> Child {
        self.start_of(rdmactl(), arguments)
    }

    fn start_of(&self, mut rdmactl: Command, arguments: &[&str]) -> Child {
        rdmactl
            .args(arguments)
            .arg("-F")
            .arg(self.sshd.path("ssh_config"))
            .args(["-H", &self.sshd.address])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.start(arguments))
    }

    /// Returns the directories of uploaded programs.
    fn uploads(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.programs.directory()).unwrap().flatten();
        let is_upload = |path: &PathBuf| path.to_string_lossy().contains("/.rdmactl-");
        entries.map(|entry| entry.path()).filter(is_upload).collect()
    }

    /// Waits until no installed or uploaded program runs.
    fn is_clean(&self) {
        wait_until("the node is clean", || self.programs.processes().is_empty());
    }

    /// Sends a signal to each process of an installed or uploaded program. Returns the PIDs.
    fn signal(&self, signal: Signal) -> Vec<i32> {
        let pids = self.programs.processes().into_iter().map(|process| process.pid);
        let send = |&pid: &i32| kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        pids.inspect(send).collect()
    }
}

/// Ends a watch with SIGINT and checks its exit code.
fn interrupt(child: Child, lines: Lines<BufReader<ChildStdout>>) {
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let rest = thread::spawn(move || lines.count());
    let said = Said::of(child);
    rest.join().unwrap();
    assert_eq!(said.code, Some(130), "{}", said.stderr);
}

/// Creates a FIFO in place of libibverbs: a process that opens it hangs, like with a faulty
/// driver. Returns the directory of the FIFO and the variable that names the FIFO.
fn hanging_library() -> (TempDir, String) {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("libibverbs.so.1");
    let made = Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    let environment = format!("RDMACTL_LIBIBVERBS={}", file.display());
    (directory, environment)
}

#[test]
fn a_hung_library_costs_its_part_of_the_row() {
    let (_library, environment) = hanging_library();
    let node = Node::new(&environment, "");
    node.install();
    let said = node.run(&["devices", "-v", "--json", "--timeout", "3s"]);
    let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let host = &json["hosts"][0];
    assert_eq!(host["failure"], serde_json::Value::Null, "{}", said.stderr);
    assert_eq!(host["via"], "agent");
    let detail = host["verbs"]["detail"].as_str().unwrap();
    assert!(detail.contains("libibverbs did not return within"), "{detail}");
    node.is_clean();
}

#[test]
fn a_capture_of_hosts_holds_their_answers_and_failures() {
    let node = Node::new("", "");
    node.install();
    let file = node.programs.path("both.ndjson");
    let file = file.to_str().unwrap();
    let both = format!("{},127.0.0.1:1", node.sshd.address);
    let run = |arguments: &[&str]| {
        let mut command = rdmactl();
        command.args(arguments).arg("-F").arg(node.sshd.path("ssh_config"));
        Said::from(command.output().unwrap())
    };
    let said = run(&["capture", "-H", &both, "--save", file]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(said.stderr.contains("127.0.0.1:1: "), "{}", said.stderr);
    let text = fs::read_to_string(file).unwrap();
    let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(header["schema"], "rdmactl.capture/2");
    let hosts = &header["hosts"];
    assert_eq!(
        (&hosts[1]["via"], &hosts[0]["failure"]["reason"]),
        (&"agent".into(), &"refused".into())
    );
    assert!(text.contains("/proc/sys/kernel/osrelease") && text.contains("\"ask\":\"verbs\""));

    // The capture has the report of one host and the failure of the other.
    let replayed = run(&["devices", "--from", file, "--json"]);
    let live = run(&["devices", "-H", &both, "--json"]);
    let [replayed, live] = [replayed, live].map(|said| -> serde_json::Value {
        assert_eq!(said.code, Some(3), "{}", said.stderr);
        serde_json::from_str(&said.stdout).unwrap()
    });
    for key in ["host", "kernel", "rdma_core", "devices", "problems", "failure"] {
        for host in [0, 1] {
            assert_eq!(replayed["hosts"][host][key], live["hosts"][host][key], "{key}");
        }
    }
    node.is_clean();
}

#[test]
fn two_hundred_names_without_an_address_are_at_most_two_findings() {
    let node = Node::new("", "");
    node.install();
    let set = format!("{},no[1-200].invalid", node.sshd.address);
    let run = |arguments: &[&str]| {
        let mut command = rdmactl();
        command.args(arguments).args(["--timeout", "60s", "-F"]).arg(node.sshd.path("ssh_config"));
        // The machine may have no name server, or one that does not respond.
        command.envs([("RES_OPTIONS", "timeout:1 attempts:1"), ("LOCALDOMAIN", "invalid")]);
        Said::from(command.output().unwrap())
    };
    // A name server that responds late gives some names another error, and a second finding.
    let starts = |text: &str, start: &str| text.lines().filter(|it| it.starts_with(start)).count();
    let listed = run(&["devices", "-H", &set]);
    assert_eq!(listed.code, Some(3), "{}", listed.stderr);
    let notes = starts(&listed.stderr, "rdmactl: no");
    assert!((1..=2).contains(&notes), "{}", listed.stderr);
    let pinged = run(&["ping", "--matrix", &set, "--quick"]);
    assert_eq!(pinged.code, Some(1), "{}{}", pinged.stdout, pinged.stderr);
    let findings = starts(&pinged.stdout, "! ");
    assert!((1..=2).contains(&findings), "{}{}", pinged.stdout, pinged.stderr);
    assert_eq!(starts(&pinged.stdout, "! no"), findings, "{}", pinged.stdout);
    assert_eq!(pinged.stdout.matches("peer.unreached (").count(), findings, "{}", pinged.stdout);
    node.is_clean();
}

#[test]
fn a_listing_is_saved_with_the_queried_parts() {
    let node = Node::new("", "");
    node.install();
    let file = node.programs.path("devices.ndjson");
    let file = file.to_str().unwrap();
    let live = node.run(&["devices", "--save", file]);
    let kept = fs::read_to_string(file).unwrap();
    assert!(kept.contains("osrelease") && !kept.contains("\"verbs\""), "{kept}");
    let mut replayed = Command::new(env!("CARGO_BIN_EXE_rdmactl"));
    replayed.args(["devices", "--from", file]);
    let replayed = Said::from(replayed.output().unwrap());
    assert_eq!((live.code, &live.stdout), (replayed.code, &replayed.stdout), "{}", live.stderr);
}

#[test]
fn parts_that_an_older_agent_cannot_read_are_reported() {
    let node = Node::new("", "");
    let port = r#"{"number":1,"address":null,"gids":null}"#;
    let device = format!(r#"{{"name":"rxe0","ports":[{port}]}}"#);
    let report = format!(
        r#"{{"host":"n1","via":"agent","parts":["details","pci_links","gids"],"kernel":"6.1.0","rdma_core":true,"devices":[{device}],"verbs":{{"state":"not_asked"}},"problems":[]}}"#
    );
    let mut said = Vec::new();
    let mut writer = FrameWriter::new(&mut said);
    writer.write(&FromAgent::Hello(Process { pid: 1, start_ticks: 1 })).unwrap();
    writer.write(&FromAgent::ReportPart { text: report, is_last: true }).unwrap();
    writer.write(&FromAgent::End { frames: 2 }).unwrap();
    let file = node.programs.path("said");
    fs::write(&file, said).unwrap();
    let other = |protocol: u32| {
        let text =
            format!("echo RDMACTL/{protocol} $2 0.0.9; cat {}; cat >/dev/null", file.display());
        node.programs.write("rdmactl", &text);
    };
    other(PROTOCOL);
    let said = node.run(&["devices", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let said = node.run(&["devices", "-o", "device,address,max_qp,mtu,gpus", "--format", "plain"]);
    let row = said.stdout.lines().last();
    assert_eq!((row, said.code), (Some("rxe0\t-\t?\t?\t?"), Some(3)), "{}", said.stderr);
    let expected = "verbs: rdmactl 0.0.9 on the host cannot read this part";
    assert!(said.stderr.contains(expected), "{}", said.stderr);
    // With an agent of an older protocol, only --upload can read the host.
    other(PROTOCOL - 1);
    let said = node.run(&["devices"]);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    assert!(
        said.stderr.contains("agent: rdmactl 0.0.9 on the host uses protocol"),
        "{}",
        said.stderr
    );
    let said = node.run(&["devices", "--upload", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("\"via\": \"upload\""), "{}", said.stdout);
    // A capture is incomplete where root may not read the files of each process.
    let said = node.run(&["capture", "--upload"]);
    assert!(said.stdout.contains("\"via\":\"upload\""), "{}", said.stderr);
}

/// Reads the lines of a run until a line contains a word.
fn read_until(lines: &mut impl Iterator<Item = std::io::Result<String>>, word: &str) {
    assert!(lines.any(|line| line.unwrap().contains(word)), "no line contains {word}");
}

#[test]
fn a_watch_keeps_its_agent_and_ends_in_good_order() {
    // The node logs each command.
    let node = Node::new("", "echo \"$SSH_ORIGINAL_COMMAND\" >>\"$XDG_RUNTIME_DIR/log\"");
    node.install();
    let said = node.run(&["counters", "--watch=100ms", "--count", "3", "-f", "ndjson"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(said.stdout.lines().count(), 3, "{}", said.stdout);
    let stamps: Vec<u64> = said
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|json| json["hosts"][0]["taken_ns"].as_u64().unwrap())
        .collect();
    assert!(stamps.is_sorted() && stamps[2] >= stamps[0] + 100_000_000, "{stamps:?}");
    assert_eq!(said.stderr.matches("no RDMA device").count(), 1, "said once: {}", said.stderr);
    let log = fs::read_to_string(node.programs.path("log")).unwrap();
    assert_eq!(log.matches("agent").count(), 1, "{log}");
    node.is_clean();
}

#[test]
fn an_agent_that_dies_in_a_watch_is_a_row_and_comes_back() {
    let node = Node::new("", "");
    node.install();
    let mut child = node.start(&["devices", "--watch=200ms", "-f", "ndjson"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    read_until(&mut lines, "\"via\":\"agent\"");
    node.signal(Signal::KILL);
    let is_lost = |line: &String| line.contains("\"reason\":\"killed\"");
    let lost = lines.by_ref().map(Result::unwrap).find(is_lost).unwrap();
    assert!(lost.contains("; last reply "), "{lost}");
    read_until(&mut lines, "\"via\":\"agent\"");
    interrupt(child, lines);
    node.is_clean();
}

#[test]
fn an_agent_that_is_late_is_waited_for_and_one_that_is_too_late_is_replaced() {
    let node = Node::new("", "");
    node.install();
    let mut child = node.start(&["devices", "--watch=100ms", "--timeout=5s", "-f", "ndjson"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    read_until(&mut lines, "\"via\":\"agent\"");
    let first = node.signal(Signal::STOP);
    read_until(&mut lines, "no response yet; last reply ");
    node.signal(Signal::CONT);
    read_until(&mut lines, "\"via\":\"agent\"");
    assert_eq!(node.signal(Signal::STOP), first, "the same agent");
    read_until(&mut lines, "\"reason\":\"hung\"");
    read_until(&mut lines, "\"via\":\"agent\"");
    let next = node.programs.processes();
    assert!(next.iter().all(|process| !first.contains(&process.pid)), "another one");
    interrupt(child, lines);
    node.is_clean();
}

#[test]
fn a_host_slower_than_the_interval_delays_no_other_host() {
    let slow = Node::new("", "until [ -e \"$XDG_RUNTIME_DIR/gate\" ]; do sleep 0.1; done");
    let quick = Node::new("", "");
    slow.install();
    quick.install();
    let there = format!(
        "Host slow\n  HostName {}\n  Port {}\n  HostKeyAlias {}\n  UserKnownHostsFile {}\n  IdentityFile {}\nHost quick\n  HostName {}\n",
        slow.sshd.address,
        slow.sshd.port,
        slow.sshd.name(),
        slow.sshd.path("known_hosts").display(),
        slow.sshd.path("user").display(),
        quick.sshd.address,
    );
    quick.sshd.write_client_config(&there);
    let mut child = rdmactl();
    child
        .args(["devices", "--watch=100ms", "--timeout=60s", "-f", "ndjson", "-H", "quick,slow"])
        .arg("-F")
        .arg(quick.sshd.path("ssh_config"));
    let (child, mut lines) = watch(&mut child);
    for sample in 0..3 {
        let mut next = || lines.next().unwrap().unwrap();
        let (quick, slow) = (next(), next());
        assert!(quick.contains("\"via\":\"agent\""), "sample {sample}: {quick}");
        assert!(slow.contains("\"reason\":\"connecting\""), "sample {sample}: {slow}");
    }
    fs::write(slow.programs.path("gate"), "").unwrap();
    let mut reports = lines.by_ref().map(Result::unwrap);
    let arrived = |line: &String| {
        assert!(!line.contains("\"reason\":\"timeout\""), "{line}");
        line.contains("\"host\":\"slow\"") && line.contains("\"via\":\"agent\"")
    };
    assert!(reports.any(|line| arrived(&line)), "no report of the slow host");
    interrupt(child, lines);
    slow.is_clean();
    quick.is_clean();
}

/// Starts a command. Returns its process and the lines of its stdout.
fn watch(command: &mut Command) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

#[test]
fn a_watch_of_this_host_ends_with_the_signal() {
    let (child, mut lines) = watch(rdmactl().args(["devices", "--watch=60", "-f", "ndjson"]));
    read_until(&mut lines, "rdmactl.report/1");
    let began = clock::now();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = Said::of(child);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(said.code, Some(130), "{}", said.stderr);
}

#[test]
fn a_hung_library_of_this_host_ends_with_the_timeout() {
    let (_library, environment) = hanging_library();
    let (name, value) = environment.split_once('=').unwrap();
    let began = clock::now();
    let output = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .args(["devices", "-v", "--json", "--timeout", "300ms"])
        .env(name, value)
        .output()
        .unwrap();
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    let said = Said::from(output);
    assert!(said.stdout.contains("did not return within 0.3 s"), "{}", said.stdout);
}

#[test]
fn a_signal_ends_the_run_at_once_and_leaves_no_agent() {
    let (_library, environment) = hanging_library();
    let node = Node::new(&environment, "");
    node.install();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let child = node.start(&["devices", "-v", "--timeout", "60s"]);
        wait_until("the library hangs", || {
            let mut processes = node.programs.processes().into_iter();
            processes.any(|process| process.command_line.contains("verbs"))
        });
        let began = clock::now();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let said = Said::of(child);
        let took = began.elapsed();
        assert_eq!(said.code, Some(code), "{}", said.stderr);
        assert!(said.stdout.contains("cancelled !"), "{}", said.stdout);
        assert!(!said.stderr.contains("still on"), "{}", said.stderr);
        // The shortest deadline of the run is longer. The measured time is 60 ms.
        assert!(took < Duration::from_secs(5), "{took:?}");
        node.is_clean();
    }
}

#[test]
fn a_signal_ends_a_run_whose_ssh_configuration_hangs() {
    let node = Node::new("", "");
    let started = node.sshd.path("started");
    let hangs = format!("Match exec \"touch {}; sleep 600\"\n  User nobody", started.display());
    node.sshd.write_client_config(&hangs);
    let child = node.start(&["devices", "--timeout", "60s"]);
    wait_until("the configuration hangs", || started.exists());
    let began = clock::now();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = Said::of(child);
    // rdmactl waits up to 5 s for ssh -G.
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    assert!(said.stdout.contains("cancelled !"), "{}", said.stdout);
}

#[test]
fn a_signal_ends_a_ping_that_enters_its_hosts() {
    let node = Node::new("", "");
    // The agent sends only its greeting.
    node.programs.write("rdmactl", &format!("echo RDMACTL/{PROTOCOL} $2 0; exec cat >/dev/null"));
    let child = rdmactl()
        .args(["ping", &node.sshd.address, "--timeout", "60s", "--json", "-F"])
        .arg(node.sshd.path("ssh_config"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let agents = || -> Vec<PathBuf> {
        let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let directory = node.programs.directory();
        let marked = |path: &PathBuf| {
            fs::read(path.join("environ")).is_ok_and(|text| {
                let path = directory.as_os_str().as_encoded_bytes();
                text.windows(path.len()).any(|window| window == path)
            })
        };
        processes.filter(marked).collect()
    };
    wait_until("the agent is there", || !agents().is_empty());
    let began = clock::now();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = Said::of(child);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(json["hosts"][1]["failure"]["reason"], "cancelled");
    assert_eq!(json["left_behind"], serde_json::json!([]));
    wait_until("the node is clean", || agents().is_empty());
}

#[test]
fn an_upload_is_announced_and_removed() {
    let node = Node::new("", "");
    let said = node.run(&["devices", "--upload", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(json["hosts"][0]["via"], "upload", "{}", said.stderr);
    let announced = format!("MB) to {}: no rdmactl in the PATH", node.sshd.address);
    assert_eq!(said.stderr.matches("rdmactl: uploading rdmactl (").count(), 1, "{}", said.stderr);
    assert!(said.stderr.contains(&announced), "{}", said.stderr);
    assert_eq!(node.uploads(), [] as [PathBuf; 0]);

    let node = Node::new("", "case \"$SSH_ORIGINAL_COMMAND\" in *--unlink*) exit 1;; esac");
    let said = node.run(&["devices", "--upload"]);
    assert_eq!(said.code, Some(2));
    assert!(said.stdout.contains("shell !"), "{}", said.stdout);
    assert!(!said.stderr.contains("still on"), "{}", said.stderr);
    assert_eq!(node.uploads(), [] as [PathBuf; 0]);

    // If the removal fails, rdmactl reports the remaining directory.
    let refuse = "case \"$SSH_ORIGINAL_COMMAND\" in *--unlink*|*\"-c 'r=0;\"*) exit 1;; esac";
    let node = Node::new("", refuse);
    let said = node.run(&["devices", "--upload"]);
    let left = node.uploads();
    assert_eq!(left.len(), 1, "{}", said.stderr);
    let name = left[0].file_name().unwrap().to_string_lossy().into_owned();
    assert!(
        said.stderr.contains("uploaded rdmactl still on ") && said.stderr.contains(&name),
        "{}",
        said.stderr
    );
}

#[test]
fn the_program_for_the_machine_of_the_node_is_sent() {
    let release = TempDir::new().unwrap();
    let own = release.path().join(std::env::consts::ARCH).join("rdmactl");
    let other = if std::env::consts::ARCH == "x86_64" { "aarch64" } else { "x86_64" };
    let of_other = release.path().join(other).join("rdmactl");
    for file in [&own, &of_other] {
        fs::create_dir(file.parent().unwrap()).unwrap();
    }
    fs::copy(env!("CARGO_BIN_EXE_rdmactl"), &own).unwrap();
    let node = Node::new("", "");
    let devices = |machine: &str| {
        node.programs.write("uname", &format!("echo '{machine}'"));
        let command = ["devices", "--upload", "--json"];
        let said =
            Said::from(node.start_of(Command::new(&own), &command).wait_with_output().unwrap());
        let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(node.uploads(), [] as [PathBuf; 0]);
        json["hosts"][0].clone()
    };
    let missing = devices(other);
    assert_eq!(missing["failure"]["reason"], "no_agent", "{missing}");
    let fix = missing["failure"]["fix"].as_str().unwrap();
    assert!(fix.contains(&of_other.display().to_string()), "{fix}");
    // The file is a program for this machine, so the node can run it.
    fs::copy(env!("CARGO_BIN_EXE_rdmactl"), &of_other).unwrap();
    assert_eq!(devices(other)["via"], "upload");
    // The machine name that a node reports must not become a path on this machine.
    for strange in ["riscv64", "../../etc", "\u{1b}[2J"] {
        let failure = devices(strange)["failure"].clone();
        assert_eq!(failure["reason"], "no_agent", "{strange}: {failure}");
        assert!(failure["detail"].as_str().unwrap().contains("no rdmactl is built"), "{failure}");
    }
}

#[test]
fn a_signal_in_the_middle_of_an_upload_leaves_no_file() {
    let node = Node::new("", "");
    // The program that receives the upload is slow.
    node.programs.write("cat", "/usr/bin/sleep 1; exec /usr/bin/cat");
    let child = node.start(&["devices", "--upload"]);
    wait_until("the upload begins", || !node.uploads().is_empty());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = Said::of(child);
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    wait_until("the node is clean", || node.uploads().is_empty());
}

#[test]
fn an_agent_that_can_not_be_killed_is_named() {
    let refuses =
        "case \"$SSH_ORIGINAL_COMMAND\" in *\"kill -9\"*) exit 1;; */proc/4242/*) exit 0;; esac";
    let node = Node::new("", refuses);
    let hello = FromAgent::Hello(Process { pid: 4242, start_ticks: 1 });
    let mut said = Vec::new();
    FrameWriter::new(&mut said).write(&hello).unwrap();
    let file = node.programs.path("said");
    fs::write(&file, said).unwrap();
    let pid = node.programs.path("pid");
    let (file, pid_file) = (file.display(), pid.display());
    let deaf =
        format!("echo $$ >{pid_file}; echo RDMACTL/{PROTOCOL} $2 0; cat {file}; exec sleep 100");
    node.programs.write("rdmactl", &deaf);
    let said = node.run(&["devices", "--timeout", "1s"]);
    let pid: i32 = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    assert!(said.stdout.contains("hung !"), "{}", said.stdout);
    assert!(
        said.stderr.contains("agent still running on ")
            && said.stderr.contains(" (pid 4242)\n  fix: end it: ssh ")
            && said.stderr.contains(" kill 4242; "),
        "{}",
        said.stderr
    );
}

/// Returns reason, detail and fix of the failure of the first host.
fn failure(said: &Said) -> (String, String, String) {
    let failure = &said.hosts()[0]["failure"];
    let word = |key: &str| failure[key].as_str().unwrap_or_default().to_owned();
    (word("reason"), word("detail"), word("fix"))
}

#[test]
fn the_step_of_a_start_that_fails_is_named() {
    const OURS: &str = "the login shell";
    for (forced, reason, words) in [
        ("exit 0", "shell", "ended before it ran /bin/sh; exit status 0"),
        ("exec /bin/false", "shell", "ended before it ran /bin/sh; exit status 1"),
        ("kill -9 $$", "shell", "ended before it ran /bin/sh; killed by signal KILL"),
        (
            "echo closed; echo 'no \\033[2Jlogin' >&2; exit 3",
            "shell",
            "exit status 3; the output begins with \"closed\"; last output: \"no \\u{1b}[2Jlogin\"",
        ),
        ("exec cat", "timeout", "did not run it in time; the login shell may still run on 127."),
        ("exec yes >&2", "timeout", "did not run it in time; last output: \"y\""),
        ("exec yes", "garbage", "more than 65536 bytes came before the greeting"),
        ("exec sleep 10", "timeout", "did not run it in time; the login shell may still run on"),
    ] {
        let node = Node::new("", forced);
        node.install();
        let said = node.run(&["devices", "--json", "--timeout", "2s"]);
        let (its, detail, fix) = failure(&said);
        assert_eq!(its, reason, "{forced}: {detail}");
        assert!(detail.contains(words), "{forced}: {detail}");
        assert!(fix.contains("login files"), "{forced}: {fix}");
        assert!(reason == "garbage" || detail.contains(OURS), "{forced}: {detail}");
        for rumor in ["killed the agent", "OOM", "oom", "left on", "started rdmactl agent"] {
            assert!(!format!("{detail} {fix}").contains(rumor), "{forced}: {detail} {fix}");
        }
    }
}

#[test]
fn a_program_that_is_no_agent_is_named_with_its_end() {
    for (script, reason, words, fixed) in [
        (
            "exit 0",
            "agent_failed",
            "before the greeting of rdmactl agent; exit status 0",
            "--version",
        ),
        (
            "echo no such command >&2; exit 2",
            "agent_failed",
            "exit status 2; last output: \"no such command\"",
            "--version",
        ),
        ("kill -9 $$", "killed", "killed by signal KILL", "dmesg"),
        ("kill -SEGV $$", "agent_failed", "killed by signal SEGV", "--version"),
        ("exec sleep 1000", "hung", "SSH responds, and rdmactl killed the agent", "ps -eo"),
        ("sleep 1000; exit 7", "hung", "SSH responds, and rdmactl killed the agent", "ps -eo"),
        (
            "exec >&- 2>&-; sleep 1000; exit",
            "agent_failed",
            "before the greeting of rdmactl agent",
            "",
        ),
    ] {
        let node = Node::new("", "");
        let pids = node.programs.path("pids");
        let session = "$(cut -d' ' -f6 /proc/$$/stat)";
        node.programs.write("rdmactl", &format!("echo {session} >>{}\n{script}", pids.display()));
        let said = node.run(&["devices", "--json", "--timeout", "2s"]);
        let (its, detail, fix) = failure(&said);
        assert_eq!(its, reason, "{script}: {detail}");
        assert!(detail.contains(words) && fix.contains(fixed), "{script}: {detail}; {fix}");
        assert!(!detail.contains("running"), "{script}: {detail}");
        let session = fs::read_to_string(&pids).unwrap();
        wait_until("the node is clean", || members(session.trim()) == 0);
    }
}

#[test]
fn a_wrapper_that_outlives_its_agent_is_ended() {
    // A host with loaded processors starts the command that kills after 3 s.
    let is_loaded = "case \"$SSH_ORIGINAL_COMMAND\" in *\"kill -9\"*) sleep 3;; esac";
    for on_each_command in ["", is_loaded] {
        let node = Node::new("", on_each_command);
        let real = node.programs.path("real");
        fs::copy(env!("CARGO_BIN_EXE_rdmactl"), &real).unwrap();
        let session = node.programs.path("session");
        let script = format!(
            "echo $(cut -d' ' -f6 /proc/$$/stat) >{}\n{} \"$@\"\nsleep 1000",
            session.display(),
            real.display()
        );
        node.programs.write("rdmactl", &script);
        let said = node.run(&["devices", "--json"]);
        assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
        assert!(!said.stdout.contains("still be running"), "{}", said.stdout);
        let session = fs::read_to_string(&session).unwrap();
        wait_until("the node is clean", || members(session.trim()) == 0);
    }
}

/// Returns the number of live processes of a session.
fn members(session: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let stats = processes.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let is_member = |stat: &String| {
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
        fields[0] != "Z" && fields[3] == session
    };
    stats.filter(is_member).count()
}

#[test]
fn sudo_flag_starts_the_agent_and_the_shell_through_sudo() {
    let node = Node::new("", "");
    let log = node.programs.path("log");
    let text = format!("echo \"$LC_ALL $*\" >>{}; shift; exec \"$@\"", log.display());
    node.programs.write("sudo", &text);
    let said = node.run(&["devices", "--sudo", "--json"]);
    assert!(said.stdout.contains("\"via\": \"sh\""), "{} {}", said.stdout, said.stderr);
    assert!(fs::read_to_string(&log).unwrap().starts_with("C -n /bin/sh -c "));
    node.install();
    let said = node.run(&["devices", "--sudo", "--json"]);
    assert!(said.stdout.contains("\"via\": \"agent\""), "{} {}", said.stdout, said.stderr);
    let text = fs::read_to_string(&log).unwrap();
    let agent = format!("C -n {} agent ", node.program().display());
    assert!(text.lines().last().unwrap().starts_with(&agent), "{text}");
    let said = node.run(&["devices", "--json"]);
    assert_eq!(fs::read_to_string(&log).unwrap(), text, "without --sudo, sudo is not run");
    assert!(said.stdout.contains("\"via\": \"agent\""), "{}", said.stdout);
    node.is_clean();
}

#[test]
fn refused_sudo_is_a_failed_row_with_a_fix() {
    let node = Node::new("", "");
    for (says, told) in [
        ("sudo: a password is required", "sudo requires a password"),
        (
            "Sorry, user u is not allowed to execute x as root.",
            "sudo denied the agent: \"Sorry, user u",
        ),
    ] {
        node.programs.write("sudo", &format!("echo '{says}' >&2; exit 1"));
        for installed in [false, true] {
            if installed {
                node.install();
            } else {
                let _ = fs::remove_file(node.program());
            }
            let said = node.run(&["devices", "--sudo", "--json"]);
            assert_eq!(said.code, Some(2), "{}", said.stderr);
            let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
            let failure = &json["hosts"][0]["failure"];
            assert_eq!(failure["reason"], "auth", "{failure}");
            assert!(failure["detail"].as_str().unwrap().starts_with(told), "{failure}");
            assert!(failure["fix"].as_str().unwrap().contains("NOPASSWD"), "{failure}");
        }
    }
}

#[test]
fn an_ssh_option_overrides_the_files_and_the_transport_is_reported() {
    let node = Node::new("", "");
    node.install();
    let wrong = node.run(&["devices", "--ssh-option", "Port=9"]);
    assert!(wrong.stderr.contains(":9: connection refused"), "{}", wrong.stderr);
    let bad = node.run(&["devices", "--ssh-option", "Port"]);
    assert_eq!(bad.code, Some(2));
    assert!(bad.stderr.contains("for example ConnectTimeout=3"), "{}", bad.stderr);
    let unknown = node.run(&["devices", "--ssh-option", "Nonsense=1"]);
    assert!(unknown.stderr.contains("ssh rejected the SSH configuration"), "{}", unknown.stderr);
    let told = "using the ssh program: --ssh-option Compression is set";
    for (flags, is_told) in [(&["-v"][..], true), (&[], false)] {
        let arguments = [&["devices", "--ssh-option", "Compression=yes", "--json"], flags].concat();
        let said = node.run(&arguments);
        assert!(said.stdout.contains("\"via\": \"agent\""), "{} {}", said.stdout, said.stderr);
        assert_eq!(said.stderr.contains(told), is_told, "{}", said.stderr);
    }
    node.is_clean();
}

#[test]
fn nothing_of_the_ssh_program_stays_after_a_run_or_a_signal() {
    let node = Node::new("", "");
    node.install();
    let runtime = TempDir::new().unwrap();
    let left = || fs::read_dir(runtime.path()).unwrap().count();
    let command = || {
        let mut command = rdmactl();
        command
            .args(["devices", "--ssh-option", "Compression=yes", "-H", &node.sshd.address, "-F"])
            .arg(node.sshd.path("ssh_config"))
            .env("XDG_RUNTIME_DIR", runtime.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    };
    let said = Said::from(command().output().unwrap());
    assert!(said.stdout.contains(&node.sshd.address), "{} {}", said.stdout, said.stderr);
    assert_eq!(left(), 0);
    for signal in [Signal::INT, Signal::KILL] {
        let mut child = command().arg("--watch=100ms").args(["-f", "ndjson"]).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        read_until(&mut lines, "\"via\":\"agent\"");
        kill_process(Pid::from_child(&child), signal).unwrap();
        let _ = lines.count();
        child.wait().unwrap();
        if signal == Signal::INT {
            assert_eq!(left(), 0);
        }
        // A killed rdmactl removes no files, but its ssh and the agent end.
        node.is_clean();
        wait_until("no ssh is left", || {
            let processes = fs::read_dir("/proc").unwrap().flatten();
            let line = |path: PathBuf| fs::read_to_string(path.join("cmdline")).unwrap_or_default();
            let ours = node.sshd.path("ssh_config").display().to_string();
            !processes.map(|entry| line(entry.path())).any(|line| line.contains(&ours))
        });
    }
}

/// Runs the program on a pseudo-terminal and types the answers. Returns the exit code and the
/// output.
fn on_terminal(node: &Node, answers: &[&str]) -> (Option<i32>, String) {
    let command = format!(
        "{} devices --json -F {} -H {}",
        env!("CARGO_BIN_EXE_rdmactl"),
        node.sshd.path("ssh_config").display(),
        node.sshd.address
    );
    let mut child = tool("script", "bsdutils")
        .args(["-qefc", &command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut shown, mut seen) = (Vec::new(), 0);
    for answer in answers {
        // Each question ends with a colon and a space.
        while !shown[seen..].ends_with(b": ") {
            let mut byte = [0];
            let count = std::io::Read::read(&mut output, &mut byte).unwrap_or(0);
            assert!(count > 0, "no question: {}", String::from_utf8_lossy(&shown));
            shown.push(byte[0]);
        }
        seen = shown.len();
        std::io::Write::write_all(&mut input, format!("{answer}\n").as_bytes()).unwrap();
    }
    let _ = std::io::Read::read_to_end(&mut output, &mut shown);
    let code = child.wait().unwrap().code();
    (code, String::from_utf8_lossy(&shown).into_owned())
}

#[test]
fn the_passphrase_of_a_key_is_requested_once_and_never_shown() {
    let node = Node::new("", "");
    node.install();
    let key = node.sshd.path("user");
    let mut encrypt = tool("ssh-keygen", "openssh-client");
    encrypt.args(["-q", "-p", "-P", "", "-N", "open sesame", "-f"]).arg(&key);
    assert!(encrypt.stdout(Stdio::null()).status().unwrap().success());
    // Without a terminal, rdmactl cannot ask for the passphrase.
    let mut alone = Command::new("setsid");
    alone.args([env!("CARGO_BIN_EXE_rdmactl"), "devices", "-H", &node.sshd.address, "-F"]);
    let said = Said::from(alone.arg(node.sshd.path("ssh_config")).output().unwrap());
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    let detail = format!("key {} is encrypted and not loaded in ssh-agent", key.display());
    assert!(said.stderr.contains(&detail) && said.stderr.contains("ssh-add"), "{}", said.stderr);

    let (_, shown) = on_terminal(&node, &["wrong", "open sesame"]);
    assert!(shown.contains("\"via\": \"agent\""), "{shown}");
    assert!(shown.contains("Enter passphrase for"), "{shown}");
    assert!(!shown.contains("sesame") && !shown.contains("wrong"), "{shown}");
    // With an empty passphrase, rdmactl does not use the key.
    let (code, shown) = on_terminal(&node, &[""]);
    assert!(shown.contains("is encrypted and not loaded in ssh-agent"), "{shown}");
    assert_eq!(code, Some(2), "{shown}");
    node.is_clean();
}
