//! From the evidence of one pair to its verdict.

use crate::model::Protocol;
use crate::model::ping::{Code, Evidence, Life, Side, Verdict};
use crate::model::probe::{Cause, Stage, StepError};

/// Judges one ordered pair.
#[must_use]
pub fn judge(evidence: &Evidence) -> Verdict {
    if let Some(verdict) = judge_life(evidence) {
        return verdict;
    }
    let Some((failure, side)) = first_cause(evidence) else {
        return if evidence.rdma.is_some() {
            Verdict {
                code: Code::Ok,
                stage: None,
                side: Side::Path,
                detail: "every message was answered".into(),
                hint: None,
            }
        } else {
            not_tested()
        };
    };
    let tcp_passes = matches!(evidence.tcp, Some(Ok(_)));
    let tcp_fails = matches!(evidence.tcp, Some(Err(_)));
    let (code, hint) = match failure.stage {
        _ if failure.cause == Cause::Stuck => (Code::DriverStuck, Some(STUCK)),
        Stage::Agent | Stage::Choose | Stage::Tcp => (Code::Agent, None),
        Stage::Open => judge_local(failure),
        Stage::Connect => judge_connect(failure, tcp_passes),
        // What passed before passes: what is lost now is lost by chance.
        Stage::FirstMessage | Stage::FullMtu if failure.done > 0 => judge_latency(failure),
        Stage::FirstMessage => {
            judge_first_message(failure, evidence.protocol, tcp_passes, tcp_fails)
        }
        Stage::FullMtu => judge_full_mtu(failure),
        Stage::Latency => judge_latency(failure),
    };
    let detail = match (&evidence.tcp, code) {
        (Some(Ok(_)), _) if failure.stage >= Stage::Connect => {
            format!("{}; TCP over the same interface passes", failure.detail)
        }
        (Some(Err(tcp)), _) if failure.stage >= Stage::Connect => {
            format!("{}; {}", failure.detail, tcp.detail)
        }
        _ => failure.detail.clone(),
    };
    let hint = failure.fix.clone().or_else(|| hint.map(str::to_owned));
    Verdict { code, stage: Some(failure.stage), side, detail, hint }
}

const STUCK: &str = "see where it hangs: dmesg; cat /proc/PID/task/*/stack of the rdmactl there; \
                     then driver and firmware";

/// The verdict of a pair that was never tried.
#[must_use]
pub fn not_tested() -> Verdict {
    Verdict {
        code: Code::NotTested,
        stage: None,
        side: Side::Path,
        detail: "the run ended before this pair's turn".into(),
        hint: None,
    }
}

/// The verdict of every pair with a host that is gone or hangs.
#[must_use]
pub fn judge_host(life: &Life, side: Side, stage: Stage) -> Option<Verdict> {
    let (code, detail, hint) = match life {
        Life::Alive => return None,
        Life::Hung(seen) => (
            Code::PeerHung,
            seen,
            "the host answers but its processes do not run: look for stopped or swapped-out \
             processes and soft lockups (ps -o stat,wchan; dmesg)",
        ),
        Life::Dead(seen) => {
            (Code::PeerDead, seen, "see whether the host runs: its console, then its kernel log")
        }
    };
    Some(Verdict {
        code,
        stage: Some(stage),
        side,
        detail: detail.clone(),
        hint: Some(hint.to_owned()),
    })
}

fn judge_life(evidence: &Evidence) -> Option<Verdict> {
    let stage_of = |mine: &Option<StepError>, other: &Option<StepError>| {
        mine.as_ref().or(other.as_ref()).map_or(Stage::Open, |failure| failure.stage)
    };
    let (source, target) = (&evidence.source, &evidence.target);
    judge_host(&target.life, Side::Target, stage_of(&source.failure, &target.failure)).or_else(
        || judge_host(&source.life, Side::Source, stage_of(&source.failure, &target.failure)),
    )
}

