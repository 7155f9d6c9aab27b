//! Open connection of an `ssh` process: its deadline, its end, and the addresses not reached.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::net::Shutdown;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::failure::{agreed, unreached};
use crate::clock::Deadline;
use crate::fleet::{Guard, Pipe};
use crate::model::{HostFailure, Reason};

/// Time for the process to end and print its last messages.
pub(super) const EXIT_TIMEOUT: Duration = Duration::from_millis(500);
/// Number of bytes to read from the end of a log.
const LOG_BYTES: u64 = 64 * 1024;
const LOG_INTERVAL: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct MasterProcess {
    pub(super) guard: Arc<Guard>,
    pipe: Arc<Pipe>,
    log: PathBuf,
    pub(super) end: Arc<End>,
    /// Number of addresses that could not be reached over the connection.
    unreached: AtomicUsize,
}

/// Reason why the process ended, stored by the thread that serves it.
#[derive(Debug, Default)]
pub(super) struct End {
    failure: Mutex<Option<HostFailure>>,
    changed: Condvar,
}

impl End {
    pub(super) fn set(&self, failure: HostFailure) {
        *self.failure.lock() = Some(failure);
        self.changed.notify_all();
    }
}

impl MasterProcess {
    pub(super) fn new(guard: Arc<Guard>, pipe: Arc<Pipe>, log: PathBuf) -> Self {
        Self { guard, pipe, log, end: Arc::default(), unreached: AtomicUsize::new(0) }
    }

    /// Returns the reason why the process ended. Waits for the end for at most `wait`.
    pub(super) fn failure(&self, wait: Duration) -> Option<HostFailure> {
        let mut failure = self.end.failure.lock();
        self.end.changed.wait_while_for(&mut failure, |failure| failure.is_none(), wait);
        failure.clone()
    }

    /// Returns the reason why addresses could not be reached, if all messages agree.
    pub(super) fn why_unreached(&self) -> Option<(Reason, String)> {
        let count = self.unreached.fetch_add(1, Ordering::Relaxed) + 1;
        let by = Deadline::after(EXIT_TIMEOUT);
        loop {
            let whys = unreached(&read_log(&self.log));
            if whys.len() >= count || by.is_over() {
                return agreed(&whys);
            }
            thread::park_timeout(LOG_INTERVAL);
        }
    }
}

impl Drop for MasterProcess {
    fn drop(&mut self) {
        // Ends the wait of the thread, which then ends the process.
        let _ = self.pipe.stream().shutdown(Shutdown::Both);
    }
}

/// Returns the end of a log. Without a readable log, stderr has the reason.
pub(super) fn read_log(log: &Path) -> Vec<u8> {
    let read = || {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(LOG_BYTES).read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    read().unwrap_or_default()
}
