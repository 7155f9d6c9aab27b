use super::{Key, Value};
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

/// Sources that show whether a port has LIDs.
pub(super) const LIDS: &[&str] = &["port.link_layer", "device.node_type", "device.driver"];

/// Part of a report that holds the other ends of links.
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

/// Keys that identify a port, from the host down.
pub(super) const PORT_KEYS: &[Key] = &[
    Key::new("host", "host", "host"),
    Key::new("device", "device", "device.name"),
    Key::new("port", "port", "port.number"),
];

/// State of a port whose device was removed.
pub(super) const GONE: &str = "gone";

/// One row: a port, or a device or host without ports.
#[derive(Debug, Clone, Copy)]
pub struct DeviceRow<'report> {
    /// The host.
    pub report: &'report HostReport,
    /// The device; `None` for a host without devices or without an answer.
    pub device: Option<&'report Device>,
    /// The port; `None` for a device without ports.
    pub port: Option<&'report Port>,
}

impl DeviceRow<'_> {
    /// Returns true if a source of a cell could not be read: `port.lid`, `device.driver`, `verbs`.
    #[must_use]
    pub fn is_unreadable(&self, source: &str) -> bool {
        let asked = self.device.is_some() || self.report.failure.is_none();
        let verbs_missing = matches!(self.report.verbs, VerbsState::Unavailable { .. });
        if source == "verbs" && verbs_missing && asked && self.device.is_some() {
            return true;
        }
        // Most hosts have none, and nothing is to be looked for.
        if self.report.problems.is_empty() {
            return false;
        }
        // All of a part may be missing, or that of a device.
        (Part::named(source).is_some() && self.report.problems.has(source))
            || self.key(source).is_some_and(|key| self.is_key_unreadable(&key))
    }

    /// Returns true if a problem has exactly this model key.
    pub(super) fn has_problem(&self, key: &str) -> bool {
        self.report.problems.has(key)
    }

    /// A cell of the device.
    pub(super) fn of_device(&self, get: impl Fn(&Device) -> Value) -> Value {
        self.device.map_or(Value::Absent, get)
    }

    /// A cell of the port.
    pub(super) fn of_port(&self, get: impl Fn(&Port) -> Value) -> Value {
        self.port.map_or(Value::Absent, get)
    }

    /// The logical state of the port, or why the host gave no answer.
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

    /// A cell of the port's interface. On RoCE the GIDs name the interface, on others RDMA netlink
    /// may: without them, nothing is known of it.
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
    /// look alike: the link layer of the kernel stands for both.
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

    /// Returns the rate of the port. A rate that is known does not need the interface.
    pub(super) fn rate(&self) -> Value {
        match self.port.and_then(|port| port.rate_bps) {
            Some(rate_bps) => Value::Bits(rate_bps),
            None => self.of_netdev(|_| Value::Absent),
        }
    }

    /// The interface of the port, where it was read.
    pub(super) fn netdev(&self) -> Option<&Netdev> {
        self.report.netdev(self.port?.netdev.as_deref()?)
    }

    /// A cell of the port's interface, as it was read.
    pub(super) fn in_netdev(&self, get: impl Fn(&Netdev) -> Value) -> Value {
        self.of_netdev(|_| self.netdev().map_or(Value::Absent, &get))
    }

    /// Returns true if an interface, or one of these parts of an interface, could not be read. A
    /// value made of several interfaces may then be incomplete.
    pub(super) fn is_netdev_part_unreadable(&self, parts: &[&str]) -> bool {
        self.report
            .problems
            .within("netdevs")
            .iter()
            .any(|problem| problem.key.split('/').nth(2).is_none_or(|part| parts.contains(&part)))
    }

    /// Returns true if a problem concerns this model key.
    pub(super) fn is_key_unreadable(&self, key: &str) -> bool {
        self.report.problems.touch(key)
    }

    /// The model key of a source, as problems spell it.
    fn key(&self, source: &str) -> Option<String> {
        let device = self.device.map(|device| device.name.as_str());
        match (source.split_once('.'), device, self.port) {
            (Some(("device", field)), Some(device), _) => Some(key::device(device, field)),
            (Some(("port", field)), Some(device), Some(port)) => {
                Some(key::port(device, port.number, field))
            }
            // An interface without a name is the port's own cell.
            (Some(("netdev", field)), _, Some(port)) => {
                let name = port.netdev.as_deref()?;
                Some(key::netdev(name, &field.replace('.', "/")))
            }
            // Without ports, what is known of them hangs on their directory.
            (Some(("port", _)), Some(device), None) => Some(key::device(device, "ports")),
            (None, Some(device), _) if source == "verbs" => Some(key::device(device, "verbs")),
            (None, _, _) => Some(source.to_owned()),
            _ => None,
        }
    }
}

/// One row for each port; a device without ports has one, and so has a host without devices, when
/// hosts are named.
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
