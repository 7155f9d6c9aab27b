//! Ping runs in files: the JSON that `rdmactl ping` prints with `--json` and writes with
//! `--save`. `cmd` reads runs through this module.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::model::ping::{PingReport, Summary};

const SCHEMA: &str = "rdmactl.ping/1";
const KIND: &str = "rdmactl.ping/";
const MAX_SCHEMA_BYTES: usize = 100;
/// Maximum size in bytes: a thousand hosts have a million pairs per rail, of about 1,500 bytes.
const MAX: u64 = 16 << 30;
/// With more hosts, one column of pairs takes gigabytes.
const MAX_HOSTS: usize = 16_384;
const MAX_RAILS: usize = 256;
/// Maximum number of pairs on all rails: 1.6 GB as columns.
const MAX_CELLS: usize = 1 << 28;

/// A run from a file.
#[derive(Debug, Clone)]
pub struct PingRun {
    /// Report of the run.
    pub report: PingReport,
    /// Modification time of the file in nanoseconds since 1970 UTC, if the file system has one.
    pub written_ns: Option<u64>,
}

/// Reason why a file cannot be used as a ping run.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {cause}", path.display())]
pub struct PingRunError {
    path: PathBuf,
    cause: Cause,
}

#[derive(Debug, thiserror::Error)]
enum Cause {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("not JSON of rdmactl ping")]
    NoRun,
    #[error("its schema is {0}, not {SCHEMA}")]
    OtherKind(String),
    #[error("its schema is {0}, written by a newer rdmactl; this rdmactl reads {SCHEMA}")]
    Newer(String),
    #[error("the file is truncated: {0}")]
    Cut(serde_json::Error),
    #[error("{0}")]
    Malformed(serde_json::Error),
    #[error("a pair or a finding refers to a host that the file does not list")]
    UnknownHost,
    #[error("the file has more than {0}")]
    TooMany(String),
}

impl PingRunError {
    /// Returns the fix.
    pub fn fix(&self) -> &'static str {
        match &self.cause {
            Cause::OtherKind(kind) if kind.starts_with("rdmactl.capture/") => {
                "list the capture: rdmactl devices --from FILE"
            }
            Cause::OtherKind(kind) if kind.starts_with("rdmactl.recording/") => {
                "play the recording: rdmactl top --from FILE"
            }
            Cause::Newer(_) => "use the version of rdmactl that wrote the file, or a newer one",
            Cause::TooMany(_) => "split the run over several files",
            _ => "save a run: rdmactl ping --matrix SET --save FILE",
        }
    }
}

impl PingRun {
    /// True if the file starts like a run of any version; false for an unreadable file.
    pub fn is_at(path: &Path) -> bool {
        let input = open(path).map(BufReader::new);
        input.is_ok_and(|mut input| {
            let start = input.fill_buf().ok().and_then(schema);
            start.is_some_and(|schema| schema.starts_with(KIND))
        })
    }

    /// Reads a file that `rdmactl ping` wrote with `--save`, or printed with `--json`.
    ///
    /// # Errors
    /// The file cannot be read, is no run, has a newer version, or is inconsistent.
    pub fn read(path: &Path) -> Result<Self, PingRunError> {
        let read = || {
            let file = open(path)?;
            let written = file.metadata().and_then(|data| data.modified());
            let written = written.ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
            let written_ns = written.and_then(|since| u64::try_from(since.as_nanos()).ok());
            let report = parse(BufReader::new(file.take(MAX)))?;
            Ok(Self { report, written_ns })
        };
        read().map_err(|cause| PingRunError { path: path.to_owned(), cause })
    }

    /// Parses the content of a run; `path` appears in errors.
    ///
    /// # Errors
    /// See [`PingRun::read`].
    pub fn parse(input: impl BufRead, path: &Path) -> Result<PingReport, PingRunError> {
        parse(input).map_err(|cause| PingRunError { path: path.to_owned(), cause })
    }
}

/// Opens a regular file. Opening a pipe would block, and a device has no end.
fn open(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    File::open(path)
}

/// Parses a run from the stream, without a copy of its text in memory.
fn parse(mut input: impl BufRead) -> Result<PingReport, Cause> {
    match schema(input.fill_buf()?) {
        Some(SCHEMA) => {}
        None => return Err(Cause::NoRun),
        Some(other) => {
            let version = other.strip_prefix(KIND).and_then(|number| number.parse::<u32>().ok());
            return Err(match version {
                Some(2..) => Cause::Newer(other.to_owned()),
                _ => Cause::OtherKind(other.to_owned()),
            });
        }
    }
    let mut report: PingReport = serde_json::from_reader(input).map_err(|error| {
        match (error.is_eof(), error.io_error_kind()) {
            (true, _) => Cause::Cut(error),
            (_, Some(kind)) => Cause::Io(kind.into()),
            _ => Cause::Malformed(error),
        }
    })?;
    check(&report)?;
    if report.summary == Summary::default() {
        // The first version of the file had no summary.
        report.summary = Summary::of(&report.pairs);
    }
    Ok(report)
}

