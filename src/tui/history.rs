//! Keeps the traffic of each port in the last samples, for sparklines.
//!
//! The module computes no rates and draws nothing. `snapshot` adds the samples; `rows` and `draw`
//! read a [`Track`].

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::Sample;
use crate::analyse::traffic::Traffic;

/// Number of samples that are kept.
pub(super) const KEPT_SAMPLES: usize = 120;

/// Maximum number of ports of one host, including removed ports.
const MAX_PORTS: usize = 1_024;
/// Maximum length of a device name. The kernel limits it to 63 bytes.
const MAX_NAME_BYTES: usize = 64;

/// Traffic of all ports in the last samples. A port without traffic data has a gap in a sample.
///
/// A sample never changes, so a clone of the history, which the screen keeps, shares all samples.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// Slots of the ports of each host. The hosts have the order of the reports.
    hosts: Arc<Vec<Vec<Slot>>>,
    /// Samples, the latest last.
    samples: VecDeque<Arc<SampleTraffic>>,
    /// Number of samples so far, including samples that are no longer kept.
    sample_count: u64,
}

/// Port, or removed port, of a host.
#[derive(Debug, Clone)]
struct Slot {
    device: String,
    port: u32,
    unit: Unit,
    /// Number of the first sample that counts this port in this unit.
    since: u64,
}

/// Traffic of all ports in one sample.
#[derive(Debug, Default)]
struct SampleTraffic {
    /// Index in `ports` of the first slot of each host.
    starts: Vec<usize>,
    ports: Vec<PortTraffic>,
}

/// Traffic of one port, in one unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Track<'history> {
    history: &'history History,
    host: usize,
    slot: usize,
    since: u64,
    pub(super) unit: Unit,
}

/// Unit of the traffic of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Thousands of bits per second.
    Kilobits,
    /// Packets per second, if the driver counts no bytes.
    Packets,
}

/// Traffic that a port received and sent in one sample, in the [`Unit`] of its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PortTraffic {
    rx: u32,
    tx: u32,
}

impl PortTraffic {
    /// Unknown amount. An `Option` would double the size, and a cluster may have 10,000 ports.
    const UNKNOWN: u32 = u32::MAX;
    const GAP: Self = Self { rx: Self::UNKNOWN, tx: Self::UNKNOWN };

    /// Returns the bits, or the packets if the bits are unknown, and their unit.
    fn of(traffic: &Traffic) -> (Self, Unit) {
        let kilobits = |bps: Option<u64>| bps.map(|bps| bps.div_ceil(1_000));
        let bits = [traffic.rx_bps, traffic.tx_bps].map(kilobits);
        // `PerSecond` counts thousandths.
        let packets = [traffic.rx_packets, traffic.tx_packets]
            .map(|rate| rate.map(|rate| rate.0.div_ceil(1_000)));
        let unit = if bits.iter().any(Option::is_some) { Unit::Kilobits } else { Unit::Packets };
        let amounts = if unit == Unit::Kilobits { bits } else { packets };
        let [rx, tx] = amounts.map(|amount| {
            let most = u64::from(Self::UNKNOWN - 1);
            amount.map_or(Self::UNKNOWN, |amount| u32::try_from(amount.min(most)).unwrap_or(0))
        });
        (Self { rx, tx }, unit)
    }

    pub(super) fn rx(self) -> Option<u64> {
        (self.rx != Self::UNKNOWN).then_some(self.rx.into())
    }

    pub(super) fn tx(self) -> Option<u64> {
        (self.tx != Self::UNKNOWN).then_some(self.tx.into())
    }
}

impl SampleTraffic {
    /// Returns the traffic of a slot; a gap if the sample does not have the slot.
    fn port(&self, host: usize, slot: usize) -> PortTraffic {
        let begin = self.starts.get(host).copied();
        let end = self.starts.get(host + 1).copied().unwrap_or(self.ports.len());
        let of_host = begin.and_then(|begin| self.ports.get(begin..end));
        of_host.and_then(|ports| ports.get(slot)).copied().unwrap_or(PortTraffic::GAP)
    }
}

