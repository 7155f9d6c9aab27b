//! Values of libibverbs, in the report and in captures.
//! `collect::verbs` fills them; `query` and `compat` show them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Fix, Guid};

/// State of the query to libibverbs on a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum VerbsState {
    /// libibverbs was not queried.
    #[default]
    NotAsked,
    /// libibverbs reported devices; the report contains them.
    Answered,
    /// libibverbs could not be queried.
    Unavailable {
        /// Observation, in one sentence.
        #[serde(deserialize_with = "super::words::read")]
        detail: String,
        /// Command or setting that repairs it.
        #[serde(default, deserialize_with = "super::fix::read")]
        #[schemars(with = "Option<String>")]
        fix: Option<Fix>,
    },
}

/// Report of the child process that queries libibverbs.
///
/// Captures contain this type. A field that was added later is `None` if an older program wrote
/// the capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerbsAnswer {
    /// One entry for each device with a userspace provider, in the order of the library.
    Devices(Vec<VerbsEntry>),
    /// The library or the kernel interface is missing.
    Unavailable {
        /// Observation, in one sentence.
        #[serde(deserialize_with = "super::words::read")]
        detail: String,
        /// Command or setting that repairs it.
        #[serde(default, deserialize_with = "super::fix::read")]
        fix: Option<Fix>,
        /// Name of the errno with which the library refused the list of devices; `None` without a
        /// library, or if the errno was not recorded.
        #[serde(default)]
        errno: Option<String>,
    },
}

/// Device of a [`VerbsAnswer`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerbsEntry {
    /// Kernel name of the device.
    pub name: String,
    /// Node GUID in the list of devices, even if it is zero.
    #[serde(default)]
    pub node_guid: Option<Guid>,
    /// Transport type (`enum ibv_transport_type`): 0 InfiniBand and RoCE, 1 iWARP, 4 unspecified
    /// (EFA); -1 unknown.
    #[serde(default)]
    pub transport_type: Option<i32>,
    /// Attributes of the device, or the reason why the query failed.
    pub answer: Result<VerbsAttributes, String>,
    /// Step that failed; `None` if the query succeeded.
    #[serde(default)]
    pub refused: Option<VerbsStep>,
}

/// Steps of the query of a device, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerbsStep {
    /// Opening of the device.
    Open,
    /// Query of the attributes of the device.
    QueryDevice,
}

/// Attributes of a device and its ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerbsAttributes {
    /// Attributes of the device.
    pub device: VerbsDevice,
    /// Attributes of the ports whose query succeeded.
    pub ports: Vec<VerbsPort>,
    /// Ports whose query failed.
    #[serde(default)]
    pub refused_ports: Vec<VerbsRefusal>,
}

/// Port whose query failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerbsRefusal {
    /// Port number, from 1.
    pub number: u32,
    /// Error number (errno) on the host; the numbers depend on the architecture.
    pub code: i32,
    /// Reason, in one sentence.
    #[serde(deserialize_with = "super::words::read")]
    pub detail: String,
}

