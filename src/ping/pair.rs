//! One ordered pair, from open to closed: what each end answered to each step.

use std::time::Duration;

use super::choose;
use super::node::Node;
use crate::model::ping::{EndEvidence, Evidence, Life, Route};
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
        self.connect(here, there, mtu)?;
        self.probe(mtu)
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
                method: self.route.method,
                role,
            })
        };
        let (source, target) = (opening(Role::Source), opening(Role::Target));
        match self.both(source, target, Stage::Open, OPEN)? {
            (StepResult::Opened(here), StepResult::Opened(there)) => Some((here, there)),
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

    fn connect(&mut self, here: Opened, there: Opened, mtu: u32) -> Option<()> {
        let deadline_ms = ms(CONNECT);
        let act =
            |remote, remote_gid| Act::Connect(Connecting { remote, remote_gid, mtu, deadline_ms });
        let source = act(there, self.route.target.gid);
        let target = act(here, self.route.source.gid);
        let wait = CONNECT + Duration::from_secs(1);
        self.both(source, target, Stage::Connect, wait).map(drop)
    }

    fn probe(&mut self, mtu: u32) -> Option<()> {
        let serving = self.target.start(self.step(Act::Serve));
        let ask = Probing {
            nonce: self.effort.nonce,
            sizes: vec![SMALL, mtu, 4 * mtu],
            checks: CHECKS,
            latency_bytes: self.effort.latency_bytes,
            rounds: self.effort.rounds,
            slot_ms: ms(self.effort.slot),
            reply_ms: ms(self.effort.reply),
        };
        // Twice the answer's limit for a failure, and two seconds for all that goes well.
        let wait = self.effort.slot + 2 * self.effort.reply + Duration::from_secs(2);
        let probed = self.source.ask(self.step(Act::Probe(ask)), wait);
        self.target.tell(self.step(Act::Stop));
        let served = self.target.finish(serving, crate::clock::Deadline::after(STOP));
        match probed {
            Some(Ok(StepResult::Probed(trips))) => self.seen.rdma = Some(trips),
            Some(Err(error)) => self.seen.source = Some(error),
            None => self.seen.source = Some(late(Stage::FirstMessage)),
            Some(Ok(_)) => return self.confused(Stage::FirstMessage),
        }
        match served {
            Some(Ok(StepResult::Served { .. })) => {}
            Some(Err(error)) => self.seen.target = Some(error),
            None => self.seen.target = Some(late(Stage::FirstMessage)),
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
                *seen = Some(late(stage));
                None
            }
        };
        let here = keep(here, &mut self.seen.source);
        let there = keep(there, &mut self.seen.target);
        here.zip(there)
    }

    fn confused<T>(&mut self, stage: Stage) -> Option<T> {
        self.seen.source = Some(StepError {
            stage,
            cause: Cause::Order,
            detail: "an agent answered another question than the one asked".into(),
            fix: None,
            size: None,
        });
        None
    }

    fn step(&self, act: Act) -> Step {
        Step { connection: self.connection, act }
    }
}

fn late(stage: Stage) -> StepError {
    StepError {
        stage,
        cause: Cause::Timeout,
        detail: "the worker did not end the step in time".into(),
        fix: None,
        size: None,
    }
}

fn ms(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
