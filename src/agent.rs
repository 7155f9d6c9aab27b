//! The remote end: a process on the node that speaks frames on its stdin and stdout.
//!
//! Two processes, of one binary: the supervisor answers the operator and watches, its worker
//! owns the queue pairs and can hang without harm. Neither writes a file or outlives
//! the operator: both end when their input does. The worker listens only while a pair is probed,
//! for the TCP comparison and for iWARP.

mod heard;
mod process;
mod supervisor;
mod unlink;

pub use supervisor::{Supervisor, SupervisorError};

use std::io::{Read, Write};

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::ping;
use crate::wire::WireError;

/// Runs as a worker: serves steps until `input` ends or the supervisor dies.
///
/// # Errors
/// What comes is not the protocol.
pub fn work(input: impl Read, output: impl Write + Send + 'static) -> Result<(), WireError> {
    // A supervisor that died before this call is noticed by the end of the input.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    ping::worker::run(input, output)
}
