//! One end of a connection: from the named device to a queue pair that may send.

use std::net::SocketAddr;
use std::time::Duration;

use super::error::{cm_error, verbs_error};
use super::exchange::{self, Exchange};
use crate::clock::Deadline;
use crate::model::probe::{Cause, Connecting, Method, Opened, Opening, Role, Stage, StepError};
use crate::sys::cm::{ConnectOptions, Connection, Endpoint, Listener};
use crate::sys::verbs::{
    Access, Buffer, Capacity, CompletionQueue, Device, Domain, Grh, LocalRoute, Mtu, Notify, Parts,
    Path, PortAttr, QueuePair, ReadyToReceive, ReadyToSend, Reliable, ReliableInit, Target,
    VerbsError,
};

/// Never 7: on soft-RoCE that is for ever (`drivers/infiniband/sw/rxe/rxe_comp.c`).
pub(super) const RETRIES: u8 = 3;

/// 0.64 ms, by the table of IBA 9.7.5.2.8.
const MIN_RNR_TIMER: u8 = 12;

/// An end that is not connected yet.
pub(super) struct OpenEnd {
    opening: Opening,
    port: PortAttr,
    psn: u32,
    stage: Unconnected,
}

enum Unconnected {
    Relay(Box<QueuePair<Reliable>>),
    CmSource,
    CmTarget(Listener),
}

/// An end that may send.
pub(super) enum ConnectedEnd {
    Relay(Box<QueuePair<Reliable>>),
    Cm(Box<Connection>),
}

impl OpenEnd {
    /// Opens the device and makes what the method needs.
    pub(super) fn open(opening: Opening) -> Result<Self, StepError> {
        let fail = |error| verbs_error(Stage::Open, &error);
        let device = Device::open(&opening.device).map_err(fail)?;
        let port = device.port(opening.port).map_err(fail)?;
        let mut random = [0; 4];
        // Without randomness any number will do: it only keeps late packets of old runs apart.
        let _ = getrandom::fill(&mut random);
        let psn = u32::from_le_bytes(random) & 0xff_ffff;
        let stage = match (opening.method, opening.role) {
            (Method::Relay, _) => {
                let gid = device.gid(opening.port, opening.gid_index).map_err(fail)?;
                if gid != opening.gid.0.octets() {
                    return Err(gid_moved(&opening));
                }
                let parts = parts(&device).map_err(fail)?;
                let mut qp = QueuePair::<Reliable>::new(parts, capacity()).map_err(fail)?;
                let access = Access::default();
                qp.to_init(ReliableInit { port: opening.port, pkey_index: 0, access })
                    .map_err(fail)?;
                Exchange::prepare(&mut qp).map_err(fail)?;
                Unconnected::Relay(Box::new(qp))
            }
            (Method::Cm, Role::Source) => Unconnected::CmSource,
            (Method::Cm, Role::Target) => {
                let address = opening.tcp_address.ok_or_else(|| no_address(&opening))?;
                let address = SocketAddr::new(address.ip(), 0);
                Unconnected::CmTarget(
                    Listener::bind(address, 1).map_err(|error| cm_error(Stage::Open, &error))?,
                )
            }
        };
        Ok(Self { opening, port, psn, stage })
    }

    /// What the peer must know; `tcp_address` is where the TCP echo waits.
    pub(super) fn opened(&self, tcp_address: Option<SocketAddr>) -> Opened {
        let cm_address = match &self.stage {
            Unconnected::CmTarget(listener) => self
                .opening
                .tcp_address
                .map(|address| SocketAddr::new(address.ip(), listener.port())),
            _ => None,
        };
        let queue_pair = match &self.stage {
            Unconnected::Relay(qp) => qp.number(),
            _ => 0,
        };
        Opened {
            queue_pair,
            psn: self.psn,
            lid: self.port.lid,
            mtu: self.port.active_mtu().map_or(0, Mtu::bytes),
            cm_address,
            tcp_address,
        }
    }

