//! Input from pipes and files, and output: a closed stdout, terminal control characters,
//! spreadsheet formulas, and samples of a tree that changes.
#![expect(clippy::expect_used, reason = "a test that cannot run its program has failed")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

const FLEET: &str = "tests/fixtures/fleet/capture.ndjson";

fn sh(script: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_rdmactl");
    Command::new("/bin/sh")
        .args(["-c", script, "sh", program])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .expect("a shell runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

#[test]
fn a_closed_stdout_is_an_error_and_dev_null_is_none() {
    for command in [
        format!("devices --from {FLEET}"),
        format!("devices --json --from {FLEET}"),
        "--help".into(),
    ] {
        let closed = sh(&format!("\"$1\" {command} >&-"));
        assert_eq!(closed.status.code(), Some(2), "{command}: {}", text(&closed.stderr));
        let usual = sh(&format!("\"$1\" {command} >/dev/null"));
        assert_ne!(usual.status.code(), Some(2), "{command}: {}", text(&usual.stderr));
    }
    let closed = sh(&format!("\"$1\" devices --from {FLEET} >&-"));
    assert!(text(&closed.stderr).contains("cannot write to stdout"), "{}", text(&closed.stderr));
    // A /dev/null that is open for reading and writing is not a closed stdout.
    let read_write = sh(&format!("\"$1\" devices --from {FLEET} 1<>/dev/null"));
    assert_ne!(read_write.status.code(), Some(2), "{}", text(&read_write.stderr));
}

#[test]
fn a_pipe_is_a_file_and_top_refuses_it() {
    let folder = tempfile::tempdir().expect("a directory");
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let writer = {
        let pipe = pipe.clone();
        let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join(FLEET);
        thread::spawn(move || fs::copy(capture, pipe))
    };
    let run = |words: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_rdmactl")).args(words).output().expect("rdmactl runs")
    };
    let place = pipe.display().to_string();
    let listed = run(&["devices", "--from", &place]);
    assert!(text(&listed.stdout).contains("mlx5_0"), "{}", text(&listed.stderr));
    writer.join().expect("no panic").expect("all was written");
    for words in [["top", "--from", &place], ["fabric", "--from", &place]] {
        let refused = run(&words);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains("is not a regular file"), "{words:?}: {said}");
    }
}

/// Creates a host whose device description has control characters and a spreadsheet formula.
fn hostile() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a directory");
    let device = folder.path().join("sys/class/infiniband/mlx5_0");
    fs::create_dir_all(device.join("ports/1")).expect("directories");
    let write = |file: &str, text: &str| fs::write(device.join(file), text).expect("a file");
    write("node_desc", "=HYPERLINK(1)\u{9b}31m\u{202e}cod\u{e0041}\n");
    write("node_type", "1: CA\n");
    write("ports/1/state", "4: ACTIVE\n");
    let root = folder.path().display().to_string();
    (folder, root)
}

