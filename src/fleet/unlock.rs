//! Encrypted keys: asked for once a run, by `ssh-add`, and kept by an `ssh-agent` of this run alone.
//!
//! This program never sees a passphrase or an opened key. Both programs come with `ssh`.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::Pipe;
use super::local::{self, look_up};
use super::ssh::identity;
use super::ssh_program::Sockets;
use super::target::{Route, Target, Transport};
use super::watchdog::Watchdog;
use crate::clock::{self, Deadline};

/// How long an agent may take to start, or to say what it holds.
const AGENT: Duration = Duration::from_secs(5);
/// How often an open question is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The keys that were asked for.
#[derive(Debug)]
pub(super) struct Unlock {
    sockets: Arc<Sockets>,
    watchdog: Watchdog,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    agent: Option<OwnAgent>,
    /// Whether the passphrase of a file was given: nobody is asked twice.
    asked: HashMap<PathBuf, bool>,
    /// What was found for an agent and files: hosts of a run mostly have the same.
    decided: HashMap<(Option<PathBuf>, Vec<PathBuf>), Option<PathBuf>>,
}

/// An agent that ends with this.
#[derive(Debug)]
struct OwnAgent {
    socket: PathBuf,
    /// To the command that it runs.
    pipe: Pipe,
    number: Pid,
}

impl Unlock {
    pub(super) fn new(sockets: Arc<Sockets>, watchdog: Watchdog) -> Self {
        Self { sockets, watchdog, state: Mutex::default() }
    }

    /// Forgets all keys.
    pub(super) fn end(&self) {
        drop(self.state.lock().unwrap_or_else(PoisonError::into_inner).agent.take());
    }

    /// Where only encrypted keys are there for a host, asks for their passphrase on the terminal, and
    /// has the host use what came of it; how long that took.
    pub(super) fn prepare(&self, target: &mut Target) -> Duration {
        let began = clock::now();
        if matches!(target.transport, Transport::Borrowed(_)) || !target.other_logins.is_empty() {
            return Duration::ZERO;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
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
            // The way there is most likely opened by the same key.
            if let Route::Jump(jump) = &mut target.route {
                jump.agent = Some(socket.clone());
            }
            target.agent = Some(socket);
        }
        began.elapsed()
    }

    /// The socket of the agent with the first key that could be opened.
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
        // Without a terminal there is nobody to ask.
        OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        if state.agent.is_none() {
            state.agent = Some(OwnAgent::start(self.sockets.fresh().ok()?)?);
        }
        let socket = &state.agent.as_ref()?.socket;
        // It asks on the terminal itself, shows nothing of the answer, and asks again when it is wrong.
        let mut asking = Command::new("ssh-add")
            .arg("-q")
            .arg("--")
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
            if self.watchdog.wait_cancelled(LOOK_AGAIN) {
                // It leaves the terminal as it was.
                let _ = kill_process(Pid::from_child(&asking), Signal::TERM);
                let _ = asking.wait();
                return None;
            }
        }
    }

    /// The encrypted keys of a target that has nothing else to offer.
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
    look_up(list, Deadline::after(AGENT), watchdog).is_ok_and(|answer| answer.exit.is_success())
}

impl OwnAgent {
    /// Debian's `ssh-agent` changes its group, so that no signal follows the end of this program. It ends
    /// ten seconds after the command that it runs, and that ends with our end of its input.
    fn start(socket: PathBuf) -> Option<Self> {
        let mut command = Command::new("ssh-agent");
        command.arg("-a").arg(&socket).args(["sh", "-c", "echo $SSH_AGENT_PID; exec cat"]);
        let pipe = local::spawn_leader(command).ok()?;
        pipe.stream().set_read_timeout(Some(AGENT)).ok()?;
        let mut line = String::new();
        BufReader::new(pipe.stream()).read_line(&mut line).ok()?;
        let number = Pid::from_raw(line.trim().parse().ok()?)?;
        Some(Self { socket, pipe, number })
    }
}

impl Drop for OwnAgent {
    fn drop(&mut self) {
        // It still has its number: it lives as long as its command does.
        let _ = kill_process(self.number, Signal::TERM);
        self.pipe.kill();
        let _ = self.pipe.wait(Deadline::after(AGENT));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Whether a process runs: one that nobody has waited for yet does not.
    fn runs(number: Pid) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", number.as_raw_nonzero()));
        stat.is_ok_and(|stat| !stat.contains(") Z"))
    }

    #[test]
    fn an_agent_ends_with_its_owner() {
        let directory = tempfile::TempDir::new().unwrap();
        let watchdog = Watchdog::start().unwrap();
        let agent = OwnAgent::start(directory.path().join("socket")).unwrap();
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
