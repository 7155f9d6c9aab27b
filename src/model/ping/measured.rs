//! Measurements of a pair other than the latencies of RDMA and TCP.
//! `ping` fills them; `analyse` and `query` read them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Latency, Side};
use crate::model::GidValue;
use crate::model::probe::{
    Cause, DatagramCounts, MadPinged, MadRoute, StepError, Throughput, Traffic,
};

/// Measurements of a pair other than the latencies of RDMA and TCP.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Measured {
    /// Transport between the two hosts; `null` if it is unknown.
    pub transport: Option<PairTransport>,
    /// Reason why a test over TCP failed; `null` if all passed or none ran.
    pub tcp_failure: Option<TcpFailure>,
    /// Datagrams; `null` if the protocol has none (iWARP).
    pub datagrams: Option<Datagrams>,
    /// Throughput of a reliable connection.
    pub bandwidth: Option<Bandwidth>,
    /// Throughput of TCP over the same network interface.
    pub tcp_bandwidth: Option<Bandwidth>,
    /// Messages over an unreliable connection.
    pub unreliable: Option<Unreliable>,
    /// Packets of the reliable connection, as both ports counted them; `null` if the counts are
    /// unknown, or if other programs have queue pairs on a port that counts packets.
    pub packets: Option<Packets>,
    /// Management datagrams (MADs); `null` unless requested, and if the protocol has none.
    pub mad: Option<MadPings>,
}

/// Packets of a reliable connection that passed, as both ports counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Packets {
    /// Packets that the source sent; `null` if the port has no such counter.
    pub sent_to_target: Option<u64>,
    /// Packets from the source that the target did not receive.
    pub lost_to_target: Option<u64>,
    /// Packets that the target sent.
    pub sent_to_source: Option<u64>,
    /// Packets from the target that the source did not receive.
    pub lost_to_source: Option<u64>,
    /// Events at both ports that indicate lost packets: retransmissions, timeouts, packets out of
    /// sequence.
    pub retransmissions: u64,
}

impl Packets {
    /// Compares the counts of the source and of the target.
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

    /// Returns true if packets were lost. Retransmissions alone prove no loss: both copies of a
    /// late packet arrive.
    pub fn is_lossy(self) -> bool {
        let is_none_lost = |lost: Option<u64>| lost == Some(0);
        self.retransmissions > 0
            && !(is_none_lost(self.lost_to_target) && is_none_lost(self.lost_to_source))
    }
}

/// Packets that the ports of a pair received during a connection without a reply, by the packet
/// counters of the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Packets that the port of the source received.
    pub source: u64,
    /// Packets that the port of the target received.
    pub target: u64,
}

impl Received {
    /// Returns the counts of both ports; `None` if a port has no such counter.
    pub fn of(source: Traffic, target: Traffic) -> Option<Self> {
        Some(Self { source: source.received?, target: target.received? })
    }

    /// Returns the directions in which packets pass.
    pub fn passage(self) -> Passage {
        Passage::of(self.target > 0, self.source > 0)
    }
}

/// Failure of TCP between the two ports of a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpFailure {
    /// Host whose kernel refuses to send, or sends through another network interface; the path if
    /// no such reason is known.
    pub side: Side,
    /// Name of the errno at that host; `EAGAIN` if the host allows no further thread;
    /// `ECONNREFUSED` if an RST or ICMP error ended the connection; `EBADMSG` if a reply had other
    /// bytes than expected; `null` without a reply, or if packets leave through another network
    /// interface.
    pub error: Option<String>,
    /// Observation, in one sentence.
    pub detail: String,
}

impl TcpFailure {
    /// Returns the failure that the source observed, or the target if it could not listen. The
    /// source observes [`Cause::ThreadLimit`] of the target.
    pub fn of(seen: &StepError, observer: Side) -> Self {
        let (side, error) = match &seen.cause {
            Cause::Errno(name) => (observer, Some(name.clone())),
            Cause::NoRoute => (observer, None),
            Cause::ThreadLimit => (Side::Target, Some("EAGAIN".into())),
            Cause::Refused => (Side::Path, Some("ECONNREFUSED".into())),
            Cause::WrongBytes => (Side::Path, Some("EBADMSG".into())),
            _ => (Side::Path, None),
        };
        Self { side, error, detail: seen.detail.clone() }
    }

