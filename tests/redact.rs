//! Redacted captures: cells that are equal in the original are equal in the redacted capture, and
//! different cells stay different.
#![expect(clippy::expect_used, reason = "a test without its fixtures fails")]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rdmactl::capture::Capture;
use rdmactl::collect::host_report;
use rdmactl::model::{HostReport, Parts, VerbsAnswer, Via};
use rdmactl::query::{
    Counters, Devices, Gids, Listing, Ports, Resources, Value, counter_rows, device_rows, gid_rows,
    resource_rows,
};
use rdmactl::source::{Entry, Messages, Question, Recorded, Recorder, Source as _};

fn package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn fixtures() -> Vec<PathBuf> {
    let folders = fs::read_dir(package("tests/fixtures")).expect("fixtures").flatten();
    folders
        .map(|folder| folder.path().join("capture.ndjson"))
        .filter(|path| path.exists())
        .collect()
}

fn reports(capture: Capture) -> Vec<HostReport> {
    let report = |(head, entries): (rdmactl::capture::CapturedHost, _)| {
        host_report(&Recorded::new(entries, head.taken_ns), &Parts::all(), head.host, Via::File)
    };
    capture.hosts.into_iter().map(report).collect()
}

fn cells<L: Listing>(rows: &[L::Row<'_>]) -> Vec<Vec<Value>> {
    rows.iter().map(|row| L::COLUMNS.iter().map(|column| column.value(row)).collect()).collect()
}

/// Returns the cells of listings whose rows keep their order.
fn listings(reports: &[HostReport]) -> [Vec<Vec<Value>>; 5] {
    [
        cells::<Devices>(&device_rows(reports, true)),
        cells::<Ports>(&device_rows(reports, true)),
        cells::<Gids>(&gid_rows(reports, true)),
        cells::<Counters>(&counter_rows(reports, true)),
        cells::<Resources>(&resource_rows(reports)),
    ]
}

#[test]
fn redaction_keeps_equal_and_different_values_apart() {
    let mut changed = 0;
    for path in fixtures().into_iter().filter(|path| !has_truncated_attributes(path)) {
        let original = Capture::read(&path).expect("a fixture");
        let redacted = original.clone().redacted().expect("random numbers");
        let (before, after) = (listings(&reports(original)), listings(&reports(redacted)));
        let (mut forth, mut back) = (HashMap::new(), HashMap::new());
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before.len(), after.len(), "{}: rows", path.display());
            for (old, new) in before.iter().flatten().zip(after.iter().flatten()) {
                assert_eq!(old.is_unknown(), new.is_unknown(), "{}: {old}", path.display());
                let (old, new) = (old.to_string(), new.to_string());
                changed += usize::from(old != new);
                let known = forth.entry(old.clone()).or_insert_with(|| new.clone());
                assert_eq!(*known, new, "{}: {old} has two pseudonyms", path.display());
                let known = back.entry(new.clone()).or_insert_with(|| old.clone());
                assert_eq!(*known, old, "{}: {new} stands for two", path.display());
            }
        }
    }
    assert!(changed > 50, "{changed} cells have a pseudonym");
}

/// True for a fixture whose netlink messages are complete but have truncated attributes. The
/// redaction removes such an answer completely, also the objects that could be listed.
fn has_truncated_attributes(path: &Path) -> bool {
    path.ends_with("absurd/capture.ndjson")
}

/// True if an answer has a valid format. Some fixtures have invalid answers on purpose.
fn is_valid(entry: &Entry) -> bool {
    let Ok(bytes) = &entry.answer else { return false };
    match &entry.question {
        Question::Verbs => serde_json::from_slice::<VerbsAnswer>(bytes).is_ok(),
        Question::Rdma(_) | Question::Route(_) | Question::Ethtool(_) => {
            Messages::new(bytes).last_is_whole()
        }
        _ => std::str::from_utf8(bytes).is_ok(),
    }
}

/// True for answers that name users, their files, sockets or logs. The redaction removes these
/// answers completely.
fn has_no_rule(question: &Question) -> bool {
    match question {
        Question::File(path) | Question::Dir(path) => {
            ["/etc", "/proc/fs", "/proc/self/"].iter().any(|start| path.starts_with(start))
                && path != "/etc/os-release"
                && !path.starts_with("/etc/libibverbs.d")
        }
        Question::Sockets(_) | Question::Holders | Question::KernelLog(_) | Question::Rds(_) => {
            true
        }
        _ => false,
    }
}

