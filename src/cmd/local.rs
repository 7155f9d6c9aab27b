//! Reads everything except remote hosts: this host, another root directory, a capture file, or a
//! file of another tool.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use anyhow::Context as _;

use crate::capture::{Capture, CapturedHost, PingRun};
use crate::cli::Global;
use crate::clock;
use crate::collect::{host_report, import_fabric};
use crate::compat::ask_everything;
use crate::hosts::{Host, HostSet};
use crate::model::{Fabric, HostReport, Part, Parts, Via};
use crate::source::{Entry, Live, Recorded, Recorder, Source, VerbsChild};
use crate::threads;

use super::{Advice, host_selection};

const MAX_IMPORTED_BYTES: u64 = 256 << 20;

/// Number of first bytes of a larger file that show which tool wrote it.
const HEAD: usize = 64 << 10;

/// Reports with the context that a listing needs.
#[derive(Debug)]
pub(super) struct Reports {
    pub(super) hosts: Vec<HostReport>,
    /// True if each row must name its host.
    pub(super) hosts_named: bool,
    /// Time of the sample, in nanoseconds since 1970 UTC; `None` for imported files and other
    /// roots.
    pub(super) taken_ns: Option<u64>,
    /// Result of writing the file of `--save`. Rows are printed before this error.
    pub(super) saved: anyhow::Result<()>,
}

/// Reads the source of the flags; with `--save`, saves the raw data.
pub(super) fn read(global: &Global, parts: &Parts) -> anyhow::Result<Reports> {
    if let Some(path) = &global.from {
        if let Some(save) = &global.save {
            refuse_same(path, save)?;
        }
        if parts.has(Part::Fabric)
            && let Some(report) = imported(path)?
        {
            if let Some(save) = &global.save {
                return Err(nothing_to_save(path, save)?);
            }
            let hosts = vec![report];
            return Ok(Reports { hosts, hosts_named: false, taken_ns: None, saved: Ok(()) });
        }
        let capture = read_capture(global, path)?;
        let taken_ns = Some(capture.taken_ns);
        // Hosts that were named on the command line when the capture was made are named again.
        let is_own = |head: &CapturedHost| matches!(head.via, Via::Local | Via::File);
        let hosts_named = !matches!(&capture.hosts[..], [(head, _)] if is_own(head));
        let (hosts, saved) = match &global.save {
            None => (reports(capture, parts), Ok(())),
            Some(path) => {
                let (hosts, used) = replay(capture, parts);
                (hosts, save(&used, path))
            }
        };
        return Ok(Reports { hosts, hosts_named, taken_ns, saved });
    }
    let (report, saved) = if let Some(path) = &global.save {
        let (report, capture) = record(global, parts)?;
        (report, save(&capture, path))
    } else {
        // Recording doubles the cost of reading full GID tables.
        let (live, host, via) = live(global)?;
        (host_report(&live, parts, host, via), Ok(()))
    };
    Ok(Reports { taken_ns: report.taken_ns, hosts: vec![report], hosts_named: false, saved })
}

/// Reads the subnets of a capture or of a file of another tool; `None` for another kind of file.
pub(super) fn fabrics(path: &Path) -> anyhow::Result<Option<Vec<Fabric>>> {
    if let Some(report) = imported(path)? {
        return Ok(report.fabrics);
    }
    let mut start = [0];
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut start));
    // Captures start with a JSON object.
    if read.is_err() || start != *b"{" {
        return Ok(None);
    }
    let reports = reports(Capture::read(path)?, &[Part::Fabric].into());
    let fabrics: Vec<Fabric> =
        reports.into_iter().filter_map(|report| report.fabrics).flatten().collect();
    if fabrics.is_empty() {
        let what = format!("{} holds no InfiniBand subnet", path.display());
        return Err(Advice::error(what, "save one: rdmactl fabric --save FILE"));
    }
    Ok(Some(fabrics))
}

/// Reads a fabric from a file of another tool; `None` for a capture.
pub(super) fn imported(path: &Path) -> anyhow::Result<Option<HostReport>> {
    let name = path.display().to_string();
    let kind = fs::metadata(path).with_context(|| format!("cannot read {name}"))?.file_type();
    if kind.is_fifo() {
        let what = format!("{name} is not a regular file, and rdmactl reads it twice");
        return Err(Advice::error(what, "save the data in a file first"));
    }
    let Some(text) = read_imported(path, &name)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&text);
    let Some(fabric) = import_fabric(&name, &text) else { return Ok(None) };
    let fabric = fabric.map_err(|error| {
        let fix = "save the output of ibnetdiscover again, or copy opensm-subnet.lst again";
        Advice::error(format!("{name}: {error}"), fix)
    })?;
    let mut report = HostReport::empty(name, Via::File);
    (report.parts, report.fabrics) = ([Part::Fabric].into(), Some(vec![fabric]));
    Ok(Some(report))
}

