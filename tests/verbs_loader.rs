//! All results of the libibverbs loader and of inline port functions, with simulated libraries.
//!
//! A process loads a library only once. So each case runs this test program again, which then
//! runs only the test [`child_process_that_lists_verbs_devices`].
#![expect(clippy::expect_used, reason = "a test without a compiler or a temporary directory fails")]
#![expect(clippy::print_stdout, reason = "the child process tells its parent what it sees")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rdmactl::model::VerbsAnswer;
use rdmactl::source::{answer_verbs, fixes};
use rdmactl::sys::verbs::{Device, DeviceList, VerbsError};

/// Prefix of the lines of the child process. The other lines come from the test harness.
const MARK: &str = "sees: ";

#[test]
fn child_process_that_lists_verbs_devices() {
    match look() {
        Ok(lines) => lines.iter().for_each(|line| println!("\n{MARK}{line}")),
        Err(error) => println!("\n{MARK}error: {error}\n{MARK}fix: {:?}", fixes::of_verbs(&error)),
    }
}

fn look() -> Result<Vec<String>, VerbsError> {
    if env::var("FAKE_VERBS").is_ok_and(|kind| kind == "once") {
        return Ok(answered());
    }
    let devices = DeviceList::get()?.entries();
    let mut lines = vec![format!("devices {}", devices.len())];
    for entry in devices {
        let device = Device::open(&entry.name)?;
        lines.push(format!("{} {:x} iwarp {}", entry.name, entry.guid, entry.is_iwarp()));
        match device.attr() {
            Ok(attr) => lines.push(format!(
                "firmware {} qps {} ports {} vectors {} extended {}",
                attr.firmware(),
                attr.basic.max_qp,
                attr.port_count(),
                attr.num_comp_vectors,
                attr.extended.is_some()
            )),
            Err(error) => lines.push(error.to_string()),
        }
        let port = device.port(1)?;
        lines.push(format!(
            "lid {:#x} speed {} speed_ex {} flags2 {:#x} rate {:?}",
            port.attr.lid,
            port.attr.active_speed,
            port.attr.active_speed_ex,
            port.attr.port_cap_flags2,
            port.speed_100mbps
        ));
        for error in [device.port(9).err(), device.gid(1, 5).err()].into_iter().flatten() {
            lines.push(error.to_string());
        }
        lines.push(format!("pkey {:#x}", device.pkey(1, 1)?));
        lines.push(format!("{:?}", Device::open("fake1").err().map(|error| error.to_string())));
    }
    Ok(lines)
}

/// Returns the devices of a request for all devices, each with true if it was opened.
fn answered() -> Vec<String> {
    match answer_verbs() {
        VerbsAnswer::Devices(entries) => {
            entries.iter().map(|entry| format!("{} {}", entry.name, entry.answer.is_ok())).collect()
        }
        VerbsAnswer::Unavailable { detail, .. } => vec![detail],
    }
}

struct Library {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

/// Compiles the simulated library.
fn library(define: &str) -> Library {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("libibverbs.so.1");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_verbs/fake.c");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", define, "-o"])
        .args([&path, &source])
        .status()
        .expect("cc is there");
    assert!(status.success());
    Library { _folder: folder, path }
}

/// Runs the child process with a library. Returns its lines.
fn seen(path: &Path, kind: &str) -> String {
    let output = Command::new(env::current_exe().expect("own path"))
        .args(["--exact", "child_process_that_lists_verbs_devices", "--nocapture"])
        .env("RDMACTL_LIBIBVERBS", path)
        .env("FAKE_VERBS", kind)
        .output()
        .expect("runs again");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{kind}: {text}");
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(MARK)).collect();
    lines.join("\n") + "\n"
}

