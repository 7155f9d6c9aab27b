//! One ordered pair, from open to closed: what each end answered to each step.

use std::time::Duration;

use super::choose;
use super::node::Node;
use crate::model::ping::{EndEvidence, Evidence, Life, Route, RoutePort};
use crate::model::probe::{
    Act, Cause, Connecting, Opened, Opening, Probing, Role, RoundTrips, Stage, Step, StepError,
    StepResult, TcpProbing,
};

/// How much is asked of each pair.
#[derive(Debug, Clone)]
pub struct Effort {
    /// Number of this run, in every message.
    pub nonce: u64,
    /// Round trips to measure.
    pub rounds: u32,
    /// The longest a latency measurement may take.
    pub slot: Duration,
    /// The longest wait for one answer.
    pub reply: Duration,
    /// Message size of the latency measurement, in bytes.
    pub latency_bytes: u32,
}

/// How often a packet is sent before the adapter gives up: once, and three times again.
const ATTEMPTS: u32 = 1 + super::end::RETRIES as u32;

/// Checked exchanges for each message size.
const CHECKS: u32 = 4;

/// The smallest message, in bytes.
const SMALL: u32 = 64;

/// TCP round trips, and the longest they may take.
const TCP_ROUNDS: u32 = 100;
const TCP_SLOT: Duration = Duration::from_millis(100);

/// Opening a device and making its objects.
const OPEN: Duration = Duration::from_secs(3);

/// RTR takes the kernel 1.04 s when the peer's address does not resolve; `rdma_cm` may resolve
/// address and route one after the other.
const CONNECT: Duration = Duration::from_millis(2_500);

/// The shortest acknowledge timeout, 4.096 us x 2^14 = 67 ms: with four attempts a dead peer is
/// known in 0.27 s.
const ACK_TIMEOUT: u8 = 14;

/// The longest, 4.096 us x 2^18 = 1.07 s.
const LONGEST_ACK_TIMEOUT: u8 = 18;

/// Beyond the steps' own limits: a request's late end, and the way of the answer.
const SPARE: Duration = Duration::from_secs(3);

/// Ending what runs.
const STOP: Duration = Duration::from_millis(1_500);

/// What a pair showed, and what could be told of its route on the way.
pub(super) struct Outcome {
    pub(super) evidence: Evidence,
    pub(super) mtu: Option<u32>,
}

/// Runs one ordered pair; connections of a run have different numbers.
pub(super) fn run(
    source: &dyn Node,
    target: &dyn Node,
    connection: u32,
    route: &Route,
    effort: &Effort,
) -> Outcome {
    let mut talk = Talk { source, target, connection, route, effort, seen: Seen::default() };
    talk.run();
    let step = |act| Step { connection, act };
    let Talk { seen, .. } = talk;
    let failed = seen.source.is_some() || seen.target.is_some() || seen.rdma.is_none();
    if failed {
        source.tell(step(Act::Close));
        target.tell(step(Act::Close));
    } else {
        // The next pair must not be measured while this one is still being destroyed.
        let closing = (source.start(step(Act::Close)), target.start(step(Act::Close)));
        let deadline = crate::clock::Deadline::after(STOP);
        let _ = (source.finish(closing.0, deadline), target.finish(closing.1, deadline));
    }
    // A host is blamed only after it had the chance to say that it lives.
    let life = |node: &dyn Node| if failed { node.life() } else { Life::Alive };
    Outcome {
        mtu: seen.mtu,
        evidence: Evidence {
            target: EndEvidence { life: life(target), failure: seen.target },
            source: EndEvidence { life: life(source), failure: seen.source },
            protocol: route.protocol,
            tcp: seen.tcp,
            rdma: seen.rdma,
        },
    }
}

#[derive(Default)]
struct Seen {
    source: Option<StepError>,
    target: Option<StepError>,
    tcp: Option<Result<RoundTrips, StepError>>,
    rdma: Option<RoundTrips>,
    mtu: Option<u32>,
}

struct Talk<'a> {
    source: &'a dyn Node,
    target: &'a dyn Node,
    connection: u32,
    route: &'a Route,
    effort: &'a Effort,
    seen: Seen,
}

