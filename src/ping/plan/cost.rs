//! What a plan costs: about how long it takes, and the bytes that pass through the operator.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;

use super::Plan;
use crate::model::GidValue;
use crate::model::probe::{
    Act, Connecting, Meeting, Met, Method, Opened, Opening, Probing, Purpose, Role, RoundTrips,
    Step, StepResult, TcpProbing,
};
use crate::wire::{FromAgent, ToAgent, ToWorker, WorkerReply};

/// How the ends of a connection learn of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The operator relays both ends' answers, pair by pair: what this program does.
    Relay,
    /// Each host gets a record of every other host's port once, and pairs agree between themselves.
    Roster,
}

/// What a plan costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// From the agents' hello to the last answer.
    pub time: Duration,
    /// Bytes of messages between the operator and the agents, as SSH gets them.
    pub relay_bytes: u64,
    /// The same if each host had a roster of all.
    pub roster_bytes: u64,
}

impl Estimate {
    /// The bytes of a way.
    #[must_use]
    pub fn bytes(&self, way: Way) -> u64 {
        match way {
            Way::Relay => self.relay_bytes,
            Way::Roster => self.roster_bytes,
        }
    }
}

/// The answers that are waited for one after the other: open, TCP, connect, probe, stop, close.
const ANSWERS: u32 = 6;

/// How long an answer takes in a machine room: the way there and back through SSH, two processes that wake
/// up, and what they do; opening a device takes longer and TCP, too.
const ANSWER: Duration = Duration::from_millis(3);

/// A round trip between two hosts, at the most that hardware takes: the slot bounds it for others.
const ROUND_TRIP: Duration = Duration::from_micros(10);

/// What the operator's processor has to do for an ordered pair: twenty-four frames, each encrypted.
const PROCESSOR: Duration = Duration::from_micros(500);

/// Host, rail, link, addresses, numbers and nonce of one port.
const ROSTER_RECORD: u64 = 64;

impl Plan {
    /// What the plan costs on so many rails, where a measurement makes so many round trips and takes no
    /// longer than its slot.
    #[must_use]
    pub fn estimate(&self, rails: usize, round_trips: u32, slot: Duration) -> Estimate {
        let rails = rails as u64;
        let pair = ordered_pair(round_trips, slot);
        let in_turn = self.in_turn();
        let pairs = self.count() * rails;
        let measuring = pair.saturating_mul(saturate(in_turn as u64 * rails));
        let talking = PROCESSOR.saturating_mul(saturate(pairs));
        let hosts = self.pairs().hosts() as u64;
        Estimate {
            time: measuring.max(talking),
            relay_bytes: pairs.saturating_mul(relayed()),
            roster_bytes: hosts.saturating_mul(hosts).saturating_mul(rails * ROSTER_RECORD),
        }
    }

    /// How many rounds may begin within a time, by the same estimate.
    #[must_use]
    pub fn rounds_within(
        &self,
        time: Duration,
        rails: usize,
        round_trips: u32,
        slot: Duration,
    ) -> usize {
        let pair = ordered_pair(round_trips, slot);
        let mut left = time;
        for round in 0..self.rounds() {
            if left.is_zero() {
                return round;
            }
            let turns = self.round(round);
            let in_turn =
                turns.iter().map(|turn| turn.ordered().count()).max().unwrap_or(0) * rails;
            let pairs = turns.iter().map(|turn| turn.ordered().count()).sum::<usize>() * rails;
            let measuring = pair.saturating_mul(saturate(in_turn as u64));
            let talking = PROCESSOR.saturating_mul(saturate(pairs as u64));
            left = left.saturating_sub(measuring.max(talking));
        }
        self.rounds()
    }
}

