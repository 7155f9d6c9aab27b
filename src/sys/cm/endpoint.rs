//! Prepares one end of a connection, and establishes it.

use std::net::SocketAddr;
use std::sync::Arc;

use super::connection::CmConnection;
use super::error::{CmError, CmStep};
use super::event::EventKind;
use super::id::{Id, QueuePairOf};
use super::options::ConnectOptions;
use crate::clock::Deadline;
use crate::sys::errno::Errno;
use crate::sys::verbs::{Capacity, Device, Maker, Parts, QueuePair, Reliable};

/// One end of a connection that is not yet established.
#[derive(Debug)]
pub struct CmEndpoint {
    id: Arc<Id>,
    device: Device,
    /// [`CmStep::Connect`] if this end requests the connection, else [`CmStep::Accept`].
    step: CmStep,
    qp: Option<QueuePair<Reliable>>,
}

impl CmEndpoint {
    /// Resolves device and route to a listening peer, from `local` or by the kernel's routes.
    pub fn resolve(
        local: Option<SocketAddr>,
        remote: SocketAddr,
        deadline: Deadline,
    ) -> Result<Self, CmError> {
        let id = Id::new(remote)?;
        id.resolve(local, remote, deadline)?;
        Self::new(id, CmStep::Connect)
    }

    pub(super) fn new(id: Id, step: CmStep) -> Result<Self, CmError> {
        let id = Arc::new(id);
        let device = id.device()?;
        Ok(Self { id, device, step, qp: None })
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
    /// Post receives before the connection is established: the peer's first message needs one.
    pub fn queue_pair(
        &mut self,
        parts: Parts,
        capacity: Capacity,
    ) -> Result<&mut QueuePair<Reliable>, CmError> {
        if self.qp.is_some() {
            return Err(self.id.error(self.step, Errno::EXISTS));
        }
        if !parts.is_on(&self.device) {
            return Err(self.id.error(self.step, Errno::INVALID));
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
        let qp = self.qp.ok_or_else(|| self.id.error(self.step, Errno::INVALID))?;
        self.id.establish(self.step, &options)?;
        let private_data = self.id.expect(self.step, EventKind::Established, deadline)?;
        if self.step == CmStep::Connect && !private_data.starts_with(&options.proof_of_peer) {
            return Err(CmError::NotThePeer { object: self.id.object.clone() });
        }
        Ok(CmConnection { qp, id: self.id })
    }
}