impl Talk<'_> {
    /// Goes on until a step fails: what was seen by then is the evidence.
    fn run(&mut self) -> Option<()> {
        let (here, there) = self.open()?;
        self.compare_tcp(&there);
        let mtu = here.mtu.min(there.mtu);
        self.seen.mtu = Some(mtu);
        let ack_timeout = ack_timeout(self.seen.tcp.as_ref());
        self.connect(here, there, mtu, ack_timeout)?;
        self.probe(mtu, ack_timeout)
    }

    fn open(&mut self) -> Option<(Opened, Opened)> {
        let opening = |role| {
            let port = match role {
                Role::Source => &self.route.source,
                Role::Target => &self.route.target,
            };
            Act::Open(Opening {
                device: port.device.clone(),
                port: port.port,
                gid_index: port.gid_index,
                gid: port.gid,
                tcp_address: choose::tcp_address(port),
                netdev: port.netdev.clone(),
                method: self.route.method,
                role,
            })
        };
        let (source, target) = (opening(Role::Source), opening(Role::Target));
        match self.both(source, target, Stage::Open, OPEN)? {
            (StepResult::Opened(here), StepResult::Opened(there)) => {
                match believe(here, &self.route.source).zip(believe(there, &self.route.target)) {
                    Some(ends) => Some(ends),
                    None => self.confused(Stage::Open),
                }
            }
            _ => self.confused(Stage::Open),
        }
    }

    /// TCP is evidence, never a reason to stop; it also has the neighbours resolved.
    fn compare_tcp(&mut self, there: &Opened) {
        let Some(remote) = there.tcp_address else { return };
        let ask = TcpProbing { remote, rounds: TCP_ROUNDS, slot_ms: ms(TCP_SLOT) };
        let answer = self.source.ask(self.step(Act::Tcp(ask)), CONNECT);
        self.seen.tcp = match answer {
            Some(Ok(StepResult::Tcp(trips))) => Some(Ok(trips)),
            Some(Err(error)) => Some(Err(error)),
            Some(Ok(_)) | None => None,
        };
    }

    fn connect(&mut self, here: Opened, there: Opened, mtu: u32, ack_timeout: u8) -> Option<()> {
        let deadline_ms = ms(CONNECT);
        let act = |remote, remote_gid| {
            Act::Connect(Connecting { remote, remote_gid, mtu, ack_timeout, deadline_ms })
        };
        let source = act(there, self.route.target.gid);
        let target = act(here, self.route.source.gid);
        let wait = CONNECT + Duration::from_secs(1);
        self.both(source, target, Stage::Connect, wait).map(drop)
    }

    fn probe(&mut self, mtu: u32, ack_timeout: u8) -> Option<()> {
        let serving = self.target.start(self.step(Act::Serve));
        // An answer is late only when the adapters, too, have given up.
        let reply = self.effort.reply.max(ATTEMPTS * ack_time(ack_timeout));
        // Each of three sizes, and the measurement, may take its slot and then one answer.
        let wait = (self.effort.slot + reply) * 4 + SPARE;
        let ask = Probing {
            nonce: self.effort.nonce,
            sizes: vec![SMALL, mtu, 4 * mtu],
            checks: CHECKS,
            latency_bytes: self.effort.latency_bytes,
            rounds: self.effort.rounds,
            slot_ms: ms(self.effort.slot),
            reply_ms: ms(reply),
        };
        let probed = self.source.ask(self.step(Act::Probe(ask)), wait);
        self.target.tell(self.step(Act::Stop));
        let served = self.target.finish(serving, crate::clock::Deadline::after(STOP));
        match probed {
            Some(Ok(StepResult::Probed(trips))) => self.seen.rdma = Some(trips),
            Some(Err(error)) => self.seen.source = Some(error),
            None => self.seen.source = Some(stuck(Stage::FirstMessage)),
            Some(Ok(_)) => return self.confused(Stage::FirstMessage),
        }
        match served {
            Some(Ok(StepResult::Served { .. })) => {}
            Some(Err(error)) => self.seen.target = Some(error),
            None => self.seen.target = Some(stuck(Stage::FirstMessage)),
            Some(Ok(_)) => return self.confused(Stage::FirstMessage),
        }
        // An error at the end of an exchange that the source found good is none: the source
        // leaves first.
        if self.seen.rdma.is_some() {
            self.seen.target = None;
        }
        Some(())
    }

    /// The same step at both ends at once.
    fn both(
        &mut self,
        source: Act,
        target: Act,
        stage: Stage,
        wait: Duration,
    ) -> Option<(StepResult, StepResult)> {
        let there = self.target.start(self.step(target));
        let here = self.source.start(self.step(source));
        let deadline = crate::clock::Deadline::after(wait);
        let here = self.source.finish(here, deadline);
        let there = self.target.finish(there, deadline);
        let keep = |answer, seen: &mut Option<StepError>| match answer {
            Some(Ok(result)) => Some(result),
            Some(Err(error)) => {
                *seen = Some(error);
                None
            }
            None => {
                *seen = Some(stuck(stage));
                None
            }
        };
        let here = keep(here, &mut self.seen.source);
        let there = keep(there, &mut self.seen.target);
        here.zip(there)
    }

    fn confused<T>(&mut self, stage: Stage) -> Option<T> {
        self.seen.source = Some(StepError {
            detail: "an agent gave an answer that does not belong to the question".into(),
            ..StepError::new(stage, Cause::Order)
        });
        None
    }

    fn step(&self, act: Act) -> Step {
        Step { connection: self.connection, act }
    }
}

