//! One end of a connection: opens a device, connects a queue pair, and sends or serves messages.
//! The connections of a worker use it.

use std::net::SocketAddr;
use std::time::Duration;

use super::error::{cm_error, verbs_error};
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
    opening: Opening,
    port: PortAttr,
    mtu: Mtu,
    /// Packet sequence number of the first packet that this end sends.
    psn: u32,
    objects: Unconnected,
}

/// Objects of an end that is not connected, by method and role.
enum Unconnected {
    Relay(Box<QueuePair<Reliable>>),
    Unreliable(Box<QueuePair<Unreliable>>),
    CmSource,
    CmTarget(Listener),
    /// An end for datagrams is never connected.
    Datagrams,
}

/// End that may send.
pub(super) struct ConnectedEnd {
    purpose: Purpose,
    queue_pair: QueuePairKind,
}

enum QueuePairKind {
    Relay(Box<QueuePair<Reliable>>),
    Unreliable(Box<QueuePair<Unreliable>>),
    Cm(Box<CmConnection>),
}

impl OpenEnd {
    /// Opens the device and creates the objects that the method needs.
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
        let mut random = [0; 4];
        // Without random numbers, the number is 0. A random number only separates late packets of
        // earlier runs.
        let _ = getrandom::fill(&mut random);
        let psn = u32::from_le_bytes(random) & 0xff_ffff;
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
                let address = SocketAddr::new(address.ip(), 0);
                Unconnected::CmTarget(
                    Listener::bind(address, 1).map_err(|error| cm_error(Stage::Open, &error))?,
                )
            }
        };
        Ok(Self { opening, port, mtu, psn, objects })
    }

    /// Returns the values that the peer needs to connect. The fields for TCP and datagrams are
    /// `None`; the connection of the worker sets them.
    pub(super) fn opened(&self) -> Opened {
        let cm_address = match &self.objects {
            Unconnected::CmTarget(listener) => self
                .opening
                .tcp_address
                .map(|address| SocketAddr::new(address.ip(), listener.port())),
            _ => None,
        };
        let queue_pair = match &self.objects {
            Unconnected::Relay(qp) => qp.number(),
            Unconnected::Unreliable(qp) => qp.number(),
            Unconnected::CmSource | Unconnected::CmTarget(_) | Unconnected::Datagrams => 0,
        };
        Opened {
            queue_pair,
            psn: self.psn,
            lid: self.port.attr.lid,
            mtu: self.mtu.bytes(),
            cm_address,
            tcp_address: None,
            tcp_stream_address: None,
            tcp_failure: None,
            datagrams: None,
        }
    }

    /// Returns the request that opened this end.
    pub(super) fn opening(&self) -> &Opening {
        &self.opening
    }

    /// Returns the path to a remote port.
    pub(super) fn path(&self, gid: GidValue, lid: u16) -> Path {
        path(&self.opening, &self.port, gid, lid)
    }

    /// Moves the queue pair to RTS, or establishes the `rdma_cm` connection.
    pub(super) fn connect(self, to: &Connecting) -> Result<ConnectedEnd, StepError> {
        let deadline = Deadline::after(Duration::from_millis(u64::from(to.deadline_ms)));
        if self.opening.soft_roce {
            let Opening { gid, netdev, .. } = &self.opening;
            own_firewall::let_pass(*gid, to.remote_gid, netdev.as_deref())?;
        }
        let purpose = self.opening.purpose;
        let path = path(&self.opening, &self.port, to.remote_gid, to.remote.lid);
        let mtu = Mtu::from_bytes(to.mtu).ok_or_else(|| bad_mtu(to.mtu));
        let opening = &self.opening;
        let fail = |error| explained(verbs_error(Stage::Connect, &error), opening, to.remote_gid);
        let queue_pair = match self.objects {
            Unconnected::Unreliable(mut qp) => {
                let (remote_qp, receive_psn) = (to.remote.queue_pair, to.remote.psn);
                qp.to_receive(&UnreliableReady { path, mtu: mtu?, remote_qp, receive_psn })
                    .map_err(fail)?;
                qp.to_send(self.psn).map_err(fail)?;
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
                    send_psn: self.psn,
                    max_rd_atomic: 1,
                })
                .map_err(fail)?;
                QueuePairKind::Relay(qp)
            }
            Unconnected::Datagrams => {
                return Err(StepError {
                    detail: "a connection was requested for datagrams, which have none".into(),
                    ..StepError::new(Stage::Connect, Cause::Order)
                });
            }
            Unconnected::CmSource => {
                let remote = to.remote.cm_address.ok_or_else(|| no_address(&self.opening))?;
                let local = self.opening.tcp_address.map(|a| SocketAddr::new(a.ip(), 0));
                let [listener, client] = proofs(&self.opening)?;
                let fail = |error| cm_error(Stage::Connect, &error);
                let end = CmEndpoint::resolve(local, remote, deadline).map_err(fail)?;
                let options = options(to.retries, client, listener);
                QueuePairKind::Cm(establish(end, &self.opening, options, deadline)?)
            }
            Unconnected::CmTarget(requests) => {
                let fail = |error| cm_error(Stage::Connect, &error);
                let [listener, client] = proofs(&self.opening)?;
                let end = requests.next(client, deadline).map_err(fail)?;
                let options = options(to.retries, listener, client);
                QueuePairKind::Cm(establish(end, &self.opening, options, deadline)?)
            }
        };
        Ok(ConnectedEnd { purpose, queue_pair })
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

    /// Returns the purpose of the connection.
    pub(super) fn purpose(&self) -> Purpose {
        self.purpose
    }
}

