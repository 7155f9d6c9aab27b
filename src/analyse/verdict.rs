//! From the evidence of one pair to its verdict.

use crate::model::Protocol;
use crate::model::ping::{Code, Datagrams, Evidence, GidMatch, Life, Passage, Side, Verdict};
use crate::model::probe::{Cause, Stage, StepError};

/// Judges one ordered pair.
#[must_use]
pub fn judge(evidence: &Evidence) -> Verdict {
    if let Some(verdict) = judge_life(evidence) {
        return verdict;
    }
    let Some((failure, side)) = first_cause(evidence) else {
        return if evidence.passed { judge_passed(evidence) } else { not_tested() };
    };
    let (code, hint) = match failure.stage {
        _ if failure.cause == Cause::Stuck => (Code::DriverStuck, Some(STUCK)),
        Stage::Agent | Stage::Choose | Stage::Tcp => (Code::Agent, Some(REPORT)),
        Stage::Open => judge_local(failure),
        Stage::Connect => judge_connect(failure, evidence),
        stage => judge_status(&failure.cause).unwrap_or_else(|| match stage {
            // What passed before passes: what is lost now is lost by chance.
            Stage::FirstMessage if failure.done == 0 => judge_first_message(failure, evidence),
            Stage::FullMtu if failure.done == 0 => judge_full_mtu(failure),
            _ => judge_latency(failure),
        }),
    };
    let mut detail = failure.detail.clone();
    if failure.stage >= Stage::Connect {
        if let Some(datagrams) = &evidence.datagrams {
            detail = format!("{detail}; {}", tell_datagrams(datagrams));
        }
        detail = match &evidence.tcp {
            Some(Ok(_)) => format!("{detail}; TCP over the same interface passes"),
            Some(Err(tcp)) => format!("{detail}; {}", tcp.detail),
            None => detail,
        };
    }
    let hint = failure.fix.clone().or_else(|| hint.map(str::to_owned));
    let error = failure.cause.error();
    Verdict { code, stage: Some(failure.stage), side, error, detail, hint }
}

/// A pair whose reliable connection passes: the other transports must do, too, where they were asked for.
fn judge_passed(evidence: &Evidence) -> Verdict {
    let side = Side::Path;
    if let Some(failure) = &evidence.unreliable {
        let is_stuck = failure.cause == Cause::Stuck;
        return Verdict {
            code: if is_stuck { Code::DriverStuck } else { Code::NoUnreliable },
            stage: Some(failure.stage),
            side,
            error: failure.cause.error(),
            detail: format!("reliable connections pass; over an unreliable one {}", failure.detail),
            hint: failure.fix.clone(),
        };
    }
    if evidence.wants_datagrams
        && let Some(datagrams) = evidence.datagrams.as_ref().filter(|one| one.answered == 0)
    {
        return Verdict {
            code: Code::NoDatagrams,
            stage: Some(Stage::Connect),
            side,
            error: None,
            detail: format!("reliable connections pass; {}", tell_datagrams(datagrams)),
            hint: Some(
                "see whether the ports count a wrong Q_Key: rdmactl counters -H SOURCE,TARGET -w 'name~key'"
                    .into(),
            ),
        };
    }
    let detail = "every message was answered".into();
    Verdict { code: Code::Ok, stage: None, side, error: None, detail, hint: None }
}

/// What was seen of datagrams, in one clause.
fn tell_datagrams(seen: &Datagrams) -> String {
    let Datagrams { sent, answered, heard_by_target, .. } = seen;
    match seen.passage() {
        Passage::Both if *answered > 0 => format!("{answered} of {sent} datagrams were answered"),
        Passage::Both => format!("both ends hear the other's datagrams, and no answer of {sent}"),
        Passage::There => {
            format!(
                "{heard_by_target} of {sent} datagrams reach the target, and nothing comes back"
            )
        }
        Passage::Back => {
            format!("none of {sent} datagrams reaches the target, though its own come through")
        }
        Passage::Neither => format!("none of {sent} datagrams was answered"),
    }
}

const STUCK: &str = "see where it hangs: dmesg; pgrep -a rdmactl; cat /proc/PID/task/*/stack (as root); \
                     then driver and firmware";
