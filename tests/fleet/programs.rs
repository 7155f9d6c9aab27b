//! Directory of programs that comes first in the PATH of a node: a copy of rdmactl, scripts and
//! launchers. Finds the processes that run them.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::expect_used, reason = "without its test bed a test must end")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bed::{NOT_INSTALLED, rdmactl, write_program};
use tempfile::TempDir;

pub(crate) struct Programs(TempDir);

/// Process that runs a program of the directory.
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// Arguments, each with a NUL byte at its end.
    pub(crate) command_line: String,
}

impl Programs {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().expect("a directory"))
    }

    pub(crate) fn directory(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a shell script.
    pub(crate) fn write(&self, name: &str, script: &str) {
        write_program(&self.path(name), script);
    }

    /// Installs a copy of rdmactl. Processes of the copy are identified by its file.
    pub(crate) fn install(&self) {
        fs::copy(env!("CARGO_BIN_EXE_rdmactl"), self.path("rdmactl")).expect("a copy");
    }

    /// Returns a command that runs rdmactl for nodes whose PATH begins with the directory.
    pub(crate) fn operator(&self) -> Command {
        let mut command = rdmactl();
        command
            .env("PATH", format!("{}:/usr/bin:/bin", self.directory().display()))
            .env("RDMACTL_PATH", NOT_INSTALLED)
            .env("XDG_RUNTIME_DIR", self.directory())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Returns the processes that run a file of the directory.
    pub(crate) fn processes(&self) -> Vec<Process> {
        processes_that(|exe, _| exe.starts_with(self.directory()))
    }

    /// Returns the processes that run a file of the directory or name the directory, like the
    /// shell of a script. rdmactl of the test is none of them.
    pub(crate) fn processes_and_scripts(&self) -> Vec<Process> {
        let directory = self.directory().to_string_lossy().into_owned();
        processes_that(|exe, command_line| {
            exe != Path::new(env!("CARGO_BIN_EXE_rdmactl"))
                && (exe.starts_with(&directory) || command_line.contains(&directory))
        })
    }
}

/// Returns the processes for which `is_ours` accepts executable file and command line.
fn processes_that(is_ours: impl Fn(&Path, &str) -> bool) -> Vec<Process> {
    let process = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let exe = fs::read_link(entry.path().join("exe")).unwrap_or_default();
        let command_line = fs::read_to_string(entry.path().join("cmdline")).ok()?;
        let is_found = !command_line.is_empty() && is_ours(&exe, &command_line);
        is_found.then_some(Process { pid, command_line })
    };
    fs::read_dir("/proc").expect("/proc").flatten().filter_map(process).collect()
}
