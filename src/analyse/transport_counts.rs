//! Number of connections by transport.

use crate::model::{Connection, ConnectionVerdict, Transport};

/// Number of connections by transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransportCounts {
    /// Connections over RDMA only.
    pub rdma: u32,
    /// Connections over TCP.
    pub tcp: u32,
    /// Connections with a confirmed fallback from RDMA.
    pub fallen: u32,
}

impl TransportCounts {
    /// Returns the sum.
    pub fn and(self, other: Self) -> Self {
        Self {
            rdma: self.rdma.saturating_add(other.rdma),
            tcp: self.tcp.saturating_add(other.tcp),
            fallen: self.fallen.saturating_add(other.fallen),
        }
    }

    /// Counts the connections.
    pub fn of(connections: &[Connection]) -> Self {
        let count = |is_it: &dyn Fn(&&Connection) -> bool| {
            u32::try_from(connections.iter().filter(is_it).count()).unwrap_or(u32::MAX)
        };
        Self {
            rdma: count(&|one| one.transport.is_rdma()),
            tcp: count(&|one| one.transport == Transport::Tcp),
            fallen: count(&|one| one.verdict == ConnectionVerdict::FallbackConfirmed),
        }
    }
}