impl<'history> Track<'history> {
    /// Returns the traffic in the last `count` samples, the latest last.
    pub(super) fn last(self, count: usize) -> impl Iterator<Item = PortTraffic> + 'history {
        let samples = &self.history.samples;
        let before = self.since.saturating_sub(self.history.oldest_sample());
        let before = usize::try_from(before).unwrap_or(usize::MAX);
        let skipped = before.max(samples.len().saturating_sub(count));
        samples.iter().skip(skipped).map(move |sample| sample.port(self.host, self.slot))
    }
}

impl History {
    /// Adds a sample. `traffic` holds the ports of each host, in the order of the host's report.
    pub(super) fn push(&mut self, sample: &Sample, traffic: &[Vec<Traffic>]) {
        if self.hosts.len() != sample.reports.len() {
            Arc::make_mut(&mut self.hosts).resize_with(sample.reports.len(), Vec::new);
        }
        let slots = self.hosts.iter().map(Vec::len).sum();
        let mut added = SampleTraffic {
            starts: Vec::with_capacity(sample.reports.len()),
            ports: Vec::with_capacity(slots),
        };
        let hosts = sample.reports.iter().zip(&sample.seen).zip(traffic);
        for (host, ((report, seen), traffic)) in hosts.enumerate() {
            // The report of an unresponsive host is an earlier report, not part of this sample.
            let has_responded = seen.failure.is_none();
            let ports = report.devices.iter().flat_map(|device| {
                device.ports.iter().map(move |port| (device.name.as_str(), port.number))
            });
            let ports: Vec<(&str, u32)> = ports.filter(|_| has_responded).take(MAX_PORTS).collect();
            let slots = self.assign_slots(host, &ports);
            let begin = added.ports.len();
            added.starts.push(begin);
            added.ports.resize(begin + self.hosts[host].len(), PortTraffic::GAP);
            for (slot, traffic) in slots.into_iter().zip(traffic) {
                let Some(slot) = slot else { continue };
                let (port, unit) = PortTraffic::of(traffic);
                if port != PortTraffic::GAP {
                    self.set_unit(unit, host, slot);
                }
                added.ports[begin + slot] = port;
            }
        }
        self.sample_count += 1;
        if self.samples.len() == KEPT_SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(Arc::new(added));
    }

