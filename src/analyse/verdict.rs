//! Verdict on one pair from its evidence.
//!
//! The texts come from the table of verdicts ([`Code`]). [`super::root_cause`] finds the hosts
//! that explain many failed pairs.

mod fix;

pub use fix::{Ends, with_placeholders};
pub(crate) use fix::{fill_names, plain_or, plain_set};

use crate::model::ping::{
    Code, Datagrams, Evidence, FIX_CGROUP, FIX_EFA, FIX_FIRMWARE, FIX_KILLED, FIX_OPEN_FILES,
    FIX_OWN_FIREWALL, FIX_ROCE_V1, FIX_THREADS, GidMatch, Life, Passage, Received, Side, Verdict,
};
use crate::model::probe::{Cause, Stage, StepError};
use crate::model::{GidKind, Protocol};

/// Returns the verdict on one ordered pair.
pub fn judge(evidence: &Evidence, ends: &Ends<'_>) -> Verdict {
    if let Some(verdict) = judge_life(evidence, ends) {
        return verdict;
    }
    let (source, target) = (&evidence.source.failure, &evidence.target.failure);
    let Some((failure, side)) = first_cause(source.as_ref(), target.as_ref()) else {
        return match judge_mads(evidence, ends) {
            Some(verdict) => verdict,
            None if evidence.passed => judge_passed(evidence, ends),
            None => not_tested(),
        };
    };
    let code = match code_of(failure, evidence) {
        // RoCE v1 does not use UDP.
        Code::Udp4791Blocked if is_roce_v1(ends) => Code::NoAck,
        code => code,
    };
    let mut clauses = vec![failure_clause(failure, side, ends)];
    if failure.stage >= Stage::Connect {
        clauses.extend(evidence.datagrams.as_ref().map(|seen| datagram_clause(seen, ends)));
        clauses.extend(evidence.received.map(|seen| received_clause(seen, ends)));
        clauses.extend(evidence.tcp.as_ref().map(|tcp| match tcp {
            Ok(_) => format!("TCP on {} works", ends.netdev(side).unwrap_or("the same interface")),
            Err(tcp) => tcp.detail.clone(),
        }));
    }
    let special = match code {
        Code::Udp4791Blocked if failure.cause == Cause::Filtered => Some(FIX_OWN_FIREWALL),
        Code::NoAck if evidence.protocol == Protocol::Efa => Some(FIX_EFA),
        Code::NoAck if is_roce_v1(ends) => Some(FIX_ROCE_V1),
        Code::Resources => fix_of_resources(&failure.cause),
        _ => None,
    };
    Verdict {
        code,
        stage: Some(failure.stage),
        side,
        error: failure.cause.error(),
        detail: clauses.join("; "),
        hint: hint(code, failure.fix.as_deref(), special, ends, side),
    }
}

fn is_roce_v1(ends: &Ends<'_>) -> bool {
    ends.route.is_some_and(|route| route.source.gid_kind == Some(GidKind::RoceV1))
}

/// Returns the fix from the failed end, else from the table, with the names of the pair.
fn hint(
    code: Code,
    known: Option<&str>,
    special: Option<&str>,
    ends: &Ends<'_>,
    side: Side,
) -> Option<String> {
    let of_table = || special.or_else(|| code.fixes().first().copied());
    Some(ends.fill(known.or_else(of_table)?, side))
}

fn failure_clause(failure: &StepError, side: Side, ends: &Ends<'_>) -> String {
    if failure.cause != Cause::Filtered {
        return failure.detail.clone();
    }
    let host = ends.host(side);
    let to = ends.peer_address(side).map_or(String::new(), |address| format!(" to {address}"));
    format!("{host} drops its own outgoing RoCE packets (UDP 4791){to}")
}

fn code_of(failure: &StepError, evidence: &Evidence) -> Code {
    match &failure.cause {
        Cause::Stuck => return Code::DriverStuck,
        Cause::DeviceGone => return Code::DeviceGone,
        Cause::MemoryLimit(_) => return Code::Memlock,
        Cause::ThreadLimit => return Code::Resources,
        _ => {}
    }
    match failure.stage {
        Stage::Agent | Stage::Choose | Stage::Tcp => Code::Agent,
        Stage::Open => judge_local(&failure.cause),
        Stage::Connect => judge_connect(&failure.cause, evidence),
        stage => judge_status(failure).unwrap_or_else(|| match stage {
            // Earlier messages of this kind passed, so a later failure is loss, not a block.
            Stage::FirstMessage if failure.done == 0 => judge_first_message(failure, evidence),
            Stage::FullMtu if failure.done == 0 => judge_full_mtu(&failure.cause),
            _ => judge_latency(failure),
        }),
    }
}

