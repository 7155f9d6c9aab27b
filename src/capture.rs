//! Captures: the raw answers of one or more hosts in one file of JSON lines.
//!
//! The first line is the header. Every other line is one answer with the header indices of the
//! hosts that gave the answer, so equal answers of many hosts are stored once. A capture never
//! contains decoded values, so that a fixed parser works on old captures. When read, each host is
//! a [`Recorded`] source for the collectors.

mod error;
mod line;
mod lines;
mod ping_run;
mod recording;
mod redact;
mod save;

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::input::Input;
use crate::model::{HostFailure, KnownFix, Problem, Via};
use crate::source::{Answer, Entry, Question, Recorded, WrittenAnswer};

pub use error::CaptureError;
use line::{AnswerLine, LineContent};
use lines::Lines;
pub use ping_run::{PingRun, PingRunError};
pub use recording::{HostSample, HostSampleRef, RecordingWriter, TopRecording};
pub use save::{check_place, replace_file};

const SCHEMA: &str = "rdmactl.capture/2";
/// Previous schema, with one host per line.
const FIRST_SCHEMA: &str = "rdmactl.capture/1";
const MAX_HOSTS: usize = 65_536;
/// Maximum size in bytes of the answers of all hosts: one line may belong to many hosts.
const MAX_ANSWERS: usize = 4 << 30;
/// Approximate memory of an answer besides its bytes.
const ENTRY: usize = size_of::<Entry>();

/// One host of a capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedHost {
    /// Name of the host.
    pub host: String,
    /// Transport over which the answers came.
    pub via: Via,
    /// Clock of the host at the start of the collection, in nanoseconds since 1970 UTC.
    pub taken_ns: Option<u64>,
    /// Number of answers that were omitted because of a size limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Reason why the host gave no answer; `None` if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<HostFailure>,
}

impl CapturedHost {
    /// Returns a host with answers.
    pub fn new(host: impl Into<String>, via: Via, taken_ns: Option<u64>) -> Self {
        Self { host: host.into(), via, taken_ns, left_out: 0, failure: None }
    }

    /// Returns a host that gave no answer.
    pub fn failed(host: impl Into<String>, failure: HostFailure) -> Self {
        Self { failure: Some(failure), ..Self::new(host, Via::None, None) }
    }

