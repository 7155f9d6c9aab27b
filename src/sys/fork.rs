//! A copy of this process, for work that may hang or crash: it costs a quarter of starting the
//! program anew, whose tables have to be put in place first.
#![expect(unsafe_code, reason = "fork and _exit")]

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::Pid;

/// What the copy ends with when its work panics, as a process does.
const PANICKED: u8 = 101;

/// Starts a copy that does some work and ends with the code that comes of it. It never returns from
/// here, and nothing of this process ends with it.
///
/// `None` where there are other threads: the copy would have their locks, and nobody to open them.
///
/// # Errors
/// The system gives no process.
pub fn copy(work: impl FnOnce() -> u8) -> io::Result<Option<Pid>> {
    if fs::read_dir("/proc/self/task")?.count() != 1 {
        return Ok(None);
    }
    // SAFETY: this is the only thread, and no other can start one, so that the copy is as whole as
    // this process: no lock is held by a thread that it lacks.
    let pid = unsafe { libc::fork() };
    match pid {
        0 => {
            let code = catch_unwind(AssertUnwindSafe(work)).unwrap_or(PANICKED);
            // SAFETY: it takes a number and does not return; what this process would do at its end,
            // as writing out buffers, is left to this process.
            unsafe { libc::_exit(code.into()) }
        }
        pid => {
            Pid::from_raw(pid).filter(|_| pid > 0).map(Some).ok_or_else(io::Error::last_os_error)
        }
    }
}

#[test]
fn a_copy_is_made_of_a_process_with_one_thread_only() {
    // The harness has threads of its own.
    assert!(copy(|| 0).unwrap().is_none());
}
