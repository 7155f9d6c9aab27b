//! Traffic of each port in the last samples, for sparklines.
//!
//! `snapshot` adds a sample each; `draw` reads a [`Track`].

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::Sample;
use crate::analyse::traffic::Traffic;

pub(super) const KEPT_SAMPLES: usize = 120;

/// Maximum of ports of one host, including removed ports.
const MAX: usize = 1_024;
/// Maximum length of a device name. The kernel limits it to 63 bytes.
const LONGEST: usize = 64;

/// Samples of all ports. Every reading adds one sample to each port, or a gap. A reading never
/// changes: a clone, which the screen keeps, shares all readings.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// Slots by host, in the order of the report.
    hosts: Arc<Vec<Vec<Slot>>>,
    /// Readings, the latest last.
    readings: VecDeque<Arc<SampleTraffic>>,
    count: u64,
}

#[derive(Debug, Clone)]
struct Slot {
    device: String,
    port: u32,
    unit: Unit,
    /// Number of the first reading that counts this port in this unit.
    since: u64,
}

#[derive(Debug, Default)]
struct SampleTraffic {
    /// Index of the first sample of each host.
    starts: Vec<usize>,
    samples: Vec<PortTraffic>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Track<'history> {
    history: &'history History,
    host: usize,
    slot: usize,
    since: u64,
    pub(super) unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Thousands of bits per second.
    Kilobits,
    /// Packets per second, if the driver counts no bytes.
    Packets,
}

/// Traffic that a port received and sent in one reading; `None` if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PortTraffic {
    rx: u32,
    tx: u32,
}

impl PortTraffic {
    /// Unknown amount. An `Option` would double the size, and a cluster may have 10,000 ports.
    const NONE: u32 = u32::MAX;
    const GAP: Self = Self { rx: Self::NONE, tx: Self::NONE };

    fn of(traffic: &Traffic) -> (Self, Unit) {
        let kilobits = |bps: Option<u64>| bps.map(|bps| bps.div_ceil(1_000));
        let bits = [traffic.rx_bps, traffic.tx_bps].map(kilobits);
        let packets = [traffic.rx_packets, traffic.tx_packets]
            .map(|rate| rate.map(|rate| rate.0.div_ceil(1_000)));
        let unit = if bits.iter().any(Option::is_some) { Unit::Kilobits } else { Unit::Packets };
        let amounts = if unit == Unit::Kilobits { bits } else { packets };
        let [rx, tx] = amounts.map(|amount| {
            let most = u64::from(Self::NONE - 1);
            amount.map_or(Self::NONE, |amount| u32::try_from(amount.min(most)).unwrap_or(0))
        });
        (Self { rx, tx }, unit)
    }

    pub(super) fn rx(self) -> Option<u64> {
        (self.rx != Self::NONE).then_some(self.rx.into())
    }

    pub(super) fn tx(self) -> Option<u64> {
        (self.tx != Self::NONE).then_some(self.tx.into())
    }
}

impl SampleTraffic {
    fn sample(&self, host: usize, slot: usize) -> PortTraffic {
        let begin = self.starts.get(host).copied();
        let end = self.starts.get(host + 1).copied().unwrap_or(self.samples.len());
        let of_host = begin.and_then(|begin| self.samples.get(begin..end));
        of_host.and_then(|samples| samples.get(slot)).copied().unwrap_or(PortTraffic::GAP)
    }
}

impl<'history> Track<'history> {
    /// Returns the last `count` samples, the latest last.
    pub(super) fn last(self, count: usize) -> impl Iterator<Item = PortTraffic> + 'history {
        let readings = &self.history.readings;
        let before = self.since.saturating_sub(self.history.oldest_reading());
        let before = usize::try_from(before).unwrap_or(usize::MAX);
        let skipped = before.max(readings.len().saturating_sub(count));
        readings.iter().skip(skipped).map(move |reading| reading.sample(self.host, self.slot))
    }
}

impl History {
    /// Adds a reading; `traffic` holds the ports of each host in the order of its report.
    pub(super) fn push(&mut self, sample: &Sample, traffic: &[Vec<Traffic>]) {
        if self.hosts.len() != sample.reports.len() {
            Arc::make_mut(&mut self.hosts).resize_with(sample.reports.len(), Vec::new);
        }
        let slots = self.hosts.iter().map(Vec::len).sum();
        let mut reading = SampleTraffic {
            starts: Vec::with_capacity(sample.reports.len()),
            samples: Vec::with_capacity(slots),
        };
        let hosts = sample.reports.iter().zip(&sample.seen).zip(traffic);
        for (host, ((report, seen), traffic)) in hosts.enumerate() {
            // The last report of an unresponsive host does not describe the present.
            let is_there = seen.failure.is_none();
            let ports = report.devices.iter().flat_map(|device| {
                device.ports.iter().map(move |port| (device.name.as_str(), port.number))
            });
            let ports: Vec<(&str, u32)> = ports.filter(|_| is_there).take(MAX).collect();
            let places = self.places(host, &ports);
            let begin = reading.samples.len();
            reading.starts.push(begin);
            reading.samples.resize(begin + self.hosts[host].len(), PortTraffic::GAP);
            for (place, traffic) in places.into_iter().zip(traffic) {
                let Some(place) = place else { continue };
                let (sample, unit) = PortTraffic::of(traffic);
                if sample != PortTraffic::GAP {
                    self.count_in(unit, host, place);
                }
                reading.samples[begin + place] = sample;
            }
        }
        self.count += 1;
        if self.readings.len() == KEPT_SAMPLES {
            self.readings.pop_front();
        }
        self.readings.push_back(Arc::new(reading));
    }