    /// Returns true for an error of routes or rules (`fib_props` of `net/ipv4/fib_semantics.c`).
    fn is_of_route(&self) -> bool {
        let routes = ["EACCES", "EHOSTUNREACH", "EINVAL", "ENETUNREACH"];
        self.error.as_deref().is_none_or(|name| routes.contains(&name))
    }

    /// Returns true if the path let no connection through.
    pub fn is_without_connection(&self) -> bool {
        self.side == Side::Path && self.error.as_deref() != Some("EBADMSG")
    }

    /// Returns true if the path or a route of a host fails; false for another failure of a host,
    /// for example if it has no free port number.
    pub fn is_of_path(&self) -> bool {
        self.side == Side::Path || self.is_of_route()
    }
}

json_words! {
    /// Transport between two hosts, derived from the results of RDMA and TCP.
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub enum PairTransport {
        /// RDMA passes.
        Rdma = "rdma",
        /// RDMA does not pass, TCP does. Applications fall back to TCP without notice.
        TcpFallback = "tcp-fallback",
        /// RDMA passes; TCP over the same network interface does not.
        RdmaOnly = "rdma-only",
        /// Neither RDMA nor TCP passes.
        Down = "down",
    }
    /// Returns the word of the transport, as JSON and tables show it.
    pub fn word(self);
}

impl PairTransport {
    /// Returns the transport by the protocols that passed; `tcp` is `None` if not tested.
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

/// Datagrams, which are not retransmitted: first up to three from each end, then round trips from
/// the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Datagrams {
    /// Requests that the source sent.
    pub sent: u32,
    /// Requests of the source with a reply.
    pub answered: u32,
    /// Requests of the source that the target received.
    pub heard_by_target: u32,
    /// Requests of the target that the source received.
    pub heard_by_source: u32,
    /// Round trips of the requests with a reply. They include the time to wake up the process.
    pub latency: Option<Latency>,
}

/// Requests and replies of management datagrams (MADs) of `ibping`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MadPings {
    /// Requests that the source sent.
    pub sent: u32,
    /// Requests that were answered.
    pub answered: u32,
    /// Host name in the first reply.
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
    /// Returns the counts that a source reports, with at most one reply per request.
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

/// Directions in which datagrams or packets pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// Both directions.
    Both,
    /// From the source to the target only.
    There,
    /// From the target to the source only.
    Back,
    /// No direction.
    Neither,
}

impl Passage {
    fn of(there: bool, back: bool) -> Self {
        match (there, back) {
            (true, true) => Self::Both,
            (true, false) => Self::There,
            (false, true) => Self::Back,
            (false, false) => Self::Neither,
        }
    }
}

impl Datagrams {
    /// Combines the counts of both ends.
    pub fn of(source: DatagramCounts, target: DatagramCounts) -> Self {
        Self {
            sent: source.sent,
            answered: source.answered,
            heard_by_target: target.heard,
            heard_by_source: source.heard,
            latency: source.trips.map(Into::into),
        }
    }

    /// Returns the directions in which datagrams pass.
    pub fn passage(&self) -> Passage {
        let there = self.answered > 0 || self.heard_by_target > 0;
        let back = self.answered > 0 || self.heard_by_source > 0;
        Passage::of(there, back)
    }
}

/// Throughput from source to target, of the payload that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bandwidth {
    /// Measured bytes.
    pub bytes: u64,
    /// Median of four intervals, in bits per second.
    pub median_bps: u64,
    /// Slowest interval, in bits per second.
    pub min_bps: u64,
    /// Standard deviation of the intervals, in bits per second.
    pub stddev_bps: u64,
    /// Median in thousandths of the data rate of the slower port; `null` if the rate is unknown.
    pub rate_permille: Option<u64>,
}

impl Bandwidth {
    /// Returns the throughput, also relative to the data rate of the slower port.
    pub fn of(seen: Throughput, rate_bps: Option<u64>) -> Self {
        let Throughput { bytes, median_bps, min_bps, stddev_bps } = seen;
        let permille = |rate: u64| (u128::from(median_bps) * 1_000).checked_div(rate.into());
        let rate_permille =
            rate_bps.and_then(permille).map(|part| u64::try_from(part).unwrap_or(u64::MAX));
        Self { bytes, median_bps, min_bps, stddev_bps, rate_permille }
    }
}

