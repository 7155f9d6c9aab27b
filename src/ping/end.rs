//! One end of a connection: opens a device, connects a queue pair, and sends or serves messages.
//! The connections of a worker use it.

use std::net::SocketAddr;
use std::time::Duration;

use super::error::{cm_error, step_error, verbs_error};
use super::exchange::{self, Exchange};
use super::neighbour::explained;
use super::own_firewall;
use super::stop_flag::StopFlag;
use super::stream::{self, Stream};
use crate::clock::Deadline;
use crate::model::probe::{
    Cause, Connecting, Method, Opened, Opening, Probing, Purpose, Role, RoundTrips, Stage,
    StepError, Streaming, Throughput,
};
use crate::model::{GidValue, KnownFix};
use crate::sys::cm::{CmConnection, CmEndpoint, ConnectOptions, ConnectionProof, Listener};
use crate::sys::verbs::{
    AccessFlags, Buffer, Capacity, CompletionQueue, Connected, ConnectedInit, Device, Domain, Grh,
    LocalRoute, Mtu, Notify, Parts, Path, PortAttr, QueuePair, ReadyToReceive, ReadyToSend,
    Reliable, RemoteAddress, Unreliable, UnreliableReady, VerbsError,
};

/// Minimum RNR NAK timer: 0.64 ms, by the table of IBA 9.7.5.2.8.
const MIN_RNR_TIMER: u8 = 12;

/// End that is not connected yet.
pub(super) struct OpenEnd {
    pub(super) opening: Opening,
    port: PortAttr,
    mtu: Mtu,
    first_psn: u32,
    objects: Unconnected,
}

enum Unconnected {
    Relay(Box<QueuePair<Reliable>>),
    Unreliable(Box<QueuePair<Unreliable>>),
    CmSource,
    CmTarget(Listener),
    Datagrams,
}

pub(super) struct ConnectedEnd {
    pub(super) purpose: Purpose,
    queue_pair: QueuePairKind,
}

enum QueuePairKind {
    Relay(Box<QueuePair<Reliable>>),
    Unreliable(Box<QueuePair<Unreliable>>),
    Cm(Box<CmConnection>),
}

impl OpenEnd {
    pub(super) fn open(opening: Opening) -> Result<Self, StepError> {
        let fail = |error| verbs_error(Stage::Open, &error);
        let device = Device::open(&opening.device).map_err(fail)?;
        let port = device.port(opening.port).map_err(fail)?;
        let mtu = port.active_mtu().ok_or_else(|| no_mtu(&opening))?;
        // `rdma_cm` finds the GID itself.
        if opening.method != Method::Cm {
            let gid = device.gid(opening.port, opening.gid_index).map_err(fail)?;
            if gid != opening.gid.0.octets() {
                return Err(gid_moved(&opening));
            }
        }
        // A random number only separates late packets of earlier runs, so 0 serves as well.
        let first_psn = getrandom::u32().unwrap_or(0) & 0xff_ffff;
        let objects = match (opening.method, opening.role) {
            (Method::Relay, _) if opening.purpose == Purpose::UnreliableMessages => {
                Unconnected::Unreliable(Box::new(initialized(&device, &opening).map_err(fail)?))
            }
            (Method::Relay, _) => {
                Unconnected::Relay(Box::new(initialized(&device, &opening).map_err(fail)?))
            }
            (Method::Datagrams, _) => Unconnected::Datagrams,
            (Method::Cm, Role::Source) => Unconnected::CmSource,
            (Method::Cm, Role::Target) => {
                let address = opening.tcp_address.ok_or_else(|| no_address(&opening))?;
                let listener = Listener::bind(SocketAddr::new(address.ip(), 0), 1);
                Unconnected::CmTarget(listener.map_err(|error| cm_error(Stage::Open, &error))?)
            }
        };
        Ok(Self { opening, port, mtu, first_psn, objects })
    }

