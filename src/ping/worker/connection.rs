//! Connection of a worker: a thread that owns one end and runs its steps one after the other.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use super::{ReplyWriter, out_of_order};
use crate::model::probe::{
    Act, Cause, Connecting, DatagramExchange, Opened, Opening, Purpose, Role, Stage, StepError,
    StepResult,
};
use crate::ping::acceptor::{Acceptor, Proof};
use crate::ping::address;
use crate::ping::datagram::{DatagramPorts, EndpointSlot};
use crate::ping::device_presence::DevicePresence;
use crate::ping::end::{ConnectedEnd, OpenEnd};
use crate::ping::neighbour::explained;
use crate::ping::port_traffic::TrafficBaseline;
use crate::ping::stop_flag::StopFlag;
use crate::ping::tcp::{self, TcpSource};
use crate::ping::tcp_stream;

/// Handle with which the control loop of the worker passes acts to the thread of a connection.
pub(super) struct Handle {
    /// Acts with their request numbers.
    pub(super) acts: Sender<(u64, Act)>,
    /// Request number of the newest stop; [`u64::MAX`] after a close.
    pub(super) stopped: Arc<AtomicU64>,
}

/// State that the thread of a connection owns.
enum State {
    Open(Box<OpenEnd>),
    Connected(Box<ConnectedEnd>),
    /// A step failed. No further RDMA step is possible.
    Broken,
}

impl Handle {
    /// Opens the local end on its own thread, which replies to request `id` with the result.
    pub(super) fn start<W: Write + Send + 'static>(
        opening: Opening,
        id: u64,
        ports: Arc<DatagramPorts>,
        answers: Arc<ReplyWriter<W>>,
    ) -> io::Result<Self> {
        let (acts, todo) = mpsc::channel();
        let stopped = Arc::new(AtomicU64::new(0));
        let watched = Arc::clone(&stopped);
        thread::Builder::new()
            .name("connection".into())
            .spawn(move || run(opening, id, &ports, &todo, &watched, &answers))?;
        Ok(Self { acts, stopped })
    }

    /// Passes an act to the thread. [`Act::Stop`] takes effect at once, even during another act.
    pub(super) fn ask<W: Write>(&self, id: u64, act: Act, answers: &ReplyWriter<W>) {
        if let Act::Stop = act {
            self.stopped.fetch_max(id, Ordering::Relaxed);
            answers.reply(id, Ok(StepResult::Done));
        } else if self.acts.send((id, act)).is_err() {
            answers.reply(id, Err(out_of_order("the connection is closed")));
        }
    }

    /// Makes the thread destroy all objects and then reply.
    pub(super) fn close(self, id: u64) {
        self.stopped.store(u64::MAX, Ordering::Relaxed);
        // A thread that hangs in the kernel replies late or never. The operator has a deadline.
        let _ = self.acts.send((id, Act::Close));
    }
}

/// Starts a TCP server if it has an address. Returns the server, or the reason why it did not
/// start.
fn listener(
    at: Option<(SocketAddr, Proof)>,
    start: fn(SocketAddr, Proof) -> io::Result<Acceptor>,
) -> (Option<Acceptor>, Option<StepError>) {
    let Some((address, proof)) = at else { return (None, None) };
    match start(address, proof) {
        Ok(server) => (Some(server), None),
        Err(error) => (None, Some(tcp::local_error(&error, address))),
    }
}

