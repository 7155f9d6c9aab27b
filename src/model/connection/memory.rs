//! Memory that a `BeeGFS` client pins for RDMA.
//! `analyse` computes it from the settings of the client; `query` shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Memory that a `BeeGFS` client and its servers pin for RDMA, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PinnedMemory {
    /// Bytes per connection, at each end: buffer size x number of buffers x 2.
    pub per_connection_bytes: u64,
    /// Bytes for the existing connections to this server.
    pub now_bytes: u64,
    /// Limit for this server: bytes for `connMaxInternodeNum` connections.
    pub most_bytes: u64,
    /// Limit of this client: bytes for all servers.
    pub client_most_bytes: u64,
    /// Limit of a server: bytes for all servers, and for the clients among the queried hosts.
    pub server_most_bytes: u64,
    /// Memory of this host; `None` if it could not be read.
    pub host_bytes: Option<u64>,
    /// Configured size of a buffer (`connRDMABufSize`).
    pub buffer_bytes: u64,
    /// Configured number of buffers per connection and direction (`connRDMABufNum`).
    pub buffers: u64,
    /// Recommended buffer size for the adapter; `None` if size and number are as recommended, or
    /// if no recommendation is known.
    pub recommended_buffer_bytes: Option<u64>,
    /// Recommended number of buffers; `None` as for `recommended_buffer_bytes`.
    pub recommended_buffers: Option<u64>,
}
