//! Channels of one host: TCP sockets, and queue pairs with their connection identifiers.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use crate::model::{
    CmAddress, CmId, End, Object, Owner, QueuePair, RdmaChannel, Resource, TcpChannel, TcpSocket,
};

/// A queue pair, a connection identifier, or both if they belong to one connection.
pub(super) struct Channel<'report> {
    pub(super) device: &'report str,
    /// Kernel module that owns the channel. A queue pair of the connection manager counts for the
    /// module that requested it.
    pub(super) module: Option<&'report str>,
    pub(super) pid: Option<u32>,
    pub(super) local: Option<SocketAddr>,
    pub(super) remote: Option<SocketAddr>,
    qp: Option<&'report QueuePair>,
    cm_id: Option<&'report CmId>,
}

impl<'report> Channel<'report> {
    fn new(resource: &'report Resource) -> Self {
        let (module, pid) = match &resource.owner {
            Some(Owner::Kernel { name }) => (Some(name.as_str()), None),
            Some(Owner::Process { pid, .. }) => (None, Some(*pid)),
            None => (None, None),
        };
        let device = resource.device.as_str();
        Self { device, module, pid, local: None, remote: None, qp: None, cm_id: None }
    }

    pub(super) fn is_of(&self, modules: &[&str]) -> bool {
        self.module.is_some_and(|module| modules.contains(&module))
    }

    pub(super) fn qp_type(&self) -> Option<&str> {
        let of_qp = self.qp.and_then(|qp| qp.qp_type.as_deref());
        of_qp.or_else(|| self.cm_id?.qp_type.as_deref())
    }

    pub(super) fn qp_state(&self) -> Option<&str> {
        self.qp?.state.as_deref()
    }

    fn cm_state(&self) -> Option<&str> {
        self.cm_id?.state.as_deref()
    }

    /// True if queue pair and connection identifier are in states that allow traffic.
    pub(super) fn is_up(&self) -> bool {
        self.qp_state().is_none_or(|state| state == "RTS")
            && self.cm_state().is_none_or(|state| state == "CONNECT")
    }

    /// True if the queue pair receives and never sends: the server of `ib_write_bw` stays in RTR.
    /// A queue pair of the connection manager is in RTR only during connection setup.
    pub(super) fn only_receives(&self) -> bool {
        self.qp_state() == Some("RTR") && self.cm_id.is_none() && self.numbers().is_some()
    }

    /// True if the connection worked before and is broken.
    pub(super) fn is_broken(&self) -> bool {
        matches!(self.qp_state(), Some("ERR" | "SQE"))
            || matches!(self.cm_state(), Some("DISCONNECT" | "DEVICE_REMOVAL"))
    }

    /// Returns the local and the remote queue pair number of a connected queue pair.
    pub(super) fn numbers(&self) -> Option<(u32, u32)> {
        let qp = self.qp?;
        Some((qp.lqpn?, qp.rqpn.filter(|rqpn| *rqpn != 0)?))
    }

    /// Returns the numbers of the receive queue and the send queue.
    pub(super) fn sequence_numbers(&self) -> (Option<u32>, Option<u32>) {
        (self.qp.and_then(|qp| qp.rq_psn), self.qp.and_then(|qp| qp.sq_psn))
    }

    pub(super) fn shown(&self) -> RdmaChannel {
        let (qp, cm_id) = (self.qp, self.cm_id);
        let (rq_psn, sq_psn) = self.sequence_numbers();
        RdmaChannel {
            device: self.device.to_owned(),
            port: qp.and_then(|qp| qp.port).or_else(|| cm_id?.port),
            lqpn: qp.and_then(|qp| qp.lqpn).or_else(|| cm_id?.lqpn),
            rqpn: qp.and_then(|qp| qp.rqpn),
            qp_type: self.qp_type().map(str::to_owned),
            qp_state: self.qp_state().map(str::to_owned),
            cm_state: self.cm_state().map(str::to_owned),
            rq_psn,
            sq_psn,
        }
    }
}

fn ip_end(address: Option<CmAddress>) -> Option<SocketAddr> {
    match address? {
        CmAddress::Ip(end) => Some(SocketAddr::new(end.ip().to_canonical(), end.port())),
        CmAddress::Gid(_) => None,
    }
}

pub(super) fn count<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}

pub(super) fn connected(channels: &[&Channel<'_>]) -> u32 {
    u32::try_from(channels.iter().filter(|one| one.is_up()).count()).unwrap_or(u32::MAX)
}

/// Returns queue pairs with their connection identifiers, and the ports with RDMA listeners.
pub(super) fn channels(resources: &[Resource]) -> (Vec<Channel<'_>>, HashSet<u16>) {
    let mut by_number: HashMap<(&str, u32), usize> = HashMap::new();
    let mut all: Vec<Channel<'_>> = Vec::new();
    for resource in resources {
        let Object::Qp(qp) = &resource.object else { continue };
        if matches!(qp.qp_type.as_deref(), Some("GSI" | "SMI")) {
            continue;
        }
        if let Some(lqpn) = qp.lqpn {
            by_number.insert((&resource.device, lqpn), all.len());
        }
        all.push(Channel { qp: Some(qp), ..Channel::new(resource) });
    }
    let mut listeners = HashSet::new();
    for resource in resources {
        let Object::CmId(cm_id) = &resource.object else { continue };
        let (local, remote) = (ip_end(cm_id.source), ip_end(cm_id.destination));
        if cm_id.state.as_deref() == Some("LISTEN") {
            listeners.extend(local.map(|end| end.port()));
            continue;
        }
        let of_id = Channel { local, remote, cm_id: Some(cm_id), ..Channel::new(resource) };
        let known = cm_id.lqpn.and_then(|lqpn| by_number.get(&(of_id.device, lqpn)).copied());
        if let Some(channel) = known.and_then(|at| all.get_mut(at)) {
            // The connection manager owns the queue pair; the identifier has the real owner.
            let (module, pid) = (of_id.module.or(channel.module), of_id.pid.or(channel.pid));
            *channel = Channel { module, pid, qp: channel.qp, ..of_id };
        } else if remote.is_some_and(|remote| !remote.ip().is_unspecified()) {
            // An identifier without a peer is not yet connected.
            all.push(of_id);
        }
    }
    (all, listeners)
}

pub(super) fn tcp_channel(socket: &TcpSocket, is_control: bool) -> TcpChannel {
    let end = |end: SocketAddr| End { address: Some(end.ip()), port: Some(end.port()) };
    TcpChannel {
        local: end(socket.local),
        remote: end(socket.remote),
        sent_bytes: socket.sent_bytes,
        received_bytes: socket.received_bytes,
        retransmitted: socket.retransmitted,
        is_control,
    }
}
