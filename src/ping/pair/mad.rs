//! Exchanges management datagrams (MADs) between the ports of a pair, by the protocol of
//! `ibping`.
//!
//! Makes no verdict. `pair` calls it, and the matrix calls it for a port without an agent.

use std::time::Duration;

use super::super::choose::{MadPlan, NoMads, has_mads};
use super::super::node::Node;
use super::{
    CONNECT_TIMEOUT, OPEN_TIMEOUT, PairRun, SPARE, STOP_TIMEOUT, StepReply, TestOptions, ms, stuck,
    unexpected_reply,
};
use crate::model::KnownFix;
use crate::model::ping::{MadEvidence, MadPings, Side};
use crate::model::probe::{
    Act, Cause, MadOpening, MadPinging, MadRoute, Stage, Step, StepError, StepResult,
};
use crate::ping::error::step_error;

/// Longest wait for one reply. The kernels of both hosts handle each MAD, so a busy host replies
/// later than its adapter does.
const MAD_REPLY: Duration = Duration::from_millis(500);

impl PairRun<'_> {
    /// Sends MADs by each route of the plan until a route gets a reply.
    pub(super) fn run_mads(&mut self, plan: &Result<MadPlan, NoMads>) {
        let is_alone = self.is_mad_alone();
        if !is_alone && !has_mads(self.route.protocol) {
            return;
        }
        let (evidence, pings) = match plan {
            Ok(plan) => {
                let outcome = self.exchange_mads(plan);
                // The next pair can then open the ports.
                let _ = self.close_both();
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

    /// Opens both ports; returns the result of the first route with a reply, else of the last route.
    fn exchange_mads(&self, plan: &MadPlan) -> (MadEvidence, Option<MadPings>) {
        let (source, target) = (plan.source.clone(), plan.target.clone());
        let (source, target) = (Act::OpenMad(source), Act::OpenMad(target));
        let (here, there) = self.ask_both(source, target, Stage::Open, OPEN_TIMEOUT);
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
        let (asked, served) = self.ask_server(serve, ask, wait, Stage::Mad);
        let arrived = if let Ok(StepResult::Served { messages }) = served { messages } else { 0 };
        let (mut evidence, pings) = evidence(asked, from, arrived);
        // The source stops first: after a success, an error of the target is no failure.
        evidence.target = served.err().filter(|_| evidence.answered == 0);
        (evidence, pings)
    }
}

/// Returns the evidence of a source. The target replied to `arrived` requests.
fn evidence(asked: StepReply, route: &MadRoute, arrived: u64) -> (MadEvidence, Option<MadPings>) {
    let seen = match asked {
        Ok(StepResult::MadPinged(seen)) => seen,
        Ok(_) => return (of_failure(unexpected_reply(Stage::Mad, Side::Source)), None),
        Err(error) => return (of_failure(error), None),
    };
    let refused = seen.refused.clone();
    let pings = MadPings::of(seen, route);
    let (sent, answered) = (pings.sent, pings.answered);
    let source = (answered == 0).then(|| no_reply(sent, arrived, refused));
    (MadEvidence { sent, answered, source, ..MadEvidence::default() }, Some(pings))
}

fn of_failure(error: StepError) -> MadEvidence {
    MadEvidence { source: Some(error), ..MadEvidence::default() }
}

/// Sends MADs to a port on which no agent runs.
pub(in crate::ping) fn run_alone(
    node: &dyn Node,
    connection: u32,
    opening: MadOpening,
    route: &MadRoute,
    test_options: &TestOptions,
) -> (MadEvidence, Option<MadPings>) {
    let ask = |act, wait| node.request(Step { connection, act }, wait);
    let (request, wait) = requests(test_options, route);
    let answer = match ask(Act::OpenMad(opening), OPEN_TIMEOUT) {
        Some(Ok(_)) => ask(Act::PingMad(request), wait).unwrap_or_else(|| Err(stuck(Stage::Mad))),
        Some(Err(error)) => Err(error),
        None => Err(stuck(Stage::Open)),
    };
    let _ = ask(Act::Close, STOP_TIMEOUT);
    let (mut evidence, pings) = evidence(answer, route, 0);
    if let (Some(error), Some(_)) = (&mut evidence.source, &pings) {
        error.fix = Some(KnownFix::StartIbping.into());
    }
    (MadEvidence { is_alone: true, ..evidence }, pings)
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
    (ask, test_options.slot + CONNECT_TIMEOUT + MAD_REPLY * 4 + SPARE)
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
        return step_error(Stage::Mad, Cause::Refused, detail);
    }
    let detail = match arrived {
        0 => format!("none of {sent} MADs was answered"),
        arrived => format!(
            "none of {sent} MADs was answered; the target replied to {arrived}, so that the replies \
             were lost"
        ),
    };
    step_error(Stage::Mad, Cause::NoReply, detail)
}
