//! Lines of a capture file after the header, in both versions of the file.

use serde::{Deserialize, Serialize};

use crate::source::{Answer, Question, WrittenAnswer};

/// One answer with all hosts that gave it, so that equal answers are stored once.
#[derive(Serialize, Deserialize)]
pub(super) struct AnswerLine {
    /// Indices of the hosts in the header.
    pub(super) hosts: Vec<usize>,
    /// Time of the answer of each host, in the order of `hosts`.
    pub(super) at_ns: Vec<Option<u64>>,
    ask: Question,
    #[serde(flatten)]
    answer: WrittenAnswer,
}

/// One answer of one host, in the first version of the file.
#[derive(Deserialize)]
struct FirstLine {
    host: usize,
    at_ns: Option<u64>,
    ask: Question,
    #[serde(flatten)]
    answer: WrittenAnswer,
}

pub(super) struct LineContent {
    /// Hosts that gave the answer, each with the time.
    pub(super) hosts: Vec<(usize, Option<u64>)>,
    pub(super) question: Question,
    pub(super) answer: Answer,
}

impl AnswerLine {
    pub(super) fn new(question: Question, answer: WrittenAnswer) -> Self {
        Self { hosts: Vec::new(), at_ns: Vec::new(), ask: question, answer }
    }
}

impl LineContent {
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let line: AnswerLine = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if line.hosts.len() != line.at_ns.len() {
            return Err("hosts and at_ns have different lengths".into());
        }
        let hosts = line.hosts.into_iter().zip(line.at_ns).collect();
        Ok(Self { hosts, question: line.ask, answer: line.answer.into_answer()? })
    }

    pub(super) fn parse_first(text: &[u8]) -> Result<Self, String> {
        let line: FirstLine = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let hosts = vec![(line.host, line.at_ns)];
        Ok(Self { hosts, question: line.ask, answer: line.answer.into_answer()? })
    }
}
