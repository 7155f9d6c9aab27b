//! Captures: the raw answers of one or more hosts in one file of JSON lines.
//!
//! The first line is the header; every other line is one answer with the index of its host. It
//! never holds decoded values, so that an old capture gains from a mended parser. Read back, each
//! host is a [`Recorded`] source for the same collectors.

mod error;
mod line;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::model::Via;
use crate::source::{Entry, Recorded};

pub use error::CaptureError;
use line::Line;

/// Kind and version of the file.
const SCHEMA: &str = "rdmactl.capture/1";
/// The most bytes of one line: an answer is 4 MiB at most, and base64 makes it a third longer.
const MAX_LINE: u64 = 8 * 1024 * 1024;
/// The most hosts of one file.
const MAX_HOSTS: usize = 65_536;

/// One host of a capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedHost {
    /// Its name.
    pub host: String,
    /// How its answers came when they were recorded.
    pub via: Via,
    /// Its own clock when the reading began, in nanoseconds since 1970 UTC.
    pub taken_ns: Option<u64>,
}

/// The answers of some hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// When it was taken, by the clock of the machine that took it.
    pub taken_ns: u64,
    /// The hosts with their answers, in the order they were recorded.
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
    /// Writes the header and every answer.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let header = Header {
            schema: SCHEMA.into(),
            tool: concat!("rdmactl ", env!("CARGO_PKG_VERSION")).into(),
            taken_ns: self.taken_ns,
            hosts: self.hosts.iter().map(|(host, _)| host.clone()).collect(),
        };
        write_line(out, &header)?;
        for (index, (_, entries)) in self.hosts.iter().enumerate() {
            for entry in entries {
                write_line(out, &Line::new(index, entry))?;
            }
        }
        out.flush()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or is no capture of this version; with its line.
    pub fn read(path: &Path) -> Result<Self, CaptureError> {
        let file = File::open(path).map_err(|error| CaptureError::open(path, error))?;
        Self::parse(BufReader::new(file), path)
    }

    fn parse(mut input: impl BufRead, path: &Path) -> Result<Self, CaptureError> {
        let fault = |line, cause: String| CaptureError::line(path, line, cause);
        let mut text = Vec::new();
        let mut number = 0;
        let mut next = |text: &mut Vec<u8>| -> Result<Option<u64>, CaptureError> {
            number += 1;
            text.clear();
            let count = (&mut input)
                .take(MAX_LINE)
                .read_until(b'\n', text)
                .map_err(|error| fault(number, error.to_string()))?;
            if count as u64 == MAX_LINE && text.last() != Some(&b'\n') {
                return Err(fault(number, format!("the line is longer than {MAX_LINE} bytes")));
            }
            Ok((count > 0).then_some(number))
        };
        if next(&mut text)?.is_none() {
            return Err(fault(1, "the file is empty".into()));
        }
        let header = read_header(&text).map_err(|cause| fault(1, cause))?;
        let mut hosts: Vec<_> = header.hosts.into_iter().map(|host| (host, Vec::new())).collect();
        while let Some(number) = next(&mut text)? {
            let line: Line =
                serde_json::from_slice(&text).map_err(|error| fault(number, error.to_string()))?;
            let (index, entry) = line.into_entry().map_err(|cause| fault(number, cause))?;
            let Some((_, entries)) = hosts.get_mut(index) else {
                return Err(fault(number, format!("the header has no host {index}")));
            };
            entries.push(entry);
        }
        Ok(Self { taken_ns: header.taken_ns, hosts })
    }

    /// Each host as a source.
    #[must_use]
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
        Some(SCHEMA) => {}
        Some(other) => return Err(format!("the file is a {other}, and {SCHEMA} is needed")),
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
    use crate::source::{Question, ReadError};

    fn capture() -> Capture {
        let entry = |name: &str, answer| Entry {
            question: Question::File(name.into()),
            answer,
            at_ns: Some(7),
        };
        let entries = vec![
            entry("/a", Ok(b"text\n".to_vec())),
            entry("/b", Ok(vec![0xff, 0])),
            entry("/c", Err(ReadError::TooBig)),
            Entry { question: Question::Verbs, answer: Err(ReadError::NotRecorded), at_ns: None },
        ];
        let host = |name: &str| CapturedHost { host: name.into(), via: Via::Agent, taken_ns: None };
        Capture { taken_ns: 5, hosts: vec![(host("n1"), Vec::new()), (host("n2"), entries)] }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut text = Vec::new();
        capture().write(&mut text).unwrap();
        assert_eq!(Capture::parse(&text[..], Path::new("x")).unwrap(), capture());
    }

    #[test]
    fn a_bad_file_is_named_with_line_and_cause() {
        let mut good = Vec::new();
        capture().write(&mut good).unwrap();
        let header = String::from_utf8(good).unwrap().lines().next().unwrap().to_owned();
        let cases = [
            (String::new(), "cannot read x: line 1: the file is empty"),
            ("{}\n".into(), "cannot read x: line 1: no header"),
            ("{\"schema\":\"rdmactl.ping/1\"}\n".into(), "line 1: the file is a rdmactl.ping/1"),
            (format!("{header}\nnoise\n"), "cannot read x: line 2: expected"),
            (
                format!("{header}\n{{\"host\":9,\"ask\":\"verbs\",\"text\":\"\"}}\n"),
                "line 2: the header has no host 9",
            ),
            (format!("{header}\n{{\"host\":0,\"ask\":\"verbs\"}}\n"), "line 2: no answer"),
        ];
        for (text, expected) in cases {
            let error = Capture::parse(text.as_bytes(), Path::new("x")).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