    /// Returns the history of a port; `None` if no sample contains the port.
    pub(super) fn of(&self, host: usize, device: &str, port: u32) -> Option<Track<'_>> {
        let slots = self.hosts.get(host)?;
        let slot = slots.iter().position(|slot| slot.name() == (device, port))?;
        let Slot { unit, since, .. } = slots[slot];
        Some(Track { history: self, host, slot, since, unit })
    }

    /// Returns the number of the oldest sample that is kept.
    fn oldest_sample(&self) -> u64 {
        self.sample_count - self.samples.len() as u64
    }

    /// Changes the unit of a slot; samples in the old unit are not shown beside the new ones.
    fn set_unit(&mut self, unit: Unit, host: usize, slot: usize) {
        if self.hosts[host][slot].unit != unit {
            let slot = &mut Arc::make_mut(&mut self.hosts)[host][slot];
            (slot.unit, slot.since) = (unit, self.sample_count);
        }
    }

    /// Returns the slot of each port. A new port gets a free slot, or `None` if no slot is free.
    fn assign_slots(&mut self, host: usize, ports: &[(&str, u32)]) -> Vec<Option<usize>> {
        let slots = &self.hosts[host];
        // The order of the ports rarely changes, so the index is rarely needed.
        let mut index: Option<HashMap<(&str, u32), usize>> = None;
        let slot_of = |(nth, port): (usize, &(&str, u32))| {
            if slots.get(nth).is_some_and(|slot| slot.name() == *port) {
                return Some(nth);
            }
            let index = index.get_or_insert_with(|| {
                slots.iter().enumerate().map(|(at, slot)| (slot.name(), at)).collect()
            });
            index.get(port).copied()
        };
        let mut assigned: Vec<Option<usize>> = ports.iter().enumerate().map(slot_of).collect();
        let is_new =
            |slot: Option<usize>, device: &str| slot.is_none() && device.len() <= MAX_NAME_BYTES;
        if !assigned.iter().zip(ports).any(|(slot, (device, _))| is_new(*slot, device)) {
            return assigned;
        }
        let reusable = self.reusable_slots(host, &assigned);
        // The slots are shared with the screen; they are copied only if a new port gets a slot.
        if self.hosts[host].len() < MAX_PORTS || !reusable.is_empty() {
            let mut reusable = reusable.into_iter();
            let slots = &mut Arc::make_mut(&mut self.hosts)[host];
            let new = assigned.iter_mut().zip(ports);
            let new = new.filter(|(slot, (device, _))| is_new(**slot, device));
            for (place, (device, port)) in new {
                let (device, port, since) = ((*device).to_owned(), *port, self.sample_count);
                let slot = Slot { device, port, unit: Unit::Kilobits, since };
                if slots.len() < MAX_PORTS {
                    *place = Some(slots.len());
                    slots.push(slot);
                } else if let Some(at) = reusable.next() {
                    *place = Some(at);
                    slots[at] = slot;
                }
            }
        }
        assigned
    }

    /// Returns the slots that new ports can reuse: not `taken`, and with gaps only. No slot is
    /// reused while the host can have more slots.
    fn reusable_slots(&self, host: usize, taken: &[Option<usize>]) -> Vec<usize> {
        let slots = self.hosts[host].len();
        if slots < MAX_PORTS {
            return Vec::new();
        }
        let mut is_reusable = vec![true; slots];
        for slot in taken.iter().flatten() {
            is_reusable[*slot] = false;
        }
        for sample in &self.samples {
            for (slot, is_reusable) in is_reusable.iter_mut().enumerate() {
                *is_reusable &= sample.port(host, slot) == PortTraffic::GAP;
            }
        }
        (0..slots).filter(|slot| is_reusable[*slot]).collect()
    }
}

