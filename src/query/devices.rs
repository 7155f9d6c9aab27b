//! Declares the columns of `rdmactl devices`: RDMA devices with their ports.

use super::column::listing;
use super::device_row::{DRIVER, NETDEV, PROTOCOL};
use super::place_columns::{
    active_mtu, device, host, leaf_switch, lid, max_mtu, netdev, netdev_mtu, phys_state, port,
    protocol, rate, rate_text, remote, remote_port, sm_lid, state, via,
};
use super::verbs_columns::{self as verbs, mask, number};
use super::{DeviceRow, ShowCondition, Value};
use crate::model::{NetlinkDevice, NetnsMode, NodeType, PciLink, PciPath, Protocol, RdmaSystem};

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
    [
        lid(), sm_lid(), active_mtu(), max_mtu(), netdev_mtu().shown(ShowCondition::Asked),
        rate_text(), remote(), remote_port(), leaf_switch(),
    ]
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
        |row| pci_link(row, |link| match link.is_degraded {
            Some(true) => Value::Bad(link.current.to_string()),
            _ => Value::text(Some(link.current)),
        });
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
        |row| pci_link(row, |link| Value::text(link.card));
    "device.pci_link.slot" "PCI_SLOT" Left Asked ["pci_links", "device.pci_link", "device.pci"]
        "Maximum PCIe speed and width from the slot up to the CPU"
        |row| pci_link(row, |link| Value::text(link.slot));
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
    "device.hca_type" "HCA_TYPE" Left Asked ["device.hca_type"] "HCA type (sysfs hca_type)"
        |row| row.of_device(|device| Value::text(device.hca_type.as_ref()));
    "device.board_id" "BOARD" Left Asked ["device.board_id"] "Board id (PSID)"
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
    [
        verbs::max_qp().shown(ShowCondition::Verbose),
        verbs::max_cq().shown(ShowCondition::Verbose),
        verbs::max_mr().shown(ShowCondition::Verbose), verbs::max_srq(), verbs::transport_type(),
        verbs::vendor_id(), verbs::vendor_part_id(), verbs::hw_ver(), verbs::phys_port_cnt(),
        verbs::max_mr_size(), verbs::page_size_cap(), verbs::max_qp_wr(),
        verbs::device_cap_flags(), verbs::max_sge(), verbs::max_sge_rd(), verbs::max_cqe(),
        verbs::max_pd(), verbs::max_qp_rd_atom(), verbs::max_ee_rd_atom(),
        verbs::max_res_rd_atom(), verbs::max_qp_init_rd_atom(), verbs::max_ee_init_rd_atom(),
        verbs::atomic_cap(), verbs::max_ee(), verbs::max_rdd(), verbs::max_mw(),
        verbs::max_raw_ipv6_qp(), verbs::max_raw_ethy_qp(), verbs::max_mcast_grp(),
        verbs::max_mcast_qp_attach(), verbs::max_total_mcast_qp_attach(), verbs::max_ah(),
        verbs::max_fmr(), verbs::max_map_per_fmr(), verbs::max_srq_wr(), verbs::max_srq_sge(),
        verbs::max_pkeys(), verbs::local_ca_ack_delay(), verbs::num_comp_vectors(),
        verbs::odp_general_caps(), verbs::odp_rc_caps(), verbs::odp_uc_caps(),
        verbs::odp_ud_caps(), verbs::odp_xrc_caps(), verbs::completion_timestamp_mask(),
        verbs::hca_core_clock_khz(), verbs::device_cap_flags_ex(), verbs::max_tso_bytes(),
        verbs::tso_supported_qpts(), verbs::rss_supported_qpts(),
        verbs::rss_max_rwq_indirection_tables(), verbs::rss_max_rwq_indirection_table_size(),
        verbs::rss_rx_hash_fields_mask(), verbs::rss_rx_hash_function(), verbs::max_wq_type_rq(),
        verbs::qp_rate_limit_min_kbps(), verbs::qp_rate_limit_max_kbps(),
        verbs::pacing_supported_qpts(), verbs::raw_packet_caps(), verbs::tm_max_rndv_hdr_bytes(),
        verbs::tm_max_num_tags(), verbs::tm_flags(), verbs::tm_max_ops(), verbs::tm_max_sge(),
        verbs::max_cq_count(), verbs::max_cq_period_us(), verbs::max_dm_bytes(),
        verbs::pci_atomic_fetch_add(), verbs::pci_atomic_swap(), verbs::pci_atomic_compare_swap(),
    ]
    "device.verbs.comp_cntr_caps.max_counters" "MAX_COUNTERS" Right Asked ["verbs"] "Maximum number of completion counters"
        |row| number(row, |verbs| Some(verbs.comp_cntr_caps.as_ref()?.max_counters));
    "device.verbs.comp_cntr_caps.supported_qp_attach_ops" "SUPPORTED_QP_ATTACH_OPS" Right Asked ["verbs"] "Operations that completion counters support, as a mask"
        |row| mask(row, |verbs| Some(verbs.comp_cntr_caps.as_ref()?.supported_qp_attach_ops));
}

