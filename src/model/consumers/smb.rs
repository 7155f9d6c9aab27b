use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A server of SMB (`/proc/fs/cifs/DebugData`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SmbServer {
    /// Name of the server.
    pub host: String,
    /// Whether it is reached over RDMA.
    pub is_rdma: bool,
    /// Whether that works; `None` for TCP.
    pub is_connected: Option<bool>,
    /// Addresses of interfaces of the server that can do RDMA.
    pub rdma_addresses: Vec<IpAddr>,
    /// Whether this kernel can.
    pub kernel_can: bool,
}
