//! Agents that follow the protocol and send hostile contents: sizes, texts, numbers, times,
//! orders and addresses.
//!
//! This machine is every host of a run. The agent is this test program, which then runs only the
//! test [`hostile_agent`]. The agent changes the reports of fixtures at random. A seed repeats a
//! run: `RDMACTL_HOSTILE_SEED=N`. `RDMACTL_HOSTILE_AGENTS=10000` runs the long test.

#![allow(clippy::unwrap_used, clippy::panic, reason = "without its test bed a test must end")]

#[path = "fleet/bed.rs"]
mod bed;

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bed::{NOT_INSTALLED, Said, rdmactl, write_program};
use rdmactl::capture::Capture;
use rdmactl::clock::{self, Deadline};
use rdmactl::collect::{host_report, import_fabric};
use rdmactl::model::{HostReport, Part, Parts, Via};
use rdmactl::source::{Recorded, Recording};
use rdmactl::wire::{FrameReader, Greeting, LineReader, LineWriter, Recipient, ToAgent};
use serde::Deserialize as _;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Mark in each hostile text, by which the test finds the text in the output.
const MARK: &str = "hOsTiLe";

/// Memory that the operator may use for the agents of one run, in KiB.
const MAX_MEMORY: u64 = 512 * 1024;

/// Time that one run may take, with a time limit for hosts of a second.
const MAX_TIME: Duration = Duration::from_secs(90);

/// Agents of one run.
const HOSTS: u64 = 20;

/// Variables of an agent: its seed, and the file with its report.
const SEED: &str = "RDMACTL_TEST_HOSTILE";
const REPORT: &str = "RDMACTL_TEST_REPORT";

/// Fixtures whose reports are changed.
const FIXTURES: [&str; 3] = ["debian13_rxe", "mlx5_roce", "consumers_client"];

/// Commands with various output formats. `top` runs in a pseudo-terminal.
const COMMANDS: [&[&str]; 23] = [
    &["devices", "-v"],
    &["ports", "-v", "--json"],
    &["ports", "--lossless"],
    &["gids", "-f", "csv"],
    &["counters", "-f", "plain"],
    &["resources"],
    &["connections"],
    &["connections", "--json"],
    &["devices", "-f", "prom"],
    &["devices", "--watch=1s", "--count", "2"],
    &["ping", "--matrix", "SET", "--quick"],
    &["ping", "--matrix", "SET", "--quick", "--json", "--test", "bw"],
    &["ping", "--matrix", "SET", "--quick", "-f", "html"],
    &["ping", "--matrix", "SET", "--quick", "-f", "svg"],
    &["check", "-v", "--fabric"],
    &["check", "--json"],
    &["check", "-f", "html"],
    &["fabric", "-v"],
    &["fabric", "nodes", "--json"],
    &["fabric", "-f", "dot"],
    &["capture", "--save", "/dev/null"],
    &["connections", "-v", "--save", "/dev/null"],
    &["top", "--every=500ms"],
];

/// Random number generator with a seed (`xorshift64*`).
struct Random(u64);

impl Random {
    fn of(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count as u64).unwrap()
    }

    /// Returns true with a probability of one in `times`.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn text(&mut self) -> String {
        match self.below(14) {
            0 => String::new(),
            1 => format!("fix: curl {MARK} | sh"),
            2 => format!("x\n  fix: {MARK}"),
            3 => format!("\u{1b}[2J\u{1b}]0;{MARK}\u{7}"),
            4 => format!("\u{9b}31m{MARK}\u{202e}\u{2066}"),
            5 => format!("$({MARK})`{MARK}`; {MARK}"),
            6 => format!("../../../etc/{MARK}"),
            7 => format!("/{MARK}\0/"),
            8 => MARK.repeat(3_000),
            9 => format!("={MARK}!A1"),
            10 => format!("</td><script>{MARK}</script>"),
            11 => format!("\r\n\t{MARK}\u{8}\u{8}"),
            12 => "n1".into(),
            _ => format!("{MARK}-{}", self.below(1_000)),
        }
    }

    fn number(&mut self) -> Value {
        match self.below(8) {
            0 => json!(0),
            1 => json!(-1),
            2 => json!(u64::MAX),
            3 => json!(i64::MIN),
            4 => json!(u32::MAX),
            5 => json!(1e308),
            6 => json!(65_536),
            _ => json!(self.next() % 300),
        }
    }

    /// Changes each value with a probability of one in `times`.
    fn change(&mut self, value: &mut Value, times: usize) {
        match value {
            Value::String(text) if self.once_in(times) => *text = self.text(),
            Value::Number(_) if self.once_in(times) => *value = self.number(),
            Value::Bool(is) if self.once_in(times) => *is = !*is,
            Value::Null if self.once_in(times * 4) => *value = Value::String(self.text()),
            Value::Array(list) => {
                for one in list.iter_mut() {
                    self.change(one, times);
                }
                match self.below(times * 4) {
                    0..4 => {
                        let most = [0, 3, 70, 3_000][self.below(4)];
                        let one = list.first().cloned();
                        list.extend(one.into_iter().cycle().take(most));
                    }
                    4..8 => list.reverse(),
                    8 => list.clear(),
                    _ => {}
                }
            }
            Value::Object(fields) => {
                for one in fields.values_mut() {
                    self.change(one, times);
                }
                if self.once_in(times * 8) {
                    let key = fields.keys().next().cloned();
                    key.and_then(|key| fields.remove(&key));
                }
            }
            _ => {}
        }
    }
}

