use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

use super::{SupervisorError, spawn};
use crate::agent::heard::Heard;

/// How long the operator may be silent before the agent ends, while looking.
const LOOKING: Duration = Duration::from_secs(60);

/// The same while queue pairs are held.
const PROBING: Duration = Duration::from_secs(3);

/// Ends the process when the operator has been silent too long, even if it hangs in a write.
pub(super) struct Lease {
    /// The operator, stamped by whoever reads from it.
    pub(super) operator: Heard,
    is_probing: Arc<AtomicBool>,
}

impl Lease {
    pub(super) fn start() -> Result<Self, SupervisorError> {
        let lease = Self { operator: Heard::just_now(), is_probing: Arc::default() };
        // It ends with the session that holds the lease.
        let (operator, held) = (lease.operator.clone(), Arc::downgrade(&lease.is_probing));
        spawn("lease", move || {
            while let Some(is_probing) = held.upgrade() {
                let limit = if is_probing.load(Ordering::Relaxed) { PROBING } else { LOOKING };
                drop(is_probing);
                if operator.silence() > limit {
                    // The main thread may be stuck; the worker dies with this process.
                    let _ = kill_process(getpid(), Signal::KILL);
                }
                thread::park_timeout(Duration::from_millis(500));
            }
        })?;
        Ok(lease)
    }

    pub(super) fn shorten(&self) {
        self.is_probing.store(true, Ordering::Relaxed);
    }
}
