//! Usual rates of comparable ports.

use std::collections::HashMap;

use crate::model::{Device, HostReport, Port, Protocol};

/// Number of ports by kind and rate.
pub(in crate::analyse) struct Rates<'report>(HashMap<PortKind<'report>, HashMap<u64, usize>>);

/// Key of comparable ports: the card type (without one the driver) and the protocol.
type PortKind<'report> = (&'report str, Protocol);

/// Rate that most ports of a kind have.
pub(in crate::analyse) struct UsualRate {
    pub(in crate::analyse) rate_bps: u64,
    pub(in crate::analyse) ports: usize,
}

impl<'report> Rates<'report> {
    /// Counts the rates of all ports with a kind and a rate.
    pub(in crate::analyse) fn of(reports: impl Iterator<Item = &'report HostReport>) -> Self {
        let mut all: HashMap<PortKind<'report>, HashMap<u64, usize>> = HashMap::new();
        for device in reports.flat_map(|report| &report.devices) {
            for port in &device.ports {
                if let Some((kind, rate)) = kind(device, port).zip(port.rate_bps) {
                    *all.entry(kind).or_default().entry(rate).or_default() += 1;
                }
            }
        }
        Self(all)
    }

    /// Returns the usual rate if the port is slower. A rate is usual if at least three ports and
    /// more than half of the ports of the kind have it.
    pub(in crate::analyse) fn usual_beyond(
        &self,
        device: &Device,
        port: &Port,
    ) -> Option<UsualRate> {
        const MIN: usize = 3;
        let rates = self.0.get(&kind(device, port)?)?;
        let all: usize = rates.values().sum();
        let (rate_bps, ports) = rates
            .iter()
            .max_by_key(|(rate, count)| (**count, **rate))
            .map(|(rate, count)| (*rate, *count))?;
        let is_usual = ports >= MIN && ports * 2 > all;
        (is_usual && port.rate_bps? < rate_bps).then_some(UsualRate { rate_bps, ports })
    }
}

fn kind<'device>(device: &'device Device, port: &Port) -> Option<PortKind<'device>> {
    let name = device.hca_type.as_deref().or(device.driver.as_deref())?;
    Some((name, port.protocol?))
}
