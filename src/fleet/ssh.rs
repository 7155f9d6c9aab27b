//! SSH connections through libssh2. Each connection has a thread.
//!
//! The thread that opens a connection also serves it, so that the libssh2 session stays in one
//! thread. Other threads have a [`BuiltInSession`], open [`Pipe`]s through it, and may drop both
//! at any time. The connector uses this module.

mod attempt;
mod auth;
mod buffer;
mod channel_pump;
mod connection;
pub(super) mod identity;
mod libssh2_error;
mod login;
mod pre_banner;
mod session_buffers;
mod session_io;
mod session_pump;
mod tcp;
mod verify;

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use super::client_choice::LoginFailure;
use super::pipe::{Pipe, Waker};
use super::{Guard, HostResult, fault};
use crate::clock::Deadline;
use crate::model::{HostFailure, Reason};
pub(super) use attempt::LoginStage;
use channel_pump::Request;
pub(super) use login::Login;
use session_pump::SessionPump;

/// Stack of a thread, in bytes: enough for libssh2 and a name resolver with its modules.
const STACK: usize = 512 * 1024;
/// Time after its deadline for a name lookup or an `ssh-agent`, which no socket shutdown ends.
const GRACE: Duration = Duration::from_millis(300);

/// Authenticated connection to a host, which stays open while this or one of its pipes exists.
#[derive(Debug, Clone)]
pub(super) struct BuiltInSession {
    handle: Arc<Handle>,
}

#[derive(Debug)]
struct Handle {
    requests: Option<Sender<Request>>,
    waker: Arc<Waker>,
    guard: Arc<Guard>,
    call: String,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // The sender goes before the wakeup, so that the thread finds the session dropped.
        self.requests = None;
        self.waker.wake();
    }
}

/// Opens a connection, verifies the host key, and authenticates, on a new thread. The connection
/// is shut down at the deadline of the host, unless [`BuiltInSession::set_deadline`] moves the
/// deadline.
pub(super) fn open(login: Login) -> Result<BuiltInSession, LoginFailure> {
    let waker = Arc::new(Waker::new().map_err(fault::local)?);
    let (watchdog, deadline) = (login.watchdog.clone(), login.deadline);
    let (stage, name) = (login.stage.clone(), login.target.host.name.clone());
    let call = login.target.manual_command();
    let (requests, inbox) = mpsc::channel();
    let (ready, answer) = mpsc::sync_channel(1);
    let ready = Arc::new(ready);
    // Only the thread has a strong reference, so that its end disconnects the channel at once.
    let to_cancel = Arc::downgrade(&ready);
    let _callback = watchdog.when_cancelled(move || {
        if let Some(ready) = to_cancel.upgrade() {
            // Fails if the channel already has a reply.
            let _ = ready.try_send(Err(fault::cancelled().into()));
        }
    });
    let (for_pump, for_pump_call) = (Arc::clone(&waker), call.clone());
    let serve = move || match login.run() {
        Ok(io) => {
            // After a timeout, the receiver no longer exists.
            if ready.send(Ok(Arc::clone(&io.guard))).is_ok() {
                SessionPump::new(io, inbox, for_pump, for_pump_call).run();
            }
        }
        Err(refusal) => drop(ready.send(Err(refusal))),
    };
    let thread = thread::Builder::new().name(format!("ssh {name}")).stack_size(STACK);
    thread.spawn(serve).map_err(fault::local)?;
    let guard = match answer.recv_timeout(deadline.remaining() + GRACE) {
        Ok(answer) => answer?,
        Err(RecvTimeoutError::Timeout) => return Err(fault::timeout(stage.name(), &call).into()),
        Err(RecvTimeoutError::Disconnected) => {
            return Err(libssh2_error::thread_ended(stage.name(), &call).into());
        }
    };
    let handle = Handle { requests: Some(requests), waker, guard, call };
    Ok(BuiltInSession { handle: Arc::new(handle) })
}

impl BuiltInSession {
    /// Starts a command. Several commands may run at the same time on one session.
    pub(super) fn exec(&self, command: &str, deadline: Deadline) -> HostResult<Pipe> {
        let lost = || HostFailure::new(Reason::Lost, "the SSH connection is closed");
        let pair = Pipe::pair(Arc::clone(&self.handle.waker));
        let (pipe, local, shared) = pair.map_err(fault::local)?;
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

    pub(super) fn set_deadline(&self, deadline: Option<Deadline>) {
        self.handle.guard.set(deadline);
    }
}
