//! Runs `rdmactl check`: reads the hosts, runs the checks, prints the findings.

use std::collections::HashMap;

use crate::analyse::check::{Selection, run as run_checks, selects};
use crate::analyse::connections::connections;
use crate::cli::{CheckArgs, Format, Global};
use crate::model::{
    CHECKS, Check, CheckReport, CheckScope, CheckedFinding, HostResults, Part, Parts, check,
};
use crate::names;
use crate::query::{Checks, check_rows};
use crate::render::{
    CheckDocument, explain_check, list_checks, render_checks, to_json, to_json_lines,
};
use crate::term::Term;

use super::listing::read_with_progress;
use super::listing_output::{Hosts, ListingOutput};
use super::{Advice, Outcome, connection_flags};

/// Checks the hosts of the flags, or lists the checks.
///
/// # Errors
/// A flag names no check, or nothing could be read.
pub(super) fn run(global: &Global, args: &CheckArgs, term: Term) -> anyhow::Result<Outcome> {
    if global.columns.iter().any(|word| word == "help") {
        term.write_stdout(crate::render::column_help::<Checks>())?;
        return Ok(Outcome::Complete);
    }
    let selection = selection(args)?;
    if let Some(id) = &args.explain {
        let check = check(id).ok_or_else(|| no_check("--explain", id))?;
        term.write_stdout(explain_check(check))?;
        return Ok(Outcome::Complete);
    }
    if args.list {
        let listed: Vec<&Check> =
            CHECKS.iter().filter(|check| selection.admits(check.id)).collect();
        term.write_stdout(list_checks(&listed))?;
        return Ok(Outcome::Complete);
    }
    let view = ListingOutput::<Checks>::new(global, term)?;
    let reports = read_with_progress(global, term, &parts(args, &selection))?;
    let mut report = run_checks(&reports.hosts, &connections(&reports.hosts), &selection);
    let is_bad = report.findings.iter().any(|one| args.fail_on.is_reached(one.finding.severity));
    report.findings.retain(|one| args.severity.is_reached(one.finding.severity));
    let is_rows = !global.columns.is_empty() || global.filter.is_some() || global.sort.is_some();
    let text = match global.output() {
        Format::Json => to_json(&CheckDocument::new(reports.taken_ns, &report))?,
        Format::Ndjson => to_json_lines(
            of_hosts(&report).iter().map(|one| CheckDocument::new(reports.taken_ns, one)),
        )?,
        Format::Table if !is_rows => connection_flags::in_fixes(&render_checks(
            &report,
            reports.hosts_named,
            global.verbose > 0,
        )),
        _ => view.print_with(check_rows(&report), Hosts::of(&reports), &|_| String::new())?,
    };
    term.write_stdout(text)?;
    reports.saved?;
    let outcome = Outcome::of_listing(&reports.hosts);
    Ok(if is_bad { Outcome::Problem } else { outcome })
}

/// Returns the checks of the flags.
fn selection(args: &CheckArgs) -> anyhow::Result<Selection> {
    for (flag, words) in [("--only", &args.only), ("--skip", &args.skip)] {
        if let Some(word) =
            words.iter().find(|word| !CHECKS.iter().any(|one| selects(word, one.id)))
        {
            return Err(no_check(flag, word));
        }
    }
    Ok(Selection { only: args.only.clone(), skip: args.skip.clone() })
}

/// Returns the error for a word that names no check.
fn no_check(flag: &str, word: &str) -> anyhow::Error {
    let ids = CHECKS.iter().map(|check| check.id);
    let likeness = |id: &&str| strsim::jaro_winkler(id, word);
    let near = ids.max_by(|a, b| likeness(a).total_cmp(&likeness(b))).unwrap_or_default();
    let fix = format!("write for example {near} or 'port.*'; list all: rdmactl check --list");
    Advice::error(format!("{flag}: no check {}", names::shortened(word)), fix)
}

/// Returns the parts of a report that the selected checks need.
fn parts(args: &CheckArgs, selection: &Selection) -> Parts {
    let selected = CHECKS.iter().filter(|check| selection.admits(check.id));
    let wanted = selected.filter(|check| args.fabric || check.scope != CheckScope::Subnet);
    let parts = wanted.flat_map(|check| check.parts).copied();
    parts.filter(|part| args.fabric || !part.is_of_fabric()).chain([Part::Details]).collect()
}

/// Returns a report for each host, with the findings of the host.
fn of_hosts(report: &CheckReport) -> Vec<CheckReport> {
    let mut by_host: HashMap<&str, Vec<CheckedFinding>> = HashMap::new();
    for found in &report.findings {
        for host in &found.finding.hosts {
            by_host.entry(host).or_default().push(found.clone());
        }
    }
    let of_host = |host: &HostResults| CheckReport {
        findings: by_host.get(host.host.as_str()).cloned().unwrap_or_default(),
        hosts: vec![host.clone()],
    };
    report.hosts.iter().map(of_host).collect()
}
