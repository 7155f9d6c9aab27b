//! Values of libibverbs, in the report and in captures.
//! `collect::verbs` fills them; `query` and `compat` show them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Fix, Guid, fabric};

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

/// Declares a type from a table of fields: `field: type = field of the library, column "help";`.
/// A field with `(default)` is missing in captures of older programs. A field without `=` is not
/// copied from the library; a field without a column is not listed alone.
macro_rules! declared {
    (
        ($(#[$meta:meta])* pub struct $name:ident)
        $(
            $(#[$field_meta:meta])*
            $field:ident $(($default:ident))?: $type:ty $(= $($path:ident).+)?
                $(, $column:ident $help:literal)?;
        )*
    ) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$field_meta])* $(#[serde($default)])? pub $field: $type,)*
        }
    };
}

/// Passes the table of fields of [`VerbsDevice`] to a macro, after the other arguments. `source`
/// copies the fields, and `query` makes columns of them.
macro_rules! verbs_device_fields {
    ($then:ident $($with:tt)*) => { $then! {
        ($($with)*)
        fw_ver: String;
        /// Node GUID of the driver, even if it is zero.
        node_guid(default): Option<Guid>;
        /// System image GUID of the driver, even if it is zero.
        sys_image_guid(default): Option<Guid>;
        /// Transport type (`enum ibv_transport_type`): 0 InfiniBand and `RoCE`, 1 iWARP, 4
        /// unspecified (EFA).
        transport_type(default): Option<i32>, number "Transport of the device as a code: 0 InfiniBand and RoCE, 1 iWARP, 4 unspecified";
        vendor_id: u32 = vendor_id, mask "Vendor of the device (an IEEE OUI)";
        vendor_part_id: u32 = vendor_part_id, number "Part id of the vendor";
        hw_ver: u32 = hw_ver, mask "Hardware version as verbs report it";
        phys_port_cnt: u32, number "Number of ports as verbs report it";
        max_mr_size: u64 = max_mr_size, mask "Maximum size of a memory region, in bytes";
        page_size_cap: u64 = page_size_cap, mask "Memory page sizes, as a mask";
        max_qp: i64 = max_qp, number "Maximum number of queue pairs";
        max_qp_wr: i64 = max_qp_wr, number "Maximum number of outstanding requests of a work queue";
        max_sge: i64 = max_sge, number "Maximum number of scatter/gather entries of a request";
        max_sge_rd(default): Option<i64> = max_sge_rd, number "Maximum number of scatter/gather entries of an RDMA read";
        max_cq: i64 = max_cq, number "Maximum number of completion queues";
        max_cqe: i64 = max_cqe, number "Maximum number of entries of a completion queue";
        max_mr: i64 = max_mr, number "Maximum number of memory regions";
        max_pd: i64 = max_pd, number "Maximum number of protection domains";
        max_ah: i64 = max_ah, number "Maximum number of address handles";
        max_srq: i64 = max_srq, number "Maximum number of shared receive queues";
        max_srq_wr(default): Option<i64> = max_srq_wr, number "Maximum number of requests in a shared receive queue";
        max_srq_sge(default): Option<i64> = max_srq_sge, number "Maximum number of scatter entries of a request in a shared receive queue";
        max_qp_rd_atom: i64 = max_qp_rd_atom, number "Maximum outstanding RDMA reads and atomics of a queue pair as target";
        max_ee_rd_atom(default): Option<i64> = max_ee_rd_atom, number "Maximum outstanding RDMA reads and atomics of an end-to-end context as target";
        max_res_rd_atom(default): Option<i64> = max_res_rd_atom, number "Maximum outstanding RDMA reads and atomics of the device as target";
        max_qp_init_rd_atom(default): Option<i64> = max_qp_init_rd_atom, number "Maximum outstanding RDMA reads and atomics that a queue pair initiates";
        max_ee_init_rd_atom(default): Option<i64> = max_ee_init_rd_atom, number "Maximum outstanding RDMA reads and atomics that an end-to-end context initiates";
        /// Atomic operations: 0 none, 1 within the device, 2 global.
        atomic_cap(default): Option<u32> = atomic_cap, number "Atomics: 0 none, 1 within the device, 2 global";
        max_ee(default): Option<i64> = max_ee, number "Maximum number of end-to-end contexts";
        max_rdd(default): Option<i64> = max_rdd, number "Maximum number of reliable datagram domains";
        max_mw(default): Option<i64> = max_mw, number "Maximum number of memory windows";
        max_raw_ipv6_qp(default): Option<i64> = max_raw_ipv6_qp, number "Maximum number of raw IPv6 queue pairs";
        max_raw_ethy_qp(default): Option<i64> = max_raw_ethy_qp, number "Maximum number of raw Ethertype queue pairs";
        max_mcast_grp(default): Option<i64> = max_mcast_grp, number "Maximum number of multicast groups";
        max_mcast_qp_attach(default): Option<i64> = max_mcast_qp_attach, number "Maximum number of queue pairs in one multicast group";
        max_total_mcast_qp_attach(default): Option<i64> = max_total_mcast_qp_attach, number "Maximum number of queue pairs in all multicast groups";
        max_fmr(default): Option<i64> = max_fmr, number "Maximum number of fast memory regions";
        max_map_per_fmr(default): Option<i64> = max_map_per_fmr, number "Maximum number of mappings of a fast memory region";
        max_pkeys: u32 = max_pkeys, number "Maximum number of partitions";
        /// Acknowledgment delay of the adapter: 4.096 µs times two to the power of this value.
        local_ca_ack_delay(default): Option<u32> = local_ca_ack_delay, number "Local acknowledgement delay, as an exponent of 4.096 us";
        /// Number of completion vectors (interrupts).
        num_comp_vectors(default): Option<i64>, number "Interrupt vectors for completions";
        /// Capability bits: 64 bits if the driver reports them, otherwise the lower 32 bits.
        device_cap_flags: u64, mask "Capabilities of the device, as a mask";
        /// Attributes of the extended query; `None` if the library or the driver does not support the
        /// query.
        extended(default): Option<VerbsExtended>;
        /// Completion counters; `None` if the library is older than v65 or the driver has none.
        comp_cntr_caps(default): Option<VerbsCompletionCounters>;
    } };
}
pub(crate) use verbs_device_fields;

