//! `ping --mad` to a LID or a GID: no agent runs at that address, but a process replies, for
//! example `ibping -S`. `choose` chooses the port and the route; `cmd` uses this module.

use super::choose::{self, MadAddressee};
use super::matrix::Member;
use super::pair::{self, TestOptions};
use crate::analyse::verdict::{self, Ends};
use crate::model::Protocol;
use crate::model::ping::{
    EndEvidence, Evidence, GidMatch, Life, MadEvidence, Measured, Pair, Verdict,
};

/// Number of the only connection of the host.
const CONNECTION: u32 = 1;

/// Sends MADs from a host to an address; returns the result as a pair of a report.
///
/// If the host was not reached, the result is the verdict for an unreached source.
#[must_use]
pub fn run(
    member: &Member<'_>,
    (source, target): (usize, usize),
    to: MadAddressee,
    test_options: &TestOptions,
) -> Pair {
    let name = to.to_string();
    let ends = Ends { source: &member.name, target: &name, route: None };
    let pair = |verdict: Verdict, measured| {
        let (rail, route, rdma, tcp, first) = Default::default();
        Pair { rail, source, target, verdict, route, rdma, tcp, measured, first }
    };
    let (Some(inventory), Some(node)) = (member.inventory, member.node) else {
        return pair(super::matrix::unreached_source(member, &ends), Measured::default());
    };
    let (evidence, mad) = match choose::mad_route_to(inventory, to, &test_options.overrides) {
        Ok((opening, route)) => pair::run_alone(node, CONNECTION, opening, &route, test_options),
        Err(error) => {
            let source = Some(error);
            (MadEvidence { is_alone: true, source, ..MadEvidence::default() }, None)
        }
    };
    let life = if evidence.answered == 0 { node.life() } else { Life::Alive };
    let measured = Measured { mad, ..Measured::default() };
    pair(verdict::judge(&as_pair(evidence, life, to), &ends), measured)
}

/// Returns the evidence of a pair with the results of MADs to an address.
fn as_pair(mad: MadEvidence, life: Life, to: MadAddressee) -> Evidence {
    let protocol = match to {
        MadAddressee::Lid(_) => Protocol::Ib,
        MadAddressee::Gid(_) => Protocol::Roce,
    };
    Evidence {
        source: EndEvidence { failure: None, life },
        target: EndEvidence { failure: None, life: Life::Alive },
        protocol,
        gids: match to {
            MadAddressee::Gid(gid) if gid.is_link_local() => GidMatch::LinkLocal,
            _ => GidMatch::Global,
        },
        datagrams: None,
        wants_datagrams: false,
        unreliable: None,
        mad: Some(mad),
        tcp: None,
        passed: false,
        rdma: None,
    }
}
