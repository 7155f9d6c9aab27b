//! Helpers of tests that run programs: rdmactl, scripts and installed tools. Tests of other
//! hosts, of recipes and of hostile agents use them.

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

/// Value of `RDMACTL_PATH` on a host without rdmactl. It hides an rdmactl that is installed on
/// this machine.
pub(crate) const NOT_INSTALLED: &str = "/nonexistent";

/// Returns a command that runs rdmactl with the default signal actions. A test that was started
/// in the background ignores SIGINT, and rdmactl would inherit that.
pub(crate) fn rdmactl() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_rdmactl")]);
    command
}

/// Output and exit code of a program.
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
    /// Waits for the end of a started program.
    pub(crate) fn of(child: Child) -> Self {
        child.wait_with_output().expect("its output").into()
    }

    /// Returns the hosts of the JSON document on stdout.
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

/// Writes a program that a login finds before the installed one of this name. Returns the
/// configuration of sshd for this login.
pub(crate) fn config_with_program(folder: &Path, name: &str, script: &str) -> String {
    write_program(&folder.join(name), script);
    let login = folder.join("login");
    let path = format!("PATH={}:$PATH; export PATH\n", folder.display());
    write_program(&login, &format!("{path}eval \"$SSH_ORIGINAL_COMMAND\""));
    format!("ForceCommand {}\n", login.display())
}

/// Waits until a condition holds. Fails after 60 s.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Deadline::after(Duration::from_secs(60));
    while !is_so() {
        assert!(!deadline.is_over(), "timeout while waiting until {what}");
        thread::park_timeout(Duration::from_millis(5));
    }
}

/// Returns a command that runs an installed tool. Panics if the tool is missing, and names the
/// package to install.
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
