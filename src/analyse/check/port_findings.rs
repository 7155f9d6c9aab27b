//! Findings of one port: its state, its rate and its PCI Express path.
//!
//! `ports` judges the ports of all hosts with them. `rdmactl ports` and `rdmactl devices` list
//! the findings of the state below their rows.

use super::on_host;
use super::rates::Rates;
use super::results::worst_first;
use crate::analyse::folded::Folded;
use crate::analyse::verdict::plain_or;
use crate::model::ping::FIX_SET_UP;
use crate::model::{
    Device, Finding, HostReport, LinkLayer, PciLink, Port, PortState, Protocol, Severity, Subject,
};

/// Checks that [`failed_state_check`] returns.
pub(super) const OF_STATE: [&str; 3] = ["port.down", "port.disabled", "port.not_active"];

/// Port with its device and its report.
#[derive(Clone, Copy)]
pub(super) struct PortRef<'report> {
    pub(super) report: &'report HostReport,
    pub(super) device: &'report Device,
    pub(super) port: &'report Port,
}

impl<'report> PortRef<'report> {
    /// Returns the ports of a host, without the ports of removed devices.
    pub(super) fn all(report: &'report HostReport) -> impl Iterator<Item = Self> {
        let present = report.devices.iter().filter(|device| device.gone_since_ns.is_none());
        present.flat_map(move |device| {
            device.ports.iter().map(move |port| Self { report, device, port })
        })
    }

    /// Returns the host name, or HOST if a shell would not take the name as one word.
    pub(super) fn host(self) -> &'report str {
        plain_or(&self.report.host, "HOST")
    }

    /// Returns the device name, or DEVICE if a shell would not take the name as one word.
    pub(super) fn device_name(self) -> &'report str {
        plain_or(&self.device.name, "DEVICE")
    }

    /// Returns the interface name, or NETDEV if a shell would not take the name as one word;
    /// `None` without an interface.
    pub(super) fn netdev(self) -> Option<&'report str> {
        self.port.netdev.as_deref().map(|name| plain_or(name, "NETDEV"))
    }

    pub(super) fn subject(self) -> Subject {
        Subject::Port(self.device.name.clone(), self.port.number)
    }

    pub(super) fn finding(
        self,
        severity: Severity,
        code: &'static str,
        what: impl Into<String>,
    ) -> Finding {
        Finding::new(severity, code, self.subject(), what)
    }
}

/// Returns the findings about ports that are not active, without hosts and devices that are gone.
pub fn port_states<'report>(reports: impl Iterator<Item = &'report HostReport>) -> Vec<Finding> {
    let mut all = Folded::default();
    for report in reports.filter(|report| report.failure.is_none()) {
        for finding in PortRef::all(report).filter_map(state_finding) {
            all.add(&report.host, finding);
        }
    }
    worst_first(all.findings)
}

/// Returns the check that the state of a port fails; `None` for an active port and for an unknown
/// state.
pub fn failed_state_check(port: &Port) -> Option<&'static str> {
    let has_subnet = port.protocol.is_some_and(Protocol::has_subnet);
    let phys_state = port.phys_state.as_deref();
    match port.state? {
        PortState::Active | PortState::ActiveDefer => None,
        // Some adapters stay in state DOWN until a subnet manager configures the port
        // (BlueField-3).
        PortState::Down | PortState::Nop if has_subnet && phys_state == Some("LinkUp") => {
            Some("port.not_active")
        }
        PortState::Down | PortState::Nop if phys_state == Some("Disabled") => Some("port.disabled"),
        PortState::Down | PortState::Nop => Some("port.down"),
        PortState::Init | PortState::Armed => Some("port.not_active"),
    }
}

pub(super) fn state_finding(place: PortRef<'_>) -> Option<Finding> {
    match failed_state_check(place.port)? {
        "port.not_active" => not_active(place),
        id => Some(down(place, id)),
    }
}

