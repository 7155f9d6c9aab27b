use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Subnet;

/// A client of `BeeGFS` (`/proc/fs/beegfs/ID`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeegfsClient {
    /// Its identifier, which is the directory's name.
    pub id: String,
    /// The directory.
    pub path: String,
    /// Where it is mounted; `None` where that cannot be told from other mounts.
    pub mount_point: Option<String>,
    /// Settings, as `config` has them: those about connections.
    pub config: Vec<(String, String)>,
    /// Own interfaces, the preferred ones first; `None` where they could not be read.
    pub interfaces: Option<Vec<BeegfsInterface>>,
    /// Addresses of servers that are to be reached by TCP only (`connTcpOnlyFilterFile`); `None`
    /// where no such file is named.
    pub tcp_only: Option<BeegfsFilter>,
    /// The only addresses of servers that may be used at all (`connNetFilterFile`), as above.
    pub allowed: Option<BeegfsFilter>,
    /// The servers, each with its connections.
    pub nodes: Vec<BeegfsNode>,
}

impl BeegfsClient {
    /// Name of its kernel module: `beegfs`, or `beegfs_NAME` for one that was renamed.
    #[must_use]
    pub fn module(&self) -> &str {
        self.path.rsplit('/').nth(1).unwrap_or("beegfs")
    }

    /// A setting.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.config.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A setting that is on or off.
    #[must_use]
    pub fn switch(&self, name: &str) -> Option<bool> {
        match self.setting(name)? {
            "1" | "true" => Some(true),
            "0" | "false" => Some(false),
            _ => None,
        }
    }
}

/// A file of addresses that a client's settings name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeegfsFilter {
    /// The file.
    pub path: String,
    /// Its subnets; `None` where it could not be read.
    pub subnets: Option<Vec<Subnet>>,
}

/// An interface that a client would use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeegfsInterface {
    /// Name.
    pub name: String,
    /// Address.
    pub address: Option<IpAddr>,
    /// Whether it is one for RDMA.
    pub is_rdma: bool,
}

/// Kinds of servers.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BeegfsNodeKind {
    /// Management, which uses TCP always.
    Management,
    /// Metadata.
    Meta,
    /// Storage.
    Storage,
}

impl BeegfsNodeKind {
    /// All of them, in the order of `beegfs-net`.
    pub const ALL: [Self; 3] = [Self::Management, Self::Meta, Self::Storage];

    /// The file that lists them.
    #[must_use]
    pub fn file(self) -> &'static str {
        match self {
            Self::Management => "mgmt_nodes",
            Self::Meta => "meta_nodes",
            Self::Storage => "storage_nodes",
        }
    }

    /// The word of the INSTANCE column.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Management => "mgmtd",
            Self::Meta => "meta",
            Self::Storage => "storage",
        }
    }
}

/// A server, and the connections that a client has with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeegfsNode {
    /// What it is.
    pub kind: BeegfsNodeKind,
    /// Its name: an identifier in version 7, an alias in version 8.
    pub name: String,
    /// Its number.
    pub id: Option<u32>,
    /// Connections of one kind each; `None` where the client had no memory to tell.
    pub pools: Option<Vec<BeegfsPool>>,
}

/// The connections of one kind with one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeegfsPool {
    /// `TCP`, `RDMA`, `SDP`.
    pub kind: String,
    /// How many.
    pub count: u32,
    /// Address of the first that is idle.
    pub address: Option<IpAddr>,
    /// Its port.
    pub port: Option<u16>,
    /// Whether all are in use.
    pub is_busy: bool,
    /// Whether the first that is idle is marked as a fallback.
    pub is_fallback: bool,
    /// The text, as it stands there.
    pub text: String,
}

/// What the kernel's log says of an attempt to connect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeegfsLogLine {
    /// Address of the server.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// `RDMA`, `TCP`.
    pub kind: String,
    /// Whether it succeeded.
    pub is_connected: bool,
    /// Whether it was not the first choice.
    pub is_fallback: bool,
    /// The line, without what comes before the client's words.
    pub text: String,
}
