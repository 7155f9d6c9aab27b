//! Ends of a connection by name and address.
//! `analyse` fills them; `query` and `render` show them.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::GidValue;

/// Other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Peer {
    /// Name in the consumer: the name of a server, an NQN, an IQN.
    pub name: Option<String>,
    /// IP address.
    pub address: Option<IpAddr>,
    /// IP port.
    pub port: Option<u16>,
    /// GID, on InfiniBand without IP.
    pub gid: Option<GidValue>,
    /// Host of the run that is the peer; `None` if no host of the run matches.
    pub host: Option<String>,
    /// Source of the identity of the peer; `None` if the peer is unknown.
    pub known_by: Option<KnownBy>,
}

/// Source of the identity of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// List of the consumer.
    Consumer,
    /// Address in the connection manager.
    ConnectionManager,
    /// Queue pair of another host with the mirrored queue pair numbers and packet sequence
    /// numbers.
    QueuePairs,
    /// Inference: the only host to which the process has TCP connections.
    OutOfBand,
}

/// End of a connection by address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct End {
    /// IP address.
    pub address: Option<IpAddr>,
    /// IP port.
    pub port: Option<u16>,
}
