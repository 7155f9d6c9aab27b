//! Passphrases of encrypted keys. `ssh-add` prompts for each passphrase once per run, and an
//! `ssh-agent` of this run has the keys.
//!
//! This program never reads a passphrase or a decrypted key. The connector uses this module.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};

use super::local::{self, query_tool};
use super::ssh::identity;
use super::ssh_program::SocketDirectory;
use super::{Pipe, SshClient, SshRoute, Target, Watchdog};
use crate::clock::{self, Deadline};

/// Timeout for an agent to start or to list its keys.
const AGENT: Duration = Duration::from_secs(5);
const CANCEL_CHECK: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct KeyUnlocker {
    sockets: Arc<SocketDirectory>,
    watchdog: Watchdog,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    agent: Option<SshAgent>,
    /// Key files for which `ssh-add` has prompted, once each. True if the key was unlocked.
    asked: HashMap<PathBuf, bool>,
    /// Decisions, by agent and key files. Most hosts of a run have the same ones.
    decided: HashMap<(Option<PathBuf>, Vec<PathBuf>), Option<PathBuf>>,
}

/// `ssh-agent` process that ends when this is dropped.
#[derive(Debug)]
struct SshAgent {
    socket: PathBuf,
    pipe: Pipe,
    number: Pid,
}

impl KeyUnlocker {
    pub(super) fn new(sockets: Arc<SocketDirectory>, watchdog: Watchdog) -> Self {
        Self { sockets, watchdog, state: Mutex::default() }
    }

    /// Ends the agent, which removes all keys.
    pub(super) fn end(&self) {
        drop(self.state.lock().agent.take());
    }

    /// Unlocks keys for [`Connector::unlock`](super::Connector::unlock).
    pub(super) fn prepare(&self, target: &mut Target) -> Duration {
        let began = clock::now();
        if matches!(target.client, SshClient::Borrowed(_)) || !target.other_logins.is_empty() {
            return Duration::ZERO;
        }
        let mut state = self.state.lock();
        let case = (target.agent.clone(), target.identity_files.clone());
        let socket = if let Some(socket) = state.decided.get(&case) {
            socket.clone()
        } else {
            let socket = self.unlock(&mut state, &self.locked_only(target));
            state.decided.insert(case, socket.clone());
            socket
        };
        drop(state);
        if let Some(socket) = socket {
            if let Some(call) = &mut target.call {
                call.agent = Some(socket.clone());
            }
            // The jump host most likely takes the same key.
            if let SshRoute::Jump(jump) = &mut target.route {
                jump.agent = Some(socket.clone());
            }
            target.agent = Some(socket);
        }
        began.elapsed()
    }

    fn unlock(&self, state: &mut State, locked: &[PathBuf]) -> Option<PathBuf> {
        for file in locked {
            let is_open = if let Some(is_open) = state.asked.get(file) {
                *is_open
            } else {
                let is_open = self.ask(state, file).is_some();
                state.asked.insert(file.clone(), is_open);
                is_open
            };
            if is_open {
                return state.agent.as_ref().map(|agent| agent.socket.clone());
            }
        }
        None
    }

    fn ask(&self, state: &mut State, file: &Path) -> Option<()> {
        // Without a terminal, no prompt is possible.
        OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        if state.agent.is_none() {
            state.agent = Some(SshAgent::start(self.sockets.new_path().ok()?)?);
        }
        let socket = &state.agent.as_ref()?.socket;
        // `ssh-add` prompts on the terminal, and again after a wrong passphrase.
        let mut asking = Command::new("ssh-add")
            .args(["-q", "--"])
            .arg(file)
            .env("SSH_AUTH_SOCK", socket)
            .env("SSH_ASKPASS_REQUIRE", "never")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        loop {
            if let Some(status) = asking.try_wait().ok()? {
                return status.success().then_some(());
            }
            if self.watchdog.wait_cancelled(CANCEL_CHECK) {
                // On SIGTERM, `ssh-add` restores the terminal.
                let _ = kill_process(Pid::from_child(&asking), Signal::TERM);
                let _ = asking.wait();
                return None;
            }
        }
    }

    /// Returns the encrypted keys of a target without any other usable key.
    fn locked_only(&self, target: &Target) -> Vec<PathBuf> {
        let identities = identity::read_all(target);
        let encrypted: Vec<PathBuf> =
            identities.iter().filter(|one| one.is_encrypted).map(|one| one.file.clone()).collect();
        let holds_keys = |socket: &Path| holds_keys(socket, &self.watchdog);
        let has_other = identities.iter().any(identity::Identity::is_usable);
        if encrypted.is_empty() || has_other || target.agent.as_deref().is_some_and(holds_keys) {
            return Vec::new();
        }
        encrypted
    }
}

fn holds_keys(socket: &Path, watchdog: &Watchdog) -> bool {
    let mut list = Command::new("ssh-add");
    list.arg("-l").env("SSH_AUTH_SOCK", socket);
    query_tool(list, Deadline::after(AGENT), watchdog).is_ok_and(|answer| answer.exit.is_success())
}

impl SshAgent {
    /// Starts an agent that runs a command. Its command ends when this program closes the input,
    /// and the agent ends ten seconds later. Debian's `ssh-agent` changes its group, so that the
    /// parent-death signal does not reach it.
    fn start(socket: PathBuf) -> Option<Self> {
        let mut command = Command::new("ssh-agent");
        command.arg("-a").arg(&socket).args(["sh", "-c", "echo $SSH_AGENT_PID; exec cat"]);
        let pipe = local::spawn_leader(command).ok()?;
        pipe.stream().set_read_timeout(Some(AGENT)).ok()?;
        let mut line = String::new();
        BufReader::new(pipe.stream()).read_line(&mut line).ok()?;
        Some(Self { socket, number: Pid::from_raw(line.trim().parse().ok()?)?, pipe })
    }
}

impl Drop for SshAgent {
    fn drop(&mut self) {
        // The process number is valid, because the agent lives at least as long as its command.
        let _ = kill_process(self.number, Signal::TERM);
        self.pipe.kill();
        let _ = self.pipe.wait(Deadline::after(AGENT));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// True if a process runs. A zombie does not run.
    fn runs(number: Pid) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", number.as_raw_nonzero()));
        stat.is_ok_and(|stat| !stat.contains(") Z"))
    }

    #[test]
    fn an_agent_ends_with_its_owner() {
        let directory = tempfile::TempDir::new().unwrap();
        let watchdog = Watchdog::start().unwrap();
        let agent = SshAgent::start(directory.path().join("socket")).unwrap();
        assert!(!holds_keys(&agent.socket, &watchdog), "it has none");
        let number = agent.number;
        assert!(runs(number));
        drop(agent);
        let deadline = Deadline::after(AGENT);
        while runs(number) {
            assert!(!deadline.is_over(), "{number:?} runs still");
            std::thread::yield_now();
        }
    }
}
