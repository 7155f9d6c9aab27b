//! SSH connections by the built-in library, each served by a thread of its own.
//!
//! The thread that opens a connection keeps it: the library's session never changes hands. Others
//! hold a [`BuiltIn`], ask it for [`Pipe`]s, and may drop either at any time.

mod auth;
mod buffer;
mod connect;
pub(super) mod fault;
mod greeting;
pub(super) mod identity;
mod line;
mod login;
mod mailbox;
mod pump;
mod road;
mod verify;
mod wire;

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use super::choice::Refusal;
use super::pipe::{Pipe, Waker};
use super::watchdog::Guard;
use crate::clock::Deadline;
use crate::model::{HostFailure, Reason};
pub use fault::cancelled;
pub(super) use login::{Login, RETRIES, Stage, jitter};
use pump::{Pump, Request};

/// What libssh2 and a resolver with its modules need at most; only touched pages count.
const STACK: usize = 512 * 1024;
/// How much later than its deadline a step may end that no shut socket can end: a look-up of a
/// name, or an agent that does not answer.
const GRACE: Duration = Duration::from_millis(300);

/// How long the steps of opening a connection may take, each cut by the host's own deadline.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// One TCP connection, unless the configuration says `ConnectTimeout`.
    pub connect: Duration,
    /// From the TCP connection to the end of authentication.
    pub login: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), login: Duration::from_secs(10) }
    }
}

/// One authenticated connection to a host.
///
/// It stays open while it or a pipe of it lives.
#[derive(Debug, Clone)]
pub(super) struct BuiltIn {
    handle: Arc<Handle>,
}

#[derive(Debug)]
struct Handle {
    requests: Option<Sender<Request>>,
    waker: Arc<Waker>,
    guard: Arc<Guard>,
    /// The `ssh` call for the host, for messages.
    call: String,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // First no sender, then the wake: the thread must find the session given up.
        self.requests = None;
        self.waker.wake();
    }
}

/// Opens a connection, proves the host's key, and authenticates, on a thread of its own.
///
/// The deadline is the host's own: the connection is shut down at it, unless
/// [`BuiltIn::set_deadline`] moves it.
pub(super) fn open(login: Login) -> Result<BuiltIn, Refusal> {
    let waker = Arc::new(Waker::new().map_err(|error| fault::local(&error))?);
    let (watchdog, deadline) = (login.watchdog.clone(), login.deadline);
    let (stage, name) = (login.stage.clone(), login.target.host.name.clone());
    let call = login.target.by_hand();
    let (requests, inbox) = mpsc::channel();
    let (ready, answer) = mpsc::sync_channel(1);
    let ready = Arc::new(ready);
    // Only the thread keeps it, so that its end is known at once.
    let to_cancel = Arc::downgrade(&ready);
    let _alarm = watchdog.when_cancelled(move || {
        if let Some(ready) = to_cancel.upgrade() {
            // It fails where the answer is there already.
            let _ = ready.try_send(Err(fault::cancelled().into()));
        }
    });
    let (for_pump, for_pump_call) = (Arc::clone(&waker), call.clone());
    let serve = move || match login.run() {
        Ok(wire) => {
            let guard = wire.guard();
            // Nobody waits any more when the host took too long.
            if ready.send(Ok(guard)).is_ok() {
                Pump::new(wire, inbox, for_pump, for_pump_call).run();
            }
        }
        Err(refusal) => {
            let _ = ready.send(Err(refusal));
        }
    };
    thread::Builder::new()
        .name(format!("ssh {name}"))
        .stack_size(STACK)
        .spawn(serve)
        .map_err(|error| fault::local(&error))?;
    // A look-up and an agent may hang where no shut socket ends them.
    let guard = match answer.recv_timeout(deadline.remaining() + GRACE) {
        Ok(answer) => answer?,
        Err(RecvTimeoutError::Timeout) => return Err(fault::timeout(stage.name(), &call).into()),
        Err(RecvTimeoutError::Disconnected) => {
            let detail = format!("the SSH library failed during the {}", stage.name());
            return Err(HostFailure::new(Reason::Garbage, detail).into());
        }
    };
    let handle = Handle { requests: Some(requests), waker, guard, call };
    Ok(BuiltIn { handle: Arc::new(handle) })
}

impl BuiltIn {
    /// Starts a command; several may run at once on one session.
    ///
    /// # Errors
    /// The host opens no further channel, or the connection broke.
    pub(super) fn exec(&self, command: &str, deadline: Deadline) -> Result<Pipe, HostFailure> {
        let lost = || HostFailure::new(Reason::Lost, "the SSH connection is closed");
        let pair = Pipe::pair(Arc::clone(&self.handle.waker));
        let (pipe, local, shared) = pair.map_err(|error| fault::local(&error))?;
        let (started, answer) = mpsc::sync_channel(1);
        let request = Request { command: command.to_owned(), local, shared, started };
        let sender = self.handle.requests.as_ref().ok_or_else(lost)?;
        sender.send(request).map_err(|_gone| lost())?;
        self.handle.waker.wake();
        match answer.recv_timeout(deadline.remaining()) {
            Ok(Ok(())) => Ok(pipe.keep(Arc::clone(&self.handle) as _)),
            Ok(Err(failure)) => Err(failure),
            Err(RecvTimeoutError::Timeout) => {
                Err(fault::timeout("start of a remote command", &self.handle.call))
            }
            Err(RecvTimeoutError::Disconnected) => Err(lost()),
        }
    }

    /// Moves the deadline at which the whole connection is shut down; `None` leaves only a
    /// cancelled run to do so.
    pub(super) fn set_deadline(&self, deadline: Option<Deadline>) {
        self.handle.guard.set(deadline);
    }

    /// Whether the run was cancelled, which shuts the connection down.
    pub(super) fn is_cancelled(&self) -> bool {
        self.handle.guard.is_cancelled()
    }
}
