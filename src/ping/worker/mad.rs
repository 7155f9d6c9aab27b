//! Connections of `ping --mad`: a thread that owns one open port for MADs.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use super::connection::Handle;
use super::{ReplyWriter, out_of_order};
use crate::model::probe::{Act, MadOpening, StepError, StepResult};
use crate::ping::mad::{MadEnd, device_file};
use crate::ping::stop_flag::StopFlag;
use crate::sys::umad::HeaderSize;

impl Handle {
    /// Opens a port for MADs on its own thread, which replies to request `id` with the result.
    pub(super) fn start_mad<W: Write + Send + 'static>(
        opening: MadOpening,
        id: u64,
        answers: Arc<ReplyWriter<W>>,
    ) -> io::Result<Self> {
        let (acts, todo) = mpsc::channel();
        let stopped = Arc::new(AtomicU64::new(0));
        let watched = Arc::clone(&stopped);
        thread::Builder::new()
            .name("mad".into())
            .spawn(move || attend(&opening, id, &todo, &watched, &answers))?;
        Ok(Self { acts, stopped })
    }
}

/// Opens the port, then runs the acts of the connection one after the other until it is closed.
fn attend<W: Write>(
    opening: &MadOpening,
    id: u64,
    todo: &Receiver<(u64, Act)>,
    stopped: &AtomicU64,
    answers: &ReplyWriter<W>,
) {
    let open = |path: std::path::PathBuf| MadEnd::open(&path, HeaderSize::Negotiated, opening.role);
    let (end, result) = match device_file(&opening.umad).and_then(open) {
        Ok(end) => (Some(end), Ok(StepResult::MadOpened)),
        Err(error) => (None, Err(error)),
    };
    answers.reply(id, result);
    for (id, act) in todo {
        if let Act::Close = act {
            drop(end);
            answers.reply(id, Ok(StepResult::Done));
            return;
        }
        let stop_flag = StopFlag { stopped, question: id };
        answers.reply(id, perform(end.as_ref(), act, &stop_flag));
    }
}

/// Runs one act. Fails if the port could not be opened.
fn perform(
    end: Option<&MadEnd>,
    act: Act,
    stop_flag: &StopFlag<'_>,
) -> Result<StepResult, StepError> {
    let end = end.ok_or_else(|| out_of_order("the port for MADs is not open"))?;
    match act {
        Act::PingMad(ask) => end.ping(&ask, &|| stop_flag.is_set()).map(StepResult::MadPinged),
        Act::ServeMad(route) => {
            let system = rustix::system::uname();
            let host = system.nodename().to_string_lossy();
            let served = end.serve(&route, &host, &|| stop_flag.is_set());
            served.map(|messages| StepResult::Served { messages })
        }
        _ => Err(out_of_order("a port for MADs does not allow this step")),
    }
}