    /// Brings the queue pair to RTS, or makes the `rdma_cm` connection.
    pub(super) fn connect(self, to: &Connecting) -> Result<ConnectedEnd, StepError> {
        let deadline = Deadline::after(Duration::from_millis(u64::from(to.deadline_ms)));
        match self.stage {
            Unconnected::Relay(mut qp) => {
                let fail = |error| verbs_error(Stage::Connect, &error);
                let path = path(&self.opening, &self.port, to);
                let mtu = Mtu::from_bytes(to.mtu).ok_or_else(|| bad_mtu(to.mtu))?;
                qp.to_receive(&ReadyToReceive {
                    path,
                    mtu,
                    remote_qp: to.remote.queue_pair,
                    receive_psn: to.remote.psn,
                    max_dest_rd_atomic: 1,
                    min_rnr_timer: MIN_RNR_TIMER,
                })
                .map_err(fail)?;
                qp.to_send(ReadyToSend {
                    timeout: to.ack_timeout,
                    retry_count: RETRIES,
                    rnr_retry: RETRIES,
                    send_psn: self.psn,
                    max_rd_atomic: 1,
                })
                .map_err(fail)?;
                Ok(ConnectedEnd::Relay(qp))
            }
            Unconnected::CmSource => {
                let remote = to.remote.cm_address.ok_or_else(|| no_address(&self.opening))?;
                let local = self.opening.tcp_address.map(|a| SocketAddr::new(a.ip(), 0));
                let fail = |error| cm_error(Stage::Connect, &error);
                let end = Endpoint::resolve(local, remote, deadline).map_err(fail)?;
                establish(end, deadline)
            }
            Unconnected::CmTarget(listener) => {
                let fail = |error| cm_error(Stage::Connect, &error);
                let end = listener.next(deadline).map_err(fail)?;
                establish(end, deadline)
            }
        }
    }
}

impl ConnectedEnd {
    /// The conversation over this end.
    pub(super) fn exchange(&mut self) -> Exchange<'_> {
        Exchange::new(match self {
            Self::Relay(qp) => qp,
            Self::Cm(connection) => connection.qp(),
        })
    }
}

fn establish(mut end: Endpoint, deadline: Deadline) -> Result<ConnectedEnd, StepError> {
    let fail = |error| cm_error(Stage::Connect, &error);
    let parts = parts(end.device()).map_err(|error| verbs_error(Stage::Connect, &error))?;
    let qp = end.queue_pair(parts, capacity()).map_err(fail)?;
    Exchange::prepare(qp).map_err(|error| verbs_error(Stage::Connect, &error))?;
    let options = ConnectOptions { retry_count: RETRIES, rnr_retry: RETRIES };
    let connection = end.establish(options, deadline).map_err(fail)?;
    Ok(ConnectedEnd::Cm(Box::new(connection)))
}

fn capacity() -> Capacity {
    Capacity { sends: exchange::DEPTH, receives: exchange::DEPTH, inline_bytes: 64 }
}

fn parts(device: &Device) -> Result<Parts, VerbsError> {
    let queue = CompletionQueue::new(device, 4 * exchange::DEPTH, Notify::Never)?;
    let domain = Domain::new(device)?;
    let buffer = Buffer::new(&domain, exchange::BUFFER, Access::default())?;
    Ok(Parts { send_queue: queue.clone(), receive_queue: queue, buffer })
}

fn path(opening: &Opening, port: &PortAttr, to: &Connecting) -> Path {
    let grh = Grh {
        remote: to.remote_gid.0.octets(),
        local_index: u8::try_from(opening.gid_index).unwrap_or(u8::MAX),
        hop_limit: 64,
        traffic_class: 0,
        flow_label: 0,
    };
    let route = LocalRoute { lid: to.remote.lid, source_path_bits: 0 };
    let target = if port.is_ethernet() {
        Target::Grh(grh)
    } else if port.needs_grh() {
        Target::LidWithGrh(route, grh)
    } else {
        Target::Lid(route)
    };
    Path { port: opening.port, service_level: 0, target }
}

fn gid_moved(opening: &Opening) -> StepError {
    let (index, device, port, gid) =
        (opening.gid_index, &opening.device, opening.port, opening.gid);
    StepError {
        detail: format!("GID {index} of {device}/{port} is no longer {gid}"),
        fix: Some("an address was removed or moved: ask again".into()),
        ..StepError::new(Stage::Open, Cause::Errno("ENODATA".into()))
    }
}

fn no_address(opening: &Opening) -> StepError {
    let (device, port) = (&opening.device, opening.port);
    StepError {
        detail: format!("{device}/{port} has no IP address, and rdma_cm needs one"),
        fix: Some("give its interface an address: ip addr add ADDRESS/PREFIX dev NETDEV".into()),
        ..StepError::new(Stage::Open, Cause::Errno("EADDRNOTAVAIL".into()))
    }
}

fn bad_mtu(mtu: u32) -> StepError {
    StepError {
        detail: format!("{mtu} is no path MTU"),
        ..StepError::new(Stage::Connect, Cause::Order)
    }
}
