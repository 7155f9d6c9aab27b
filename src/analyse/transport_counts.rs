//! Counts the connections of a host by transport, for the rows of `top` and its title.

use crate::model::{Connection, ConnectionVerdict, Transport};

/// Numbers of connections by transport. Connections within one machine (SMC-D), without a
/// transport, or with an unknown transport are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransportCounts {
    /// Connections whose data travels only over RDMA.
    pub rdma: u32,
    /// Connections over TCP only.
    pub tcp: u32,
    /// Connections over RDMA and TCP.
    pub mixed: u32,
    /// Connections over UDP.
    pub udp: u32,
    /// Connections with a confirmed fallback from RDMA. `tcp`, `mixed` or `udp` counts them, too.
    pub fallen: u32,
}

impl TransportCounts {
    /// Returns the sums of both counts.
    pub fn and(self, other: Self) -> Self {
        Self {
            rdma: self.rdma.saturating_add(other.rdma),
            tcp: self.tcp.saturating_add(other.tcp),
            mixed: self.mixed.saturating_add(other.mixed),
            udp: self.udp.saturating_add(other.udp),
            fallen: self.fallen.saturating_add(other.fallen),
        }
    }

    /// Returns the number of connections over RDMA, TCP or both, and over UDP.
    pub fn all(self) -> u32 {
        [self.tcp, self.mixed, self.udp].into_iter().fold(self.rdma, u32::saturating_add)
    }

    /// Counts the connections of a list.
    pub fn of(connections: &[Connection]) -> Self {
        let count = |is_counted: &dyn Fn(&&Connection) -> bool| {
            u32::try_from(connections.iter().filter(is_counted).count()).unwrap_or(u32::MAX)
        };
        Self {
            rdma: count(&|one| one.transport.is_rdma()),
            tcp: count(&|one| one.transport == Transport::Tcp),
            mixed: count(&|one| one.transport == Transport::Mixed),
            udp: count(&|one| one.transport == Transport::Udp),
            fallen: count(&|one| one.verdict == ConnectionVerdict::FallbackConfirmed),
        }
    }
}

#[test]
fn each_connection_is_counted_by_its_transport() {
    let connection = |transport: &str, verdict: &str| -> Connection {
        let json = serde_json::json!({
            "id": "1",
            "consumer": { "kind": "beegfs", "instance": "/mnt", "role": "client", "pid": null },
            "peer": {
                "name": null, "address": null, "port": null, "gid": null, "host": null,
                "known_by": null,
            },
            "local": null, "transport": transport,
            "channels": { "rdma": 1, "tcp": 1, "is_busy": null },
            "state": "up", "rdma": [], "tcp": [],
            "requested": { "transport": "rdma", "source": null },
            "verdict": verdict, "cause": null, "evidence": [], "missing": [], "memory": null,
        });
        serde_json::from_value(json).expect("a connection")
    };
    let all = [
        connection("rdma", "ok"),
        connection("mixed", "fallback_confirmed"),
        connection("udp", "fallback_confirmed"),
        connection("smc_d", "ok"),
        connection("none", "idle"),
    ];
    let counts = TransportCounts::of(&all);
    assert_eq!(counts, TransportCounts { rdma: 1, tcp: 0, mixed: 1, udp: 1, fallen: 2 });
    assert_eq!((counts.all(), counts.and(counts).all()), (3, 6));
}