/// Judges a pair with a working reliable connection. Other requested transports must pass too.
fn judge_passed(evidence: &Evidence, ends: &Ends<'_>) -> Verdict {
    if let Some(failure) = &evidence.unreliable {
        let is_stuck = failure.cause == Cause::Stuck;
        let code = if is_stuck { Code::DriverStuck } else { Code::NoUnreliable };
        let detail = &failure.detail;
        let detail = format!("reliable connections pass; over an unreliable connection, {detail}");
        let hint = hint(code, failure.fix.as_deref(), None, ends, Side::Path);
        let error = failure.cause.error();
        return Verdict { error, hint, ..on_path(code, Some(failure.stage), detail) };
    }
    if evidence.wants_datagrams
        && let Some(datagrams) = evidence.datagrams.as_ref().filter(|one| one.answered == 0)
    {
        let detail = format!("reliable connections pass; {}", datagram_clause(datagrams, ends));
        let hint = hint(Code::NoDatagrams, None, None, ends, Side::Path);
        return Verdict { hint, ..on_path(Code::NoDatagrams, Some(Stage::Connect), detail) };
    }
    on_path(Code::Ok, None, "every message was echoed".into())
}

fn on_path(code: Code, stage: Option<Stage>, detail: String) -> Verdict {
    Verdict { code, stage, side: Side::Path, error: None, detail, hint: None }
}

/// Judges management datagrams (MADs) if they failed or if nothing else was tested.
fn judge_mads(evidence: &Evidence, ends: &Ends<'_>) -> Option<Verdict> {
    let seen = evidence.mad.as_ref()?;
    let Some((failure, side)) = first_cause(seen.source.as_ref(), seen.target.as_ref()) else {
        let detail = format!("{} of {} MADs were answered", seen.answered, seen.sent);
        return seen.is_alone.then_some(on_path(Code::Ok, None, detail));
    };
    let code = match failure.stage {
        Stage::Mad if matches!(failure.cause, Cause::NoReply | Cause::Refused) => Code::NoMadReply,
        _ => code_of(failure, evidence),
    };
    let detail = failure_clause(failure, side, ends);
    let special = (code == Code::Udp4791Blocked).then_some(FIX_OWN_FIREWALL);
    Some(Verdict {
        code,
        stage: Some(failure.stage),
        side: if code == Code::NoMadReply { Side::Path } else { side },
        error: failure.cause.error(),
        detail: if seen.is_alone {
            detail
        } else {
            format!("reliable connections pass; MADs do not: {detail}")
        },
        hint: hint(code, failure.fix.as_deref(), special, ends, side),
    })
}

fn datagram_clause(seen: &Datagrams, ends: &Ends<'_>) -> String {
    let Ends { source, target, .. } = ends;
    let Datagrams { sent, answered, heard_by_target, heard_by_source, .. } = seen;
    match seen.passage() {
        Passage::Both if *answered > 0 => format!("{answered} of {sent} datagrams were answered"),
        Passage::Both => format!(
            "{source} and {target} receive each other's datagrams, but none of {sent} was answered"
        ),
        Passage::There => format!(
            "{target} received {heard_by_target} of {sent} datagrams; {source} received none"
        ),
        Passage::Back => format!(
            "{target} received none of {sent} datagrams; {source} received {heard_by_source}"
        ),
        Passage::Neither => format!("none of {sent} datagrams was answered"),
    }
}

fn received_clause(seen: Received, ends: &Ends<'_>) -> String {
    let (Ends { source, target, .. }, Received { source: back, target: there }) = (ends, seen);
    format!("RoCE packets received meanwhile: {there} by {target}, {back} by {source}")
}

/// Returns the verdict on a pair that was not tested.
pub fn not_tested() -> Verdict {
    on_path(Code::NotTested, None, "the run ended before this pair was tested".into())
}

/// Returns the verdict on a pair whose two names belong to one host.
pub fn one_machine(ends: &Ends<'_>) -> Verdict {
    let Ends { source, target, .. } = ends;
    Verdict { detail: format!("{source} and {target} are names of one host"), ..not_tested() }
}

/// Returns the verdict on a pair during whose test this process was not scheduled.
pub fn interrupted(seen: &Verdict) -> Verdict {
    let detail = format!(
        "rdmactl itself did not run for a while during this test (stopped or suspended, or no CPU time), so that \
         this result does not count: {}: {}",
        seen.code.word(),
        seen.detail
    );
    on_path(Code::NotTested, seen.stage.or(Some(Stage::Agent)), detail)
}