impl Random {
    /// Changes up to `count` values of a report, so that the result is still a valid report.
    fn change_some(&mut self, report: &mut Value, count: usize) {
        for _ in 0..count {
            let pointer = self.pointer(report);
            let Some(value) = report.pointer_mut(&pointer) else { continue };
            let before = value.clone();
            self.change(value, 1);
            if HostReport::deserialize(&*report).is_err()
                && let Some(value) = report.pointer_mut(&pointer)
            {
                *value = before;
            }
        }
    }

    /// Changes the text of some raw replies of a recording.
    fn change_replies(&mut self, recording: &mut Value) {
        let Some(entries) = recording["entries"].as_array_mut() else { return };
        for _ in 0..[3, 30, 300][self.below(3)] {
            let place = self.below(entries.len());
            if let Some(text) = entries[place].get_mut("text") {
                let number = self.number().to_string();
                *text = if self.once_in(3) { number.into() } else { self.text().into() };
            }
        }
    }

    /// Returns the JSON pointer of a random value.
    fn pointer(&mut self, value: &Value) -> String {
        let (word, inner) = match value {
            Value::Array(list) if !list.is_empty() => {
                let index = self.below(list.len());
                (index.to_string(), &list[index])
            }
            Value::Object(fields) if !fields.is_empty() => {
                let (key, inner) = fields.iter().nth(self.below(fields.len())).unwrap();
                (key.replace('~', "~0").replace('/', "~1"), inner)
            }
            _ => return String::new(),
        };
        if self.once_in(12) && !matches!(inner, Value::Object(_)) {
            return format!("/{word}");
        }
        format!("/{word}{}", self.pointer(inner))
    }
}

/// Writer of the hostile agent: frames, or frames in lines.
struct Sender<W> {
    output: W,
    frames: u64,
}

impl<W: Write> Sender<W> {
    fn send(&mut self, message: &Value) -> io::Result<()> {
        let text = message.to_string();
        self.output.write_all(&u32::try_from(text.len()).unwrap().to_be_bytes())?;
        self.output.write_all(text.as_bytes())?;
        self.output.flush()?;
        self.frames += 1;
        Ok(())
    }

    /// Sends a text in parts of at most 500,000 bytes.
    fn parts(&mut self, kind: &str, text: &str, more: &Value) -> io::Result<()> {
        let letters: Vec<char> = text.chars().collect();
        let parts = letters.chunks(200_000).count();
        for (index, part) in letters.chunks(200_000).enumerate() {
            let mut body = more.clone();
            body["text"] = part.iter().collect::<String>().into();
            body["is_last"] = (index + 1 == parts).into();
            self.send(&json!({ kind: body }))?;
        }
        Ok(())
    }
}

fn write_stderr(text: &str) -> io::Result<()> {
    File::from(rustix::stdio::stderr().try_clone_to_owned()?).write_all(text.as_bytes())
}

