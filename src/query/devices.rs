//! Lists RDMA devices with their ports, for `rdmactl devices`.

use super::column::listing;
use super::device_row::{DRIVER, NETDEV, PROTOCOL};
use super::place_columns::{
    active_mtu, device, host, leaf_switch, lid, max_mtu, netdev, netdev_mtu, phys_state, port,
    protocol, rate, rate_text, remote, remote_port, sm_lid, state, via,
};
use super::{DeviceRow, ShowCondition, Value};
use crate::model::{
    NetlinkDevice, NetnsMode, NodeType, PciLink, PciPath, PciSpeed, Protocol, RdmaSystem,
    VerbsDevice, VerbsExtended,
};

listing! {
    /// Listing of `rdmactl devices`, one row for each port.
    Devices "devices" of DeviceRow<'report>;
    example "state!=active and rate<400G";
    keys [HOST, DEVICE, PORT];
    unreadable |row, source| row.is_unreadable(source);
    columns
    [host(), via()]
    "kernel" "KERNEL" Left Asked ["kernel"] "Kernel release of the host"
        |row| Value::text(row.report.kernel.as_ref());
    [
        device(), port(), state(), phys_state().shown(ShowCondition::Verbose), protocol(), rate(),
        netdev(),
    ]
    "port.address" "ADDRESS" Left Always
        ["device.ports"] + PROTOCOL
        "IP address of the best GID of a RoCE port"
        address;
    [lid(), sm_lid(), active_mtu(), max_mtu(), netdev_mtu().shown(ShowCondition::Asked), rate_text(), remote(), remote_port(), leaf_switch()]
    "device.driver" "DRIVER" Left Always
        [] + DRIVER "Kernel driver of the PCI function or of the software device"
        |row| row.of_device(|device| Value::text(device.driver.as_ref()));
    "device.provider.file" "PROVIDER" Left Verbose ["provider"] + DRIVER
        "Userspace provider of the driver, which libibverbs loads"
        provider;
    "device.provider.package" "PACKAGE" Left Asked ["provider"] + DRIVER
        "Package of the userspace provider on this distribution"
        |row| row.of_device(|device| {
            Value::text(device.provider.as_ref().and_then(|provider| provider.package.as_ref()))
        });
    "device.firmware" "FIRMWARE" Left Always ["device.firmware"] "Firmware version"
        |row| row.of_device(|device| Value::text(device.firmware.as_ref()));
    "device.node_guid" "GUID" Left Unfolded ["device.node_guid"] "Node GUID of the device"
        |row| row.of_device(|device| Value::text(device.node_guid));
    "device.sys_image_guid" "SYS_GUID" Left Asked ["details", "device.sys_image_guid"] "System image GUID, the same for all devices of a card"
        |row| row.of_device(|device| Value::text(device.sys_image_guid));
    "device.numa_node" "NUMA" Right Verbose ["device.numa_node", "device.pci"] "NUMA node of the slot"
        |row| row.of_device(|device| Value::int(device.numa_node));
    "device.pci" "PCI" Left Verbose ["device.pci"] "PCI address of the device"
        |row| row.of_device(|device| Value::text(device.pci.as_ref()));
    "device.local_cpus" "CPUS" Left Asked ["details", "device.local_cpus", "device.pci"] "CPUs local to the PCIe slot"
        |row| row.of_device(|device| Value::text(device.local_cpus.as_ref()));
    "device.pci_link.current" "PCI_LINK" Left Verbose ["pci_links", "device.pci_link", "device.pci"]
        "Current PCIe speed and width; `!` if below what card and slot support"
        |row| pci_link(row, |link| Some(link.current));
    "port.pci_suffices" "PCI_FITS" Left Verbose
        ["pci_links", "device.pci_link", "port.rate_bps", "port.state"] + NETDEV
        "PCIe bandwidth up to the CPU suffices for the rate of the port: yes, no"
        |row| row.of_netdev(|port| match port.pci_suffices {
            None => Value::Absent,
            Some(true) => Value::Text("yes".into()),
            Some(false) => Value::Bad("no".into()),
        });
    "device.pci_link.card" "PCI_CARD" Left Asked ["pci_links", "device.pci_link", "device.pci"]
        "Maximum PCIe speed and width of the card"
        |row| pci_link(row, |link| link.card);
    "device.pci_link.slot" "PCI_SLOT" Left Asked ["pci_links", "device.pci_link", "device.pci"]
        "Maximum PCIe speed and width from the slot up to the CPU"
        |row| pci_link(row, |link| link.slot);
    "device.pci_link.physical_function" "PF" Left Asked ["pci_links", "device.pci_link", "device.pci"]
        "PCI address of the physical function of a virtual function"
        |row| row.of_device(|device| {
            Value::text(device.pci_link.as_ref().and_then(|link| link.physical_function.as_ref()))
        });
    "device.virtual_functions" "VFS" Left Asked ["pci_links", "device.virtual_functions", "device.pci"]
        "Enabled virtual functions and their maximum"
        |row| row.of_device(|device| Value::text(device.virtual_functions));
    "device.gpus" "GPUS" Left Verbose ["gpus", "device.pci", "device.numa_node"]
        "GPUs and their distance: PIX (one PCIe switch), PXB, PHB, NODE; farther GPUs as a number"
        gpus;
    "device.node_type" "TYPE" Left Asked ["device.node_type"] "Node type: CA, switch, RNIC, usNIC"
        |row| row.of_device(|device| Value::text(device.node_type.map(NodeType::word)));
    "device.node_desc" "DESCRIPTION" Left Asked ["details", "device.node_desc"] "Node description, as subnet managers show it"
        |row| row.of_device(|device| Value::text(device.node_desc.as_ref()));
    "device.hca_type" "HCA_TYPE" Left Asked ["details", "device.hca_type"] "HCA type (sysfs hca_type)"
        |row| row.of_device(|device| Value::text(device.hca_type.as_ref()));
    "device.board_id" "BOARD" Left Asked ["details", "device.board_id"] "Board id (PSID)"
        |row| row.of_device(|device| Value::text(device.board_id.as_ref()));
    "device.hw_rev" "HW_REV" Left Asked ["details", "device.hw_rev"] "Hardware revision as the driver prints it"
        |row| row.of_device(|device| Value::text(device.hw_rev.as_ref()));
    "device.uverbs" "UVERBS" Left Asked ["details", "uverbs"] "uverbs character device"
        |row| row.of_device(|device| Value::text(device.uverbs.as_ref()));
    "device.uverbs_abi" "ABI" Right Asked ["details", "uverbs", "device.uverbs_abi"]
        "ABI version between kernel driver and userspace provider"
        |row| row.of_device(|device| Value::int(device.uverbs_abi));
    "device.netlink.index" "INDEX" Right Asked ["netlink"] "Kernel index of the device, which a rename does not change"
        |row| netlink(row, |netlink| Value::int(Some(netlink.index)));
    "device.netlink.protocol" "PROTOCOL" Left Asked ["netlink"] "Protocol as the kernel reports it: roce, ib, iw, opa"
        |row| netlink(row, |netlink| Value::text(netlink.protocol.as_ref()));
    "device.netlink.adaptive_moderation" "DIM" Left Asked ["netlink"]
        "Adaptive interrupt moderation of completion queues: on, off"
        |row| netlink(row, |netlink| Value::switch(netlink.adaptive_moderation));
    "device.netlink.caps" "CAPS" Left Asked ["netlink"] "Names of the capability bits of the device"
        |row| netlink(row, |netlink| Value::list(netlink.caps.as_deref()));
    "device.netlink.sub_type" "SUB_TYPE" Left Asked ["netlink"] "Kind of a sub-device: smi"
        |row| netlink(row, |netlink| Value::text(netlink.sub_type.as_ref()));
    "device.netlink.parent" "PARENT" Left Asked ["netlink"] "Parent device of a sub-device"
        |row| netlink(row, |netlink| Value::text(netlink.parent.as_ref()));
    "device.netlink.objects" "OBJECTS" Left Asked ["netlink"] "Number of objects of each kind, and their limits"
        |row| netlink(row, |netlink| Value::list(netlink.objects.as_deref()));
    "rdma_system.netns_mode" "NETNS" Left Asked ["netlink", "rdma_system"]
        "Network namespace mode of RDMA devices: shared, exclusive"
        |row| system(row, |system| Value::text(system.netns_mode.map(NetnsMode::word)));
    "rdma_system.copy_on_fork" "COPY_ON_FORK" Left Asked ["netlink", "rdma_system"]
        "Copy-on-fork support: registered memory stays usable after fork"
        |row| system(row, |system| Value::switch(system.copy_on_fork));
    "rdma_system.privileged_qkey" "PRIVILEGED_QKEY" Left Asked ["netlink", "rdma_system"]
        "Permission of unprivileged users to set controlled Q_Keys: on, off"
        |row| system(row, |system| Value::switch(system.privileged_qkey));
    "rdma_system.monitor" "MONITOR" Left Asked ["netlink", "rdma_system"]
        "Kernel notification of added and removed devices: on, off"
        |row| system(row, |system| Value::switch(system.monitor));
    "device.verbs.max_qp" "MAX_QP" Right Verbose ["verbs"] "Maximum number of queue pairs"
        |row| limit(row, |verbs| verbs.max_qp);
    "device.verbs.max_cq" "MAX_CQ" Right Verbose ["verbs"] "Maximum number of completion queues"
        |row| limit(row, |verbs| verbs.max_cq);
    "device.verbs.max_mr" "MAX_MR" Right Verbose ["verbs"] "Maximum number of memory regions"
        |row| limit(row, |verbs| verbs.max_mr);
    "device.verbs.max_srq" "MAX_SRQ" Right Asked ["verbs"] "Maximum number of shared receive queues"
        |row| limit(row, |verbs| verbs.max_srq);
    "device.verbs.transport_type" "TRANSPORT_TYPE" Right Asked ["verbs"] "Transport of the device as a code: 0 InfiniBand and RoCE, 1 iWARP, 4 unspecified"
        |row| number(row, |verbs| verbs.transport_type.map(i64::from));
    "device.verbs.vendor_id" "VENDOR_ID" Right Asked ["verbs"] "Vendor of the device (an IEEE OUI)"
        |row| mask(row, |verbs| Some(verbs.vendor_id.into()));
    "device.verbs.vendor_part_id" "VENDOR_PART_ID" Right Asked ["verbs"] "Part id of the vendor"
        |row| number(row, |verbs| Some(verbs.vendor_part_id.into()));
    "device.verbs.hw_ver" "HW_VER" Right Asked ["verbs"] "Hardware version as verbs report it"
        |row| mask(row, |verbs| Some(verbs.hw_ver.into()));
    "device.verbs.phys_port_cnt" "PHYS_PORT_CNT" Right Asked ["verbs"] "Number of ports as verbs report it"
        |row| number(row, |verbs| Some(verbs.phys_port_cnt.into()));
    "device.verbs.max_mr_size" "MAX_MR_SIZE" Right Asked ["verbs"] "Maximum size of a memory region, in bytes"
        |row| mask(row, |verbs| Some(verbs.max_mr_size));
    "device.verbs.page_size_cap" "PAGE_SIZE_CAP" Right Asked ["verbs"] "Memory page sizes, as a mask"
        |row| mask(row, |verbs| Some(verbs.page_size_cap));
    "device.verbs.max_qp_wr" "MAX_QP_WR" Right Asked ["verbs"] "Maximum number of outstanding requests of a work queue"
        |row| number(row, |verbs| Some(verbs.max_qp_wr));
    "device.verbs.device_cap_flags" "DEVICE_CAP_FLAGS" Right Asked ["verbs"] "Capabilities of the device, as a mask"
        |row| mask(row, |verbs| Some(verbs.device_cap_flags));
    "device.verbs.max_sge" "MAX_SGE" Right Asked ["verbs"] "Maximum number of scatter/gather entries of a request"
        |row| number(row, |verbs| Some(verbs.max_sge));
    "device.verbs.max_sge_rd" "MAX_SGE_RD" Right Asked ["verbs"] "Maximum number of scatter/gather entries of an RDMA read"
        |row| number(row, |verbs| verbs.max_sge_rd);
    "device.verbs.max_cqe" "MAX_CQE" Right Asked ["verbs"] "Maximum number of entries of a completion queue"
        |row| number(row, |verbs| Some(verbs.max_cqe));
    "device.verbs.max_pd" "MAX_PD" Right Asked ["verbs"] "Maximum number of protection domains"
        |row| number(row, |verbs| Some(verbs.max_pd));
    "device.verbs.max_qp_rd_atom" "MAX_QP_RD_ATOM" Right Asked ["verbs"] "Maximum outstanding RDMA reads and atomics of a queue pair as target"
        |row| number(row, |verbs| Some(verbs.max_qp_rd_atom));
    "device.verbs.max_ee_rd_atom" "MAX_EE_RD_ATOM" Right Asked ["verbs"] "Maximum outstanding RDMA reads and atomics of an end-to-end context as target"
        |row| number(row, |verbs| verbs.max_ee_rd_atom);
    "device.verbs.max_res_rd_atom" "MAX_RES_RD_ATOM" Right Asked ["verbs"] "Maximum outstanding RDMA reads and atomics of the device as target"
        |row| number(row, |verbs| verbs.max_res_rd_atom);
    "device.verbs.max_qp_init_rd_atom" "MAX_QP_INIT_RD_ATOM" Right Asked ["verbs"] "Maximum outstanding RDMA reads and atomics that a queue pair initiates"
        |row| number(row, |verbs| verbs.max_qp_init_rd_atom);
    "device.verbs.max_ee_init_rd_atom" "MAX_EE_INIT_RD_ATOM" Right Asked ["verbs"] "Maximum outstanding RDMA reads and atomics that an end-to-end context initiates"
        |row| number(row, |verbs| verbs.max_ee_init_rd_atom);
    "device.verbs.atomic_cap" "ATOMIC_CAP" Right Asked ["verbs"] "Atomics: 0 none, 1 within the device, 2 global"
        |row| number(row, |verbs| verbs.atomic_cap.map(i64::from));
    "device.verbs.max_ee" "MAX_EE" Right Asked ["verbs"] "Maximum number of end-to-end contexts"
        |row| number(row, |verbs| verbs.max_ee);
    "device.verbs.max_rdd" "MAX_RDD" Right Asked ["verbs"] "Maximum number of reliable datagram domains"
        |row| number(row, |verbs| verbs.max_rdd);
    "device.verbs.max_mw" "MAX_MW" Right Asked ["verbs"] "Maximum number of memory windows"
        |row| number(row, |verbs| verbs.max_mw);
    "device.verbs.max_raw_ipv6_qp" "MAX_RAW_IPV6_QP" Right Asked ["verbs"] "Maximum number of raw IPv6 queue pairs"
        |row| number(row, |verbs| verbs.max_raw_ipv6_qp);
    "device.verbs.max_raw_ethy_qp" "MAX_RAW_ETHY_QP" Right Asked ["verbs"] "Maximum number of raw Ethertype queue pairs"
        |row| number(row, |verbs| verbs.max_raw_ethy_qp);
    "device.verbs.max_mcast_grp" "MAX_MCAST_GRP" Right Asked ["verbs"] "Maximum number of multicast groups"
        |row| number(row, |verbs| verbs.max_mcast_grp);
    "device.verbs.max_mcast_qp_attach" "MAX_MCAST_QP_ATTACH" Right Asked ["verbs"] "Maximum number of queue pairs in one multicast group"
        |row| number(row, |verbs| verbs.max_mcast_qp_attach);
    "device.verbs.max_total_mcast_qp_attach" "MAX_TOTAL_MCAST_QP_ATTACH" Right Asked ["verbs"] "Maximum number of queue pairs in all multicast groups"
        |row| number(row, |verbs| verbs.max_total_mcast_qp_attach);
    "device.verbs.max_ah" "MAX_AH" Right Asked ["verbs"] "Maximum number of address handles"
        |row| number(row, |verbs| Some(verbs.max_ah));
    "device.verbs.max_fmr" "MAX_FMR" Right Asked ["verbs"] "Maximum number of fast memory regions"
        |row| number(row, |verbs| verbs.max_fmr);
    "device.verbs.max_map_per_fmr" "MAX_MAP_PER_FMR" Right Asked ["verbs"] "Maximum number of mappings of a fast memory region"
        |row| number(row, |verbs| verbs.max_map_per_fmr);
    "device.verbs.max_srq_wr" "MAX_SRQ_WR" Right Asked ["verbs"] "Maximum number of requests in a shared receive queue"
        |row| number(row, |verbs| verbs.max_srq_wr);
    "device.verbs.max_srq_sge" "MAX_SRQ_SGE" Right Asked ["verbs"] "Maximum number of scatter entries of a request in a shared receive queue"
        |row| number(row, |verbs| verbs.max_srq_sge);
    "device.verbs.max_pkeys" "MAX_PKEYS" Right Asked ["verbs"] "Maximum number of partitions"
        |row| number(row, |verbs| Some(verbs.max_pkeys.into()));
    "device.verbs.local_ca_ack_delay" "LOCAL_CA_ACK_DELAY" Right Asked ["verbs"] "Local acknowledgement delay, as an exponent of 4.096 us"
        |row| number(row, |verbs| verbs.local_ca_ack_delay.map(i64::from));
    "device.verbs.num_comp_vectors" "NUM_COMP_VECTORS" Right Asked ["verbs"] "Interrupt vectors for completions"
        |row| number(row, |verbs| verbs.num_comp_vectors);
    "device.verbs.extended.odp_general_caps" "ODP_GENERAL_CAPS" Right Asked ["verbs"] "On-demand paging in general, as a mask"
        |row| extra_mask(row, |verbs| verbs.odp_general_caps);
    "device.verbs.extended.odp_rc_caps" "ODP_RC_CAPS" Right Asked ["verbs"] "On-demand paging on RC queue pairs"
        |row| extra_mask(row, |verbs| verbs.odp_rc_caps.into());
    "device.verbs.extended.odp_uc_caps" "ODP_UC_CAPS" Right Asked ["verbs"] "On-demand paging on UC queue pairs"
        |row| extra_mask(row, |verbs| verbs.odp_uc_caps.into());
    "device.verbs.extended.odp_ud_caps" "ODP_UD_CAPS" Right Asked ["verbs"] "On-demand paging on UD queue pairs"
        |row| extra_mask(row, |verbs| verbs.odp_ud_caps.into());
    "device.verbs.extended.odp_xrc_caps" "ODP_XRC_CAPS" Right Asked ["verbs"] "On-demand paging on XRC queue pairs"
        |row| extra_mask(row, |verbs| verbs.odp_xrc_caps.into());
    "device.verbs.extended.completion_timestamp_mask" "COMPLETION_TIMESTAMP_MASK" Right Asked ["verbs"] "Valid bits of completion timestamps, as a mask"
        |row| extra_mask(row, |verbs| verbs.completion_timestamp_mask);
    "device.verbs.extended.hca_core_clock_khz" "HCA_CORE_CLOCK_KHZ" Right Asked ["verbs"] "Clock of the device in kHz"
        |row| extra_number(row, |verbs| verbs.hca_core_clock_khz);
    "device.verbs.extended.device_cap_flags_ex" "DEVICE_CAP_FLAGS_EX" Right Asked ["verbs"] "Capabilities of the device, all 64 bits"
        |row| extra_mask(row, |verbs| verbs.device_cap_flags_ex);
    "device.verbs.extended.max_tso_bytes" "MAX_TSO_BYTES" Right Asked ["verbs"] "Largest payload of segmentation offload in bytes"
        |row| extra_number(row, |verbs| verbs.max_tso_bytes.into());
    "device.verbs.extended.tso_supported_qpts" "TSO_SUPPORTED_QPTS" Right Asked ["verbs"] "Queue pair types with segmentation offload"
        |row| extra_mask(row, |verbs| verbs.tso_supported_qpts.into());
    "device.verbs.extended.rss_supported_qpts" "RSS_SUPPORTED_QPTS" Right Asked ["verbs"] "Queue pair types with receive side scaling"
        |row| extra_mask(row, |verbs| verbs.rss_supported_qpts.into());
    "device.verbs.extended.rss_max_rwq_indirection_tables" "RSS_MAX_RWQ_INDIRECTION_TABLES" Right Asked ["verbs"] "Maximum number of indirection tables of receive side scaling"
        |row| extra_number(row, |verbs| verbs.rss_max_rwq_indirection_tables.into());
    "device.verbs.extended.rss_max_rwq_indirection_table_size" "RSS_MAX_RWQ_INDIRECTION_TABLE_SIZE" Right Asked ["verbs"] "Largest indirection table of receive side scaling"
        |row| extra_number(row, |verbs| verbs.rss_max_rwq_indirection_table_size.into());
    "device.verbs.extended.rss_rx_hash_fields_mask" "RSS_RX_HASH_FIELDS_MASK" Right Asked ["verbs"] "Header fields that the receive hash can use, as a mask"
        |row| extra_mask(row, |verbs| verbs.rss_rx_hash_fields_mask);
    "device.verbs.extended.rss_rx_hash_function" "RSS_RX_HASH_FUNCTION" Right Asked ["verbs"] "Functions of the receive hash, as a mask"
        |row| extra_mask(row, |verbs| verbs.rss_rx_hash_function.into());
    "device.verbs.extended.max_wq_type_rq" "MAX_WQ_TYPE_RQ" Right Asked ["verbs"] "Maximum number of receive work queues"
        |row| extra_number(row, |verbs| verbs.max_wq_type_rq.into());
    "device.verbs.extended.qp_rate_limit_min_kbps" "QP_RATE_LIMIT_MIN_KBPS" Right Asked ["verbs"] "Minimum rate limit of a queue pair, in kb/s"
        |row| extra_number(row, |verbs| verbs.qp_rate_limit_min_kbps.into());
    "device.verbs.extended.qp_rate_limit_max_kbps" "QP_RATE_LIMIT_MAX_KBPS" Right Asked ["verbs"] "Maximum rate limit of a queue pair, in kb/s"
        |row| extra_number(row, |verbs| verbs.qp_rate_limit_max_kbps.into());
    "device.verbs.extended.pacing_supported_qpts" "PACING_SUPPORTED_QPTS" Right Asked ["verbs"] "Queue pair types with a rate limit, as a mask"
        |row| extra_mask(row, |verbs| verbs.pacing_supported_qpts.into());
    "device.verbs.extended.raw_packet_caps" "RAW_PACKET_CAPS" Right Asked ["verbs"] "Capabilities of raw packet queue pairs"
        |row| extra_mask(row, |verbs| verbs.raw_packet_caps.into());
    "device.verbs.extended.tm_max_rndv_hdr_bytes" "TM_MAX_RNDV_HDR_BYTES" Right Asked ["verbs"] "Largest rendezvous header of tag matching in bytes"
        |row| extra_number(row, |verbs| verbs.tm_max_rndv_hdr_bytes.into());
    "device.verbs.extended.tm_max_num_tags" "TM_MAX_NUM_TAGS" Right Asked ["verbs"] "Maximum number of tags of tag matching"
        |row| extra_number(row, |verbs| verbs.tm_max_num_tags.into());
    "device.verbs.extended.tm_flags" "TM_FLAGS" Right Asked ["verbs"] "Tag matching flags"
        |row| extra_mask(row, |verbs| verbs.tm_flags.into());
    "device.verbs.extended.tm_max_ops" "TM_MAX_OPS" Right Asked ["verbs"] "Maximum number of outstanding tag operations"
        |row| extra_number(row, |verbs| verbs.tm_max_ops.into());
    "device.verbs.extended.tm_max_sge" "TM_MAX_SGE" Right Asked ["verbs"] "Maximum number of scatter entries of a tagged receive"
        |row| extra_number(row, |verbs| verbs.tm_max_sge.into());
    "device.verbs.extended.max_cq_count" "MAX_CQ_COUNT" Right Asked ["verbs"] "Maximum number of completions per interrupt of moderation"
        |row| extra_number(row, |verbs| verbs.max_cq_count.into());
    "device.verbs.extended.max_cq_period_us" "MAX_CQ_PERIOD_US" Right Asked ["verbs"] "Maximum period of completion moderation, in us"
        |row| extra_number(row, |verbs| verbs.max_cq_period_us.into());
    "device.verbs.extended.max_dm_bytes" "MAX_DM_BYTES" Right Asked ["verbs"] "Device memory in bytes"
        |row| extra_number(row, |verbs| verbs.max_dm_bytes);
    "device.verbs.extended.pci_atomic_fetch_add" "PCI_ATOMIC_FETCH_ADD" Right Asked ["verbs"] "Sizes of fetch-and-add over PCI"
        |row| extra_mask(row, |verbs| verbs.pci_atomic_fetch_add.into());
    "device.verbs.extended.pci_atomic_swap" "PCI_ATOMIC_SWAP" Right Asked ["verbs"] "Sizes of swap over PCI"
        |row| extra_mask(row, |verbs| verbs.pci_atomic_swap.into());
    "device.verbs.extended.pci_atomic_compare_swap" "PCI_ATOMIC_COMPARE_SWAP" Right Asked ["verbs"] "Sizes of compare-and-swap over PCI"
        |row| extra_mask(row, |verbs| verbs.pci_atomic_compare_swap.into());
    "device.verbs.comp_cntr_caps.max_counters" "MAX_COUNTERS" Right Asked ["verbs"] "Maximum number of completion counters"
        |row| number(row, |verbs| Some(verbs.comp_cntr_caps.as_ref()?.max_counters.into()));
    "device.verbs.comp_cntr_caps.supported_qp_attach_ops" "SUPPORTED_QP_ATTACH_OPS" Right Asked ["verbs"] "Operations that completion counters support, as a mask"
        |row| mask(row, |verbs| Some(verbs.comp_cntr_caps.as_ref()?.supported_qp_attach_ops.into()));
}