fn serve<T: Connected>(
    qp: &mut QueuePair<T>,
    purpose: Purpose,
    stop_flag: &StopFlag<'_>,
) -> Result<u64, StepError> {
    match purpose {
        Purpose::Stream => Stream::new(qp).serve(stop_flag),
        Purpose::Messages | Purpose::UnreliableMessages => Exchange::new(qp).serve(stop_flag),
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
    let parts =
        parts(end.device(), opening).map_err(|error| verbs_error(Stage::Connect, &error))?;
    let qp = end.queue_pair(parts, capacity(opening.purpose)).map_err(fail)?;
    prepare(qp, opening.purpose).map_err(|error| verbs_error(Stage::Connect, &error))?;
    Ok(Box::new(end.establish(options, deadline).map_err(fail)?))
}

/// Returns the proof of the listening end and the proof of the connecting end.
fn proofs(opening: &Opening) -> Result<[ConnectionProof; 2], StepError> {
    let proof = opening.proof.ok_or_else(|| StepError {
        detail: "an rdma_cm connection was requested without the numbers of the pair".into(),
        ..StepError::new(Stage::Connect, Cause::Order)
    })?;
    Ok(proof.map(u64::to_le_bytes))
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
    match purpose {
        Purpose::Stream => stream::prepare(qp),
        Purpose::Messages | Purpose::UnreliableMessages => Exchange::prepare(qp),
    }
}

/// Returns the access rights of the peer. Only the target of a stream lets the peer write to its
/// memory.
fn access(opening: &Opening) -> AccessFlags {
    let is_written = opening.purpose == Purpose::Stream && opening.role == Role::Target;
    AccessFlags { remote_read: false, remote_write: is_written }
}

fn capacity(purpose: Purpose) -> Capacity {
    let sends = match purpose {
        Purpose::Stream => stream::SENDS,
        Purpose::Messages | Purpose::UnreliableMessages => exchange::DEPTH,
    };
    Capacity { sends, receives: exchange::DEPTH, inline_bytes: 64 }
}

/// Creates the completion queue, the protection domain and the buffer of a queue pair.
fn parts(device: &Device, opening: &Opening) -> Result<Parts, VerbsError> {
    let Capacity { sends, receives, .. } = capacity(opening.purpose);
    let queue = CompletionQueue::new(device, 2 * (sends + receives), Notify::Never)?;
    let domain = Domain::new(device)?;
    let size = match opening.purpose {
        Purpose::Stream => stream::BUFFER,
        Purpose::Messages | Purpose::UnreliableMessages => exchange::BUFFER,
    };
    let buffer = Buffer::new(&domain, size, access(opening))?;
    Ok(Parts { send_queue: queue.clone(), receive_queue: queue, buffer })
}

fn path(opening: &Opening, port: &PortAttr, gid: GidValue, lid: u16) -> Path {
    let grh = Grh {
        remote: gid.0.octets(),
        local_index: u8::try_from(opening.gid_index).unwrap_or(u8::MAX),
        hop_limit: 64,
        traffic_class: opening.traffic_class,
        flow_label: 0,
    };
    let route = LocalRoute { lid, source_path_bits: 0 };
    // EFA reports no link layer, and finds the peer by its GID alone (`efa_create_ah`,
    // efa_verbs.c).
    let target = if port.is_ethernet() || opening.method == Method::Datagrams {
        RemoteAddress::Grh(grh)
    } else if port.needs_grh() {
        RemoteAddress::LidWithGrh(route, grh)
    } else {
        RemoteAddress::Lid(route)
    };
    Path { port: opening.port, service_level: opening.service_level, target }
}

fn gid_moved(opening: &Opening) -> StepError {
    let (index, device, port, gid) =
        (opening.gid_index, &opening.device, opening.port, opening.gid);
    StepError {
        detail: format!("GID {index} of {device}/{port} is no longer {gid}"),
        fix: Some(KnownFix::RepeatMoved.into()),
        ..StepError::new(Stage::Open, Cause::Errno("ENODATA".into()))
    }
}

/// Returns the failure of a port without a path MTU. On RoCE, a path MTU of 256 bytes needs a
/// network interface with an MTU of 352 bytes. With a smaller MTU, drivers report no path MTU
/// (`iboe_get_mtu`, `include/rdma/ib_addr.h`).
fn no_mtu(opening: &Opening) -> StepError {
    let (device, port) = (&opening.device, opening.port);
    StepError {
        detail: format!(
            "{device}/{port} has no path MTU: the MTU of its network interface is too small"
        ),
        fix: Some(KnownFix::SetMtu.with(&[netdev(opening)])),
        ..StepError::new(Stage::Open, Cause::Mtu)
    }
}

fn no_address(opening: &Opening) -> StepError {
    let (device, port) = (&opening.device, opening.port);
    StepError {
        detail: format!("{device}/{port} has no IP address, which rdma_cm requires"),
        fix: Some(KnownFix::AddAddress.with(&[netdev(opening)])),
        ..StepError::new(Stage::Open, Cause::Errno("EADDRNOTAVAIL".into()))
    }
}

/// Returns the network interface of the port for a hint; a placeholder if it is unknown.
fn netdev(opening: &Opening) -> &str {
    opening.netdev.as_deref().unwrap_or("NETDEV")
}

fn bad_mtu(mtu: u32) -> StepError {
    StepError {
        detail: format!("{mtu} is not a path MTU"),
        ..StepError::new(Stage::Connect, Cause::Order)
    }
}
