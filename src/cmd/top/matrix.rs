//! Ping matrices of `top`: runs a ping over the visible hosts, or reads a saved matrix.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::input::{Input, InputSender};
use super::source::{Channels, SourceResult, agents_in_doubt};
use crate::capture::{PingRun, PingRunError};
use crate::cli::Global;
use crate::clock;
use crate::cmd::ping::all_pairs;
use crate::fleet::Watchdog;
use crate::hosts::Host;
use crate::model::ping::PingReport;
use crate::tui::{Event, Prepared, Sample, Snapshots};

pub(super) struct Pinging {
    watchdog: Watchdog,
    thread: JoinHandle<Vec<String>>,
    /// Agents that are reported if the thread panics.
    in_doubt: Vec<String>,
}

impl Pinging {
    /// Starts a ping over all pairs; `input_sender` gets its matrix or error, and always its end.
    pub(super) fn start(
        global: &Global,
        hosts: Vec<Host>,
        input_sender: InputSender,
    ) -> io::Result<Self> {
        let (watchdog, in_doubt) = (Watchdog::start()?, agents_in_doubt(&hosts));
        let (global, watched) = (global.clone(), watchdog.clone());
        let run = move || {
            let left = run(&global, &hosts, &watched, &input_sender);
            input_sender.send(Input::PingEnded);
            left
        };
        let thread = thread::Builder::new().name("ping".into()).spawn(run)?;
        Ok(Self { watchdog, thread, in_doubt })
    }

    /// Cancels the ping; [`Input::PingEnded`] follows.
    pub(super) fn cancel(&self) {
        self.watchdog.cancel();
    }

    /// Cancels the ping and waits for its agents; returns the agents that could not be ended.
    pub(super) fn end(self) -> Vec<String> {
        self.cancel();
        // The panic hook has already printed the message of a panic.
        self.thread.join().unwrap_or(self.in_doubt)
    }
}

/// Runs the ping; returns the agents that could not be ended.
fn run(
    global: &Global,
    hosts: &[Host],
    watchdog: &Watchdog,
    input_sender: &InputSender,
) -> Vec<String> {
    let notes = input_sender.clone();
    match all_pairs(global, hosts, watchdog, move |note| notes.say(note.text)) {
        Ok(report) => {
            let left = report.left_behind.clone();
            if !watchdog.is_cancelled() {
                input_sender.send(Input::Event(Event::Matrix(Arc::new(report))));
            }
            for left in &left {
                input_sender.complain(left);
            }
            left
        }
        Err(_) if watchdog.is_cancelled() => Vec::new(),
        Err(error) => {
            input_sender.complain(format!("the test did not start: {error:#}"));
            Vec::new()
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Saved {
    pub(super) report: Arc<PingReport>,
    pub(super) name: String,
    /// Time at which the file was written, in nanoseconds since 1970 UTC; `None` if unknown.
    pub(super) written_ns: Option<u64>,
}

impl Saved {
    pub(super) fn read(path: &Path) -> Result<Self, PingRunError> {
        let PingRun { report, written_ns } = PingRun::read(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { report: Arc::new(report), name, written_ns })
    }

    pub(super) fn event(self) -> Event {
        let Self { report, name, written_ns } = self;
        Event::OpenedMatrix { report, name, written_ns }
    }

    /// Shows the matrix with a sample without hosts, until the orders end.
    pub(super) fn show(self, channels: &Channels) -> SourceResult {
        let sample = Sample {
            at: clock::now(),
            taken_ns: self.written_ns.unwrap_or_default(),
            reports: Vec::new(),
            seen: Vec::new(),
            connections: Vec::new(),
        };
        channels.latest.put(Snapshots::default().next(Prepared::of(Arc::new(sample))));
        channels.input_sender.send(Input::Event(self.event()));
        while channels.orders.recv().is_ok() {}
        SourceResult::default()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::model::ping::PingHost;
    use crate::render::{PingDocument, to_json};

    #[test]
    fn saved_ping_report_is_read_back() {
        let report = PingReport {
            hosts: vec![PingHost::of("n1", 0, None)],
            taken_ns: Some(7),
            elapsed_ms: 1,
            ..PingReport::default()
        };
        let text = to_json(&PingDocument::new(&report)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ping.json");
        fs::write(&path, text).unwrap();
        assert!(PingRun::is_at(&path));
        let saved = Saved::read(&path).unwrap();
        assert_eq!((&*saved.report, saved.name.as_str()), (&report, "ping.json"));
        assert!(saved.written_ns.is_some());
    }
}