fn limit(row: &DeviceRow<'_>, get: impl Fn(&VerbsDevice) -> i64) -> Value {
    number(row, |verbs| Some(get(verbs)))
}

fn number(row: &DeviceRow<'_>, get: impl Fn(&VerbsDevice) -> Option<i64>) -> Value {
    let of = |verbs: &VerbsDevice| get(verbs).map_or(Value::Absent, Value::Int);
    row.of_device(|device| device.verbs.as_ref().map_or(Value::Absent, of))
}

fn mask(row: &DeviceRow<'_>, get: impl Fn(&VerbsDevice) -> Option<u64>) -> Value {
    let of = |verbs: &VerbsDevice| get(verbs).map_or(Value::Absent, Value::Hex);
    row.of_device(|device| device.verbs.as_ref().map_or(Value::Absent, of))
}

fn extra_number(row: &DeviceRow<'_>, get: impl Fn(&VerbsExtended) -> u64) -> Value {
    number(row, |verbs| i64::try_from(get(verbs.extended.as_ref()?)).ok())
}

fn extra_mask(row: &DeviceRow<'_>, get: impl Fn(&VerbsExtended) -> u64) -> Value {
    mask(row, |verbs| verbs.extended.as_ref().map(&get))
}

/// Returns the file name of the provider, without the directory, which depends on the
/// distribution.
fn provider(row: &DeviceRow<'_>) -> Value {
    if row.device.is_some() && row.is_unreadable("provider") {
        return Value::Failed;
    }
    row.of_device(|device| match &device.provider {
        None => Value::Absent,
        Some(provider) => match &provider.file {
            None => Value::Bad("missing".into()),
            Some(_) if !provider.is_listed => Value::Bad("not listed".into()),
            Some(file) => Value::text(file.rsplit('/').next()),
        },
    })
}

