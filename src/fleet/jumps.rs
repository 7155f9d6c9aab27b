//! The jump hosts of a run: one connection to each, which carries those to all hosts behind it.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::ssh::{Limits, fault};
use super::ssh_program::{Master, Opening, Sockets, SshCall};
use super::watchdog::Watchdog;
use crate::clock::Deadline;
use crate::model::HostFailure;

/// How long a jump host that could not be reached is not tried again: the hosts behind it come one
/// after another, and each would wait as long as the first.
const FORGET: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Jumps {
    watchdog: Watchdog,
    limits: Limits,
    sockets: Arc<Sockets>,
    slots: Mutex<HashMap<SshCall, Arc<Slot>>>,
}

/// One jump host.
#[derive(Debug, Default)]
struct Slot {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Unknown,
    Opening,
    Open(Arc<Master>),
    Failed(HostFailure, Deadline),
}

impl Slot {
    fn set(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.changed.notify_all();
    }
}

impl Jumps {
    pub(super) fn new(watchdog: Watchdog, limits: Limits, sockets: Arc<Sockets>) -> Self {
        Self { watchdog, limits, sockets, slots: Mutex::default() }
    }

    /// The connection to a jump host, opened by the first who asks.
    ///
    /// It has no deadline of its own: many hosts, each with its own, use it.
    pub(super) fn open(
        &self,
        call: &SshCall,
        deadline: Deadline,
    ) -> Result<Arc<Master>, HostFailure> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry(call.clone()).or_default())
        };
        let mut state = slot.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*state {
                State::Open(master) if master.failure(Duration::ZERO).is_none() => {
                    return Ok(Arc::clone(master));
                }
                State::Failed(failure, until) if !until.is_over() => return Err(failure.clone()),
                State::Opening => {
                    let wait = deadline.remaining();
                    if wait.is_zero() {
                        return Err(fault::timeout("login at the jump host", &call.by_hand()));
                    }
                    let woken = slot.changed.wait_timeout(state, wait);
                    state = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
                _ => {
                    *state = State::Opening;
                    if let Err(failure) = self.start(call, &slot) {
                        *state = State::Unknown;
                        slot.changed.notify_all();
                        return Err(failure);
                    }
                }
            }
        }
    }

    fn start(&self, call: &SshCall, slot: &Arc<Slot>) -> Result<(), HostFailure> {
        let opening = Opening {
            call: call.clone(),
            watchdog: self.watchdog.clone(),
            sockets: Arc::clone(&self.sockets),
            connect: self.limits.connect,
            by: Deadline::after(self.limits.connect + self.limits.login),
            until: None,
        };
        let slot = Arc::clone(slot);
        opening.start(move |opened| {
            slot.set(match opened {
                Ok(master) => State::Open(Arc::new(master)),
                Err(failure) => State::Failed(failure, Deadline::after(FORGET)),
            });
        })
    }
}