/// The failure that came first, and where it was seen.
///
/// "No answer" at the source only repeats what an error at the target says better.
fn first_cause(evidence: &Evidence) -> Option<(&StepError, Side)> {
    let source = evidence.source.failure.as_ref();
    let target = evidence.target.failure.as_ref();
    match (source, target) {
        (Some(mine), Some(theirs)) => {
            let is_echo = matches!(mine.cause, Cause::NoReply | Cause::Timeout)
                || is_secondary(mine)
                || mine.stage > theirs.stage;
            let theirs_is_echo = theirs.cause == Cause::Timeout || is_secondary(theirs);
            if is_echo && !theirs_is_echo {
                Some((theirs, Side::Target))
            } else {
                Some((mine, Side::Source))
            }
        }
        (Some(mine), None) => Some((mine, Side::Source)),
        (None, Some(theirs)) => Some((theirs, Side::Target)),
        (None, None) => None,
    }
}

/// A flushed request tells only that something else failed before it.
fn is_secondary(failure: &StepError) -> bool {
    matches!(&failure.cause, Cause::Completion(status) if status == "IBV_WC_WR_FLUSH_ERR")
}

fn judge_local(failure: &StepError) -> (Code, Option<&'static str>) {
    match &failure.cause {
        Cause::Library => (Code::Library, None),
        Cause::Unsupported => (Code::NoTransport, None),
        Cause::Errno(name) => match name.as_str() {
            "EACCES" | "EPERM" | "ENOENT" => (
                Code::Permission,
                Some("load ib_uverbs, and let the user open /dev/infiniband/uverbs*"),
            ),
            "ENOMEM" => (
                Code::Memlock,
                Some(
                    "raise the locked-memory limit: '* - memlock unlimited' in \
                     /etc/security/limits.d/rdma.conf, LimitMEMLOCK=infinity for services",
                ),
            ),
            "ENOSPC" => (Code::Resources, Some("see who holds them: rdma resource show")),
            "ENODATA" | "ENODEV" => (Code::GidIndex, None),
            _ => (Code::Resources, None),
        },
        _ => (Code::Agent, None),
    }
}

fn judge_connect(failure: &StepError, tcp_passes: bool) -> (Code, Option<&'static str>) {
    match &failure.cause {
        Cause::Errno(name) => match name.as_str() {
            "ETIMEDOUT" => (
                Code::NoNeighbour,
                Some(
                    "the host is down, in another VLAN, or ARP is filtered: ip neigh show; \
                     sysctl net.ipv4.neigh.default.gc_thresh3",
                ),
            ),
            "ENETUNREACH" => {
                (Code::LinkDown, Some("bring the interface up: ip link set NETDEV up; ip route"))
            }
            "ENODATA" | "ENODEV" => (Code::GidIndex, None),
            "EINVAL" => (Code::GidFamily, None),
            "ENOMEM" => (Code::Memlock, None),
            _ => (Code::RailDown, None),
        },
        Cause::Refused => (Code::NoListener, None),
        Cause::Unsupported => (Code::NoTransport, None),
        Cause::Library => (Code::Library, None),
        Cause::Timeout if tcp_passes => (Code::NoAck, None),
        Cause::Timeout => (Code::RailDown, None),
        _ => (Code::Agent, None),
    }
}

