//! What all listings have in common: read what the flags name, choose columns, print.

use crate::cli::{Format, Global};
use crate::clock;
use crate::model::{HostReport, Parts};
use crate::query::{Column, Defaults, Listing, select};
use crate::render::{ReportDocument, column_help, notes, plain, table, to_json};
use crate::term::Term;

use super::local::{self, Reports};
use super::outcome::say;
use super::{Advice, Outcome, hosts};

/// What makes one listing different from the others.
pub(super) struct Recipe<L: Listing> {
    /// What it needs besides files, whatever columns are chosen.
    pub(super) parts: Parts,
    /// Makes rows of reports; the flag says whether hosts are named.
    pub(super) rows: for<'report> fn(&'report [HostReport], bool) -> Vec<L::Row<'report>>,
}

/// Prints a listing; `keep` first takes out of the reports what was not asked for.
pub(super) fn run<L: Listing>(
    global: &Global,
    term: Term,
    recipe: &Recipe<L>,
    keep: impl Fn(&mut HostReport),
) -> anyhow::Result<Outcome> {
    if global.columns.iter().any(|word| word == "help") {
        term.answer(column_help::<L>())?;
        return Ok(Outcome::Complete);
    }
    // Hosts are known to be named only after reading, so that the columns are checked first.
    let chosen = columns::<L>(global, true)?;
    let verbs = recipe.parts.verbs || chosen.iter().any(|column| column.needs_verbs());
    let mut reports = read(global, Parts { verbs, ..recipe.parts })?;
    reports.hosts.iter_mut().for_each(keep);
    let rows = (recipe.rows)(&reports.hosts, reports.hosts_named);
    let chosen = columns::<L>(global, reports.hosts_named)?;
    let header = !global.no_header;
    term.answer(match global.output() {
        Format::Table => table(&chosen, &rows, header),
        Format::Plain => plain(&chosen, &rows, header),
        Format::Json => to_json(&ReportDocument::new(reports.taken_ns, &reports.hosts))?,
    })?;
    for note in notes(&reports.hosts, reports.hosts_named) {
        say(term, &note);
    }
    Ok(Outcome::of_listing(&reports.hosts))
}

fn read(global: &Global, parts: Parts) -> anyhow::Result<Reports> {
    if global.save.is_some() && (global.hosts.is_some() || global.from.is_some()) {
        let fix = "leave out --save; a capture file is copied by rdmactl capture --from";
        return Err(Advice::error("--save keeps the answers of this host or of --root only", fix));
    }
    match &global.hosts {
        None => local::read(global, parts),
        Some(set) => {
            let taken_ns = Some(clock::wall_ns());
            let hosts = hosts::report_hosts(global, set, parts)?;
            Ok(Reports { hosts, hosts_named: true, taken_ns })
        }
    }
}

fn columns<L: Listing>(
    global: &Global,
    hosts_named: bool,
) -> anyhow::Result<Vec<&'static Column<L>>> {
    let defaults = Defaults { hosts_named, verbose: global.verbose > 0 };
    select(&global.columns, defaults)
        .map_err(|error| Advice::error(error.to_string(), "list all columns with -o help"))
}
