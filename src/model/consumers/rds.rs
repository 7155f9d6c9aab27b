use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A connection of reliable datagram sockets (`struct rds_info_connection`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RdsConnection {
    /// The own address.
    pub local: IpAddr,
    /// The other.
    pub remote: IpAddr,
    /// `infiniband`, `tcp`, `loopback`.
    pub transport: String,
    /// Whether it is connected.
    pub is_connected: bool,
    /// Type of service, which makes another connection.
    pub tos: u8,
}
