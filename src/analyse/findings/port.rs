//! What is to be said of one port.

use super::Rates;
use crate::model::{Device, HostReport, Port, PortState, Protocol, Severity};

/// A port and what it belongs to.
#[derive(Clone, Copy)]
pub(super) struct Place<'report> {
    pub(super) report: &'report HostReport,
    pub(super) device: &'report Device,
    pub(super) port: &'report Port,
}

/// How bad, the word for programs, what, and what to type.
type Said = (Severity, &'static str, String, Option<String>);

pub(super) fn findings(place: Place<'_>, rates: &Rates<'_>) -> Vec<Said> {
    let mut all = Vec::new();
    all.extend(state(place));
    all.extend(speed(place, rates));
    if place.port.pci_suffices == Some(false) {
        let what = "the PCI Express link lets less through than the port".to_owned();
        let fix = "look at it with rdmactl devices -v; seat the card in a slot with more lanes";
        all.push((Severity::Warn, "port.pci_slow", what, Some(fix.to_owned())));
    }
    all
}

fn state(place: Place<'_>) -> Option<Said> {
    let Place { report, port, .. } = place;
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
                    format!("it is switched off: ip link set dev {name} up")
                }
                (_, Some(name)) if !has_subnet => {
                    format!("look at the link with ethtool {name}; plug in or change the cable")
                }
                _ => "plug in or change the cable; is the switch's port on?".to_owned(),
            };
            Some((Severity::Fail, "port.down", format!("down{phys}{reason}"), Some(fix)))
        }
        state @ (PortState::Init | PortState::Armed) => {
            let word = state.word();
            let what = format!("{word}: it has a link, and no subnet manager has activated it");
            let fix = "start a subnet manager (opensm), or look why it does not see this port";
            Some((Severity::Warn, "port.not_active", what, Some(fix.to_owned())))
        }
    }
}

fn speed(place: Place<'_>, rates: &Rates<'_>) -> Option<Said> {
    let usual = rates.usual_beyond(place.device, place.port)?;
    let mine = place.port.rate_bps?;
    let gigabits = |bps: u64| bps / 1_000_000_000;
    let what = format!(
        "{} Gb/s, where {} ports of this kind have {} Gb/s",
        gigabits(mine),
        usual.ports,
        gigabits(usual.rate_bps)
    );
    let fix = "seat or change the cable; look at both ends' settings of speed and width";
    Some((Severity::Warn, "port.slow", what, Some(fix.to_owned())))
}
