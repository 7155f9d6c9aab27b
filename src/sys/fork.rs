//! Forks this process for work that can hang or crash; `source::verbs_child` uses it.
//!
//! A fork costs a quarter of starting the program again, which first has to build its tables.
#![expect(unsafe_code, reason = "fork and _exit")]

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::Pid;

/// Exit code of the child when its work panics, as of any Rust process.
const PANICKED: u8 = 101;

/// Forks a child that does `work` and exits with the code that `work` returns.
///
/// In the child this function never returns, and the exit handlers of this process do not run.
/// Returns `None` if this process has several threads: the child could inherit a lock of another
/// thread, which no thread would release.
///
/// # Errors
/// The system cannot start a process, or `/proc/self/task` cannot be read.
pub fn copy(work: impl FnOnce() -> u8) -> io::Result<Option<Pid>> {
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Ok(None);
    }
    // SAFETY: this is the only thread, and no other thread can start one. So the child lacks no
    // thread that could hold a lock.
    let pid = unsafe { libc::fork() };
    match pid {
        0 => {
            let code = catch_unwind(AssertUnwindSafe(work)).unwrap_or(PANICKED);
            // SAFETY: `_exit` takes a number and does not return. The parent does the work of a
            // normal exit, for example flushing buffers.
            unsafe { libc::_exit(code.into()) }
        }
        pid => {
            Pid::from_raw(pid).filter(|_| pid > 0).map(Some).ok_or_else(io::Error::last_os_error)
        }
    }
}

#[test]
fn a_copy_is_made_of_a_process_with_one_thread_only() {
    // The test harness has several threads.
    assert!(copy(|| 0).unwrap().is_none());
}
