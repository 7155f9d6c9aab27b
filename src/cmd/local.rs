//! Reports of everything but remote hosts: this host, another root directory, a capture file.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::Context as _;

use crate::capture::{Capture, CapturedHost};
use crate::cli::Global;
use crate::clock;
use crate::collect::host_report;
use crate::model::{HostReport, Parts, Via};
use crate::source::{Live, Recorder, Source as _, VerbsChild};

/// Reports with what a listing has to know of them.
#[derive(Debug)]
pub(super) struct Reports {
    pub(super) hosts: Vec<HostReport>,
    /// Whether each row has to say which host it is of.
    pub(super) hosts_named: bool,
    /// When they were gathered; `None` for a tree of files.
    pub(super) taken_ns: Option<u64>,
}

/// Reads what the flags name; keeps the raw answers where `--save` says.
pub(super) fn read(global: &Global, parts: Parts) -> anyhow::Result<Reports> {
    if let Some(path) = &global.from {
        return replay(path, parts);
    }
    let (report, capture) = record(global, parts)?;
    if let Some(path) = &global.save {
        save(&capture, path)?;
    }
    Ok(Reports { taken_ns: report.taken_ns, hosts: vec![report], hosts_named: false })
}

/// Reads this host or another root, and keeps every answer.
pub(super) fn record(global: &Global, parts: Parts) -> anyhow::Result<(HostReport, Capture)> {
    let (live, host, via) = if let Some(root) = &global.root {
        let live = Live::with_root(root)
            .with_context(|| format!("cannot use {} as a root", root.display()))?;
        (live, root.display().to_string(), Via::File)
    } else {
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        (Live::new(VerbsChild::own(global.timeout)), name, Via::Local)
    };
    let recorder = Recorder::new(live);
    let report = host_report(&recorder, parts, host.clone(), via);
    let captured = CapturedHost { host, via, taken_ns: recorder.taken_ns() };
    let capture = Capture {
        taken_ns: report.taken_ns.unwrap_or_else(clock::wall_ns),
        hosts: vec![(captured, recorder.into_entries())],
    };
    Ok((report, capture))
}

/// Writes a capture file.
pub(super) fn save(capture: &Capture, path: &Path) -> anyhow::Result<()> {
    let write = || capture.write(&mut BufWriter::new(File::create(path)?));
    write().with_context(|| format!("cannot write {}", path.display()))
}

fn replay(path: &Path, parts: Parts) -> anyhow::Result<Reports> {
    let capture = Capture::read(path)?;
    let taken_ns = Some(capture.taken_ns);
    let hosts: Vec<HostReport> = capture
        .into_sources()
        .into_iter()
        .map(|(host, source)| host_report(&source, parts, host.host, Via::File))
        .collect();
    Ok(Reports { hosts_named: hosts.len() > 1, hosts, taken_ns })
}
