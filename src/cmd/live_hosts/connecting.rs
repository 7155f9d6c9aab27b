//! The way to hosts, beside the readings of those that are there.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::{io, thread};

use super::{All, LiveHost, Slot, lock};
use crate::clock::Deadline;
use crate::model::HostReport;

/// What a host that was connected to gave first, or why it gave nothing.
pub(super) struct Arrival {
    pub(super) index: usize,
    pub(super) report: HostReport,
}

/// Threads that connect to hosts and have each agent report once: no more than `--fanout` at a time,
/// and none while there is nothing to do.
pub(super) struct Connecting {
    all: Arc<All>,
    arrivals: Sender<Arrival>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<usize>,
    threads: usize,
}

impl Connecting {
    pub(super) fn new(all: Arc<All>, arrivals: Sender<Arrival>) -> Self {
        Self { all, arrivals, queue: Mutex::default(), changed: Condvar::new() }
    }

    /// Has a host connected to, as soon as it is its turn.
    ///
    /// # Errors
    /// The system gives not even one thread.
    pub(super) fn add(self: &Arc<Self>, index: usize) -> io::Result<()> {
        let mut queue = lock(&self.queue);
        queue.waiting.push_back(index);
        if queue.threads >= self.all.fanout {
            return Ok(());
        }
        let this = Arc::clone(self);
        let thread = thread::Builder::new().name("connect".into()).stack_size(1024 * 1024);
        match thread.spawn(move || this.serve()) {
            Ok(_) => queue.threads += 1,
            // Fewer threads do the same work later.
            Err(_) if queue.threads > 0 => {}
            Err(error) => {
                queue.waiting.pop_back();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Begins with no further host.
    pub(super) fn stop(&self) {
        lock(&self.queue).waiting.clear();
    }

    /// Waits until no host is on its way any more.
    pub(super) fn wait(&self, deadline: Deadline) {
        let queue = lock(&self.queue);
        let is_busy = |queue: &mut Queue| queue.threads > 0;
        // Whoever is late is cut off, and its agent with it, when this process ends.
        let _ = self
            .changed
            .wait_timeout_while(queue, deadline.remaining(), is_busy)
            .unwrap_or_else(PoisonError::into_inner);
    }

    fn serve(&self) {
        while let Some(index) = self.next() {
            let report = self.connect(index);
            // Nobody listens any more at the end of a run.
            let _ = self.arrivals.send(Arrival { index, report });
        }
    }

    fn next(&self) -> Option<usize> {
        let mut queue = lock(&self.queue);
        let next = queue.waiting.pop_front();
        if next.is_none() {
            queue.threads -= 1;
            self.changed.notify_all();
        }
        next
    }

    fn connect(&self, index: usize) -> HostReport {
        let LiveHost { host, slot, .. } = &self.all.hosts[index];
        let pause = match &*lock(slot) {
            Slot::Coming(_, pause) => *pause,
            _ => super::PAUSES[0],
        };
        let name = host.to_string();
        let (next, report) = match self.all.reach.observer(host) {
            Ok(found) => self.all.first(name, found.what, found.via, found.deadline, pause),
            Err(failure) => self.all.gone(name, failure, pause),
        };
        *lock(slot) = next;
        report
    }
}
