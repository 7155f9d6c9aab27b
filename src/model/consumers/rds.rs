//! RDS connections.
//! `collect::consumers` fills them; `analyse::connections` judges them.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Connection of Reliable Datagram Sockets (`struct rds_info_connection`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RdsConnection {
    /// Local address.
    pub local: IpAddr,
    /// Remote address.
    pub remote: IpAddr,
    /// Transport: `infiniband`, `tcp`, `loopback`.
    pub transport: String,
    /// True if the connection is established.
    pub is_connected: bool,
    /// Type of service. Each type of service has its own connection.
    pub tos: u8,
}
