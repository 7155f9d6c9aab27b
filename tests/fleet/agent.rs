//! Agents that violate the protocol or do not respond. None of them may delay or damage the
//! operator.

#![allow(clippy::unwrap_used, reason = "without its test bed a test must end")]
#![allow(clippy::print_stdout, reason = "a child process reports its progress to its parent")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rdmactl::clock::{self, Deadline};
use rdmactl::fleet::{Agent, HostResult, Nonce, Watchdog};
use rdmactl::model::ping::Life;
use rdmactl::model::probe::{Act, Step};
use rdmactl::model::{Fix, HostFailure, HostReport, Parts, Problem, Reason, VerbsState, Via};
use rdmactl::ping::{Liveness, Node as _};
use rdmactl::wire::{
    EXPIRED_STATUS, FRAME_LIMIT, FrameWriter, FromAgent, Greeting, Loss, Process, ToAgent,
};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Simulated agent: a shell that writes prepared bytes and then runs a command.
struct Fake {
    output: Vec<u8>,
    nonce: Nonce,
    directory: TempDir,
    watchdog: Watchdog,
}

const HELLO: FromAgent = FromAgent::Hello(Process { pid: 1, start_ticks: 1 });

fn part(text: &str, is_last: bool) -> FromAgent {
    FromAgent::ReportPart { text: text.to_owned(), is_last }
}

impl Fake {
    fn new() -> Self {
        let nonce = Nonce::new().unwrap();
        Self {
            output: Greeting::line(&nonce.to_string()).into_bytes(),
            nonce,
            directory: TempDir::new().unwrap(),
            watchdog: Watchdog::start().unwrap(),
        }
    }

    fn saying(messages: &[FromAgent]) -> Self {
        let mut fake = Self::new();
        let mut writer = FrameWriter::new(&mut fake.output);
        for message in messages {
            writer.write(message).unwrap();
        }
        fake
    }

    fn and_bytes(mut self, bytes: &[u8]) -> Self {
        self.output.extend_from_slice(bytes);
        self
    }

    /// Starts the agent. It writes its process id to the file `pid`, then its output, and then
    /// runs `then`.
    fn start(&self, then: &str) -> Agent {
        self.try_start(then).unwrap()
    }

    fn try_start(&self, then: &str) -> HostResult<Agent> {
        let file = self.directory.path().join("output");
        // A test may have written the output and freed its memory.
        if !self.output.is_empty() {
            fs::write(&file, &self.output).unwrap();
        }
        let mut command = Command::new("/bin/sh");
        let pid = self.pid_file();
        command
            .args(["-c", &format!("echo $$ >{}; cat {}; {then}", pid.display(), file.display())]);
        Agent::start_local(command, self.nonce, &self.watchdog, seconds(20))
    }

    fn pid_file(&self) -> PathBuf {
        self.directory.path().join("pid")
    }

    fn is_running(&self) -> bool {
        let pid = fs::read_to_string(self.pid_file()).unwrap();
        is_running(pid.trim())
    }
}

fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Returns the end of an agent. Frames that arrive late count as signs of life, so the function
/// checks up to ten times.
fn final_life(agent: &Agent) -> Life {
    let lives = std::iter::repeat_with(|| agent.life());
    lives.take(10).find(|life| *life != Life::Alive).unwrap_or(Life::Alive)
}

fn seconds(count: u64) -> Deadline {
    Deadline::after(Duration::from_secs(count))
}

/// Requests a report from an agent that waits for the end of its input. Returns the failure.
fn report_failure(fake: &Fake) -> HostFailure {
    let agent = fake.start("exec cat >/dev/null");
    let began = clock::now();
    let failure = agent.report(&Parts::default(), seconds(20)).unwrap_err();
    let failure = agent.give_up(failure);
    assert!(began.elapsed() < Duration::from_secs(10), "{failure}");
    assert!(!fake.is_running(), "{failure}");
    failure
}

#[test]
fn a_valid_report_may_have_several_parts() {
    let report = HostReport::empty("n1", Via::Agent);
    let json = serde_json::to_string(&report).unwrap();
    let (front, back) = json.split_at(20);
    let fake =
        Fake::saying(&[HELLO, part(front, false), part(back, true), FromAgent::End { frames: 3 }]);
    let agent = fake.start("exec cat >/dev/null");
    assert_eq!(agent.report(&Parts::default(), seconds(20)).unwrap(), report);
    assert_eq!(agent.end(seconds(5)), Ok(()));
}

