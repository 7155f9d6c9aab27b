//! Runs `rdmactl check`: reads the hosts, runs the checks, prints the findings.
//!
//! `active` tests the pairs of `--active`.

mod active;

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use crate::analyse::check::{Baseline, CheckOptions, Selection, remove_absent, run as run_checks};
use crate::analyse::connections::connections;
use crate::analyse::rate::CounterSample;
use crate::capture::{check_place, replace_file};
use crate::cli::{CheckArgs, Format, Global, Plugin};
use crate::clock::{utc_text, wall_ns};
use crate::config::{policy_schema, read_policy, write_policy};
use crate::input;
use crate::model::ping::PingReport;
use crate::model::{
    CHECKS, Check, CheckReport, CheckScope, CheckedFinding, HostReport, HostResults, Parts, Policy,
    check, nearest_check, selects_check,
};
use crate::names;
use crate::query::{Checks, check_rows};
use crate::render::{
    CheckDocument, check_page, explain_check, list_checks, nagios, nhc, render_checks, to_json,
    to_json_lines,
};
use crate::term::Term;

use super::listing::read_with_progress;
use super::listing_output::{Hosts, ListingOutput};
use super::local::Reports;
use super::outcome::{note, say};
use super::watch::Watch;
use super::{Advice, Outcome, connection_flags};

/// Limit of a baseline file. A finding has some hundred bytes, and names each of its hosts.
const MAX_BASELINE: u64 = 256 << 20;

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
    if let Some(text) = text_without_run(args, &selection)? {
        term.write_stdout(text)?;
        return Ok(Outcome::Complete);
    }
    let view = ListingOutput::<Checks>::new(global, term)?;
    let pairs = active::pairs(global, args, &selection)?;
    let mut options = CheckOptions {
        selection,
        policy: policy(args)?,
        baseline: args.baseline.as_deref().map(baseline).transpose()?,
        today: utc_text(wall_ns()).chars().take_while(|letter| *letter != ' ').collect(),
        ping: None,
    };
    if let Some(path) = &args.learn {
        check_place(path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let parts = parts(args, &options.selection);
    let reports = match args.sample {
        None => read_with_progress(&flags_of_read(global, args), term, &parts)?,
        Some(time) => read_twice(global, term, parts, time)?,
    };
    options.ping = pairs.map(|pairs| active::run(pairs, global, term)).transpose()?;
    let mut report = run_checks(&reports.hosts, &connections(&reports.hosts), &options);
    let is_bad = report.findings.iter().any(|one| args.fail_on.is_reached(one.finding.severity));
    report.findings.retain(|one| args.severity.is_reached(one.finding.severity));
    if let Some(path) = &args.learn {
        let text = write_policy(&report.usual);
        replace_file(path, &|out| out.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(plugin) = args.plugin {
        let print = match plugin {
            Plugin::Nagios => nagios,
            Plugin::Nhc => nhc,
        };
        let (text, code) = print(&report, reports.hosts_named);
        term.write_stdout(text)?;
        reports.saved?;
        return Ok(Outcome::Original(code));
    }
    let is_rows = !global.columns.is_empty() || global.filter.is_some() || global.sort.is_some();
    let text = match global.output() {
        Format::Json => to_json(&CheckDocument::new(reports.taken_ns, &report))?,
        Format::Ndjson => to_json_lines(
            of_hosts(&report).iter().map(|one| CheckDocument::new(reports.taken_ns, one)),
        )?,
        Format::Html => check_page(reports.taken_ns, &report),
        Format::Table if !is_rows => connection_flags::in_fixes(&render_checks(
            &report,
            reports.hosts_named,
            global.verbose > 0,
        )),
        _ => view.print_with(check_rows(&report), Hosts::of(&reports), &|_| String::new())?,
    };
    term.write_stdout(text)?;
    reports.saved?;
    let outcome = outcome(reports.hosts);
    Ok(match outcome {
        _ if is_bad => Outcome::Problem,
        Outcome::Complete if options.ping.as_ref().is_some_and(is_incomplete) => {
            Outcome::Incomplete
        }
        _ => outcome,
    })
}

/// Returns the text that `--explain`, `--list` or `--policy-schema` requests instead of a run.
fn text_without_run(args: &CheckArgs, selection: &Selection) -> anyhow::Result<Option<String>> {
    if let Some(id) = &args.explain {
        let check = check(id).ok_or_else(|| no_check("--explain", id))?;
        return Ok(Some(explain_check(check)));
    }
    if args.list {
        let listed: Vec<&Check> =
            CHECKS.iter().filter(|check| selection.admits(check.id)).collect();
        return Ok(Some(list_checks(&listed)));
    }
    Ok(if args.policy_schema { Some(to_json(&policy_schema())?) } else { None })
}

/// Returns the flags of the read. The tests of pairs need rdmactl on each host, as `ping` does.
fn flags_of_read(global: &Global, args: &CheckArgs) -> Global {
    Global { upload: global.upload || (args.active && !global.no_upload), ..global.clone() }
}

/// Returns the outcome of the read. A value that a host does not have is not missing.
fn outcome(mut hosts: Vec<HostReport>) -> Outcome {
    hosts.iter_mut().for_each(remove_absent);
    Outcome::of_listing(&hosts)
}

/// Returns true if a pair was not tested, or if an agent may still run.
fn is_incomplete(ping: &PingReport) -> bool {
    ping.summary.not_tested > 0 || !ping.left_behind.is_empty()
}

/// Returns the checks of the flags.
fn selection(args: &CheckArgs) -> anyhow::Result<Selection> {
    for (flag, words) in [("--only", &args.only), ("--skip", &args.skip)] {
        if let Some(word) =
            words.iter().find(|word| !CHECKS.iter().any(|one| selects_check(word, one.id)))
        {
            return Err(no_check(flag, word));
        }
    }
    Ok(Selection { only: args.only.clone(), skip: args.skip.clone() })
}

/// Reads the hosts twice. The counters of the second report have their changes.
fn read_twice(
    global: &Global,
    term: Term,
    parts: Parts,
    time: Duration,
) -> anyhow::Result<Reports> {
    refuse_flags(
        "--sample",
        "a file holds one sample",
        &[
            ("--from", global.from.is_some()),
            ("--root", global.root.is_some()),
            ("--save", global.save.is_some()),
        ],
    )?;
    let twice = Global { count: Some(2), ..global.clone() };
    let mut watch = Watch::start(&twice, time, parts, 0)?;
    let first = watch.next()?;
    let second = watch.next()?;
    for left in watch.end() {
        say(term, &note(&left));
    }
    match (first, second) {
        (Some(first), Some(mut second)) => {
            CounterSample::of(&first.hosts).add_rates(&mut second.hosts);
            Ok(second)
        }
        (Some(only), None) => Ok(only),
        (None, _) => Err(Advice::error("a signal ended the run before the first sample", "retry")),
    }
}

/// Refuses the given flags that contradict the flag `of`, for the reason `why`.
fn refuse_flags(of: &str, why: &str, flags: &[(&str, bool)]) -> anyhow::Result<()> {
    match flags.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag, _)) => {
            let what = format!("{of} contradicts {flag}: {why}");
            Err(Advice::error(what, "remove one of them"))
        }
    }
}