/// Device attributes of `ibv_query_device` (names of `struct ibv_device_attr`).
///
/// Codes and masks are defined in `infiniband/verbs.h`. A field that an older program did not
/// record is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names are those of struct ibv_device_attr, documented there")]
pub struct VerbsDevice {
    pub fw_ver: String,
    /// Node GUID of the driver, even if it is zero.
    #[serde(default)]
    pub node_guid: Option<Guid>,
    /// System image GUID of the driver, even if it is zero.
    #[serde(default)]
    pub sys_image_guid: Option<Guid>,
    /// Transport type (`enum ibv_transport_type`): 0 InfiniBand and `RoCE`, 1 iWARP, 4
    /// unspecified (EFA).
    #[serde(default)]
    pub transport_type: Option<i32>,
    pub vendor_id: u32,
    pub vendor_part_id: u32,
    pub hw_ver: u32,
    pub phys_port_cnt: u32,
    pub max_mr_size: u64,
    pub page_size_cap: u64,
    pub max_qp: i64,
    pub max_qp_wr: i64,
    pub max_sge: i64,
    #[serde(default)]
    pub max_sge_rd: Option<i64>,
    pub max_cq: i64,
    pub max_cqe: i64,
    pub max_mr: i64,
    pub max_pd: i64,
    pub max_ah: i64,
    pub max_srq: i64,
    #[serde(default)]
    pub max_srq_wr: Option<i64>,
    #[serde(default)]
    pub max_srq_sge: Option<i64>,
    pub max_qp_rd_atom: i64,
    #[serde(default)]
    pub max_ee_rd_atom: Option<i64>,
    #[serde(default)]
    pub max_res_rd_atom: Option<i64>,
    #[serde(default)]
    pub max_qp_init_rd_atom: Option<i64>,
    #[serde(default)]
    pub max_ee_init_rd_atom: Option<i64>,
    /// Atomic operations: 0 none, 1 within the device, 2 global.
    #[serde(default)]
    pub atomic_cap: Option<u32>,
    #[serde(default)]
    pub max_ee: Option<i64>,
    #[serde(default)]
    pub max_rdd: Option<i64>,
    #[serde(default)]
    pub max_mw: Option<i64>,
    #[serde(default)]
    pub max_raw_ipv6_qp: Option<i64>,
    #[serde(default)]
    pub max_raw_ethy_qp: Option<i64>,
    #[serde(default)]
    pub max_mcast_grp: Option<i64>,
    #[serde(default)]
    pub max_mcast_qp_attach: Option<i64>,
    #[serde(default)]
    pub max_total_mcast_qp_attach: Option<i64>,
    #[serde(default)]
    pub max_fmr: Option<i64>,
    #[serde(default)]
    pub max_map_per_fmr: Option<i64>,
    pub max_pkeys: u32,
    /// Acknowledgment delay of the adapter: 4.096 µs times two to the power of this value.
    #[serde(default)]
    pub local_ca_ack_delay: Option<u32>,
    /// Number of completion vectors (interrupts).
    #[serde(default)]
    pub num_comp_vectors: Option<i64>,
    /// Capability bits: 64 bits if the driver reports them, otherwise the lower 32 bits.
    pub device_cap_flags: u64,
    /// Attributes of the extended query; `None` if the library or the driver does not support the
    /// query.
    #[serde(default)]
    pub extended: Option<VerbsExtended>,
    /// Completion counters; `None` if the library is older than v65 or the driver has none.
    #[serde(default)]
    pub comp_cntr_caps: Option<VerbsCompletionCounters>,
}

/// Attributes that `ibv_query_device_ex` adds (names of `struct ibv_device_attr_ex`). The library
/// reports zero for a field that the driver does not know.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names are those of struct ibv_device_attr_ex")]
pub struct VerbsExtended {
    pub odp_general_caps: u64,
    pub odp_rc_caps: u32,
    pub odp_uc_caps: u32,
    pub odp_ud_caps: u32,
    pub odp_xrc_caps: u32,
    pub completion_timestamp_mask: u64,
    pub hca_core_clock_khz: u64,
    pub device_cap_flags_ex: u64,
    pub max_tso_bytes: u32,
    pub tso_supported_qpts: u32,
    pub rss_supported_qpts: u32,
    pub rss_max_rwq_indirection_tables: u32,
    pub rss_max_rwq_indirection_table_size: u32,
    pub rss_rx_hash_fields_mask: u64,
    pub rss_rx_hash_function: u32,
    pub max_wq_type_rq: u32,
    pub qp_rate_limit_min_kbps: u32,
    pub qp_rate_limit_max_kbps: u32,
    pub pacing_supported_qpts: u32,
    pub raw_packet_caps: u32,
    pub tm_max_rndv_hdr_bytes: u32,
    pub tm_max_num_tags: u32,
    pub tm_flags: u32,
    pub tm_max_ops: u32,
    pub tm_max_sge: u32,
    pub max_cq_count: u32,
    pub max_cq_period_us: u32,
    pub max_dm_bytes: u64,
    pub pci_atomic_fetch_add: u32,
    pub pci_atomic_swap: u32,
    pub pci_atomic_compare_swap: u32,
}

/// Attributes of `ibv_query_comp_cntr_caps`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerbsCompletionCounters {
    /// Maximum number of counters.
    pub max_counters: u32,
    /// Operations that the counters can count, as a mask.
    pub supported_qp_attach_ops: u32,
}

