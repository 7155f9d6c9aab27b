use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use super::{Answers, out_of_order};
use crate::model::probe::{Act, Opening, Role, StepError, StepResult};
use crate::ping::address;
use crate::ping::end::{ConnectedEnd, OpenEnd};
use crate::ping::tcp::{self, Echo, From};

/// A connection as the control loop sees it: a thread that takes one act after another.
pub(super) struct Handle {
    acts: Sender<(u64, Act)>,
    stop: Arc<AtomicBool>,
}

/// What a connection's thread owns.
enum State {
    Open(Box<OpenEnd>),
    Connected(Box<ConnectedEnd>),
    /// A failed step leaves nothing to go on with.
    Broken,
}

impl Handle {
    /// Opens the local end on a thread of its own, which answers question `id` with it.
    pub(super) fn start<W: Write + Send + 'static>(
        opening: Opening,
        id: u64,
        answers: Arc<Answers<W>>,
    ) -> io::Result<Self> {
        let (acts, todo) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&stop);
        thread::Builder::new()
            .name("connection".into())
            .spawn(move || attend(opening, id, &todo, &watched, &answers))?;
        Ok(Self { acts, stop })
    }

    /// Hands an act to the thread; [`Act::Stop`] reaches it in the middle of one.
    pub(super) fn ask<W: Write>(&self, id: u64, act: Act, answers: &Answers<W>) {
        if let Act::Stop = act {
            self.stop.store(true, Ordering::Relaxed);
            answers.reply(id, Ok(StepResult::Done));
        } else if self.acts.send((id, act)).is_err() {
            answers.reply(id, Err(out_of_order("the connection is closed")));
        }
    }

    /// Has the thread destroy everything and then answer.
    pub(super) fn close(self, id: u64) {
        self.stop.store(true, Ordering::Relaxed);
        // A thread that hangs in the kernel answers late or never: the operator has a deadline.
        let _ = self.acts.send((id, Act::Close));
    }
}

fn attend<W: Write>(
    mut opening: Opening,
    id: u64,
    todo: &Receiver<(u64, Act)>,
    stop: &AtomicBool,
    answers: &Answers<W>,
) {
    opening.tcp_address = opening.tcp_address.or_else(|| address::of_mac(opening.gid));
    // TCP is only compared: without it the RDMA probe goes on.
    let is_target = opening.role == Role::Target;
    let echo =
        opening.tcp_address.filter(|_| is_target).and_then(|address| Echo::start(address).ok());
    let from = From { address: opening.tcp_address, netdev: opening.netdev.clone() };
    let mut state = match OpenEnd::open(opening) {
        Ok(end) => {
            let opened = end.opened(echo.as_ref().map(Echo::address));
            answers.reply(id, Ok(StepResult::Opened(opened)));
            State::Open(Box::new(end))
        }
        Err(error) => {
            answers.reply(id, Err(error));
            State::Broken
        }
    };
    for (id, act) in todo {
        if let Act::Close = act {
            drop(state);
            drop(echo);
            answers.reply(id, Ok(StepResult::Done));
            return;
        }
        let (next, result) = perform(state, act, &from, stop);
        state = next;
        answers.reply(id, result);
    }
}

fn perform(
    state: State,
    act: Act,
    from: &From,
    stop: &AtomicBool,
) -> (State, Result<StepResult, StepError>) {
    match (state, act) {
        (state, Act::Tcp(ask)) => (state, tcp::probe(from, &ask).map(StepResult::Tcp)),
        (State::Open(end), Act::Connect(to)) => match end.connect(&to) {
            Ok(end) => (State::Connected(Box::new(end)), Ok(StepResult::Connected)),
            Err(error) => (State::Broken, Err(error)),
        },
        (State::Connected(mut end), Act::Serve) => {
            let served = end.exchange().serve(stop);
            (State::Connected(end), served.map(|messages| StepResult::Served { messages }))
        }
        (State::Connected(mut end), Act::Probe(ask)) => {
            let probed = end.exchange().probe(&ask);
            (State::Connected(end), probed.map(StepResult::Probed))
        }
        (state, _) => (state, Err(out_of_order("the connection is not in the state for this"))),
    }
}