fn judge_first_message(
    failure: &StepError,
    protocol: Protocol,
    tcp_passes: bool,
    tcp_fails: bool,
) -> (Code, Option<&'static str>) {
    const FIREWALL: &str = "let RoCE pass: a firewall or ACL drops UDP port 4791 (nft list \
                            ruleset; iptables -L; the switch); until then applications use TCP";
    match &failure.cause {
        Cause::Completion(status) => match status.as_str() {
            "IBV_WC_RETRY_EXC_ERR" if tcp_fails => {
                (Code::RailDown, Some("see link, switch port and VLAN: ip -s link; ethtool"))
            }
            "IBV_WC_RETRY_EXC_ERR" if protocol == Protocol::Roce && tcp_passes => {
                (Code::Udp4791Blocked, Some(FIREWALL))
            }
            "IBV_WC_RNR_RETRY_EXC_ERR" => (Code::NotPosting, None),
            "IBV_WC_REM_INV_REQ_ERR" | "IBV_WC_LOC_LEN_ERR" => (Code::MtuMismatch, None),
            _ => (Code::NoAck, None),
        },
        // rxe on 5.10 does not even end the request when the local firewall drops its packets.
        Cause::NoReply | Cause::NoCompletion if protocol == Protocol::Roce && tcp_passes => {
            (Code::Udp4791Blocked, Some(FIREWALL))
        }
        Cause::NoReply => (Code::NoAck, None),
        Cause::NoCompletion => (Code::DriverStuck, Some(STUCK)),
        Cause::WrongBytes => (Code::Corrupted, None),
        _ => (Code::Agent, None),
    }
}

fn judge_full_mtu(failure: &StepError) -> (Code, Option<&'static str>) {
    const BLACKHOLE: &str = "a link on the way carries less than both ends believe: compare the \
                             MTU of every switch port and interface (ip link; ping -M do -s SIZE)";
    match &failure.cause {
        Cause::Completion(status) => match status.as_str() {
            "IBV_WC_REM_INV_REQ_ERR" | "IBV_WC_LOC_LEN_ERR" => (Code::MtuMismatch, None),
            _ => (Code::MtuBlackhole, Some(BLACKHOLE)),
        },
        Cause::NoReply | Cause::NoCompletion => (Code::MtuBlackhole, Some(BLACKHOLE)),
        Cause::WrongBytes => (Code::Corrupted, None),
        _ => (Code::Agent, None),
    }
}

