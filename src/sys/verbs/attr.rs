//! What a device says about itself, as plain numbers.

use std::ffi::{c_char, c_int};

use serde::{Deserialize, Serialize};

use crate::sys::ffi;

/// Declares the plain structure and its copy from the C one, field by field under one name.
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
    /// `ibv_device_attr`: limits and identity, in the numbers of `infiniband/verbs.h`.
    BasicAttr from attr: ibv_device_attr {
        /// Firmware version, as the driver spells it.
        fw_ver: String = text(&attr.fw_ver),
        /// GUID of the node, in host byte order.
        node_guid: u64 = u64::from_be(attr.node_guid),
        /// GUID of the system image, in host byte order.
        sys_image_guid: u64 = u64::from_be(attr.sys_image_guid),
        /// Largest memory region in bytes.
        max_mr_size: u64 = attr.max_mr_size,
        /// Memory page sizes, as a bit mask.
        page_size_cap: u64 = attr.page_size_cap,
        /// Vendor (an IEEE OUI).
        vendor_id: u32 = attr.vendor_id,
        /// The vendor's number of the part.
        vendor_part_id: u32 = attr.vendor_part_id,
        /// Hardware version.
        hw_ver: u32 = attr.hw_ver,
        /// Most queue pairs.
        max_qp: i64 = number(attr.max_qp),
        /// Most outstanding requests of a work queue.
        max_qp_wr: i64 = number(attr.max_qp_wr),
        /// Capabilities, the low 32 bits.
        device_cap_flags: u32 = attr.device_cap_flags,
        /// Most scatter/gather entries of a request.
        max_sge: i64 = number(attr.max_sge),
        /// Most scatter/gather entries of an RDMA read.
        max_sge_rd: i64 = number(attr.max_sge_rd),
        /// Most completion queues.
        max_cq: i64 = number(attr.max_cq),
        /// Most entries of a completion queue.
        max_cqe: i64 = number(attr.max_cqe),
        /// Most memory regions.
        max_mr: i64 = number(attr.max_mr),
        /// Most protection domains.
        max_pd: i64 = number(attr.max_pd),
        /// Most RDMA reads and atomics outstanding at a queue pair as target.
        max_qp_rd_atom: i64 = number(attr.max_qp_rd_atom),
        /// The same for an end-to-end context.
        max_ee_rd_atom: i64 = number(attr.max_ee_rd_atom),
        /// The same for the device as a whole.
        max_res_rd_atom: i64 = number(attr.max_res_rd_atom),
        /// Depth per queue pair when starting RDMA reads and atomics.
        max_qp_init_rd_atom: i64 = number(attr.max_qp_init_rd_atom),
        /// The same for an end-to-end context.
        max_ee_init_rd_atom: i64 = number(attr.max_ee_init_rd_atom),
        /// Atomics: 0 none, 1 within the device, 2 global.
        atomic_cap: u32 = attr.atomic_cap,
        /// Most end-to-end contexts.
        max_ee: i64 = number(attr.max_ee),
        /// Most reliable datagram domains.
        max_rdd: i64 = number(attr.max_rdd),
        /// Most memory windows.
        max_mw: i64 = number(attr.max_mw),
        /// Most raw IPv6 queue pairs.
        max_raw_ipv6_qp: i64 = number(attr.max_raw_ipv6_qp),
        /// Most raw Ethertype queue pairs.
        max_raw_ethy_qp: i64 = number(attr.max_raw_ethy_qp),
        /// Most multicast groups.
        max_mcast_grp: i64 = number(attr.max_mcast_grp),
        /// Most queue pairs in one multicast group.
        max_mcast_qp_attach: i64 = number(attr.max_mcast_qp_attach),
        /// Most queue pairs in all multicast groups.
        max_total_mcast_qp_attach: i64 = number(attr.max_total_mcast_qp_attach),
        /// Most address handles.
        max_ah: i64 = number(attr.max_ah),
        /// Most fast memory regions.
        max_fmr: i64 = number(attr.max_fmr),
        /// Most mappings of a fast memory region.
        max_map_per_fmr: i64 = number(attr.max_map_per_fmr),
        /// Most shared receive queues.
        max_srq: i64 = number(attr.max_srq),
        /// Most requests in a shared receive queue.
        max_srq_wr: i64 = number(attr.max_srq_wr),
        /// Most scatter entries of a request in a shared receive queue.
        max_srq_sge: i64 = number(attr.max_srq_sge),
        /// Most partitions.
        max_pkeys: u16 = attr.max_pkeys,
        /// Local acknowledgement delay, as an exponent of 4.096 µs.
        local_ca_ack_delay: u8 = attr.local_ca_ack_delay,
        /// Number of ports, 255 at most.
        phys_port_cnt: u8 = attr.phys_port_cnt,
    }
}

