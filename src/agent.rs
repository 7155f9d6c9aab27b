//! Remote end: a process on the node that sends and receives frames on its stdin and stdout.
//!
//! An agent consists of two processes of one binary. The supervisor serves the operator and
//! watches its worker. The worker owns the queue pairs, and it can hang without harm. Neither
//! process writes a file. Both end when their input ends, so that neither outlives the operator.
//! The worker listens for connections only while a pair is probed: for the TCP comparison and for
//! iWARP.

mod last_message;
mod process;
mod supervisor;
mod unlink;

pub use supervisor::{Supervisor, SupervisorError};

use std::io::{Read, Write};

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::ping;
use crate::wire::WireError;

/// Runs the worker until `input` ends or the supervisor dies.
///
/// # Errors
/// The input breaks the protocol.
pub fn work(input: impl Read, output: impl Write + Send + 'static) -> Result<(), WireError> {
    // If the supervisor died before this call, the end of the input ends the worker.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    ping::worker::run(input, output)
}
