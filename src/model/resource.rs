//! Objects of RDMA devices that processes and the kernel hold.
//! `collect` lists them by RDMA netlink; `query` and `analyse` read them.

use std::net::{IpAddr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::GidValue;

/// Object of an RDMA device that a process or the kernel holds, as RDMA netlink lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resource {
    /// Kernel name of the device.
    pub device: String,
    /// Holder of the object; `None` if the kernel does not report it (a process of another PID
    /// namespace).
    pub owner: Option<Owner>,
    /// Object.
    #[serde(flatten)]
    pub object: Object,
}

/// Holder of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// Process.
    Process {
        /// Process ID in the PID namespace of the reader. If a thread created the object and has
        /// ended, it is the thread ID.
        pid: u32,
        /// Name of the process; `None` if the process has ended.
        name: Option<String>,
    },
    /// Part of the kernel, by the name of its module: `ib_core`, `nvme_rdma`.
    Kernel {
        /// Name of the module.
        name: String,
    },
}

/// Kinds of objects, each with its values. All numbers are assigned by the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Object {
    /// Queue pair.
    Qp(QueuePair),
    /// Connection identifier of `rdma_cm`.
    CmId(CmId),
    /// Completion queue.
    Cq {
        /// Number of the completion queue.
        cqn: Option<u32>,
        /// Number of entries that fit in the queue.
        entries: Option<u32>,
        /// Number of queues that use it.
        users: Option<u64>,
        /// Polling context of the kernel: `DIRECT`, `SOFTIRQ`, `WORKQUEUE`, `UNBOUND_WORKQUEUE`;
        /// `None` for a queue of a process.
        polled_by: Option<String>,
        /// True if interrupt moderation is adaptive.
        adaptive_moderation: Option<bool>,
        /// Number of the user context.
        ctxn: Option<u32>,
    },
    /// Memory region.
    Mr {
        /// Number of the memory region.
        mrn: Option<u32>,
        /// Remote key; `None` without `CAP_NET_ADMIN`.
        rkey: Option<u32>,
        /// Local key; `None` without `CAP_NET_ADMIN`.
        lkey: Option<u32>,
        /// Length in bytes.
        length_bytes: Option<u64>,
        /// Number of the protection domain.
        pdn: Option<u32>,
    },
    /// Protection domain.
    Pd {
        /// Number of the protection domain.
        pdn: Option<u32>,
        /// Local key of the kernel for all memory; `None` without `CAP_NET_ADMIN`.
        local_dma_lkey: Option<u32>,
        /// Number of objects in the protection domain.
        users: Option<u64>,
        /// Number of the user context.
        ctxn: Option<u32>,
    },
    /// User context of a process that opened the device.
    Ctx {
        /// Number of the user context.
        ctxn: Option<u32>,
    },
    /// Shared receive queue.
    Srq {
        /// Number of the shared receive queue.
        srqn: Option<u32>,
        /// Type: `BASIC`, `XRC` or `TM`.
        srq_type: Option<String>,
        /// Number of the protection domain.
        pdn: Option<u32>,
        /// Number of the completion queue.
        cqn: Option<u32>,
    },
}

/// Queue pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueuePair {
    /// Port number; `None` before the queue pair is bound to a port.
    pub port: Option<u32>,
    /// Local queue pair number.
    pub lqpn: Option<u32>,
    /// Queue pair number of the peer; `None` for unconnected types.
    pub rqpn: Option<u32>,
    /// Type: `RC`, `UC`, `UD`, `XRC_INI`, `GSI` and others.
    pub qp_type: Option<String>,
    /// State: `RESET`, `INIT`, `RTR`, `RTS`, `SQD`, `SQE`, `ERR`.
    pub state: Option<String>,
    /// Packet sequence number of the receive queue.
    pub rq_psn: Option<u32>,
    /// Packet sequence number of the send queue. It increases when the queue pair sends.
    pub sq_psn: Option<u32>,
    /// Path migration state: `MIGRATED`, `REARM`, `ARMED`.
    pub path_migration: Option<String>,
    /// Number of the protection domain.
    pub pdn: Option<u32>,
}

/// Connection identifier of `rdma_cm`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CmId {
    /// Number of the connection identifier.
    pub cm_idn: Option<u32>,
    /// Port number; `None` before an address is resolved.
    pub port: Option<u32>,
    /// Number of the queue pair.
    pub lqpn: Option<u32>,
    /// Type of the queue pair.
    pub qp_type: Option<String>,
    /// State: `LISTEN`, `CONNECT` and others.
    pub state: Option<String>,
    /// Port space: `TCP`, `UDP`, `IPOIB`, `IB`.
    pub port_space: Option<String>,
    /// Local address.
    pub source: Option<CmAddress>,
    /// Address of the peer; unspecified for a listener.
    pub destination: Option<CmAddress>,
}

/// Address of one end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CmAddress {
    /// IP address and port.
    Ip(SocketAddr),
    /// GID, on native InfiniBand.
    Gid(GidValue),
}

impl std::fmt::Display for CmAddress {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(out),
            Self::Gid(gid) => gid.fmt(out),
        }
    }
}

impl CmAddress {
    /// Returns the IP address; `None` for a GID or an unspecified address.
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Ip(address) => Some(address.ip()).filter(|ip| !ip.is_unspecified()),
            Self::Gid(_) => None,
        }
    }
}

impl Object {
    /// Every word that [`Object::word`] can return.
    pub const WORDS: [&str; 7] = ["qp", "cm_id", "cq", "mr", "pd", "ctx", "srq"];

    /// Returns the word of the KIND column and of `rdma resource`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Qp(_) => Self::WORDS[0],
            Self::CmId(_) => Self::WORDS[1],
            Self::Cq { .. } => Self::WORDS[2],
            Self::Mr { .. } => Self::WORDS[3],
            Self::Pd { .. } => Self::WORDS[4],
            Self::Ctx { .. } => Self::WORDS[5],
            Self::Srq { .. } => Self::WORDS[6],
        }
    }
}
