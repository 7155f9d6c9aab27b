//! What all listings have in common: read what the flags name, choose rows and columns, print.

use crate::cli::{Format, Global};
use crate::clock;
use crate::model::{HostReport, Parts};
use crate::query::Listing;
use crate::render::{Note, ReportDocument, column_help, notes, to_json, to_json_lines};
use crate::term::Term;

use super::local::{self, Reports};
use super::outcome::say;
use super::view::{Hosts, View};
use super::{Outcome, hosts};

/// What makes one listing different from the others.
pub(super) struct Recipe<L: Listing> {
    /// What it needs besides files, whatever columns are chosen.
    pub(super) parts: Parts,
    /// What to say where there are devices, and nothing to list.
    pub(super) nothing: &'static str,
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
    let view = View::<L>::new(global)?;
    let mut reports = read(global, view.parts(recipe.parts)?)?;
    reports.hosts.iter_mut().for_each(keep);
    let Reports { hosts, hosts_named, taken_ns } = &reports;
    term.answer(match global.output() {
        Format::Json => to_json(&ReportDocument::new(*taken_ns, hosts))?,
        Format::Ndjson => to_json_lines(
            hosts.iter().map(|host| ReportDocument::new(*taken_ns, std::slice::from_ref(host))),
        )?,
        Format::Table | Format::Plain | Format::Csv | Format::Prom => {
            let rows = (recipe.rows)(hosts, *hosts_named);
            if rows.is_empty() && hosts.iter().any(|host| !host.devices.is_empty()) {
                say(term, &Note { text: recipe.nothing.into(), fix: None });
            }
            view.print(rows, Hosts::of(&reports))?
        }
    })?;
    for note in notes(hosts, *hosts_named) {
        say(term, &note);
    }
    Ok(Outcome::of_listing(hosts))
}

/// Reads what the flags name.
pub(super) fn read(global: &Global, parts: Parts) -> anyhow::Result<Reports> {
    let Some(set) = &global.hosts else { return local::read(global, parts) };
    let taken_ns = Some(clock::wall_ns());
    let hosts = if let Some(path) = &global.save {
        let (reports, capture) = hosts::record_hosts(global, set, parts)?;
        local::save(&capture, path)?;
        reports
    } else {
        hosts::report_hosts(global, set, parts)?
    };
    Ok(Reports { hosts, hosts_named: true, taken_ns })
}