/// Returns the result of a step that succeeds.
fn good(act: &Value) -> Value {
    let kind = act.as_object().and_then(|act| act.keys().next()).map_or("", String::as_str);
    let kind = act.as_str().unwrap_or(kind);
    let trips = json!({
        "count": 100, "warm_up": 1, "min_ns": 900, "p50_ns": 1_000, "p90_ns": 1_100, "p99_ns": null,
        "p99_9_ns": null, "max_ns": 2_000, "mean_ns": 1_000, "stddev_ns": 10,
    });
    match kind {
        "open" => json!({"opened": {
            "queue_pair": 17, "psn": 5, "lid": 1, "mtu": 4096, "cm_address": null,
            "tcp_address": "10.10.1.1:4000", "tcp_stream_address": "127.0.0.1:22", "datagrams": {"Ok": 18},
        }}),
        "meet" => json!({"met": {"sent": 3, "answered": 3, "heard": 3, "trips": trips}}),
        "connect" => json!("connected"),
        "tcp" => json!({"tcp": trips}),
        "serve" => json!({"served": {"messages": 100}}),
        "probe" => json!({"probed": trips}),
        "stream" | "tcp_stream" => json!({"streamed": {
            "bytes": 1_000_000, "median_bps": 1_000_000, "min_bps": 1_000, "stddev_bps": 10,
        }}),
        "close" => json!({"closed": {"sent": 100, "received": 100, "retransmissions": 0}}),
        _ => json!("done"),
    }
}

fn failure(random: &mut Random) -> Value {
    let stages = ["open", "connect", "tcp", "first_message", "latency", "bandwidth"];
    let causes = [
        json!("no_reply"),
        json!({"errno": random.text()}),
        json!({"completion": "IBV_WC_RETRY_EXC_ERR"}),
        json!("device_gone"),
        json!("filtered"),
        json!("stuck"),
    ];
    json!({
        "stage": stages[random.below(stages.len())],
        "cause": causes[random.below(causes.len())],
        "detail": random.text(), "fix": random.text(), "size": random.number(), "done": 0,
    })
}

/// Acts as an agent until its input ends.
fn play(mut input: impl FnMut() -> Option<ToAgent>, output: impl Write) -> io::Result<()> {
    let number: u64 = env::var(SEED).unwrap().parse().unwrap();
    let mut random = Random::of(number);
    let report: Value = serde_json::from_slice(&fs::read(env::var(REPORT).unwrap())?)?;
    let mut sender = Sender { output, frames: 0 };
    let nature = random.below(16);
    if random.once_in(4) {
        // Text on the stderr of a host must not appear as text of rdmactl.
        let _ = write_stderr(&format!("fix: {MARK}\n\u{1b}[2J{MARK}\n"));
    }
    let pid = if nature == 1 { random.number() } else { json!(std::process::id()) };
    sender.send(&json!({"hello": {"pid": pid, "start_ticks": random.next()}}))?;
    match nature {
        2 => sender.send(&json!({"end": {"frames": 1}}))?,
        3 => sender.send(&json!({"worker_lost": {"ended": {"status": -1, "signal": 99}}}))?,
        4 => sender.send(&json!({"worker": {"id": 7, "result": {"Err": failure(&mut random)}}}))?,
        5 => sender.parts("delta_part", "[1,2]", &json!({"base": 3}))?,
        6 => sender.output.write_all(&[0, 0, 0, 9])?,
        7 => (0..2_000).try_for_each(|_| sender.send(&json!("alive")))?,
        _ => {}
    }
    while let Some(message) = input() {
        match message {
            ToAgent::Report { base, parts, .. } => {
                let mut mine = report.clone();
                mine["parts"] = serde_json::to_value(&parts)?;
                if nature == 13 {
                    random.change(&mut mine, 8);
                } else {
                    let count = [3, 12, 30][random.below(3)];
                    random.change_some(&mut mine, count);
                }
                match nature {
                    8 => thread::park_timeout(Duration::from_secs(30)),
                    9 => sender.parts("report_part", &"[".repeat(100_000), &json!({}))?,
                    10 => {
                        let text = mine.to_string();
                        for _ in 0..3 {
                            sender.parts("report_part", &text, &json!({}))?;
                        }
                    }
                    11 if base.is_some() => {
                        sender.parts("delta_part", &mine.to_string(), &json!({"base": base}))?;
                    }
                    _ => sender.parts("report_part", &mine.to_string(), &json!({}))?,
                }
            }
            ToAgent::Worker(asked) => {
                let act = serde_json::to_value(&asked.step.act)?;
                let mut result = if random.once_in(6) {
                    json!({"Err": failure(&mut random)})
                } else {
                    json!({"Ok": good(&act)})
                };
                random.change(&mut result, 20);
                let id = if random.once_in(30) { json!(1) } else { json!(asked.id) };
                if !random.once_in(40) {
                    sender.send(&json!({"worker": {"id": id, "result": result}}))?;
                }
            }
            ToAgent::Record { .. } => {
                let mut text = random.text();
                if !random.once_in(8) {
                    let replies = fs::read(format!("{}.replies", env::var(REPORT).unwrap()))?;
                    let mut recording: Value = serde_json::from_slice(&replies)?;
                    random.change_replies(&mut recording);
                    text = recording.to_string();
                }
                sender.parts("record_part", &text, &json!({}))?;
            }
            ToAgent::StartWorker | ToAgent::Alive => {}
            ToAgent::Bye => {
                let frames = if nature == 12 { random.next() } else { sender.frames };
                return sender.send(&json!({"end": {"frames": frames}}));
            }
        }
    }
    Ok(())
}