fn saturate(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn ordered_pair(round_trips: u32, slot: Duration) -> Duration {
    ANSWER * ANSWERS + slot.min(ROUND_TRIP.saturating_mul(round_trips))
}

/// The bytes of all messages of one ordered pair, of usual names and numbers, with their frames.
fn relayed() -> u64 {
    /// The length before each frame.
    const PREFIX: usize = 4;
    let (id, connection) = (1_000_000, 1_000_000);
    let length = |frame: serde_json::Result<Vec<u8>>| frame.map_or(0, |text| text.len() + PREFIX);
    let message = |(act, answer): (Act, Option<StepResult>)| {
        let ask = ToAgent::Worker(Box::new(ToWorker { id, step: Step { connection, act } }));
        let answer = answer.map(|result| FromAgent::Worker(WorkerReply { id, result: Ok(result) }));
        length(serde_json::to_vec(&ask)) + answer.map_or(0, |it| length(serde_json::to_vec(&it)))
    };
    talk(connection).into_iter().map(message).sum::<usize>() as u64
}

/// What is told of a thousand round trips.
const TRIPS: RoundTrips = RoundTrips {
    count: 1_000,
    warm_up: 64,
    min_ns: 3_000,
    p50_ns: 3_000,
    p90_ns: Some(3_500),
    p99_ns: Some(4_000),
    p99_9_ns: None,
    max_ns: 90_000,
    mean_ns: 3_000,
    stddev_ns: 1_000,
};

fn meet(connection: u32, gid: GidValue) -> Act {
    Act::Meet(Meeting {
        nonce: u64::MAX / 2,
        connection,
        queue_pair: 1_000_000,
        lid: 0,
        gid,
        rounds: 16,
        slot_ms: 50,
        reply_ms: 1_000,
    })
}

/// What is said of one ordered pair, each with its answer.
fn talk(connection: u32) -> Vec<(Act, Option<StepResult>)> {
    let gid = GidValue(Ipv4Addr::new(10, 100, 200, 100).to_ipv6_mapped());
    let address = SocketAddr::V6(SocketAddrV6::new(gid.0, 40_000, 0, 0));
    let open = |role| {
        Act::Open(Opening {
            device: "mlx5_10".into(),
            port: 1,
            gid_index: 3,
            gid,
            pkey_index: 0,
            service_level: 0,
            traffic_class: 0,
            tcp_address: Some(address),
            netdev: Some("ens1f0np0".into()),
            method: Method::Relay,
            purpose: Purpose::Messages,
            qkey: Some(u32::MAX / 2),
            tcp_stream: false,
            role,
        })
    };
    let remote = Opened {
        queue_pair: 1_000_000,
        psn: 10_000_000,
        lid: 0,
        mtu: 4_096,
        cm_address: None,
        tcp_address: Some(address),
        tcp_stream_address: None,
        datagrams: Some(Ok(1_000_000)),
    };
    let opened = || Some(StepResult::Opened(remote.clone()));
    let (mtu, ack_timeout, retries, deadline_ms) = (4_096, 14, 3, 2_500);
    let connect = || {
        let (remote, remote_gid) = (remote.clone(), gid);
        Act::Connect(Connecting { remote, remote_gid, mtu, ack_timeout, retries, deadline_ms })
    };
    let done = || Some(StepResult::Connected);
    let seen = Met { sent: 17, answered: 17, heard: 17, trips: Some(TRIPS) };
    let met_answer = || Some(StepResult::Met(seen));
    let tcp = Act::Tcp(TcpProbing { remote: address, rounds: 100, slot_ms: 100 });
    let probe = Act::Probe(Probing {
        nonce: u64::MAX / 2,
        sizes: vec![64, mtu, 4 * mtu],
        checks: 4,
        latency_bytes: 64,
        rounds: 1_000,
        slot_ms: 300,
        reply_ms: 1_000,
    });
    vec![
        (open(Role::Source), opened()),
        (open(Role::Target), opened()),
        (tcp, Some(StepResult::Tcp(TRIPS))),
        (meet(connection, gid), met_answer()),
        (meet(connection, gid), met_answer()),
        (Act::Stop, None),
        (connect(), done()),
        (connect(), done()),
        (Act::Serve, Some(StepResult::Served { messages: 1_000 })),
        (probe, Some(StepResult::Probed(Some(TRIPS)))),
        (Act::Stop, None),
        (Act::Close, done()),
        (Act::Close, done()),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::{Choice, Pairs};
    use super::*;

    #[test]
    fn a_pair_costs_a_few_kilobytes() {
        assert!((1_500..6_000).contains(&relayed()), "{}", relayed());
    }

    #[test]
    fn ten_thousand_hosts_have_a_plan_and_its_price() {
        let choice = Choice { peers: Some(16), seed: 1, ..Choice::default() };
        let plan = Plan::new(Pairs::all(10_000), choice, None).unwrap();
        let estimate = plan.estimate(8, 1_000, Duration::from_millis(300));
        assert_eq!(plan.count(), 160_000);
        assert_eq!(estimate.bytes(Way::Relay), 160_000 * 8 * relayed());
        assert_eq!(estimate.bytes(Way::Roster), 10_000 * 10_000 * 8 * 64);
        // 1.28 million pairs keep the operator busy for longer than 16 rounds take.
        assert_eq!(estimate.time, Duration::from_secs(640));
    }

    #[test]
    fn as_many_rounds_are_begun_as_there_is_time_for() {
        let plan = Plan::new(Pairs::all(16), Choice::default(), None).unwrap();
        let within =
            |ms| plan.rounds_within(Duration::from_millis(ms), 1, 1_000, Duration::from_secs(1));
        // A round takes 2 x 28 ms.
        assert_eq!(
            [within(0), within(1), within(56), within(57), within(999_999)],
            [0, 1, 1, 2, 15]
        );
    }
}
