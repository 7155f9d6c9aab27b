//! Delta encoding of repeated reports over a real pipe: the operator gets the report of the agent
//! or a failure.

#![allow(clippy::unwrap_used, reason = "without its test bed a test must end")]

use std::fs::{self, File};
use std::io::stdin;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rdmactl::agent::Supervisor;
use rdmactl::capture::Capture;
use rdmactl::clock::Deadline;
use rdmactl::collect::host_report;
use rdmactl::fleet::{Agent, Nonce, Watchdog};
use rdmactl::model::{HostFailure, HostReport, Part, Parts, Reason, Resource, Via};
use rdmactl::source::{Recorded, Recording};
use rdmactl::wire::{BASE_LIMIT, FrameWriter, FromAgent, Greeting, Process};
use tempfile::TempDir;

/// Variable with the nonce, which is set in the process that is the agent of a test.
const AGENT: &str = "RDMACTL_TEST_AGENT";

fn seconds(count: u64) -> Deadline {
    Deadline::after(Duration::from_secs(count))
}

/// Returns the reports of all fixtures in order, a report that is too large to be a delta base,
/// and the same reports in reverse order.
fn reports() -> Vec<HostReport> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.path().join("capture.ndjson"))
        .filter(|path| path.exists())
        .collect();
    files.sort();
    let mut reports = Vec::new();
    for file in files {
        for (head, entries) in Capture::read(&file).unwrap().hosts {
            let source = Recorded::new(entries, head.taken_ns);
            reports.push(host_report(&source, &Parts::all(), head.host, Via::File));
        }
    }
    let mut large = HostReport::empty("large", Via::File);
    let object = rdmactl::model::Object::Ctx { ctxn: Some(1) };
    large.resources = Some(vec![Resource { device: "d".repeat(900), owner: None, object }; 1_500]);
    reports.push(large);
    let back: Vec<HostReport> = reports.iter().rev().cloned().collect();
    reports.extend(back);
    reports
}

fn next_report(_: &Parts, _: Duration) -> HostReport {
    static ALL: std::sync::LazyLock<Vec<HostReport>> = std::sync::LazyLock::new(reports);
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    ALL[NEXT.fetch_add(1, Ordering::Relaxed)].clone()
}

fn serve(nonce: String) {
    let recording = |_: &Parts, _| Recording::default();
    let agent = Supervisor { nonce, unlink: false, inventory: next_report, recording };
    let output = File::from(rustix::stdio::stdout().try_clone_to_owned().unwrap());
    // The test harness prints only after the last frame.
    agent.run(stdin(), output).unwrap();
}

#[test]
fn delta_reports_equal_the_reports_of_the_agent() {
    if let Ok(nonce) = std::env::var(AGENT) {
        return serve(nonce);
    }
    let (nonce, watchdog) = (Nonce::new().unwrap(), Watchdog::start().unwrap());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "delta::delta_reports_equal_the_reports_of_the_agent", "--nocapture"])
        .env(AGENT, nonce.to_string());
    let agent = Agent::start_local(command, nonce, &watchdog, seconds(60)).unwrap();
    let parts = Parts::default();
    for expected in reports() {
        let report = agent.delta_report(&parts, seconds(60)).unwrap();
        assert!(report == expected, "the report of {} differs", expected.host);
    }
    assert_eq!(agent.end(seconds(5)), Ok(()));
}

/// Requests two reports. The agent sends a complete report first, and then the messages in
/// `second`. Returns the result of the second request.
fn second_report(second: &[FromAgent]) -> Result<HostReport, HostFailure> {
    let (nonce, watchdog) = (Nonce::new().unwrap(), Watchdog::start().unwrap());
    let directory = TempDir::new().unwrap();
    let file = |name: &str, mut bytes: Vec<u8>, messages: &[FromAgent]| {
        for message in messages {
            FrameWriter::new(&mut bytes).write(message).unwrap();
        }
        let file = directory.path().join(name);
        fs::write(&file, bytes).unwrap();
        file.display().to_string()
    };
    let hello = FromAgent::Hello(Process { pid: 1, start_ticks: 1 });
    let text = serde_json::to_string(&HostReport::empty("n1", Via::Agent)).unwrap();
    let whole = FromAgent::ReportPart { text, is_last: true };
    let greeting = file("greeting", Greeting::line(&nonce.to_string()).into_bytes(), &[hello]);
    let [first, second] = [file("first", vec![], &[whole]), file("second", vec![], second)];
    // The operator sends each request with one write, after the previous report.
    let read = "dd bs=9999 count=1 of=/dev/null 2>/dev/null";
    let script =
        format!("cat {greeting}; {read}; cat {first}; {read}; cat {second}; exec cat >/dev/null");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]);
    let agent = Agent::start_local(command, nonce, &watchdog, seconds(20)).unwrap();
    let parts: Parts = [Part::Netdevs].into();
    agent.delta_report(&parts, seconds(20)).unwrap();
    let report = agent.delta_report(&parts, seconds(20));
    report.map_err(|failure| agent.give_up(failure))
}

/// Delta that changes the host to n2. A report begins with its host: `{"host":"n1",`.
const TO_N2: &str = r#"[[10,1,"2"]]"#;

fn change(base: u64, text: &str) -> FromAgent {
    FromAgent::DeltaPart { base, text: text.to_owned(), is_last: true }
}

#[test]
fn a_change_in_two_pieces_is_one() {
    let (front, back) = TO_N2.split_at(9);
    let piece = |text: &str, is_last| FromAgent::DeltaPart { base: 1, text: text.into(), is_last };
    let report = second_report(&[piece(front, false), piece(back, true)]).unwrap();
    assert_eq!(report.host, "n2");
}

#[test]
fn a_change_that_is_none_of_the_last_answer_is_a_reason_and_never_a_value() {
    let long = "x".repeat(BASE_LIMIT / 2);
    let piece = FromAgent::DeltaPart { base: 1, text: long, is_last: false };
    for (messages, reason, words) in [
        (vec![change(0, TO_N2)], Reason::Garbage, "a delta of report 0, but the last report is 1"),
        (vec![change(2, TO_N2)], Reason::Garbage, "a delta of report 2, but the last report is 1"),
        (
            vec![change(1, r#"[[90000,1,""]]"#)],
            Reason::Garbage,
            "the delta does not fit the last report",
        ),
        (vec![change(1, r#"[[0,13,"{"]]"#)], Reason::Garbage, "missing field `host`"),
        (vec![change(1, "{}")], Reason::Garbage, "invalid report: "),
        (
            vec![piece.clone(), piece.clone(), piece],
            Reason::TooBig,
            "over the limit of 1048576 bytes",
        ),
    ] {
        let failure = second_report(&messages).unwrap_err();
        assert_eq!(failure.reason, reason, "{failure}");
        assert!(failure.detail.contains(words), "{failure}");
    }
}