#[test]
fn nothing_of_a_host_acts_on_a_terminal_or_a_spreadsheet() {
    let (_folder, root) = hostile();
    let run = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
            .args(["devices", "--root", &root])
            .args(words)
            .output()
            .expect("rdmactl runs");
        text(&output.stdout)
    };
    for format in ["table", "plain", "csv", "json", "ndjson", "prom"] {
        let columns = if format.ends_with("json") { vec!["-v"] } else { vec!["-o", "node_desc"] };
        let said = run(&[&columns[..], &["-f", format]].concat());
        let acts = |letter: &char| {
            (letter.is_control() && *letter != '\n')
                || matches!(letter, '\u{202e}' | '\u{e0000}'..='\u{e0fff}')
        };
        assert_eq!(said.chars().find(acts), None, "{format}: {said}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&run(&["--json", "-o", "node_desc"])).expect("JSON");
    let description = &json["hosts"][0]["devices"][0]["node_desc"];
    assert_eq!(description, "=HYPERLINK(1)\u{9b}31m\u{202e}cod\u{e0041}");
    let csv = run(&["-f", "csv", "-n", "-o", "node_desc"]);
    assert!(csv.starts_with("'=HYPERLINK(1)"), "{csv}");
}

#[test]
fn a_sample_without_rows_has_a_note() {
    let (_folder, root) = hostile();
    let output = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .args(["devices", "-w", "device==nosuch", "--watch=0.1", "--count", "2", "--root", &root])
        .output()
        .expect("rdmactl runs");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let count = stdout.matches("Z  0 of 1 rows match the filter\n").count();
    assert_eq!(count, 2, "{stdout}{stderr}");
    assert!(!stderr.contains("rows match"), "{stderr}");
}

/// Runs `rdmactl devices` on a tree with one port whose driver is unknown.
fn port_without_driver(gid: &str, state: &str) -> String {
    let folder = tempfile::tempdir().expect("a directory");
    let device = folder.path().join("sys/class/infiniband/ib0");
    fs::create_dir_all(device.join("ports/1/gids")).expect("directories");
    let write = |file: &str, text: &str| fs::write(device.join(file), text).expect("a file");
    write("node_type", "1: CA\n");
    write("ports/1/state", state);
    write("ports/1/link_layer", "InfiniBand\n");
    write("ports/1/rate", "400 Gb/sec (4X NDR)\n");
    write("ports/1/gids/0", &format!("{gid}\n"));
    let output = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .args(["devices", "-n", "-f", "csv", "-o", "state,link,rate", "--root"])
        .arg(folder.path())
        .output()
        .expect("rdmactl runs");
    text(&output.stdout)
}

#[test]
fn a_port_of_infiniband_without_a_driver_has_a_link_and_a_rate() {
    let native = "fe80:0000:0000:0000:0002:c903:00a1:b2c3";
    assert_eq!(port_without_driver(native, "4: ACTIVE\n"), "ACTIVE,InfiniBand,400000000000\n");
    for (state, word) in [("2: INIT\n", "INIT"), ("3: ARMED\n", "ARMED")] {
        let row = format!("{word},InfiniBand,400000000000\n");
        assert_eq!(port_without_driver(native, state), row, "the link is up");
    }
    for (state, word) in [("1: DOWN\n", "DOWN"), ("0: NOP\n", "NOP")] {
        assert_eq!(port_without_driver(native, state), format!("{word},,\n"));
    }
    // erdma in RoCE mode also reports the link layer InfiniBand, but its GIDs are IP addresses.
    let address = "0000:0000:0000:0000:0000:ffff:0a09:0001";
    let said = port_without_driver(address, "4: ACTIVE\n");
    assert!(!said.contains("InfiniBand") && !said.contains("400"), "{said}");
}

#[test]
fn a_removed_device_stays_in_the_samples_and_its_return_is_reported() {
    let (folder, root) = hostile();
    let mut child = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .args(["devices", "-o", "device,port,state", "--watch=0.1", "--count", "100000"])
        .args(["--root", &root])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rdmactl runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    // The samples continue until the row is as expected.
    let mut wait_for = |state: &str| {
        let is_it = |line: &String| line.starts_with("mlx5_0") && line.contains(state);
        let mut lines = lines.by_ref().map(|line| line.expect("a line")).take(10_000);
        assert!(lines.any(|line| is_it(&line)), "no row with {state}");
    };
    let class = folder.path().join("sys/class/infiniband");
    let (there, away) = (class.join("mlx5_0"), folder.path().join("away"));
    wait_for("ACTIVE");
    fs::rename(&there, &away).expect("the device is removed");
    wait_for("gone !");
    fs::rename(&away, &there).expect("the device is back");
    wait_for("ACTIVE");
    child.kill().expect("rdmactl ends");
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("UTF-8");
    child.wait().expect("rdmactl ends");
    assert!(said.contains("mlx5_0: the device was removed; first missing at "), "{said}");
    assert!(said.contains("dmesg | grep -iE 'mlx5_0|infiniband'"), "{said}");
    assert!(said.contains("mlx5_0: the device is back; it was missing for 0 s"), "{said}");
    assert_eq!(said.matches("first missing").count(), 1, "{said}");
}
