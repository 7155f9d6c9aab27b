//! Encrypted keys: asked for once a run, by `ssh-add`, and kept by an `ssh-agent` of this run alone.
//!
//! This program never sees a passphrase or an opened key. Both programs come with `ssh`.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::local;
use super::ssh::identity;
use super::ssh_program::Sockets;
use super::target::{Route, Target, Transport};
use super::watchdog::Watchdog;
use crate::clock::{self, Deadline};

/// How long an agent may take to start, or to say what it holds.
const AGENT: Duration = Duration::from_secs(5);
const ANSWER_LIMIT: usize = 256 * 1024;
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
    _leash: Sender<()>,
}

impl Unlock {
    pub(super) fn new(sockets: Arc<Sockets>, watchdog: Watchdog) -> Self {
        Self { sockets, watchdog, state: Mutex::default() }
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
            let socket = self.unlock(&mut state, &locked_only(target));
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
}

/// The encrypted keys of a target that has nothing else to offer.
fn locked_only(target: &Target) -> Vec<PathBuf> {
    let identities = identity::read_all(target);
    let encrypted: Vec<PathBuf> =
        identities.iter().filter(|one| one.is_encrypted).map(|one| one.file.clone()).collect();
    let has_other = identities.iter().any(identity::Identity::is_usable);
    if encrypted.is_empty() || has_other || target.agent.as_deref().is_some_and(holds_keys) {
        return Vec::new();
    }
    encrypted
}

fn holds_keys(socket: &Path) -> bool {
    let mut list = Command::new("ssh-add");
    list.arg("-l").env("SSH_AUTH_SOCK", socket);
    local::spawn(list)
        .and_then(|pipe| pipe.exchange(b"", ANSWER_LIMIT, Deadline::after(AGENT)))
        .is_ok_and(|answer| answer.exit.is_success())
}

impl OwnAgent {
    fn start(socket: PathBuf) -> Option<Self> {
        let mut command = Command::new("ssh-agent");
        command.args(["-D", "-a"]).arg(&socket);
        let (leash, held) = mpsc::channel::<()>();
        let (ready, is_ready) = mpsc::sync_channel(1);
        // The agent dies with this thread, and so with this program.
        let serve = move || {
            crate::sys::child::die_with_thread(&mut command);
            let Ok(pipe) = local::spawn_leader(command, Box::new(|exit, _| Ok(exit))) else {
                return;
            };
            let _ = pipe.stream().set_read_timeout(Some(AGENT));
            // It names its socket when that is there.
            let mut line = String::new();
            if BufReader::new(pipe.stream()).read_line(&mut line).is_ok_and(|count| count > 0) {
                let _ = ready.send(());
                let _ = held.recv();
            }
            pipe.kill();
            let _ = pipe.wait(Deadline::after(AGENT));
        };
        thread::Builder::new().name("ssh-agent".into()).stack_size(128 * 1024).spawn(serve).ok()?;
        is_ready.recv().ok()?;
        Some(Self { socket, _leash: leash })
    }
}