/// Runs the agent of a host if [`SEED`] is set. Otherwise the test does nothing.
#[test]
fn hostile_agent() {
    if env::var_os(SEED).is_none() {
        return;
    }
    let nonce = env::var("RDMACTL_TEST_NONCE").unwrap();
    // The output of the test harness would follow the last frame.
    let own = |stream: BorrowedFd<'_>| File::from(stream.try_clone_to_owned().unwrap());
    let (stdin, mut output) = (own(rustix::stdio::stdin()), own(rustix::stdio::stdout()));
    let greeting = Greeting::line(&nonce);
    if env::var("RDMACTL_TEST_LINES").is_ok_and(|lines| lines == "--lines") {
        let mut reader = FrameReader::new(LineReader::new(stdin, &nonce, Recipient::Agent));
        let mut output = LineWriter::new(output, &nonce, Recipient::Operator);
        let _ = output.write_all(greeting.as_bytes()).and_then(|()| output.flush());
        let _ = play(|| reader.read().ok().flatten(), output);
    } else {
        let mut reader = FrameReader::new(stdin);
        let _ = output.write_all(greeting.as_bytes());
        let _ = play(|| reader.read().ok().flatten(), output);
    }
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
        .unwrap();
}

/// Directories of a run: programs of the hosts, and home directory of the operator.
struct Bed {
    programs: TempDir,
    home: TempDir,
}

impl Bed {
    fn new() -> Self {
        let bed = Self { programs: TempDir::new().unwrap(), home: TempDir::new().unwrap() };
        // The fixtures have neither system settings nor a subnet.
        let healthy = fs::read("tests/fixtures/check/healthy.json").unwrap();
        let system = serde_json::from_slice::<HostReport>(&healthy).unwrap().system;
        let subnet = subnet();
        let parts = Parts::all().without(&Parts::from([Part::System]));
        for fixture in FIXTURES {
            let path = format!("tests/fixtures/{fixture}/capture.ndjson");
            let capture = Capture::read(Path::new(&path)).unwrap();
            let (host, entries) = capture.hosts.into_iter().next().unwrap();
            let taken_ns = host.taken_ns;
            let recorded = Recorded::new(entries.iter().cloned(), taken_ns);
            let report = host_report(&recorded, &parts, fixture, Via::Agent);
            let report = HostReport { system: system.clone(), ..report };
            let mut report = serde_json::to_value(report).unwrap();
            report["fabrics"] = json!([subnet]);
            let recording = Recording { taken_ns, left_out: 0, entries };
            let replies = serde_json::to_string(&recording).unwrap();
            let programs = bed.programs.path();
            fs::write(programs.join(fixture), report.to_string()).unwrap();
            fs::write(programs.join(format!("{fixture}.replies")), replies).unwrap();
        }
        let here = env::current_exe().unwrap();
        let programs = bed.programs.path().display();
        write_program(
            &bed.programs.path().join("rdmactl"),
            &format!(
                "n=${{HOST#h}}\nexport {SEED}=$(($RDMACTL_TEST_BASE + $n)) RDMACTL_TEST_NONCE=$2 \
                 RDMACTL_TEST_LINES=$3\nset -- {}\nshift $(($n % 3))\nexport {REPORT}={programs}/$1\n\
                 exec {} --exact hostile_agent --nocapture -q",
                FIXTURES.join(" "),
                here.display()
            ),
        );
        write_program(&bed.programs.path().join("way"), "export HOST=$1; shift; exec \"$@\"");
        bed
    }

