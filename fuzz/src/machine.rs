//! Simulated machine that answers like a fixture, except where the fuzzer replaces an answer.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::OnceLock;

use rdmactl::capture::Capture;
use rdmactl::collect::host_report;
use rdmactl::model::{HostReport, Parts, Via};
use rdmactl::source::{Answer, Entry, Question, ReadError, Recorded, Source};

use super::shown;

/// Fixtures that the fuzzer can start from.
const FIXTURES: [&[u8]; 6] = [
    include_bytes!("../../tests/fixtures/mlx5_roce/capture.ndjson"),
    include_bytes!("../../tests/fixtures/mlx5_ib/capture.ndjson"),
    include_bytes!("../../tests/fixtures/rxe_siw/capture.ndjson"),
    include_bytes!("../../tests/fixtures/hfi1/capture.ndjson"),
    include_bytes!("../../tests/fixtures/efa/capture.ndjson"),
    include_bytes!("../../tests/fixtures/broken/capture.ndjson"),
];

/// Maximum number of questions. After it, each file is absent: a machine with 4096 devices of 256
/// ports is within the limits of the program, but takes too long for a fuzzer.
const MAX_QUESTIONS: usize = 3_000;

/// Maximum bytes of JSON for each question, and for each byte of an answer. A problem names its
/// path three times. A byte may become `\u001b`, both in a value and in the problem that quotes
/// it.
const PER_QUESTION: usize = 4_096;
const PER_BYTE: usize = 16;

/// Recorded answers of one host of a fixture.
struct Base {
    recorded: Recorded,
    /// Answers by kind of question and last component of the path, so that devices that exist
    /// only in the fuzzer's input have files too.
    by_name: HashMap<(u8, String), Answer>,
}

/// Host of a fixture, with the changes of the fuzzer.
pub(crate) struct Machine<'changes> {
    base: &'static Base,
    change: &'changes dyn Fn(&Question) -> Option<Answer>,
    questions: Cell<usize>,
    bytes: Cell<usize>,
}

impl<'changes> Machine<'changes> {
    /// Creates the machine of a fixture. Each number selects a fixture.
    pub(crate) fn new(
        fixture: usize,
        change: &'changes dyn Fn(&Question) -> Option<Answer>,
    ) -> Self {
        let base = &bases()[fixture % FIXTURES.len()];
        Self { base, change, questions: Cell::new(0), bytes: Cell::new(0) }
    }

    /// Reads parts of the machine and prints the report in each format.
    pub(crate) fn read(&self, parts: &Parts) -> HostReport {
        let reports = [host_report(self, parts, "fuzzed", Via::File)];
        let length = shown::print(&reports);
        assert!(length <= self.most(), "{length} bytes of JSON for {} bytes", self.bytes.get());
        let [report] = reports;
        report
    }

    /// Returns the maximum length of an output made from the answers so far, in bytes.
    pub(crate) fn most(&self) -> usize {
        PER_QUESTION * (self.questions.get() + 16) + PER_BYTE * self.bytes.get()
    }
}

impl Source for Machine<'_> {
    fn ask(&self, question: &Question) -> Answer {
        self.questions.set(self.questions.get() + 1);
        if self.questions.get() > MAX_QUESTIONS {
            return Err(absent());
        }
        let answer = (self.change)(question).unwrap_or_else(|| self.base.answer(question));
        self.bytes.set(self.bytes.get() + answer.as_ref().map_or(0, Vec::len));
        answer
    }

    fn taken_ns(&self) -> Option<u64> {
        None
    }

    fn answered_ns(&self, _question: &Question) -> Option<u64> {
        None
    }
}

impl Base {
    fn new(entries: Vec<Entry>) -> Self {
        let mut by_name = HashMap::new();
        for entry in &entries {
            if let Some(name) = name_of(&entry.question) {
                by_name.entry(name).or_insert_with(|| entry.answer.clone());
            }
        }
        Self { recorded: Recorded::new(entries, None), by_name }
    }

    fn answer(&self, question: &Question) -> Answer {
        match self.recorded.ask(question) {
            Err(ReadError::NotRecorded) => name_of(question)
                .and_then(|name| self.by_name.get(&name).cloned())
                .unwrap_or_else(|| Err(absent())),
            answer => answer,
        }
    }
}

fn name_of(question: &Question) -> Option<(u8, String)> {
    let (kind, path) = match question {
        Question::File(path) => (0, path),
        Question::Dir(path) => (1, path),
        Question::Link(path) => (2, path),
        _ => return None,
    };
    Some((kind, path.rsplit('/').next()?.to_owned()))
}

fn absent() -> ReadError {
    ReadError::from("ENOENT".to_owned())
}

fn bases() -> &'static [Base] {
    static BASES: OnceLock<Vec<Base>> = OnceLock::new();
    BASES.get_or_init(|| {
        let hosts = FIXTURES.iter().flat_map(|text| {
            Capture::parse(*text, std::path::Path::new("fixture")).expect("a fixture").hosts
        });
        hosts.map(|(_, entries)| Base::new(entries)).collect()
    })
}
