//! Simulated pods: a launcher runs the agent on this machine. A file makes a pod hang or fail.

use std::path::{Path, PathBuf};
use std::time::Duration;

use portable_pty::CommandBuilder;
use rdmactl::clock::Deadline;
use rustix::process::{Pid, Signal};

use crate::terminal::Terminal;

/// Directory of the pods. Each pod is this machine, and its agent is a copy of rdmactl.
pub(crate) struct Pods(tempfile::TempDir);

impl Pods {
    pub(crate) fn new() -> Self {
        let folder = crate::folder();
        std::fs::copy(crate::PROGRAM, folder.path().join("rdmactl")).expect("a copy");
        let launcher = folder.path().join("launcher");
        let script = "#!/bin/sh\ncd \"${0%/*}\" || exit\n\
                      [ ! -e down-$1 ] || { echo no such pod >&2; exit 1; }\n\
                      [ ! -e slow-$1 ] || exec cat\nexec sh -c \"$2\"\n";
        std::fs::write(&launcher, script).expect("a script");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(launcher, mode).expect("a script");
        Self(folder)
    }

    /// Returns the words of a `rdmactl top` command for the pods.
    fn top(&self, every: &str) -> [String; 8] {
        let template = format!("{}/launcher {{host}} {{command}}", self.0.path().display());
        let words = [crate::PROGRAM, "top", "-H", "pod-[1-2]", every, "--launcher", "exec"];
        let mut words = words.iter().map(|word| (*word).to_owned()).chain([template]);
        std::array::from_fn(|_| words.next().expect("eight words"))
    }

    /// Starts `rdmactl top` for the pods in a terminal.
    pub(crate) fn show(&self, every: &str) -> Terminal {
        let mut command = CommandBuilder::new("env");
        command.arg(format!("PATH={}", self.path()));
        command.args(self.top(every));
        let terminal = Terminal::run(self.0.path(), command);
        terminal.await_frame("top  2 hosts up");
        terminal
    }

    pub(crate) fn signal(&self, signal: Signal) {
        for agent in self.agents() {
            rustix::process::kill_process(agent, signal).expect("an agent");
        }
    }

    /// Returns the directory in which the program runs.
    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Returns a PATH with the agent.
    pub(crate) fn path(&self) -> String {
        format!("{}:/usr/bin:/bin", self.0.path().display())
    }

    /// Returns the running agents.
    pub(crate) fn agents(&self) -> Vec<Pid> {
        let agent = self.0.path().join("rdmactl");
        let processes = std::fs::read_dir("/proc").expect("processes").flatten();
        let number = |entry: std::fs::DirEntry| {
            let is_one = std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == agent);
            let number = entry.file_name().to_string_lossy().parse().ok();
            number.filter(|_| is_one).and_then(Pid::from_raw)
        };
        processes.filter_map(number).collect()
    }

    /// Waits until an agent runs.
    pub(crate) fn await_agents(&self) {
        let deadline = Deadline::after(Duration::from_secs(20));
        while self.agents().is_empty() {
            assert!(!deadline.is_over(), "no agent runs");
            std::thread::yield_now();
        }
    }

    /// Returns the file whose existence makes a pod `down` or `slow`.
    pub(crate) fn mark(&self, how: &str, pod: &str) -> PathBuf {
        self.0.path().join(format!("{how}-{pod}"))
    }

    /// Starts a shell that runs `rdmactl top` for the pods.
    pub(crate) fn shell(&self) -> Terminal {
        let mut command = CommandBuilder::new("bash");
        command.args(["--norc", "--noprofile", "-i"]);
        command.env("PATH", self.path());
        let mut shell = Terminal::run(self.0.path(), command);
        shell.await_prompt();
        let words: Vec<String> =
            self.top("--every=200ms").iter().map(|word| format!("'{word}'")).collect();
        shell.press(&format!("{}\r", words.join(" ")));
        shell.await_frame("top  2 hosts up");
        shell
    }
}
