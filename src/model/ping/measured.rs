use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Latency;
use crate::model::GidValue;
use crate::model::probe::{MadPinged, MadRoute, Met, Throughput, Traffic};

/// What was measured of a pair besides the latencies of RDMA and TCP.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Measured {
    /// What carries data between the two hosts; `null` while that is not known.
    pub transport: Option<PairTransport>,
    /// What became of datagrams; `null` where there are none, as with iWARP.
    pub datagrams: Option<Datagrams>,
    /// What goes through a reliable connection.
    pub bandwidth: Option<Bandwidth>,
    /// What goes through TCP over the same interface.
    pub tcp_bandwidth: Option<Bandwidth>,
    /// What came of messages over an unreliable connection.
    pub unreliable: Option<Unreliable>,
    /// Packets of the reliable connection, as both ports counted them; `null` where that is not
    /// known.
    pub packets: Option<Packets>,
    /// Management datagrams (MADs); `null` unless requested, and where the protocol has none.
    pub mad: Option<MadPings>,
}

/// Packets of a reliable connection that passed, as both ports counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Packets {
    /// Packets that the source sent; `null` where a port counts the packets of other programs as
    /// well.
    pub sent_to_target: Option<u64>,
    /// Packets of these that the target did not receive.
    pub lost_to_target: Option<u64>,
    /// Packets that the target sent.
    pub sent_to_source: Option<u64>,
    /// Packets of these that the source did not receive.
    pub lost_to_source: Option<u64>,
    /// Events that tell of lost packets, at both ports: retransmissions, timeouts, packets out of
    /// sequence.
    pub retransmissions: u64,
}

impl Packets {
    /// Compares the counts of the source and of the target.
    #[must_use]
    pub fn of(source: Traffic, target: Traffic) -> Self {
        let lost = |sent: Option<u64>, received: Option<u64>| Some(sent?.saturating_sub(received?));
        Self {
            sent_to_target: source.sent,
            lost_to_target: lost(source.sent, target.received),
            sent_to_source: target.sent,
            lost_to_source: lost(target.sent, source.received),
            retransmissions: source.retransmissions.saturating_add(target.retransmissions),
        }
    }

    /// True if packets were lost. A late packet is retransmitted as well; it arrives twice.
    #[must_use]
    pub fn is_lossy(self) -> bool {
        let is_none_lost = |lost: Option<u64>| lost == Some(0);
        self.retransmissions > 0
            && !(is_none_lost(self.lost_to_target) && is_none_lost(self.lost_to_source))
    }
}

/// What carries data between two hosts, by what was seen of RDMA and of TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PairTransport {
    /// RDMA.
    Rdma,
    /// TCP, to which applications change over unnoticed: RDMA does not pass.
    TcpFallback,
    /// RDMA, and TCP over the same interface does not pass.
    RdmaOnly,
    /// Nothing.
    Down,
}

impl PairTransport {
    /// The transport's word, as JSON and tables show it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Rdma => "rdma",
            Self::TcpFallback => "tcp-fallback",
            Self::RdmaOnly => "rdma-only",
            Self::Down => "down",
        }
    }

    /// From whether RDMA passed, and whether TCP did, where that was tried.
    #[must_use]
    pub fn of(rdma: bool, tcp: Option<bool>) -> Option<Self> {
        match (rdma, tcp) {
            (true, Some(false)) => Some(Self::RdmaOnly),
            (true, _) => Some(Self::Rdma),
            (false, Some(true)) => Some(Self::TcpFallback),
            (false, Some(false)) => Some(Self::Down),
            (false, None) => None,
        }
    }
}

/// What became of datagrams, which nobody sends again for us: at first up to three from each end,
/// then round trips from the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Datagrams {
    /// What the source sent.
    pub sent: u32,
    /// How many of these were answered.
    pub answered: u32,
    /// How many of these the target heard.
    pub heard_by_target: u32,
    /// How many the source heard of those that the target sent of its own accord.
    pub heard_by_source: u32,
    /// Round trips of those that were answered. A process that must first wake up is in them.
    pub latency: Option<Latency>,
}

/// Requests and replies of management datagrams (MADs) of `ibping`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MadPings {
    /// Requests that the source sent.
    pub sent: u32,
    /// Requests that were answered.
    pub answered: u32,
    /// Name in the first reply.
    pub host: Option<String>,
    /// LID of the target; `null` on RoCE.
    pub lid: Option<u16>,
    /// GID of the source; `null` if a LID was enough.
    pub source_gid: Option<GidValue>,
    /// GID of the target; `null` if a LID was enough. It can differ from the GID of `route`.
    pub target_gid: Option<GidValue>,
    /// Round trips, including the kernel of both ends and the process of the target.
    pub latency: Option<Latency>,
}

