use std::net::IpAddr;

use super::column::columns;
use super::{Column, DeviceRow, Listing, Value};
use crate::model::{Gid, NodeType, Protocol, VerbsDevice};

/// The listing of `rdmactl devices`: one row for each port.
#[derive(Debug)]
pub enum Devices {}

impl Listing for Devices {
    type Row<'report> = DeviceRow<'report>;

    const COLUMNS: &'static [Column<Self>] = columns! {
        "host" "HOST" Left WithHosts [] "Name of the host"
            |row| Value::Text(row.report.host.clone());
        "via" "VIA" Left VerboseWithHosts [] "How the answer came: local, agent, upload, file"
            |row| Value::via(row.report);
        "kernel" "KERNEL" Left Asked ["kernel"] "Kernel release of the host"
            |row| Value::text(row.report.kernel.as_ref());
        "device.name" "DEVICE" Left Always ["devices"] "Kernel name of the RDMA device"
            |row| row.of_device(|device| Value::text(Some(&device.name)));
        "port.number" "PORT" Right Always ["device.ports"] "Port number"
            |row| row.of_port(|port| Value::int(Some(port.number)));
        "port.state" "STATE" Left Always ["port.state"] "Logical state; why a host gave no answer"
            |row| row.state();
        "port.phys_state" "PHYS" Left Verbose ["port.phys_state"] "Physical state"
            |row| row.of_port(|port| Value::text(port.phys_state.as_ref()));
        "port.protocol" "LINK" Left Always ["port.link_layer", "device.node_type", "device.driver", "device.pci"]
            "Protocol on the port: IB, RoCE, iWARP, OPA, EFA, usNIC"
            |row| row.of_port(|port| Value::text(port.protocol.map(Protocol::word)));
        "port.rate_bps" "RATE" Right Always ["port.rate_bps", "port.state"] "Data rate of an active port"
            |row| row.of_port(|port| port.rate_bps.map_or(Value::Absent, Value::Bits));
        "port.netdev" "NETDEV" Left Always
            ["port.netdev", "port.link_layer", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "Network interface of the port"
            |row| row.of_netdev(|port| Value::text(port.netdev.as_ref()));
        "port.address" "ADDRESS" Left Always ["port.link_layer", "device.node_type", "device.ports"]
            "Best IP address among the GIDs of a RoCE port"
            address;
        "port.lid" "LID" Right Verbose ["port.lid", "port.link_layer"] "Local identifier"
            |row| row.of_port(|port| Value::hex(port.lid));
        "port.sm_lid" "SM_LID" Right Verbose ["port.sm_lid", "port.link_layer"] "LID of the subnet manager"
            |row| row.of_port(|port| Value::hex(port.sm_lid));
        "port.active_mtu" "MTU" Right Verbose ["verbs"] "Active RDMA MTU in bytes"
            |row| row.of_port(|port| Value::bytes(port.active_mtu));
        "port.max_mtu" "MAX_MTU" Right Verbose ["verbs"] "Largest RDMA MTU in bytes"
            |row| row.of_port(|port| Value::bytes(port.max_mtu));
        "port.netdev_mtu" "NETDEV_MTU" Right Asked
            ["port.netdev_mtu", "port.netdev", "port.link_layer", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "MTU of the network interface in bytes"
            |row| row.of_netdev(|port| Value::bytes(port.netdev_mtu));
        "port.rate_text" "RATE_TEXT" Left Asked ["port.rate_bps"] "The kernel's rate file, word for word"
            |row| row.of_port(|port| Value::text(port.rate_text.as_ref()));
        "device.driver" "DRIVER" Left Always
            ["device.driver", "device.pci", "device.parent", "device.node_type"] "Kernel driver"
            |row| row.of_device(|device| Value::text(device.driver.as_ref()));
        "device.firmware" "FIRMWARE" Left Always ["device.firmware"] "Firmware version"
            |row| row.of_device(|device| Value::text(device.firmware.as_ref()));
        "device.node_guid" "GUID" Left Always ["device.node_guid"] "Node GUID"
            |row| row.of_device(|device| Value::text(device.node_guid));
        "device.sys_image_guid" "SYS_GUID" Left Asked ["device.sys_image_guid"] "GUID of the whole card"
            |row| row.of_device(|device| Value::text(device.sys_image_guid));
        "device.numa_node" "NUMA" Right Verbose ["device.numa_node", "device.pci"] "NUMA node of the slot"
            |row| row.of_device(|device| Value::int(device.numa_node));
        "device.pci" "PCI" Left Verbose ["device.pci"] "PCI address"
            |row| row.of_device(|device| Value::text(device.pci.as_ref()));
        "device.node_type" "TYPE" Left Asked ["device.node_type"] "Node type"
            |row| row.of_device(|device| Value::text(device.node_type.map(NodeType::word)));
        "device.node_desc" "DESCRIPTION" Left Asked ["device.node_desc"] "Node description"
            |row| row.of_device(|device| Value::text(device.node_desc.as_ref()));
        "device.hca_type" "HCA_TYPE" Left Asked ["device.hca_type"] "Type of the card"
            |row| row.of_device(|device| Value::text(device.hca_type.as_ref()));
        "device.board_id" "BOARD" Left Asked ["device.board_id"] "Board id (PSID)"
            |row| row.of_device(|device| Value::text(device.board_id.as_ref()));
        "device.hw_rev" "HW_REV" Left Asked ["device.hw_rev"] "Hardware revision as the driver prints it"
            |row| row.of_device(|device| Value::text(device.hw_rev.as_ref()));
        "device.verbs.max_qp" "MAX_QP" Right Verbose ["verbs"] "Most queue pairs"
            |row| limit(row, |verbs| verbs.max_qp);
        "device.verbs.max_cq" "MAX_CQ" Right Verbose ["verbs"] "Most completion queues"
            |row| limit(row, |verbs| verbs.max_cq);
        "device.verbs.max_mr" "MAX_MR" Right Verbose ["verbs"] "Most memory regions"
            |row| limit(row, |verbs| verbs.max_mr);
        "device.verbs.max_srq" "MAX_SRQ" Right Asked ["verbs"] "Most shared receive queues"
            |row| limit(row, |verbs| verbs.max_srq);
    };

    fn is_unreadable(row: &DeviceRow<'_>, source: &str) -> bool {
        row.is_unreadable(source)
    }
}

fn limit(row: &DeviceRow<'_>, get: impl Fn(&VerbsDevice) -> i64) -> Value {
    row.of_device(|device| {
        device.verbs.as_ref().map_or(Value::Absent, |verbs| Value::Int(get(verbs)))
    })
}

/// With an entry unreadable, another may look like the best and be the wrong one.
fn address(row: &DeviceRow<'_>) -> Value {
    row.of_port(|port| match port.protocol {
        Some(Protocol::Roce) if row.is_unreadable("port.gids") => Value::Failed,
        Some(Protocol::Roce) => Value::text(best_address(&port.gids)),
        _ => Value::Absent,
    })
}

/// IPv4 before global IPv6 before link-local, then the lowest index.
fn best_address(gids: &[Gid]) -> Option<IpAddr> {
    let rank = |gid: &&Gid| match gid.value.ip() {
        IpAddr::V4(_) => 0,
        IpAddr::V6(_) if !gid.value.is_link_local() => 1,
        IpAddr::V6(_) => 2,
    };
    gids.iter().min_by_key(rank).map(|gid| gid.value.ip())
}
