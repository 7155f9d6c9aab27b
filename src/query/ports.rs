//! Lists RDMA ports with their links and network interfaces, for `rdmactl ports`.

use std::collections::BTreeSet;

use super::column::listing;
use super::device_row::{ETHERNET, LIDS, NETDEV, PROTOCOL};
use super::link_cells::{classes, congestion, dscp_map, of_dcb, of_links, pause, pfc};
use super::place_columns::{
    active_mtu, device, host, leaf_switch, lid, max_mtu, netdev, netdev_mtu, phys_state, port,
    protocol, rate, rate_text, remote, remote_port, sm_lid, state, via,
};
use super::{DeviceRow, Value};
use crate::analyse::congestion::Congestion;
use crate::model::{
    Bond, CounterMode, Fec, GidKind, Ipoib, LinkLayer, Netdev, NetlinkPort, Port, Protocol,
    VerbsPort,
};

listing! {
    /// Listing of `rdmactl ports`, one row for each port with the attributes of its link.
    Ports "ports" of DeviceRow<'report>;
    example "state!=active or rate<400G";
    keys [HOST, DEVICE, PORT];
    unreadable |row, source| row.is_unreadable(source);
    columns
    [host(), via(), device(), port(), state(), phys_state(), protocol()]
    "port.link_layer" "LINK_LAYER" Left Asked ["port.link_layer"] "Link layer: InfiniBand, Ethernet, Unknown"
        |row| row.of_port(|port| Value::text(port.link_layer.map(LinkLayer::word)));
    [rate()]
    "port.lanes" "LANES" Left Always ["port.rate_bps", "port.state"] + PROTOCOL
        "Width and speed of an InfiniBand or Omni-Path link, such as 4X NDR"
        |row| row.of_port(|port| Value::text(lanes(port)));
    [netdev()]
    "netdev.operstate" "OPERSTATE" Left Always
        ["netdev.operstate", "device.netdev"] + NETDEV
        "State of the network interface: up, down, lowerlayerdown, dormant, unknown"
        |row| row.in_netdev(operstate);
    [netdev_mtu()]
    "netdev.carrier_down_count" "FLAPS" Right Verbose
        ["netdev.carrier_down_count", "device.netdev"] + NETDEV
        "Number of link losses of the network interface (carrier_down_count)"
        |row| row.in_netdev(|netdev| Value::count(netdev.carrier_down_count));
    "netdev.bond.mode" "BOND" Left Verbose
        ["netdev.bond.mode", "device.netdev"] + NETDEV
        "Mode of the bond: 802.3ad, active-backup"
        |row| row.in_netdev(|netdev| of_bond(netdev, |bond| Value::text(bond.mode.as_ref())));
    "netdev.bond.members" "MEMBERS" Left Verbose
        ["netdev.bond.members", "device.netdev"] + NETDEV
        "Members of the bond"
        |row| row.in_netdev(|netdev| of_bond(netdev, |bond| Value::joined(&bond.members, " ")));
    "netdev.bond.active" "ACTIVE" Left Asked
        ["netdev.bond.active", "device.netdev"] + NETDEV
        "Active member of the bond, in modes with one active member"
        |row| row.in_netdev(|netdev| of_bond(netdev, |bond| Value::text(bond.active.as_ref())));
    "netdev.master" "MASTER" Left Verbose
        ["netdev.master", "device.netdev"] + NETDEV
        "Bond, bridge or team of the network interface"
        |row| row.in_netdev(|netdev| Value::text(netdev.master.as_ref()));
    "port.vlans" "VLANS" Left Verbose
        ["gids", "port.gids", "port.link_layer", "device.node_type", "device.ports"]
        "VLAN ids of the network interface and of the GIDs"
        vlans;
    "netdev.ipoib.mode" "IPOIB" Left Verbose
        ["netdev.ipoib.mode", "device.netdev"] + NETDEV
        "Mode of the IPoIB interface: datagram, connected"
        |row| row.in_netdev(|netdev| of_ipoib(netdev, |ipoib| Value::text(ipoib.mode.as_ref())));
    "netdev.ipoib.pkey" "PKEY" Right Verbose
        ["netdev.ipoib.pkey", "device.netdev"] + NETDEV
        "P_Key of the IPoIB interface"
        |row| row.in_netdev(|netdev| of_ipoib(netdev, |ipoib| Value::hex(ipoib.pkey)));
    "netdev.ipoib.children" "PARTITIONS" Left Verbose
        ["port.netdev", "device.netdev"] + PROTOCOL
        "IPoIB interfaces of other partitions, with P_Key and MTU"
        partitions;
    "netdev.ethernet.down_reason" "WHY_DOWN" Left Verbose [] + ETHERNET "Reason for which an Ethernet link is down (ethtool)"
        |row| of_links(row, &["link_state"], |link| Value::text(link.down_reason.as_ref()));
    "netdev.ethernet.pause" "PAUSE" Left Verbose [] + ETHERNET "Link-level flow control: rx, tx, auto (negotiated), off"
        |row| of_links(row, &["pause"], |link| link.pause.as_ref().map_or(Value::Absent, pause));
    "netdev.ethernet.dcb.pfc.enabled" "PFC" Left Verbose [] + ETHERNET "Priorities with priority flow control (PFC)"
        |row| of_dcb(row, "pfc", |dcb| dcb.pfc.as_ref().map_or(Value::Absent, pfc));
    "netdev.ethernet.dcb.apps" "DSCP" Left Verbose [] + ETHERNET "DSCP to priority map (DCB)"
        |row| of_dcb(row, "apps", dscp_map);
    "netdev.ethernet.dcb.trust" "TRUST" Left Asked [] + ETHERNET "Source of the priority of a packet: dscp, pcp"
        |row| of_dcb(row, "trust", |dcb| Value::list(dcb.trust.as_deref()));
    "netdev.ethernet.dcb.ets" "ETS" Left Verbose [] + ETHERNET "Traffic classes and their scheduling (ETS)"
        |row| of_dcb(row, "ets", |dcb| dcb.ets.as_ref().map_or(Value::Absent, classes));
    "netdev.ethernet.dcb.dcbx" "DCBX" Left Asked [] + ETHERNET "DCBX mode: host, lld_managed, cee, ieee, static"
        |row| of_dcb(row, "dcbx", |dcb| Value::list(dcb.dcbx.as_deref()));
    "netdev.ethernet.fec.active" "FEC" Left Verbose [] + ETHERNET "Active forward error correction (FEC)"
        |row| of_fec(row, |fec| Value::text(fec.active.as_ref()));
    "netdev.ethernet.fec.corrected_blocks" "FEC_CORRECTED" Right Verbose [] + ETHERNET "Number of FEC blocks with corrected errors"
        |row| of_fec(row, |fec| Value::count(fec.corrected_blocks));
    "netdev.ethernet.fec.uncorrectable_blocks" "FEC_LOST" Right Verbose [] + ETHERNET "Number of FEC blocks with uncorrectable errors"
        |row| of_fec(row, |fec| Value::count(fec.uncorrectable_blocks));
    "netdev.ethernet.module.identifier" "MODULE" Left Verbose [] + ETHERNET "Type of the plugged-in module; root only"
        |row| of_links(row, &["module/identifier", "connector"], |link| Value::text(link.module.as_ref().and_then(|module| module.identifier.as_ref())));
    "netdev.ethernet.connector" "CONNECTOR" Left Asked [] + ETHERNET "Connector type of the Ethernet port"
        |row| of_links(row, &["connector"], |link| Value::text(link.connector.as_ref()));
    "netdev.ethernet.lanes" "ETH_LANES" Right Asked [] + ETHERNET "Number of lanes of the Ethernet link"
        |row| of_links(row, &["link_modes"], |link| Value::int(link.lanes));
    "netdev.ethernet.autoneg" "AUTONEG" Left Asked [] + ETHERNET "Autonegotiation of the Ethernet link: on, off"
        |row| of_links(row, &["link_modes"], |link| Value::switch(link.autoneg));
    "port.cnp_sent" "CNP_SENT" Right Asked ["counters"] "Congestion notification packets sent (driver counter)"
        |row| congestion(row, Congestion::CnpSent);
    "port.cnp_handled" "CNP_HANDLED" Right Asked ["counters"] "Congestion notification packets that slowed the port down (driver counter)"
        |row| congestion(row, Congestion::CnpHandled);
    "port.ecn_marked" "ECN_MARKED" Right Asked ["counters"] "Packets received with an ECN congestion mark (driver counter)"
        |row| congestion(row, Congestion::EcnMarked);
    "port.out_of_sequence" "OUT_OF_SEQ" Right Asked ["counters"] "Packets received out of order (driver counter)"
        |row| congestion(row, Congestion::OutOfSequence);
    "netdev.address" "MAC" Left Asked
        ["netdev.address", "device.netdev"] + NETDEV
        "MAC address of the network interface"
        |row| row.in_netdev(|netdev| Value::text(netdev.address.as_ref()));
    [active_mtu(), max_mtu(), lid(), sm_lid()]
    "port.lmc" "LMC" Right Asked ["details", "port.lmc"] + LIDS
        "LID mask control: number of low LID bits that select a path"
        |row| row.of_port(|port| Value::int(port.lmc));
    "port.sm_sl" "SM_SL" Right Asked ["details", "port.sm_sl"] + LIDS
        "Service level for packets to the subnet manager"
        |row| row.of_port(|port| Value::int(port.sm_sl));
    "port.pkeys" "PKEYS" Left Verbose ["pkeys", "port.pkeys"]
        "Partitions of the port: index, P_Key, full or limited membership"
        pkeys;
    "port.default_roce_mode" "ROCE_MODE" Left Verbose ["details", "port.default_roce_mode", "port.link_layer"]
        "Default RoCE version of rdma_cm (configfs)"
        |row| row.of_port(|port| Value::text(port.default_roce_mode.map(GidKind::word)));
    "port.default_roce_tos" "ROCE_TOS" Right Asked ["details", "port.default_roce_tos", "port.link_layer"]
        "Default type of service of rdma_cm (configfs)"
        |row| row.of_port(|port| Value::int(port.default_roce_tos));
    "port.cap_mask" "CAP_MASK" Right Asked ["details", "port.cap_mask"] "Capability mask of the port"
        |row| row.of_port(|port| Value::hex(port.cap_mask));
    "port.caps" "CAPS" Left Verbose ["details", "port.cap_mask", "port.link_layer"] "Names of the capability bits of the port"
        |row| row.of_port(|port| Value::list(port.caps.as_deref()));
    "port.umad" "UMAD" Left Asked ["details", "umad"] "umad character device of the port"
        |row| row.of_port(|port| Value::text(port.umad.as_ref()));
    [remote(), remote_port(), leaf_switch()]
    "port.netlink.subnet_prefix" "SUBNET" Left Asked ["netlink", "device.netlink"]
        "Subnet prefix: upper 64 bits of the GIDs of the port"
        |row| netlink(row, |netlink| Value::text(netlink.subnet_prefix));
    "port.netlink.caps" "LINK_CAPS" Left Asked ["netlink", "device.netlink", "port.link_layer"]
        "Names of the capability bits from netlink; on InfiniBand from both capability masks"
        |row| netlink(row, |netlink| Value::list(netlink.caps.as_deref()));
    "port.netlink.netdev_index" "NETDEV_INDEX" Right Asked ["netlink", "device.netlink"]
        "Kernel index of the network interface"
        |row| netlink(row, |netlink| Value::int(netlink.netdev_index));
    "port.netlink.counter_mode" "COUNTER_MODE" Left Asked ["netlink", "device.netlink", "port.netlink"]
        "Mode of per-queue-pair counters: off, auto, manual"
        |row| netlink(row, |netlink| Value::text(netlink.counter_mode.map(CounterMode::words)));
    "port.link_width" "WIDTH" Left Asked ["port.rate_bps", "port.state"] "Lanes of an active link; on Ethernet derived from the speed"
        |row| row.of_port(|port| Value::text(port.link_width.as_ref()));
    "port.link_speed" "LANE_SPEED" Left Asked ["port.rate_bps", "port.state"] "Speed of one lane: NDR, EDR"
        |row| row.of_port(|port| Value::text(port.link_speed.as_ref()));
    [rate_text()]
    "port.verbs.state_code" "STATE_CODE" Right Asked ["verbs", "port.verbs"] "Logical state code of verbs: 1 down, 2 initialize, 3 armed, 4 active"
        |row| of_verbs(row, |verbs| Value::int(verbs.state_code));
    "port.verbs.phys_state_code" "PHYS_STATE_CODE" Right Asked ["verbs", "port.verbs"] "Physical state code of verbs: 2 polling, 3 disabled, 5 link up"
        |row| of_verbs(row, |verbs| Value::int(verbs.phys_state_code));
    "port.verbs.link_layer_code" "LINK_LAYER_CODE" Right Asked ["verbs", "port.verbs"] "Link layer code of verbs: 0 unspecified, 1 InfiniBand, 2 Ethernet"
        |row| of_verbs(row, |verbs| Value::int(verbs.link_layer_code));
    "port.verbs.lid" "VERBS_LID" Right Asked ["verbs", "port.verbs"] "LID as verbs report it; 0 on Ethernet"
        |row| of_verbs(row, |verbs| Value::hex(verbs.lid));
    "port.verbs.sm_lid" "VERBS_SM_LID" Right Asked ["verbs", "port.verbs"] "LID of the subnet manager as verbs report it"
        |row| of_verbs(row, |verbs| Value::hex(verbs.sm_lid));
    "port.verbs.lmc" "VERBS_LMC" Right Asked ["verbs", "port.verbs"] "LID mask control as verbs report it"
        |row| of_verbs(row, |verbs| Value::int(verbs.lmc));
    "port.verbs.sm_sl" "VERBS_SM_SL" Right Asked ["verbs", "port.verbs"] "Service level of the subnet manager as verbs report it"
        |row| of_verbs(row, |verbs| Value::int(verbs.sm_sl));
    "port.verbs.gid_tbl_len" "GID_TBL_LEN" Right Asked ["verbs", "port.verbs"] "Length of the GID table"
        |row| of_verbs(row, |verbs| Value::int(Some(verbs.gid_tbl_len)));
    "port.verbs.pkey_tbl_len" "PKEY_TBL_LEN" Right Asked ["verbs", "port.verbs"] "Length of the P_Key table"
        |row| of_verbs(row, |verbs| Value::int(Some(verbs.pkey_tbl_len)));
    "port.verbs.max_msg_bytes" "MAX_MSG_BYTES" Right Asked ["verbs", "port.verbs"] "Maximum message size, in bytes"
        |row| of_verbs(row, |verbs| Value::int(Some(verbs.max_msg_bytes)));
    "port.verbs.port_cap_flags" "PORT_CAP_FLAGS" Right Asked ["verbs", "port.verbs"] "Port capabilities, as a mask"
        |row| of_verbs(row, |verbs| Value::hex(Some(verbs.port_cap_flags)));
    "port.verbs.port_cap_flags2" "PORT_CAP_FLAGS2" Right Asked ["verbs", "port.verbs"] "Further port capabilities, as a mask"
        |row| of_verbs(row, |verbs| Value::hex(verbs.port_cap_flags2));
    "port.verbs.bad_pkey_cntr" "BAD_PKEY_CNTR" Right Asked ["verbs", "port.verbs"] "Number of packets with an invalid P_Key"
        |row| of_verbs(row, |verbs| Value::int(verbs.bad_pkey_cntr));
    "port.verbs.qkey_viol_cntr" "QKEY_VIOL_CNTR" Right Asked ["verbs", "port.verbs"] "Number of packets with an invalid Q_Key"
        |row| of_verbs(row, |verbs| Value::int(verbs.qkey_viol_cntr));
    "port.verbs.subnet_timeout" "SUBNET_TIMEOUT" Right Asked ["verbs", "port.verbs"] "Subnet timeout as an exponent of 4.096 us"
        |row| of_verbs(row, |verbs| Value::int(verbs.subnet_timeout));
    "port.verbs.init_type_reply" "INIT_TYPE_REPLY" Right Asked ["verbs", "port.verbs"] "Initialization that the subnet manager performed, as a mask"
        |row| of_verbs(row, |verbs| Value::int(verbs.init_type_reply));
    "port.verbs.max_vl_num_code" "VIRTUAL_LANES" Right Asked ["verbs", "port.verbs"] "Number of virtual lanes of the port"
        |row| of_verbs(row, |verbs| Value::int(verbs.virtual_lanes()));
    "port.verbs.active_width_code" "VERBS_WIDTH" Right Asked ["verbs", "port.verbs"] "Number of lanes of the link"
        |row| of_verbs(row, |verbs| Value::int(verbs.lanes()));
    "port.verbs.active_speed_code" "LANE_RATE" Right Asked ["verbs", "port.verbs"] "Nominal rate of one lane, in bits/s"
        |row| of_verbs(row, |verbs| Value::bits(verbs.lane_bps()));
    "port.verbs.effective_bps" "EFFECTIVE" Right Asked ["verbs", "port.verbs"] "Effective rate in bits/s; of a bond, the sum of all ports"
        |row| of_verbs(row, |verbs| Value::bits(verbs.effective_bps));
}

