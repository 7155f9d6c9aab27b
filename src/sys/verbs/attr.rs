//! Copies the attributes of a device from C structures to plain numbers.

use std::ffi::{c_char, c_int};

use serde::{Deserialize, Serialize};

use crate::sys::ffi;

/// Declares a plain structure, and its copy from the C structure, field by field.
macro_rules! plain_copy {
    (
        $(#[$doc:meta])*
        $name:ident from $attr:ident: $source:ident {
            $($(#[$field_doc:meta])* $field:ident: $type:ty = $value:expr,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $name {
            fn copy($attr: &ffi::$source) -> Self {
                Self { $($field: $value,)* }
            }
        }
    };
}

plain_copy! {
    /// Limits and identity of a device (`ibv_device_attr`), with the numbers of
    /// `infiniband/verbs.h`.
    BasicAttr from attr: ibv_device_attr {
        /// Firmware version in the driver's format.
        fw_ver: String = text(&attr.fw_ver),
        /// GUID of the node, in host byte order.
        node_guid: u64 = u64::from_be(attr.node_guid),
        /// GUID of the system image, in host byte order.
        sys_image_guid: u64 = u64::from_be(attr.sys_image_guid),
        /// Maximum size of a memory region, in bytes.
        max_mr_size: u64 = attr.max_mr_size,
        /// Memory page sizes, as a bit mask.
        page_size_cap: u64 = attr.page_size_cap,
        /// Vendor ID (an IEEE OUI).
        vendor_id: u32 = attr.vendor_id,
        /// Part number of the vendor.
        vendor_part_id: u32 = attr.vendor_part_id,
        /// Hardware version.
        hw_ver: u32 = attr.hw_ver,
        /// Maximum number of queue pairs.
        max_qp: i64 = number(attr.max_qp),
        /// Maximum number of outstanding requests of a work queue.
        max_qp_wr: i64 = number(attr.max_qp_wr),
        /// Capability flags, low 32 bits.
        device_cap_flags: u32 = attr.device_cap_flags,
        /// Maximum number of scatter/gather entries of a request.
        max_sge: i64 = number(attr.max_sge),
        /// Maximum number of scatter/gather entries of an RDMA read.
        max_sge_rd: i64 = number(attr.max_sge_rd),
        /// Maximum number of completion queues.
        max_cq: i64 = number(attr.max_cq),
        /// Maximum number of entries of a completion queue.
        max_cqe: i64 = number(attr.max_cqe),
        /// Maximum number of memory regions.
        max_mr: i64 = number(attr.max_mr),
        /// Maximum number of protection domains.
        max_pd: i64 = number(attr.max_pd),
        /// Maximum number of outstanding RDMA reads and atomics per queue pair, as the target.
        max_qp_rd_atom: i64 = number(attr.max_qp_rd_atom),
        /// Maximum number of outstanding RDMA reads and atomics per end-to-end context, as the
        /// target.
        max_ee_rd_atom: i64 = number(attr.max_ee_rd_atom),
        /// Maximum number of outstanding RDMA reads and atomics of the device, as the target.
        max_res_rd_atom: i64 = number(attr.max_res_rd_atom),
        /// Maximum number of outstanding RDMA reads and atomics per queue pair, as the initiator.
        max_qp_init_rd_atom: i64 = number(attr.max_qp_init_rd_atom),
        /// Maximum number of outstanding RDMA reads and atomics per end-to-end context, as the
        /// initiator.
        max_ee_init_rd_atom: i64 = number(attr.max_ee_init_rd_atom),
        /// Scope of atomics: 0 none, 1 within the device, 2 global.
        atomic_cap: u32 = attr.atomic_cap,
        /// Maximum number of end-to-end contexts.
        max_ee: i64 = number(attr.max_ee),
        /// Maximum number of reliable datagram domains.
        max_rdd: i64 = number(attr.max_rdd),
        /// Maximum number of memory windows.
        max_mw: i64 = number(attr.max_mw),
        /// Maximum number of raw IPv6 queue pairs.
        max_raw_ipv6_qp: i64 = number(attr.max_raw_ipv6_qp),
        /// Maximum number of raw Ethertype queue pairs.
        max_raw_ethy_qp: i64 = number(attr.max_raw_ethy_qp),
        /// Maximum number of multicast groups.
        max_mcast_grp: i64 = number(attr.max_mcast_grp),
        /// Maximum number of queue pairs in one multicast group.
        max_mcast_qp_attach: i64 = number(attr.max_mcast_qp_attach),
        /// Maximum number of queue pairs in all multicast groups.
        max_total_mcast_qp_attach: i64 = number(attr.max_total_mcast_qp_attach),
        /// Maximum number of address handles.
        max_ah: i64 = number(attr.max_ah),
        /// Maximum number of fast memory regions.
        max_fmr: i64 = number(attr.max_fmr),
        /// Maximum number of mappings of a fast memory region.
        max_map_per_fmr: i64 = number(attr.max_map_per_fmr),
        /// Maximum number of shared receive queues.
        max_srq: i64 = number(attr.max_srq),
        /// Maximum number of requests in a shared receive queue.
        max_srq_wr: i64 = number(attr.max_srq_wr),
        /// Maximum number of scatter entries of a request in a shared receive queue.
        max_srq_sge: i64 = number(attr.max_srq_sge),
        /// Maximum number of partitions.
        max_pkeys: u16 = attr.max_pkeys,
        /// Local acknowledgement delay, as an exponent of 4.096 µs.
        local_ca_ack_delay: u8 = attr.local_ca_ack_delay,
        /// Number of ports; at most 255.
        phys_port_cnt: u8 = attr.phys_port_cnt,
    }
}

plain_copy! {
    /// Attributes that only `ibv_device_attr_ex` has. A field that the driver does not support is
    /// zero.
    ExtendedAttr from attr: ibv_device_attr_ex {
        /// General on-demand paging capabilities.
        odp_general_caps: u64 = attr.odp_caps.general_caps,
        /// On-demand paging capabilities of RC queue pairs.
        odp_rc_caps: u32 = attr.odp_caps.per_transport_caps.rc_odp_caps,
        /// On-demand paging capabilities of UC queue pairs.
        odp_uc_caps: u32 = attr.odp_caps.per_transport_caps.uc_odp_caps,
        /// On-demand paging capabilities of UD queue pairs.
        odp_ud_caps: u32 = attr.odp_caps.per_transport_caps.ud_odp_caps,
        /// On-demand paging capabilities of XRC queue pairs.
        odp_xrc_caps: u32 = attr.xrc_odp_caps,
        /// Valid bits of the time stamp of a completion.
        completion_timestamp_mask: u64 = attr.completion_timestamp_mask,
        /// Frequency of the device's clock in kHz.
        hca_core_clock_khz: u64 = attr.hca_core_clock,
        /// Capability flags, all 64 bits.
        device_cap_flags: u64 = attr.device_cap_flags_ex,
        /// Maximum payload of segmentation offload, in bytes.
        max_tso: u32 = attr.tso_caps.max_tso,
        /// Queue pair types that support segmentation offload, as a mask.
        tso_supported_qpts: u32 = attr.tso_caps.supported_qpts,
        /// Queue pair types that support receive side scaling, as a mask.
        rss_supported_qpts: u32 = attr.rss_caps.supported_qpts,
        /// Maximum number of indirection tables of receive side scaling.
        rss_max_rwq_indirection_tables: u32 =
            attr.rss_caps.max_rwq_indirection_tables,
        /// Maximum size of an indirection table of receive side scaling.
        rss_max_rwq_indirection_table_size: u32 =
            attr.rss_caps.max_rwq_indirection_table_size,
        /// Fields that the receive hash can include, as a mask.
        rss_rx_hash_fields_mask: u64 = attr.rss_caps.rx_hash_fields_mask,
        /// Functions that the receive hash can use, as a mask.
        rss_rx_hash_function: u8 = attr.rss_caps.rx_hash_function,
        /// Maximum number of receive work queues.
        max_wq_type_rq: u32 = attr.max_wq_type_rq,
        /// Minimum rate of packet pacing, in kb/s.
        qp_rate_limit_min: u32 = attr.packet_pacing_caps.qp_rate_limit_min,
        /// Maximum rate of packet pacing, in kb/s.
        qp_rate_limit_max: u32 = attr.packet_pacing_caps.qp_rate_limit_max,
        /// Queue pair types that support packet pacing, as a mask.
        pacing_supported_qpts: u32 = attr.packet_pacing_caps.supported_qpts,
        /// Capabilities of raw packet queue pairs.
        raw_packet_caps: u32 = attr.raw_packet_caps,
        /// Maximum size of the rendezvous header of tag matching, in bytes.
        tm_max_rndv_hdr_size: u32 = attr.tm_caps.max_rndv_hdr_size,
        /// Maximum number of tags.
        tm_max_num_tags: u32 = attr.tm_caps.max_num_tags,
        /// Tag matching flags.
        tm_flags: u32 = attr.tm_caps.flags,
        /// Maximum number of outstanding tag operations.
        tm_max_ops: u32 = attr.tm_caps.max_ops,
        /// Maximum number of scatter entries of a tagged receive.
        tm_max_sge: u32 = attr.tm_caps.max_sge,
        /// Maximum number of completions that moderation combines.
        max_cq_count: u16 = attr.cq_mod_caps.max_cq_count,
        /// Maximum delay of completion moderation, in µs.
        max_cq_period: u16 = attr.cq_mod_caps.max_cq_period,
        /// Size of the device memory, in bytes.
        max_dm_size: u64 = attr.max_dm_size,
        /// Supported sizes of fetch-and-add over PCI, as a mask.
        pci_atomic_fetch_add: u16 = attr.pci_atomic_caps.fetch_add,
        /// Supported sizes of swap over PCI, as a mask.
        pci_atomic_swap: u16 = attr.pci_atomic_caps.swap,
        /// Supported sizes of compare-and-swap over PCI, as a mask.
        pci_atomic_compare_swap: u16 = attr.pci_atomic_caps.compare_swap,
        /// Number of ports, also above 255; 0 with a library before v33.
        phys_port_cnt: u32 = attr.phys_port_cnt_ex,
    }
}

/// All attributes of a device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceAttr {
    /// Attributes that every library and driver reports.
    pub basic: BasicAttr,
    /// Attributes of the extended query; `None` if the library or the driver does not support
    /// this query.
    pub extended: Option<ExtendedAttr>,
    /// Number of interrupt vectors for completions.
    pub num_comp_vectors: i64,
    /// Completion counters; `None` with a library before v65 or a driver without them.
    pub completion_counters: Option<CompletionCounters>,
}

/// Capabilities of completion counters (`ibv_comp_cntr_caps`), which need no completion queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompletionCounters {
    /// Maximum value of a counter.
    pub max_value: u64,
    /// Maximum number of counters.
    pub max_counters: u32,
    /// Operations that a counter can count, as a mask.
    pub supported_qp_attach_ops: u32,
}

impl DeviceAttr {
    pub(super) fn extended(attr: &ffi::ibv_device_attr_ex, vectors: c_int) -> Self {
        Self {
            basic: BasicAttr::copy(&attr.orig_attr),
            extended: Some(ExtendedAttr::copy(attr)),
            num_comp_vectors: number(vectors),
            completion_counters: None,
        }
    }

    pub(super) fn legacy(attr: &ffi::ibv_device_attr, vectors: c_int) -> Self {
        Self {
            basic: BasicAttr::copy(attr),
            extended: None,
            num_comp_vectors: number(vectors),
            completion_counters: None,
        }
    }

    /// Returns the number of ports.
    #[must_use]
    pub fn port_count(&self) -> u32 {
        let wide = self.extended.as_ref().map_or(0, |attr| attr.phys_port_cnt);
        if wide == 0 { u32::from(self.basic.phys_port_cnt) } else { wide }
    }
}

/// Converts a C int. The sign is kept, because some drivers overflow `max_mr` and other limits.
fn number(value: c_int) -> i64 {
    i64::from(value)
}

/// Converts a C string, which ends at a zero byte or at the end of its field.
pub(super) fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> =
        field.iter().take_while(|byte| **byte != 0).map(|byte| byte.to_ne_bytes()[0]).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
