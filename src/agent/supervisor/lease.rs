//! Lease of the operator: limits how long worker and agent live without a message of the
//! operator.

use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::worker::SharedChild;
use super::{SupervisorError, spawn};
use crate::agent::last_message::LastMessage;
use crate::clock::Deadline;
use crate::wire::{AGENT_LEASE, EXPIRED_STATUS, WORKER_LEASE};

const STDERR_TIMEOUT: Duration = Duration::from_millis(100);

/// Ends the worker, and later the agent, if the operator sends no message, even if the main
/// thread hangs.
pub(super) struct Lease {
    pub(super) operator: LastMessage,
    state: Arc<Mutex<LeaseState>>,
}

struct LeaseState {
    agent_timeout: Duration,
    worker: Option<SharedChild>,
    has_expired: bool,
}

impl Lease {
    pub(super) fn start() -> Result<Self, SupervisorError> {
        let state = LeaseState { agent_timeout: AGENT_LEASE, worker: None, has_expired: false };
        let lease = Self { operator: LastMessage::just_now(), state: Arc::new(Mutex::new(state)) };
        // The thread ends with the session that holds the lease.
        let (operator, held) = (lease.operator.clone(), Arc::downgrade(&lease.state));
        spawn("lease", move || {
            while let Some(state) = held.upgrade() {
                let limit = state.lock().enforce(operator.idle_time());
                drop(state);
                if let Some(limit) = limit {
                    report_expiry(limit);
                    // The main thread may hang. The worker dies with this process. SIGKILL
                    // would look like an end by the OOM killer.
                    process::exit(EXPIRED_STATUS);
                }
                thread::park_timeout(Duration::from_millis(500));
            }
        })?;
        Ok(lease)
    }

    /// Extends the lease of the agent by `answer_ms`, because the operator sends nothing while it
    /// waits for the reply. Returns `answer_ms` as a duration.
    pub(super) fn wait_for_ms(&self, answer_ms: u32) -> Duration {
        let answer = Duration::from_millis(answer_ms.into());
        self.state.lock().agent_timeout = AGENT_LEASE.saturating_add(answer);
        answer
    }

    /// Sets the worker to kill. With a worker, the operator sends heartbeats.
    pub(super) fn hold(&self, worker: SharedChild) {
        let (agent_timeout, worker) = (AGENT_LEASE, Some(worker));
        *self.state.lock() = LeaseState { agent_timeout, worker, has_expired: false };
    }

    pub(super) fn has_expired(&self) -> bool {
        self.state.lock().has_expired
    }
}

impl LeaseState {
    /// Kills the worker after [`WORKER_LEASE`]. Returns the agent's limit if it has passed too.
    fn enforce(&mut self, idle_time: Duration) -> Option<Duration> {
        if idle_time > WORKER_LEASE
            && let Some(worker) = self.worker.take()
        {
            self.has_expired = true;
            worker.kill();
        }
        (idle_time > self.agent_timeout).then_some(self.agent_timeout)
    }
}

/// Reports on stderr why the agent ends, for an operator that was only suspended.
fn report_expiry(limit: Duration) {
    let text = format!("no message from the operator for {} s\n", limit.as_secs());
    let say = move || rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
    // A full stderr would block the write, and this process must end.
    if let Ok(said) = thread::Builder::new().spawn(say) {
        let deadline = Deadline::after(STDERR_TIMEOUT);
        while !said.is_finished() && !deadline.is_over() {
            thread::park_timeout(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Set for the agent that ends in [`expired_agent_has_its_own_exit_status`].
    const EXPIRES: &str = "RDMACTL_TEST_EXPIRES";

    #[test]
    fn expired_agent_has_its_own_exit_status() {
        if std::env::var_os(EXPIRES).is_some() {
            let lease = Lease::start().unwrap();
            lease.state.lock().agent_timeout = Duration::ZERO;
            loop {
                thread::park();
            }
        }
        let name = "agent::supervisor::lease::tests::expired_agent_has_its_own_exit_status";
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(EXPIRES, "1")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        // The message on stderr may be missing: the agent waits for the write only for a short time.
        assert_eq!(output.status.code(), Some(EXPIRED_STATUS), "{stderr}");
    }

    #[test]
    fn an_operator_that_waits_longer_than_the_lease_is_not_gone() {
        let lease = Lease::start().unwrap();
        lease.wait_for_ms(120_000);
        let mut state = lease.state.lock();
        assert_eq!(state.enforce(Duration::from_secs(179)), None);
        assert_eq!(state.enforce(Duration::from_secs(181)), Some(Duration::from_secs(180)));
        assert!(!state.has_expired, "there was no worker");
    }
}
