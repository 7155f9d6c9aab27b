//! Complete runs with `--launcher exec`: launchers that work, change the data, fail or hang.

#![allow(clippy::unwrap_used, clippy::panic, reason = "without its test bed a test must end")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::bed::{Said, rdmactl, wait_until};
use crate::programs::Programs;
use rdmactl::clock::Deadline;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

#[test]
fn a_capture_names_the_hosts_that_failed_and_the_command_for_them() {
    let bed = Bed::with_agent();
    bed.programs.write("way", "case $1 in pod-2) exit 7;; esac; shift; exec \"$@\"");
    let file = bed.programs.path("all.ndjson").display().to_string();
    let arguments = ["capture", "-H", "pod-[1-2]", "--timeout", "20s", "--save", &file];
    let said = bed.run("way {host} {command}", &arguments);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains("1 of 2 hosts failed: pod-2"), "{said:?}");
    let again =
        "rdmactl capture --timeout 20s --launcher exec 'way {host} {command}' -H pod-2 --save";
    assert!(said.stderr.contains(again), "{said:?}");
}

#[test]
fn a_filter_does_not_hide_a_host_that_was_not_read() {
    let bed = Bed::with_agent();
    bed.programs.write("way", "case $1 in pod-2) exit 7;; esac; shift; exec \"$@\"");
    for (listing, filter) in
        [("resources", "kind==qp"), ("gids", "index==0"), ("connections", "role==client")]
    {
        for format in ["table", "plain", "csv"] {
            let ask = |more: &[&str]| {
                let all = [listing, "-H", "pod-[1-2]", "--timeout", "20s", "--format", format];
                bed.run("way {host} {command}", &[&all[..], more].concat())
            };
            let (whole, filtered) = (ask(&[]), ask(&["-w", filter]));
            let about = |said: &Said| {
                let lines = said.stderr.lines().filter(|line| line.contains("pod-2"));
                lines.map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!(filtered.code, Some(3), "{listing} {format}: {filtered:?}");
            assert_eq!((filtered.code, about(&filtered)), (whole.code, about(&whole)));
            assert!(!about(&filtered).is_empty(), "{listing} {format}: {filtered:?}");
        }
    }
}

/// Programs of the nodes. This machine is every node.
struct Bed {
    programs: Programs,
}

impl Bed {
    fn new() -> Self {
        Self { programs: Programs::new() }
    }

    fn with_agent() -> Self {
        let bed = Self::new();
        bed.programs.install();
        bed
    }

    fn command(&self, template: &str, arguments: &[&str]) -> Command {
        let mut command = self.programs.operator();
        command.args(arguments).args(["--launcher", "exec", template]);
        command
    }

    fn run(&self, template: &str, arguments: &[&str]) -> Said {
        Said::of(self.command(template, arguments).spawn().unwrap())
    }

    /// Lists the devices of one host.
    fn ask(&self, template: &str, timeout: &str) -> Said {
        self.run(template, &["devices", "--json", "-H", "pod-1", "--timeout", timeout])
    }

    fn is_clean(&self) {
        wait_until("the nodes are clean", || self.programs.processes_and_scripts().is_empty());
    }
}

/// Returns the reason and the detail of the failure of the first host.
fn failure(said: &Said) -> (String, String) {
    let hosts = said.hosts();
    let failure = &hosts[0]["failure"];
    let text = |key: &str| failure[key].as_str().unwrap_or_default().to_owned();
    (text("reason"), text("detail"))
}

const PLAIN: &str = "env HOST={host} sh -c {command}";

#[test]
fn a_plain_command_starts_an_agent_on_each_host() {
    let bed = Bed::with_agent();
    let said = bed.run(PLAIN, &["devices", "--json", "-H", "pod-[1-3]"]);
    let hosts = said.hosts();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let names: Vec<&Value> = hosts.iter().map(|host| &host["host"]).collect();
    assert_eq!(names, ["pod-1", "pod-2", "pod-3"]);
    assert!(hosts.iter().all(|host| host["via"] == "agent" && host["failure"].is_null()));
    bed.is_clean();
}

#[test]
fn launcher_that_joins_words_for_a_shell_starts_the_agent() {
    let bed = Bed::with_agent();
    // ssh, su -c and pdsh also join the words to a line for another shell.
    bed.programs.write("joins", "shift; exec sh -c \"$*\"");
    let said = bed.ask("joins {host} {command}", "20s");
    assert_eq!(said.hosts()[0]["via"], "agent", "{}", said.stdout);
    bed.is_clean();
}

#[test]
fn labels_and_other_lines_in_the_output_are_ignored() {
    let bed = Bed::with_agent();
    bed.programs.write("labels", "h=$1; shift; \"$@\" | sed -u \"s/^/$h: /\"");
    bed.programs.write(
        "talks",
        "echo motd; echo more >&2; shift; \"$@\" | sed -u 's/.*/before\\n&\\r\\nafter/'",
    );
    for template in ["labels {host} {command}", "talks {host} {command}"] {
        let said = bed.run(template, &["devices", "-v", "--json", "-H", "pod-1"]);
        let hosts = said.hosts();
        assert_eq!(hosts[0]["via"], "agent", "{template}: {}", said.stdout);
        assert!(!hosts[0]["kernel"].is_null(), "{template}");
    }
    bed.is_clean();
}

#[test]
fn a_host_without_rdmactl_is_read_by_its_shell_or_gets_the_program() {
    let bed = Bed::new();
    let said = bed.ask(PLAIN, "20s");
    assert_eq!(said.hosts()[0]["via"], "sh", "{}{}", said.stdout, said.stderr);
    let said = bed.run(PLAIN, &["devices", "--json", "-H", "pod-1", "--upload"]);
    assert_eq!(said.hosts()[0]["via"], "upload", "{}{}", said.stdout, said.stderr);
    assert!(said.stderr.contains("uploading rdmactl ("), "{}", said.stderr);
    assert!(fs::read_dir(bed.programs.directory()).unwrap().next().is_none(), "nothing stays");
    // A label before each line corrupts the output of a shell.
    bed.programs.write("labels", "shift; \"$@\" | sed -u 's/^/n1: /'");
    let (reason, detail) = failure(&bed.ask("labels {host} {command}", "20s"));
    assert_eq!(reason, "no_agent");
    assert!(detail.contains("labels writes \"n1: \" before each line"), "{detail}");
    bed.is_clean();
}

#[test]
fn launcher_that_corrupts_data_is_a_failed_row() {
    let bed = Bed::with_agent();
    for (script, word) in [
        ("shift; \"$@\" | sed -u 's/^\\(.\\{500\\}\\).*/\\1/'", "damaged"),
        ("shift; \"$@\" | sed -u '/^R1 /{n;d}'", "arrived instead of line"),
        // The agent may have written its last line, and may not notice that the launcher ended.
        ("shift; \"$@\" | (sed -u 4q; kill -9 $$)", "ended"),
    ] {
        bed.programs.write("odd", script);
        let said = bed.ask("odd {host} {command}", "20s");
        let (reason, detail) = failure(&said);
        assert!(
            ["lost", "garbage", "agent_failed"].contains(&&*reason),
            "{script}: {reason}: {detail}"
        );
        assert!(detail.contains(word), "{script}: {detail}");
        assert_eq!(said.code, Some(2), "{script}");
    }
    bed.is_clean();
}

#[test]
fn failed_launcher_is_a_row_with_its_last_output() {
    let bed = Bed::with_agent();
    bed.programs.write("fails", "printf 'no such\\033[2J pod\\n' >&2; exit 7");
    let (reason, detail) = failure(&bed.ask("fails {host} {command}", "20s"));
    assert_eq!(reason, "transport");
    assert_eq!(
        detail,
        "fails ended before the shell started; exit status 7; last output: \"no such\\u{1b}[2J pod\""
    );
    let (reason, detail) = failure(&bed.ask("no-such-program {host} {command}", "20s"));
    assert_eq!(reason, "transport");
    assert!(detail.starts_with("cannot start no-such-program: "), "{detail}");
    bed.programs.write("deaf", "shift; \"$@\" </dev/null");
    let (_, detail) = failure(&bed.ask("deaf {host} {command}", "20s"));
    assert!(detail.contains("deaf ended before the shell started; exit status 0"), "{detail}");
    bed.programs.write("floods", "exec yes");
    let (reason, detail) = failure(&bed.ask("floods {host} {command}", "20s"));
    assert_eq!(reason, "garbage", "{detail}");
    bed.is_clean();
}

#[test]
fn hung_launcher_fails_its_own_row_and_is_killed() {
    let bed = Bed::with_agent();
    bed.programs.write("some", "case $1 in pod-2) sleep 1000 & wait;; esac; shift; exec \"$@\"");
    let arguments = ["devices", "--json", "-H", "pod-[1-3]", "--timeout", "3s"];
    let said = bed.run("some {host} {command}", &arguments);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    let hosts = said.hosts();
    assert!(hosts[0]["failure"].is_null() && hosts[2]["failure"].is_null(), "{}", said.stdout);
    assert_eq!(hosts[1]["failure"]["reason"], "timeout");
    let detail = hosts[1]["failure"]["detail"].as_str().unwrap();
    assert!(detail.contains("some started no shell in time"), "{detail}");
    // The launcher and its child process have ended.
    bed.is_clean();
}

#[test]
fn a_stopped_agent_is_killed_through_the_launcher() {
    let bed = Bed::with_agent();
    let real = bed.programs.path("real");
    fs::rename(bed.programs.path("rdmactl"), &real).unwrap();
    let script = format!("kill -STOP $$; exec {} \"$@\"", real.display());
    bed.programs.write("rdmactl", &script);
    let (reason, detail) = failure(&bed.ask(PLAIN, "4s"));
    assert_eq!(reason, "hung", "{detail}");
    assert!(detail.ends_with("the launcher responds, and rdmactl killed the agent"), "{detail}");
    bed.is_clean();
}

#[test]
fn an_agent_that_a_limit_of_the_login_ends_has_failed() {
    let bed = Bed::with_agent();
    let ping = ["ping", "--json", "--matrix", "pod-[1-2]", "--timeout", "20s"];
    for (limit, reason) in [
        ("-n 8", "exit status 2; last output: \"rdmactl: cannot start the worker: Too many open"),
        // 128 and SIGABRT: the stack of the main thread is full.
        ("-s 64", "exit status 134"),
    ] {
        bed.programs.write("limits", &format!("shift; ulimit {limit}; \"$@\""));
        let said = bed.run("limits {host} {command}", &ping);
        assert_eq!(said.code, Some(1), "{limit}: {said:?}");
        let json: Value = serde_json::from_str(&said.stdout).unwrap();
        let pairs = json["pairs"].as_array().unwrap();
        assert_eq!(pairs.len(), 2, "{json}");
        for verdict in pairs.iter().map(|pair| &pair["verdict"]) {
            let text = |key: &str| verdict[key].as_str().unwrap_or_default();
            assert_eq!(text("code"), "peer.agent_failed", "{limit}: {verdict}");
            assert!(text("detail").contains(reason), "{limit}: {verdict}");
            assert!(text("hint").contains("ulimit -a"), "{limit}: {verdict}");
            assert!(!text("hint").contains("oom"), "{limit}: {verdict}");
        }
        bed.is_clean();
    }
}

#[test]
fn agents_stay_between_samples() {
    let bed = Bed::with_agent();
    // The launcher writes a line for each start.
    bed.programs.write("counts", "echo $1 >>\"${0%/*}/started\"; shift; exec \"$@\"");
    let arguments =
        ["devices", "--format", "ndjson", "-H", "pod-[1-2]", "--watch=1", "--count", "3"];
    let said = bed.run("counts {host} {command}", &arguments);
    // On a busy machine the first sample may precede the greetings of the agents.
    let mut last = said.stdout.lines().rev().take(2);
    assert!(last.all(|line| line.contains("\"via\":\"agent\"")), "{}", said.stdout);
    let started = fs::read_to_string(bed.programs.path("started")).unwrap();
    assert_eq!(started.lines().count(), 2, "{started}");
    bed.is_clean();
}

#[test]
fn a_signal_leaves_nothing() {
    let bed = Bed::with_agent();
    let arguments = ["devices", "--format", "ndjson", "-H", "pod-[1-2]", "--watch=1"];
    let mut child = bed.command(PLAIN, &arguments).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("pod-1"));
    assert!(!bed.programs.processes_and_scripts().is_empty());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    bed.is_clean();
}