    /// Returns the values that the peer needs to connect. The fields for TCP and datagrams are
    /// `None`; the connection of the worker sets them.
    pub(super) fn opened(&self) -> Opened {
        let address_with = |port| Some(SocketAddr::new(self.opening.tcp_address?.ip(), port));
        let (queue_pair, cm_address) = match &self.objects {
            Unconnected::Relay(qp) => (qp.number(), None),
            Unconnected::Unreliable(qp) => (qp.number(), None),
            Unconnected::CmTarget(listener) => (0, address_with(listener.port())),
            Unconnected::CmSource | Unconnected::Datagrams => (0, None),
        };
        Opened {
            queue_pair,
            psn: self.first_psn,
            lid: self.port.attr.lid,
            mtu: self.mtu.bytes(),
            cm_address,
            tcp_address: None,
            tcp_stream_address: None,
            tcp_failure: None,
            datagrams: None,
        }
    }

    pub(super) fn path(&self, gid: GidValue, lid: u16) -> Path {
        let Opening { traffic_class, service_level, port, method, .. } = self.opening;
        let grh = Grh {
            remote: gid.0.octets(),
            local_index: u8::try_from(self.opening.gid_index).unwrap_or(u8::MAX),
            hop_limit: 64,
            traffic_class,
            flow_label: 0,
        };
        let route = LocalRoute { lid, source_path_bits: 0 };
        // EFA reports no link layer, and finds the peer by GID (`efa_create_ah`, efa_verbs.c).
        let target = if self.port.is_ethernet() || method == Method::Datagrams {
            RemoteAddress::Grh(grh)
        } else if self.port.needs_grh() {
            RemoteAddress::LidWithGrh(route, grh)
        } else {
            RemoteAddress::Lid(route)
        };
        Path { port, service_level, target }
    }

    /// Moves the queue pair to RTS, or establishes the `rdma_cm` connection.
    pub(super) fn connect(self, to: &Connecting) -> Result<ConnectedEnd, StepError> {
        let deadline = Deadline::after(Duration::from_millis(to.deadline_ms.into()));
        if self.opening.soft_roce {
            let Opening { gid, netdev, .. } = &self.opening;
            own_firewall::let_pass(*gid, to.remote_gid, netdev.as_deref())?;
        }
        let path = self.path(to.remote_gid, to.remote.lid);
        let mtu = Mtu::from_bytes(to.mtu).ok_or_else(|| bad_mtu(to.mtu));
        let opening = &self.opening;
        let fail =
            |error| explained(verbs_error(Stage::Connect, &error), opening, to.remote_gid, &path);
        let fail_cm = |error| cm_error(Stage::Connect, &error);
        let queue_pair = match self.objects {
            Unconnected::Unreliable(mut qp) => {
                let (remote_qp, receive_psn) = (to.remote.queue_pair, to.remote.psn);
                qp.to_receive(&UnreliableReady { path, mtu: mtu?, remote_qp, receive_psn })
                    .map_err(fail)?;
                qp.to_send(self.first_psn).map_err(fail)?;
                QueuePairKind::Unreliable(qp)
            }
            Unconnected::Relay(mut qp) => {
                qp.to_receive(&ReadyToReceive {
                    path,
                    mtu: mtu?,
                    remote_qp: to.remote.queue_pair,
                    receive_psn: to.remote.psn,
                    max_dest_rd_atomic: 1,
                    min_rnr_timer: MIN_RNR_TIMER,
                })
                .map_err(fail)?;
                qp.to_send(ReadyToSend {
                    timeout: to.ack_timeout,
                    retry_count: to.retries,
                    rnr_retry: to.retries,
                    send_psn: self.first_psn,
                    max_rd_atomic: 1,
                })
                .map_err(fail)?;
                QueuePairKind::Relay(qp)
            }
            Unconnected::Datagrams => {
                let detail = "a connection was requested for datagrams, which have none";
                return Err(step_error(Stage::Connect, Cause::Order, detail));
            }
            Unconnected::CmSource => {
                let remote = to.remote.cm_address.ok_or_else(|| no_address(opening))?;
                let local = opening.tcp_address.map(|own| SocketAddr::new(own.ip(), 0));
                let [listener, client] = proofs(opening)?;
                let end = CmEndpoint::resolve(local, remote, deadline).map_err(fail_cm)?;
                let options = options(to.retries, client, listener);
                QueuePairKind::Cm(establish(end, opening, options, deadline)?)
            }
            Unconnected::CmTarget(requests) => {
                let [listener, client] = proofs(opening)?;
                let end = requests.next(client, deadline).map_err(fail_cm)?;
                let options = options(to.retries, listener, client);
                QueuePairKind::Cm(establish(end, opening, options, deadline)?)
            }
        };
        Ok(ConnectedEnd { purpose: opening.purpose, queue_pair })
    }
}

