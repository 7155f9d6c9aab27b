//! Connects to hosts in background threads, so that samples of connected hosts are not delayed.
//!
//! `live_agents` adds hosts to the queue and receives the first reports.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::{io, thread};

use parking_lot::{Condvar, Mutex};

use super::{AgentState, LiveAgent, SharedHosts};
use crate::clock::Deadline;
use crate::model::HostReport;

pub(super) struct FirstReport {
    pub(super) index: usize,
    pub(super) report: HostReport,
}

/// Threads that request first reports: at most `--fanout`, and none while the queue is empty.
pub(super) struct ConnectThreads {
    all: Arc<SharedHosts>,
    arrivals: Sender<FirstReport>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<usize>,
    threads: usize,
}

impl ConnectThreads {
    pub(super) fn new(all: Arc<SharedHosts>, arrivals: Sender<FirstReport>) -> Self {
        Self { all, arrivals, queue: Mutex::default(), changed: Condvar::new() }
    }

    /// Adds a host to the queue. Fails if the system creates no thread, and none is running.
    pub(super) fn add(self: &Arc<Self>, index: usize) -> io::Result<()> {
        let mut queue = self.queue.lock();
        queue.waiting.push_back(index);
        if queue.threads >= self.all.fanout {
            return Ok(());
        }
        let this = Arc::clone(self);
        let thread = thread::Builder::new().name("connect".into()).stack_size(1024 * 1024);
        match thread.spawn(move || this.serve()) {
            Ok(_) => queue.threads += 1,
            // The running threads take the host later.
            Err(_) if queue.threads > 0 => {}
            Err(error) => {
                queue.waiting.pop_back();
                return Err(error);
            }
        }
        Ok(())
    }

    pub(super) fn stop(&self) {
        self.queue.lock().waiting.clear();
    }

    pub(super) fn wait(&self, deadline: Deadline) {
        let is_busy = |queue: &mut Queue| queue.threads > 0;
        // After the deadline, the end of this process closes the connections of the agents.
        self.changed.wait_while_for(&mut self.queue.lock(), is_busy, deadline.remaining());
    }

    fn serve(&self) {
        while let Some(index) = self.next() {
            let report = self.connect(index);
            // At the end of a run, the receiver is gone.
            let _ = self.arrivals.send(FirstReport { index, report });
        }
    }

    fn next(&self) -> Option<usize> {
        let mut queue = self.queue.lock();
        let next = queue.waiting.pop_front();
        if next.is_none() {
            queue.threads -= 1;
            self.changed.notify_all();
        }
        next
    }

    fn connect(&self, index: usize) -> HostReport {
        let LiveAgent { host, state, .. } = &self.all.hosts[index];
        let pause = match &*state.lock() {
            AgentState::Connecting(_, pause) => *pause,
            _ => super::PAUSES[0],
        };
        let name = host.to_string();
        let (next, report) = match self.all.starter.host_reader(host) {
            Ok(found) => self.all.first(name, found.what, found.via, found.deadline, pause),
            Err(failure) => self.all.gone(name, failure, pause),
        };
        *state.lock() = next;
        report
    }
}