/// Opens the local end, replies to request `id`, then performs acts until [`Act::Close`].
fn run<W: Write>(
    mut opening: Opening,
    id: u64,
    ports: &DatagramPorts,
    todo: &Receiver<(u64, Act)>,
    stopped: &AtomicU64,
    answers: &ReplyWriter<W>,
) {
    // The operator has no address of either port. The worker of the other end sends its address,
    // and nothing confirms it. The source connects only if its own interface leads there.
    let needs_route = opening.tcp_address.is_none();
    opening.tcp_address = opening
        .tcp_address
        .or_else(|| address::of_interface(opening.gid, opening.netdev.as_deref()));
    // TCP is only a comparison: without TCP, the RDMA probe continues.
    let serves_tcp = opening.role == Role::Target && opening.purpose == Purpose::Messages;
    let listens_at = opening.tcp_address.filter(|_| serves_tcp);
    let proof = opening.proof.map(Proof::from);
    let listens_at = listens_at.zip(proof);
    let (echo, no_echo) = listener(listens_at, tcp::start_echo);
    let reads_at = listens_at.filter(|_| opening.tcp_stream);
    let (reader, no_reader) = listener(reads_at, tcp_stream::start_reader);
    let reply_path = listens_at.zip(opening.tcp_peer).zip(opening.netdev.as_deref());
    let no_replies =
        reply_path.and_then(|(((own, _), peer), netdev)| tcp::replies(own, peer, netdev));
    let presence = DevicePresence::of(&opening.device);
    // Only the counts of checked messages are compared.
    let traffic = (opening.purpose == Purpose::Messages)
        .then(|| TrafficBaseline::of(&opening.device, opening.port));
    let (address, netdev) = (opening.tcp_address, opening.netdev.clone());
    let from = TcpSource { address, netdev, proof, needs_route };
    let (mut state, slot, result) = match OpenEnd::open(opening) {
        Ok(end) => {
            let datagrams = end.opening().qkey.map(|qkey| ports.open(end.opening(), qkey));
            let number = |it: &Result<(_, u32), StepError>| match it {
                Ok((_, number)) => Ok(*number),
                Err(error) => Err(error.clone()),
            };
            let opened = Opened {
                tcp_address: echo.as_ref().map(Acceptor::address),
                tcp_stream_address: reader.as_ref().map(Acceptor::address),
                tcp_failure: no_echo.or(no_reader).or(no_replies).map(Box::new),
                datagrams: datagrams.as_ref().map(number),
                ..end.opened()
            };
            let slot = datagrams.and_then(Result::ok).map(|(slot, _)| slot);
            (State::Open(Box::new(end)), slot, Ok(StepResult::Opened(opened)))
        }
        Err(error) => (State::Broken, None, Err(error)),
    };
    let reply = |id, result: Result<StepResult, StepError>| {
        answers.reply(id, result.map_err(|failure| presence.explain(failure)));
    };
    reply(id, result);
    for (id, act) in todo {
        let stop_flag = StopFlag { stopped, question: id };
        match act {
            Act::Close => {
                drop(state);
                drop((echo, reader, slot));
                reply(id, Ok(StepResult::Closed(traffic.and_then(|before| before.since()))));
                return;
            }
            Act::ExchangeDatagrams(ask) => {
                reply(id, exchange_datagrams(&state, slot.as_deref(), &ask, &stop_flag));
            }
            act => {
                let (next, result) = perform(state, act, &from, &stop_flag);
                state = next;
                reply(id, result);
            }
        }
    }
}

/// Exchanges datagrams over the datagram queue pair of the port.
fn exchange_datagrams(
    state: &State,
    slot: Option<&EndpointSlot>,
    ask: &DatagramExchange,
    stop_flag: &StopFlag<'_>,
) -> Result<StepResult, StepError> {
    let (State::Open(end), Some(slot)) = (state, slot) else {
        return Err(out_of_order("the connection has no datagram queue pair"));
    };
    let path = end.path(ask.gid, ask.lid);
    let mut place = slot.lock()?;
    let endpoint = place.as_mut().ok_or_else(|| StepError {
        detail: "the datagram queue pair was destroyed".into(),
        ..StepError::new(Stage::Open, Cause::Order)
    })?;
    let counts = endpoint.exchange_datagrams(&path, ask, stop_flag);
    if endpoint.is_broken() {
        // The empty slot gives the next pair a new queue pair.
        *place = None;
    }
    counts
        .map(StepResult::DatagramsExchanged)
        .map_err(|error| explained(error, end.opening(), ask.gid))
}

/// Performs an act. Returns the next state and the result of the act.
fn perform(
    state: State,
    act: Act,
    from: &TcpSource,
    stop_flag: &StopFlag<'_>,
) -> (State, Result<StepResult, StepError>) {
    match (state, act) {
        (state, Act::Tcp(ask)) => (state, tcp::probe(from, &ask).map(StepResult::Tcp)),
        (state, Act::TcpStream(ask)) => {
            (state, tcp_stream::write(from, &ask).map(StepResult::Streamed))
        }
        // The source sends nothing to an address to which its own interface does not lead.
        (
            State::Open(_),
            Act::Connect(Connecting { remote: Opened { cm_address: Some(at), .. }, .. }),
        ) if from.check(at).is_err() => {
            let why = from.check(at).err().map_or_else(String::new, |error| error.to_string());
            let detail = format!("rdma_cm to {at}: {why}");
            (
                State::Broken,
                Err(StepError { detail, ..StepError::new(Stage::Connect, Cause::Order) }),
            )
        }
        (State::Open(end), Act::Connect(to)) => match end.connect(&to) {
            Ok(end) => (State::Connected(Box::new(end)), Ok(StepResult::Connected)),
            Err(error) => (State::Broken, Err(error)),
        },
        (State::Connected(mut end), Act::Serve) => {
            let served = end.serve(stop_flag);
            (State::Connected(end), served.map(|messages| StepResult::Served { messages }))
        }
        (State::Connected(mut end), Act::Probe(ask)) if end.purpose() != Purpose::Stream => {
            let probed = end.probe(&ask);
            (State::Connected(end), probed.map(StepResult::Probed))
        }
        (State::Connected(mut end), Act::Stream(ask)) if end.purpose() == Purpose::Stream => {
            let streamed = end.stream(&ask);
            (State::Connected(end), streamed.map(StepResult::Streamed))
        }
        (state, _) => {
            (state, Err(out_of_order("the state of the connection does not allow this step")))
        }
    }
}
