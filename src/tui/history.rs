//! What went through each port in the last readings: for sparklines.

use std::collections::HashMap;

use super::Picture;
use crate::analyse::traffic::Traffic;

/// The samples of all ports. Every reading adds one to each, also where there is none to have.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// By host, in the order of the picture.
    hosts: Vec<Vec<Track>>,
}

/// How many readings are kept.
pub(super) const KEPT: usize = 120;

/// How many ports of a host are kept at most, those among them that are gone; how long a name of a device
/// may be, which the kernel cuts at 63 letters.
const MOST: usize = 1_024;
const LONGEST: usize = 64;

/// The samples of one port, the latest last.
#[derive(Debug, Clone)]
pub(super) struct Track {
    device: String,
    port: u32,
    /// What is counted.
    pub(super) unit: Unit,
    samples: std::collections::VecDeque<Sample>,
}

/// What the samples of a port count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Thousands of bits for each second.
    Kilobits,
    /// Packets for each second, where the driver counts no bytes.
    Packets,
}

/// What a port received and sent at one reading; `None` where nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    rx: u32,
    tx: u32,
}

impl Sample {
    /// No amount is as large: there may be ten thousand ports, so that none spends a word on it.
    const NONE: u32 = u32::MAX;
    const GAP: Self = Self { rx: Self::NONE, tx: Self::NONE };

    /// What came in.
    pub(super) fn rx(self) -> Option<u64> {
        (self.rx != Self::NONE).then_some(self.rx.into())
    }

    /// What went out.
    pub(super) fn tx(self) -> Option<u64> {
        (self.tx != Self::NONE).then_some(self.tx.into())
    }
}

