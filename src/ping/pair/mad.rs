//! Exchanges management datagrams (MADs) between the ports of a pair, by the protocol of
//! `ibping`.
//!
//! Makes no verdict. `pair` calls it, and the matrix calls it for a port without an agent.

use std::time::Duration;

use super::super::choose::{MadPlan, NoMads, has_mads};
use super::super::node::Node;
use super::{CONNECT, OPEN, PairRun, SPARE, STOP, TestOptions, confused, ms, stuck};
use crate::clock::Deadline;
use crate::model::KnownFix;
use crate::model::ping::{MadEvidence, MadPings, Side};
use crate::model::probe::{
    Act, Cause, MadOpening, MadPinging, MadRoute, Stage, Step, StepError, StepResult,
};

/// Longest wait for one reply. The kernels of both hosts handle each MAD, so a busy host replies
/// later than its adapter does.
const MAD_REPLY: Duration = Duration::from_millis(500);

impl PairRun<'_> {
    /// Sends MADs by each route of the plan until a route gets a reply.
    pub(super) fn run_mads(&mut self, plan: &Result<MadPlan, NoMads>) {
        let is_alone = self.test_options.is_mad_alone();
        if !is_alone && !has_mads(self.route.protocol) {
            return;
        }
        let (evidence, pings) = match plan {
            Ok(plan) => {
                let outcome = self.exchange_mads(plan);
                self.close_mads();
                outcome
            }
            Err((side, error)) => {
                let mut evidence = MadEvidence::default();
                match side {
                    Side::Target => evidence.target = Some(error.clone()),
                    Side::Source | Side::Path => evidence.source = Some(error.clone()),
                }
                (evidence, None)
            }
        };
        self.results.mads = Some((MadEvidence { is_alone, ..evidence }, pings));
    }

    /// Opens both ports and returns the result of the first route with a reply, else of the last
    /// route.
    fn exchange_mads(&self, plan: &MadPlan) -> (MadEvidence, Option<MadPings>) {
        let opening = (Act::OpenMad(plan.source.clone()), Act::OpenMad(plan.target.clone()));
        let (here, there) = self.ask_both(opening.0, opening.1, Stage::Open, OPEN);
        if here.is_err() || there.is_err() {
            let (source, target) = (here.err(), there.err());
            return (MadEvidence { source, target, ..MadEvidence::default() }, None);
        }
        let mut last = (MadEvidence::default(), None);
        for (from, to) in &plan.routes {
            last = self.exchange_by(from, to);
            if last.0.answered > 0 {
                break;
            }
        }
        last
    }

    /// Sends MADs by one route, from the source and back from the target.
    fn exchange_by(&self, from: &MadRoute, to: &MadRoute) -> (MadEvidence, Option<MadPings>) {
        let (ask, wait) = requests(self.test_options, from);
        let (serve, ask) = (Act::ServeMad(to.clone()), Act::PingMad(ask));
        let (asked, served) = self.ask_who_serves(serve, ask, wait, Stage::Mad);
        let mut evidence =
            MadEvidence { target: served.as_ref().err().cloned(), ..MadEvidence::default() };
        let seen = match asked {
            Ok(StepResult::MadPinged(seen)) => seen,
            Ok(_) => {
                evidence.source = Some(confused(Stage::Mad));
                return (evidence, None);
            }
            Err(error) => {
                evidence.source = Some(error);
                return (evidence, None);
            }
        };
        let refused = seen.refused.clone();
        let pings = MadPings::of(seen, from);
        (evidence.sent, evidence.answered) = (pings.sent, pings.answered);
        if pings.answered == 0 {
            let arrived = match served {
                Ok(StepResult::Served { messages }) => messages,
                _ => 0,
            };
            evidence.source = Some(no_reply(pings.sent, arrived, refused));
        } else {
            // The source stops first. After a successful exchange, an error of the target is
            // therefore no failure.
            evidence.target = None;
        }
        (evidence, Some(pings))
    }

    /// Closes the ports of both hosts, so that the next pair can open them.
    fn close_mads(&self) {
        let close = || self.step(Act::Close);
        let closing = (self.source.start(close()), self.target.start(close()));
        let deadline = Deadline::after(STOP);
        let _ = (self.source.finish(closing.0, deadline), self.target.finish(closing.1, deadline));
    }
}

/// Sends MADs to a port on which no agent runs.
pub(in crate::ping) fn run_alone(
    node: &dyn Node,
    connection: u32,
    opening: MadOpening,
    route: &MadRoute,
    test_options: &TestOptions,
) -> (MadEvidence, Option<MadPings>) {
    let ask = |act, wait| node.ask(Step { connection, act }, wait);
    let (request, wait) = requests(test_options, route);
    let answer = match ask(Act::OpenMad(opening), OPEN) {
        Some(Ok(_)) => ask(Act::PingMad(request), wait).unwrap_or_else(|| Err(stuck(Stage::Mad))),
        Some(Err(error)) => Err(error),
        None => Err(stuck(Stage::Open)),
    };
    let _ = ask(Act::Close, STOP);
    let mut evidence = MadEvidence { is_alone: true, ..MadEvidence::default() };
    let seen = match answer {
        Ok(StepResult::MadPinged(seen)) => seen,
        Ok(_) => {
            evidence.source = Some(confused(Stage::Mad));
            return (evidence, None);
        }
        Err(error) => {
            evidence.source = Some(error);
            return (evidence, None);
        }
    };
    let refused = seen.refused.clone();
    let pings = MadPings::of(seen, route);
    (evidence.sent, evidence.answered) = (pings.sent, pings.answered);
    if pings.answered == 0 {
        let fix = Some(KnownFix::StartIbping.into());
        evidence.source = Some(StepError { fix, ..no_reply(pings.sent, 0, refused) });
    }
    (evidence, Some(pings))
}

/// Returns the act that sends the requests of a route, and the longest wait for its result.
fn requests(test_options: &TestOptions, route: &MadRoute) -> (MadPinging, Duration) {
    let ask = MadPinging {
        route: route.clone(),
        rounds: test_options.rounds.max(1),
        interval_ms: u32::try_from(test_options.mad_interval.as_millis()).unwrap_or(u32::MAX),
        slot_ms: ms(test_options.slot),
        reply_ms: ms(MAD_REPLY),
    };
    // The first request may wait until the kernel resolves the neighbor. Each of the last three
    // requests may wait for a reply.
    (ask, test_options.slot + CONNECT + MAD_REPLY * 4 + SPARE)
}

/// Returns the failure of `sent` requests without a reply. The target replied to `arrived`
/// requests. `refused` is the status with which the port rejected a request.
fn no_reply(sent: u32, arrived: u64, refused: Option<String>) -> StepError {
    if let Some(status) = refused {
        // Another host sends this text. A valid status has fewer than 40 characters.
        let status: String = status.chars().take(40).collect();
        let detail = format!(
            "the port replied to MADs with the status \"{status}\": no process serves the class of \
             ibping there"
        );
        return StepError { detail, ..StepError::new(Stage::Mad, Cause::Refused) };
    }
    let detail = match arrived {
        0 => format!("none of {sent} MADs was answered"),
        arrived => format!(
            "none of {sent} MADs was answered; the target replied to {arrived}, so that the replies \
             were lost"
        ),
    };
    StepError { detail, ..StepError::new(Stage::Mad, Cause::NoReply) }
}
