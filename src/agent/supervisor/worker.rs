//! Worker process, as its supervisor handles it: start, messages, end.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::{Event, SupervisorError, spawn};
use crate::agent::last_message::LastMessage;
use crate::clock::Deadline;
use crate::ping::worker::START_TIMEOUT;
use crate::wire::{FrameReader, FrameWriter, Loss, ToWorker};

/// Time without a message after which a worker counts as hung.
const TIMEOUT: Duration = Duration::from_millis(1_500);

/// Time limit of a worker to destroy its RDMA objects.
const CLEAN_UP: Duration = Duration::from_secs(1);

/// Child process that two threads may kill. It is reaped only afterward, so that its id is valid.
#[derive(Clone)]
pub(super) struct SharedChild(Arc<Mutex<Child>>);

impl SharedChild {
    /// Kills the process, even if it is stopped. Only a process that hangs in the kernel stays.
    pub(super) fn kill(&self) {
        let _ = self.0.lock().kill();
    }
}

pub(super) struct Worker {
    pub(super) number: u32,
    pub(super) child: SharedChild,
    input: Sender<ToWorker>,
    last_message: LastMessage,
    has_started: Arc<AtomicBool>,
}

impl Worker {
    /// Starts the worker, which sends to `events` and dies with the thread that calls this.
    pub(super) fn start(number: u32, events: Sender<Event>) -> Result<Self, SupervisorError> {
        let mut child = Command::new("/proc/self/exe")
            .args(["agent", "worker"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| SupervisorError::System("start the worker", error))?;
        let (to_child, from_child) = (child.stdin.take(), child.stdout.take());
        let last_message = LastMessage::just_now();
        let (input, steps) = mpsc::channel::<ToWorker>();
        // A stopped worker reads nothing, and a write to it must not block the supervisor.
        spawn("worker input", move || {
            let Some(pipe) = to_child else { return };
            let mut writer = FrameWriter::new(pipe);
            // If the worker is gone, the end of its output reports it.
            while steps.recv().is_ok_and(|step| writer.write(&step).is_ok()) {}
        })?;
        let (stamp, speaks) = (last_message.clone(), Arc::new(AtomicBool::new(false)));
        let has_started = Arc::clone(&speaks);
        spawn("worker output", move || {
            let Some(pipe) = from_child else { return };
            let mut reader = FrameReader::new(pipe);
            while let Ok(Some(message)) = reader.read() {
                stamp.stamp();
                speaks.store(true, Ordering::Relaxed);
                if events.send(Event::Worker(number, Some(message))).is_err() {
                    return;
                }
            }
            // Sending fails only after the end of the session.
            let _ = events.send(Event::Worker(number, None));
        })?;
        let child = SharedChild(Arc::new(Mutex::new(child)));
        Ok(Self { number, child, input, last_message, has_started })
    }

    pub(super) fn is_unresponsive(&self) -> bool {
        self.last_message.idle_time() > timeout(self.has_started.load(Ordering::Relaxed))
    }

    pub(super) fn send(&self, step: ToWorker) {
        // Sending fails only if the worker is gone, and the end of its output reports that.
        let _ = self.input.send(step);
    }

    /// Returns how the worker ended. The caller has seen the end of its output.
    pub(super) fn ending(&self) -> Loss {
        // The kernel closes the output of a process before the process can be reaped.
        has_ended(&self.child, CLEAN_UP);
        let exit = self.child.0.lock().try_wait().ok().flatten();
        let (status, signal) =
            exit.map_or((None, None), |exit: ExitStatus| (exit.code(), exit.signal()));
        Loss::Ended { status, signal }
    }

    pub(super) fn kill(self) {
        self.child.kill();
        let _ = self.child.0.lock().try_wait();
    }

    /// Closes the worker's input, so that it destroys its RDMA objects and ends, or else kills it.
    pub(super) fn end(self) {
        let Self { child, input, .. } = self;
        drop(input);
        if !has_ended(&child, CLEAN_UP) {
            child.kill();
            // A process that hangs in the kernel may never end. The wait is limited.
            has_ended(&child, CLEAN_UP);
        }
    }
}

fn timeout(has_started: bool) -> Duration {
    if has_started { TIMEOUT } else { START_TIMEOUT }
}

fn has_ended(child: &SharedChild, wait: Duration) -> bool {
    let deadline = Deadline::after(wait);
    while matches!(child.0.lock().try_wait(), Ok(None)) {
        if deadline.is_over() {
            return false;
        }
        thread::park_timeout(Duration::from_millis(5));
    }
    true
}

#[test]
fn a_worker_has_more_time_to_begin_than_to_go_on() {
    assert_eq!(timeout(false), Duration::from_secs(5));
    assert_eq!(timeout(true), Duration::from_millis(1_500));
}