fn down(place: PortRef<'_>, id: &'static str) -> Finding {
    let PortRef { report, port, .. } = place;
    let (host, device) = (place.host(), place.device_name());
    let has_subnet = port.protocol.is_some_and(Protocol::has_subnet);
    let phys = port.phys_state.as_deref().map_or(String::new(), |word| format!(" ({word})"));
    let reason = port
        .netdev
        .as_deref()
        .and_then(|name| report.netdev(name)?.ethernet.as_ref()?.down_reason.clone())
        .map_or(String::new(), |reason| format!(": {reason}"));
    // Only InfiniBand has ibportstate.
    let fix = match (id, place.netdev().filter(|_| !has_subnet), port.protocol) {
        ("port.disabled", Some(name), _) => {
            FIX_SET_UP.replace("{host}", host).replace("{netdev}", name)
        }
        (_, Some(name), _) => {
            let task = "show the link, and connect or replace the cable";
            on_host(report, format_args!("{task}: ethtool {name}"))
        }
        ("port.disabled", None, Some(Protocol::Opa)) => {
            on_host(report, format_args!("opaportconfig -p {} enable", port.number))
        }
        ("port.disabled", None, Some(Protocol::Ib) | None)
            if port.link_layer != Some(LinkLayer::Ethernet) =>
        {
            let number = port.number;
            // Without -P, libibumad opens no port that is Disabled. ConnectX-7 reports Disabled
            // without a cable.
            on_host(
                report,
                format_args!(
                    "connect the cable, and enable the port: ibportstate -C {device} -P {number} -D 0 \
                     {number} enable"
                ),
            )
        }
        _ => format!(
            "connect or replace the cable of {device}/{} on {host}; check that its switch port is \
             enabled",
            port.number
        ),
    };
    place.finding(Severity::Fail, id, format!("down{phys}{reason}")).fix(fix)
}

fn not_active(place: PortRef<'_>) -> Option<Finding> {
    let PortRef { report, port, .. } = place;
    let device = place.device_name();
    let word = port.state?.word();
    let has_subnet = port.protocol.is_some_and(Protocol::has_subnet);
    let (what, fix) = match port.protocol {
        Some(Protocol::Opa) => (
            format!("{word}: the link is up, but no fabric manager has activated the port"),
            "start the fabric manager of Omni-Path on one host: systemctl start opafm".into(),
        ),
        _ if has_subnet || port.protocol.is_none() => (
            format!("{word}: the link is up, but no subnet manager has activated the port"),
            on_host(
                report,
                format_args!(
                    "look for a subnet manager, and start opensm on one host if the subnet has \
                     none: sminfo -C {device} -P {}",
                    port.number
                ),
            ),
        ),
        _ => (
            format!("{word}: the port is not active; its interface may have no address"),
            on_host(
                report,
                format_args!("ip addr show dev {}", place.netdev().unwrap_or("NETDEV")),
            ),
        ),
    };
    // A port that is not active carries no traffic, like a port that is down.
    Some(place.finding(Severity::Fail, "port.not_active", what).fix(fix))
}

pub(super) fn rate_finding(place: PortRef<'_>, rates: &Rates<'_>) -> Option<Finding> {
    let PortRef { device, port, .. } = place;
    let usual = rates.faster_usual_rate(device, port)?;
    let what = format!(
        "{}; {} ports of this type have {}",
        rate(port.rate_bps?),
        usual.ports,
        rate(usual.rate_bps)
    );
    let fix = format!(
        "reseat or replace the cable of {}/{} on {}; compare the speed and width settings of both \
         ends",
        place.device_name(),
        port.number,
        place.host()
    );
    Some(place.finding(Severity::Warn, "port.slow", what).fix(fix))
}

/// Formats a rate with at most one decimal, rounded down: `2.5 Gb/s`.
fn rate(bps: u64) -> String {
    match (bps / 1_000_000_000, bps / 100_000_000 % 10) {
        (whole, 0) => format!("{whole} Gb/s"),
        (whole, tenth) => format!("{whole}.{tenth} Gb/s"),
    }
}

pub(super) fn pci_finding(place: PortRef<'_>) -> Option<Finding> {
    if place.port.pci_suffices != Some(false) {
        return None;
    }
    let link = place.device.pci_link.as_ref();
    let (severity, what, task) = if link.is_some_and(is_limited_by_generation) {
        let what = "the PCI Express generation of the host is slower than the port";
        (Severity::Info, what, "show the link")
    } else {
        let what = "the PCI Express link is slower than the port";
        (Severity::Warn, what, "show the link, and move the card to a slot with more lanes")
    };
    let device = place.device_name();
    let fix = format!("{task}: rdmactl devices -v -w 'device=={device}'");
    Some(place.finding(severity, "port.pci_slow", what).fix(on_host(place.report, fix)))
}

