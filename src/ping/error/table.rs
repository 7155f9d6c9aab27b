//! Tests every line of the table of errors, docs/errors.tsv.

use std::collections::BTreeSet;
use std::fmt::Debug;

use super::{cm_error, verbs_error_of};
use crate::analyse::verdict::{Ends, judge};
use crate::model::Protocol;
use crate::model::ping::{Code, EndEvidence, Evidence, GidMatch, Life};
use crate::model::probe::{Stage, StepError};
use crate::sys::Errno;
use crate::sys::cm::{CmError, CmEvent, CmStep, EventKind, EventStatus};
use crate::sys::verbs::{VerbsError, VerbsOperation};

/// Words of the table for operations of libibverbs.
const OPERATIONS: [(&str, VerbsOperation); 20] = [
    ("list", VerbsOperation::List),
    ("open", VerbsOperation::Open),
    ("query-device", VerbsOperation::QueryDevice),
    ("query-port", VerbsOperation::QueryPort),
    ("query-gid", VerbsOperation::QueryGid),
    ("query-pkey", VerbsOperation::QueryPkey),
    ("alloc-pd", VerbsOperation::AllocateDomain),
    ("reg-mr", VerbsOperation::RegisterMemory),
    ("create-channel", VerbsOperation::CreateChannel),
    ("create-cq", VerbsOperation::CreateCompletionQueue),
    ("create-qp", VerbsOperation::CreateQueuePair),
    ("create-ah", VerbsOperation::CreateAddress),
    ("to-init", VerbsOperation::ToInit),
    ("to-rtr", VerbsOperation::ToReceive),
    ("to-rts", VerbsOperation::ToSend),
    ("post-send", VerbsOperation::PostSend),
    ("post-receive", VerbsOperation::PostReceive),
    ("poll", VerbsOperation::Poll),
    ("arm", VerbsOperation::Arm),
    ("wait", VerbsOperation::Wait),
];

/// Words of the table for calls of librdmacm.
const STEPS: [(&str, CmStep); 11] = [
    ("cm-start", CmStep::Start),
    ("cm-create", CmStep::Create),
    ("cm-bind", CmStep::Bind),
    ("cm-listen", CmStep::Listen),
    ("cm-receive", CmStep::Receive),
    ("cm-resolve-address", CmStep::ResolveAddress),
    ("cm-resolve-route", CmStep::ResolveRoute),
    ("cm-connect", CmStep::Connect),
    ("cm-accept", CmStep::Accept),
    ("cm-watch", CmStep::Watch),
    ("cm-disconnect", CmStep::Disconnect),
];

/// Words of the table for events of librdmacm, whose error is the status of the event.
const EVENTS: [(&str, EventKind); 14] = [
    ("event-address-resolved", EventKind::AddressResolved),
    ("event-address-error", EventKind::AddressError),
    ("event-route-resolved", EventKind::RouteResolved),
    ("event-route-error", EventKind::RouteError),
    ("event-connect-request", EventKind::ConnectRequest),
    ("event-connect-response", EventKind::ConnectResponse),
    ("event-connect-error", EventKind::ConnectError),
    ("event-unreachable", EventKind::Unreachable),
    ("event-rejected", EventKind::Rejected),
    ("event-established", EventKind::Established),
    ("event-disconnected", EventKind::Disconnected),
    ("event-device-removal", EventKind::DeviceRemoval),
    ("event-address-change", EventKind::AddressChange),
    ("event-timewait-exit", EventKind::TimewaitExit),
];

/// Stages of the steps in which operations run.
const STAGES: [Stage; 6] = [
    Stage::Open,
    Stage::Connect,
    Stage::FirstMessage,
    Stage::FullMtu,
    Stage::Latency,
    Stage::Bandwidth,
];

fn named<T: Copy>(table: &[(&str, T)], wanted: &str) -> Option<T> {
    table.iter().find(|(word, _)| *word == wanted).map(|(_, one)| *one)
}

fn errno(name: &str) -> Errno {
    Errno::from_name(name).unwrap_or_else(|| panic!("no such error: {name}"))
}