const BUSY: &str = "its adapter took the message, and the process there did not answer in time: see \
                    what keeps its processors busy (uptime; top)";
const PATH_MTU: &str =
    "leave --mtu out; compare what both ports say: rdmactl ports -v -H SOURCE,TARGET";
const REPORT: &str = "please report it with what this writes: rdmactl capture -H SOURCE,TARGET --redact \
                      --save bug.ndjson";
const UNACKNOWLEDGED: &str = "see which counters grow, and whether a firewall or ACL lets connections pass: \
                              rdmactl counters -H SOURCE,TARGET -w 'name~retr or name~timeout'";
const MEMORY: &str = "take the host out of use until its memory and its PCIe links are known to be well: \
                      dmesg | grep -iE 'aer|edac|mce'";
const COUNTERS: &str = "see which port or switch counts errors meanwhile: rdmactl counters -H SOURCE,TARGET \
                        --watch -w 'delta>0'; then the switch";
const RAIL: &str = "see link, switch port and VLAN: ip -s link show NETDEV; ethtool NETDEV";
const OWN_FIREWALL: &str = "let UDP port 4791 out on that host: nft list ruleset; iptables -L; ip6tables -L; tc \
                            filter show dev NETDEV egress; until then applications use TCP";
const EFA: &str = "let the security group of both instances pass all traffic from and to itself: EFA is no TCP \
                   and no UDP; and see whether both are in one subnet";
const FIREWALL: &str = "let RoCE pass: a firewall or ACL drops UDP port 4791 (nft list \
                        ruleset; iptables -L; ip6tables -L; the switch); until then applications use TCP";
/// Drivers pin the memory of queues, too, and say the same.
const MEMLOCK: &str = "raise the locked-memory limit: '* - memlock unlimited' in \
                       /etc/security/limits.d/rdma.conf, LimitMEMLOCK=infinity for services";
const GIDS: &str =
    "see which GIDs are there now, and ping again: rdmactl ports -v -H HOST --upload";

