//! Runs `rdmactl capture`: writes the raw data of hosts to a file or to stdout.

use std::path::Path;

use anyhow::Context as _;

use crate::cli::{CaptureArgs, Global};
use crate::model::{HostReport, Parts};
use crate::names;
use crate::render::{Note, escape, notes};
use crate::term::Term;

use super::outcome::{note, say_all};
use super::{Advice, Outcome, fleet, host_selection, local};

pub(super) fn run(global: &Global, args: &CaptureArgs, term: Term) -> anyhow::Result<Outcome> {
    if global.save.is_none() && term.is_stdout_terminal() {
        let fix = "name a file: rdmactl capture --save FILE";
        return Err(Advice::error("a capture is not written to a terminal", fix));
    }
    if let Some(file) = global.hosts.iter().find(|set| is_file_name(set)) {
        let file = shlex::try_quote(file)?;
        let fix = format!("write the file after --save: rdmactl capture --save {file}");
        return Err(Advice::error(format!("{file} is the name of a file, not of a host"), fix));
    }
    let (mut capture, reports) = if let Some(path) = &global.from {
        (local::read_capture(global, path)?, Vec::new())
    } else if let Some(hosts) = host_selection::hosts(global)? {
        let (reports, capture) = fleet::record_hosts(global, hosts, &Parts::all())?;
        (capture, reports)
    } else {
        let (report, capture) = local::record(global, &Parts::all())?;
        (capture, vec![report])
    };
    if args.redact {
        capture = capture.redacted().context("cannot read random numbers")?;
    }
    if let Some(path) = &global.save {
        local::save(&capture, path)?;
        let failed = capture.hosts.iter().filter(|(host, _)| host.failure.is_some()).count();
        say_all(term, written(path, capture.hosts.len(), failed));
    } else {
        let mut text = Vec::new();
        capture.write(&mut text)?;
        term.write_stdout(text)?;
    }
    // A copy is complete. A recording lacks the data that its hosts could not read.
    say_all(term, notes(&reports, global.queries_hosts(), global.verbose > 0));
    say_all(term, failed(global, args.redact, &reports));
    Ok(Outcome::of_listing(&reports))
}

/// Returns the note about failed hosts, with the command that records them again.
fn failed(global: &Global, redacts: bool, reports: &[HostReport]) -> Option<Note> {
    let failed: Vec<&HostReport> = reports.iter().filter(|one| one.failure.is_some()).collect();
    if failed.is_empty() || !global.queries_hosts() {
        return None;
    }
    let names = names::fold(failed.iter().map(|one| one.host.clone()));
    let text = format!(
        "{} of {} hosts failed: {names}; the capture holds the reason in place of the data",
        failed.len(),
        reports.len()
    );
    let set = names::in_shell(&names);
    let redact = if redacts { " --redact" } else { "" };
    let fix = format!(
        "after the fix of each host, record again: rdmactl capture -H {set}{redact} --save FILE"
    );
    Some(Note { text: escape(&text).into_owned(), fix: Some(fix) })
}

fn is_file_name(word: &str) -> bool {
    [".json", ".ndjson"].iter().any(|end| word.ends_with(end))
}

/// Returns the note about a file that was written; `None` for a pipe or device. A failed host has
/// an entry in the file, without data.
fn written(path: &Path, hosts: usize, failed: usize) -> Option<Note> {
    let about = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let count = match failed {
        0 => hosts.to_string(),
        _ => format!("{} of {hosts}", hosts.saturating_sub(failed)),
    };
    let noun = if hosts == 1 { "host" } else { "hosts" };
    let kilobytes = about.len().div_ceil(1000);
    let name = path.display().to_string();
    let quoted = shlex::try_quote(&name).ok()?;
    let archives = ["tar", "gz", "tgz", "bz2", "xz", "zst", "zip"];
    let looks_packed = path.extension().is_some_and(|end| archives.iter().any(|one| end == *one));
    let kind = if looks_packed { " of JSON lines, not an archive" } else { "" };
    Some(note(&format!(
        "wrote {name}: {count} {noun}, {kilobytes} KB{kind}; list it: rdmactl devices --from {quoted}"
    )))
}
