use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::GidValue;

/// The other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Peer {
    /// What the consumer calls it: a server's name, an NQN, an IQN.
    pub name: Option<String>,
    /// Its IP address.
    pub address: Option<IpAddr>,
    /// Its port.
    pub port: Option<u16>,
    /// Its GID, on InfiniBand without IP.
    pub gid: Option<GidValue>,
    /// The host of the fleet that it is, where all were asked.
    pub host: Option<String>,
    /// How it became known; `None` while it is not.
    pub known_by: Option<KnownBy>,
}

/// How the peer of a connection became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// The consumer's own list says so.
    Consumer,
    /// The connection manager has the address.
    ConnectionManager,
    /// A queue pair of another host has the mirrored numbers and packet sequence numbers.
    QueuePairs,
    /// The only host that the same process has TCP connections with.
    OutOfBand,
}

/// An end by address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct End {
    /// IP address.
    pub address: Option<IpAddr>,
    /// Port.
    pub port: Option<u16>,
}