/// Returns true if the link has all lanes of the card, at the highest speed of the host. No other
/// slot of the host is faster.
fn is_limited_by_generation(link: &PciLink) -> bool {
    let has_all_lanes = link.card.is_some_and(|card| link.current.lanes >= card.lanes);
    link.is_degraded == Some(false) && has_all_lanes
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{checked, cluster, reports};
    use super::*;
    use crate::model::{PciSpeed, Via};

    /// Returns the finding of a check after a change of the third host.
    fn finding(id: &str, change: impl Fn(&mut Value)) -> Finding {
        let mut values = cluster();
        change(&mut values[2]);
        let mut findings = checked(&reports(&values)).findings.into_iter();
        findings.find(|found| found.check.id == id).unwrap().finding
    }

    #[test]
    fn the_ports_of_a_removed_device_are_omitted() {
        let device = |name: &str, gone_since_ns| Device {
            name: name.into(),
            gone_since_ns,
            ports: vec![Port { number: 1, ..Port::default() }, Port::default()],
            ..Device::default()
        };
        let mut report = HostReport::empty("n1", Via::Agent);
        report.devices = vec![device("mlx5_0", Some(1)), device("mlx5_1", None)];
        let ports: Vec<(&str, u32)> = PortRef::all(&report)
            .map(|place| (place.device.name.as_str(), place.port.number))
            .collect();
        assert_eq!(ports, [("mlx5_1", 1), ("mlx5_1", 0)]);
    }

    #[test]
    fn a_rate_has_one_decimal() {
        for (bps, text) in [
            (2_500_000_000, "2.5 Gb/s"),
            (14_062_500_000, "14 Gb/s"),
            (400_000_000_000, "400 Gb/s"),
            (999_999_999, "0.9 Gb/s"),
        ] {
            assert_eq!(rate(bps), text);
        }
        let slow = finding("port.slow", |host| {
            host["devices"][0]["ports"][0]["rate_bps"] = json!(2_500_000_000_u64);
        });
        assert_eq!(slow.what, "2.5 Gb/s; 3 ports of this type have 400 Gb/s");
    }

    #[test]
    fn the_command_of_a_fix_has_no_words_behind_it() {
        let fix = |id: &str, device: usize, fields: Value| {
            let found = finding(id, |host| {
                let port = host["devices"][device]["ports"][0].as_object_mut().unwrap();
                port.extend(fields.as_object().unwrap().clone());
            });
            found.fix.unwrap()
        };
        assert_eq!(
            fix("port.down", 1, json!({ "state": "down", "phys_state": "Polling" })),
            "on n3: show the link, and connect or replace the cable: ethtool bond0"
        );
        assert_eq!(
            fix("port.not_active", 0, json!({ "state": "init" })),
            "on n3: look for a subnet manager, and start opensm on one host if the subnet has \
             none: sminfo -C mlx5_0 -P 1"
        );
        assert_eq!(
            fix("port.pci_slow", 0, json!({ "pci_suffices": false })),
            "on n3: show the link, and move the card to a slot with more lanes: rdmactl devices -v \
             -w 'device==mlx5_0'"
        );
    }

    #[test]
    fn a_slow_pci_link_is_a_warning_unless_no_slot_is_faster() {
        // A card for 64 GT/s x16 below a host with 32 GT/s.
        let severity = |lanes: u32, is_degraded: Option<bool>| {
            let card = PciSpeed::new(64_000, 16);
            let current = PciSpeed::new(32_000, lanes);
            let link = PciLink {
                current,
                card: Some(card),
                slot: Some(current),
                is_degraded,
                physical_function: None,
            };
            let port = Port { number: 1, pci_suffices: Some(false), ..Port::default() };
            let device =
                Device { name: "mlx5_0".into(), pci_link: Some(link), ..Device::default() };
            let report = HostReport::empty("n1", Via::Agent);
            let place = PortRef { report: &report, device: &device, port: &port };
            pci_finding(place).map(|found| found.severity)
        };
        assert_eq!(severity(16, Some(false)), Some(Severity::Info), "all lanes");
        assert_eq!(severity(8, Some(false)), Some(Severity::Warn), "a slot with more lanes helps");
        assert_eq!(severity(16, Some(true)), Some(Severity::Warn), "degraded");
        assert_eq!(severity(16, None), Some(Severity::Warn), "unknown");
    }
}
