//! Ping matrices for the screen: run over the hosts that are shown, or read from a file.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::UNIX_EPOCH;

use anyhow::{Context as _, bail, ensure};

use super::input::{Input, Teller};
use super::supply::{Ended, Ways};
use crate::cli::Global;
use crate::clock;
use crate::cmd::ping::all_pairs;
use crate::fleet::{Host, Watchdog};
use crate::model::ping::PingReport;
use crate::render::Note;
use crate::tui::{Picture, Prepared, Scenes};

/// Kind and version of the file.
const SCHEMA: &str = "rdmactl.ping/1";

/// The most bytes of a file: a thousand hosts have a million pairs.
const MOST: u64 = 1 << 30;

/// The most bytes of the name of a schema.
const LONGEST: usize = 100;

/// A run over hosts, beside everything else.
pub(super) struct Pinging {
    watchdog: Watchdog,
    thread: JoinHandle<Vec<String>>,
}

impl Pinging {
    /// Starts a run over all pairs of these hosts; what comes of it is told, and its end in any case.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start(global: &Global, hosts: Vec<Host>, teller: Teller) -> io::Result<Self> {
        let watchdog = Watchdog::start()?;
        let (global, watched) = (global.clone(), watchdog.clone());
        let run = move || {
            let left = run(&global, &hosts, &watched, &teller);
            teller.send(Input::PingEnded);
            left
        };
        let thread = thread::Builder::new().name("ping".into()).spawn(run)?;
        Ok(Self { watchdog, thread })
    }

    /// Asks for its end, which is told when it has come.
    pub(super) fn cancel(&self) {
        self.watchdog.cancel();
    }

    /// Ends it, and waits until its agents are gone; which could not be ended.
    pub(super) fn end(self) -> Vec<String> {
        self.cancel();
        // What it panicked of has been said by the panic.
        self.thread.join().unwrap_or_default()
    }
}

/// Which agents could not be ended, whatever else came of it.
fn run(global: &Global, hosts: &[Host], watchdog: &Watchdog, teller: &Teller) -> Vec<String> {
    let notes = teller.clone();
    match all_pairs(global, hosts, watchdog, move |note: Note| notes.say(note.text)) {
        Ok(report) => {
            let left = report.left_behind.clone();
            if !watchdog.is_cancelled() {
                teller.send(Input::Matrix(Arc::new(report)));
            }
            for left in &left {
                teller.complain(format!("left on {left}"));
            }
            left
        }
        Err(_) if watchdog.is_cancelled() => Vec::new(),
        Err(error) => {
            teller.complain(format!("no ping: {error:#}"));
            Vec::new()
        }
    }
}

/// A matrix from a file.
#[derive(Debug, Clone)]
pub(super) struct Saved {
    pub(super) report: Arc<PingReport>,
    /// The name of the file.
    pub(super) name: String,
    /// When it was written, in nanoseconds since 1970 UTC; `None` where the system does not say.
    pub(super) written_ns: Option<u64>,
}

impl Saved {
    /// Whether a file begins as a matrix does, of whatever version; one that cannot be read does not.
    pub(super) fn is_at(path: &Path) -> bool {
        let input = open_file(path).map(BufReader::new);
        input.is_ok_and(|mut input| {
            let start = input.fill_buf().ok().and_then(schema);
            start.is_some_and(|schema| schema.starts_with("rdmactl.ping/"))
        })
    }

    /// Reads what `rdmactl ping --matrix --json` printed into a file.
    ///
    /// # Errors
    /// The file cannot be read, or is something else.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let name = || format!("cannot read {}", path.display());
        let file = open_file(path).with_context(name)?;
        let written = file.metadata().and_then(|data| data.modified());
        let written = written.ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let written_ns = written.and_then(|since| u64::try_from(since.as_nanos()).ok());
        let report = parse(BufReader::new(file.take(MOST))).with_context(name)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { report: Arc::new(report), name, written_ns })
    }
}

impl Saved {
    /// Shows it beside a picture of no host, until nobody gives orders any more.
    pub(super) fn show(self, ways: &Ways) -> Ended {
        let (reports, seen, connections) = Default::default();
        let (at, taken_ns) = (clock::now(), self.written_ns.unwrap_or_default());
        let picture = Picture { at, taken_ns, reports, seen, connections };
        ways.slot.put(Scenes::default().next(Prepared::of(Arc::new(picture))));
        ways.teller.send(Input::Opened(self));
        while ways.orders.recv().is_ok() {}
        Ended::default()
    }
}

/// A pipe would be waited for, and a device has no end.
fn open_file(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    File::open(path)
}

/// Reads a matrix as it comes, so that no text of it is held besides.
fn parse(mut input: impl BufRead) -> anyhow::Result<PingReport> {
    match schema(input.fill_buf()?) {
        Some(SCHEMA) => {}
        None => bail!("it is no JSON of rdmactl ping"),
        Some(other) => {
            bail!("it is a {other}, and {SCHEMA} is needed, as rdmactl ping --json prints it")
        }
    }
    let report: PingReport = serde_json::from_reader(input)?;
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

/// The name of the schema at the beginning of a document, where it always is the first key.
fn schema(start: &[u8]) -> Option<&str> {
    let rest = start.trim_ascii_start().strip_prefix(b"{")?.trim_ascii_start();
    let rest = rest.strip_prefix(br#""schema""#)?.trim_ascii_start().strip_prefix(b":")?;
    let name = rest.trim_ascii_start().strip_prefix(b"\"")?;
    let end = name.iter().take(LONGEST).position(|letter| *letter == b'"')?;
    str::from_utf8(&name[..end]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ping::{PingHost, Summary};
    use crate::render::{PingDocument, to_json};

    #[test]
    fn what_ping_prints_is_read_back() {
        let host = PingHost { name: "n1".into(), kernel: None, failure: None };
        let report = PingReport {
            hosts: vec![host],
            pairs: Vec::new(),
            summary: Summary::default(),
            findings: Vec::new(),
            outliers: Vec::new(),
            simulated: None,
            elapsed_ms: 1,
            left_behind: Vec::new(),
        };
        let text = to_json(&PingDocument::new(&report)).unwrap();
        assert_eq!(parse(text.as_bytes()).unwrap(), report);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ping.json");
        fs::write(&path, text).unwrap();
        assert!(Saved::is_at(&path));
        let saved = Saved::read(&path).unwrap();
        assert_eq!((&*saved.report, saved.name.as_str()), (&report, "ping.json"));
        assert!(saved.written_ns.is_some());
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
            let error = format!("{:#}", parse(text.as_bytes()).unwrap_err());
            assert!(error.contains(said), "{error}");
        }
        assert!(
            Saved::read(Path::new("/nowhere")).is_err() && !Saved::is_at(Path::new("/nowhere"))
        );
    }

    #[test]
    fn neither_a_pipe_nor_a_device_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            let error = format!("{:#}", Saved::read(path).unwrap_err());
            assert!(error.contains("no regular file"), "{error}");
            assert!(!Saved::is_at(path));
        }
    }
}
