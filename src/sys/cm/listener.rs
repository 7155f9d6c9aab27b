//! Waits for connection requests of peers.

use std::net::SocketAddr;

use super::endpoint::CmEndpoint;
use super::error::{CmError, CmStep};
use super::event::EventKind;
use super::id::Id;
use super::options::ConnectionProof;
use crate::clock::Deadline;

/// A local address at which peers may connect.
#[derive(Debug)]
pub struct Listener {
    id: Id,
}

impl Listener {
    /// Listens at an address; port 0 lets the kernel choose one.
    pub fn bind(address: SocketAddr, backlog: i32) -> Result<Self, CmError> {
        let id = Id::new(address)?;
        id.bind(address)?;
        id.listen(backlog)?;
        Ok(Self { id })
    }

    /// Returns the port that peers connect to.
    pub fn port(&self) -> u16 {
        self.id.local_port()
    }

    /// Waits for the request of the peer that sends `proof`. Rejects requests without it.
    pub fn next(&self, proof: ConnectionProof, deadline: Deadline) -> Result<CmEndpoint, CmError> {
        loop {
            let object = || self.id.object.clone();
            let Some(taken) = self.id.next(CmStep::Receive, deadline)? else {
                return Err(CmError::TimedOut { step: CmStep::Receive, object: object() });
            };
            match taken.event.kind {
                EventKind::ConnectRequest => {
                    let id = Id::from_request(&self.id, &taken)?;
                    if taken.private_data.starts_with(&proof) {
                        return CmEndpoint::new(id, CmStep::Accept);
                    }
                    // Dropping the id rejects the request.
                }
                EventKind::DeviceRemoval => {
                    let (step, event) = (CmStep::Receive, taken.event);
                    return Err(CmError::Event { step, object: object(), event });
                }
                _ => {}
            }
        }
    }
}