/// Port attributes of `ibv_query_port`.
///
/// Codes and masks are defined in `infiniband/verbs.h`. A field that an older program did not
/// record is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerbsPort {
    /// Port number, from 1.
    pub number: u32,
    /// Logical state: 1 down, 2 initialize, 3 armed, 4 active, 5 active defer.
    #[serde(default)]
    pub state_code: Option<u32>,
    /// Physical state: 2 polling, 3 disabled, 5 link up.
    #[serde(default)]
    pub phys_state_code: Option<u32>,
    /// Link layer: 0 unspecified, 1 InfiniBand, 2 Ethernet.
    #[serde(default)]
    pub link_layer_code: Option<u32>,
    /// Active MTU in bytes; `None` for an unknown code.
    pub active_mtu: Option<u32>,
    /// Largest MTU in bytes; `None` for an unknown code.
    pub max_mtu: Option<u32>,
    /// Active MTU, as a code: 1 is 256 bytes, 5 is 4,096 bytes.
    #[serde(default)]
    pub active_mtu_code: Option<u32>,
    /// Largest MTU, as a code.
    #[serde(default)]
    pub max_mtu_code: Option<u32>,
    /// Local identifier; 0 on Ethernet.
    #[serde(default)]
    pub lid: Option<u32>,
    /// Local identifier of the subnet manager.
    #[serde(default)]
    pub sm_lid: Option<u32>,
    /// Number of low LID bits that are ignored.
    #[serde(default)]
    pub lmc: Option<u32>,
    /// Service level of the subnet manager.
    #[serde(default)]
    pub sm_sl: Option<u32>,
    /// Length of the GID table.
    pub gid_tbl_len: u32,
    /// Length of the `P_Key` table.
    pub pkey_tbl_len: u32,
    /// Largest message in bytes.
    pub max_msg_bytes: u32,
    /// Capability bits of the port (`PortInfo:CapabilityMask`).
    pub port_cap_flags: u32,
    /// More capability bits of the port (`PortInfo:CapabilityMask2`).
    #[serde(default)]
    pub port_cap_flags2: Option<u32>,
    /// Number of virtual lanes, as a code: 1 is 1, 2 is 2, 3 is 4, 4 is 8, 5 is 15.
    #[serde(default)]
    pub max_vl_num_code: Option<u32>,
    /// Number of packets with an invalid `P_Key`.
    #[serde(default)]
    pub bad_pkey_cntr: Option<u32>,
    /// Number of packets with an invalid `Q_Key`.
    #[serde(default)]
    pub qkey_viol_cntr: Option<u32>,
    /// Propagation delay of the subnet: 4.096 µs times two to the power of this value.
    #[serde(default)]
    pub subnet_timeout: Option<u32>,
    /// Initialization that the subnet manager performed, as a mask.
    #[serde(default)]
    pub init_type_reply: Option<u32>,
    /// Link width, as a code: 1 is 1X, 2 is 4X, 4 is 8X, 8 is 12X, 16 is 2X.
    #[serde(default)]
    pub active_width_code: Option<u32>,
    /// Speed per lane, as a code of 8 bits: 1 is SDR, 128 is NDR.
    #[serde(default)]
    pub active_speed_code: Option<u32>,
    /// Speed per lane, as a code with room for XDR (256); 0 if the library is older than v49.
    #[serde(default)]
    pub active_speed_ex_code: Option<u32>,
    /// Effective link rate in bits per second, of all ports of a bond together. `None` if the
    /// library is older than v62 or the driver does not support the query.
    #[serde(default)]
    pub effective_bps: Option<u64>,
}

impl VerbsPort {
    /// Returns the number of lanes of the link; `None` for an unknown code.
    #[must_use]
    pub fn lanes(&self) -> Option<u32> {
        match self.active_width_code? {
            1 => Some(1),
            2 => Some(4),
            4 => Some(8),
            8 => Some(12),
            16 => Some(2),
            _ => None,
        }
    }

    /// Returns the nominal rate of one lane in bits per second; `None` for an unknown code.
    #[must_use]
    pub fn lane_bps(&self) -> Option<u64> {
        let code_of_8_bits = self.active_speed_code?;
        let code = self.active_speed_ex_code.filter(|code| *code != 0).unwrap_or(code_of_8_bits);
        let tenths_of_gbps = match code {
            1 => 25,
            2 => 50,
            4 | 8 => 100,
            16 => 140,
            32 => 250,
            64 => 500,
            128 => 1000,
            256 => 2000,
            _ => return None,
        };
        Some(tenths_of_gbps * 100_000_000)
    }

    /// Returns the number of virtual lanes; `None` for an unknown code.
    #[must_use]
    pub fn virtual_lanes(&self) -> Option<u32> {
        match self.max_vl_num_code? {
            1 => Some(1),
            2 => Some(2),
            3 => Some(4),
            4 => Some(8),
            5 => Some(15),
            _ => None,
        }
    }
}
