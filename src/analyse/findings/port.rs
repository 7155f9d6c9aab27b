//! Findings of one port.

use super::Rates;
use crate::model::ping::FIX_SET_UP;
use crate::model::{Device, HostReport, Port, PortState, Protocol, Severity};

/// A port, its device and its host.
#[derive(Clone, Copy)]
pub(super) struct PortRef<'report> {
    pub(super) report: &'report HostReport,
    pub(super) device: &'report Device,
    pub(super) port: &'report Port,
}

/// Severity, code, text and fix of a finding.
type PortFinding = (Severity, &'static str, String, Option<String>);

pub(super) fn findings(place: PortRef<'_>, rates: &Rates<'_>) -> Vec<PortFinding> {
    let mut all = Vec::new();
    all.extend(state(place));
    all.extend(speed(place, rates));
    if place.port.pci_suffices == Some(false) {
        let what = "the PCI Express link is slower than the port".to_owned();
        let PortRef { report, device, .. } = place;
        let fix = format!(
            "on {}: rdmactl devices -v -w 'device=={}' shows the link; move the card to a slot \
             with more lanes",
            report.host, device.name
        );
        all.push((Severity::Warn, "port.pci_slow", what, Some(fix)));
    }
    all
}

fn state(place: PortRef<'_>) -> Option<PortFinding> {
    let PortRef { report, device, port } = place;
    let (host, own) = (&report.host, format!("{}/{}", device.name, port.number));
    let has_subnet = port.protocol.is_some_and(Protocol::has_subnet);
    let phys = port.phys_state.as_deref().map_or(String::new(), |word| format!(" ({word})"));
    let netdev = port.netdev.as_deref();
    match port.state? {
        PortState::Active | PortState::ActiveDefer => None,
        PortState::Down | PortState::Nop => {
            let reason = netdev
                .and_then(|name| report.netdev(name)?.ethernet.as_ref()?.down_reason.clone())
                .map_or(String::new(), |reason| format!(": {reason}"));
            let fix = match (port.phys_state.as_deref(), netdev) {
                (Some("Disabled"), Some(name)) if !has_subnet => {
                    FIX_SET_UP.replace("{host}", host).replace("{netdev}", name)
                }
                (_, Some(name)) if !has_subnet => {
                    format!(
                        "on {host}: ethtool {name} shows the link; connect or replace the cable"
                    )
                }
                _ => format!(
                    "connect or replace the cable of {own} on {host}; check that its switch \
                     port is enabled"
                ),
            };
            Some((Severity::Fail, "port.down", format!("down{phys}{reason}"), Some(fix)))
        }
        state @ (PortState::Init | PortState::Armed) => {
            let word = state.word();
            let what =
                format!("{word}: the link is up, but no subnet manager has activated the port");
            let fix = format!(
                "on {host}: sminfo -C {} -P {} finds the subnet manager; start opensm if there is \
                 none",
                device.name, port.number
            );
            // A port that is not active carries no traffic, like a port that is down.
            Some((Severity::Fail, "port.not_active", what, Some(fix)))
        }
    }
}

fn speed(place: PortRef<'_>, rates: &Rates<'_>) -> Option<PortFinding> {
    let usual = rates.usual_beyond(place.device, place.port)?;
    let mine = place.port.rate_bps?;
    let gigabits = |bps: u64| bps / 1_000_000_000;
    let what = format!(
        "{} Gb/s; {} ports of this type have {} Gb/s",
        gigabits(mine),
        usual.ports,
        gigabits(usual.rate_bps)
    );
    let PortRef { report, device, port } = place;
    let fix = format!(
        "reseat or replace the cable of {}/{} on {}; compare the speed and width settings of both \
         ends",
        device.name, port.number, report.host
    );
    Some((Severity::Warn, "port.slow", what, Some(fix)))
}
