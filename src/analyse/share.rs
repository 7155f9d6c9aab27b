//! How much goes by RDMA, and how much by TCP.

use crate::model::{Connection, ConnectionVerdict, Transport};

/// What carries some connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// By RDMA alone.
    pub rdma: u32,
    /// By TCP.
    pub tcp: u32,
    /// Those of them that should be RDMA.
    pub fallen: u32,
}

impl Share {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            rdma: self.rdma.saturating_add(other.rdma),
            tcp: self.tcp.saturating_add(other.tcp),
            fallen: self.fallen.saturating_add(other.fallen),
        }
    }

    /// The share of some connections.
    #[must_use]
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
