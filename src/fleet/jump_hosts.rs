//! Connections to the jump hosts of a run, one for all hosts behind a jump host.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::ssh_program::{Master, NewMaster, SocketDirectory, SshCall};
use super::{HostResult, SshTimeouts, Watchdog, fault};
use crate::clock::Deadline;
use crate::model::HostFailure;

/// Time during which a failed jump host is not tried again, so that the hosts behind do not wait.
const RETRY_AFTER: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct JumpHosts {
    watchdog: Watchdog,
    limits: SshTimeouts,
    sockets: Arc<SocketDirectory>,
    hosts: Mutex<HashMap<SshCall, Arc<JumpHost>>>,
}

#[derive(Debug, Default)]
struct JumpHost {
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

impl JumpHost {
    fn set(&self, state: State) {
        *self.state.lock() = state;
        self.changed.notify_all();
    }
}

impl JumpHosts {
    pub(super) fn new(
        watchdog: Watchdog,
        limits: SshTimeouts,
        sockets: Arc<SocketDirectory>,
    ) -> Self {
        Self { watchdog, limits, sockets, hosts: Mutex::default() }
    }

    /// Returns the connection to a jump host. The first caller opens it. The connection has no
    /// deadline, because many hosts with different deadlines share it.
    pub(super) fn open(&self, call: &SshCall, deadline: Deadline) -> HostResult<Arc<Master>> {
        let host = Arc::clone(self.hosts.lock().entry(call.clone()).or_default());
        let mut state = host.state.lock();
        loop {
            match &*state {
                State::Open(master) if master.failure(Duration::ZERO).is_none() => {
                    return Ok(Arc::clone(master));
                }
                State::Failed(failure, until) if !until.is_over() => return Err(failure.clone()),
                State::Opening => {
                    let wait = deadline.remaining();
                    if wait.is_zero() {
                        let step = "login at the jump host";
                        return Err(fault::timeout(step, &call.manual_command()));
                    }
                    host.changed.wait_for(&mut state, wait);
                }
                _ => {
                    *state = State::Opening;
                    if let Err(failure) = self.start(call, &host) {
                        *state = State::Unknown;
                        host.changed.notify_all();
                        return Err(failure);
                    }
                }
            }
        }
    }

    fn start(&self, call: &SshCall, host: &Arc<JumpHost>) -> HostResult<()> {
        let opening = NewMaster {
            call: call.clone(),
            watchdog: self.watchdog.clone(),
            sockets: Arc::clone(&self.sockets),
            connect_timeout: self.limits.connect,
            login_deadline: Deadline::after(self.limits.connect + self.limits.login),
            until: None,
        };
        let host = Arc::clone(host);
        opening.start(move |opened| {
            host.set(match opened {
                Ok(master) => State::Open(Arc::new(master)),
                Err(failure) => State::Failed(failure, Deadline::after(RETRY_AFTER)),
            });
        })
    }
}