impl ConnectedEnd {
    /// Sends checked messages to the serving peer and measures round trips.
    pub(super) fn probe(&mut self, ask: &Probing) -> Result<Option<RoundTrips>, StepError> {
        match &mut self.queue_pair {
            QueuePairKind::Relay(qp) => Exchange::new(qp).probe(ask),
            QueuePairKind::Unreliable(qp) => Exchange::new(qp).probe(ask),
            QueuePairKind::Cm(connection) => Exchange::new(connection.qp()).probe(ask),
        }
    }

    /// Writes to the memory of the serving peer and measures the throughput.
    pub(super) fn stream(&mut self, ask: &Streaming) -> Result<Throughput, StepError> {
        match &mut self.queue_pair {
            QueuePairKind::Relay(qp) => Stream::new(qp).write(ask),
            QueuePairKind::Unreliable(qp) => Stream::new(qp).write(ask),
            QueuePairKind::Cm(connection) => Stream::new(connection.qp()).write(ask),
        }
    }

    /// Serves the peer until a stop; returns the number of replies.
    pub(super) fn serve(&mut self, stop_flag: &StopFlag<'_>) -> Result<u64, StepError> {
        let purpose = self.purpose;
        match &mut self.queue_pair {
            QueuePairKind::Relay(qp) => serve(qp, purpose, stop_flag),
            QueuePairKind::Unreliable(qp) => serve(qp, purpose, stop_flag),
            QueuePairKind::Cm(connection) => serve(connection.qp(), purpose, stop_flag),
        }
    }
}

fn serve<T: Connected>(
    qp: &mut QueuePair<T>,
    purpose: Purpose,
    stop_flag: &StopFlag<'_>,
) -> Result<u64, StepError> {
    if purpose == Purpose::Stream {
        Stream::new(qp).serve(stop_flag)
    } else {
        Exchange::new(qp).serve(stop_flag)
    }
}

/// Creates the queue pair of an `rdma_cm` connection, posts its receives and connects.
fn establish(
    mut end: CmEndpoint,
    opening: &Opening,
    options: ConnectOptions,
    deadline: Deadline,
) -> Result<Box<CmConnection>, StepError> {
    let fail = |error| cm_error(Stage::Connect, &error);
    let fail_verbs = |error| verbs_error(Stage::Connect, &error);
    let parts = parts(end.device(), opening).map_err(fail_verbs)?;
    let qp = end.queue_pair(parts, capacity(opening.purpose)).map_err(fail)?;
    prepare(qp, opening.purpose).map_err(fail_verbs)?;
    Ok(Box::new(end.establish(options, deadline).map_err(fail)?))
}

/// Returns the proof of the listening end and the proof of the connecting end.
fn proofs(opening: &Opening) -> Result<[ConnectionProof; 2], StepError> {
    let detail = "an rdma_cm connection was requested without the numbers of the pair";
    let no_proof = || step_error(Stage::Connect, Cause::Order, detail);
    Ok(opening.proof.ok_or_else(no_proof)?.map(u64::to_le_bytes))
}