/// Returns the verdict on every pair with a host whose agent does not run.
pub fn judge_host(life: &Life, side: Side, stage: Stage, ends: &Ends<'_>) -> Option<Verdict> {
    let (code, special, detail) = match life {
        Life::Alive => return None,
        Life::Hung(detail) => (Code::PeerHung, None, detail),
        Life::Dead(detail) => (Code::PeerDead, None, detail),
        Life::Killed(detail) => (Code::PeerDead, Some(FIX_KILLED), detail),
        Life::Failed(detail) => (Code::AgentFailed, None, detail),
        Life::Disconnected(detail) => (Code::ConnectionLost, None, detail),
        Life::Expired(detail) => (Code::NotTested, None, detail),
    };
    let hint = hint(code, None, special, ends, side);
    Some(Verdict { side, hint, ..on_path(code, Some(stage), detail.clone()) })
}

fn judge_life(evidence: &Evidence, ends: &Ends<'_>) -> Option<Verdict> {
    let (source, target) = (&evidence.source, &evidence.target);
    let failure = source.failure.as_ref().or(target.failure.as_ref());
    let stage = failure.map_or(Stage::Open, |failure| failure.stage);
    judge_host(&target.life, Side::Target, stage, ends)
        .or_else(|| judge_host(&source.life, Side::Source, stage, ends))
}

/// Returns the failure that came first and the side that reported it. A timeout or a refusal at
/// the source only repeats an error at the target. Of equal causes, the one with a fix is used.
fn first_cause<'a>(
    source: Option<&'a StepError>,
    target: Option<&'a StepError>,
) -> Option<(&'a StepError, Side)> {
    let (Some(mine), Some(theirs)) = (source, target) else {
        let at = |side| move |failure| (failure, side);
        return source.map(at(Side::Source)).or(target.map(at(Side::Target)));
    };
    // The peer of a removed device observes only an effect, at any stage.
    let is_gone = |one: &StepError| one.cause == Cause::DeviceGone;
    let is_echo = is_gone(theirs)
        || matches!(mine.cause, Cause::NoReply | Cause::Timeout | Cause::Refused)
        || is_secondary(mine)
        || mine.stage > theirs.stage
        || (mine.cause == theirs.cause && mine.fix.is_none() && theirs.fix.is_some());
    let theirs_is_echo = is_gone(mine) || theirs.cause == Cause::Timeout || is_secondary(theirs);
    let is_of_target = is_echo && !theirs_is_echo;
    Some(if is_of_target { (theirs, Side::Target) } else { (mine, Side::Source) })
}

/// True for a flushed request: another request failed before it.
fn is_secondary(failure: &StepError) -> bool {
    matches!(&failure.cause, Cause::Completion(status) if status == "IBV_WC_WR_FLUSH_ERR")
}

/// Returns `None` for a limit of the adapter.
fn fix_of_resources(cause: &Cause) -> Option<&'static str> {
    match cause {
        Cause::ThreadLimit => Some(FIX_THREADS),
        Cause::Errno(name) => match name.as_str() {
            "EAGAIN" => Some(FIX_CGROUP),
            "EMFILE" | "ENFILE" => Some(FIX_OPEN_FILES),
            "EIO" => Some(FIX_FIRMWARE),
            _ => None,
        },
        _ => None,
    }
}

fn judge_local(cause: &Cause) -> Code {
    match cause {
        Cause::Library => Code::Library,
        Cause::NoUmad => Code::NoUmad,
        Cause::NoRoute => Code::NoPort,
        Cause::Unsupported => Code::NoTransport,
        Cause::Mtu => Code::MtuMismatch,
        Cause::Errno(name) => match name.as_str() {
            "EACCES" | "EPERM" | "ENOENT" => Code::Permission,
            "ENODATA" | "ENODEV" | "EADDRNOTAVAIL" => Code::GidIndex,
            _ => Code::Resources,
        },
        _ => Code::Agent,
    }
}