    /// Runs one command on the hosts. Panics with the seed if the output, the time or the memory
    /// violates a limit.
    fn run(&self, seed: u64) {
        let mut random = Random::of(seed);
        let template = COMMANDS[random.below(COMMANDS.len())];
        let (is_ping, is_top) = (template[0] == "ping", template[0] == "top");
        let hosts = if is_ping { 6 } else { HOSTS };
        let set = format!("h[1-{hosts}]");
        let mut arguments: Vec<&str> =
            template.iter().map(|word| if *word == "SET" { &*set } else { word }).collect();
        if !is_ping {
            arguments.extend(["-H", &set]);
        }
        let limit = if is_ping { "4s" } else { "2s" };
        arguments.extend(["--timeout", limit, "--no-upload"]);
        arguments.extend(["--launcher", "exec", "way {host} {command}"]);
        let mut command = if is_top { in_terminal(&arguments) } else { rdmactl() };
        if !is_top {
            command.args(&arguments);
        }
        let path = format!("{}:/usr/bin:/bin", self.programs.path().display());
        command
            .env("PATH", path)
            .env("RDMACTL_PATH", NOT_INSTALLED)
            .env("RDMACTL_TEST_BASE", (seed * 1_000).to_string())
            .env("XDG_RUNTIME_DIR", self.home.path())
            .env("HOME", self.home.path())
            .env("TMPDIR", self.home.path())
            .current_dir(self.home.path())
            .stdin(if is_top { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let begin = clock::now();
        let mut child = command.spawn().unwrap();
        let keys = child.stdin.take();
        let pid = if is_top { process_in_terminal(child.id()) } else { child.id() };
        let (is_over, peak) = (AtomicBool::new(false), AtomicU64::new(0));
        let said = thread::scope(|scope| {
            scope.spawn(|| watch(pid, &is_over, &peak, begin));
            if let Some(keys) = keys {
                let is_over = &is_over;
                scope.spawn(move || press(keys, is_over));
            }
            let said = Said::of(child);
            is_over.store(true, Ordering::Relaxed);
            said
        });
        let peak = peak.into_inner();
        if env::var_os("RDMACTL_HOSTILE_SEED").is_some() {
            let _ = write_stderr(&format!("{}{}", said.stdout, said.stderr));
        }
        let place = format!("RDMACTL_HOSTILE_SEED={seed}: rdmactl {}", arguments.join(" "));
        assert!(begin.elapsed() < MAX_TIME, "{place}: took {:?}", begin.elapsed());
        assert!(matches!(said.code, Some(0..=3)), "{place}: {:?}\n{}", said.code, said.stderr);
        assert!(peak < MAX_MEMORY, "{place}: used {peak} KiB");
        self.check(&said, &arguments, &place);
    }

    /// Checks the output of a command and the files of its user.
    fn check(&self, said: &Said, arguments: &[&str], place: &str) {
        let mut stdout = said.stdout.clone();
        if arguments[0] == "top" {
            // `top` itself moves the cursor and sets colors and modes.
            stdout = stdout.replace("\u{1b}[", "").replace('\r', "");
        }
        for (stream, text) in [("stdout", &stdout), ("stderr", &said.stderr)] {
            let acts = text.chars().find(|letter| acts_on_a_terminal(*letter));
            assert_eq!(acts, None, "{place}: {stream}\n{text}");
            // A JSON document may hold such a line as data: `has_foreign_fix` checks its fields.
            let is_json = stream == "stdout" && arguments.contains(&"--json");
            let foreign = text.lines().filter(|_| !is_json).find(|line| {
                let line = line.trim_start().trim_start_matches('"');
                line.starts_with("fix: ") && is_foreign(line)
            });
            assert_eq!(foreign, None, "{place}: a fix with a text of a host\n{text}");
            assert!(!text.contains("panicked"), "{place}: {text}");
        }
        if arguments.contains(&"--json") && !said.stdout.is_empty() {
            let json: Value = serde_json::from_str(&said.stdout).unwrap();
            assert!(!has_foreign_fix(&json), "{place}: {json}");
        }
        let is_page = arguments.contains(&"html") || arguments.contains(&"svg");
        assert!(!is_page || !said.stdout.contains("<script"), "{place}: {}", said.stdout);
        let left: Vec<_> = fs::read_dir(self.home.path()).unwrap().flatten().collect();
        assert!(left.is_empty(), "{place}: left {left:?}");
    }
}

/// Returns a subnet from a file of ibnetdiscover, with additional tables.
fn subnet() -> Value {
    let text = fs::read_to_string("fuzz/recordings/tree.ibnetdiscover").unwrap();
    let fabric = import_fabric("tree", &text).unwrap().unwrap();
    let mut fabric = serde_json::to_value(fabric).unwrap();
    for node in fabric["nodes"].as_array_mut().unwrap() {
        if node["kind"] == "switch" {
            node["forwarding"] = json!("ff010203040102030401");
        }
        let manager = json!({ "guid": node["guid"], "priority": 1, "state": 3, "activity": 7 });
        for port in node["ports"].as_array_mut().unwrap() {
            port["p_keys"] = json!([65_535, 32_769]);
            port["subnet_manager"] = manager.clone();
        }
    }
    fabric
}

/// Returns the command that runs rdmactl in a pseudo-terminal: script(1) passes keys and output.
fn in_terminal(arguments: &[&str]) -> Command {
    let words = [&[env!("CARGO_BIN_EXE_rdmactl")][..], arguments].concat();
    let line = format!("exec {}", shlex::try_join(words).unwrap());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh").env("LC_ALL", "C.UTF-8");
    command.env("TERM", "xterm-256color").env("COLUMNS", "200").env("LINES", "60");
    command
}

/// Returns the process that script(1) runs.
fn process_in_terminal(script: u32) -> u32 {
    let children = format!("/proc/{script}/task/{script}/children");
    let deadline = Deadline::after(MAX_TIME);
    loop {
        let text = fs::read_to_string(&children).unwrap_or_default();
        if let Some(child) = text.split_whitespace().next() {
            return child.parse().unwrap();
        }
        assert!(!deadline.is_over(), "script runs nothing: {children}");
        thread::park_timeout(Duration::from_millis(5));
    }
}

/// Presses keys that open views, then presses q until `top` has ended.
fn press(mut keys: ChildStdin, is_over: &AtomicBool) {
    for key in ["2", "i", "3", "5", "\r", "6", "1"] {
        thread::park_timeout(Duration::from_millis(300));
        let _ = keys.write_all(key.as_bytes());
    }
    while !is_over.load(Ordering::Relaxed) {
        let _ = keys.write_all(b"q");
        thread::park_timeout(Duration::from_millis(100));
    }
}

/// Records the peak memory of a process until it ends. Kills a process that runs too long.
fn watch(pid: u32, is_over: &AtomicBool, peak: &AtomicU64, begin: Instant) {
    let status = Path::new("/proc").join(pid.to_string()).join("status");
    while !is_over.load(Ordering::Relaxed) {
        let mut text = String::new();
        let read = File::open(&status).and_then(|mut file| file.read_to_string(&mut text));
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        if let (Ok(_), Some(line)) = (read, line) {
            let size = line.trim().trim_end_matches(" kB").parse().unwrap_or(0);
            peak.fetch_max(size, Ordering::Relaxed);
        }
        if begin.elapsed() > MAX_TIME {
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            return;
        }
        thread::park_timeout(Duration::from_millis(5));
    }
}

fn acts_on_a_terminal(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t'))
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// True if a fix contains a text of a host that is not a plain name.
fn is_foreign(fix: &str) -> bool {
    fix.len() > 1_500
        || fix.split(MARK).skip(1).any(|after| after.starts_with([')', '`', ' ', '<', '!', '/']))
}

/// True if a `fix` or `hint` of a document contains a text of a host that is not a plain name.
fn has_foreign_fix(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(has_foreign_fix),
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            let is_fix = matches!(key.as_str(), "fix" | "hint");
            (is_fix && value.as_str().is_some_and(is_foreign)) || has_foreign_fix(value)
        }),
        _ => false,
    }
}

#[test]
fn hostile_agents_cost_their_own_rows_and_no_more() {
    if env::var_os(SEED).is_some() {
        return;
    }
    let bed = Bed::new();
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = number("RDMACTL_HOSTILE_SEED") {
        return bed.run(seed);
    }
    let agents = number("RDMACTL_HOSTILE_AGENTS").unwrap_or(10 * HOSTS);
    (0..agents.div_ceil(HOSTS)).for_each(|seed| bed.run(seed));
}
