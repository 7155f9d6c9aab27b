//! Declares columns that several listings share: host, device, port, and attributes of a port.
//! `fabric` declares its own shared columns with the macro `shared`.

use super::column::Listing;
use super::device_row::{LIDS, NETDEV, PEER, PROTOCOL};
use super::{Align, Column, DeviceRow, ShowCondition, Value, ValueMeaning};
use crate::model::{HostReport, LinkPeer, Port};

/// Row that belongs to a host.
pub(super) trait HasHost {
    fn report(&self) -> &HostReport;
}

/// Row that belongs to a port. The row of a host or device without ports has no port.
pub(super) trait HasPort {
    fn place(&self) -> &DeviceRow<'_>;
}

impl<Row: HasPort> HasHost for Row {
    fn report(&self) -> &HostReport {
        self.place().report
    }
}

impl HasPort for DeviceRow<'_> {
    fn place(&self) -> &DeviceRow<'_> {
        self
    }
}

/// Implements [`HasHost`] for a row with a field `report`.
macro_rules! has_host {
    ($row:ident) => {
        impl $crate::query::place_columns::HasHost for $row<'_> {
            fn report(&self) -> &$crate::model::HostReport {
                self.report
            }
        }
    };
}

/// Implements [`HasPort`] for a row with a field `place`.
macro_rules! has_port {
    ($row:ident) => {
        impl $crate::query::place_columns::HasPort for $row<'_> {
            fn place(&self) -> &$crate::query::DeviceRow<'_> {
                &self.place
            }
        }
    };
}

/// Declares shared columns, each as a function. An entry starts with a trait: every listing whose
/// rows implement the trait can use the column.
macro_rules! shared {
    ($($rows:ident $name:ident: $id:literal $title:literal $align:ident $shown:ident [$($source:literal),*] $(+ $group:ident)? $help:literal $get:expr;)*) => {$(
        #[doc = $help]
        pub(super) const fn $name<L: Listing>() -> Column<L>
        where
            for<'report> L::Row<'report>: $rows,
        {
            Column {
                id: $id,
                title: $title,
                align: Align::$align,
                shown: ShowCondition::$shown,
                meaning: ValueMeaning::Plain,
                help: $help,
                sources: &[&[$($source),*] $(, $group)?],
                get: $get,
            }
        }
    )*};
}

pub(super) use {has_host, has_port, shared};

shared! {
    HasHost host: "host" "HOST" Left WithHosts [] "Name of the host"
        |row| Value::Text(row.report().host.clone());
    HasHost via: "via" "VIA" Left VerboseWithHosts [] "How the host was read: local, agent, upload, sh (no rdmactl on the host), file"
        |row| Value::via(row.report());
    HasPort device: "device.name" "DEVICE" Left Always ["devices"] "Kernel name of the RDMA device"
        |row| row.place().of_device(|device| Value::text(Some(&device.name)));
    HasPort port: "port.number" "PORT" Right Always ["device.ports"] "Port number"
        |row| of_port(row, |port| Value::int(Some(port.number)));
    HasPort state: "port.state" "STATE" Left Always ["port.state"] "Logical port state; gone for a removed device; for an unreachable host the reason"
        |row| row.place().state();
    HasPort phys_state: "port.phys_state" "PHYS" Left Always ["port.phys_state"] "Physical port state"
        |row| of_port(row, |port| Value::text(port.phys_state.as_ref()));
    HasPort protocol: "port.protocol" "LINK" Left Always ["port.gids"] + PROTOCOL
        "Protocol of the port: IB, RoCE, iWARP, OPA, EFA, usNIC; InfiniBand without a known driver"
        |row| row.place().link();
    HasPort rate: "port.rate_bps" "RATE" Right Always ["port.rate_bps", "port.state"] + NETDEV
        "Data rate of an active port; on Ethernet the speed of the network interface"
        |row| row.place().rate();
    HasPort rate_text: "port.rate_text" "RATE_TEXT" Left Asked ["port.rate_bps"] "Text of the kernel's rate file (sysfs ports/N/rate)"
        |row| of_port(row, |port| Value::text(port.rate_text.as_ref()));
    HasPort netdev: "port.netdev" "NETDEV" Left Always [] + NETDEV "Network interface of the port"
        |row| row.place().of_netdev(|port| Value::text(port.netdev.as_ref()));
    HasPort netdev_mtu: "port.netdev_mtu" "NETDEV_MTU" Right Always ["port.netdev_mtu"] + NETDEV
        "MTU of the network interface in bytes"
        |row| row.place().of_netdev(|port| Value::bytes(port.netdev_mtu));
    HasPort active_mtu: "port.active_mtu" "MTU" Right Verbose ["verbs", "port.verbs"] "Active RDMA MTU in bytes"
        |row| of_port(row, |port| Value::bytes(port.active_mtu));
    HasPort max_mtu: "port.max_mtu" "MAX_MTU" Right Verbose ["verbs", "port.verbs"] "Largest RDMA MTU in bytes"
        |row| of_port(row, |port| Value::bytes(port.max_mtu));
    HasPort lid: "port.lid" "LID" Right Verbose ["port.lid"] + LIDS "Local identifier (LID) of the port"
        |row| of_port(row, |port| Value::hex(port.lid));
    HasPort sm_lid: "port.sm_lid" "SM_LID" Right Verbose ["port.sm_lid"] + LIDS "LID of the subnet manager"
        |row| of_port(row, |port| Value::hex(port.sm_lid));
    HasPort remote: "port.link_peer.node" "REMOTE" Left Asked ["port.link_peer"] + PEER
        "Node at the other end of an InfiniBand link (read by MADs, or with --fabric from a file)"
        |row| of_peer(row, |peer| Value::text(Some(peer.title())));
    HasPort remote_port: "port.link_peer.node_port" "REMOTE_PORT" Right Asked ["port.link_peer"] + PEER
        "Port at the other end of an InfiniBand link"
        |row| of_peer(row, |peer| Value::int(Some(peer.node_port)));
    HasPort leaf_switch: "port.leaf_switch" "LEAF_SWITCH" Left Asked ["port.link_peer"] + PEER
        "Leaf switch that the port is connected to"
        |row| of_peer(row, |peer| Value::text(peer.is_switch().then(|| peer.title())));
}

fn of_peer(row: &impl HasPort, get: impl Fn(&LinkPeer) -> Value) -> Value {
    of_port(row, |port| port.link_peer.as_ref().map_or(Value::Absent, &get))
}

fn of_port(row: &impl HasPort, get: impl Fn(&Port) -> Value) -> Value {
    row.place().of_port(get)
}
