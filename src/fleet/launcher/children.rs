//! Local processes of a launcher, which end with their owner.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::clock::Deadline;
use crate::fleet::pipe::{Pipe, Shared};
use crate::fleet::{Guard, HostResult, Watchdog, fault};

/// Time that a command gets to end after its input has ended.
const LEAVE: Duration = Duration::from_millis(300);
/// Time that a command gets to end after a signal.
const END: Duration = Duration::from_millis(150);

/// Local processes that serve one host. Dropping this ends all of them.
pub(super) struct Children {
    watchdog: Watchdog,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    deadline: Option<Deadline>,
    cut: Vec<Guard>,
    processes: Vec<Arc<Shared>>,
}

impl Children {
    pub(super) fn new(watchdog: Watchdog) -> Self {
        Self { watchdog, state: Mutex::default() }
    }

    /// Adds a process, and cuts it off at the common deadline, or else at `deadline`.
    pub(super) fn adopt(&self, pipe: &Pipe, deadline: Deadline) -> HostResult<()> {
        self.watch(pipe, deadline)?;
        self.state.lock().processes.push(Arc::clone(&pipe.shared));
        Ok(())
    }

    /// Cuts off a pipe without a process of its own at the deadline.
    pub(super) fn watch(&self, pipe: &Pipe, deadline: Deadline) -> HostResult<()> {
        let mut state = self.state.lock();
        let at = state.deadline.unwrap_or(deadline);
        state.cut.push(self.watchdog.guard(pipe.stream(), at).map_err(fault::local)?);
        Ok(())
    }

    pub(super) fn set_deadline(&self, deadline: Option<Deadline>) {
        let mut state = self.state.lock();
        state.deadline = deadline;
        for guard in &state.cut {
            guard.set(deadline);
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.watchdog.is_cancelled()
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        let is_cancelled = self.is_cancelled();
        let processes = std::mem::take(&mut self.state.lock().processes);
        end(processes.iter().map(|shared| &**shared), is_cancelled);
    }
}

/// Ends commands whose pipes are dropped. A command that outlives its input gets a signal.
pub(super) fn end<'a>(commands: impl Iterator<Item = &'a Shared> + Clone, is_cancelled: bool) {
    if !is_cancelled {
        let leave = Deadline::after(LEAVE);
        for command in commands.clone() {
            let _ = command.wait(leave);
        }
    }
    for command in commands.clone() {
        command.request_kill();
    }
    let end = Deadline::after(END);
    for command in commands {
        let _ = command.wait(end);
    }
}