fn options(retries: u8, proof: ConnectionProof, proof_of_peer: ConnectionProof) -> ConnectOptions {
    ConnectOptions { retry_count: retries, rnr_retry: retries, proof, proof_of_peer }
}

/// Returns a queue pair in INIT whose receives are posted.
fn initialized<T: Connected>(
    device: &Device,
    opening: &Opening,
) -> Result<QueuePair<T>, VerbsError> {
    let mut qp = QueuePair::<T>::new(parts(device, opening)?, capacity(opening.purpose))?;
    let &Opening { port, pkey_index, .. } = opening;
    qp.to_init(ConnectedInit { port, pkey_index, access: access(opening) })?;
    prepare(&mut qp, opening.purpose)?;
    Ok(qp)
}

/// Posts the receives. This must happen before the peer may send.
fn prepare<T: Connected>(qp: &mut QueuePair<T>, purpose: Purpose) -> Result<(), VerbsError> {
    if purpose == Purpose::Stream { stream::prepare(qp) } else { Exchange::prepare(qp) }
}

/// Returns the access rights of the peer, which writes only to the target of a stream.
fn access(opening: &Opening) -> AccessFlags {
    let is_written = opening.purpose == Purpose::Stream && opening.role == Role::Target;
    AccessFlags { remote_read: false, remote_write: is_written }
}

fn capacity(purpose: Purpose) -> Capacity {
    let sends = if purpose == Purpose::Stream { stream::SENDS } else { exchange::DEPTH };
    Capacity { sends, receives: exchange::DEPTH, inline_bytes: 64 }
}

fn parts(device: &Device, opening: &Opening) -> Result<Parts, VerbsError> {
    let Capacity { sends, receives, .. } = capacity(opening.purpose);
    let queue = CompletionQueue::new(device, 2 * (sends + receives), Notify::Never)?;
    let domain = Domain::new(device)?;
    let is_stream = opening.purpose == Purpose::Stream;
    let size = if is_stream { stream::BUFFER_BYTES } else { exchange::BUFFER_BYTES };
    let buffer = Buffer::new(&domain, size, access(opening))?;
    Ok(Parts { send_queue: queue.clone(), receive_queue: queue, buffer })
}

fn gid_moved(opening: &Opening) -> StepError {
    let Opening { gid_index, device, port, gid, .. } = opening;
    let detail = format!("GID {gid_index} of {device}/{port} is no longer {gid}");
    let error = step_error(Stage::Open, Cause::Errno("ENODATA".into()), detail);
    StepError { fix: Some(KnownFix::RepeatMoved.into()), ..error }
}

/// Returns the failure of a port without a path MTU. On RoCE, a path MTU of 256 bytes needs a
/// network interface with an MTU of 352 bytes. With a smaller MTU, drivers report no path MTU
/// (`iboe_get_mtu`, `include/rdma/ib_addr.h`).
fn no_mtu(opening: &Opening) -> StepError {
    let Opening { device, port, .. } = opening;
    let detail =
        format!("{device}/{port} has no path MTU: the MTU of its network interface is too small");
    let fix = Some(KnownFix::SetMtu.with(&[netdev(opening)]));
    StepError { fix, ..step_error(Stage::Open, Cause::Mtu, detail) }
}

fn no_address(opening: &Opening) -> StepError {
    let Opening { device, port, .. } = opening;
    let detail = format!("{device}/{port} has no IP address, which rdma_cm requires");
    let fix = Some(KnownFix::AddAddress.with(&[netdev(opening)]));
    StepError { fix, ..step_error(Stage::Open, Cause::Errno("EADDRNOTAVAIL".into()), detail) }
}

/// Returns the network interface of the port for a hint; a placeholder if it is unknown.
fn netdev(opening: &Opening) -> &str {
    opening.netdev.as_deref().unwrap_or("NETDEV")
}

fn bad_mtu(mtu: u32) -> StepError {
    step_error(Stage::Connect, Cause::Order, format!("{mtu} is not a path MTU"))
}
