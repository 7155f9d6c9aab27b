use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Memory that a client of `BeeGFS` pins for RDMA, and makes its servers pin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PinnedMemory {
    /// For one connection, at each end: size of a buffer x their number x 2.
    pub per_connection_bytes: u64,
    /// For the connections that there are with this server.
    pub now_bytes: u64,
    /// For as many as there may be with this server (`connMaxInternodeNum`).
    pub most_bytes: u64,
    /// The same with all servers: what this client may pin.
    pub client_most_bytes: u64,
    /// What a server may pin for all servers and for the clients among the hosts that were asked.
    pub server_most_bytes: u64,
    /// All memory of this host.
    pub host_bytes: Option<u64>,
    /// Size of a buffer, as it is set (`connRDMABufSize`).
    pub buffer_bytes: u64,
    /// Number of buffers for one connection and direction, as it is set (`connRDMABufNum`).
    pub buffers: u64,
    /// Size as recommended for the host's adapter; `None` where size and number are so.
    pub recommended_buffer_bytes: Option<u64>,
    /// Number as recommended; `None` as above.
    pub recommended_buffers: Option<u64>,
}
