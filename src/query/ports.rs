use super::column::columns;
use super::{Column, DeviceRow, Key, Listing, Value};
use crate::model::{Bond, GidKind, Ipoib, Netdev, Port, Protocol, VerbsPort};

/// The listing of `rdmactl ports`: one row for each port, with all that is known of its link.
#[derive(Debug)]
pub enum Ports {}

impl Listing for Ports {
    type Row<'report> = DeviceRow<'report>;

    const NAME: &'static str = "ports";

    const KEYS: &'static [Key] = &[
        Key::new("host", "host", "host"),
        Key::new("device", "device", "device.name"),
        Key::new("port", "port", "port.number"),
    ];

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
        "port.protocol" "LINK" Left Always
            ["port.link_layer", "device.node_type", "device.driver", "device.pci", "port.gids"]
            "Protocol on the port: IB, RoCE, iWARP, OPA, EFA, usNIC"
            |row| row.of_port(|port| Value::text(port.protocol.map(Protocol::word)));
        "port.rate_bps" "RATE" Right Always
            ["port.rate_bps", "port.state", "port.netdev", "port.link_layer", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "Data rate of an active port; on Ethernet the speed of its interface"
            |row| row.of_netdev(|port| port.rate_bps.map_or(Value::Absent, Value::Bits));
        "port.lanes" "LANES" Left Always ["port.rate_bps", "port.state", "port.link_layer", "device.node_type", "device.driver", "device.pci"]
            "Width and speed of an InfiniBand or Omni-Path link, as in 4X NDR"
            |row| row.of_port(|port| Value::text(lanes(port)));
        "port.netdev" "NETDEV" Left Always
            ["port.netdev", "port.link_layer", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "Network interface of the port"
            |row| row.of_netdev(|port| Value::text(port.netdev.as_ref()));
        "netdev.operstate" "OPERSTATE" Left Always
            ["netdev.operstate", "port.netdev", "port.link_layer", "device.netdev", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "State of the interface: up, down, lowerlayerdown, dormant, unknown"
            |row| row.in_netdev(operstate);
        "port.netdev_mtu" "NETDEV_MTU" Right Always
            ["port.netdev_mtu", "port.netdev", "port.link_layer", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "MTU of the network interface in bytes"
            |row| row.of_netdev(|port| Value::bytes(port.netdev_mtu));
        "netdev.carrier_down_count" "FLAPS" Right Verbose
            ["netdev.carrier_down_count", "port.netdev", "port.link_layer", "device.netdev", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "How often the interface lost its link"
            |row| row.in_netdev(|netdev| Value::count(netdev.carrier_down_count));
        "netdev.bond.mode" "BOND" Left Verbose
            ["netdev.bond.mode", "port.netdev", "port.link_layer", "device.netdev", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "How a bond shares its members: 802.3ad, active-backup"
            |row| row.in_netdev(|netdev| of_bond(netdev, |bond| Value::text(bond.mode.as_ref())));
        "netdev.bond.members" "MEMBERS" Left Verbose
            ["netdev.bond.members", "port.netdev", "port.link_layer", "device.netdev", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "Members of a bond"
            |row| row.in_netdev(|netdev| of_bond(netdev, |bond| words(&bond.members)));
        "netdev.bond.active" "ACTIVE" Left Asked
            ["netdev.bond.active", "port.netdev", "port.link_layer", "device.netdev", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "The member in use, in modes that use one"
            |row| row.in_netdev(|netdev| of_bond(netdev, |bond| Value::text(bond.active.as_ref())));
        "netdev.master" "MASTER" Left Verbose
            ["netdev.master", "port.netdev", "port.link_layer", "device.netdev", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "The bond, bridge or team that the interface is part of"
            |row| row.in_netdev(|netdev| Value::text(netdev.master.as_ref()));
        "port.vlans" "VLANS" Left Verbose
            ["port.gids", "port.link_layer", "device.node_type", "device.ports"]
            "VLANs on the interface or among the GIDs, with their ids"
            vlans;
        "netdev.ipoib.mode" "IPOIB" Left Verbose
            ["netdev.ipoib.mode", "port.netdev", "port.link_layer", "device.netdev", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "Mode of an IPoIB interface: datagram or connected"
            |row| row.in_netdev(|netdev| of_ipoib(netdev, |ipoib| Value::text(ipoib.mode.as_ref())));
        "netdev.ipoib.pkey" "PKEY" Right Verbose
            ["netdev.ipoib.pkey", "port.netdev", "port.link_layer", "device.netdev", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "Partition key of an IPoIB interface"
            |row| row.in_netdev(|netdev| of_ipoib(netdev, |ipoib| Value::hex(ipoib.pkey.map(u32::from))));
        "netdev.ipoib.children" "PARTITIONS" Left Verbose
            ["port.netdev", "port.link_layer", "device.netdev", "device.node_type", "device.driver", "device.pci"]
            "IPoIB interfaces of further partitions, with partition key and MTU"
            partitions;
        "netdev.address" "MAC" Left Asked
            ["netdev.address", "port.netdev", "port.link_layer", "device.netdev", "device.node_type", "device.parent", "device.driver", "device.pci"]
            "Hardware address of the interface"
            |row| row.in_netdev(|netdev| Value::text(netdev.address.as_ref()));
        "port.active_mtu" "MTU" Right Verbose ["verbs", "port.verbs"] "Active RDMA MTU in bytes"
            |row| row.of_port(|port| Value::bytes(port.active_mtu));
        "port.max_mtu" "MAX_MTU" Right Verbose ["verbs", "port.verbs"] "Largest RDMA MTU in bytes"
            |row| row.of_port(|port| Value::bytes(port.max_mtu));
        "port.lid" "LID" Right Verbose ["port.lid", "port.link_layer", "device.node_type", "device.driver"] "Local identifier"
            |row| row.of_port(|port| Value::hex(port.lid));
        "port.sm_lid" "SM_LID" Right Verbose ["port.sm_lid", "port.link_layer", "device.node_type", "device.driver"] "LID of the subnet manager"
            |row| row.of_port(|port| Value::hex(port.sm_lid));
        "port.lmc" "LMC" Right Asked ["port.lmc", "port.link_layer", "device.node_type", "device.driver"]
            "LID mask control: how many low bits of the LID choose a path"
            |row| row.of_port(|port| Value::int(port.lmc));
        "port.sm_sl" "SM_SL" Right Asked ["port.sm_sl", "port.link_layer", "device.node_type", "device.driver"]
            "Service level on which the subnet manager is asked"
            |row| row.of_port(|port| Value::int(port.sm_sl));
        "port.pkeys" "PKEYS" Left Verbose ["port.pkeys"]
            "Partitions of the port: index and P_Key, and whether it is a limited member"
            pkeys;
        "port.default_roce_mode" "ROCE_MODE" Left Verbose ["port.default_roce_mode", "port.link_layer"]
            "RoCE version that rdma_cm takes, where configfs shows it"
            |row| row.of_port(|port| Value::text(port.default_roce_mode.map(GidKind::word)));
        "port.default_roce_tos" "ROCE_TOS" Right Asked ["port.default_roce_tos", "port.link_layer"]
            "Type of service that rdma_cm takes, where configfs shows it"
            |row| row.of_port(|port| Value::int(port.default_roce_tos));
        "port.cap_mask" "CAP_MASK" Right Asked ["port.cap_mask"] "Capability bits"
            |row| row.of_port(|port| Value::hex(port.cap_mask));
        "port.caps" "CAPS" Left Verbose ["port.cap_mask", "port.link_layer"] "Names of the capability bits"
            |row| row.of_port(|port| Value::list(port.caps.as_deref()));
        "port.link_width" "WIDTH" Left Asked ["port.rate_bps", "port.state"] "Lanes of an active link, on Ethernet as derived from its speed"
            |row| row.of_port(|port| Value::text(port.link_width.as_ref()));
        "port.link_speed" "LANE_SPEED" Left Asked ["port.rate_bps", "port.state"] "Speed of one such lane: NDR, EDR"
            |row| row.of_port(|port| Value::text(port.link_speed.as_ref()));
        "port.rate_text" "RATE_TEXT" Left Asked ["port.rate_bps"] "The kernel's rate file, word for word"
            |row| row.of_port(|port| Value::text(port.rate_text.as_ref()));
        "port.verbs.state_code" "STATE_CODE" Right Asked ["verbs", "port.verbs"] "Logical state in verbs: 1 down, 2 initialise, 3 armed, 4 active"
            |row| of_verbs(row, |verbs| Value::int(verbs.state_code));
        "port.verbs.phys_state_code" "PHYS_STATE_CODE" Right Asked ["verbs", "port.verbs"] "Physical state in verbs: 2 polling, 3 disabled, 5 link up"
            |row| of_verbs(row, |verbs| Value::int(verbs.phys_state_code));
        "port.verbs.link_layer_code" "LINK_LAYER_CODE" Right Asked ["verbs", "port.verbs"] "Link layer in verbs: 0 unspecified, 1 InfiniBand, 2 Ethernet"
            |row| of_verbs(row, |verbs| Value::int(verbs.link_layer_code));
        "port.verbs.lid" "VERBS_LID" Right Asked ["verbs", "port.verbs"] "LID in verbs, 0 on Ethernet"
            |row| of_verbs(row, |verbs| Value::hex(verbs.lid));
        "port.verbs.sm_lid" "VERBS_SM_LID" Right Asked ["verbs", "port.verbs"] "LID of the subnet manager in verbs"
            |row| of_verbs(row, |verbs| Value::hex(verbs.sm_lid));
        "port.verbs.lmc" "VERBS_LMC" Right Asked ["verbs", "port.verbs"] "Low bits of the LID that are ignored, in verbs"
            |row| of_verbs(row, |verbs| Value::int(verbs.lmc));
        "port.verbs.sm_sl" "VERBS_SM_SL" Right Asked ["verbs", "port.verbs"] "Service level of the subnet manager in verbs"
            |row| of_verbs(row, |verbs| Value::int(verbs.sm_sl));
        "port.verbs.gid_tbl_len" "GID_TBL_LEN" Right Asked ["verbs", "port.verbs"] "Length of the GID table"
            |row| of_verbs(row, |verbs| Value::int(Some(verbs.gid_tbl_len)));
        "port.verbs.pkey_tbl_len" "PKEY_TBL_LEN" Right Asked ["verbs", "port.verbs"] "Length of the P_Key table"
            |row| of_verbs(row, |verbs| Value::int(Some(verbs.pkey_tbl_len)));
        "port.verbs.max_msg_bytes" "MAX_MSG_BYTES" Right Asked ["verbs", "port.verbs"] "Largest message in bytes"
            |row| of_verbs(row, |verbs| Value::int(Some(verbs.max_msg_bytes)));
        "port.verbs.port_cap_flags" "PORT_CAP_FLAGS" Right Asked ["verbs", "port.verbs"] "Port capabilities, as a mask"
            |row| of_verbs(row, |verbs| Value::hex(Some(verbs.port_cap_flags)));
        "port.verbs.port_cap_flags2" "PORT_CAP_FLAGS2" Right Asked ["verbs", "port.verbs"] "Further port capabilities, as a mask"
            |row| of_verbs(row, |verbs| Value::hex(verbs.port_cap_flags2));
        "port.verbs.bad_pkey_cntr" "BAD_PKEY_CNTR" Right Asked ["verbs", "port.verbs"] "Packets with a wrong P_Key"
            |row| of_verbs(row, |verbs| Value::int(verbs.bad_pkey_cntr));
        "port.verbs.qkey_viol_cntr" "QKEY_VIOL_CNTR" Right Asked ["verbs", "port.verbs"] "Packets with a wrong Q_Key"
            |row| of_verbs(row, |verbs| Value::int(verbs.qkey_viol_cntr));
        "port.verbs.subnet_timeout" "SUBNET_TIMEOUT" Right Asked ["verbs", "port.verbs"] "Delay of the subnet as an exponent of 4.096 us"
            |row| of_verbs(row, |verbs| Value::int(verbs.subnet_timeout));
        "port.verbs.init_type_reply" "INIT_TYPE_REPLY" Right Asked ["verbs", "port.verbs"] "What the subnet manager has initialised"
            |row| of_verbs(row, |verbs| Value::int(verbs.init_type_reply));
        "port.verbs.max_vl_num_code" "VIRTUAL_LANES" Right Asked ["verbs", "port.verbs"] "Virtual lanes of the port"
            |row| of_verbs(row, |verbs| Value::int(verbs.virtual_lanes()));
        "port.verbs.active_width_code" "VERBS_WIDTH" Right Asked ["verbs", "port.verbs"] "Lanes of the link"
            |row| of_verbs(row, |verbs| Value::int(verbs.lanes()));
        "port.verbs.active_speed_code" "LANE_RATE" Right Asked ["verbs", "port.verbs"] "Nominal rate of one lane"
            |row| of_verbs(row, |verbs| bits(verbs.lane_bps()));
        "port.verbs.effective_bps" "EFFECTIVE" Right Asked ["verbs", "port.verbs"] "Effective rate, of all ports of a bond together"
            |row| of_verbs(row, |verbs| bits(verbs.effective_bps));
    };

    fn is_unreadable(row: &DeviceRow<'_>, source: &str) -> bool {
        row.is_unreadable(source)
    }
}

/// What stands in brackets behind the rate: `4X NDR`. On Ethernet the kernel makes it up, and drivers do
/// while a port is down.
fn lanes(port: &Port) -> Option<&str> {
    let is_real =
        port.rate_bps.is_some() && matches!(port.protocol, Some(Protocol::Ib | Protocol::Opa));
    let (_, words) = port.rate_text.as_deref().filter(|_| is_real)?.split_once('(')?;
    Some(words.trim_end_matches(')')).filter(|words| !words.is_empty())
}

/// With an entry unreadable, the port may be in more partitions than are known.
fn pkeys(row: &DeviceRow<'_>) -> Value {
    if row.is_unreadable("port.pkeys") {
        return Value::Failed;
    }
    row.of_port(|port| Value::list(port.pkeys.as_deref()))
}

/// Anything but up is marked; tunnels and dummies have no state, which is no fault.
fn operstate(netdev: &Netdev) -> Value {
    match netdev.operstate.as_deref() {
        None => Value::Absent,
        Some(word @ ("up" | "unknown")) => Value::Text(word.into()),
        Some(word) => Value::Bad(word.into()),
    }
}

fn of_bond(netdev: &Netdev, get: impl Fn(&Bond) -> Value) -> Value {
    netdev.bond.as_ref().map_or(Value::Absent, get)
}

fn of_ipoib(netdev: &Netdev, get: impl Fn(&Ipoib) -> Value) -> Value {
    netdev.ipoib.as_ref().map_or(Value::Absent, get)
}

fn words(words: &[String]) -> Value {
    Value::text(Some(words.join(" ")).filter(|text| !text.is_empty()))
}

/// `bond0.100=100`
fn vlans(row: &DeviceRow<'_>) -> Value {
    let Some(port) = row.port else { return Value::Absent };
    if row.is_unreadable("port.gids") || row.is_netdev_part_unreadable(&["vlan"]) {
        return Value::Failed;
    }
    let is_above = |netdev: &&Netdev| {
        let is_parent = netdev.vlan.as_ref().is_some_and(|vlan| vlan.parent == port.netdev);
        let has_gid = port.gids.iter().any(|gid| gid.netdev.as_ref() == Some(&netdev.name));
        port.netdev.is_some() && (is_parent || has_gid)
    };
    let name = |netdev: &Netdev| {
        let id = netdev.vlan.as_ref()?.id.map_or_else(|| "-".to_owned(), |id| id.to_string());
        Some(format!("{}={id}", netdev.name))
    };
    let all = row.report.netdevs.as_deref().unwrap_or_default();
    words(&all.iter().filter(is_above).filter_map(name).collect::<Vec<_>>())
}

/// `ib0.8001=0x8001/2044`
fn partitions(row: &DeviceRow<'_>) -> Value {
    if row.is_netdev_part_unreadable(&["ipoib", "kind", "mtu"]) {
        return Value::Failed;
    }
    let Some(ipoib) = row.netdev().and_then(|netdev| netdev.ipoib.as_ref()) else {
        return Value::Absent;
    };
    let all = row.report.netdevs.as_deref().unwrap_or_default();
    let describe = |name: &String| {
        let netdev = all.iter().find(|netdev| netdev.name == *name);
        let pkey = netdev.and_then(|netdev| netdev.ipoib.as_ref()?.pkey);
        let pkey = pkey.map_or_else(|| "-".to_owned(), |pkey| format!("{pkey:#06x}"));
        let mtu = netdev.and_then(|netdev| netdev.mtu);
        format!("{name}={pkey}/{}", mtu.map_or_else(|| "-".to_owned(), |mtu| mtu.to_string()))
    };
    words(&ipoib.children.iter().map(describe).collect::<Vec<_>>())
}

fn of_verbs(row: &DeviceRow<'_>, get: impl Fn(&VerbsPort) -> Value) -> Value {
    row.of_port(|port| port.verbs.as_ref().map_or(Value::Absent, &get))
}

fn bits(rate: Option<u64>) -> Value {
    rate.map_or(Value::Absent, Value::Bits)
}
