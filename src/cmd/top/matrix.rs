//! Ping matrices for the screen: run over the hosts that are shown, or read from a file.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use super::input::{Input, Teller};
use crate::cli::Global;
use crate::cmd::ping::all_pairs;
use crate::fleet::{Host, Watchdog};
use crate::model::ping::PingReport;
use crate::render::Note;

/// Kind and version of the file.
const SCHEMA: &str = "rdmactl.ping/1";

/// The most bytes of a file: a thousand hosts have a million pairs.
const MOST: u64 = 4 << 30;

/// A run over hosts, beside everything else.
pub(super) struct Pinging {
    watchdog: Watchdog,
    thread: JoinHandle<()>,
}

impl Pinging {
    /// Starts a run over all pairs of these hosts; what comes of it is told.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start(global: &Global, hosts: Vec<Host>, teller: Teller) -> io::Result<Self> {
        let watchdog = Watchdog::start()?;
        let (global, watched) = (global.clone(), watchdog.clone());
        let run = move || {
            let notes = teller.clone();
            let tell = move |note: Note| notes.say(note.text);
            match all_pairs(&global, &hosts, &watched, tell) {
                Ok(_) if watched.is_cancelled() => {}
                Ok(report) => {
                    for left in &report.left_behind {
                        teller.complain(format!("left on {left}"));
                    }
                    teller.send(Input::Matrix(Arc::new(report)));
                }
                Err(error) => teller.complain(format!("no ping: {error:#}")),
            }
        };
        let thread = thread::Builder::new().name("ping".into()).spawn(run)?;
        Ok(Self { watchdog, thread })
    }

    /// Whether it goes on.
    pub(super) fn is_running(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Ends it, and waits until its agents are gone.
    pub(super) fn end(self) {
        self.watchdog.cancel();
        // What it panicked of has been said by the panic.
        let _ = self.thread.join();
    }
}

/// Reads what `rdmactl ping --matrix --json` printed into a file.
///
/// # Errors
/// The file cannot be read, or is something else.
pub(super) fn open(path: &Path) -> anyhow::Result<PingReport> {
    let name = || format!("cannot read {}", path.display());
    let mut text = String::new();
    let file = File::open(path).with_context(name)?;
    file.take(MOST).read_to_string(&mut text).with_context(name)?;
    parse(&text).with_context(name)
}

fn parse(text: &str) -> anyhow::Result<PingReport> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let head: Head = serde_json::from_str(text).context("it is no JSON of rdmactl ping")?;
    if head.schema != SCHEMA {
        bail!("it is a {}, and {SCHEMA} is needed, as rdmactl ping --json prints it", head.schema);
    }
    let report: PingReport = serde_json::from_str(text)?;
    let known = |host: usize| host < report.hosts.len();
    let pairs = report.pairs.iter().map(|pair| (pair.source, pair.target));
    let findings = report.findings.iter().map(|finding| (finding.source, finding.target));
    ensure!(
        pairs.chain(findings).all(|(source, target)| known(source) && known(target))
            && report.findings.iter().filter_map(|finding| finding.host).all(known),
        "it names a host that it does not have"
    );
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ping::PingHost;
    use crate::render::{PingDocument, to_json};

    #[test]
    fn what_ping_prints_is_read_back() {
        let host = PingHost { name: "n1".into(), kernel: None, failure: None };
        let report = PingReport {
            hosts: vec![host],
            pairs: Vec::new(),
            findings: Vec::new(),
            elapsed_ms: 1,
            left_behind: Vec::new(),
        };
        let text = to_json(&PingDocument::new(&report)).unwrap();
        assert_eq!(parse(&text).unwrap(), report);
    }

    #[test]
    fn what_is_no_matrix_is_said_to_be_none() {
        let finding = r#"{"host": 7, "source": 0, "target": 0, "code": "ok", "stage": null,
            "detail": "", "hint": null, "failed": 1, "of": 1}"#;
        let strange = format!(
            r#"{{"schema": "rdmactl.ping/1", "hosts": [], "pairs": [], "findings": [{finding}],
                "elapsed_ms": 1, "left_behind": []}}"#
        );
        for (text, said) in [
            ("", "no JSON"),
            ("[]", "no JSON"),
            (r#"{"schema": "rdmactl.report/1"}"#, "it is a rdmactl.report/1"),
            (r#"{"schema": "rdmactl.ping/1"}"#, "missing field"),
            (&strange, "names a host"),
        ] {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.contains(said), "{error}");
        }
        assert!(open(Path::new("/nowhere")).is_err());
    }
}
