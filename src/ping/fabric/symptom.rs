//! Failures of simulated pairs, with the replies and errors that workers and agents report in a
//! real cluster. The simulated fabric uses them.

use crate::model::Protocol;
use crate::model::ping::{EndEvidence, Evidence, GidMatch, Life, Side};
use crate::model::probe::{Cause, RoundTrips, Stage, StepError};
use crate::ping::error::step_error;

/// Failure of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Symptom {
    /// Neither the agent nor SSH responds at one end.
    Dead(Side),
    /// SSH responds at one end, but the agent and the worker do not run.
    Hung(Side),
    /// The link of one end is down.
    LinkDown(Side),
    /// No packet is acknowledged, although TCP passes.
    Blocked,
    /// No packet of the largest size is acknowledged; small packets pass.
    DropsFull,
    /// One packet among many is not acknowledged.
    Lossy,
}

/// Sizes of the smallest and of the largest message of a probe, in bytes.
const SMALL: u32 = 64;
const FULL: u32 = 4_096;

impl Symptom {
    /// Returns the evidence of a pair without a failure: both hosts are alive, and TCP passes.
    /// `tcp_ns` is the median half round trip of TCP, in nanoseconds.
    pub fn none(tcp_ns: u64) -> Evidence {
        let p50_ns = 2 * tcp_ns;
        let tcp = RoundTrips {
            count: 100,
            min_ns: p50_ns - p50_ns / 10,
            p50_ns,
            max_ns: 2 * p50_ns,
            ..RoundTrips::default()
        };
        let alive = || EndEvidence { failure: None, life: Life::Alive };
        Evidence {
            gids: GidMatch::Global,
            source: alive(),
            target: alive(),
            protocol: Protocol::Roce,
            datagrams: None,
            wants_datagrams: false,
            received: None,
            unreliable: None,
            mad: None,
            tcp: Some(Ok(tcp)),
            passed: false,
            rdma: None,
        }
    }

    /// Returns the evidence of a pair with this failure. `tcp_ns` is the median half round trip of
    /// TCP without the failure, in nanoseconds.
    pub fn evidence(self, tcp_ns: u64) -> Evidence {
        let mut evidence = Self::none(tcp_ns);
        if let Self::Dead(_) | Self::Hung(_) | Self::LinkDown(_) = self {
            let timeout = step_error(Stage::Tcp, Cause::Timeout, "TCP: connection timed out");
            evidence.tcp = Some(Err(timeout));
        }
        let unacknowledged = |stage, size, done| {
            let cause = Cause::Completion("IBV_WC_RETRY_EXC_ERR".into());
            let after =
                if done > 0 { format!(", after {done} that passed") } else { String::new() };
            let detail = format!(
                "a message of {size} bytes failed with IBV_WC_RETRY_EXC_ERR{after}: transport retry \
                 counter exceeded"
            );
            Some(StepError { size: Some(size), done, ..step_error(stage, cause, detail) })
        };
        match self {
            Self::Dead(side) => {
                evidence.source.failure = unacknowledged(Stage::FirstMessage, SMALL, 0);
                end(&mut evidence, side).life =
                    Life::Dead("neither the agent nor SSH responds".into());
            }
            Self::Hung(side) => {
                let detail = format!(
                    "the peer's adapter acknowledged a message of {SMALL} bytes, but the peer did not reply"
                );
                evidence.source.failure =
                    Some(step_error(Stage::FirstMessage, Cause::NoReply, detail));
                end(&mut evidence, side).life =
                    Life::Hung("the agent was unresponsive for 2 s; SSH responds".into());
            }
            Self::LinkDown(side) => {
                let cause = Cause::Errno("ENETUNREACH".into());
                let detail = "ibv_modify_qp to RTR: network is unreachable (ENETUNREACH)";
                end(&mut evidence, side).failure = Some(step_error(Stage::Connect, cause, detail));
            }
            Self::Blocked => {
                evidence.source.failure = unacknowledged(Stage::FirstMessage, SMALL, 0);
            }
            Self::DropsFull => {
                evidence.source.failure = unacknowledged(Stage::FullMtu, FULL, 0);
            }
            Self::Lossy => {
                evidence.source.failure = unacknowledged(Stage::Latency, SMALL, 400);
            }
        }
        evidence
    }
}

/// Returns the evidence of one end; for a failure of the path, of the source.
fn end(evidence: &mut Evidence, side: Side) -> &mut EndEvidence {
    match side {
        Side::Target => &mut evidence.target,
        Side::Source | Side::Path => &mut evidence.source,
    }
}
