//! State that the holder of a pipe shares with the thread that serves the pipe.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::{Exit, Waker};
use crate::clock::Deadline;
use crate::fleet::HostResult;
use crate::input::Tail;
use crate::model::{HostFailure, Reason};

#[derive(Debug)]
pub(in crate::fleet) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    waker: Arc<Waker>,
}

#[derive(Debug, Default)]
struct State {
    stderr: Tail,
    outcome: Option<HostResult<Exit>>,
    abandoned: bool,
    kill_requested: bool,
}

impl Shared {
    pub(super) fn new(waker: Arc<Waker>) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), waker }
    }

    pub(in crate::fleet) fn stderr(&self) -> Vec<u8> {
        self.state.lock().stderr.bytes()
    }

    pub(in crate::fleet) fn push_stderr(&self, bytes: &[u8]) {
        self.state.lock().stderr.push(bytes);
        self.changed.notify_all();
    }

    /// Stores the result of the command. Only the first call has an effect.
    pub(in crate::fleet) fn end(&self, outcome: HostResult<Exit>) {
        self.state.lock().outcome.get_or_insert(outcome);
        self.changed.notify_all();
    }

    pub(in crate::fleet) fn wait(&self, deadline: Deadline) -> HostResult<Exit> {
        let mut state = self.state.lock();
        loop {
            if let Some(outcome) = &state.outcome {
                return outcome.clone();
            }
            let wait = deadline.remaining();
            if wait.is_zero() {
                return Err(HostFailure::new(Reason::Timeout, "the command did not end in time"));
            }
            self.changed.wait_for(&mut state, wait);
        }
    }

    pub(super) fn failure(&self) -> Option<HostFailure> {
        self.state.lock().outcome.as_ref()?.as_ref().err().cloned()
    }

    pub(super) fn abandon(&self) {
        self.state.lock().abandoned = true;
        self.waker.wake();
    }

    pub(in crate::fleet) fn request_kill(&self) {
        self.state.lock().kill_requested = true;
        self.waker.wake();
    }

    pub(in crate::fleet) fn is_kill_requested(&self) -> bool {
        self.state.lock().kill_requested
    }

    pub(in crate::fleet) fn is_abandoned(&self) -> bool {
        self.state.lock().abandoned
    }
}
