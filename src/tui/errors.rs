//! The errors that ports counted while somebody looked.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::analyse::errors::errors;
use crate::model::HostReport;

/// How long errors that were counted once are among the findings.
const FRESH: Duration = Duration::from_secs(60);

/// How many ports are kept at most.
const MOST: usize = 10_000;

/// How many counters of a port are kept at most: no driver has more of errors.
const MOST_COUNTERS: usize = 128;

/// The errors of all ports that counted any.
#[derive(Debug, Clone, Default)]
pub(super) struct Errors {
    hosts: HashMap<usize, Vec<OfPort>>,
    ports: usize,
}

/// The errors of one port.
#[derive(Debug, Clone)]
pub(super) struct OfPort {
    pub(super) device: String,
    pub(super) port: u32,
    /// When it counted last.
    at: Instant,
    /// What it counted then, by the names of the counters.
    pub(super) last: Vec<(String, u64)>,
    /// What it counted in all.
    pub(super) all: Vec<(String, u64)>,
}

impl Errors {
    /// Adds what the ports of a host counted since the reading before.
    pub(super) fn note(&mut self, at: Instant, host: usize, report: &HostReport) {
        for device in &report.devices {
            for port in &device.ports {
                let last: Vec<(String, u64)> = errors(port)
                    .filter_map(|one| Some((one.name.clone(), one.rate?.delta?)))
                    .take(MOST_COUNTERS)
                    .collect();
                if last.is_empty() {
                    continue;
                }
                let of_host = self.hosts.entry(host).or_default();
                let is_it =
                    |one: &&mut OfPort| one.port == port.number && one.device == device.name;
                if let Some(known) = of_host.iter_mut().find(is_it) {
                    add(&mut known.all, &last);
                    (known.at, known.last) = (at, last);
                } else if self.ports < MOST {
                    let (device, all) = (device.name.clone(), last.clone());
                    of_host.push(OfPort { device, port: port.number, at, last, all });
                    self.ports += 1;
                }
            }
        }
    }

    /// What a port counted.
    pub(super) fn of(&self, host: usize, device: &str, port: u32) -> Option<&OfPort> {
        let is_it = |one: &&OfPort| one.port == port && one.device == device;
        self.hosts.get(&host)?.iter().find(is_it)
    }

    /// Those of a host that counted a moment ago, by device and port.
    pub(super) fn fresh(&self, host: usize, at: Instant) -> Vec<&OfPort> {
        let is_fresh = |one: &&OfPort| at.saturating_duration_since(one.at) < FRESH;
        let mut all: Vec<&OfPort> =
            self.hosts.get(&host).into_iter().flatten().filter(is_fresh).collect();
        all.sort_by_key(|one| (&one.device, one.port));
        all
    }
}

impl OfPort {
    /// How many errors of all kinds.
    pub(super) fn sum(&self) -> u64 {
        self.all.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

fn add(all: &mut Vec<(String, u64)>, more: &[(String, u64)]) {
    for (name, count) in more {
        if let Some((_, sum)) = all.iter_mut().find(|(known, _)| known == name) {
            *sum = sum.saturating_add(*count);
        } else if all.len() < MOST_COUNTERS {
            all.push((name.clone(), *count));
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
        let port = errors.of(0, "mlx5_0", 1).unwrap();
        assert_eq!((port.sum(), port.last.as_slice()), (5, &[("symbol_error".to_owned(), 3)][..]));
        assert_eq!(errors.fresh(0, at).len(), 1);
        assert_eq!(errors.fresh(0, at + FRESH).len(), 0);
        assert!(errors.of(0, "mlx5_0", 2).is_none() && errors.of(1, "mlx5_0", 1).is_none());
    }
}
