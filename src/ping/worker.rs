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
use super::error::step_error;
use crate::model::probe::{Act, Cause, Stage, StepError, StepResult};
use crate::wire::{FrameReader, FrameWriter, FromWorker, ToWorker, WireError, WorkerReply};

/// Time between two heartbeats of a worker.
pub const HEARTBEAT: Duration = Duration::from_millis(250);

/// Longest time until the first heartbeat of a worker. On an emulated host that has just booted,
/// it takes more than two seconds.
pub const START_TIMEOUT: Duration = Duration::from_secs(5);

const MAX_CONNECTIONS: usize = 1_024;

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
        let (ports, output) = (Arc::clone(&ports), Arc::clone(&answers));
        let started = match step.act {
            Act::Open(_) | Act::OpenMad(_) if connections.len() >= MAX_CONNECTIONS => {
                answers.reply(id, Err(out_of_order("too many connections")));
                continue;
            }
            Act::Open(opening) => Handle::start("rdmactl-ping", move |acts| {
                connection::run(opening, id, &ports, acts, &output);
            }),
            Act::OpenMad(opening) => {
                Handle::start("rdmactl-mad", move |acts| mad::run(&opening, id, acts, &output))
            }
            Act::Close => {
                match connections.remove(&step.connection) {
                    // The thread destroys the queue pair and then replies.
                    Some(handle) => handle.close(id),
                    None => answers.reply(id, Ok(StepResult::Done)),
                }
                continue;
            }
            act => {
                match connections.get(&step.connection) {
                    Some(handle) => handle.ask(id, act, &answers),
                    None => answers.reply(id, Err(out_of_order("no such connection"))),
                }
                continue;
            }
        };
        match started {
            Ok(handle) => drop(connections.insert(step.connection, handle)),
            Err(error) => answers.reply(id, Err(no_thread(&error))),
        }
    }
    Ok(())
}

fn no_thread(error: &io::Error) -> StepError {
    step_error(Stage::Open, Cause::ThreadLimit, format!("cannot start a thread: {error}"))
}

fn out_of_order(detail: &str) -> StepError {
    step_error(Stage::Open, Cause::Order, detail)
}