/// Returns the text in parentheses after the rate: `4X NDR`. On Ethernet and on a port that is
/// down, the text is not real.
fn lanes(port: &Port) -> Option<&str> {
    let is_real =
        port.rate_bps.is_some() && matches!(port.protocol, Some(Protocol::Ib | Protocol::Opa));
    let (_, words) = port.rate_text.as_deref().filter(|_| is_real)?.split_once('(')?;
    Some(words.trim_end_matches(')')).filter(|words| !words.is_empty())
}

/// Returns the partitions; unreadable if an entry is, because the port could be in more.
fn pkeys(row: &DeviceRow<'_>) -> Value {
    if row.is_unreadable("port.pkeys") {
        return Value::Failed;
    }
    row.of_port(|port| Value::list(port.pkeys.as_deref()))
}

/// Marks no unknown state, which tunnels and dummy interfaces have.
fn operstate(netdev: &Netdev) -> Value {
    let cell = |word: &String| Value::word(word, word != "up" && word != "unknown");
    netdev.operstate.as_ref().map_or(Value::Absent, cell)
}

fn of_bond(netdev: &Netdev, get: impl Fn(&Bond) -> Value) -> Value {
    netdev.bond.as_ref().map_or(Value::Absent, get)
}

fn of_fec(row: &DeviceRow<'_>, get: impl Fn(&Fec) -> Value) -> Value {
    of_links(row, &["fec"], |link| link.fec.as_ref().map_or(Value::Absent, &get))
}

