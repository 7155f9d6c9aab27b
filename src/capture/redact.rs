//! Replaces identifying data in a capture: names, addresses, serial numbers, paths.
//!
//! Each item becomes a pseudonym of the same kind, from a random key that exists only in this
//! run. Equal items have equal pseudonyms in every notation and on every host, so relations stay:
//! the GID of a MAC address becomes the GID of its pseudonym, and networks keep their members.
//! Data without a rule is removed, so that an unforeseen question cannot identify an owner.

mod address;
mod file;
mod hardware;
mod iscsi;
mod mounts;
mod names;
mod netlink;
mod secret;
mod text;

use crate::model::{HostFailure, VerbsAnswer};
use crate::source::{Answer, Entry, EthtoolQuery, Question, ReadError, RouteCommand, RouteQuery};

use super::{Capture, CapturedHost};
use names::Names;
use secret::Secret;

/// Text in place of removed data.
const LEFT_OUT: &str = "removed by --redact";

impl Capture {
    /// Returns the capture with pseudonyms.
    ///
    /// # Errors
    /// The system provides no random numbers.
    pub fn redacted(self) -> Result<Self, getrandom::Error> {
        let names = Names::of(self.hosts.iter().map(|(head, _)| head.host.as_str()));
        let redactor = Redactor { secret: Secret::fresh()?, names };
        // A run of digits is an address only if the capture has it as an address elsewhere. The
        // first pass finds these addresses.
        let _ = redactor.capture(&self);
        Ok(redactor.capture(&self))
    }
}

struct Redactor {
    secret: Secret,
    names: Names,
}

impl Redactor {
    fn capture(&self, capture: &Capture) -> Capture {
        let host = |(head, entries): &(CapturedHost, Vec<Entry>)| {
            let head = CapturedHost {
                host: self.host_name(&head.host),
                failure: head.failure.as_ref().map(failure),
                ..head.clone()
            };
            (head, entries.iter().map(|entry| self.entry(entry)).collect())
        };
        Capture { taken_ns: capture.taken_ns, hosts: capture.hosts.iter().map(host).collect() }
    }

    fn entry(&self, entry: &Entry) -> Entry {
        let (question, answer) = match &entry.question {
            Question::File(path) => {
                (Question::File(self.path(path)), some(entry, |bytes| self.file(path, bytes)))
            }
            Question::Dir(path) => {
                (Question::Dir(self.path(path)), some(entry, |bytes| self.listing(path, bytes)))
            }
            Question::Link(path) => {
                let target =
                    |bytes: &[u8]| Some(self.path(std::str::from_utf8(bytes).ok()?).into());
                (Question::Link(self.path(path)), some(entry, target))
            }
            Question::Access(path) => {
                (Question::Access(self.path(path)), some(entry, |_| Some(Vec::new())))
            }
            Question::Verbs => (Question::Verbs, some(entry, |bytes| self.verbs(bytes))),
            Question::Route(query) => {
                let netdev = self.token(&query.netdev);
                let query = RouteQuery { netdev, ..query.clone() };
                let answer = some(entry, |bytes| match query.command {
                    RouteCommand::Link => self.route(bytes),
                    RouteCommand::Dcb | RouteCommand::Dcbx => self.dcb(bytes),
                });
                (Question::Route(query), answer)
            }
            Question::Ethtool(query) => {
                let answer = some(entry, |bytes| netlink::ethtool(query.command, bytes));
                let netdev = self.token(&query.netdev);
                (Question::Ethtool(EthtoolQuery { netdev, ..*query }), answer)
            }
            // Processes, sockets and logs contain names of users, hosts and paths; MADs contain
            // the names of all nodes.
            Question::Sockets(_)
            | Question::Holders
            | Question::Environment(_)
            | Question::KernelLog(_)
            | Question::Rds(_)
            | Question::MadPorts
            | Question::Mads(_) => (entry.question.clone(), some(entry, |_| None)),
            Question::Rdma(query) => {
                (Question::Rdma(*query), some(entry, |bytes| self.rdma(bytes)))
            }
        };
        Entry { question, answer, at_ns: entry.at_ns }
    }

    /// Redacts an answer of libibverbs; keeps only the fields of [`VerbsAnswer`].
    fn verbs(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let answer: VerbsAnswer = serde_json::from_slice(bytes).ok()?;
        let mut json = serde_json::to_value(&answer).ok()?;
        self.json("", &mut json);
        serde_json::to_vec(&json).ok()
    }

    fn json(&self, key: &str, value: &mut serde_json::Value) {
        match value {
            serde_json::Value::String(text) if key != "fw_ver" => *text = self.text(text),
            serde_json::Value::Number(number) if key.contains("guid") => {
                *value = number.as_u64().map(|guid| self.guid(guid)).into();
            }
            serde_json::Value::Array(all) => all.iter_mut().for_each(|one| self.json(key, one)),
            serde_json::Value::Object(fields) => {
                fields.iter_mut().for_each(|(key, value)| self.json(key, value));
            }
            _ => {}
        }
    }
}

/// Redacts the bytes of an answer; removes the answer if `redact` returns `None`.
fn some(entry: &Entry, redact: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Answer {
    match &entry.answer {
        Ok(bytes) => redact(bytes).ok_or(ReadError::Redacted),
        // The error may quote the text of a library or a login.
        Err(ReadError::Process(_)) => {
            Err(ReadError::Process(format!("the read failed; the reason is {LEFT_OUT}")))
        }
        Err(error) => Err(error.clone()),
    }
}

/// Returns the failure without its text, which has names of users and files, and addresses.
fn failure(failure: &HostFailure) -> HostFailure {
    HostFailure::new(failure.reason, format!("{}; the text is {LEFT_OUT}", failure.reason.word()))
}

#[cfg(test)]
mod tests;
