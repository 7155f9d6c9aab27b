use std::net::{IpAddr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::GidValue;

/// An object of an RDMA device that a process or the kernel holds, as RDMA netlink lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resource {
    /// Kernel name of the device.
    pub device: String,
    /// Who holds it; `None` where the kernel does not say (a process of another PID namespace).
    pub owner: Option<Owner>,
    /// What it is.
    #[serde(flatten)]
    pub object: Object,
}

/// Who holds a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// A process.
    Process {
        /// Its number, as the reader's PID namespace has it; a thread's where that made the object
        /// and has ended.
        pid: u32,
        /// Its name; `None` when it has gone.
        name: Option<String>,
    },
    /// A part of the kernel, by its module's name: `ib_core`, `nvme_rdma`.
    Kernel {
        /// The name.
        name: String,
    },
}

/// The kinds of resources, each with what is known of it; numbers are the kernel's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Object {
    /// A queue pair.
    Qp(QueuePair),
    /// A connection identifier of `rdma_cm`.
    CmId(CmId),
    /// A completion queue.
    Cq {
        /// Number.
        cqn: Option<u32>,
        /// Entries it holds.
        entries: Option<u32>,
        /// Queues that use it.
        users: Option<u64>,
        /// How the kernel polls it: `DIRECT`, `SOFTIRQ`, `WORKQUEUE`, `UNBOUND_WORKQUEUE`; `None`
        /// for queues of processes.
        polled_by: Option<String>,
        /// Whether interrupt moderation adapts.
        adaptive_moderation: Option<bool>,
        /// Number of the context it belongs to.
        ctxn: Option<u32>,
    },
    /// A memory region.
    Mr {
        /// Number.
        mrn: Option<u32>,
        /// Remote key; `None` without `CAP_NET_ADMIN`.
        rkey: Option<u32>,
        /// Local key; `None` without `CAP_NET_ADMIN`.
        lkey: Option<u32>,
        /// Bytes.
        length_bytes: Option<u64>,
        /// Number of its protection domain.
        pdn: Option<u32>,
    },
    /// A protection domain.
    Pd {
        /// Number.
        pdn: Option<u32>,
        /// Key of the kernel for all memory; `None` without `CAP_NET_ADMIN`.
        local_dma_lkey: Option<u32>,
        /// Objects in it.
        users: Option<u64>,
        /// Number of the context it belongs to.
        ctxn: Option<u32>,
    },
    /// A user context: a process that has opened the device.
    Ctx {
        /// Number.
        ctxn: Option<u32>,
    },
    /// A shared receive queue.
    Srq {
        /// Number.
        srqn: Option<u32>,
        /// `BASIC`, `XRC` or `TM`.
        srq_type: Option<String>,
        /// Number of its protection domain.
        pdn: Option<u32>,
        /// Number of its completion queue.
        cqn: Option<u32>,
    },
}

/// A queue pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueuePair {
    /// Port; `None` before the queue pair is bound to one.
    pub port: Option<u32>,
    /// Its own number.
    pub lqpn: Option<u32>,
    /// The peer's number; only connected types have one.
    pub rqpn: Option<u32>,
    /// `RC`, `UC`, `UD`, `XRC_INI`, `GSI` and so on.
    pub qp_type: Option<String>,
    /// `RESET`, `INIT`, `RTR`, `RTS`, `SQD`, `SQE`, `ERR`.
    pub state: Option<String>,
    /// Packet sequence number of the receive queue.
    pub rq_psn: Option<u32>,
    /// Packet sequence number of the send queue: it moves when the queue pair sends.
    pub sq_psn: Option<u32>,
    /// `MIGRATED`, `REARM`, `ARMED`.
    pub path_migration: Option<String>,
    /// Number of its protection domain.
    pub pdn: Option<u32>,
}

/// A connection identifier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CmId {
    /// Number.
    pub cm_idn: Option<u32>,
    /// Port; `None` before an address is resolved.
    pub port: Option<u32>,
    /// Number of the queue pair.
    pub lqpn: Option<u32>,
    /// Type of the queue pair.
    pub qp_type: Option<String>,
    /// `LISTEN`, `CONNECT` and so on.
    pub state: Option<String>,
    /// Port space: `TCP`, `UDP`, `IPOIB`, `IB`.
    pub port_space: Option<String>,
    /// Local address.
    pub source: Option<CmAddress>,
    /// The peer's address; unspecified while it listens.
    pub destination: Option<CmAddress>,
}

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CmAddress {
    /// IP address and port.
    Ip(SocketAddr),
    /// A GID, on native InfiniBand.
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
    /// The IP address, where it is one that is set.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Ip(address) => Some(address.ip()).filter(|ip| !ip.is_unspecified()),
            Self::Gid(_) => None,
        }
    }
}

impl Object {
    /// Every word of [`Object::word`].
    pub const WORDS: [&str; 7] = ["qp", "cm_id", "cq", "mr", "pd", "ctx", "srq"];

    /// The word of the KIND column, as `rdma resource` has it.
    #[must_use]
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
