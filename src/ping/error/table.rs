//! Tests every line of the table of errors, docs/errors.tsv.

use super::{cm_error, verbs_error_of};
use crate::analyse::verdict::{Ends, judge};
use crate::model::Protocol;
use crate::model::ping::{Code, EndEvidence, Evidence, GidMatch, Life};
use crate::model::probe::{Stage, StepError};
use crate::sys::Errno;
use crate::sys::cm::{CmError, CmStep};
use crate::sys::verbs::{VerbsError, VerbsOperation};

/// Words of the table, with the operation and the stage of the test in which it runs.
const OPERATIONS: [(&str, VerbsOperation, Stage); 14] = [
    ("open", VerbsOperation::Open, Stage::Open),
    ("query-port", VerbsOperation::QueryPort, Stage::Open),
    ("query-gid", VerbsOperation::QueryGid, Stage::Open),
    ("query-pkey", VerbsOperation::QueryPkey, Stage::Open),
    ("alloc-pd", VerbsOperation::AllocateDomain, Stage::Open),
    ("reg-mr", VerbsOperation::RegisterMemory, Stage::Open),
    ("create-channel", VerbsOperation::CreateChannel, Stage::Open),
    ("create-cq", VerbsOperation::CreateCompletionQueue, Stage::Open),
    ("create-qp", VerbsOperation::CreateQueuePair, Stage::Open),
    ("create-ah", VerbsOperation::CreateAddress, Stage::Connect),
    ("to-init", VerbsOperation::ToInit, Stage::Connect),
    ("to-rtr", VerbsOperation::ToReceive, Stage::Connect),
    ("to-rts", VerbsOperation::ToSend, Stage::Connect),
    ("post-send", VerbsOperation::PostSend, Stage::Connect),
];

/// Words and stages of the connection manager.
const STEPS: [(&str, CmStep, Stage); 9] = [
    ("cm-start", CmStep::Start, Stage::Open),
    ("cm-create", CmStep::Create, Stage::Open),
    ("cm-bind", CmStep::Bind, Stage::Open),
    ("cm-listen", CmStep::Listen, Stage::Open),
    ("cm-resolve-address", CmStep::ResolveAddress, Stage::Connect),
    ("cm-resolve-route", CmStep::ResolveRoute, Stage::Connect),
    ("cm-connect", CmStep::Connect, Stage::Connect),
    ("cm-accept", CmStep::Accept, Stage::Connect),
    ("cm-watch", CmStep::Watch, Stage::Connect),
];

fn failure(operation: &str, errno: Errno, is_limited: bool) -> StepError {
    let object = "rxe0".to_owned();
    if let Some(&(_, operation, stage)) = OPERATIONS.iter().find(|(word, ..)| *word == operation) {
        verbs_error_of(stage, &VerbsError::Call { operation, object, errno }, is_limited)
    } else {
        let &(_, step, stage) =
            STEPS.iter().find(|(word, ..)| *word == operation).expect("a word of the table");
        cm_error(stage, &CmError::Call { step, object, errno })
    }
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
        unreliable: None,
        mad: None,
        tcp: None,
        passed: false,
        rdma: None,
    };
    judge(&evidence, &Ends { source: "n1", target: "n2", route: None }).code
}

/// Returns the operation, the error and the verdict of each line.
fn lines() -> impl Iterator<Item = (&'static str, Errno, &'static str)> {
    let lines = include_str!("../../../docs/errors.tsv").lines().skip(1);
    lines.map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [operation, errno, verdict, source] = cells[..] else { panic!("{line}") };
        assert!(!source.is_empty(), "{line}");
        let code = (1..=133).map(Errno::from_code).find(|code| code.name() == errno);
        (operation, code.unwrap_or_else(|| panic!("no such error: {line}")), verdict)
    })
}

#[test]
fn each_error_of_each_operation_has_the_verdict_of_the_table() {
    let wrong: Vec<String> = lines()
        .filter_map(|(operation, errno, wanted)| {
            let seen = code(failure(operation, errno, true)).word();
            (seen != wanted).then(|| format!("{operation} {errno}: {seen}, not {wanted}"))
        })
        .collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn without_a_limit_no_error_is_one_of_locked_memory() {
    for (operation, errno, verdict) in lines().filter(|line| line.2 == Code::Memlock.word()) {
        let seen = code(failure(operation, errno, false));
        let wanted = if errno == Errno::NOT_PERMITTED { Code::Permission } else { Code::Resources };
        assert_eq!(seen, wanted, "{operation} {errno}: {verdict}");
    }
}

#[test]
fn unlisted_errno_has_a_generic_verdict() {
    for (word, ..) in OPERATIONS {
        let seen = code(failure(word, Errno::from_code(200), true));
        assert!(matches!(seen, Code::Resources | Code::RailDown), "{word}: {seen:?}");
    }
}
