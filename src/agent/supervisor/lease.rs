use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

use super::{SupervisorError, spawn};
use crate::agent::heard::Heard;
use crate::clock::Deadline;

/// How long the operator may be silent before the agent ends, while nothing is held.
const LOOKING: Duration = Duration::from_secs(60);

/// The same while queue pairs are held.
const PROBING: Duration = Duration::from_secs(3);

/// How long the last words may take.
const SAY: Duration = Duration::from_millis(100);

/// Ends the process when the operator has been silent too long, even if it hangs in a write.
pub(super) struct Lease {
    /// The operator, stamped by whoever reads from it.
    pub(super) operator: Heard,
    limit: Arc<Mutex<Duration>>,
}

impl Lease {
    pub(super) fn start() -> Result<Self, SupervisorError> {
        let lease = Self { operator: Heard::just_now(), limit: Arc::new(Mutex::new(LOOKING)) };
        // It ends with the session that holds the lease.
        let (operator, held) = (lease.operator.clone(), Arc::downgrade(&lease.limit));
        spawn("lease", move || {
            while let Some(limit) = held.upgrade() {
                let limit = get(&limit);
                if operator.silence() > limit {
                    say_why(limit);
                    // The main thread may be stuck; the worker dies with this process.
                    let _ = kill_process(getpid(), Signal::KILL);
                }
                thread::park_timeout(Duration::from_millis(500));
            }
        })?;
        Ok(lease)
    }

    /// The operator waits in silence for an answer that may take so many milliseconds; the same as
    /// a duration.
    pub(super) fn wait_for_ms(&self, answer_ms: u32) -> Duration {
        let answer = Duration::from_millis(answer_ms.into());
        self.set(LOOKING.saturating_add(answer));
        answer
    }

    /// Queue pairs are held from now on, and the operator says that it is there.
    pub(super) fn shorten(&self) {
        self.set(PROBING);
    }

    fn set(&self, limit: Duration) {
        *self.limit.lock().unwrap_or_else(PoisonError::into_inner) = limit;
    }
}

/// Tells an operator that only stood still why its agent is gone.
fn say_why(limit: Duration) {
    let text = format!("no message from the operator for {} s\n", limit.as_secs());
    let say = move || rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
    // In a thread, because stderr may take nothing any more, and this process must end.
    if let Ok(said) = thread::Builder::new().spawn(say) {
        let deadline = Deadline::after(SAY);
        while !said.is_finished() && !deadline.is_over() {
            thread::park_timeout(Duration::from_millis(5));
        }
    }
}

fn get(limit: &Mutex<Duration>) -> Duration {
    *limit.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_that_waits_longer_than_the_lease_is_not_taken_for_gone() {
        let lease = Lease::start().unwrap();
        lease.wait_for_ms(120_000);
        assert_eq!(get(&lease.limit), Duration::from_secs(180));
        lease.shorten();
        assert_eq!(get(&lease.limit), Duration::from_secs(3));
    }
}