impl Track {
    /// The last samples, at most so many, the latest last.
    pub(super) fn last(&self, count: usize) -> impl Iterator<Item = Sample> + '_ {
        self.samples.iter().skip(self.samples.len().saturating_sub(count)).copied()
    }

    fn push(&mut self, traffic: &Traffic) {
        let kilobits = |bps: Option<u64>| bps.map(|bps| bps.div_ceil(1_000));
        let bits = [traffic.rx_bps, traffic.tx_bps].map(kilobits);
        let packets = [traffic.rx_packets, traffic.tx_packets]
            .map(|rate| rate.map(|rate| rate.0.div_ceil(1_000)));
        let unit = if bits.iter().any(Option::is_some) { Unit::Kilobits } else { Unit::Packets };
        let amounts = if unit == Unit::Kilobits { bits } else { packets };
        // Samples of another unit have no place beside these.
        if unit != self.unit && amounts.iter().any(Option::is_some) {
            self.samples.clear();
            self.unit = unit;
        }
        let [rx, tx] = amounts.map(|amount| {
            let most = u64::from(Sample::NONE - 1);
            amount.map_or(Sample::NONE, |amount| u32::try_from(amount.min(most)).unwrap_or(0))
        });
        self.add(Sample { rx, tx });
    }

    fn add(&mut self, sample: Sample) {
        if self.samples.len() == KEPT {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    fn is_empty(&self) -> bool {
        self.samples.iter().all(|sample| *sample == Sample::GAP)
    }
}

impl History {
    /// Adds a reading; `traffic` has the ports of each host in the order of its report.
    pub(super) fn push(&mut self, picture: &Picture, traffic: &[Vec<Traffic>]) {
        self.hosts.resize_with(picture.reports.len(), Vec::new);
        let hosts = self.hosts.iter_mut().zip(&picture.reports).zip(&picture.seen).zip(traffic);
        for (((tracks, report), seen), traffic) in hosts {
            // What a silent host said last says nothing of the present.
            let is_there = seen.failure.is_none();
            let ports = report.devices.iter().flat_map(|device| {
                device.ports.iter().map(move |port| (device.name.as_str(), port.number))
            });
            let ports: Vec<(&str, u32)> = ports.filter(|_| is_there).take(MOST).collect();
            let mut has_sample = vec![false; tracks.len()];
            let places = places(tracks, &ports);
            for (((device, port), traffic), place) in ports.into_iter().zip(traffic).zip(places) {
                if let Some(track) = place.and_then(|at| tracks.get_mut(at)) {
                    track.push(traffic);
                } else if tracks.len() < MOST && device.len() <= LONGEST {
                    let mut track = Track::new(device, port);
                    track.push(traffic);
                    tracks.push(track);
                }
                if let Some(has_sample) = place.and_then(|at| has_sample.get_mut(at)) {
                    *has_sample = true;
                }
            }
            for (track, _) in tracks.iter_mut().zip(has_sample).filter(|(_, has)| !has) {
                track.add(Sample::GAP);
            }
            tracks.retain(|track| track.samples.len() < KEPT || !track.is_empty());
        }
    }

    /// The samples of a port.
    pub(super) fn of(&self, host: usize, device: &str, port: u32) -> Option<&Track> {
        let is_it = |track: &&Track| track.port == port && track.device == device;
        self.hosts.get(host)?.iter().find(is_it)
    }
}

/// Where the tracks of ports stand: nearly always in the same order.
fn places(tracks: &[Track], ports: &[(&str, u32)]) -> Vec<Option<usize>> {
    let mut index: Option<HashMap<(&str, u32), usize>> = None;
    let place = |(nth, port): (usize, &(&str, u32))| {
        if tracks.get(nth).is_some_and(|track| track.name() == *port) {
            return Some(nth);
        }
        let index = index.get_or_insert_with(|| {
            tracks.iter().enumerate().map(|(at, track)| (track.name(), at)).collect()
        });
        index.get(port).copied()
    };
    ports.iter().enumerate().map(place).collect()
}

impl Track {
    fn name(&self) -> (&str, u32) {
        (&self.device, self.port)
    }

    fn new(device: &str, port: u32) -> Self {
        let samples = std::collections::VecDeque::with_capacity(KEPT);
        Self { device: device.to_owned(), port, unit: Unit::Kilobits, samples }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HostReport, PerSecond, Via};
    use crate::tui::Seen;

    #[test]
    fn a_missing_sample_is_no_zero_and_a_small_one_no_nothing() {
        let mut track = Track::new("mlx5_0", 1);
        track.push(&Traffic { rx_bps: Some(1), tx_bps: Some(0), ..Traffic::default() });
        track.push(&Traffic::default());
        let samples: Vec<_> = track.last(9).map(|one| (one.rx(), one.tx())).collect();
        assert_eq!(samples, [(Some(1), Some(0)), (None, None)]);
    }

    #[test]
    fn where_no_bytes_are_counted_packets_are_kept() {
        let mut track = Track::new("rxe0", 1);
        let rate = Some(PerSecond(5_000));
        track.push(&Traffic { rx_packets: rate, tx_packets: rate, ..Traffic::default() });
        assert_eq!(track.unit, Unit::Packets);
        assert_eq!(track.last(1).next().and_then(Sample::rx), Some(5));
    }

    #[test]
    fn a_host_that_calls_its_ports_anew_each_time_fills_nothing() {
        let begin = crate::clock::now();
        let mut history = History::default();
        for second in 0..4_u64 {
            let device = |at: u64| {
                let name = format!("d{}", second * 1_000 + at);
                let json = serde_json::json!({ "name": name, "ports": [{ "number": 1 }] });
                serde_json::from_value(json).unwrap()
            };
            let mut report = HostReport::empty("n1", Via::Agent);
            report.devices = (0..600).map(device).collect();
            let traffic = vec![vec![Traffic { rx_bps: Some(1), ..Traffic::default() }; 600]];
            let picture = Picture {
                at: begin,
                taken_ns: second,
                reports: vec![report],
                seen: vec![Seen { answered: Some(begin), failure: None }],
                connections: vec![Vec::new()],
            };
            history.push(&picture, &traffic);
        }
        assert_eq!(history.hosts[0].len(), MOST);
        assert_eq!(history.of(0, "d599", 1).unwrap().last(9).count(), 4);
    }

    #[test]
    fn only_so_many_samples_are_kept() {
        let mut track = Track::new("mlx5_0", 1);
        for bps in 0..500_000 {
            if bps % 1_000 == 0 {
                track.push(&Traffic { rx_bps: Some(bps), ..Traffic::default() });
            }
        }
        assert_eq!(track.last(1_000).count(), KEPT);
        assert_eq!(track.last(1).next().and_then(Sample::rx), Some(499));
    }
}