/// Returns the file name of the provider. Its directory depends on the distribution.
fn provider(row: &DeviceRow<'_>) -> Value {
    if row.device.is_some() && row.is_unreadable("provider") {
        return Value::Failed;
    }
    row.of_device(|device| {
        let Some(provider) = &device.provider else { return Value::Absent };
        match &provider.file {
            None => Value::Bad("missing".into()),
            Some(_) if !provider.is_listed => Value::Bad("not listed".into()),
            Some(file) => Value::text(file.rsplit('/').next()),
        }
    })
}

fn netlink(row: &DeviceRow<'_>, get: impl Fn(&NetlinkDevice) -> Value) -> Value {
    row.of_device(|device| device.netlink.as_ref().map_or(Value::Absent, &get))
}

fn system(row: &DeviceRow<'_>, get: impl Fn(&RdmaSystem) -> Value) -> Value {
    row.report.rdma_system.as_ref().map_or(Value::Absent, get)
}

/// Returns a cell of the PCI Express link.
fn pci_link(row: &DeviceRow<'_>, get: impl Fn(&PciLink) -> Value) -> Value {
    if row.is_unreadable("device.pci_link") {
        return Value::Failed;
    }
    row.of_device(|device| device.pci_link.as_ref().map_or(Value::Absent, &get))
}

/// Returns the PCI address and the distance of each near GPU, and the number of all other GPUs.
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

/// Returns the address of the best GID. The cell is unreadable if a GID could not be read,
/// because that GID could be the best one.
fn address(row: &DeviceRow<'_>) -> Value {
    row.of_port(|port| match port.protocol {
        Some(Protocol::Roce) | None if row.is_unreadable("port.gids") => Value::Failed,
        _ => Value::text(port.address),
    })
}

#[test]
fn only_the_current_link_is_marked_as_degraded() {
    use super::Listing as _;
    use crate::model::{Device, HostReport, PciSpeed, Via};

    let report = HostReport::empty("n1", Via::Local);
    let cells = |is_degraded| {
        // A bridge further up has the speed of the current link.
        let link = PciLink {
            current: PciSpeed::new(16_000, 16),
            card: Some(PciSpeed::new(32_000, 16)),
            slot: Some(PciSpeed::new(16_000, 16)),
            is_degraded,
            physical_function: None,
        };
        let device = Device { pci_link: Some(link), ..Device::default() };
        let row = DeviceRow { report: &report, device: Some(&device), port: None };
        ["current", "card", "slot"].map(|which| {
            let id = format!("device.pci_link.{which}");
            let mut columns = Devices::COLUMNS.iter();
            columns.find(|column| column.id == id).map(|column| column.value(&row))
        })
    };
    let slower = PciSpeed::new(16_000, 16).to_string();
    let [card, slot] = [PciSpeed::new(32_000, 16), PciSpeed::new(16_000, 16)];
    let maximum = [card, slot].map(|speed| Some(Value::Text(speed.to_string())));
    let [current, rest @ ..] = cells(Some(true));
    assert_eq!((current, rest), (Some(Value::Bad(slower.clone())), maximum.clone()));
    for is_degraded in [Some(false), None] {
        let [current, rest @ ..] = cells(is_degraded);
        assert_eq!((current, rest), (Some(Value::Text(slower.clone())), maximum.clone()));
    }
}
