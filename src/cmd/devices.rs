//! `rdmactl devices`: what do I have?

use crate::cli::{Format, Global};
use crate::clock;
use crate::collect::Parts;
use crate::query::{Column, Defaults, Devices, device_rows, select};
use crate::render::{DevicesDocument, column_help, notes, plain, table, to_json};
use crate::term::Term;

use super::local::{self, Reports};
use super::outcome::say;
use super::{Advice, Outcome, hosts};

/// Lists the devices of what the flags name.
pub(super) fn run(global: &Global, term: Term) -> anyhow::Result<Outcome> {
    if global.columns.iter().any(|word| word == "help") {
        term.answer(column_help::<Devices>())?;
        return Ok(Outcome::Complete);
    }
    // Hosts are known to be named only after reading, so that the columns are checked first.
    let chosen = columns(global, true)?;
    let verbs = global.verbose > 0 || chosen.iter().any(|column| column.needs_verbs());
    let reports = read(global, Parts { verbs })?;
    let rows = device_rows(&reports.hosts, reports.hosts_named);
    let chosen = columns(global, reports.hosts_named)?;
    let header = !global.no_header;
    term.answer(match global.output() {
        Format::Table => table(&chosen, &rows, header),
        Format::Plain => plain(&chosen, &rows, header),
        Format::Json => to_json(&DevicesDocument::new(reports.taken_ns, &reports.hosts))?,
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

fn columns(global: &Global, hosts_named: bool) -> anyhow::Result<Vec<&'static Column<Devices>>> {
    let defaults = Defaults { hosts_named, verbose: global.verbose > 0 };
    select(&global.columns, defaults)
        .map_err(|error| Advice::error(error.to_string(), "list all columns with -o help"))
}
