//! SMB servers of a client.
//! `collect::consumers` fills them; `analyse::connections` judges them.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// SMB server (`/proc/fs/cifs/DebugData`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SmbServer {
    /// Name of the server.
    pub host: String,
    /// True if the client reaches the server over RDMA.
    pub is_rdma: bool,
    /// True if the RDMA connection is established; `None` for TCP.
    pub is_connected: Option<bool>,
    /// Addresses of the RDMA-capable interfaces of the server.
    pub rdma_addresses: Vec<IpAddr>,
    /// True if the kernel of this host supports SMB Direct.
    pub kernel_can: bool,
}