    /// Returns the problem of omitted answers; `None` if all were recorded.
    pub fn incomplete(&self) -> Option<Problem> {
        (self.left_out > 0).then(|| Problem {
            key: "capture".into(),
            source: "rdmactl agent".into(),
            errno: None,
            detail: format!(
                "{} answers exceeded the size limit and are not recorded",
                self.left_out
            ),
            fix: Some(KnownFix::RecordThere.into()),
            not_recorded: false,
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Answers of the captured hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// Time of the capture by the local clock, in nanoseconds since 1970 UTC.
    pub taken_ns: u64,
    /// Hosts with their answers, in the order of recording.
    pub hosts: Vec<(CapturedHost, Vec<Entry>)>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    schema: String,
    tool: String,
    taken_ns: u64,
    hosts: Vec<CapturedHost>,
}

impl Capture {
    /// Writes the header and every answer. Of several answers of a host to one question, only the
    /// first counts and is written.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let header = Header {
            schema: SCHEMA.into(),
            tool: concat!("rdmactl ", env!("CARGO_PKG_VERSION")).into(),
            taken_ns: self.taken_ns,
            hosts: self.hosts.iter().map(|(host, _)| host.clone()).collect(),
        };
        write_line(out, &header)?;
        let mut lines: Vec<AnswerLine> = Vec::new();
        let mut known: HashMap<(&Question, &Answer), usize> = HashMap::new();
        for (host, (_, entries)) in self.hosts.iter().enumerate() {
            let mut asked = HashSet::new();
            for entry in entries.iter().filter(|entry| asked.insert(&entry.question)) {
                let Entry { question, answer, at_ns } = entry;
                let index = *known.entry((question, answer)).or_insert_with(|| {
                    lines.push(AnswerLine::new(question.clone(), WrittenAnswer::from(answer)));
                    lines.len() - 1
                });
                lines[index].hosts.push(host);
                lines[index].at_ns.push(*at_ns);
            }
        }
        for line in &lines {
            write_line(out, line)?;
        }
        out.flush()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or is no capture of a known version.
    pub fn read(path: &Path) -> Result<Self, CaptureError> {
        let file = Input::open(path).map_err(|error| CaptureError::open(path, error))?;
        Self::parse(BufReader::new(file), path)
    }

    /// Parses the content of a capture file; `path` appears in errors.
    ///
    /// # Errors
    /// See [`Capture::read`].
    pub fn parse(input: impl BufRead, path: &Path) -> Result<Self, CaptureError> {
        let mut lines = Lines::new(input, path);
        let Some(text) = lines.next()? else { return Err(lines.fault("the file is empty")) };
        let header = read_header(text).map_err(|cause| lines.fault(cause))?;
        let parse =
            if header.schema == SCHEMA { LineContent::parse } else { LineContent::parse_first };
        let mut hosts: Vec<_> = header.hosts.into_iter().map(|host| (host, Vec::new())).collect();
        let mut room = MAX_ANSWERS;
        while let Some(text) = lines.next()? {
            let length = text.len();
            let said = parse(text).map_err(|cause| lines.fault(cause))?;
            let size = length.saturating_add(ENTRY).saturating_mul(said.hosts.len());
            let Some(rest) = room.checked_sub(size) else {
                let cause = format!("the file expands to more than {MAX_ANSWERS} bytes");
                return Err(lines.fault(cause));
            };
            room = rest;
            for (index, at_ns) in said.hosts {
                let Some((_, entries)) = hosts.get_mut(index) else {
                    return Err(lines.fault(format!("the header lists no host {index}")));
                };
                let (question, answer) = (said.question.clone(), said.answer.clone());
                entries.push(Entry { question, answer, at_ns });
            }
        }
        Ok(Self { taken_ns: header.taken_ns, hosts })
    }

    /// Returns each host as a source.
    pub fn into_sources(self) -> Vec<(CapturedHost, Recorded)> {
        self.hosts
            .into_iter()
            .map(|(host, entries)| {
                let source = Recorded::new(entries, host.taken_ns);
                (host, source)
            })
            .collect()
    }
}

fn write_line(out: &mut dyn Write, value: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

fn read_header(text: &[u8]) -> Result<Header, String> {
    let value: serde_json::Value =
        serde_json::from_slice(text).map_err(|error| format!("not a header: {error}"))?;
    match value.get("schema").and_then(serde_json::Value::as_str) {
        Some(SCHEMA | FIRST_SCHEMA) => {}
        Some(other) => {
            return Err(format!("the schema of the file is {other}; {SCHEMA} is required"));
        }
        None => return Err(format!("no header with \"schema\":\"{SCHEMA}\"")),
    }
    let header: Header =
        serde_json::from_value(value).map_err(|error| format!("not a header: {error}"))?;
    if header.hosts.len() > MAX_HOSTS {
        return Err(format!("more than {MAX_HOSTS} hosts"));
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Reason;
    use crate::source::ReadError;

    fn entry(name: &str, answer: Answer) -> Entry {
        Entry { question: Question::File(name.into()), answer, at_ns: Some(7) }
    }

    fn capture() -> Capture {
        let entries = vec![
            entry("/a", Ok(b"text\n".to_vec())),
            entry("/b", Ok(vec![0xff, 0])),
            entry("/c", Err(ReadError::TooBig)),
            Entry { question: Question::Verbs, answer: Err(ReadError::NotRecorded), at_ns: None },
        ];
        let host = |name: &str| CapturedHost::new(name, Via::Agent, None);
        let dead = HostFailure::new(Reason::Refused, "connection refused").fix("start sshd");
        let hosts = vec![
            (CapturedHost { left_out: 3, ..host("n1") }, Vec::new()),
            (host("n2"), entries),
            (CapturedHost::failed("n3", dead), Vec::new()),
        ];
        Capture { taken_ns: 5, hosts }
    }

    fn written(capture: &Capture) -> String {
        let mut text = Vec::new();
        capture.write(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    fn parse(text: &str) -> Result<Capture, CaptureError> {
        Capture::parse(text.as_bytes(), Path::new("x"))
    }

    #[test]
    fn parse_returns_the_written_capture() {
        assert_eq!(parse(&written(&capture())).unwrap(), capture());
    }

    #[test]
    fn equal_replies_of_hosts_are_stored_once() {
        let big = "x".repeat(10_000).into_bytes();
        let host = |index: usize| {
            let own = format!("{index}\n").into_bytes();
            let entries = vec![entry("/big", Ok(big.clone())), entry("/own", Ok(own))];
            (CapturedHost::new(format!("n{index}"), Via::Agent, None), entries)
        };
        let capture = Capture { taken_ns: 5, hosts: (0..100).map(host).collect() };
        let text = written(&capture);
        assert!(text.len() < 3 * 10_000, "{}", text.len());
        assert_eq!(parse(&text).unwrap(), capture);
    }

    #[test]
    fn first_reply_of_a_host_is_kept_if_the_capture_has_two() {
        let answers = |texts: &[&str]| -> Vec<Entry> {
            texts.iter().map(|text| entry("/a", Ok(text.as_bytes().to_vec()))).collect()
        };
        let host = |name: &str| CapturedHost::new(name, Via::Agent, None);
        let hosts = vec![(host("n1"), answers(&["x"])), (host("n2"), answers(&["y", "x"]))];
        let text = written(&Capture { taken_ns: 5, hosts });
        let again = parse(&text).unwrap();
        assert_eq!(again.hosts[1].1, answers(&["y"]));
        assert_eq!(written(&again), text);
    }

    #[test]
    fn a_capture_of_the_first_version_is_read() {
        let text = concat!(
            r#"{"schema":"rdmactl.capture/1","tool":"rdmactl 0.1.0","taken_ns":5,"#,
            r#""hosts":[{"host":"n1","via":"local","taken_ns":4}]}"#,
            "\n",
            r#"{"host":0,"at_ns":7,"ask":{"file":"/a"},"text":"text\n"}"#,
            "\n"
        );
        let capture = parse(text).unwrap();
        let host = CapturedHost::new("n1", Via::Local, Some(4));
        assert_eq!(capture.hosts, [(host, vec![entry("/a", Ok(b"text\n".to_vec()))])]);
    }

    #[test]
    fn a_bad_file_is_named_with_line_and_cause() {
        let header = written(&capture()).lines().next().unwrap().to_owned();
        let line = |text: &str| format!("{header}\n{text}\n");
        let cases = [
            (String::new(), "cannot read x: line 1: the file is empty"),
            ("{}\n".into(), "cannot read x: line 1: no header"),
            (
                "{\"schema\":\"rdmactl.ping/1\"}\n".into(),
                "line 1: the schema of the file is rdmactl.ping/1",
            ),
            (line("noise"), "cannot read x: line 2: expected"),
            (
                line(r#"{"hosts":[9],"at_ns":[1],"ask":"verbs","text":""}"#),
                "line 2: the header lists no host 9",
            ),
            (line(r#"{"hosts":[0],"at_ns":[1],"ask":"verbs"}"#), "line 2: no answer"),
            (
                line(r#"{"hosts":[0],"at_ns":[1],"ask":"verbs","text":"","error":"EIO"}"#),
                "line 2: more than one answer",
            ),
            (
                line(r#"{"hosts":[0],"at_ns":[],"ask":"verbs","text":""}"#),
                "line 2: hosts and at_ns",
            ),
        ];
        for (text, expected) in cases {
            let error = parse(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn capture_line_that_expands_over_the_limit_is_refused() {
        let header = written(&capture()).lines().next().unwrap().to_owned();
        let (hosts, stamps) = (vec!["0"; 1_000_000].join(","), vec!["1"; 1_000_000].join(","));
        let text = "x".repeat(8_000);
        let line =
            format!(r#"{{"hosts":[{hosts}],"at_ns":[{stamps}],"ask":"verbs","text":"{text}"}}"#);
        let error = parse(&format!("{header}\n{line}\n")).unwrap_err().to_string();
        assert!(error.contains("line 2: the file expands to more than"), "{error}");
    }
}
