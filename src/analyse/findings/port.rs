//! Findings of one port.

use super::Rates;
use crate::analyse::verdict::plain_or;
use crate::model::ping::FIX_SET_UP;
use crate::model::{Device, Finding, HostReport, Port, PortState, Protocol, Severity, Subject};

#[derive(Clone, Copy)]
pub(crate) struct PortRef<'report> {
    pub(crate) report: &'report HostReport,
    pub(crate) device: &'report Device,
    pub(crate) port: &'report Port,
}

impl<'report> PortRef<'report> {
    /// Returns the name of the host for a fix, if a shell takes it as one word.
    fn host(self) -> &'report str {
        plain_or(&self.report.host, "HOST")
    }

    /// Returns the name of the device for a fix, likewise.
    fn device_name(self) -> &'report str {
        plain_or(&self.device.name, "DEVICE")
    }

    pub(crate) fn subject(self) -> Subject {
        Subject::Port(self.device.name.clone(), self.port.number)
    }

    pub(crate) fn finding(
        self,
        severity: Severity,
        code: &'static str,
        what: impl Into<String>,
    ) -> Finding {
        Finding::new(severity, code, self.subject(), what)
    }
}

pub(crate) fn findings(place: PortRef<'_>, rates: &Rates<'_>) -> impl Iterator<Item = Finding> {
    state(place).into_iter().chain(speed(place, rates)).chain(pci(place))
}

pub(crate) fn pci(place: PortRef<'_>) -> Option<Finding> {
    let what = "the PCI Express link is slower than the port";
    (place.port.pci_suffices == Some(false)).then(|| {
        place.finding(Severity::Warn, "port.pci_slow", what).fix(format!(
            "on {}: rdmactl devices -v -w 'device=={}' shows the link; move the card to a slot \
             with more lanes",
            place.host(),
            place.device_name()
        ))
    })
}

pub(crate) fn state(place: PortRef<'_>) -> Option<Finding> {
    let PortRef { report, port, .. } = place;
    let (host, device) = (place.host(), place.device_name());
    let has_subnet = port.protocol.is_some_and(Protocol::has_subnet);
    let phys = port.phys_state.as_deref().map_or(String::new(), |word| format!(" ({word})"));
    let netdev = port.netdev.as_deref().map(|name| plain_or(name, "NETDEV"));
    match port.state? {
        PortState::Active | PortState::ActiveDefer => None,
        // Some adapters stay in state DOWN until a subnet manager configures the port
        // (BlueField-3).
        PortState::Down | PortState::Nop
            if !has_subnet || port.phys_state.as_deref() != Some("LinkUp") =>
        {
            let reason = port
                .netdev
                .as_deref()
                .and_then(|name| report.netdev(name)?.ethernet.as_ref()?.down_reason.clone())
                .map_or(String::new(), |reason| format!(": {reason}"));
            let fix = match (port.phys_state.as_deref(), netdev) {
                (Some("Disabled"), Some(name)) if !has_subnet => {
                    FIX_SET_UP.replace("{host}", host).replace("{netdev}", name)
                }
                (_, Some(name)) if !has_subnet => format!(
                    "on {host}: ethtool {name} shows the link; connect or replace the cable"
                ),
                (Some("Disabled"), _) => {
                    format!("on {host}: ibportstate -C {device} -D 0 {} enable", port.number)
                }
                _ => format!(
                    "connect or replace the cable of {device}/{} on {host}; check that its switch \
                     port is enabled",
                    port.number
                ),
            };
            let is_disabled = port.phys_state.as_deref() == Some("Disabled");
            let code = if is_disabled { "port.disabled" } else { "port.down" };
            Some(place.finding(Severity::Fail, code, format!("down{phys}{reason}")).fix(fix))
        }
        state => {
            let word = state.word();
            let (what, fix) = match port.protocol {
                Some(Protocol::Opa) => (
                    format!("{word}: the link is up, but no fabric manager has activated the port"),
                    "start the fabric manager of Omni-Path on one host: systemctl start opafm"
                        .into(),
                ),
                _ if has_subnet || port.protocol.is_none() => (
                    format!("{word}: the link is up, but no subnet manager has activated the port"),
                    format!(
                        "on {host}: sminfo -C {device} -P {} finds the subnet manager; start opensm \
                         if there is none",
                        port.number
                    ),
                ),
                _ => (
                    format!("{word}: the port is not active; its interface may have no address"),
                    format!("on {host}: ip addr show dev {}", netdev.unwrap_or("NETDEV")),
                ),
            };
            // A port that is not active carries no traffic, like a port that is down.
            Some(place.finding(Severity::Fail, "port.not_active", what).fix(fix))
        }
    }
}

pub(crate) fn speed(place: PortRef<'_>, rates: &Rates<'_>) -> Option<Finding> {
    let PortRef { device, port, .. } = place;
    let usual = rates.usual_beyond(device, port)?;
    let gigabits = |bps: u64| bps / 1_000_000_000;
    let what = format!(
        "{} Gb/s; {} ports of this type have {} Gb/s",
        gigabits(port.rate_bps?),
        usual.ports,
        gigabits(usual.rate_bps)
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
