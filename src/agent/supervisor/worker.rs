use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::{Event, SupervisorError, spawn};
use crate::agent::heard::Heard;
use crate::clock::Deadline;
use crate::ping::worker::BEGINNING;
use crate::wire::{FrameReader, FrameWriter, Loss, ToWorker};

/// How long a worker may be silent before it counts as hung.
const SILENCE: Duration = Duration::from_millis(1_500);

/// How long a worker may take to destroy what it holds.
const CLEAN_UP: Duration = Duration::from_secs(1);

/// A child process that two threads may kill. It is not reaped before it is killed, so that its
/// process id belongs to no other process.
#[derive(Clone)]
pub(super) struct SharedChild(Arc<Mutex<Child>>);

impl SharedChild {
    /// Kills the process. SIGKILL ends a stopped process too; only one that hangs in the kernel
    /// stays.
    pub(super) fn kill(&self) {
        let _ = self.lock().kill();
    }

    fn lock(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The child process that owns the queue pairs.
pub(super) struct Worker {
    /// Distinguishes the workers of a supervisor.
    pub(super) number: u32,
    child: SharedChild,
    input: Sender<ToWorker>,
    heard: Heard,
    has_spoken: Arc<AtomicBool>,
}

impl Worker {
    /// Starts it, and has what it says sent to `events`.
    ///
    /// It dies with the thread that calls this.
    pub(super) fn start(number: u32, events: Sender<Event>) -> Result<Self, SupervisorError> {
        let fail = |error| SupervisorError::System("start the worker", error);
        let mut child = Command::new("/proc/self/exe")
            .args(["agent", "worker"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(fail)?;
        let (to_child, from_child) = (child.stdin.take(), child.stdout.take());
        let heard = Heard::just_now();
        let (input, steps) = mpsc::channel::<ToWorker>();
        // A thread of its own: a stopped worker reads nothing, and must not stop its supervisor.
        spawn("worker input", move || {
            let Some(pipe) = to_child else { return };
            let mut writer = FrameWriter::new(pipe);
            // A worker that is gone is reported when its output ends.
            while steps.recv().is_ok_and(|step| writer.write(&step).is_ok()) {}
        })?;
        let (stamp, speaks) = (heard.clone(), Arc::new(AtomicBool::new(false)));
        let has_spoken = Arc::clone(&speaks);
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
            // Nobody listens when the session is over: that is no loss.
            let _ = events.send(Event::Worker(number, None));
        })?;
        let child = SharedChild(Arc::new(Mutex::new(child)));
        Ok(Self { number, child, input, heard, has_spoken })
    }

    pub(super) fn child(&self) -> SharedChild {
        self.child.clone()
    }

    pub(super) fn is_silent(&self) -> bool {
        self.heard.silence() > patience(self.has_spoken.load(Ordering::Relaxed))
    }

    pub(super) fn hand_over(&self, step: ToWorker) {
        // Fails only when the worker is gone, which its output tells.
        let _ = self.input.send(step);
    }

    /// Returns how a worker ended whose output is over.
    pub(super) fn ending(&self) -> Loss {
        // The kernel closes the output of a process before the process can be waited for.
        has_ended(&self.child, CLEAN_UP);
        let exit = self.child.lock().try_wait().ok().flatten();
        let (status, signal) =
            exit.map_or((None, None), |exit: ExitStatus| (exit.code(), exit.signal()));
        Loss::Ended { status, signal }
    }

    pub(super) fn kill(self) {
        self.child.kill();
        let _ = self.child.lock().try_wait();
    }

    /// Has it destroy what it holds and end; kills it if it does not.
    pub(super) fn end(self) {
        let Self { child, input, .. } = self;
        drop(input);
        if !has_ended(&child, CLEAN_UP) {
            child.kill();
            // One that hangs in the kernel may never end: it is not waited for.
            has_ended(&child, CLEAN_UP);
        }
    }
}

/// How long a worker may be silent.
fn patience(has_spoken: bool) -> Duration {
    if has_spoken { SILENCE } else { BEGINNING }
}

fn has_ended(child: &SharedChild, wait: Duration) -> bool {
    let deadline = Deadline::after(wait);
    while matches!(child.lock().try_wait(), Ok(None)) {
        if deadline.is_over() {
            return false;
        }
        thread::park_timeout(Duration::from_millis(5));
    }
    true
}

#[test]
fn a_worker_has_more_time_to_begin_than_to_go_on() {
    assert_eq!(patience(false), Duration::from_secs(5));
    assert_eq!(patience(true), Duration::from_millis(1_500));
}
