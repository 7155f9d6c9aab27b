use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether libibverbs answered for a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum VerbsState {
    /// Nobody asked.
    NotAsked,
    /// The library answered; its devices are in the report.
    Answered,
    /// It could not be asked.
    Unavailable {
        /// What is missing or went wrong, in one sentence.
        detail: String,
        /// What brings it.
        fix: Option<String>,
    },
}

/// Everything libibverbs says in one go: the answer of the child that asks it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerbsAnswer {
    /// One entry for each device that has a user-space driver.
    Devices(Vec<VerbsEntry>),
    /// The library or the kernel side is not there.
    Unavailable {
        /// What is missing, in one sentence.
        detail: String,
        /// What brings it.
        fix: Option<String>,
    },
}

/// One device of a [`VerbsAnswer`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerbsEntry {
    /// Kernel name.
    pub name: String,
    /// What the device answered, or why it did not.
    pub answer: Result<VerbsDevice, String>,
}

/// A device's attributes as `ibv_query_device` gives them (names of `struct ibv_device_attr`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names are those of struct ibv_device_attr, documented there")]
pub struct VerbsDevice {
    pub fw_ver: String,
    pub vendor_id: u32,
    pub vendor_part_id: u32,
    pub hw_ver: u32,
    pub phys_port_cnt: u32,
    pub max_mr_size: u64,
    pub page_size_cap: u64,
    pub max_qp: i64,
    pub max_qp_wr: i64,
    pub max_sge: i64,
    pub max_cq: i64,
    pub max_cqe: i64,
    pub max_mr: i64,
    pub max_pd: i64,
    pub max_ah: i64,
    pub max_srq: i64,
    pub max_qp_rd_atom: i64,
    pub max_pkeys: u32,
    pub device_cap_flags: u64,
    pub ports: Vec<VerbsPort>,
}

/// A port's attributes as `ibv_query_port` gives them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerbsPort {
    /// Port number, from 1.
    pub number: u32,
    /// Active MTU in bytes.
    pub active_mtu: Option<u32>,
    /// Largest MTU in bytes.
    pub max_mtu: Option<u32>,
    /// Length of the GID table.
    pub gid_tbl_len: u32,
    /// Length of the `P_Key` table.
    pub pkey_tbl_len: u32,
    /// Largest message in bytes.
    pub max_msg_bytes: u32,
    /// Port capability bits (`PortInfo:CapabilityMask`).
    pub port_cap_flags: u32,
}
