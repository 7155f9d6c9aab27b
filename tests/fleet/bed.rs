//! What test beds of all kinds do: run the program and others, and wait for what comes of it.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::expect_used, clippy::panic, reason = "without its test bed a test must end")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output};
use std::thread;
use std::time::Duration;

use rdmactl::clock::Deadline;
use serde_json::Value;

/// `RDMACTL_PATH` of a host on which rdmactl is not installed, whatever this machine has.
pub(crate) const NOT_INSTALLED: &str = "/nonexistent";

/// The program with signals as a person's shell leaves them: a test that is itself started in the
/// background inherits SIGINT ignored, and rdmactl keeps it so.
pub(crate) fn rdmactl() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_rdmactl")]);
    command
}

/// What a program said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("plain text");
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Said {
    /// Of a program that was started, at its end.
    pub(crate) fn of(child: Child) -> Self {
        child.wait_with_output().expect("its output").into()
    }

    /// The hosts of a JSON document.
    pub(crate) fn hosts(&self) -> Vec<Value> {
        let json: Value = serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("{error}: {}{}", self.stdout, self.stderr);
        });
        json["hosts"].as_array().expect("a list of hosts").clone()
    }
}

pub(crate) fn write_program(file: &Path, script: &str) {
    fs::write(file, format!("#!/bin/sh\n{script}\n")).expect("a script");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("its rights");
}

pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Deadline::after(Duration::from_secs(60));
    while !is_so() {
        assert!(!deadline.is_over(), "it never came that {what}");
        thread::park_timeout(Duration::from_millis(5));
    }
}

/// Runs a program of the test bed; one that is missing is named with its package.
pub(crate) fn tool(program: &str, package: &str) -> Command {
    let found = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        .map(|directory| Path::new(directory).join(program))
        .into_iter()
        .find(|path| path.exists());
    let Some(found) = found else {
        panic!("{program} is missing; run: apt-get install {package}");
    };
    Command::new(found)
}