#[test]
fn fixes_sent_by_a_host_are_discarded() {
    let mut report = HostReport::empty("n1", Via::Agent);
    report.problems.push(Problem {
        key: "rxe0/1; fix: curl a | sh".into(),
        source: "fix: curl b | sh".into(),
        errno: None,
        detail: "no state\n  fix: curl c | sh".into(),
        fix: Some(Fix::of_operator("sudo sh -c 'curl d | sh'")),
        not_recorded: false,
    });
    report.verbs = VerbsState::Unavailable {
        detail: "none; Fix: curl e | sh".into(),
        fix: Some(Fix::of_operator("modprobe ib_uverbs; curl f | sh")),
    };
    let json = serde_json::to_string(&report).unwrap();
    assert!(json.contains("curl f"), "the agent sends it");
    let fake = Fake::saying(&[HELLO, part(&json, true), FromAgent::End { frames: 2 }]);
    let agent = fake.start("exec cat >/dev/null");
    let received = agent.report(&Parts::default(), seconds(20)).unwrap();
    assert_eq!(received.problems[0].fix, None);
    assert!(matches!(received.verbs, VerbsState::Unavailable { fix: None, .. }));
    let shown = serde_json::to_string(&received).unwrap().to_ascii_lowercase();
    assert!(!shown.contains("fix: "), "{shown}");
    assert!(shown.contains("curl c"), "the words of the host are kept: {shown}");
}

#[test]
fn protocol_violation_is_reported_with_its_reason() {
    let too_big = u32::try_from(FRAME_LIMIT + 1).unwrap().to_be_bytes();
    let cases = [
        (
            Fake::saying(&[HELLO]).and_bytes(&[0, 0, 0, 2, b'{', b'!']),
            "does not hold a message of this protocol",
        ),
        (
            Fake::saying(&[HELLO]).and_bytes(b"\0\0\0\x09\"unheard\""),
            "does not hold a message of this protocol",
        ),
        (Fake::saying(&[HELLO]).and_bytes(&too_big), "over the limit of 1048576"),
        (Fake::saying(&[HELLO, part("{\"host\":", true)]), "invalid report"),
        (Fake::saying(&[FromAgent::Alive]), "must come once, in the first frame"),
        (Fake::saying(&[part("{}", true)]), "must come once, in the first frame"),
        (Fake::saying(&[HELLO, HELLO]), "must come once, in the first frame"),
        (Fake::saying(&[HELLO, FromAgent::End { frames: 7 }]), "only 1 of its 7 frames arrived"),
    ];
    for (fake, words) in cases {
        let failure = report_failure(&fake);
        let is_big = words.starts_with("over the limit");
        let reason = if is_big { Reason::TooBig } else { Reason::Garbage };
        assert_eq!(failure.reason, reason, "{failure}");
        assert!(failure.detail.contains(words), "{failure}");
    }
}

#[test]
fn a_report_over_the_limit_is_refused() {
    let text = "x".repeat(FRAME_LIMIT / 2);
    let mut parts = vec![HELLO];
    parts.extend((0..34).map(|_| part(&text, false)));
    let failure = report_failure(&Fake::saying(&parts));
    assert_eq!(failure.reason, Reason::TooBig);
    assert!(failure.detail.contains("over the limit of 16777216 bytes"), "{failure}");
}

/// Variable that is set in the child process whose memory
/// [`a_report_of_many_empty_values_costs_little`] measures.
const OPERATOR: &str = "RDMACTL_TEST_OPERATOR";

/// Maximum memory of an operator that reads a hostile report of 16 MiB, in KiB: four times the
/// text.
const MAX_KIB: u64 = 64 << 10;