/// Returns the content of a file of another tool.
///
/// Returns `None` for a JSON object, because captures may be larger than [`MAX_IMPORTED_BYTES`].
/// A line of opensm also starts with a brace, but not with a key in quotation marks. Returns
/// `None` for another large file of no such tool as well: its reader has its own limit and error.
fn read_imported(path: &Path, name: &str) -> anyhow::Result<Option<Vec<u8>>> {
    let failed = || format!("cannot read {name}");
    let file = fs::File::open(path).with_context(failed)?;
    let is_large = file.metadata().with_context(failed)?.len() > MAX_IMPORTED_BYTES;
    let mut file = BufReader::new(file);
    if file.fill_buf().with_context(failed)?.starts_with(b"{\"") {
        return Ok(None);
    }
    let mut text = Vec::new();
    let limit = if is_large { HEAD as u64 } else { MAX_IMPORTED_BYTES + 1 };
    file.take(limit).read_to_end(&mut text).with_context(failed)?;
    if !is_large && text.len() as u64 <= MAX_IMPORTED_BYTES {
        return Ok(Some(text));
    }
    text.truncate(HEAD);
    if import_fabric(name, &String::from_utf8_lossy(&text)).is_none() {
        return Ok(None);
    }
    let what = format!("{name} is larger than {} MiB", MAX_IMPORTED_BYTES >> 20);
    Err(Advice::error(what, "save each subnet in its own file: ibnetdiscover > FILE"))
}

/// Reads a capture file; with -H, keeps only the named hosts.
pub(super) fn read_capture(global: &Global, path: &Path) -> anyhow::Result<Capture> {
    let read = Capture::read(path);
    if read.is_err() && PingRun::is_at(path) {
        let place = path.display().to_string();
        let fix = format!("show the run: rdmactl ping --from {}", shlex::try_quote(&place)?);
        return Err(Advice::error(format!("{place} holds a run of ping, not a capture"), fix));
    }
    let mut capture = read?;
    let Some(requested) = host_selection::named(global)? else { return Ok(capture) };
    let mut names: BTreeSet<String> = requested.iter().map(ToString::to_string).collect();
    let held: HostSet = capture.hosts.iter().map(|(head, _)| Host::named(&*head.host)).collect();
    capture.hosts.retain(|(head, _)| names.remove(&*head.host));
    match names.first() {
        None => Ok(capture),
        Some(missing) => Err(Advice::error(
            format!("{} does not hold the host {missing}", path.display()),
            format!("name hosts of the file: -H '{}'", held.fold()),
        )),
    }
}

/// Reads this host or another root, and records the raw data.
pub(super) fn record(global: &Global, parts: &Parts) -> anyhow::Result<(HostReport, Capture)> {
    let (live, host, via) = live(global)?;
    let recorder = Recorder::new(live);
    let report = ask(&recorder, parts, &host, via);
    let captured = CapturedHost::new(host, via, recorder.taken_ns());
    let capture = Capture {
        taken_ns: report.taken_ns.unwrap_or_else(clock::wall_ns),
        hosts: vec![(captured, recorder.into_entries())],
    };
    Ok((report, capture))
}

/// Reads a report through a recorder, with the additional data of `compat`.
pub(super) fn ask(recorder: &Recorder<Live>, parts: &Parts, host: &str, via: Via) -> HostReport {
    let report = host_report(recorder, parts, host, via);
    if parts.has(Part::Compat) {
        ask_everything(&recorder.once());
    }
    report
}

/// Returns the live source, the host name and the origin of the data: this host or another root.
pub(super) fn live(global: &Global) -> anyhow::Result<(Live, String, Via)> {
    Ok(if let Some(root) = &global.root {
        let live = Live::with_root(root)
            .with_context(|| format!("cannot read the directory {} of --root", root.display()))?;
        (live, root.display().to_string(), Via::File)
    } else {
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        (Live::new(VerbsChild::own(global.timeout)), name, Via::Local)
    })
}

/// Refuses to overwrite the input: a listing saves only the data it used.
fn refuse_same(from: &Path, save: &Path) -> anyhow::Result<()> {
    let is_same = fs::canonicalize(from)
        .is_ok_and(|read| fs::canonicalize(save).is_ok_and(|written| read == written));
    if is_same {
        let text = format!("--save would overwrite {}, the file of --from", save.display());
        return Err(Advice::error(text, "save to another file: --save OTHER_FILE"));
    }
    Ok(())
}

