//! `ping --mad` to a LID or a GID: no agent runs at that address, but a process replies, for
//! example `ibping -S`.

use std::fmt;

use super::choose::{self, Overrides};
use super::matrix::Member;
use super::pair::{self, TestOptions};
use crate::analyse::verdict::{self, Ends};
use crate::model::ping::{
    EndEvidence, Evidence, GidMatch, Life, MadEvidence, Measured, Pair, Verdict,
};
use crate::model::probe::{Cause, Stage, StepError};
use crate::model::{GidValue, Protocol};

/// Number of the only connection of the host.
const CONNECTION: u32 = 1;

/// Address of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MadAddressee {
    /// LID of an InfiniBand port.
    Lid(u16),
    /// GID of a RoCE port.
    Gid(GidValue),
}

/// Formats the name of the target in a report: `lid:7`, `gid:fe80::1`.
impl fmt::Display for MadAddressee {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lid(lid) => write!(out, "lid:{lid}"),
            Self::Gid(gid) => write!(out, "gid:{gid}"),
        }
    }
}

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

/// Returns the error of a host that has no port for the address.
pub(super) fn no_port(wanted: &Overrides, protocol: &str) -> StepError {
    let device = wanted.device.as_ref().map_or(String::new(), |name| format!(" on device {name}"));
    StepError {
        detail: format!("the host has no active {protocol} port{device} that reaches the address"),
        ..StepError::new(Stage::Open, Cause::NoRoute)
    }
}