/// The verdict of a pair that was never tried.
#[must_use]
pub fn not_tested() -> Verdict {
    Verdict {
        code: Code::NotTested,
        stage: None,
        side: Side::Path,
        error: None,
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
             processes and soft lockups: ps -eo pid,stat,wchan:30,comm | awk '$2 ~ /^[DT]/'; dmesg",
        ),
        Life::Dead(seen) => (
            Code::PeerDead,
            seen,
            "see whether the host runs, and what was killed there: its console; dmesg | grep -iE \
                 'oom|killed|segfault'",
        ),
    };
    Some(Verdict {
        code,
        stage: Some(stage),
        side,
        error: None,
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
/// "No answer" or "refused" at the source only repeats what an error at the target says better, and of two ends that say
/// the same the one that knows what to do about it is heard.
fn first_cause(evidence: &Evidence) -> Option<(&StepError, Side)> {
    let source = evidence.source.failure.as_ref();
    let target = evidence.target.failure.as_ref();
    match (source, target) {
        (Some(mine), Some(theirs)) => {
            let knows_why = |one: &StepError| one.fix.is_some();
            let is_echo = matches!(mine.cause, Cause::NoReply | Cause::Timeout | Cause::Refused)
                || is_secondary(mine)
                || mine.stage > theirs.stage
                || (mine.cause == theirs.cause && !knows_why(mine) && knows_why(theirs));
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
        Cause::Mtu => (Code::MtuMismatch, Some(PATH_MTU)),
        Cause::Errno(name) => match name.as_str() {
            "EACCES" | "EPERM" | "ENOENT" => (
                Code::Permission,
                Some("load ib_uverbs, and let the user open /dev/infiniband/uverbs*"),
            ),
            "ENOMEM" => (Code::Memlock, Some(MEMLOCK)),
            "ENODATA" | "ENODEV" => (Code::GidIndex, Some(GIDS)),
            _ => (Code::Resources, Some("see who holds them: rdma resource show")),
        },
        _ => (Code::Agent, Some(REPORT)),
    }
}

fn judge_connect(failure: &StepError, evidence: &Evidence) -> (Code, Option<&'static str>) {
    const ROUTE: &str = "give both ports addresses of one subnet, or a route: ip route get \
                         fibmatch ADDRESS oif NETDEV";
    match &failure.cause {
        Cause::NoRoute => (Code::NoRoute, Some(ROUTE)),
        Cause::Errno(name) => match name.as_str() {
            "ETIMEDOUT" if evidence.gids == GidMatch::LinkLocal => (
                Code::LinkLocal,
                Some(
                    "nobody answers there: give both ports an address if they are on two links, else see \
                     what drops neighbour discovery: ip -6 neigh show",
                ),
            ),
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
            "EHOSTUNREACH" | "EACCES" => (
                Code::Prohibited,
                Some(
                    "the routing table has an entry against it: ip route get ADDRESS oif NETDEV; ip route \
                     show table all | grep -E 'unreachable|prohibit'",
                ),
            ),
            "ENODATA" | "ENODEV" => (Code::GidIndex, Some(GIDS)),
            "EINVAL" if evidence.gids == GidMatch::FamiliesDiffer => (Code::GidFamily, None),
            // What the kernel takes for nonsense was asked by us.
            "EINVAL" => (Code::Agent, Some(REPORT)),
            "ENOMEM" => (Code::Memlock, Some(MEMLOCK)),
            _ => (Code::RailDown, Some(RAIL)),
        },
        Cause::Mtu => (Code::MtuMismatch, Some(PATH_MTU)),
        Cause::Filtered => (Code::Udp4791Blocked, Some(OWN_FIREWALL)),
        Cause::Refused => (
            Code::NoListener,
            Some(
                "see whether a firewall refuses for the target: nft list ruleset; iptables -L there",
            ),
        ),
        Cause::Unsupported => (Code::NoTransport, None),
        Cause::Library => (Code::Library, None),
        Cause::Timeout if matches!(evidence.tcp, Some(Ok(_))) => {
            (Code::NoAck, Some(UNACKNOWLEDGED))
        }
        Cause::Timeout => (Code::RailDown, Some(RAIL)),
        _ => (Code::Agent, Some(REPORT)),
    }
}

/// Completion statuses that mean the same wherever they come; `None` of those that only say that something
/// got lost.
fn judge_status(cause: &Cause) -> Option<(Code, Option<&'static str>)> {
    let Cause::Completion(status) = cause else { return None };
    match status.as_str() {
        "IBV_WC_RNR_RETRY_EXC_ERR" => Some((Code::NotPosting, Some(BUSY))),
        "IBV_WC_REM_INV_REQ_ERR" | "IBV_WC_LOC_LEN_ERR" => {
            Some((Code::MtuMismatch, Some(PATH_MTU)))
        }
        "IBV_WC_LOC_PROT_ERR" | "IBV_WC_REM_ACCESS_ERR" | "IBV_WC_REM_OP_ERR" => {
            Some((Code::Agent, Some(REPORT)))
        }
        _ => None,
    }
}

fn judge_first_message(failure: &StepError, evidence: &Evidence) -> (Code, Option<&'static str>) {
    const ONE_WAY: &str = "packets pass one way only: look for a filter by address, for the route \
                           back and for rp_filter at the end that hears nothing";
    let passage = evidence.datagrams.as_ref().map(Datagrams::passage);
    let is_silence = match &failure.cause {
        // Of soft-RoCE of 6.12 a firewall of the host itself flushes the request.
        Cause::Completion(status) => status == "IBV_WC_RETRY_EXC_ERR" || is_secondary(failure),
        // Of datagrams nobody says that they arrived.
        Cause::NoCompletion | Cause::Timeout => true,
        _ => false,
    };
    match (is_silence, passage) {
        (true, Some(Passage::There | Passage::Back)) => return (Code::Asymmetric, Some(ONE_WAY)),
        (true, Some(Passage::Neither) | None) => {
            if let Some(verdict) = judge_silence(failure, evidence) {
                return verdict;
            }
        }
        _ => {}
    }
    match &failure.cause {
        Cause::Timeout if passage == Some(Passage::Both) => (Code::NotPosting, Some(BUSY)),
        Cause::Timeout if evidence.protocol == Protocol::Efa => (Code::NoAck, Some(EFA)),
        Cause::Completion(_) | Cause::Timeout => (Code::NoAck, Some(UNACKNOWLEDGED)),
        // What is sent by iWARP is done when TCP has taken it.
        Cause::NoReply if evidence.protocol == Protocol::Iwarp => {
            (Code::NoAck, Some(UNACKNOWLEDGED))
        }
        Cause::NoReply => (Code::NotPosting, Some(BUSY)),
        Cause::NoCompletion => (Code::DriverStuck, Some(STUCK)),
        Cause::WrongBytes => (Code::Corrupted, Some(MEMORY)),
        _ => (Code::Agent, Some(REPORT)),
    }
}

/// No RDMA packet is known to have passed at all: TCP tells a filter from a dead rail.
fn judge_silence(failure: &StepError, evidence: &Evidence) -> Option<(Code, Option<&'static str>)> {
    match &evidence.tcp {
        Some(Ok(_)) if evidence.protocol == Protocol::Roce => {
            Some((Code::Udp4791Blocked, Some(FIREWALL)))
        }
        // rxe on 5.10 does not even end the request when the local firewall drops its packets.
        Some(Err(_)) if !matches!(failure.cause, Cause::NoCompletion) => {
            Some((Code::RailDown, Some(RAIL)))
        }
        _ => None,
    }
}

fn judge_full_mtu(failure: &StepError) -> (Code, Option<&'static str>) {
    const BLACKHOLE: &str = "a link on the way carries less than both ends believe: compare the \
                             MTU of every switch port and interface (ip link; ping -M do -s SIZE ADDRESS)";
    match &failure.cause {
        Cause::Completion(_) | Cause::NoReply | Cause::NoCompletion => {
            (Code::MtuBlackhole, Some(BLACKHOLE))
        }
        Cause::WrongBytes => (Code::Corrupted, Some(MEMORY)),
        _ => (Code::Agent, Some(REPORT)),
    }
}

fn judge_latency(failure: &StepError) -> (Code, Option<&'static str>) {
    match &failure.cause {
        // The adapter sends again for longer than a stream waits.
        Cause::NoCompletion if failure.stage == Stage::Bandwidth => (Code::Loss, Some(COUNTERS)),
        Cause::Completion(_) | Cause::NoReply => (Code::Loss, Some(COUNTERS)),
        Cause::WrongBytes => (Code::Corrupted, Some(MEMORY)),
        Cause::NoCompletion => (Code::DriverStuck, Some(STUCK)),
        _ => (Code::Agent, Some(REPORT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ping::EndEvidence;
    use crate::model::probe::RoundTrips;

    fn trips() -> RoundTrips {
        RoundTrips { count: 1, min_ns: 1, p50_ns: 1, max_ns: 1, ..RoundTrips::default() }
    }

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
            gids: GidMatch::Global,
            datagrams: None,
            wants_datagrams: false,
            unreliable: None,
            tcp: Some(Ok(trips())),
            passed: false,
            rdma: None,
        }
    }

    #[test]
    fn answered_messages_are_ok() {
        let all_well = Evidence { passed: true, ..evidence(None, None) };
        assert_eq!(judge(&all_well).code, Code::Ok);
    }

    #[test]
    fn the_error_that_was_seen_is_named_as_it_is() {
        let error = |cause| judge(&evidence(Some(at(Stage::Connect, cause)), None)).error;
        assert_eq!(error(retry_exceeded()).as_deref(), Some("IBV_WC_RETRY_EXC_ERR"));
        assert_eq!(error(Cause::Errno("ETIMEDOUT".into())).as_deref(), Some("ETIMEDOUT"));
        assert_eq!(error(Cause::NoReply), None);
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
        pair.tcp = Some(Ok(trips()));
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
    fn datagrams_tell_a_filter_from_a_connection_that_fails_alone() {
        let code = |answered, heard_by_target, heard_by_source| {
            let mut pair = evidence(Some(at(Stage::FirstMessage, retry_exceeded())), None);
            let seen =
                Datagrams { sent: 3, answered, heard_by_target, heard_by_source, latency: None };
            pair.datagrams = Some(seen);
            let verdict = judge(&pair);
            assert!(verdict.detail.contains("datagrams"), "{}", verdict.detail);
            verdict.code
        };
        assert_eq!(code(1, 1, 1), Code::NoAck);
        assert_eq!(code(0, 3, 0), Code::Asymmetric);
        assert_eq!(code(0, 0, 3), Code::Asymmetric);
        assert_eq!(code(0, 0, 0), Code::Udp4791Blocked);
    }

    #[test]
    fn a_request_that_is_only_flushed_was_as_silent_as_one_that_got_lost() {
        let flushed = Cause::Completion("IBV_WC_WR_FLUSH_ERR".into());
        let mut pair = evidence(Some(at(Stage::FirstMessage, flushed)), None);
        assert_eq!(judge(&pair).code, Code::Udp4791Blocked);
        pair.datagrams = Some(Datagrams { sent: 1, answered: 1, ..Datagrams::default() });
        assert_eq!(judge(&pair).code, Code::NoAck);
    }

    #[test]
    fn neither_datagrams_nor_tcp_is_a_rail_that_is_down() {
        let mut pair = evidence(Some(at(Stage::FirstMessage, retry_exceeded())), None);
        pair.datagrams = Some(Datagrams { sent: 3, ..Datagrams::default() });
        pair.tcp = Some(Err(at(Stage::Tcp, Cause::Timeout)));
        assert_eq!(judge(&pair).code, Code::RailDown);
    }

    #[test]
    fn other_transports_must_pass_only_where_they_were_asked_for() {
        let mut pair = Evidence { passed: true, ..evidence(None, None) };
        pair.datagrams = Some(Datagrams { sent: 3, ..Datagrams::default() });
        assert_eq!(judge(&pair).code, Code::Ok);
        pair.wants_datagrams = true;
        assert_eq!(judge(&pair).code, Code::NoDatagrams);
        pair.datagrams = None;
        assert_eq!(judge(&pair).code, Code::Ok, "the driver has none");
        pair.unreliable = Some(at(Stage::FirstMessage, Cause::NoReply));
        assert_eq!(judge(&pair).code, Code::NoUnreliable);
    }

    #[test]
    fn a_stream_that_breaks_is_loss() {
        let mut pair = evidence(Some(at(Stage::Bandwidth, retry_exceeded())), None);
        pair.passed = true;
        assert_eq!(judge(&pair).code, Code::Loss);
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
        assert_eq!(code(Cause::Mtu), Code::MtuMismatch);
    }

    #[test]
    fn an_unresolved_neighbour_is_no_dead_link() {
        let code = |name: &str| {
            judge(&evidence(Some(at(Stage::Connect, Cause::Errno(name.into()))), None)).code
        };
        assert_eq!(code("ETIMEDOUT"), Code::NoNeighbour);
        assert_eq!(code("ENETUNREACH"), Code::LinkDown);
        assert_eq!(code("EHOSTUNREACH"), Code::Prohibited);
        let failed = evidence(Some(at(Stage::Connect, Cause::NoRoute)), None);
        assert_eq!(judge(&failed).code, Code::NoRoute);
        let failed = at(Stage::Connect, Cause::Errno("ETIMEDOUT".into()));
        let failed = Evidence { gids: GidMatch::LinkLocal, ..evidence(Some(failed), None) };
        assert_eq!(judge(&failed).code, Code::LinkLocal);
    }

    #[test]
    fn what_was_acknowledged_and_not_answered_is_no_firewall() {
        let mut silent = evidence(Some(at(Stage::FirstMessage, Cause::NoReply)), None);
        assert_eq!(judge(&silent).code, Code::NotPosting);
        silent.protocol = Protocol::Iwarp;
        assert_eq!(judge(&silent).code, Code::NoAck);
    }

    #[test]
    fn a_status_that_is_no_loss_means_the_same_at_every_stage() {
        for stage in [Stage::FirstMessage, Stage::FullMtu, Stage::Latency, Stage::Bandwidth] {
            for (status, wanted) in [
                ("IBV_WC_RNR_RETRY_EXC_ERR", Code::NotPosting),
                ("IBV_WC_REM_INV_REQ_ERR", Code::MtuMismatch),
                ("IBV_WC_LOC_LEN_ERR", Code::MtuMismatch),
                ("IBV_WC_LOC_PROT_ERR", Code::Agent),
                ("IBV_WC_REM_ACCESS_ERR", Code::Agent),
                ("IBV_WC_REM_OP_ERR", Code::Agent),
            ] {
                let failure = at(stage, Cause::Completion(status.into()));
                let verdict = judge(&evidence(Some(failure), None));
                assert_eq!(verdict.code, wanted, "{status} at {stage:?}");
                assert!(verdict.hint.is_some(), "{status} at {stage:?}");
            }
            let wrong = judge(&evidence(Some(at(stage, Cause::WrongBytes)), None));
            assert_eq!(wrong.code, Code::Corrupted, "{stage:?}");
        }
    }

    #[test]
    fn only_other_families_are_called_so() {
        let invalid = at(Stage::Connect, Cause::Errno("EINVAL".into()));
        let mut pair = evidence(Some(invalid), None);
        assert_eq!(judge(&pair).code, Code::Agent);
        pair.gids = GidMatch::FamiliesDiffer;
        assert_eq!(judge(&pair).code, Code::GidFamily);
    }

    #[test]
    fn a_firewall_that_tells_its_own_host_is_named_at_its_end() {
        let filtered = at(Stage::Connect, Cause::Filtered);
        let verdict = judge(&evidence(None, Some(filtered)));
        assert_eq!((verdict.code, verdict.side), (Code::Udp4791Blocked, Side::Target));
    }

    #[test]
    fn datagrams_that_are_all_there_is_are_silent_like_any_other_packets() {
        let mut pair = evidence(Some(at(Stage::FirstMessage, Cause::Timeout)), None);
        pair.protocol = Protocol::Efa;
        let code = |pair: &Evidence, heard_by_target| {
            let seen = Datagrams { sent: 3, heard_by_target, ..Datagrams::default() };
            judge(&Evidence { datagrams: Some(seen), ..pair.clone() }).code
        };
        assert_eq!(code(&pair, 0), Code::NoAck);
        assert_eq!(code(&pair, 3), Code::Asymmetric);
        pair.tcp = Some(Err(at(Stage::Tcp, Cause::Timeout)));
        assert_eq!(code(&pair, 0), Code::RailDown);
    }

    #[test]
    fn an_iwarp_peer_that_is_silent_is_no_link_that_is_down() {
        let mut pair = evidence(Some(at(Stage::Connect, Cause::Timeout)), None);
        pair.protocol = Protocol::Iwarp;
        assert_eq!(judge(&pair).code, Code::NoAck);
        pair.tcp = Some(Err(at(Stage::Tcp, Cause::Timeout)));
        assert_eq!(judge(&pair).code, Code::RailDown);
    }

    #[test]
    fn a_refusal_is_the_echo_of_what_failed_there() {
        let refused = at(Stage::Connect, Cause::Refused);
        let there = at(Stage::Open, Cause::Errno("ENOMEM".into()));
        let verdict = judge(&evidence(Some(refused.clone()), Some(there)));
        assert_eq!((verdict.code, verdict.side), (Code::Memlock, Side::Target));
        assert_eq!(judge(&evidence(Some(refused), None)).code, Code::NoListener);
    }

    #[test]
    fn of_two_ends_the_one_that_knows_why_is_heard() {
        let unanswered = at(Stage::Connect, Cause::Errno("ETIMEDOUT".into()));
        let full = StepError { fix: Some("sysctl -w".into()), ..unanswered.clone() };
        for (source, target, side) in [
            (&unanswered, &full, Side::Target),
            (&full, &unanswered, Side::Source),
            (&full, &full, Side::Source),
            (&unanswered, &unanswered, Side::Source),
        ] {
            let verdict = judge(&evidence(Some(source.clone()), Some(target.clone())));
            assert_eq!((verdict.code, verdict.side), (Code::NoNeighbour, side));
        }
    }
}
