//! Process on a host that owns queue pairs: it runs the requested steps and sends heartbeats.
//!
//! It has no hosts, SSH or verdicts. Each connection has its own thread, so that a call that
//! hangs in the kernel blocks only that connection. The hidden command of the agent runs it.

mod connection;
mod mad;

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use connection::Handle;
use parking_lot::Mutex;

use super::datagram::DatagramPorts;
use crate::model::probe::{Act, Cause, Stage, StepError, StepResult};
use crate::wire::{FrameReader, FrameWriter, FromWorker, ToWorker, WireError, WorkerReply};

/// Time between two heartbeats of a worker.
pub const HEARTBEAT: Duration = Duration::from_millis(250);

/// Longest time until the first heartbeat of a worker. On an emulated host that has just booted,
/// it takes more than two seconds.
pub const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Largest number of connections of a worker.
const CONNECTIONS: usize = 1_024;

/// Output of a worker: any thread sends a reply as one frame.
pub(super) struct ReplyWriter<W>(Mutex<FrameWriter<W>>);

impl<W: Write> ReplyWriter<W> {
    /// Returns false if the reader has closed the output.
    fn send(&self, message: &FromWorker) -> bool {
        self.0.lock().write(message).is_ok()
    }

    fn reply(&self, id: u64, result: Result<StepResult, StepError>) {
        // If the supervisor is gone, this process ends with it, and the reply has no receiver.
        let _ = self.send(&FromWorker::Reply(Box::new(WorkerReply { id, result })));
    }
}

/// Runs the steps from `input` until it ends.
///
/// # Errors
/// The input does not follow the protocol.
pub fn run(input: impl Read, output: impl Write + Send + 'static) -> Result<(), WireError> {
    let answers = Arc::new(ReplyWriter(Mutex::new(FrameWriter::new(output))));
    let alive = Arc::clone(&answers);
    thread::Builder::new().name("heartbeat".into()).spawn(move || {
        while alive.send(&FromWorker::Alive) {
            thread::park_timeout(HEARTBEAT);
        }
    })?;
    let mut reader = FrameReader::new(input);
    let mut connections: HashMap<u32, Handle> = HashMap::new();
    let ports = Arc::new(DatagramPorts::default());
    while let Some(ToWorker { id, step }) = reader.read()? {
        match step.act {
            Act::Open(opening) if connections.len() < CONNECTIONS => {
                match Handle::start(opening, id, Arc::clone(&ports), Arc::clone(&answers)) {
                    Ok(handle) => drop(connections.insert(step.connection, handle)),
                    Err(error) => answers.reply(id, Err(no_thread(&error))),
                }
            }
            Act::OpenMad(opening) if connections.len() < CONNECTIONS => {
                match Handle::start_mad(opening, id, Arc::clone(&answers)) {
                    Ok(handle) => drop(connections.insert(step.connection, handle)),
                    Err(error) => answers.reply(id, Err(no_thread(&error))),
                }
            }
            Act::Open(_) | Act::OpenMad(_) => {
                answers.reply(id, Err(out_of_order("too many connections")));
            }
            Act::Close => {
                // The thread destroys the queue pair and then replies.
                match connections.remove(&step.connection) {
                    Some(handle) => handle.close(id),
                    None => answers.reply(id, Ok(StepResult::Done)),
                }
            }
            act => match connections.get(&step.connection) {
                Some(handle) => handle.ask(id, act, &answers),
                None => answers.reply(id, Err(out_of_order("no such connection"))),
            },
        }
    }
    Ok(())
}

/// Returns the failure of a connection whose thread did not start.
fn no_thread(error: &io::Error) -> StepError {
    let detail = format!("cannot start a thread: {error}");
    StepError { detail, ..StepError::new(Stage::Open, Cause::ThreadLimit) }
}

fn out_of_order(detail: &str) -> StepError {
    StepError { detail: detail.to_owned(), ..StepError::new(Stage::Open, Cause::Order) }
}