impl Slot {
    fn name(&self) -> (&str, u32) {
        (&self.device, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HostReport, PerSecond, Via};
    use crate::tui::LastResponse;

    /// Adds a sample of one host whose devices have one port each.
    fn push(history: &mut History, devices: &[(&str, Traffic)]) {
        let at = crate::clock::now();
        let mut report = HostReport::empty("n1", Via::Agent);
        let device = |(name, _): &(&str, Traffic)| {
            serde_json::from_value(serde_json::json!({ "name": name, "ports": [{ "number": 1 }] }))
                .unwrap()
        };
        report.devices = devices.iter().map(device).collect();
        let sample = Sample {
            at,
            taken_ns: 0,
            reports: vec![report],
            seen: vec![LastResponse { answered: Some(at), failure: None }],
            connections: vec![Vec::new()],
        };
        history.push(&sample, &[devices.iter().map(|(_, traffic)| *traffic).collect()]);
    }

    fn bits(rx_bps: u64) -> Traffic {
        Traffic { rx_bps: Some(rx_bps), ..Traffic::default() }
    }

    fn rx(history: &History, device: &str) -> Vec<Option<u64>> {
        history.of(0, device, 1).unwrap().last(usize::MAX).map(PortTraffic::rx).collect()
    }

    #[test]
    fn unknown_traffic_is_not_zero_and_little_traffic_is_not_unknown() {
        let mut history = History::default();
        let traffic = Traffic { rx_bps: Some(1), tx_bps: Some(0), ..Traffic::default() };
        push(&mut history, &[("mlx5_0", traffic)]);
        push(&mut history, &[("mlx5_0", Traffic::default())]);
        push(&mut history, &[]);
        let track = history.of(0, "mlx5_0", 1).unwrap();
        let samples: Vec<_> = track.last(9).map(|one| (one.rx(), one.tx())).collect();
        assert_eq!(samples, [(Some(1), Some(0)), (None, None), (None, None)]);
        assert_eq!(track.last(1).count(), 1);
        assert!(history.of(0, "mlx5_0", 2).is_none() && history.of(1, "mlx5_0", 1).is_none());
    }

    #[test]
    fn packets_are_kept_without_bytes_and_never_mixed_with_bytes() {
        let mut history = History::default();
        let rate = Some(PerSecond(5_000));
        let packets = Traffic { rx_packets: rate, tx_packets: rate, ..Traffic::default() };
        push(&mut history, &[("rxe0", bits(7_000))]);
        push(&mut history, &[("rxe0", packets)]);
        push(&mut history, &[("rxe0", Traffic::default())]);
        assert_eq!(history.of(0, "rxe0", 1).unwrap().unit, Unit::Packets);
        assert_eq!(rx(&history, "rxe0"), [Some(5), None]);
        push(&mut history, &[("rxe0", bits(8_000))]);
        assert_eq!(rx(&history, "rxe0"), [Some(8)]);
    }

    #[test]
    fn a_port_that_comes_later_or_in_another_order_keeps_its_own_samples() {
        let mut history = History::default();
        push(&mut history, &[("b", bits(1_000))]);
        let shown = history.clone();
        push(&mut history, &[("a", bits(2_000)), ("b", bits(3_000))]);
        push(&mut history, &[("b", bits(4_000)), ("a", bits(5_000))]);
        assert_eq!(rx(&history, "a"), [Some(2), Some(5)]);
        assert_eq!(rx(&history, "b"), [Some(1), Some(3), Some(4)]);
        assert_eq!(rx(&shown, "b"), [Some(1)], "a clone does not change");
        assert!(Arc::ptr_eq(&shown.samples[0], &history.samples[0]));
    }

    #[test]
    fn history_of_a_host_that_renames_ports_is_limited() {
        let mut history = History::default();
        let mut push_devices = |names: std::ops::Range<usize>| {
            let names: Vec<String> = names.map(|at| format!("d{at}")).collect();
            let devices: Vec<_> = names.iter().map(|name| (name.as_str(), bits(1_000))).collect();
            push(&mut history, &devices);
        };
        for second in 0..4 {
            push_devices(second * 1_000..second * 1_000 + 600);
        }
        // The first ports keep their slots until their last sample is dropped.
        for _ in 4..KEPT_SAMPLES {
            push_devices(0..600);
        }
        push_devices(9_000..9_500);
        assert_eq!(history.hosts[0].len(), MAX_PORTS);
        assert_eq!(rx(&history, "d599").len(), KEPT_SAMPLES);
        assert!(history.of(0, "d9423", 1).is_none());
        push(&mut history, &[("d9423", bits(6_000))]);
        assert!(history.of(0, "d9423", 1).is_none());
        for _ in 0..3 {
            push(&mut history, &[]);
        }
        push(&mut history, &[("d9423", bits(6_000))]);
        assert_eq!(rx(&history, "d9423"), [Some(6)]);
        assert_eq!(history.hosts[0].len(), MAX_PORTS);
    }

    #[test]
    fn only_the_last_samples_are_kept() {
        let mut history = History::default();
        for kilobits in 0..500 {
            push(&mut history, &[("mlx5_0", bits(kilobits * 1_000))]);
        }
        let samples = rx(&history, "mlx5_0");
        assert_eq!((samples.len(), samples.last()), (KEPT_SAMPLES, Some(&Some(499))));
    }
}
