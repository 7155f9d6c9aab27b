//! Computes cells of devices and ports, which several listings share.

use super::Value;
use crate::model::{
    Device, HostReport, LinkLayer, Netdev, NodeType, Part, Port, PortState, Protocol, VerbsState,
    key,
};

// Sources of cells.
pub(super) const DRIVER: &[&str] =
    &["device.driver", "device.pci", "device.parent", "device.node_type"];

pub(super) const PROTOCOL: &[&str] =
    &["port.link_layer", "device.node_type", "device.driver", "device.pci"];

pub(super) const LIDS: &[&str] = &["port.link_layer", "device.node_type", "device.driver"];

pub(super) const PEER: &[&str] = &["fabric_peers"];

pub(super) const NETDEV: &[&str] = &[
    "port.netdev",
    "port.link_layer",
    "device.node_type",
    "device.parent",
    "device.driver",
    "device.pci",
];

pub(super) const ETHERNET: &[&str] = &[
    "ethernet",
    "device.netdev",
    "port.netdev",
    "port.link_layer",
    "device.node_type",
    "device.parent",
    "device.driver",
    "device.pci",
];

/// State of a port whose device was removed.
pub(super) const GONE: &str = "gone";

/// One row: a port, or a device or host without ports.
#[derive(Debug, Clone, Copy)]
pub struct DeviceRow<'report> {
    /// Report of the host.
    pub report: &'report HostReport,
    /// Device; `None` for a host without devices, or for a host that did not respond.
    pub device: Option<&'report Device>,
    /// Port; `None` for a device without ports.
    pub port: Option<&'report Port>,
}

impl DeviceRow<'_> {
    /// True if a source of a cell, such as `port.lid` or `verbs`, could not be read.
    pub fn is_unreadable(&self, source: &str) -> bool {
        let is_verbs_missing = matches!(self.report.verbs, VerbsState::Unavailable { .. });
        if source == "verbs" && is_verbs_missing && self.device.is_some() {
            return true;
        }
        // Most hosts have no problem, so the search ends here.
        if self.report.problems.is_empty() {
            return false;
        }
        // The problem concerns a whole part, or one device.
        (Part::named(source).is_some() && self.report.problems.has(source))
            || self.key(source).is_some_and(|key| self.report.problems.affects(&key))
    }

    pub(super) fn of_device(&self, get: impl Fn(&Device) -> Value) -> Value {
        self.device.map_or(Value::Absent, get)
    }

    pub(super) fn of_port(&self, get: impl Fn(&Port) -> Value) -> Value {
        self.port.map_or(Value::Absent, get)
    }

    /// Returns the logical state of the port, or the reason why the host did not respond.
    pub(super) fn state(&self) -> Value {
        if self.device.is_some_and(|device| device.gone_since_ns.is_some()) {
            return Value::Bad(GONE.into());
        }
        let cell = |state: PortState| Value::word(state.word(), state != PortState::Active);
        let state = || self.port.and_then(|port| port.state).map_or(Value::Absent, cell);
        Value::or_failure(self.report, state)
    }

    /// Returns a cell of the port's network interface. On RoCE the GIDs name the interface, on
    /// other protocols RDMA netlink. The cell is unreadable if its source is.
    pub(super) fn of_netdev(&self, get: impl Fn(&Port) -> Value) -> Value {
        let sources: &[&str] = match self.port.map(|port| (&port.netdev, port.protocol)) {
            Some((None, Some(Protocol::Roce | Protocol::Iwarp) | None)) => {
                &["port.gids", "netdev", "device.netdev"]
            }
            _ => &[],
        };
        let is_unreadable = sources.iter().any(|source| self.is_unreadable(source));
        if is_unreadable { Value::Failed } else { self.of_port(get) }
    }

    /// Returns the protocol of the port; the kernel's link layer without the name of the driver,
    /// which distinguishes InfiniBand and Omni-Path.
    pub(super) fn link(&self) -> Value {
        let is_ca = self.device.is_some_and(|device| device.node_type == Some(NodeType::Ca));
        self.of_port(|port| match (port.protocol, port.link_layer) {
            (Some(protocol), _) => Value::text(Some(protocol.word())),
            (None, Some(layer @ LinkLayer::Infiniband))
                if is_ca && port.netdev.is_none() && port.rate_bps.is_some() =>
            {
                Value::text(Some(layer.word()))
            }
            _ => Value::Absent,
        })
    }

    /// Needs no network interface if the rate is known.
    pub(super) fn rate(&self) -> Value {
        match self.port.and_then(|port| port.rate_bps) {
            Some(rate_bps) => Value::Bits(rate_bps),
            None => self.of_netdev(|_| Value::Absent),
        }
    }

    pub(super) fn netdev(&self) -> Option<&Netdev> {
        self.report.netdev(self.port?.netdev.as_deref()?)
    }

    pub(super) fn in_netdev(&self, get: impl Fn(&Netdev) -> Value) -> Value {
        self.of_netdev(|_| self.netdev().map_or(Value::Absent, &get))
    }

    /// True if a network interface, or one of these parts of it, could not be read. A value from
    /// several interfaces can then be incomplete.
    pub(super) fn is_netdev_part_unreadable(&self, parts: &[&str]) -> bool {
        let mut problems = self.report.problems.within("netdevs").iter();
        problems.any(|one| one.key.split('/').nth(2).is_none_or(|part| parts.contains(&part)))
    }

    /// Returns the model key of a field of the port.
    pub(super) fn port_key(&self, field: &str) -> Option<String> {
        Some(key::port(&self.device?.name, self.port?.number, field))
    }

    /// Returns the model key of a source, in the form that problems use.
    fn key(&self, source: &str) -> Option<String> {
        let device = self.device.map(|device| device.name.as_str());
        match (source.split_once('.'), device, self.port) {
            (Some(("device", field)), Some(device), _) => Some(key::device(device, field)),
            (Some(("port", field)), Some(_), Some(_)) => self.port_key(field),
            // An interface without a name is the cell of the port itself.
            (Some(("netdev", field)), _, Some(port)) => {
                let name = port.netdev.as_deref()?;
                Some(key::netdev(name, &field.replace('.', "/")))
            }
            // Without ports, every source of a port depends on their directory.
            (Some(("port", _)), Some(device), None) => Some(key::device(device, "ports")),
            (None, Some(device), _) if source == "verbs" => Some(key::device(device, "verbs")),
            (None, _, _) => Some(source.to_owned()),
            _ => None,
        }
    }
}

/// Returns a row for each port and for each device without ports. A host without devices has a
/// row if `hosts_named`, or if the host did not respond.
pub fn device_rows(reports: &[HostReport], hosts_named: bool) -> Vec<DeviceRow<'_>> {
    let mut rows = Vec::new();
    for report in reports {
        if report.devices.is_empty() && (hosts_named || report.failure.is_some()) {
            rows.push(DeviceRow { report, device: None, port: None });
        }
        for device in &report.devices {
            let row = DeviceRow { report, device: Some(device), port: None };
            if device.ports.is_empty() {
                rows.push(row);
            }
            rows.extend(device.ports.iter().map(|port| DeviceRow { port: Some(port), ..row }));
        }
    }
    rows
}
