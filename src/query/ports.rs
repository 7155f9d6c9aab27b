use super::column::columns;
use super::{Column, DeviceRow, Listing, Value};
use crate::model::{Port, Protocol};

/// The listing of `rdmactl ports`: one row for each port, with all that is known of its link.
#[derive(Debug)]
pub enum Ports {}

impl Listing for Ports {
    type Row<'report> = DeviceRow<'report>;

    const COLUMNS: &'static [Column<Self>] = columns! {
        "host" "HOST" Left WithHosts [] "Name of the host"
            |row| Value::Text(row.report.host.clone());
        "via" "VIA" Left VerboseWithHosts [] "How the answer came: local, agent, upload, file"
            |row| Value::via(row.report);
        "device.name" "DEVICE" Left Always ["devices"] "Kernel name of the RDMA device"
            |row| row.of_device(|device| Value::text(Some(&device.name)));
        "port.number" "PORT" Right Always ["device.ports"] "Port number"
            |row| row.of_port(|port| Value::int(Some(port.number)));
        "port.state" "STATE" Left Always ["port.state"] "Logical state; why a host gave no answer"
            |row| row.state();
        "port.phys_state" "PHYS" Left Always ["port.phys_state"] "Physical state"
            |row| row.of_port(|port| Value::text(port.phys_state.as_ref()));
        "port.protocol" "LINK" Left Always ["port.link_layer", "device.node_type", "device.driver", "device.pci"]
            "Protocol on the port: IB, RoCE, iWARP, OPA, EFA, usNIC"
            |row| row.of_port(|port| Value::text(port.protocol.map(Protocol::word)));
        "port.rate_bps" "RATE" Right Always ["port.rate_bps", "port.state"] "Data rate of an active port"
            |row| row.of_port(|port| port.rate_bps.map_or(Value::Absent, Value::Bits));
        "port.lanes" "LANES" Left Always ["port.rate_bps", "port.link_layer", "device.node_type", "device.driver", "device.pci"]
            "Width and speed of an InfiniBand or Omni-Path link, as in 4X NDR"
            |row| row.of_port(|port| Value::text(lanes(port)));
        "port.netdev" "NETDEV" Left Always
            ["port.netdev", "port.link_layer", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "Network interface of the port"
            |row| row.of_netdev(|port| Value::text(port.netdev.as_ref()));
        "port.netdev_mtu" "NETDEV_MTU" Right Always
            ["port.netdev_mtu", "port.netdev", "port.link_layer", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "MTU of the network interface in bytes"
            |row| row.of_netdev(|port| Value::bytes(port.netdev_mtu));
        "port.active_mtu" "MTU" Right Verbose ["verbs"] "Active RDMA MTU in bytes"
            |row| row.of_port(|port| Value::bytes(port.active_mtu));
        "port.max_mtu" "MAX_MTU" Right Verbose ["verbs"] "Largest RDMA MTU in bytes"
            |row| row.of_port(|port| Value::bytes(port.max_mtu));
        "port.lid" "LID" Right Verbose ["port.lid", "port.link_layer"] "Local identifier"
            |row| row.of_port(|port| Value::hex(port.lid));
        "port.sm_lid" "SM_LID" Right Verbose ["port.sm_lid", "port.link_layer"] "LID of the subnet manager"
            |row| row.of_port(|port| Value::hex(port.sm_lid));
        "port.rate_text" "RATE_TEXT" Left Asked ["port.rate_bps"] "The kernel's rate file, word for word"
            |row| row.of_port(|port| Value::text(port.rate_text.as_ref()));
    };

    fn is_unreadable(row: &DeviceRow<'_>, source: &str) -> bool {
        row.is_unreadable(source)
    }
}

/// What stands in brackets behind the rate: `4X NDR`. On Ethernet the kernel makes it up.
fn lanes(port: &Port) -> Option<&str> {
    let is_real = matches!(port.protocol, Some(Protocol::Ib | Protocol::Opa));
    let (_, words) = port.rate_text.as_deref().filter(|_| is_real)?.split_once('(')?;
    Some(words.trim_end_matches(')')).filter(|words| !words.is_empty())
}
