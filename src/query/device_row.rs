//! Computes cells of devices and ports, which several listings share.

use super::Value;
use crate::model::{
    Device, HostReport, LinkLayer, Netdev, NodeType, Part, Port, PortState, Protocol, VerbsState,
    key,
};

/// Sources of the driver of a device.
pub(super) const DRIVER: &[&str] =
    &["device.driver", "device.pci", "device.parent", "device.node_type"];

/// Sources of the protocol of a port.
pub(super) const PROTOCOL: &[&str] =
    &["port.link_layer", "device.node_type", "device.driver", "device.pci"];

/// Sources that decide if a port has LIDs.
pub(super) const LIDS: &[&str] = &["port.link_layer", "device.node_type", "device.driver"];

/// Part of a report with the other ends of links.
pub(super) const PEER: &[&str] = &["fabric_peers"];

/// Sources of the network interface of a port.
pub(super) const NETDEV: &[&str] = &[
    "port.netdev",
    "port.link_layer",
    "device.node_type",
    "device.parent",
    "device.driver",
    "device.pci",
];

/// Word for the state of a port whose device was removed.
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
    /// True if a source of a cell could not be read, for example `port.lid`, `device.driver` or
    /// `verbs`.
    #[must_use]
    pub fn is_unreadable(&self, source: &str) -> bool {
        let asked = self.device.is_some() || self.report.failure.is_none();
        let verbs_missing = matches!(self.report.verbs, VerbsState::Unavailable { .. });
        if source == "verbs" && verbs_missing && asked && self.device.is_some() {
            return true;
        }
        // Most hosts have no problem, so the search ends here.
        if self.report.problems.is_empty() {
            return false;
        }
        // The problem concerns a whole part, or one device.
        (Part::named(source).is_some() && self.report.problems.has(source))
            || self.key(source).is_some_and(|key| self.is_key_unreadable(&key))
    }

    /// True if a problem has exactly this model key.
    pub(super) fn has_problem(&self, key: &str) -> bool {
        self.report.problems.has(key)
    }

    /// Returns a cell of the device; `Absent` without a device.
    pub(super) fn of_device(&self, get: impl Fn(&Device) -> Value) -> Value {
        self.device.map_or(Value::Absent, get)
    }

    /// Returns a cell of the port; `Absent` without a port.
    pub(super) fn of_port(&self, get: impl Fn(&Port) -> Value) -> Value {
        self.port.map_or(Value::Absent, get)
    }

    /// Returns the logical state of the port, or the reason why the host did not respond.
    pub(super) fn state(&self) -> Value {
        let is_gone = self.device.is_some_and(|device| device.gone_since_ns.is_some());
        if is_gone {
            return Value::Bad(GONE.into());
        }
        let of_port = |port: &Port| match port.state {
            None => Value::Absent,
            Some(PortState::Active) => Value::Text(PortState::Active.word().into()),
            Some(state) => Value::Bad(state.word().into()),
        };
        Value::or_failure(self.report, || self.of_port(of_port))
    }

    /// Returns a cell of the port's network interface. On RoCE the GIDs name the interface. On
    /// other protocols RDMA netlink can name it. If none of them could be read, the cell is
    /// unreadable.
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

    /// Returns the protocol of the port. Without the name of the driver, InfiniBand and Omni-Path
    /// cannot be distinguished; the cell is then the kernel's link layer.
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

    /// Returns the rate of the port. If the rate is known, the network interface is not needed.
    pub(super) fn rate(&self) -> Value {
        match self.port.and_then(|port| port.rate_bps) {
            Some(rate_bps) => Value::Bits(rate_bps),
            None => self.of_netdev(|_| Value::Absent),
        }
    }

    /// Returns the network interface of the port; `None` if it was not read.
    pub(super) fn netdev(&self) -> Option<&Netdev> {
        self.report.netdev(self.port?.netdev.as_deref()?)
    }

    /// Returns a cell of the port's network interface, from its report.
    pub(super) fn in_netdev(&self, get: impl Fn(&Netdev) -> Value) -> Value {
        self.of_netdev(|_| self.netdev().map_or(Value::Absent, &get))
    }

    /// True if a network interface, or one of these parts of it, could not be read. A value from
    /// several interfaces can then be incomplete.
    pub(super) fn is_netdev_part_unreadable(&self, parts: &[&str]) -> bool {
        self.report
            .problems
            .within("netdevs")
            .iter()
            .any(|problem| problem.key.split('/').nth(2).is_none_or(|part| parts.contains(&part)))
    }

    /// True if a problem concerns this model key.
    pub(super) fn is_key_unreadable(&self, key: &str) -> bool {
        self.report.problems.touch(key)
    }

    /// Returns the model key of a source, in the form that problems use.
    fn key(&self, source: &str) -> Option<String> {
        let device = self.device.map(|device| device.name.as_str());
        match (source.split_once('.'), device, self.port) {
            (Some(("device", field)), Some(device), _) => Some(key::device(device, field)),
            (Some(("port", field)), Some(device), Some(port)) => {
                Some(key::port(device, port.number, field))
            }
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
#[must_use]
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
