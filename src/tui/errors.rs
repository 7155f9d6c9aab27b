//! Error counters of ports since the start of `top`.
//!
//! `changes` passes recent errors on for findings; the snapshot subtracts a reset.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::analyse::errors::{ErrorIncrease, errors};
use crate::model::HostReport;

/// Time for which errors are a finding.
const FRESH: Duration = Duration::from_secs(60);

const MAX_PORTS: usize = 10_000;

/// Maximum of error counters per port; no driver has more.
const MAX_COUNTERS: usize = 128;

/// Errors of all ports that counted any. A clone shares the hosts without new errors.
#[derive(Debug, Clone, Default)]
pub(super) struct Errors {
    hosts: HashMap<usize, Arc<Vec<OfPort>>>,
    ports: usize,
}

#[derive(Debug, Clone)]
pub(super) struct OfPort {
    pub(super) device: Arc<str>,
    pub(super) port: u32,
    at: Instant,
    pub(super) counted: Vec<ErrorIncrease>,
}

impl Errors {
    /// Adds the errors that the ports of a host counted since the previous sample.
    pub(super) fn note(&mut self, at: Instant, host: usize, report: &HostReport) {
        for device in &report.devices {
            for port in &device.ports {
                let mut more = errors(port)
                    .filter_map(|one| Some((one.name.as_str(), one.rate?.delta?)))
                    .take(MAX_COUNTERS)
                    .peekable();
                if more.peek().is_none() {
                    continue;
                }
                let of_host = Arc::make_mut(self.hosts.entry(host).or_default());
                let is_it = |one: &&mut OfPort| one.is_of(&device.name, port.number);
                let known = of_host.iter_mut().find(is_it);
                if let Some(known) = known {
                    known.add(at, more);
                } else if self.ports < MAX_PORTS {
                    let (device, counted) = (device.name.as_str().into(), Vec::new());
                    let mut new = OfPort { device, port: port.number, at, counted };
                    new.add(at, more);
                    of_host.push(new);
                    self.ports += 1;
                }
            }
        }
    }

    pub(super) fn of(&self, host: usize, device: &str, port: u32) -> &[ErrorIncrease] {
        let of_host = self.hosts.get(&host).map(|all| all.as_slice()).unwrap_or_default();
        let of_port = of_host.iter().find(|one| one.is_of(device, port));
        of_port.map(|one| one.counted.as_slice()).unwrap_or_default()
    }

    /// Returns the ports of a host with recent errors, by device and port.
    pub(super) fn fresh(&self, host: usize, at: Instant) -> Vec<&OfPort> {
        let is_fresh = |one: &&OfPort| at.saturating_duration_since(one.at) < FRESH;
        let mut all: Vec<&OfPort> =
            self.hosts.get(&host).into_iter().flat_map(|all| all.iter()).filter(is_fresh).collect();
        all.sort_by_key(|one| (&one.device, one.port));
        all
    }
}

impl OfPort {
    fn is_of(&self, device: &str, port: u32) -> bool {
        self.port == port && *self.device == *device
    }

    fn add<'name>(&mut self, at: Instant, more: impl Iterator<Item = (&'name str, u64)>) {
        self.at = at;
        self.counted.iter_mut().for_each(|one| one.last = 0);
        for (name, count) in more {
            if let Some(known) = self.counted.iter_mut().find(|known| *known.name == *name) {
                known.last = count;
                known.sum = known.sum.saturating_add(count);
            } else if self.counted.len() < MAX_COUNTERS {
                self.counted.push(ErrorIncrease { name: name.into(), last: count, sum: count });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::model::Via;

    fn report(delta: u64) -> HostReport {
        let counter = serde_json::json!({
            "name": "symbol_error", "group": "pma", "value": 9, "unit": "events",
            "saturated": false, "read_ns": 1,
            "rate": {
                "change": "counted", "interval_ns": 1, "delta": delta, "rate_per_s": delta,
                "rate_bps": null,
            },
        });
        let port = serde_json::json!({ "number": 1, "counters": [counter] });
        let device = serde_json::json!({ "name": "mlx5_0", "ports": [port] });
        let mut report = HostReport::empty("n1", Via::Agent);
        report.devices = vec![serde_json::from_value(device).unwrap()];
        report
    }

    #[test]
    fn errors_are_summed_and_are_news_for_a_while() {
        let (at, mut errors) = (clock::now(), Errors::default());
        for delta in [2, 0, 3] {
            errors.note(at, 0, &report(delta));
        }
        let counted = ErrorIncrease { name: "symbol_error".into(), last: 3, sum: 5 };
        assert_eq!(errors.of(0, "mlx5_0", 1), [counted]);
        assert_eq!(errors.fresh(0, at).len(), 1);
        assert_eq!(errors.fresh(0, at + FRESH).len(), 0);
        assert!(errors.of(0, "mlx5_0", 2).is_empty() && errors.of(1, "mlx5_0", 1).is_empty());
    }
}
