//! `BeeGFS` clients and their servers, as the kernel module shows them.
//! `collect::consumers` fills them; `analyse::connections` judges them.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Subnet;

/// `BeeGFS` client (`/proc/fs/beegfs/ID`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeegfsClient {
    /// Identifier: the name of the directory.
    pub id: String,
    /// Directory.
    pub path: String,
    /// Mount point; `None` unless the host has exactly one `BeeGFS` client and one `BeeGFS` mount.
    pub mount_point: Option<String>,
    /// Settings of the file `config`, with their values.
    pub config: Vec<(String, String)>,
    /// Local network interfaces, the preferred ones first; `None` if they could not be read.
    pub interfaces: Option<Vec<BeegfsInterface>>,
    /// Addresses of servers that are reached over TCP only (`connTcpOnlyFilterFile`); `None` if
    /// the setting names no file.
    pub tcp_only: Option<BeegfsFilter>,
    /// Addresses of the only servers that may be used (`connNetFilterFile`); `None` as for
    /// `tcp_only`.
    pub allowed: Option<BeegfsFilter>,
    /// Servers, each with its connections.
    pub nodes: Vec<BeegfsNode>,
}

impl BeegfsClient {
    /// Returns the name of the kernel module: `beegfs`, or `beegfs_NAME` for a renamed module.
    pub fn module(&self) -> &str {
        self.path.rsplit('/').nth(1).unwrap_or("beegfs")
    }

    /// Returns the value of a setting; `None` if the file does not have it.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.config.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the value of a boolean setting; `None` if it is missing or not boolean.
    pub fn switch(&self, name: &str) -> Option<bool> {
        match self.setting(name)? {
            "1" | "true" => Some(true),
            "0" | "false" => Some(false),
            _ => None,
        }
    }
}

/// File of addresses that a setting of a client names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeegfsFilter {
    /// Path of the file.
    pub path: String,
    /// Subnets of the file; `None` if the file could not be read.
    pub subnets: Option<Vec<Subnet>>,
}

/// Network interface that a client may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeegfsInterface {
    /// Name.
    pub name: String,
    /// IP address.
    pub address: Option<IpAddr>,
    /// True if the client can use RDMA on the interface.
    pub is_rdma: bool,
}

words! {
    // The order is that of `beegfs-net`.
    /// Kinds of servers.
    #[derive(PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum BeegfsNodeKind {
        /// Management; a management server uses TCP only.
        Management = "mgmtd",
        /// Metadata.
        Meta = "meta",
        /// Storage.
        Storage = "storage",
    }
    /// Returns the word of the INSTANCE column.
    pub fn word(self);
}

impl BeegfsNodeKind {
    /// Returns the name of the file that lists the servers.
    pub fn file(self) -> &'static str {
        match self {
            Self::Management => "mgmt_nodes",
            Self::Meta => "meta_nodes",
            Self::Storage => "storage_nodes",
        }
    }
}

/// Server, with the connections of a client to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeegfsNode {
    /// Kind of the server.
    pub kind: BeegfsNodeKind,
    /// Name: an identifier in version 7, an alias in version 8.
    pub name: String,
    /// Number.
    pub id: Option<u32>,
    /// Connections by kind; `None` if the client had too little memory to report them.
    pub pools: Option<Vec<BeegfsPool>>,
}

/// Connections of one kind to one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeegfsPool {
    /// Kind: `TCP`, `RDMA`, `SDP`.
    pub kind: String,
    /// Number of connections.
    pub count: u32,
    /// Address of the first idle connection; `None` if the client reports none.
    pub address: Option<IpAddr>,
    /// Port of the first idle connection.
    pub port: Option<u16>,
    /// True if all connections are in use.
    pub is_busy: bool,
    /// True if the client marks the first idle connection as a fallback.
    pub is_fallback: bool,
    /// Text of the client, verbatim.
    pub text: String,
}

/// Attempt to connect, as the kernel log reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeegfsLogLine {
    /// Address of the server.
    pub address: IpAddr,
    /// Port of the server.
    pub port: u16,
    /// Kind: `RDMA`, `TCP`.
    pub kind: String,
    /// True if the attempt succeeded.
    pub is_connected: bool,
    /// True if the client used a fallback route.
    pub is_fallback: bool,
    /// Text of the log line from `Connected` or `Connect failed` on.
    pub text: String,
}
