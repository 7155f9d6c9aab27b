//! One end of a connection that is not made yet.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use super::connection::Connection;
use super::error::{CmError, Step};
use super::event::EventKind;
use super::id::{Id, QueuePairOf};
use crate::clock::Deadline;
use crate::sys::errno::Errno;
use crate::sys::verbs::{Capacity, Device, Maker, Parts, QueuePair, Reliable};

/// One end of a connection that is not made yet: it has a device, and can be given a queue pair.
pub struct Endpoint {
    id: Arc<Id>,
    device: Device,
    side: Side,
    qp: Option<QueuePair<Reliable>>,
}

/// Who began.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Here,
    Peer,
}

/// Bytes of a proof.
pub(super) const PROOF: u8 = 8;

/// Private data by which one end of a connection proves that it is the requested peer.
pub type Proof = [u8; PROOF as usize];

/// Options of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectOptions {
    /// Retries without an acknowledgement; 7 never ends on soft-RoCE. Without meaning on iWARP.
    pub retry_count: u8,
    /// Retries after "receiver not ready"; 7 is for ever. Without meaning on iWARP.
    pub rnr_retry: u8,
    /// Proof that this end sends.
    pub proof: Proof,
    /// Proof of the listening end: without it, no connection. The listening end compares the
    /// proof of its peer before (`Listener::next`).
    pub proof_of_peer: Proof,
}

/// True if private data begin with a proof.
pub(super) fn proves(private_data: &[u8], proof: Proof) -> bool {
    private_data.starts_with(&proof)
}

impl Endpoint {
    /// Finds the device and the way to a listening peer, from `local` or from where the kernel's
    /// routes say.
    pub fn resolve(
        local: Option<SocketAddr>,
        remote: SocketAddr,
        deadline: Deadline,
    ) -> Result<Self, CmError> {
        let id = Id::new(remote)?;
        id.resolve(local, remote, deadline)?;
        Self::on(id, Side::Here)
    }

    pub(super) fn requested(id: Id) -> Result<Self, CmError> {
        Self::on(id, Side::Peer)
    }

    fn on(id: Id, side: Side) -> Result<Self, CmError> {
        let id = Arc::new(id);
        let device = id.device()?;
        Ok(Self { id, device, side, qp: None })
    }

    /// The device: domain, queues and buffer of the queue pair must be made on it.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The device's port.
    #[must_use]
    pub fn device_port(&self) -> u8 {
        self.id.device_port()
    }

    /// Makes the queue pair, in state INIT: receives are posted to it before the connection is
    /// made, or the peer's first message finds none.
    pub fn queue_pair(
        &mut self,
        parts: Parts,
        capacity: Capacity,
    ) -> Result<&mut QueuePair<Reliable>, CmError> {
        if self.qp.is_some() {
            return Err(self.id.error(self.step(), Errno::EXISTS));
        }
        if !parts.is_on(&self.device) {
            return Err(self.id.error(self.step(), Errno::INVALID));
        }
        let maker = Maker::Cm(Box::new(QueuePairOf(Arc::clone(&self.id))));
        Ok(self.qp.insert(QueuePair::made_by(maker, parts, capacity)?))
    }

    /// Connects to the peer, or accepts the peer's request, whichever this end is for.
    ///
    /// EINVAL when it has no queue pair yet. A connection with a listener that does not send the
    /// proof of the peer is ended, before any message.
    pub fn establish(
        self,
        options: ConnectOptions,
        deadline: Deadline,
    ) -> Result<Connection, CmError> {
        let step = self.step();
        let qp = self.qp.ok_or_else(|| self.id.error(step, Errno::INVALID))?;
        match self.side {
            Side::Here => self.id.connect(&options)?,
            Side::Peer => self.id.accept(&options)?,
        }
        let private_data = self.id.expect(step, EventKind::Established, deadline)?;
        if self.side == Side::Here && !proves(&private_data, options.proof_of_peer) {
            return Err(CmError::NotThePeer { object: self.id.object.clone() });
        }
        Ok(Connection::new(qp, self.id))
    }

    fn step(&self) -> Step {
        match self.side {
            Side::Here => Step::Connect,
            Side::Peer => Step::Accept,
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Endpoint({})", self.id.object)
    }
}