fn status(text: &str) -> EventStatus {
    match text.strip_prefix("reason ") {
        Some(reason) => EventStatus::Reason(reason.parse().expect("a number")),
        None if text == "0" => EventStatus::Good,
        None => EventStatus::Failed(errno(text)),
    }
}

/// Returns the failure of a step with a stage, in which an operation of the table fails.
fn failure(stage: Stage, operation: &str, error: &str, is_limited: bool) -> StepError {
    let object = "rxe0".to_owned();
    if let Some(operation) = named(&OPERATIONS, operation) {
        let error = VerbsError::Call { operation, object, errno: errno(error) };
        return verbs_error_of(stage, &error, is_limited);
    }
    let error = if let Some(step) = named(&STEPS, operation) {
        CmError::Call { step, object, errno: errno(error) }
    } else {
        let kind = named(&EVENTS, operation).expect("a word of the table");
        let event = CmEvent { kind, status: status(error) };
        CmError::Event { step: CmStep::Connect, object, event }
    };
    cm_error(stage, &error)
}

fn code(failure: StepError) -> Code {
    let source = EndEvidence { failure: Some(failure), life: Life::Alive };
    let evidence = Evidence {
        source,
        target: EndEvidence { failure: None, life: Life::Alive },
        protocol: Protocol::Roce,
        gids: GidMatch::Global,
        datagrams: None,
        wants_datagrams: false,
        received: None,
        unreliable: None,
        mad: None,
        tcp: None,
        passed: false,
        rdma: None,
    };
    judge(&evidence, &Ends { source: "n1", target: "n2", route: None }).code
}

/// Returns the operation, the error and the verdict of each line.
fn lines() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let lines = include_str!("../../../docs/errors.tsv").lines().skip(1);
    lines.map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [operation, error, verdict, meaning, source] = cells[..] else { panic!("{line}") };
        assert!(!meaning.is_empty() && !source.is_empty(), "{line}");
        (operation, error, verdict)
    })
}

#[test]
fn each_error_of_each_operation_has_the_verdict_of_the_table() {
    let wrong: Vec<String> = lines()
        .flat_map(|line| STAGES.map(|stage| (stage, line)))
        .filter_map(|(stage, (operation, error, wanted))| {
            let seen = code(failure(stage, operation, error, true)).word();
            let what = format!("{operation} {error} at {stage:?}: {seen}, not {wanted}");
            (seen != wanted).then_some(what)
        })
        .collect();
    assert_eq!(wrong, [""; 0]);
}

/// Returns the words of all values; fails if a value has no word.
fn words<T: PartialEq + Debug>(all: &[T], table: &[(&'static str, T)]) -> Vec<&'static str> {
    let word = |one: &T| {
        let found = table.iter().find(|(_, other)| other == one);
        found.unwrap_or_else(|| panic!("{one:?} has no word")).0
    };
    all.iter().map(word).collect()
}

#[test]
fn each_operation_each_step_and_each_event_has_a_line() {
    let words = [
        words(VerbsOperation::ALL, &OPERATIONS),
        words(CmStep::ALL, &STEPS),
        words(EventKind::ALL, &EVENTS),
    ];
    let wanted: BTreeSet<&str> = words.into_iter().flatten().collect();
    let listed: BTreeSet<&str> = lines().map(|(operation, ..)| operation).collect();
    assert_eq!(listed, wanted);
}

#[test]
fn without_a_limit_no_error_is_one_of_locked_memory() {
    for (operation, error, verdict) in lines().filter(|line| line.2 == Code::Memlock.word()) {
        let seen = code(failure(Stage::Open, operation, error, false));
        let wanted = if error == "EPERM" { Code::Permission } else { Code::Resources };
        assert_eq!(seen, wanted, "{operation} {error}: {verdict}");
    }
}

#[test]
fn unlisted_errno_has_a_generic_verdict() {
    let calls = OPERATIONS.iter().map(|(word, _)| *word);
    for word in calls.chain(STEPS.iter().map(|(word, _)| *word)) {
        for stage in STAGES {
            let seen = code(failure(stage, word, "errno 200", true));
            assert_eq!(seen, Code::Resources, "{word} at {stage:?}");
        }
    }
}
