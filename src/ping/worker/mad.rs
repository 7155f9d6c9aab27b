//! Connections of `ping --mad`: a thread that owns one open port for MADs.

use std::io::Write;
use std::path::PathBuf;

use super::connection::Acts;
use super::{ReplyWriter, out_of_order};
use crate::model::probe::{Act, MadOpening, StepError, StepResult};
use crate::ping::mad::{MadEnd, device_file};
use crate::ping::stop_flag::StopFlag;
use crate::sys::umad::HeaderSize;

/// Opens the port, replies to request `id`, then performs acts until [`Act::Close`].
pub(super) fn run<W: Write>(opening: &MadOpening, id: u64, acts: &Acts, answers: &ReplyWriter<W>) {
    let open = |path: PathBuf| MadEnd::open(&path, HeaderSize::Negotiated, opening.role);
    let (end, result) = match device_file(&opening.umad).and_then(open) {
        Ok(end) => (Some(end), Ok(StepResult::MadOpened)),
        Err(error) => (None, Err(error)),
    };
    answers.reply(id, result);
    for (id, act, stop_flag) in acts.each() {
        if let Act::Close = act {
            drop(end);
            answers.reply(id, Ok(StepResult::Done));
            return;
        }
        answers.reply(id, perform(end.as_ref(), act, &stop_flag));
    }
}

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
