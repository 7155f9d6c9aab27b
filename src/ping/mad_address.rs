//! `ping --mad` to a LID or a GID: no agent runs at that address, but a process replies, for
//! example `ibping -S`. `choose` chooses the port and the route; `cmd` uses this module.

use parking_lot::Mutex;

use super::choose::{self, MadAddressee};
use super::matrix::{self, Member};
use super::pair::{self, TestOptions};
use crate::analyse::root_cause::findings;
use crate::analyse::verdict::{self, Ends};
use crate::model::Protocol;
use crate::model::ping::{
    Cell, EndEvidence, Evidence, GidMatch, Life, MadEvidence, Measured, Pair, PingHost, PingReport,
    Side, Summary,
};
use crate::threads::at_once;

const ONLY_CONNECTION: u32 = 1;

/// Sends MADs from each host to the address, which is the last host of the report. The caller
/// sets the times of the report and `left_behind`. Results after the end of the run are
/// `not_tested`.
pub fn run(
    members: &[Member<'_>],
    test_options: &TestOptions,
    to: MadAddressee,
    is_over: &(dyn Fn() -> bool + Sync),
) -> PingReport {
    matrix::await_workers(members.iter().filter_map(|member| member.node));
    let (mut hosts, pairs) = (matrix::hosts(members, None), Mutex::new(Vec::new()));
    let target = hosts.len();
    at_once(members.iter().enumerate().collect(), |(source, member)| {
        let cell = Cell { rail: 0, source, target };
        let pair = test(member, cell, to, test_options);
        // The end of a run causes failures.
        let pair = if is_over() { Pair::of_verdict(cell, verdict::not_tested()) } else { pair };
        pairs.lock().push(pair);
    });
    let mut pairs = pairs.into_inner();
    pairs.sort_by_key(Pair::cell);
    hosts.push(PingHost::of(&to.to_string(), target, None));
    let (summary, findings) = (Summary::of(&pairs), findings(&pairs, None));
    PingReport { hosts, pairs, summary, findings, ..PingReport::default() }
}

/// Sends MADs from a host to an address; returns the result as a pair of a report.
fn test(member: &Member<'_>, cell: Cell, to: MadAddressee, test_options: &TestOptions) -> Pair {
    let ends = Ends { source: &member.name, target: &to.to_string(), route: None };
    let (Some(inventory), Some(node)) = (member.inventory, member.node) else {
        return Pair::of_verdict(cell, matrix::unreached(member.failure, Side::Source, &ends));
    };
    let (evidence, mad) = match choose::mad_route_to(inventory, to, &test_options.overrides) {
        Ok((opening, route)) => {
            pair::run_alone(node, ONLY_CONNECTION, opening, &route, test_options)
        }
        Err(error) => {
            (MadEvidence { is_alone: true, source: Some(error), ..MadEvidence::default() }, None)
        }
    };
    let life = if evidence.answered == 0 { node.life() } else { Life::Alive };
    let measured = Measured { mad, ..Measured::default() };
    let verdict = verdict::judge(&pair_evidence(evidence, life, to), &ends);
    Pair { measured, ..Pair::of_verdict(cell, verdict) }
}

fn pair_evidence(mad: MadEvidence, life: Life, to: MadAddressee) -> Evidence {
    let (protocol, gids) = match to {
        MadAddressee::Lid(_) => (Protocol::Ib, GidMatch::Global),
        MadAddressee::Gid(gid) if gid.is_link_local() => (Protocol::Roce, GidMatch::LinkLocal),
        MadAddressee::Gid(_) => (Protocol::Roce, GidMatch::Global),
    };
    Evidence {
        source: EndEvidence { failure: None, life },
        target: EndEvidence { failure: None, life: Life::Alive },
        protocol,
        gids,
        datagrams: None,
        wants_datagrams: false,
        received: None,
        unreliable: None,
        mad: Some(mad),
        tcp: None,
        passed: false,
        rdma: None,
    }
}