#[test]
fn nothing_that_the_collectors_use_is_left_out() {
    for path in fixtures() {
        let original = Capture::read(&path).expect("a fixture");
        let redacted = original.clone().redacted().expect("random numbers");
        for ((_, before), (_, after)) in original.hosts.iter().zip(&redacted.hosts) {
            for (before, after) in before.iter().zip(after) {
                let lost = before.answer.is_ok() && after.answer.is_err();
                let is_truncated =
                    has_truncated_attributes(&path) && matches!(before.question, Question::Rdma(_));
                let is_expected =
                    !is_valid(before) || is_truncated || has_no_rule(&before.question);
                assert!(!lost || is_expected, "{}: {}", path.display(), before.question);
            }
        }
    }
}

#[test]
fn no_record_has_command_lines_or_environments() {
    let is_private = |question: &Question| match question {
        Question::File(path) | Question::Dir(path) | Question::Link(path) => {
            ["cmdline", "environ"].iter().any(|name| path.ends_with(name))
        }
        // The collectors read only settings that select a transport, and record none of them.
        Question::Environment(_) => true,
        _ => false,
    };
    for path in fixtures() {
        for (head, entries) in Capture::read(&path).expect("a fixture").hosts {
            let recorder = Recorder::new(Recorded::new(entries, head.taken_ns));
            let _ = host_report(&recorder, &Parts::all(), "h", Via::File);
            let asked = recorder.into_entries();
            assert!(!asked.iter().any(|entry| is_private(&entry.question)), "{}", path.display());
        }
    }
    let recorder = Recorder::new(Recorded::new(Vec::new(), None));
    let _ = recorder.ask(&Question::Environment(1));
    assert!(recorder.into_entries().is_empty());
    // No other code reads environments: one file has the settings, and one file defines the
    // question.
    let known = ["src/source/environment.rs", "src/source/question.rs"].map(package);
    let mut folders = vec![package("src/collect"), package("src/source")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("sources").flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
                continue;
            }
            let text = fs::read_to_string(entry.path()).expect("a source");
            let is_private = text.contains("/cmdline") || text.contains("/environ");
            assert!(!is_private || known.contains(&entry.path()), "{:?}", entry.path());
        }
    }
}

#[test]
fn each_run_has_a_key_of_its_own() {
    let folder = tempfile::tempdir().expect("a directory");
    let run = |name: &str| {
        let saved = folder.path().join(name);
        let status = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
            .args(["capture", "--redact", "--from"])
            .arg(package("tests/fixtures/fleet/capture.ndjson"))
            .arg("--save")
            .arg(&saved)
            .status()
            .expect("rdmactl runs");
        assert!(status.success());
        fs::read_to_string(saved).expect("the redacted capture")
    };
    let (one, other) = (run("one"), run("other"));
    assert_ne!(one, other);
    assert!(!one.contains("\"n17\"") && one.contains("mlx5_0"), "{one}");
}

#[test]
fn an_nfs_mount_that_fell_back_and_sessions_of_iscsi_are_still_found() {
    let folder = tempfile::tempdir().expect("a directory");
    let saved = folder.path().join("redacted.ndjson").display().to_string();
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rdmactl"));
        let output = command.args(arguments).output().expect("rdmactl runs");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let from = "tests/fixtures/consumers_client/capture.ndjson";
    run(&["capture", "--redact", "--from", from, "--save", &saved]);
    let counted = run(&["connections", "--from", &saved]);
    assert!(counted.contains("over TCP (redaction removed the sockets)"), "{counted}");
    let columns = "consumer.role,transport,verdict,cause.code";
    let arguments = |file, filter| {
        ["connections", "--from", file, "-f", "csv", "-n", "-w", filter, "-o", columns]
    };
    for (filter, verdict) in
        [("user==nfs", "fallback_confirmed"), ("user==iscsi && role==client", "TCP,tcp,")]
    {
        let original = run(&arguments(from, filter));
        assert!(original.contains(verdict), "{original}");
        assert_eq!(run(&arguments(&saved, filter)), original, "{filter}");
    }
}
