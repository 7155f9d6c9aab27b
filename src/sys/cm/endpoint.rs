//! Prepares one end of a connection, and establishes it.

use std::net::SocketAddr;
use std::sync::Arc;

use super::connection::CmConnection;
use super::error::{CmError, CmStep};
use super::event::EventKind;
use super::id::{Id, QueuePairOf};
use super::options::{ConnectOptions, proves};
use crate::clock::Deadline;
use crate::sys::errno::Errno;
use crate::sys::verbs::{Capacity, Device, Maker, Parts, QueuePair, Reliable};

/// One end of a connection that is not yet established. It has a device, and can get a queue
/// pair.
#[derive(Debug)]
pub struct CmEndpoint {
    id: Arc<Id>,
    device: Device,
    side: Side,
    qp: Option<QueuePair<Reliable>>,
}

/// End that requested the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Here,
    Peer,
}

impl CmEndpoint {
    /// Resolves the device and the route to a listening peer. Uses the address `local`, or the
    /// one that the kernel's routes choose.
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

    /// Returns the device. Domain, queues and buffer of the queue pair must be made on it.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the port of the device, from 1.
    pub fn device_port(&self) -> u8 {
        self.id.device_port()
    }

    /// Makes the queue pair, in state INIT.
    ///
    /// Post receives before the connection is established. Otherwise the peer's first message
    /// finds none.
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

    /// Connects to the peer, or accepts the request of the peer.
    ///
    /// Fails with EINVAL if this end has no queue pair. If the listener does not send the proof
    /// of the peer, ends the connection before any message.
    pub fn establish(
        self,
        options: ConnectOptions,
        deadline: Deadline,
    ) -> Result<CmConnection, CmError> {
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
        Ok(CmConnection::new(qp, self.id))
    }

    fn step(&self) -> CmStep {
        match self.side {
            Side::Here => CmStep::Connect,
            Side::Peer => CmStep::Accept,
        }
    }
}