fn netlink(row: &DeviceRow<'_>, get: impl Fn(&NetlinkDevice) -> Value) -> Value {
    row.of_device(|device| device.netlink.as_ref().map_or(Value::Absent, &get))
}

fn system(row: &DeviceRow<'_>, get: impl Fn(&RdmaSystem) -> Value) -> Value {
    row.report.rdma_system.as_ref().map_or(Value::Absent, get)
}

/// Returns one speed of the PCI Express link. The current speed is marked if adapter and slot
/// support a higher one.
fn pci_link(row: &DeviceRow<'_>, get: impl Fn(&PciLink) -> Option<PciSpeed>) -> Value {
    if row.is_unreadable("device.pci_link") {
        return Value::Failed;
    }
    row.of_device(|device| {
        let Some(link) = &device.pci_link else { return Value::Absent };
        match get(link) {
            Some(speed) if speed == link.current && link.is_degraded == Some(true) => {
                Value::Bad(speed.to_string())
            }
            speed => Value::text(speed),
        }
    })
}

/// Returns the near GPUs by address, and the number of the others.
fn gpus(row: &DeviceRow<'_>) -> Value {
    let sources = ["gpus", "device.pci", "device.numa_node"];
    if row.device.is_some() && sources.iter().any(|source| row.is_unreadable(source)) {
        return Value::Failed;
    }
    row.of_device(|device| {
        let all = device.gpus.as_deref().unwrap_or_default();
        let near = all.iter().filter_map(|gpu| {
            let path = gpu.path.filter(|path| *path != PciPath::Sys)?;
            Some(format!("{} {}", gpu.pci, path.word()))
        });
        let count = |path| all.iter().filter(|gpu| gpu.path == path).count();
        let others = [(count(Some(PciPath::Sys)), "SYS"), (count(None), "of unknown NUMA node")];
        let others = others.into_iter().filter(|(count, _)| *count > 0);
        let others = others.map(|(count, word)| format!("{count} {word}"));
        Value::list(Some(&near.chain(others).collect::<Vec<_>>()))
    })
}

/// Returns the address of the port's best GID. If an entry of the table is unreadable, it could
/// be the best one, so the cell is unreadable.
fn address(row: &DeviceRow<'_>) -> Value {
    row.of_port(|port| match port.protocol {
        Some(Protocol::Roce) | None if row.is_unreadable("port.gids") => Value::Failed,
        _ => Value::text(port.address),
    })
}