/// Checks the indices of hosts and the number of rails, on which the display of a run relies.
fn check(report: &PingReport) -> Result<(), Cause> {
    let hosts = report.hosts.len();
    if hosts > MAX_HOSTS {
        return Err(Cause::TooMany(format!("{MAX_HOSTS} hosts")));
    }
    let known = |host: usize| host < hosts;
    let pairs = report.pairs.iter().map(|pair| (pair.source, pair.target));
    let findings = report.findings.iter().map(|finding| (finding.source, finding.target));
    let blamed = report.findings.iter().filter_map(|finding| finding.host);
    let slow = report.outliers.iter().flat_map(|outlier| [outlier.host, outlier.target]);
    if !pairs.chain(findings).all(|(source, target)| known(source) && known(target))
        || !blamed.chain(slow.flatten()).all(known)
    {
        return Err(Cause::UnknownHost);
    }
    let of_pairs = report.pairs.iter().map(|pair| pair.rail.saturating_add(1)).max().unwrap_or(0);
    let rails = of_pairs.max(report.cells.as_ref().map_or(0, Vec::len));
    if rails > MAX_RAILS || hosts * hosts * rails > MAX_CELLS {
        return Err(Cause::TooMany(format!("{MAX_RAILS} rails, or {MAX_CELLS} pairs")));
    }
    Ok(())
}

/// Returns the schema at the start of a document, where it is always the first key.
fn schema(start: &[u8]) -> Option<&str> {
    let rest = start.trim_ascii_start().strip_prefix(b"{")?.trim_ascii_start();
    let rest = rest.strip_prefix(br#""schema""#)?.trim_ascii_start().strip_prefix(b":")?;
    let name = rest.trim_ascii_start().strip_prefix(b"\"")?;
    let end = name.iter().take(MAX_SCHEMA_BYTES).position(|letter| *letter == b'"')?;
    str::from_utf8(&name[..end]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = r#"{"schema": "rdmactl.ping/1", "hosts": [], "pairs": [], "findings": [],
        "elapsed_ms": 1, "left_behind": []}"#;

    #[test]
    fn ping_run_of_an_older_version_is_read() {
        let report = parse(EMPTY.as_bytes()).unwrap();
        assert_eq!((report.hosts.len(), report.elapsed_ms), (0, 1));
        assert_eq!((report.coverage, report.cells, report.taken_ns), (None, None, None));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ping.json");
        fs::write(&path, EMPTY).unwrap();
        assert!(PingRun::is_at(&path));
        assert!(PingRun::read(&path).unwrap().written_ns.is_some());
    }

    #[test]
    fn invalid_ping_run_is_an_error_with_its_cause() {
        let finding = |host: &str| {
            format!(
                r#"{{"schema": "rdmactl.ping/1", "hosts": [], "pairs": [], "findings": [{{"host": {host},
                "source": 0, "target": 0, "code": "ok", "stage": null, "detail": "", "hint": null,
                "failed": 1, "of": 1}}], "elapsed_ms": 1, "left_behind": []}}"#
            )
        };
        let hosts = r#"{"name": "n", "kernel": null, "failure": null}"#;
        let pair = format!(
            r#"{{"schema": "rdmactl.ping/1", "hosts": [{hosts}], "pairs": [{{"rail": 1000000000000,
            "source": 0, "target": 0, "route": null, "rdma": null, "tcp": null, "first": null,
            "verdict": {{"code": "ok", "stage": null, "side": "path", "detail": "", "hint": null}}}}],
            "findings": [], "elapsed_ms": 1, "left_behind": []}}"#
        );
        let cases = [
            ("", "not JSON"),
            ("[]", "not JSON"),
            (r#"{"schema": "rdmactl.report/1"}"#, "its schema is rdmactl.report/1"),
            (r#"{"schema": "rdmactl.ping/2", "new": 1}"#, "by a newer rdmactl"),
            (r#"{"schema": "rdmactl.ping/1"}"#, "missing field"),
            (&EMPTY[..EMPTY.len() - 10], "truncated"),
            (&finding("7"), "refers to a host"),
            (&finding("null"), "refers to a host"),
            (&pair, "more than 256 rails"),
        ];
        for (text, said) in cases {
            let error = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        let nowhere = Path::new("/nowhere");
        assert!(PingRun::read(nowhere).is_err() && !PingRun::is_at(nowhere));
    }

    #[test]
    fn neither_a_pipe_nor_a_device_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            let error = PingRun::read(path).unwrap_err().to_string();
            assert!(error.contains("not a regular file"), "{error}");
            assert!(!PingRun::is_at(path));
        }
    }
}