/// What an end says of itself, as far as it fits its inventory and the wire formats: a host must
/// not have another one connect wherever it likes.
fn believe(mut said: Opened, port: &RoutePort) -> Option<Opened> {
    let is_path_mtu = (256..=4096).contains(&said.mtu) && said.mtu.is_power_of_two();
    let fits = is_path_mtu && said.queue_pair <= 0xff_ffff && said.psn <= 0xff_ffff;
    let known = choose::tcp_address(port).map(|address| address.ip());
    for address in [&mut said.tcp_address, &mut said.cm_address] {
        *address = address.filter(|at| match known {
            Some(ip) => at.ip() == ip,
            None => !at.ip().is_loopback() && !at.ip().is_multicast() && !at.ip().is_unspecified(),
        });
    }
    fits.then_some(said)
}

/// The acknowledge timeout for a path on which TCP takes this long: a slow path is not a dead one.
fn ack_timeout(tcp: Option<&Result<RoundTrips, StepError>>) -> u8 {
    let round_trip = tcp.and_then(|tcp| tcp.as_ref().ok()).map_or(0, |trips| trips.p50_ns);
    let long_enough =
        |&exponent: &u8| ack_time(exponent).as_nanos() * 2 > u128::from(round_trip) * 3;
    (ACK_TIMEOUT..LONGEST_ACK_TIMEOUT).find(long_enough).unwrap_or(LONGEST_ACK_TIMEOUT)
}

/// IBA 9.7.6.1.3: 4.096 us times two to the power of the exponent.
fn ack_time(exponent: u8) -> Duration {
    Duration::from_nanos(4_096 << exponent)
}

/// A worker that lives and does not come back from a step.
fn stuck(stage: Stage) -> StepError {
    StepError {
        detail: "the worker did not come back from this step: a call hangs in the kernel there"
            .into(),
        ..StepError::new(stage, Cause::Stuck)
    }
}

fn ms(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_tcp_of(p50_ns: u64) -> u8 {
        let trips = RoundTrips { count: 1, min_ns: p50_ns, p50_ns, p99_ns: None, max_ns: p50_ns };
        ack_timeout(Some(&Ok(trips)))
    }

    #[test]
    fn a_slow_path_gets_a_longer_timeout_and_a_dead_one_the_shortest() {
        assert_eq!(ack_timeout(None), 14);
        let failed = Err(StepError::new(Stage::Tcp, Cause::Timeout));
        assert_eq!(ack_timeout(Some(&failed)), 14);
        assert_eq!(after_tcp_of(2_000_000), 14);
        assert_eq!(after_tcp_of(300_000_000), 17);
        assert_eq!(after_tcp_of(u64::MAX), 18);
    }

    fn port(gid: &str) -> RoutePort {
        RoutePort {
            device: "rxe0".into(),
            port: 1,
            gid_index: 1,
            gid: crate::model::GidValue(gid.parse().unwrap()),
            gid_kind: Some(crate::model::GidKind::RoceV2),
            netdev: None,
            driver: None,
        }
    }

    fn opened(mtu: u32, tcp: &str) -> Opened {
        let tcp_address = Some(tcp.parse().unwrap());
        Opened { queue_pair: 17, psn: 1, lid: 0, mtu, cm_address: None, tcp_address }
    }

    #[test]
    fn a_host_cannot_send_another_one_elsewhere() {
        let port = port("::ffff:10.1.0.1");
        let honest = believe(opened(1024, "10.1.0.1:4000"), &port).unwrap();
        assert!(honest.tcp_address.is_some());
        let hostile = believe(opened(1024, "127.0.0.1:22"), &port).unwrap();
        assert!(hostile.tcp_address.is_none());
        assert!(believe(opened(9000, "10.1.0.1:4000"), &port).is_none());
    }
}