fn judge_latency(failure: &StepError) -> (Code, Option<&'static str>) {
    match &failure.cause {
        Cause::Completion(_) | Cause::NoReply => {
            (Code::Loss, Some("look at the error counters of both ports and of the switch"))
        }
        Cause::WrongBytes => (Code::Corrupted, None),
        Cause::NoCompletion => (Code::DriverStuck, Some(STUCK)),
        _ => (Code::Agent, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ping::EndEvidence;
    use crate::model::probe::RoundTrips;

    const TRIPS: RoundTrips =
        RoundTrips { count: 1, min_ns: 1, p50_ns: 1, p99_ns: None, max_ns: 1 };

    fn at(stage: Stage, cause: Cause) -> StepError {
        StepError { detail: "seen".into(), ..StepError::new(stage, cause) }
    }

    fn retry_exceeded() -> Cause {
        Cause::Completion("IBV_WC_RETRY_EXC_ERR".into())
    }

    fn evidence(source: Option<StepError>, target: Option<StepError>) -> Evidence {
        let end = |failure| EndEvidence { failure, life: Life::Alive };
        Evidence {
            source: end(source),
            target: end(target),
            protocol: Protocol::Roce,
            tcp: Some(Ok(TRIPS)),
            rdma: None,
        }
    }

    #[test]
    fn answered_messages_are_ok() {
        let all_well = Evidence { rdma: Some(TRIPS), ..evidence(None, None) };
        assert_eq!(judge(&all_well).code, Code::Ok);
    }

    #[test]
    fn no_answer_and_no_failure_is_not_a_pass() {
        assert_eq!(judge(&evidence(None, None)).code, Code::NotTested);
    }

    #[test]
    fn a_filtered_port_is_told_from_a_dead_rail_by_tcp() {
        let mut pair = evidence(Some(at(Stage::FirstMessage, retry_exceeded())), None);
        assert_eq!(judge(&pair).code, Code::Udp4791Blocked);
        pair.tcp = Some(Err(at(Stage::Tcp, Cause::Timeout)));
        assert_eq!(judge(&pair).code, Code::RailDown);
        pair.tcp = Some(Ok(TRIPS));
        pair.protocol = Protocol::Ib;
        assert_eq!(judge(&pair).code, Code::NoAck);
        // Nobody tried TCP there: nothing may be said of the rail.
        pair.tcp = None;
        assert_eq!(judge(&pair).code, Code::NoAck);
    }

    #[test]
    fn a_request_that_never_ends_is_a_filter_only_where_tcp_passes() {
        let mut pair = evidence(Some(at(Stage::FirstMessage, Cause::NoCompletion)), None);
        assert_eq!(judge(&pair).code, Code::Udp4791Blocked);
        pair.tcp = None;
        assert_eq!(judge(&pair).code, Code::DriverStuck);
    }

    #[test]
    fn a_dead_host_is_dead_whatever_else_was_seen() {
        let mut pair = evidence(Some(at(Stage::FirstMessage, retry_exceeded())), None);
        pair.target.life = Life::Dead("gone".into());
        let verdict = judge(&pair);
        assert_eq!((verdict.code, verdict.side), (Code::PeerDead, Side::Target));
        assert_eq!(verdict.stage, Some(Stage::FirstMessage));
    }

    #[test]
    fn a_hung_peer_is_named_at_its_side() {
        let mut pair = evidence(Some(at(Stage::Latency, Cause::NoReply)), None);
        pair.source.life = Life::Hung("stopped".into());
        assert_eq!((judge(&pair).code, judge(&pair).side), (Code::PeerHung, Side::Source));
    }

    #[test]
    fn full_packets_that_vanish_are_a_black_hole_from_either_end() {
        let there = evidence(Some(at(Stage::FullMtu, retry_exceeded())), None);
        assert_eq!(judge(&there).code, Code::MtuBlackhole);
        let back = evidence(
            Some(at(Stage::FullMtu, Cause::NoReply)),
            Some(at(Stage::FullMtu, retry_exceeded())),
        );
        let verdict = judge(&back);
        assert_eq!((verdict.code, verdict.side), (Code::MtuBlackhole, Side::Target));
    }

    #[test]
    fn what_passed_before_is_lost_and_not_blocked() {
        for stage in [Stage::FirstMessage, Stage::FullMtu, Stage::Latency] {
            let failure = StepError { done: 1, ..at(stage, retry_exceeded()) };
            assert_eq!(judge(&evidence(Some(failure), None)).code, Code::Loss, "{stage:?}");
        }
    }

    #[test]
    fn a_step_that_never_ends_is_the_driver_at_every_stage() {
        for stage in [Stage::Open, Stage::Connect, Stage::FirstMessage, Stage::FullMtu] {
            let pair = evidence(None, Some(at(stage, Cause::Stuck)));
            let verdict = judge(&pair);
            assert_eq!((verdict.code, verdict.side), (Code::DriverStuck, Side::Target));
        }
    }

    #[test]
    fn a_flushed_request_is_never_the_cause() {
        let flushed = Cause::Completion("IBV_WC_WR_FLUSH_ERR".into());
        let pair = evidence(
            Some(at(Stage::FirstMessage, retry_exceeded())),
            Some(at(Stage::FirstMessage, flushed)),
        );
        assert_eq!(judge(&pair).side, Side::Source);
    }

    #[test]
    fn local_causes_are_told_apart() {
        let code = |cause| judge(&evidence(Some(at(Stage::Open, cause)), None)).code;
        assert_eq!(code(Cause::Errno("EACCES".into())), Code::Permission);
        assert_eq!(code(Cause::Errno("ENOMEM".into())), Code::Memlock);
        assert_eq!(code(Cause::Errno("ENODATA".into())), Code::GidIndex);
        assert_eq!(code(Cause::Library), Code::Library);
        assert_eq!(code(Cause::Unsupported), Code::NoTransport);
    }

    #[test]
    fn an_unresolved_neighbour_is_no_dead_link() {
        let code = |name: &str| {
            judge(&evidence(Some(at(Stage::Connect, Cause::Errno(name.into()))), None)).code
        };
        assert_eq!(code("ETIMEDOUT"), Code::NoNeighbour);
        assert_eq!(code("ENETUNREACH"), Code::LinkDown);
    }
}