fn of_ipoib(netdev: &Netdev, get: impl Fn(&Ipoib) -> Value) -> Value {
    netdev.ipoib.as_ref().map_or(Value::Absent, get)
}

/// Formats the VLANs as `bond0.100=100`.
fn vlans(row: &DeviceRow<'_>) -> Value {
    let Some(port) = row.port else { return Value::Absent };
    if row.is_unreadable("port.gids") || row.is_netdev_part_unreadable(&["vlan"]) {
        return Value::Failed;
    }
    let (Some(parent), Some(all)) = (&port.netdev, &row.report.netdevs) else {
        return Value::Absent;
    };
    let gids = port.gids.iter().flatten().filter_map(|gid| gid.netdev.as_deref());
    let of_gids = gids.filter_map(|name| all.place_of(name));
    let above: BTreeSet<usize> = all.vlans_on(parent).iter().copied().chain(of_gids).collect();
    let name =
        |netdev: &Netdev| Some(format!("{}={}", netdev.name, Value::int(netdev.vlan.as_ref()?.id)));
    let names = above.into_iter().filter_map(|place| name(&all[place]));
    Value::joined(&names.collect::<Vec<_>>(), " ")
}

/// Formats IPoIB interfaces of other partitions as `ib0.8001=0x8001/2044`.
fn partitions(row: &DeviceRow<'_>) -> Value {
    if row.is_netdev_part_unreadable(&["ipoib", "kind", "mtu"]) {
        return Value::Failed;
    }
    let Some(ipoib) = row.netdev().and_then(|netdev| netdev.ipoib.as_ref()) else {
        return Value::Absent;
    };
    let describe = |name: &String| {
        let netdev = row.report.netdev(name);
        let pkey = netdev.and_then(|netdev| netdev.ipoib.as_ref()?.pkey);
        let pkey = pkey.map_or_else(|| "-".to_owned(), |pkey| format!("{pkey:#06x}"));
        format!("{name}={pkey}/{}", Value::int(netdev.and_then(|netdev| netdev.mtu)))
    };
    Value::joined(&ipoib.children.iter().map(describe).collect::<Vec<_>>(), " ")
}

fn of_verbs(row: &DeviceRow<'_>, get: impl Fn(&VerbsPort) -> Value) -> Value {
    row.of_port(|port| port.verbs.as_ref().map_or(Value::Absent, &get))
}

fn netlink(row: &DeviceRow<'_>, get: impl Fn(&NetlinkPort) -> Value) -> Value {
    row.of_port(|port| port.netlink.as_ref().map_or(Value::Absent, &get))
}