/// Result of checked messages over an unreliable connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unreliable {
    /// Every message got a reply. The value holds the round trips of small messages.
    Passed(Option<Latency>),
    /// The device or its driver has no unreliable connections, or `rdma_cm` makes the connection.
    NotApplicable,
    /// A message got no reply or a wrong reply; with the observation.
    Failed(String),
}

impl Unreliable {
    /// Returns the word of the result, as tables show it.
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
    fn passage_is_derived_from_the_counts_of_both_ends() {
        let counts = |answered, heard| DatagramCounts { sent: 3, answered, heard, trips: None };
        let passage = |source, target| Datagrams::of(source, target).passage();
        assert_eq!(passage(counts(1, 0), counts(0, 1)), Passage::Both);
        assert_eq!(passage(counts(0, 0), counts(0, 3)), Passage::There);
        assert_eq!(passage(counts(0, 3), counts(0, 0)), Passage::Back);
        assert_eq!(passage(counts(0, 0), counts(0, 0)), Passage::Neither);
        // Replies are lost, but each end receives requests: loss, not a one-way path.
        assert_eq!(passage(counts(0, 1), counts(0, 1)), Passage::Both);
    }

    #[test]
    fn passage_is_derived_from_the_packets_that_both_ports_received() {
        let traffic = |received| Traffic { received, ..Traffic::default() };
        let passage =
            |source, target| Received::of(traffic(source), traffic(target)).map(Received::passage);
        assert_eq!(passage(Some(0), Some(0)), Some(Passage::Neither));
        assert_eq!(passage(Some(0), Some(2)), Some(Passage::There));
        assert_eq!(passage(Some(1), Some(2)), Some(Passage::Both));
        assert_eq!(passage(None, Some(2)), None, "an adapter of the source without the counter");
    }

    #[test]
    fn replies_are_limited_to_the_number_of_requests() {
        let seen = MadPinged { sent: 3, answered: 9, ..MadPinged::default() };
        let route =
            MadRoute { lid: 7, gids: None, pkey_index: 0, service_level: 0, traffic_class: 0 };
        let pings = MadPings::of(seen, &route);
        assert_eq!((pings.sent, pings.answered, pings.lid), (3, 3, Some(7)));
    }

    #[test]
    fn tcp_failure_names_the_end_and_the_errno() {
        use crate::model::probe::Stage;

        let failure = |cause| TcpFailure::of(&StepError::new(Stage::Tcp, cause), Side::Source);
        let silent = failure(Cause::Timeout);
        assert_eq!((silent.side, silent.error.as_deref()), (Side::Path, None));
        assert!(silent.is_of_path() && silent.is_without_connection());
        let no_thread = failure(Cause::ThreadLimit);
        assert_eq!((no_thread.side, no_thread.error.as_deref()), (Side::Target, Some("EAGAIN")));
        assert!(!no_thread.is_of_path() && !no_thread.is_without_connection());
        let corrupted = failure(Cause::WrongBytes);
        assert_eq!((corrupted.side, corrupted.error.as_deref()), (Side::Path, Some("EBADMSG")));
        assert!(corrupted.is_of_path() && !corrupted.is_without_connection());
    }

    #[test]
    fn transport_without_a_tcp_result_is_unknown_and_not_down() {
        assert_eq!(PairTransport::of(false, None), None);
        assert_eq!(PairTransport::of(false, Some(false)), Some(PairTransport::Down));
        assert_eq!(PairTransport::of(true, None), Some(PairTransport::Rdma));
    }

    #[test]
    fn throughput_relative_to_an_unknown_rate_is_unknown() {
        let seen = Throughput { median_bps: 90, ..Throughput::default() };
        assert_eq!(Bandwidth::of(seen, Some(100)).rate_permille, Some(900));
        assert_eq!(Bandwidth::of(seen, Some(0)).rate_permille, None);
        assert_eq!(Bandwidth::of(seen, None).rate_permille, None);
    }
}