impl MadPings {
    /// Takes the counts that a source reports. More answers than requests are not believed.
    #[must_use]
    pub fn of(seen: MadPinged, route: &MadRoute) -> Self {
        let MadPinged { sent, answered, host, refused: _, trips } = seen;
        let gids = route.gids.as_ref();
        Self {
            sent,
            answered: answered.min(sent),
            host,
            lid: gids.is_none().then_some(route.lid),
            source_gid: gids.map(|gids| gids.own),
            target_gid: gids.map(|gids| gids.peer),
            latency: trips.map(Into::into),
        }
    }
}

/// Which way datagrams pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// Both ways.
    Both,
    /// From the source to the target only.
    There,
    /// From the target to the source only.
    Back,
    /// Neither way.
    Neither,
}

impl Datagrams {
    /// From what both ends saw.
    #[must_use]
    pub fn of(source: Met, target: Met) -> Self {
        Self {
            sent: source.sent,
            answered: source.answered,
            heard_by_target: target.heard,
            heard_by_source: source.heard,
            latency: source.trips.map(Into::into),
        }
    }

    /// Which way they pass.
    #[must_use]
    pub fn passage(&self) -> Passage {
        let there = self.answered > 0 || self.heard_by_target > 0;
        let back = self.answered > 0 || self.heard_by_source > 0;
        match (there, back) {
            (true, true) => Passage::Both,
            (true, false) => Passage::There,
            (false, true) => Passage::Back,
            (false, false) => Passage::Neither,
        }
    }
}

/// How much goes through from source to target, in payload that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bandwidth {
    /// Bytes that were measured.
    pub bytes: u64,
    /// Median of four parts of the time, in bits per second.
    pub median_bps: u64,
    /// The slowest part.
    pub min_bps: u64,
    /// Standard deviation of the parts.
    pub stddev_bps: u64,
    /// The median in thousandths of the data rate of the slower port; `null` where that is not
    /// known.
    pub rate_permille: Option<u64>,
}

impl Bandwidth {
    /// From what was measured, and the data rate of the slower port.
    #[must_use]
    pub fn of(seen: Throughput, rate_bps: Option<u64>) -> Self {
        let Throughput { bytes, median_bps, min_bps, stddev_bps } = seen;
        let permille = |rate: u64| {
            let part = u128::from(median_bps) * 1_000 / u128::from(rate);
            u64::try_from(part).unwrap_or(u64::MAX)
        };
        let rate_permille = rate_bps.filter(|&rate| rate > 0).map(permille);
        Self { bytes, median_bps, min_bps, stddev_bps, rate_permille }
    }
}

/// What came of checked messages over an unreliable connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unreliable {
    /// Every message was answered; the round trips of small ones.
    Passed(Option<Latency>),
    /// The device or its driver has none, or the connection is made by `rdma_cm`.
    NotApplicable,
    /// They were not; what was seen.
    Failed(String),
}

impl Unreliable {
    /// A word for it, as tables show it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed(_) => "ok",
            Self::NotApplicable => "n/a",
            Self::Failed(_) => "failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_of_datagrams_is_told_from_both_ends() {
        let met = |answered, heard| Met { sent: 3, answered, heard, trips: None };
        let passage = |source, target| Datagrams::of(source, target).passage();
        assert_eq!(passage(met(1, 0), met(0, 1)), Passage::Both);
        assert_eq!(passage(met(0, 0), met(0, 3)), Passage::There);
        assert_eq!(passage(met(0, 3), met(0, 0)), Passage::Back);
        assert_eq!(passage(met(0, 0), met(0, 0)), Passage::Neither);
        // Answers get lost, but both hear the other: that is loss, and no one-way path.
        assert_eq!(passage(met(0, 1), met(0, 1)), Passage::Both);
    }

    #[test]
    fn there_are_no_more_answers_than_requests() {
        let seen = MadPinged { sent: 3, answered: 9, ..MadPinged::default() };
        let route =
            MadRoute { lid: 7, gids: None, pkey_index: 0, service_level: 0, traffic_class: 0 };
        let told = MadPings::of(seen, &route);
        assert_eq!((told.sent, told.answered, told.lid), (3, 3, Some(7)));
    }

    #[test]
    fn what_nobody_tried_is_not_called_down() {
        assert_eq!(PairTransport::of(false, None), None);
        assert_eq!(PairTransport::of(false, Some(false)), Some(PairTransport::Down));
        assert_eq!(PairTransport::of(true, None), Some(PairTransport::Rdma));
    }

    #[test]
    fn a_share_of_an_unknown_rate_is_unknown() {
        let seen = Throughput { median_bps: 90, ..Throughput::default() };
        assert_eq!(Bandwidth::of(seen, Some(100)).rate_permille, Some(900));
        assert_eq!(Bandwidth::of(seen, Some(0)).rate_permille, None);
        assert_eq!(Bandwidth::of(seen, None).rate_permille, None);
    }
}