const REST: &str = "\
cannot query fake0/9: EINVAL (invalid argument)
cannot read the GID table of fake0/1: ENODATA (no data available)
pkey 0x8002
Some(\"RDMA device fake1 does not exist\")
";

#[test]
fn a_present_library_answers_by_the_extended_queries() {
    let library = library("-DPRESENT");
    let expected = "\
devices 1
fake0 2c90300112233 iwarp false
firmware 28.43.1014 qps 131072 ports 1 vectors 3 extended true
lid 0x1234 speed 128 speed_ex 256 flags2 0x1000 rate None
";
    assert_eq!(seen(&library.path, "extended"), format!("{expected}{REST}"));
}

#[test]
fn an_older_context_is_queried_with_the_old_functions() {
    let library = library("-DPRESENT");
    let old_port = "lid 0x1234 speed 128 speed_ex 0 flags2 0x0 rate None\n";
    let new_port = "lid 0x1234 speed 128 speed_ex 256 flags2 0x1000 rate None\n";
    for (kind, extended, port) in [
        ("legacy", false, old_port),
        ("short", true, old_port),
        ("nosys", false, new_port),
        ("notsupp", false, new_port),
    ] {
        let expected = format!(
            "devices 1\nfake0 2c90300112233 iwarp false\n\
             firmware 28.43.1014 qps 131072 ports 1 vectors 3 extended {extended}\n{port}{REST}"
        );
        assert_eq!(seen(&library.path, kind), expected, "{kind}");
    }
}

#[test]
fn a_failing_extended_query_is_not_hidden_by_the_old_one() {
    let seen = seen(&library("-DPRESENT").path, "einval");
    assert!(seen.contains("\ncannot query fake0: EINVAL (invalid argument)\n"), "{seen}");
}

#[test]
fn no_kernel_support_and_no_device_are_different_answers() {
    let library = library("-DPRESENT");
    assert_eq!(seen(&library.path, "empty"), "devices 0\n");
    let none = seen(&library.path, "nokernel");
    assert!(none.starts_with("error: the kernel has no RDMA support loaded"), "{none}");
    assert!(none.contains("load the module ib_uverbs"), "{none}");
    let denied = seen(&library.path, "denied");
    assert!(denied.starts_with("error: cannot list the RDMA devices: EACCES"), "{denied}");
    let closed = seen(&library.path, "noopen");
    assert!(closed.starts_with("error: cannot open fake0: EACCES"), "{closed}");
}

#[test]
fn devices_are_listed_once_for_all_that_are_opened() {
    // Each call that lists the devices reads the whole machine. A call for each of 64 devices
    // would take seconds.
    assert_eq!(seen(&library("-DPRESENT").path, "once"), "fake0 true\n");
}

#[test]
fn an_optional_function_may_be_absent() {
    for (define, rate) in [("-DPRESENT", " rate None\n"), ("-DWITH_SPEED", " rate Some(8000)\n")] {
        let seen = seen(&library(define).path, "extended");
        assert!(seen.contains(rate), "{seen}");
    }
}

#[test]
fn an_absent_required_function_is_named() {
    let seen = seen(&library("-DWITHOUT_MODIFY_QP").path, "extended");
    assert!(seen.contains("error: libibverbs.so.1 has no function ibv_modify_qp: "), "{seen}");
    assert!(seen.contains("undefined symbol: ibv_modify_qp"), "{seen}");
    assert!(seen.ends_with("fix: None\n"), "{seen}");
}

#[test]
fn an_absent_library_names_the_packages() {
    let seen = seen(Path::new("/nowhere/libibverbs.so.1"), "extended");
    assert!(seen.starts_with("error: /nowhere/libibverbs.so.1 is not installed: "), "{seen}");
    assert!(seen.contains("libibverbs1 and ibverbs-providers"), "{seen}");
}

#[test]
fn a_library_that_is_no_library_is_broken_and_not_missing() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("libibverbs.so.1");
    fs::write(&path, "no library").expect("a file");
    let seen = seen(&path, "extended");
    assert!(seen.contains("libibverbs.so.1 cannot be loaded: "), "{seen}");
    assert!(seen.ends_with("fix: None\n"), "{seen}");
}
