//! Sets properties of a child process between its fork and its exec; `fleet` uses it.
#![expect(unsafe_code, reason = "code between fork and exec")]

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal, setsid};

/// Makes the child the leader of a new session.
///
/// The child then has no terminal to prompt on, and Ctrl-C does not reach it. One signal to its
/// process group ends the child and every process that it started.
pub fn lead_session(command: &mut Command) {
    // SAFETY: `setsid` is one system call, which takes no lock and allocates nothing.
    unsafe { command.pre_exec(|| setsid().map(drop).map_err(Into::into)) };
}

/// Sets SIGKILL as the parent-death signal of the child. The kernel sends it when the thread that
/// starts the child ends, for whatever reason.
pub fn die_with_thread(command: &mut Command) {
    // SAFETY: `prctl` is one system call, which takes no lock and allocates nothing.
    unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?)) };
}