/// Returns the error for `--save` with a file of another tool, which holds no raw data.
fn nothing_to_save(from: &Path, save: &Path) -> anyhow::Result<anyhow::Error> {
    let what = format!("{}: a file of this kind has no raw data to save", from.display());
    let (from, save) = (from.display().to_string(), save.display().to_string());
    let (from, save) = (shlex::try_quote(&from)?, shlex::try_quote(&save)?);
    Ok(Advice::error(what, format!("remove --save, or copy the file: cp {from} {save}")))
}

pub(super) fn save(capture: &Capture, path: &Path) -> anyhow::Result<()> {
    capture.save(path).with_context(|| format!("cannot write {}", path.display()))
}

/// Derives reports from a capture.
fn reports(capture: Capture, parts: &Parts) -> Vec<HostReport> {
    let of_host = |(head, entries): (CapturedHost, Vec<Entry>)| {
        report(&head, &Recorded::new(entries, head.taken_ns), parts)
    };
    threads::map(capture.hosts, of_host)
}

/// Derives reports from a capture, and records which part of the capture the reports use.
fn replay(capture: Capture, parts: &Parts) -> (Vec<HostReport>, Capture) {
    let taken_ns = capture.taken_ns;
    let replay = |(head, entries): (CapturedHost, Vec<Entry>)| {
        if head.failure.is_some() {
            return (report(&head, &Recorded::new(Vec::new(), None), parts), (head, entries));
        }
        let recorder = Recorder::new(Recorded::new(entries, head.taken_ns));
        (report(&head, &recorder, parts), (head, recorder.into_entries()))
    };
    let (reports, hosts) = capture.hosts.into_iter().map(replay).unzip();
    (reports, Capture { taken_ns, hosts })
}

/// Derives the report of a host of a capture.
fn report(head: &CapturedHost, source: &dyn Source, parts: &Parts) -> HostReport {
    if let Some(failure) = &head.failure {
        return HostReport::failed(&*head.host, failure.clone());
    }
    let mut report = host_report(source, parts, &*head.host, Via::File);
    report.problems.extend(head.incomplete());
    report
}

#[test]
fn a_large_file_of_another_tool_is_an_error_and_a_large_capture_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.txt");
    let import = |start: &str, bytes: u64| {
        fs::write(&path, start).unwrap();
        // The rest is a hole, which needs no space.
        fs::File::options().write(true).open(&path).unwrap().set_len(bytes).unwrap();
        imported(&path)
    };
    let of_opensm =
        "{ CA Ports:01 SystemGUID:01 NodeGUID:01 PortGUID:02 {n1} PN:01 } PHY=4x LOG=ACT\n";
    for start in ["vendid=0x2c9\n", of_opensm] {
        let error = import(start, MAX_IMPORTED_BYTES + 1).unwrap_err();
        let advice = error.downcast_ref::<Advice>().unwrap();
        assert_eq!(advice.what, format!("{} is larger than 256 MiB", path.display()));
        assert!(advice.fix.ends_with("ibnetdiscover > FILE"), "{}", advice.fix);
    }
    assert!(import("{\"schema\":", MAX_IMPORTED_BYTES + 1).unwrap().is_none());
    assert!(import("leaf a n1\n", MAX_IMPORTED_BYTES + 1).unwrap().is_none());
}

#[test]
fn a_file_of_another_tool_is_not_saved() {
    use clap::Parser as _;

    use crate::cli::Cli;

    const LINE: &str = "{ CA-SM Ports:01 SystemGUID:b83fd20300100000 NodeGUID:b83fd20300100000 \
        PortGUID:b83fd20300100001 VenID:0002C9 DevID:101B Rev:000000A1 {n1 HCA-1} LID:0001 \
        PN:01 } { SW Ports:28 SystemGUID:b83fd20300a00100 NodeGUID:b83fd20300a00100 \
        PortGUID:b83fd20300a00100 VenID:000002C9 DevID:D2F00000 Rev:000000A0 {leaf001} LID:0002 \
        PN:02 } PHY=4x LOG=ACT SPD=50\n";
    let folder = tempfile::tempdir().unwrap();
    let (from, save) = (folder.path().join("opensm-subnet.lst"), folder.path().join("saved"));
    fs::write(&from, LINE).unwrap();
    let (from, save) = (from.to_str().unwrap(), save.to_str().unwrap());
    let read = |flags: &[&str]| {
        let words = [&["rdmactl", "fabric", "--from", from], flags].concat();
        read(&Cli::try_parse_from(words).unwrap().global, &[Part::Fabric].into())
    };
    assert_eq!(read(&[]).unwrap().hosts.len(), 1);
    let error = read(&["--save", save]).unwrap_err();
    let advice = error.downcast_ref::<Advice>().unwrap();
    assert_eq!(advice.what, format!("{from}: a file of this kind has no raw data to save"));
    assert_eq!(advice.fix, format!("remove --save, or copy the file: cp {from} {save}"));
    assert!(!Path::new(save).exists());
}