fn policy(args: &CheckArgs) -> anyhow::Result<Policy> {
    let Some(path) = &args.policy else { return Ok(Policy::default()) };
    read_policy(path).map_err(|error| Advice::error(error.what, error.fix))
}

fn baseline(path: &Path) -> anyhow::Result<Baseline> {
    let name = path.display().to_string();
    let read = input::read_text(path, MAX_BASELINE).map_err(|error| error.to_string());
    read.and_then(|text| Baseline::parse(&name, &text)).map_err(|error| {
        let fix = format!("write it with: rdmactl check -f json > {name}");
        Advice::error(format!("--baseline {name}: {error}"), fix)
    })
}

/// Returns the error for a word that names no check.
fn no_check(flag: &str, word: &str) -> anyhow::Error {
    let near = nearest_check(word);
    let fix = format!("write for example {near} or 'port.*'; list all: rdmactl check --list");
    Advice::error(format!("{flag}: no check {}", names::shortened(word)), fix)
}

/// Returns the parts that the selected checks need or that refine their results; parts of subnets
/// only with `--fabric`.
fn parts(args: &CheckArgs, selection: &Selection) -> Parts {
    let selected = CHECKS.iter().filter(|check| selection.admits(check.id));
    let wanted = selected.filter(|check| args.fabric || check.scope != CheckScope::Subnet);
    let parts = wanted.flat_map(|check| check.parts).copied();
    parts.filter(|part| args.fabric || !part.is_of_fabric()).collect()
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
        accepted: report
            .accepted
            .iter()
            .filter(|(found, _)| found.finding.hosts.contains(&host.host))
            .cloned()
            .collect(),
        usual: Vec::new(),
    };
    report.hosts.iter().map(of_host).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};
    use crate::model::{HostFailure, Problem, Reason, Via};

    fn report(source: &str) -> HostReport {
        let problem = Problem {
            key: "netlink".into(),
            source: source.into(),
            errno: Some("EINVAL".into()),
            detail: format!("cannot read {source}"),
            fix: None,
            not_recorded: false,
        };
        HostReport {
            rdma_core: Some(true),
            problems: [problem].into_iter().collect(),
            ..HostReport::empty("n1", Via::Agent)
        }
    }

    #[test]
    fn only_values_that_a_host_has_make_a_run_incomplete() {
        let absent = || report("RDMA netlink, devices");
        assert!(absent().is_incomplete());
        assert_eq!(outcome(vec![absent()]), Outcome::Complete);
        let unreadable = report("RDMA netlink, ports of device 0");
        assert_eq!(outcome(vec![absent(), unreadable]), Outcome::Incomplete);
        let silent = HostReport::failed("n2", HostFailure::new(Reason::Timeout, "no reply"));
        assert_eq!(outcome(vec![absent(), silent.clone()]), Outcome::Incomplete);
        assert_eq!(outcome(vec![silent]), Outcome::Nothing);
    }

    #[test]
    fn active_checks_read_through_an_uploaded_program_unless_that_is_forbidden() {
        let uploads = |words: &str| {
            let cli = Cli::try_parse_from(words.split(' ')).unwrap();
            let Some(Command::Check(args)) = &cli.command else { panic!("{words}") };
            flags_of_read(&cli.global, args).upload
        };
        assert!(uploads("rdmactl check --active -H n[1-2]"));
        assert!(!uploads("rdmactl check --active -H n[1-2] --no-upload"));
        assert!(!uploads("rdmactl check -H n[1-2]"));
        assert!(uploads("rdmactl check -H n[1-2] --upload"));
    }
}
