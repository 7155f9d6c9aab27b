//! What a child process is told between its fork and its program.
#![expect(unsafe_code, reason = "code between fork and exec")]

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal, setsid};

/// Has the child lead a session of its own: it has no terminal to ask on, no Ctrl-C reaches it, and
/// one signal to its group ends it with all that it has started.
pub fn lead_session(command: &mut Command) {
    // SAFETY: `setsid` is one system call, which takes no lock and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            setsid()?;
            Ok(())
        });
    }
}

/// Has the child killed when the thread that starts it ends, however this process ends.
pub fn die_with_thread(command: &mut Command) {
    // SAFETY: `prctl` is one system call, which takes no lock and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(())
        });
    }
}
