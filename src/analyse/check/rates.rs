//! Usual rates of comparable ports.

use std::collections::HashMap;

use crate::model::{Device, HostReport, Port, Protocol};

pub(super) struct Rates<'report>(HashMap<PortKind<'report>, HashMap<u64, usize>>);

/// Board (without one the card type or the driver) and protocol. Boards of one card type may have
/// different rates.
pub(super) type PortKind<'report> = (&'report str, Protocol);

/// Rate that most ports of a kind have.
pub(super) struct UsualRate {
    pub(super) rate_bps: u64,
    pub(super) ports: usize,
}

impl<'report> Rates<'report> {
    pub(super) fn of(reports: impl Iterator<Item = &'report HostReport>) -> Self {
        let mut rates = Self(HashMap::new());
        for (device, port) in reports.flat_map(HostReport::ports) {
            if let Some((kind, rate)) = kind(device, port).zip(port.rate_bps) {
                *rates.0.entry(kind).or_default().entry(rate).or_default() += 1;
            }
        }
        rates
    }

    /// Returns the usual rate if the port is slower. A rate is usual if at least three ports and
    /// more than half of the ports of the kind have it.
    pub(super) fn faster_usual_rate(&self, device: &Device, port: &Port) -> Option<UsualRate> {
        let rates = self.0.get(&kind(device, port)?)?;
        let all: usize = rates.values().sum();
        let by_count = rates.iter().map(|(rate, count)| (*count, *rate));
        let (ports, rate_bps) = by_count.max()?;
        let is_usual = ports >= 3 && ports * 2 > all;
        (is_usual && port.rate_bps? < rate_bps).then_some(UsualRate { rate_bps, ports })
    }
}

/// Returns the kind of a port, to compare it with others.
pub(super) fn kind<'device>(device: &'device Device, port: &Port) -> Option<PortKind<'device>> {
    // A plane has a part of the rate of the port.
    if device.is_sub_device() {
        return None;
    }
    let types = [&device.board_id, &device.hca_type, &device.driver];
    let name = types.into_iter().find_map(|name| name.as_deref())?;
    Some((name, port.protocol?))
}