    pub(super) fn of(&self, host: usize, device: &str, port: u32) -> Option<Track<'_>> {
        let slots = self.hosts.get(host)?;
        let slot = slots.iter().position(|slot| slot.name() == (device, port))?;
        let Slot { unit, since, .. } = slots[slot];
        Some(Track { history: self, host, slot, since, unit })
    }

    fn oldest_reading(&self) -> u64 {
        self.count - self.readings.len() as u64
    }

    /// Changes the unit of a slot; samples in the old unit are not shown beside the new ones.
    fn count_in(&mut self, unit: Unit, host: usize, slot: usize) {
        if self.hosts[host][slot].unit != unit {
            let slot = &mut Arc::make_mut(&mut self.hosts)[host][slot];
            (slot.unit, slot.since) = (unit, self.count);
        }
    }

    /// Returns the slot of each port; a new port gets a free slot, if one is left.
    fn places(&mut self, host: usize, ports: &[(&str, u32)]) -> Vec<Option<usize>> {
        let slots = &self.hosts[host];
        // Ports nearly always come in the same order.
        let mut index: Option<HashMap<(&str, u32), usize>> = None;
        let place = |(nth, port): (usize, &(&str, u32))| {
            if slots.get(nth).is_some_and(|slot| slot.name() == *port) {
                return Some(nth);
            }
            let index = index.get_or_insert_with(|| {
                slots.iter().enumerate().map(|(at, slot)| (slot.name(), at)).collect()
            });
            index.get(port).copied()
        };
        let mut places: Vec<Option<usize>> = ports.iter().enumerate().map(place).collect();
        let is_new =
            |place: Option<usize>, device: &str| place.is_none() && device.len() <= LONGEST;
        if !places.iter().zip(ports).any(|(place, (device, _))| is_new(*place, device)) {
            return places;
        }
        let left = self.left(host, &places);
        // The slots are shared with the screen; they are copied only if a new port gets a slot.
        if self.hosts[host].len() < MAX || !left.is_empty() {
            let mut left = left.into_iter();
            let slots = &mut Arc::make_mut(&mut self.hosts)[host];
            let new = places.iter_mut().zip(ports);
            let new = new.filter(|(place, (device, _))| is_new(**place, device));
            for (place, (device, port)) in new {
                let (device, port, since) = ((*device).to_owned(), *port, self.count);
                let slot = Slot { device, port, unit: Unit::Kilobits, since };
                if slots.len() < MAX {
                    *place = Some(slots.len());
                    slots.push(slot);
                } else if let Some(at) = left.next() {
                    *place = Some(at);
                    slots[at] = slot;
                }
            }
        }
        places
    }

    /// Returns slots for reuse, if the host has no new ones: not `taken`, and without a sample.
    fn left(&self, host: usize, taken: &[Option<usize>]) -> Vec<usize> {
        let slots = self.hosts[host].len();
        if slots < MAX {
            return Vec::new();
        }
        let mut is_left = vec![true; slots];
        for place in taken.iter().flatten() {
            is_left[*place] = false;
        }
        for reading in &self.readings {
            for (slot, is_left) in is_left.iter_mut().enumerate() {
                *is_left &= reading.sample(host, slot) == PortTraffic::GAP;
            }
        }
        (0..slots).filter(|slot| is_left[*slot]).collect()
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

    /// Adds the first ports of some devices of one host.
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
    fn a_missing_sample_is_no_zero_and_a_small_one_no_nothing() {
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
    fn where_no_bytes_are_counted_packets_are_kept_and_nothing_beside_them() {
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
        assert_eq!(rx(&shown, "b"), [Some(1)], "what is shown stays");
        assert!(Arc::ptr_eq(&shown.readings[0], &history.readings[0]));
    }

    #[test]
    fn history_of_a_host_that_renames_ports_is_limited() {
        let mut history = History::default();
        let mut say = |names: std::ops::Range<usize>| {
            let names: Vec<String> = names.map(|at| format!("d{at}")).collect();
            let devices: Vec<_> = names.iter().map(|name| (name.as_str(), bits(1_000))).collect();
            push(&mut history, &devices);
        };
        for second in 0..4 {
            say(second * 1_000..second * 1_000 + 600);
        }
        // The first ports keep their slots until their last sample is dropped.
        for _ in 4..KEPT_SAMPLES {
            say(0..600);
        }
        say(9_000..9_500);
        assert_eq!(history.hosts[0].len(), MAX);
        assert_eq!(rx(&history, "d599").len(), KEPT_SAMPLES);
        assert!(history.of(0, "d9423", 1).is_none());
        push(&mut history, &[("d9423", bits(6_000))]);
        assert!(history.of(0, "d9423", 1).is_none());
        for _ in 0..3 {
            push(&mut history, &[]);
        }
        push(&mut history, &[("d9423", bits(6_000))]);
        assert_eq!(rx(&history, "d9423"), [Some(6)]);
        assert_eq!(history.hosts[0].len(), MAX);
    }

    #[test]
    fn only_so_many_samples_are_kept() {
        let mut history = History::default();
        for kilobits in 0..500 {
            push(&mut history, &[("mlx5_0", bits(kilobits * 1_000))]);
        }
        let samples = rx(&history, "mlx5_0");
        assert_eq!((samples.len(), samples.last()), (KEPT_SAMPLES, Some(&Some(499))));
    }
}