plain_copy! {
    /// What `ibv_device_attr_ex` adds; a field that the driver does not know is zero.
    ExtendedAttr from attr: ibv_device_attr_ex {
        /// On-demand paging in general.
        odp_general_caps: u64 = attr.odp_caps.general_caps,
        /// On-demand paging on RC queue pairs.
        odp_rc_caps: u32 = attr.odp_caps.per_transport_caps.rc_odp_caps,
        /// On-demand paging on UC queue pairs.
        odp_uc_caps: u32 = attr.odp_caps.per_transport_caps.uc_odp_caps,
        /// On-demand paging on UD queue pairs.
        odp_ud_caps: u32 = attr.odp_caps.per_transport_caps.ud_odp_caps,
        /// On-demand paging on XRC queue pairs.
        odp_xrc_caps: u32 = attr.xrc_odp_caps,
        /// Valid bits of a completion's time stamp.
        completion_timestamp_mask: u64 = attr.completion_timestamp_mask,
        /// Frequency of the device's clock in kHz.
        hca_core_clock_khz: u64 = attr.hca_core_clock,
        /// Capabilities, all 64 bits.
        device_cap_flags: u64 = attr.device_cap_flags_ex,
        /// Largest payload of segmentation offload in bytes.
        max_tso: u32 = attr.tso_caps.max_tso,
        /// Queue pair types with segmentation offload.
        tso_supported_qpts: u32 = attr.tso_caps.supported_qpts,
        /// Queue pair types with receive side scaling.
        rss_supported_qpts: u32 = attr.rss_caps.supported_qpts,
        /// Most indirection tables of receive side scaling.
        rss_max_rwq_indirection_tables: u32 =
            attr.rss_caps.max_rwq_indirection_tables,
        /// Largest indirection table of receive side scaling.
        rss_max_rwq_indirection_table_size: u32 =
            attr.rss_caps.max_rwq_indirection_table_size,
        /// Fields that the receive hash can take.
        rss_rx_hash_fields_mask: u64 = attr.rss_caps.rx_hash_fields_mask,
        /// Functions that the receive hash can be.
        rss_rx_hash_function: u8 = attr.rss_caps.rx_hash_function,
        /// Most receive work queues.
        max_wq_type_rq: u32 = attr.max_wq_type_rq,
        /// Lowest pace in kb/s.
        qp_rate_limit_min: u32 = attr.packet_pacing_caps.qp_rate_limit_min,
        /// Highest pace in kb/s.
        qp_rate_limit_max: u32 = attr.packet_pacing_caps.qp_rate_limit_max,
        /// Queue pair types that can be paced.
        pacing_supported_qpts: u32 = attr.packet_pacing_caps.supported_qpts,
        /// Capabilities of raw packet queue pairs.
        raw_packet_caps: u32 = attr.raw_packet_caps,
        /// Largest rendezvous header of tag matching.
        tm_max_rndv_hdr_size: u32 = attr.tm_caps.max_rndv_hdr_size,
        /// Most tags.
        tm_max_num_tags: u32 = attr.tm_caps.max_num_tags,
        /// Tag matching flags.
        tm_flags: u32 = attr.tm_caps.flags,
        /// Most outstanding tag operations.
        tm_max_ops: u32 = attr.tm_caps.max_ops,
        /// Most scatter entries of a tagged receive.
        tm_max_sge: u32 = attr.tm_caps.max_sge,
        /// Most completions that moderation can gather.
        max_cq_count: u16 = attr.cq_mod_caps.max_cq_count,
        /// Longest wait of completion moderation in µs.
        max_cq_period: u16 = attr.cq_mod_caps.max_cq_period,
        /// Bytes of device memory.
        max_dm_size: u64 = attr.max_dm_size,
        /// Sizes of fetch-and-add over PCI.
        pci_atomic_fetch_add: u16 = attr.pci_atomic_caps.fetch_add,
        /// Sizes of swap over PCI.
        pci_atomic_swap: u16 = attr.pci_atomic_caps.swap,
        /// Sizes of compare-and-swap over PCI.
        pci_atomic_compare_swap: u16 = attr.pci_atomic_caps.compare_swap,
        /// Number of ports, also above 255; 0 from a library before v33.
        phys_port_cnt: u32 = attr.phys_port_cnt_ex,
    }
}

/// The whole answer of a device about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceAttr {
    /// What every library and driver answers.
    pub basic: BasicAttr,
    /// What the extended query adds; `None` when library or driver has no such query.
    pub extended: Option<ExtendedAttr>,
    /// Interrupt vectors for completions.
    pub num_comp_vectors: i64,
    /// Completion counters; `None` from a library before v65 or a driver without them.
    pub completion_counters: Option<CompletionCounters>,
}

/// `ibv_comp_cntr_caps`: counters of completions that need no completion queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompletionCounters {
    /// Highest value of a counter.
    pub max_value: u64,
    /// Most counters.
    pub max_counters: u32,
    /// What they can count, as a mask.
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

    /// Number of ports.
    #[must_use]
    pub fn port_count(&self) -> u32 {
        let wide = self.extended.as_ref().map_or(0, |attr| attr.phys_port_cnt);
        if wide == 0 { u32::from(self.basic.phys_port_cnt) } else { wide }
    }
}

/// A C int; kept with its sign, as drivers let `max_mr` and the like run over.
fn number(value: c_int) -> i64 {
    i64::from(value)
}

/// A C string that may fill its field to the end.
pub(super) fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> =
        field.iter().take_while(|byte| **byte != 0).map(|byte| byte.to_ne_bytes()[0]).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