fn judge_connect(cause: &Cause, evidence: &Evidence) -> Code {
    match cause {
        Cause::NoRoute => Code::NoRoute,
        Cause::Errno(name) => match name.as_str() {
            "ETIMEDOUT" if evidence.gids == GidMatch::LinkLocal => Code::LinkLocal,
            "ETIMEDOUT" => Code::NoNeighbour,
            "ENETUNREACH" => Code::LinkDown,
            "EHOSTUNREACH" | "EACCES" => Code::Prohibited,
            "EPERM" => Code::Permission,
            "ENODATA" | "ENODEV" | "EADDRNOTAVAIL" => Code::GidIndex,
            "EINVAL" if evidence.gids == GidMatch::FamiliesDiffer => Code::GidFamily,
            // The operator sent a value that the kernel rejects.
            "EINVAL" => Code::Agent,
            _ => Code::Resources,
        },
        Cause::Mtu => Code::MtuMismatch,
        Cause::Filtered => Code::Udp4791Blocked,
        Cause::Refused => Code::NoListener,
        Cause::Unsupported => Code::NoTransport,
        Cause::Library => Code::Library,
        Cause::Timeout => match &evidence.tcp {
            None => Code::RailDown,
            Some(Err(tcp)) if shows_rail_down(tcp) => Code::RailDown,
            Some(_) => Code::NoAck,
        },
        _ => Code::Agent,
    }
}

/// Judges a cause with one meaning at every message: a failed call, or a completion status other
/// than that of an unacknowledged message.
fn judge_status(failure: &StepError) -> Option<Code> {
    let status = match &failure.cause {
        Cause::Completion(status) => status,
        // The provider rejects a request of rdmactl.
        Cause::Errno(name) if name == "EINVAL" => return Some(Code::Agent),
        // The queue is full, or the device fails.
        Cause::Errno(_) => return Some(Code::Resources),
        Cause::Unsupported => return Some(Code::NoTransport),
        _ => return None,
    };
    match status.as_str() {
        "IBV_WC_RNR_RETRY_EXC_ERR" => Some(Code::NotPosting),
        // Both ends have the same path MTU if full packets passed. Soft-RoCE of Linux 5.10 rejects
        // a message of several packets if one of its packets is lost.
        "IBV_WC_REM_INV_REQ_ERR" | "IBV_WC_LOC_LEN_ERR" if failure.done > 0 => Some(Code::Loss),
        "IBV_WC_REM_INV_REQ_ERR" | "IBV_WC_LOC_LEN_ERR" => Some(Code::MtuMismatch),
        "IBV_WC_LOC_PROT_ERR" | "IBV_WC_REM_ACCESS_ERR" | "IBV_WC_REM_OP_ERR" => Some(Code::Agent),
        _ => None,
    }
}

fn judge_first_message(failure: &StepError, evidence: &Evidence) -> Code {
    let passage = evidence.datagrams.as_ref().map(Datagrams::passage);
    let is_no_response = match &failure.cause {
        // Soft-RoCE of Linux 6.12 flushes the request if the local firewall drops its packets.
        Cause::Completion(status) => status == "IBV_WC_RETRY_EXC_ERR" || is_secondary(failure),
        // Datagrams are not acknowledged.
        Cause::NoCompletion | Cause::Timeout => true,
        _ => false,
    };
    let of_no_response = match passage {
        _ if !is_no_response => None,
        Some(Passage::There | Passage::Back) => Some(Code::Asymmetric),
        Some(Passage::Neither) | None => judge_no_response(failure, evidence),
        Some(Passage::Both) => None,
    };
    if let Some(code) = of_no_response {
        return code;
    }
    match &failure.cause {
        Cause::Timeout if passage == Some(Passage::Both) => Code::NotPosting,
        Cause::Completion(_) | Cause::Timeout => Code::NoAck,
        // iWARP completes a send when TCP has accepted it.
        Cause::NoReply if evidence.protocol == Protocol::Iwarp => Code::NoAck,
        Cause::NoReply => Code::NotPosting,
        Cause::NoCompletion => Code::DriverStuck,
        Cause::WrongBytes => Code::Corrupted,
        _ => Code::Agent,
    }
}

/// Judges by TCP, which distinguishes a filter from a rail that is down, and by the packets that
/// both ports received: a filter lets none pass, a full queue some.
fn judge_no_response(failure: &StepError, evidence: &Evidence) -> Option<Code> {
    match &evidence.tcp {
        Some(Ok(_)) if evidence.protocol == Protocol::Roce => {
            Some(match evidence.received.map(Received::passage) {
                Some(Passage::Both) => Code::NoAck,
                Some(Passage::There | Passage::Back) => Code::Asymmetric,
                Some(Passage::Neither) | None => Code::Udp4791Blocked,
            })
        }
        // rxe of Linux 5.10 does not complete a request whose packets the local firewall drops.
        Some(Err(tcp)) if failure.cause != Cause::NoCompletion && shows_rail_down(tcp) => {
            Some(Code::RailDown)
        }
        _ => None,
    }
}

