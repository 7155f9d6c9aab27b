//! Which rate ports of one kind usually have.

use std::collections::HashMap;

use crate::model::{Device, HostReport, Port, Protocol};

/// How many ports of a kind have which rate.
pub(super) struct Rates<'report>(HashMap<Kind<'report>, HashMap<u64, usize>>);

/// What ports are compared by: the type of the card, else its driver, and the protocol.
type Kind<'report> = (&'report str, Protocol);

/// The rate that most ports of a kind have.
pub(super) struct Usual {
    pub(super) rate_bps: u64,
    pub(super) ports: usize,
}

impl<'report> Rates<'report> {
    /// Those of all active ports.
    pub(super) fn of(reports: impl Iterator<Item = &'report HostReport>) -> Self {
        let mut all: HashMap<Kind<'report>, HashMap<u64, usize>> = HashMap::new();
        for device in reports.flat_map(|report| &report.devices) {
            for port in &device.ports {
                if let Some((kind, rate)) = kind(device, port).zip(port.rate_bps) {
                    *all.entry(kind).or_default().entry(rate).or_default() += 1;
                }
            }
        }
        Self(all)
    }

    /// What most others have, where this port has less; most are three at least, and more than half.
    pub(super) fn usual_beyond(&self, device: &Device, port: &Port) -> Option<Usual> {
        const LEAST: usize = 3;
        let rates = self.0.get(&kind(device, port)?)?;
        let all: usize = rates.values().sum();
        let (rate_bps, ports) = rates
            .iter()
            .max_by_key(|(rate, count)| (**count, **rate))
            .map(|(rate, count)| (*rate, *count))?;
        let is_usual = ports >= LEAST && ports * 2 > all;
        (is_usual && port.rate_bps? < rate_bps).then_some(Usual { rate_bps, ports })
    }
}

fn kind<'device>(device: &'device Device, port: &Port) -> Option<Kind<'device>> {
    let name = device.hca_type.as_deref().or(device.driver.as_deref())?;
    Some((name, port.protocol?))
}