/// Returns reports of up to 16 MiB that take much more memory after parsing, each with a part of
/// its failure message.
fn hostile_reports() -> [(String, &'static str); 6] {
    let filled = |key: &str, value: String| {
        let json = serde_json::to_string(&HostReport::empty("n1", Via::Agent)).unwrap();
        let empty = if key == "devices" { "[]" } else { "null" };
        json.replace(&format!("\"{key}\":{empty}"), &format!("\"{key}\":{value}"))
    };
    let list = |member: &str, count: usize| format!("[{}]", vec![member; count].join(","));
    let interfaces = list(r#"{"name":""}"#, 600_000);
    let device = r#"{"name":"mlx5_0","ports":[{"number":1,"netdev":"eth0"}]}"#;
    let both = filled("netdevs", interfaces.clone())
        .replace("\"devices\":[]", &format!("\"devices\":{}", list(device, 20_000)));
    [
        (filled("netdevs", list(r#"{"name":""}"#, 1_200_000)), "netdevs"),
        (both, "\"devices\" of the report has more than 4096 entries"),
        (filled("devices", list(r#"{"name":"","ports":[{}]}"#, 600_000)), "devices"),
        (filled("unknown", "null".into()) + &list("[[],{}]", 1_500_000), "65536 entries"),
        (filled("kernel", format!("\"{}\"", "x".repeat(15 << 20))), "string of the report"),
        ("[".repeat(15 << 20), "deeper than 32 levels"),
    ]
}

#[test]
fn a_report_of_many_empty_values_costs_little() {
    if std::env::var_os(OPERATOR).is_some() {
        return read_hostile_reports();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "agent::a_report_of_many_empty_values_costs_little", "--nocapture"])
        .env(OPERATOR, "1")
        .output()
        .unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert_eq!(stdout.matches("reports refused").count(), 1, "{stdout}");
}

/// Reads the hostile reports and measures the memory. The reports are in files, so that the
/// memory is that of the operator alone.
fn read_hostile_reports() {
    let fakes: Vec<(Fake, &str)> = hostile_reports()
        .into_iter()
        .map(|(json, words)| {
            let mut messages = vec![HELLO];
            let mut rest = json.as_str();
            while !rest.is_empty() {
                let (text, behind) = rest.split_at(rest.len().min(256 << 10));
                rest = behind;
                messages.push(part(text, rest.is_empty()));
            }
            let mut fake = Fake::saying(&messages);
            fs::write(fake.directory.path().join("output"), &fake.output).unwrap();
            fake.output = Vec::new();
            (fake, words)
        })
        .collect();
    // Resets the peak memory: the creation of the reports must not count.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = peak_kib();
    for (fake, words) in &fakes {
        let agent = fake.start("exec cat >/dev/null");
        let failure = agent.report(&Parts::default(), seconds(60)).unwrap_err();
        let failure = agent.give_up(failure);
        assert_eq!(failure.reason, Reason::TooBig, "{failure}");
        assert!(failure.detail.contains(words), "{failure}");
    }
    let grown = peak_kib() - before;
    assert!(grown < MAX_KIB, "{grown} KiB");
    println!("reports refused: {grown} KiB");
}

/// Returns the peak memory of this process since the last reset, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn an_agent_that_ends_in_the_middle_is_quoted() {
    let fake = Fake::saying(&[HELLO]).and_bytes(&[0, 0, 1, 0, b'{']);
    let agent = fake.start("dd bs=9999 count=1 of=/dev/null 2>/dev/null; echo out of memory >&2");
    let failure = agent.report(&Parts::default(), seconds(20)).unwrap_err();
    assert!(failure.detail.contains("in the middle of a frame"), "{failure}");
    assert!(failure.detail.ends_with("; last output: \"out of memory\""), "{failure}");
    assert_eq!(agent.end(seconds(5)), Ok(()));
}

#[test]
fn an_unresponsive_agent_is_killed_at_the_deadline() {
    let fake = Fake::saying(&[HELLO]);
    // The agent does not end at the end of its input.
    let agent = fake.start("exec sleep 1000");
    let failure =
        agent.report(&Parts::default(), Deadline::after(Duration::from_millis(200))).unwrap_err();
    assert_eq!(failure.reason, Reason::Hung);
    let failure = agent.give_up(failure);
    assert!(!failure.detail.contains("still running"), "{failure}");
    assert!(!fake.is_running());
}

#[test]
fn an_agent_that_reads_nothing_does_not_hold_the_operator() {
    let fake = Fake::saying(&[HELLO]);
    let agent = fake.start("exec sleep 1000");
    let began = clock::now();
    for connection in 0..20_000 {
        agent.send(Step { connection, act: Act::Close });
    }
    let took = began.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    let failure = agent.report(&Parts::default(), seconds(20)).unwrap_err();
    assert!(failure.detail.contains("it read no request for 2 s"), "{failure}");
    assert_eq!(agent.end(seconds(5)), Ok(()));
    assert!(!fake.is_running());
}

#[test]
fn late_stderr_of_an_agent_without_a_greeting_is_quoted() {
    let watchdog = Watchdog::start().unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec >&-; sleep 0.1; echo no memory for it >&2"]);
    let failure =
        Agent::start_local(command, Nonce::new().unwrap(), &watchdog, seconds(20)).err().unwrap();
    assert!(failure.detail.ends_with("; last output: \"no memory for it\""), "{failure}");
}

#[test]
fn a_stopped_agent_on_this_host_is_hung_and_killed() {
    let fake = Fake::saying(&[HELLO, FromAgent::Alive]);
    let agent = fake.start("kill -STOP $$; exec sleep 1000");
    let Life::Hung(why) = final_life(&agent) else { panic!("it is not hung") };
    assert!(why.contains("agent unresponsive for 2 s; this machine still responds"), "{why}");
    assert!(!fake.is_running());
}

#[test]
fn a_killed_agent_and_a_lost_worker_are_distinguished() {
    let fake = Fake::saying(&[HELLO, FromAgent::Alive]);
    let agent = fake.start("echo I am done for >&2; kill -9 $$");
    let Life::Killed(why) = final_life(&agent) else { panic!("it was not killed") };
    assert!(
        why.starts_with(
            "the agent ended unexpectedly; killed by signal 9; last output: \"I am done for\"; "
        ),
        "{why}"
    );
    let fake = Fake::saying(&[HELLO, FromAgent::Alive]);
    let agent = fake.start("echo no memory >&2; exit 7");
    let Life::Failed(why) = final_life(&agent) else { panic!("it did not fail") };
    assert!(why.contains("exit status 7; last output: \"no memory\"; "), "{why}");
    for (signal, is_killed) in [(Some(9), true), (Some(11), false), (None, false)] {
        let loss = Loss::Ended { status: None, signal };
        let fake = Fake::saying(&[HELLO, FromAgent::WorkerLost(loss)]);
        let life = final_life(&fake.start("exec cat >/dev/null"));
        assert_eq!(matches!(life, Life::Killed(_)), is_killed, "{life:?}");
        assert_eq!(matches!(life, Life::Failed(_)), !is_killed, "{life:?}");
    }
    let fake = Fake::saying(&[HELLO, FromAgent::WorkerLost(Loss::Hung)]);
    let agent = fake.start("exec cat >/dev/null");
    let Life::Hung(why) = final_life(&agent) else { panic!("not hung") };
    assert!(why.contains("the worker of the agent is unresponsive"), "{why}");
    // A step does not wait for the reply of a lost worker.
    let began = clock::now();
    let ticket = agent.start(Step { connection: 1, act: Act::Close });
    assert!(agent.finish(ticket, seconds(20)).is_none());
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn agent_whose_lease_expired_is_neither_dead_nor_killed() {
    let expires = format!("echo no message from the operator for 60 s >&2; exit {EXPIRED_STATUS}");
    // The worker expires first. The agent may end before the operator reads that the worker
    // expired.
    let lost = [HELLO, FromAgent::Alive, FromAgent::WorkerLost(Loss::Expired)];
    for said in [&lost[..], &lost[..2]] {
        let fake = Fake::saying(said);
        let agent = fake.start(&expires);
        let life = final_life(&agent);
        assert!(matches!(life, Life::Expired(_)), "{life:?}");
        // The operator may start the worker again before it reads the end of the agent.
        let _ = agent.restart_worker();
        let Life::Expired(why) = final_life(&agent) else { panic!("{said:?}") };
        assert!(why.starts_with("the agent ended because it received no message"), "{why}");
        assert!(!agent.restart_worker(), "an agent that ended starts no worker");
        assert_eq!(agent.known_life(), Liveness::Gone(Life::Expired(why)));
        assert_eq!(agent.end(seconds(5)), Ok(()));
    }
    let fake = Fake::saying(&[HELLO]);
    let agent = fake.start(&expires);
    let failure = agent.report(&Parts::default(), seconds(20)).unwrap_err();
    assert_eq!((failure.reason, &failure.fix), (Reason::Expired, &None), "{failure}");
    assert!(failure.detail.contains("rdmactl was stopped"), "{failure}");
    // A login shell with this exit status is not an agent.
    let silent = Fake { output: b"\n".to_vec(), ..Fake::new() };
    let failure = silent.try_start(&expires).err().unwrap();
    assert_eq!(failure.reason, Reason::AgentFailed, "{failure}");
}

#[test]
fn a_cancelled_run_ends_every_wait_for_an_agent() {
    let fake = Fake::saying(&[HELLO, FromAgent::Alive]);
    let agent = fake.start("exec cat >/dev/null");
    agent.start_worker().unwrap();
    let ticket = agent.start(Step { connection: 1, act: Act::Close });
    let watchdog = fake.watchdog.clone();
    let canceller = thread::spawn(move || {
        assert!(!watchdog.wait_cancelled(Duration::from_millis(50)));
        watchdog.cancel();
    });
    let began = clock::now();
    assert!(agent.finish(ticket, seconds(20)).is_none());
    assert!(
        agent.finish(agent.start(Step { connection: 2, act: Act::Close }), seconds(20)).is_none()
    );
    assert_eq!(agent.end(seconds(5)), Ok(()));
    let took = began.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(!fake.is_running());
    canceller.join().unwrap();
}

#[test]
fn worker_expires_without_messages_and_can_be_restarted() {
    let nonce = Nonce::new().unwrap().to_string();
    let mut agent = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .args(["agent", &nonce])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (input, mut output) = (agent.stdin.take().unwrap(), agent.stdout.take().unwrap());
    rdmactl::wire::GreetingReader::new(&nonce, "none", "run").read(&mut output).unwrap();
    let mut frames = rdmactl::wire::FrameReader::new(output);
    let mut input = FrameWriter::new(&input);
    input.write(&ToAgent::StartWorker).unwrap();
    let began = clock::now();
    // The input stays open, and the test sends no message.
    let loss = loop {
        if let Some(FromAgent::WorkerLost(loss)) = frames.read().unwrap() {
            break loss;
        }
    };
    let took = began.elapsed();
    assert_eq!(loss, Loss::Expired);
    assert!(Duration::from_secs(3) <= took && took < Duration::from_secs(10), "{took:?}");
    input.write(&ToAgent::StartWorker).unwrap();
    let step = Step { connection: 0, act: Act::Close };
    input.write(&ToAgent::Worker(Box::new(rdmactl::wire::ToWorker { id: 7, step }))).unwrap();
    let reply = loop {
        match frames.read().unwrap() {
            Some(FromAgent::Worker(reply)) => break reply,
            Some(FromAgent::WorkerLost(loss)) => panic!("the second worker is lost: {loss:?}"),
            Some(_) => {}
            None => panic!("the agent ended"),
        }
    };
    assert_eq!(reply.id, 7);
    input.write(&ToAgent::Bye).unwrap();
    assert!(agent.wait().unwrap().success());
}

/// Variable that is set in the process that [`paused_operator_reports_no_agent_as_hung`] stops.
const STOPPED: &str = "RDMACTL_TEST_STOPPED";

#[test]
fn paused_operator_reports_no_agent_as_hung() {
    if std::env::var_os(STOPPED).is_some() {
        return watch_live_agent();
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "agent::paused_operator_reports_no_agent_as_hung", "--nocapture"])
        .env(STOPPED, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("watching")));
    let pid = Pid::from_child(&child);
    let clock = Watchdog::start().unwrap();
    // After SIGCONT any thread may run first, so the test stops the process several times.
    for _ in 0..3 {
        kill_process(pid, Signal::STOP).unwrap();
        assert!(!clock.wait_cancelled(Duration::from_millis(2_300)));
        kill_process(pid, Signal::CONT).unwrap();
        assert!(!clock.wait_cancelled(Duration::from_millis(300)));
    }
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Checks in a loop, until stdin ends, that an agent that never pauses is alive.
fn watch_live_agent() {
    let mut alive = Vec::new();
    FrameWriter::new(&mut alive).write(&FromAgent::Alive).unwrap();
    let fake = Fake::saying(&[HELLO, FromAgent::Alive]);
    let file = fake.directory.path().join("alive");
    fs::write(&file, alive).unwrap();
    let agent = fake.start(&format!("while cat {}; do sleep 0.1; done", file.display()));
    assert_eq!(agent.life(), Life::Alive);
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        over.store(true, Ordering::Relaxed);
    });
    println!("watching");
    // With many threads, one of them runs before the thread that reads the late frames.
    thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(agent.known_life(), Liveness::Alive);
                    thread::park_timeout(Duration::from_millis(1));
                }
            });
        }
    });
    assert_eq!(agent.life(), Life::Alive);
    assert_eq!(agent.end(Deadline::after(Duration::ZERO)), Ok(()));
}