verbs_device_fields! {
    declared
    /// Device attributes of `ibv_query_device` (names of `struct ibv_device_attr`).
    ///
    /// Codes and masks are defined in `infiniband/verbs.h`. A field that an older program did not
    /// record is `None`.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[expect(missing_docs, reason = "the names are those of struct ibv_device_attr, documented there")]
    pub struct VerbsDevice
}

/// Passes the table of fields of [`VerbsExtended`] to a macro, as `verbs_device_fields` does.
macro_rules! verbs_extended_fields {
    ($then:ident $($with:tt)*) => { $then! {
        ($($with)*)
        odp_general_caps: u64 = odp_caps.general_caps, mask "On-demand paging in general, as a mask";
        odp_rc_caps: u32 = odp_caps.per_transport_caps.rc_odp_caps, mask "On-demand paging on RC queue pairs";
        odp_uc_caps: u32 = odp_caps.per_transport_caps.uc_odp_caps, mask "On-demand paging on UC queue pairs";
        odp_ud_caps: u32 = odp_caps.per_transport_caps.ud_odp_caps, mask "On-demand paging on UD queue pairs";
        odp_xrc_caps: u32 = xrc_odp_caps, mask "On-demand paging on XRC queue pairs";
        completion_timestamp_mask: u64 = completion_timestamp_mask, mask "Valid bits of completion timestamps, as a mask";
        hca_core_clock_khz: u64 = hca_core_clock, number "Clock of the device in kHz";
        device_cap_flags_ex: u64 = device_cap_flags_ex, mask "Capabilities of the device, all 64 bits";
        max_tso_bytes: u32 = tso_caps.max_tso, number "Largest payload of segmentation offload in bytes";
        tso_supported_qpts: u32 = tso_caps.supported_qpts, mask "Queue pair types with segmentation offload";
        rss_supported_qpts: u32 = rss_caps.supported_qpts, mask "Queue pair types with receive side scaling";
        rss_max_rwq_indirection_tables: u32 = rss_caps.max_rwq_indirection_tables, number "Maximum number of indirection tables of receive side scaling";
        rss_max_rwq_indirection_table_size: u32 = rss_caps.max_rwq_indirection_table_size, number "Largest indirection table of receive side scaling";
        rss_rx_hash_fields_mask: u64 = rss_caps.rx_hash_fields_mask, mask "Header fields that the receive hash can use, as a mask";
        rss_rx_hash_function: u32 = rss_caps.rx_hash_function, mask "Functions of the receive hash, as a mask";
        max_wq_type_rq: u32 = max_wq_type_rq, number "Maximum number of receive work queues";
        qp_rate_limit_min_kbps: u32 = packet_pacing_caps.qp_rate_limit_min, number "Minimum rate limit of a queue pair, in kb/s";
        qp_rate_limit_max_kbps: u32 = packet_pacing_caps.qp_rate_limit_max, number "Maximum rate limit of a queue pair, in kb/s";
        pacing_supported_qpts: u32 = packet_pacing_caps.supported_qpts, mask "Queue pair types with a rate limit, as a mask";
        raw_packet_caps: u32 = raw_packet_caps, mask "Capabilities of raw packet queue pairs";
        tm_max_rndv_hdr_bytes: u32 = tm_caps.max_rndv_hdr_size, number "Largest rendezvous header of tag matching in bytes";
        tm_max_num_tags: u32 = tm_caps.max_num_tags, number "Maximum number of tags of tag matching";
        tm_flags: u32 = tm_caps.flags, mask "Tag matching flags";
        tm_max_ops: u32 = tm_caps.max_ops, number "Maximum number of outstanding tag operations";
        tm_max_sge: u32 = tm_caps.max_sge, number "Maximum number of scatter entries of a tagged receive";
        max_cq_count: u32 = cq_mod_caps.max_cq_count, number "Maximum number of completions per interrupt of moderation";
        max_cq_period_us: u32 = cq_mod_caps.max_cq_period, number "Maximum period of completion moderation, in us";
        max_dm_bytes: u64 = max_dm_size, number "Device memory in bytes";
        pci_atomic_fetch_add: u32 = pci_atomic_caps.fetch_add, mask "Sizes of fetch-and-add over PCI";
        pci_atomic_swap: u32 = pci_atomic_caps.swap, mask "Sizes of swap over PCI";
        pci_atomic_compare_swap: u32 = pci_atomic_caps.compare_swap, mask "Sizes of compare-and-swap over PCI";
    } };
}
pub(crate) use verbs_extended_fields;

verbs_extended_fields! {
    declared
    /// Attributes that `ibv_query_device_ex` adds (names of `struct ibv_device_attr_ex`). The library
    /// reports zero for a field that the driver does not know.
    #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
    #[expect(missing_docs, reason = "the names are those of struct ibv_device_attr_ex")]
    pub struct VerbsExtended
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
    pub fn lanes(&self) -> Option<u64> {
        fabric::lanes(self.active_width_code?.try_into().ok()?)
    }

    /// Returns the nominal rate of one lane in bits per second; `None` for an unknown code.
    pub fn lane_bps(&self) -> Option<u64> {
        let code_of_8_bits = self.active_speed_code?;
        let code = self.active_speed_ex_code.filter(|code| *code != 0).unwrap_or(code_of_8_bits);
        fabric::lane_bps(code.try_into().ok()?)
    }

    /// Returns the number of virtual lanes; `None` for an unknown code.
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
