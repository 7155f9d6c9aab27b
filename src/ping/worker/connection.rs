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
use crate::ping::acceptor::{Acceptor, Proof, Service};
use crate::ping::address;
use crate::ping::datagram::{DatagramPorts, EndpointSlot};
use crate::ping::device_presence::DevicePresence;
use crate::ping::end::{ConnectedEnd, OpenEnd};
use crate::ping::error::step_error;
use crate::ping::neighbour::explained;
use crate::ping::port_traffic::TrafficBaseline;
use crate::ping::stop_flag::StopFlag;
use crate::ping::tcp::{self, TcpSource};
use crate::ping::tcp_stream;

/// Handle with which the control loop of the worker passes acts to the thread of a connection.
pub(super) struct Handle {
    /// Acts with their request numbers.
    acts: Sender<(u64, Act)>,
    /// Request number of the newest stop; [`u64::MAX`] after a close.
    stopped: Arc<AtomicU64>,
}

pub(super) struct Acts {
    todo: Receiver<(u64, Act)>,
    stopped: Arc<AtomicU64>,
}

impl Acts {
    /// Waits for each act; returns it with the number and the stop flag of its request.
    pub(super) fn each(&self) -> impl Iterator<Item = (u64, Act, StopFlag<'_>)> {
        self.todo
            .iter()
            .map(|(id, act)| (id, act, StopFlag { stopped: &self.stopped, request: id }))
    }
}

enum State {
    Open(Box<OpenEnd>),
    Connected(Box<ConnectedEnd>),
    /// A step failed. No further RDMA step is possible.
    Broken,
}

impl Handle {
    /// Starts the thread of a connection, which `run` is. The name of the thread is the `comm` that
    /// the kernel reports for its queue pairs (`rdma resource show qp`).
    pub(super) fn start(name: &str, run: impl FnOnce(&Acts) + Send + 'static) -> io::Result<Self> {
        let (sender, todo) = mpsc::channel();
        let stopped = Arc::new(AtomicU64::new(0));
        let acts = Acts { todo, stopped: Arc::clone(&stopped) };
        thread::Builder::new().name(name.into()).spawn(move || run(&acts))?;
        Ok(Self { acts: sender, stopped })
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

/// Starts a TCP server if it has an address; returns it, or the reason why it did not start.
fn listener(
    at: Option<(SocketAddr, Proof)>,
    service: Service,
) -> (Option<Acceptor>, Option<StepError>) {
    let Some((address, proof)) = at else { return (None, None) };
    match Acceptor::start(address, proof, service) {
        Ok(server) => (Some(server), None),
        Err(error) => (None, Some(tcp::local_error(&error, address))),
    }
}

/// Opens the local end, replies to request `id`, then performs acts until [`Act::Close`].
pub(super) fn run<W: Write>(
    mut opening: Opening,
    id: u64,
    ports: &DatagramPorts,
    acts: &Acts,
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
    let proof = opening.proof.map(Proof::from);
    let listens_at = opening.tcp_address.filter(|_| serves_tcp).zip(proof);
    let (echo, no_echo) = listener(listens_at, tcp::ECHO);
    let reads_at = listens_at.filter(|_| opening.tcp_stream);
    let (reader, no_reader) = listener(reads_at, tcp_stream::READER);
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
            let (slot, datagrams) =
                match end.opening.qkey.map(|qkey| ports.open(&end.opening, qkey)) {
                    Some(Ok((slot, number))) => (Some(slot), Some(Ok(number))),
                    Some(Err(error)) => (None, Some(Err(error))),
                    None => (None, None),
                };
            let opened = Opened {
                tcp_address: echo.as_ref().map(|server| server.address),
                tcp_stream_address: reader.as_ref().map(|server| server.address),
                tcp_failure: no_echo.or(no_reader).or(no_replies).map(Box::new),
                datagrams,
                ..end.opened()
            };
            (State::Open(Box::new(end)), slot, Ok(StepResult::Opened(opened)))
        }
        Err(error) => (State::Broken, None, Err(error)),
    };
    let reply = |id, result: Result<StepResult, StepError>| {
        answers.reply(id, result.map_err(|failure| presence.explain(failure)));
    };
    reply(id, result);
    for (id, act, stop_flag) in acts.each() {
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
            Act::Connect(to) => {
                let result;
                (state, result) = connect(state, &from, &to);
                reply(id, result);
            }
            act => reply(id, perform(&mut state, act, &from, &stop_flag)),
        }
    }
}

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
    let destroyed = || out_of_order("the datagram queue pair was destroyed");
    let endpoint = place.as_mut().ok_or_else(destroyed)?;
    let counts = endpoint.exchange_datagrams(&path, ask, stop_flag);
    if endpoint.is_broken() {
        // The empty slot gives the next pair a new queue pair.
        *place = None;
    }
    counts
        .map(StepResult::DatagramsExchanged)
        .map_err(|error| explained(error, &end.opening, ask.gid, &path))
}

/// Fails if the source was given an address to which its own interface does not lead.
fn check_cm_address(from: &TcpSource, to: &Connecting) -> Result<(), StepError> {
    let Some(at) = to.remote.cm_address else { return Ok(()) };
    from.check(at)
        .map_err(|why| step_error(Stage::Connect, Cause::Order, format!("rdma_cm to {at}: {why}")))
}

/// Connects an open end. Returns the next state and the result of the act.
fn connect(
    state: State,
    from: &TcpSource,
    to: &Connecting,
) -> (State, Result<StepResult, StepError>) {
    match state {
        State::Open(end) => match check_cm_address(from, to).and_then(|()| end.connect(to)) {
            Ok(end) => (State::Connected(Box::new(end)), Ok(StepResult::Connected)),
            Err(error) => (State::Broken, Err(error)),
        },
        state => (state, Err(not_allowed())),
    }
}

/// Performs an act that does not change the state.
fn perform(
    state: &mut State,
    act: Act,
    from: &TcpSource,
    stop_flag: &StopFlag<'_>,
) -> Result<StepResult, StepError> {
    match (state, act) {
        (_, Act::Tcp(ask)) => tcp::probe(from, &ask).map(StepResult::Tcp),
        (_, Act::TcpStream(ask)) => tcp_stream::write(from, &ask).map(StepResult::Streamed),
        (State::Connected(end), Act::Serve) => {
            end.serve(stop_flag).map(|messages| StepResult::Served { messages })
        }
        (State::Connected(end), Act::Probe(ask)) if end.purpose != Purpose::Stream => {
            end.probe(&ask).map(StepResult::Probed)
        }
        (State::Connected(end), Act::Stream(ask)) if end.purpose == Purpose::Stream => {
            end.stream(&ask).map(StepResult::Streamed)
        }
        _ => Err(not_allowed()),
    }
}

fn not_allowed() -> StepError {
    out_of_order("the state of the connection does not allow this step")
}