/// True if a rail that is down explains the failure of TCP. False if TCP failed on a host itself,
/// or if its packets passed.
fn shows_rail_down(tcp: &StepError) -> bool {
    !matches!(tcp.cause, Cause::Errno(_) | Cause::NoRoute | Cause::ThreadLimit | Cause::WrongBytes)
}

fn judge_full_mtu(cause: &Cause) -> Code {
    match cause {
        Cause::Completion(_) | Cause::NoReply | Cause::NoCompletion => Code::MtuBlackhole,
        Cause::WrongBytes => Code::Corrupted,
        _ => Code::Agent,
    }
}

fn judge_latency(failure: &StepError) -> Code {
    match &failure.cause {
        // The adapter retransmits for longer than the timeout of a stream.
        Cause::NoCompletion if failure.stage == Stage::Bandwidth => Code::Loss,
        Cause::Completion(_) | Cause::NoReply => Code::Loss,
        Cause::WrongBytes => Code::Corrupted,
        Cause::NoCompletion => Code::DriverStuck,
        _ => Code::Agent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::KnownFix;
    use crate::model::ping::{EndEvidence, MadEvidence};
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

    /// Judges a pair whose ports are not known.
    fn judge(evidence: &Evidence) -> Verdict {
        super::judge(evidence, &Ends { source: "n1", target: "n2", route: None })
    }

    #[test]
    fn a_thread_that_cannot_start_is_a_limit_of_the_host() {
        let verdict = judge(&failed(Stage::Open, Cause::ThreadLimit));
        assert_eq!(verdict.code, Code::Resources);
        assert!(verdict.hint.is_some_and(|hint| hint.contains("ulimit -u")));
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
            received: None,
            unreliable: None,
            mad: None,
            tcp: Some(Ok(trips())),
            passed: false,
            rdma: None,
        }
    }

    /// Returns the evidence of a pair whose source failed.
    fn failed(stage: Stage, cause: Cause) -> Evidence {
        evidence(Some(at(stage, cause)), None)
    }

    #[test]
    fn a_device_that_is_gone_is_the_cause_at_either_end() {
        let gone = at(Stage::Latency, Cause::DeviceGone);
        for other in [
            at(Stage::FirstMessage, retry_exceeded()),
            at(Stage::Latency, Cause::NoReply),
            at(Stage::Connect, Cause::Errno("ETIMEDOUT".into())),
        ] {
            let here = judge(&evidence(Some(gone.clone()), Some(other.clone())));
            assert_eq!((here.code, here.side), (Code::DeviceGone, Side::Source));
            let there = judge(&evidence(Some(other), Some(gone.clone())));
            assert_eq!((there.code, there.side), (Code::DeviceGone, Side::Target));
        }
    }

    #[test]
    fn a_call_that_pins_memory_fails_by_the_limit_at_every_stage() {
        for errno in ["EPERM", "ENOMEM"] {
            for stage in [Stage::Open, Stage::Connect] {
                let failure = at(stage, Cause::MemoryLimit(errno.into()));
                let verdict = judge(&evidence(None, Some(failure)));
                assert_eq!((verdict.code, verdict.side), (Code::Memlock, Side::Target));
                assert_eq!(verdict.error.as_deref(), Some(errno));
            }
        }
        let open = failed(Stage::Open, Cause::Errno("EPERM".into()));
        assert_eq!(judge(&open).code, Code::Permission);
    }

    #[test]
    fn a_missing_device_file_and_a_missing_driver_have_a_fix_that_names_the_host() {
        for (cause, words) in [
            (Cause::Errno("ENOENT".into()), "--device=/dev/infiniband"),
            (Cause::Library, "apt install ibverbs-providers"),
        ] {
            let hint = judge(&evidence(None, Some(at(Stage::Open, cause)))).hint.unwrap();
            assert!(hint.starts_with("on n2, ") && hint.contains(words), "{hint}");
        }
    }

    #[test]
    fn answered_messages_are_ok() {
        let all_well = Evidence { passed: true, ..evidence(None, None) };
        assert_eq!(judge(&all_well).code, Code::Ok);
    }

    #[test]
    fn the_error_that_was_seen_is_named_as_it_is() {
        let error = |cause| judge(&failed(Stage::Connect, cause)).error;
        assert_eq!(error(retry_exceeded()).as_deref(), Some("IBV_WC_RETRY_EXC_ERR"));
        assert_eq!(error(Cause::Errno("ETIMEDOUT".into())).as_deref(), Some("ETIMEDOUT"));
        assert_eq!(error(Cause::NoReply), None);
    }

    #[test]
    fn no_answer_and_no_failure_is_not_a_pass() {
        assert_eq!(judge(&evidence(None, None)).code, Code::NotTested);
    }

    #[test]
    fn tcp_distinguishes_a_filtered_port_from_a_dead_rail() {
        let mut pair = failed(Stage::FirstMessage, retry_exceeded());
        assert_eq!(judge(&pair).code, Code::Udp4791Blocked);
        pair.tcp = Some(Err(at(Stage::Tcp, Cause::Timeout)));
        assert_eq!(judge(&pair).code, Code::RailDown);
        pair.tcp = Some(Err(at(Stage::Tcp, Cause::Errno("EADDRINUSE".into()))));
        assert_eq!(judge(&pair).code, Code::NoAck, "no free port says nothing about the rail");
        for cause in [Cause::ThreadLimit, Cause::WrongBytes] {
            pair.tcp = Some(Err(at(Stage::Tcp, cause)));
            assert_eq!(judge(&pair).code, Code::NoAck, "packets of TCP passed");
        }
        pair.tcp = Some(Ok(trips()));
        pair.protocol = Protocol::Ib;
        assert_eq!(judge(&pair).code, Code::NoAck);
        // TCP was not tested, so the state of the rail is unknown.
        pair.tcp = None;
        assert_eq!(judge(&pair).code, Code::NoAck);
    }

    #[test]
    fn a_request_that_never_ends_is_a_filter_only_where_tcp_passes() {
        let mut pair = failed(Stage::FirstMessage, Cause::NoCompletion);
        assert_eq!(judge(&pair).code, Code::Udp4791Blocked);
        pair.tcp = None;
        assert_eq!(judge(&pair).code, Code::DriverStuck);
    }

    #[test]
    fn datagrams_distinguish_a_filter_from_a_failed_connection() {
        let code = |answered, heard_by_target, heard_by_source| {
            let mut pair = failed(Stage::FirstMessage, retry_exceeded());
            let latency = None;
            let seen = Datagrams { sent: 3, answered, heard_by_target, heard_by_source, latency };
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
    fn only_a_path_without_any_roce_packet_is_blocked() {
        for cause in [retry_exceeded(), Cause::NoCompletion] {
            let verdict = |source, target| {
                let received = Some(Received { source, target });
                judge(&Evidence { received, ..failed(Stage::FirstMessage, cause.clone()) })
            };
            assert_eq!(verdict(0, 0).code, Code::Udp4791Blocked);
            assert_eq!(verdict(0, 4).code, Code::Asymmetric);
            assert_eq!(verdict(2, 0).code, Code::Asymmetric);
            let Verdict { code, detail, .. } = verdict(2, 4);
            assert_eq!(code, Code::NoAck);
            let clause = "RoCE packets received meanwhile: 4 by n2, 2 by n1";
            assert!(detail.contains(clause), "{detail}");
        }
    }

    #[test]
    fn a_request_that_is_only_flushed_was_as_silent_as_one_that_got_lost() {
        let flushed = Cause::Completion("IBV_WC_WR_FLUSH_ERR".into());
        let mut pair = failed(Stage::FirstMessage, flushed);
        assert_eq!(judge(&pair).code, Code::Udp4791Blocked);
        pair.datagrams = Some(Datagrams { sent: 1, answered: 1, ..Datagrams::default() });
        assert_eq!(judge(&pair).code, Code::NoAck);
    }

    #[test]
    fn neither_datagrams_nor_tcp_is_a_rail_that_is_down() {
        let mut pair = failed(Stage::FirstMessage, retry_exceeded());
        pair.datagrams = Some(Datagrams { sent: 3, ..Datagrams::default() });
        pair.tcp = Some(Err(at(Stage::Tcp, Cause::Timeout)));
        assert_eq!(judge(&pair).code, Code::RailDown);
    }

    #[test]
    fn mads_have_verdicts_of_their_own() {
        let mad = |source, target, is_alone| {
            let (sent, answered) = (3, 0);
            let mad = Some(MadEvidence { sent, answered, source, target, is_alone });
            Evidence { mad, tcp: None, passed: !is_alone, ..evidence(None, None) }
        };
        let verdict = judge(&mad(Some(at(Stage::Open, Cause::NoUmad)), None, true));
        assert_eq!((verdict.code, verdict.side), (Code::NoUmad, Side::Source));
        assert_eq!(
            verdict.hint.as_deref(),
            Some(
                "on n1, load the module and list the device files: modprobe ib_umad; ls -l \
                 /dev/infiniband"
            )
        );
        let denied = || Some(at(Stage::Open, Cause::Errno("EACCES".into())));
        let verdict = judge(&mad(None, denied(), true));
        assert_eq!((verdict.code, verdict.side), (Code::Permission, Side::Target));
        let lost = || Some(at(Stage::Mad, Cause::NoReply));
        let verdict = judge(&mad(lost(), None, false));
        assert_eq!((verdict.code, verdict.side), (Code::NoMadReply, Side::Path));
        assert_eq!(verdict.detail, "reliable connections pass; MADs do not: seen");
        // A target that cannot reply explains the missing replies.
        let filtered = Some(at(Stage::Connect, Cause::Filtered));
        let verdict = judge(&mad(lost(), filtered, true));
        assert_eq!((verdict.code, verdict.side), (Code::Udp4791Blocked, Side::Target));
        let none = Some(at(Stage::Open, Cause::Unsupported));
        assert_eq!(judge(&mad(none, None, true)).code, Code::NoTransport);
        let mut well = mad(None, None, true);
        well.mad.as_mut().unwrap().answered = 3;
        let verdict = judge(&well);
        assert_eq!((verdict.code, &*verdict.detail), (Code::Ok, "3 of 3 MADs were answered"));
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
        let mut pair = failed(Stage::Bandwidth, retry_exceeded());
        pair.passed = true;
        assert_eq!(judge(&pair).code, Code::Loss);
    }

    #[test]
    fn a_dead_host_is_dead_whatever_else_was_seen() {
        let mut pair = failed(Stage::FirstMessage, retry_exceeded());
        pair.target.life = Life::Dead("gone".into());
        let verdict = judge(&pair);
        assert_eq!((verdict.code, verdict.side), (Code::PeerDead, Side::Target));
        assert_eq!(verdict.stage, Some(Stage::FirstMessage));
    }

    #[test]
    fn a_hung_peer_is_named_at_its_side() {
        let mut pair = failed(Stage::Latency, Cause::NoReply);
        pair.source.life = Life::Hung("stopped".into());
        assert_eq!((judge(&pair).code, judge(&pair).side), (Code::PeerHung, Side::Source));
    }

    #[test]
    fn full_packets_that_vanish_are_a_black_hole_from_either_end() {
        let there = failed(Stage::FullMtu, retry_exceeded());
        assert_eq!(judge(&there).code, Code::MtuBlackhole);
        let back = evidence(
            Some(at(Stage::FullMtu, Cause::NoReply)),
            Some(at(Stage::FullMtu, retry_exceeded())),
        );
        let verdict = judge(&back);
        assert_eq!((verdict.code, verdict.side), (Code::MtuBlackhole, Side::Target));
    }

    #[test]
    fn failure_after_completed_messages_is_packet_loss() {
        for stage in [Stage::FirstMessage, Stage::FullMtu, Stage::Latency] {
            let failure = StepError { done: 1, ..at(stage, retry_exceeded()) };
            assert_eq!(judge(&evidence(Some(failure), None)).code, Code::Loss, "{stage:?}");
        }
    }

    #[test]
    fn a_rejected_message_after_full_packets_is_packet_loss() {
        let rejected = Cause::Completion("IBV_WC_REM_INV_REQ_ERR".into());
        let failure = StepError { done: 5, ..at(Stage::FullMtu, rejected) };
        assert_eq!(judge(&evidence(Some(failure), None)).code, Code::Loss);
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
    fn local_causes_have_different_codes() {
        let code = |cause| judge(&failed(Stage::Open, cause)).code;
        assert_eq!(code(Cause::Errno("EACCES".into())), Code::Permission);
        assert_eq!(code(Cause::Errno("ENOMEM".into())), Code::Resources);
        assert_eq!(code(Cause::MemoryLimit("ENOMEM".into())), Code::Memlock);
        assert_eq!(code(Cause::Errno("ENODATA".into())), Code::GidIndex);
        assert_eq!(code(Cause::Library), Code::Library);
        assert_eq!(code(Cause::Unsupported), Code::NoTransport);
        assert_eq!(code(Cause::Mtu), Code::MtuMismatch);
    }

    #[test]
    fn a_fix_that_an_end_knows_names_the_host() {
        let fix = Some(KnownFix::SetMtu.with(&["eth1"]));
        let failure = StepError { fix, ..at(Stage::Open, Cause::Mtu) };
        let hint = judge(&evidence(None, Some(failure))).hint;
        assert_eq!(hint.as_deref(), Some("on n2: ip link set eth1 mtu 1500"));
    }

    #[test]
    fn an_unresolved_neighbour_is_no_dead_link() {
        let code = |name: &str| judge(&failed(Stage::Connect, Cause::Errno(name.into()))).code;
        assert_eq!(code("ETIMEDOUT"), Code::NoNeighbour);
        assert_eq!(code("ENETUNREACH"), Code::LinkDown);
        assert_eq!(code("EHOSTUNREACH"), Code::Prohibited);
        assert_eq!(judge(&failed(Stage::Connect, Cause::NoRoute)).code, Code::NoRoute);
        let pair = failed(Stage::Connect, Cause::Errno("ETIMEDOUT".into()));
        let pair = Evidence { gids: GidMatch::LinkLocal, ..pair };
        assert_eq!(judge(&pair).code, Code::LinkLocal);
    }

    #[test]
    fn acknowledged_message_without_a_reply_is_no_firewall() {
        let mut silent = failed(Stage::FirstMessage, Cause::NoReply);
        assert_eq!(judge(&silent).code, Code::NotPosting);
        silent.protocol = Protocol::Iwarp;
        assert_eq!(judge(&silent).code, Code::NoAck);
    }

    #[test]
    fn a_status_of_the_first_message_means_the_same_at_every_stage() {
        for stage in [Stage::FirstMessage, Stage::FullMtu, Stage::Latency, Stage::Bandwidth] {
            for (status, wanted) in [
                ("IBV_WC_RNR_RETRY_EXC_ERR", Code::NotPosting),
                ("IBV_WC_REM_INV_REQ_ERR", Code::MtuMismatch),
                ("IBV_WC_LOC_LEN_ERR", Code::MtuMismatch),
                ("IBV_WC_LOC_PROT_ERR", Code::Agent),
                ("IBV_WC_REM_ACCESS_ERR", Code::Agent),
                ("IBV_WC_REM_OP_ERR", Code::Agent),
            ] {
                let verdict = judge(&failed(stage, Cause::Completion(status.into())));
                assert_eq!(verdict.code, wanted, "{status} at {stage:?}");
                assert!(verdict.hint.is_some(), "{status} at {stage:?}");
            }
            let wrong = judge(&failed(stage, Cause::WrongBytes));
            assert_eq!(wrong.code, Code::Corrupted, "{stage:?}");
        }
    }

    #[test]
    fn gid_family_verdict_needs_different_families() {
        let mut pair = failed(Stage::Connect, Cause::Errno("EINVAL".into()));
        assert_eq!(judge(&pair).code, Code::Agent);
        pair.gids = GidMatch::FamiliesDiffer;
        assert_eq!(judge(&pair).code, Code::GidFamily);
    }

    #[test]
    fn the_side_of_the_verdict_is_the_host_with_the_firewall() {
        let filtered = at(Stage::Connect, Cause::Filtered);
        let verdict = judge(&evidence(None, Some(filtered)));
        assert_eq!((verdict.code, verdict.side), (Code::Udp4791Blocked, Side::Target));
        let detail =
            "n2 drops its own outgoing RoCE packets (UDP 4791); TCP on the same interface works";
        assert_eq!(verdict.detail, detail);
        assert!(
            verdict.hint.is_some_and(
                |hint| hint.starts_with("on n2, allow UDP port 4791 (RoCE) in and out")
            )
        );
    }

    #[test]
    fn lost_datagrams_of_efa_have_verdicts_of_lost_packets() {
        let mut pair = failed(Stage::FirstMessage, Cause::Timeout);
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
        let mut pair = failed(Stage::Connect, Cause::Timeout);
        pair.protocol = Protocol::Iwarp;
        assert_eq!(judge(&pair).code, Code::NoAck);
        pair.tcp = Some(Err(at(Stage::Tcp, Cause::Timeout)));
        assert_eq!(judge(&pair).code, Code::RailDown);
    }

    #[test]
    fn error_of_the_target_explains_a_refused_connection() {
        let refused = at(Stage::Connect, Cause::Refused);
        let there = at(Stage::Open, Cause::MemoryLimit("ENOMEM".into()));
        let verdict = judge(&evidence(Some(refused.clone()), Some(there)));
        assert_eq!((verdict.code, verdict.side), (Code::Memlock, Side::Target));
        assert_eq!(judge(&evidence(Some(refused), None)).code, Code::NoListener);
    }

    #[test]
    fn verdict_names_the_end_whose_error_has_a_fix() {
        let unanswered = at(Stage::Connect, Cause::Errno("ETIMEDOUT".into()));
        let full = StepError { fix: Some(KnownFix::RaiseNeighbours4.into()), ..unanswered.clone() };
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