#[test]
fn a_usage_error_shows_its_position() {
    let bed = Bed::with_agent();
    let wrong = |template: &str, more: &[&str]| {
        let arguments: Vec<&str> = ["devices"].iter().chain(more).copied().collect();
        let said = bed.run(template, &arguments);
        assert_eq!(said.code, Some(2), "{template}: {}", said.stderr);
        said.stderr
    };
    let hosts = ["-H", "pod-1"];
    let said = wrong("ssh {hots} {command}", &hosts);
    assert!(said.contains("  ssh {hots} {command}\n      ^ unknown placeholder {hots}"), "{said}");
    assert!(wrong("ssh '{host} {command}", &hosts).contains("^ this quote is not closed"));
    assert!(wrong("ssh {host}", &hosts).contains("{command} is missing"));
    assert!(wrong(PLAIN, &[]).contains("--launcher exec needs hosts"));
    assert!(wrong(PLAIN, &["-H", "n1", "-l", "me"]).contains("--login contradicts --launcher"));
    let said = bed.run(PLAIN, &["devices", "--json", "-H", "me@n1"]);
    assert!(failure(&said).1.contains("host names without a user or a port"), "{}", said.stdout);
}

/// Sends a signal to a program whose output is not read, although the pipe has no room for the
/// output. Returns the signal that ended the program.
fn signal_that_ends(mut command: Command, signal: Signal) -> Option<i32> {
    let (output, input) = std::io::pipe().unwrap();
    rustix::pipe::fcntl_setpipe_size(&output, 4_096).unwrap();
    let mut child = command.stdout(input).spawn().unwrap();
    // Now only the child has the write end of the pipe.
    drop(command);
    let ready = rustix::event::PollFd::new(&output, rustix::event::PollFlags::IN);
    assert_eq!(rustix::event::poll(&mut [ready], None).unwrap(), 1);
    assert_eq!(child.try_wait().unwrap(), None, "its output fits into the pipe");
    kill_process(Pid::from_child(&child), signal).unwrap();
    let deadline = Deadline::after(Duration::from_secs(30));
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if deadline.is_over() => break None,
            None => thread::park_timeout(Duration::from_millis(10)),
        }
    };
    child.kill().unwrap();
    status.and_then(|status| status.signal())
}

#[test]
fn a_signal_ends_a_run_that_only_prints() {
    let bed = Bed::with_agent();
    bed.programs.write("way", "shift; exec \"$@\"");
    let runs: [&[&str]; 3] = [
        &["devices", "--json", "-H", "pod-[1-12]"],
        // The signal arrives while the agents wait for the next sample.
        &["devices", "--json", "-H", "pod-[1-12]", "--watch=1", "--count", "2"],
        &["ping", "--json", "--matrix", "pod-[1-6]"],
    ];
    for (run, signal) in runs.into_iter().zip([Signal::TERM, Signal::INT, Signal::TERM]) {
        let command = bed.command("way {host} {command}", &[run, &["--timeout", "60s"]].concat());
        assert_eq!(signal_that_ends(command, signal), Some(signal.as_raw()), "{run:?}");
        bed.is_clean();
    }
    let mut command = rdmactl();
    let fabric = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/ping/fabric.txt");
    command.args(["ping", "--json", "--watch=1", "--simulate", fabric]).stdin(Stdio::null());
    assert_eq!(signal_that_ends(command, Signal::INT), Some(Signal::INT.as_raw()));
}
