//! Runs `rdmactl check`: reads the hosts, runs the checks, prints the findings.
//!
//! `active` tests the pairs of `--active`, `learn` writes the policy of `--learn`, and `plugin`
//! formats the result for monitoring systems.

mod active;
mod learn;
mod plugin;

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use crate::analyse::check::{
    Baseline, CheckOptions, Selection, remove_absent, run as run_checks, untested_pairs,
};
use crate::analyse::connections::connections;
use crate::analyse::rate::CounterSample;
use crate::cli::{CheckArgs, Cli, Command, Format, Global};
use crate::clock::{utc_text, wall_ns};
use crate::config::{policy_schema, read_policy};
use crate::input;
use crate::model::ping::PingReport;
use crate::model::{
    CHECKS, Check, CheckReport, CheckScope, Finding, HostReport, HostResults, Parts, Policy, check,
    nearest_check, selects_check,
};
use crate::names;
use crate::query::{Checks, check_rows};
use crate::render::{
    CheckDocument, check_page, explain_check, list_checks, render_checks, to_json, to_json_lines,
};
use crate::term::Term;

use super::listing::read_with_progress;
use super::listing_output::{Hosts, ListingOutput};
use super::local::Reports;
use super::outcome::{note, say};
use super::watch::{Pace, Watch};
use super::{Advice, Outcome, connection_flags, terminal};

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
        learn::check_file(path)?;
    }
    let parts = parts(args, &options.selection);
    let (mut reports, of_agents) = match args.sample {
        None => {
            let reports = read_with_progress(&flags_of_read(global, args), term, &parts)?;
            (reports, Outcome::Complete)
        }
        Some(time) => read_twice(global, term, parts, time)?,
    };
    options.ping = pairs.map(|pairs| active::run(pairs, global, term)).transpose()?;
    let mut report = run_checks(&reports.hosts, &connections(&reports.hosts), &options);
    let is_bad = report.findings.iter().any(|one| args.fail_on.is_reached(one.finding.severity));
    report.findings.retain(|one| args.severity.is_reached(one.finding.severity));
    if args.plugin.is_some() && global.from.is_some() {
        remove_unrecorded(&mut reports.hosts);
    }
    let of_read = outcome(&mut reports.hosts);
    if let Some(path) = &args.learn {
        learn::write(path, &report.usual, &reports.hosts, of_read, term)?;
    }
    let outcome = match of_read {
        Outcome::Complete if options.ping.as_ref().is_some_and(is_incomplete) => {
            Outcome::Incomplete
        }
        other => other,
    };
    if is_for_people(global) {
        change_fixes(&mut report, connection_flags::in_fix);
    }
    if let Some(plugin) = args.plugin {
        let (text, code) = plugin::text(plugin, &report, &reports, outcome);
        reports.saved?;
        term.write_stdout(text)?;
        return Ok(Outcome::Original(code));
    }
    term.write_stdout(text(global, &view, &report, &reports)?)?;
    reports.saved?;
    Ok(match of_agents {
        _ if is_bad => Outcome::Problem,
        Outcome::Complete => outcome,
        of_agents => outcome.and(of_agents),
    })
}

/// Prints an error of a command with `--plugin` as the result of the plug-in.
///
/// # Errors
/// The command has no `--plugin`: the same error. Or stdout cannot be written.
pub(super) fn print_plugin_error(cli: &Cli, error: anyhow::Error) -> anyhow::Result<Outcome> {
    match &cli.command {
        Some(Command::Check(CheckArgs { plugin: Some(plugin), .. })) => {
            plugin::print_error(*plugin, error, terminal(&cli.global))
        }
        _ => Err(error),
    }
}

/// Returns the text of the findings in the format of the flags.
fn text(
    global: &Global,
    view: &ListingOutput<'_, Checks>,
    report: &CheckReport,
    reports: &Reports,
) -> anyhow::Result<String> {
    let Reports { hosts_named, taken_ns, .. } = *reports;
    Ok(match global.output() {
        Format::Json => to_json(&CheckDocument::new(taken_ns, report))?,
        Format::Ndjson => lines_of_hosts(taken_ns, report)?,
        Format::Html => check_page(taken_ns, report),
        Format::Table if !is_of_rows(global) => {
            render_checks(report, hosts_named, global.verbose > 0)
        }
        _ => view.print_with(check_rows(report), Hosts::of(reports), &|_| String::new())?,
    })
}

/// Returns true if a flag selects or sorts rows or selects columns.
fn is_of_rows(global: &Global) -> bool {
    !global.columns.is_empty() || global.filter.is_some() || global.sort.is_some()
}

/// Returns true if people paste the commands of the output: of a table, a page or a plug-in.
fn is_for_people(global: &Global) -> bool {
    match global.output() {
        Format::Html => true,
        Format::Table => !is_of_rows(global),
        _ => false,
    }
}

fn change_fixes(report: &mut CheckReport, change: impl Fn(&str) -> String) {
    for found in &mut report.findings {
        found.finding.fix = found.finding.fix.as_deref().map(&change);
    }
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

/// Returns the outcome of the read. Removes the problems of values that a host does not have,
/// because these values are not missing.
fn outcome(hosts: &mut [HostReport]) -> Outcome {
    hosts.iter_mut().for_each(remove_absent);
    Outcome::of_listing(hosts)
}

/// Removes the problems of values that a file does not hold. The hosts do not cause them.
fn remove_unrecorded(hosts: &mut [HostReport]) {
    for report in hosts {
        report.problems.retain(|problem| !problem.not_recorded);
    }
}

/// Returns true if a pair was not tested, or if an agent may still run.
fn is_incomplete(ping: &PingReport) -> bool {
    untested_pairs(ping) > 0 || !ping.left_behind.is_empty()
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

/// Reads the hosts twice. The counters of the second report have their changes. The outcome is
/// incomplete if an agent may still run.
fn read_twice(
    global: &Global,
    term: Term,
    parts: Parts,
    time: Duration,
) -> anyhow::Result<(Reports, Outcome)> {
    let twice = Global { count: Some(2), ..global.clone() };
    // A host may need longer than the interval.
    let pace = Pace { every: time, limit: global.timeout, flag: "--sample" };
    let mut watch = Watch::start_at(&twice, pace, parts, 0)?;
    let first = watch.next()?;
    let second = watch.next()?;
    let mut outcome = Outcome::Complete;
    for left in watch.end() {
        outcome = Outcome::Incomplete;
        say(term, &note(&left));
    }
    let reports = match (first, second) {
        (Some(first), Some(mut second)) => {
            CounterSample::of(&first.hosts).add_rates(&mut second.hosts);
            second
        }
        (Some(only), None) => only,
        (None, _) => {
            return Err(Advice::error("a signal ended the run before the first sample", "retry"));
        }
    };
    Ok((reports, outcome))
}

fn policy(args: &CheckArgs) -> anyhow::Result<Policy> {
    let Some(path) = &args.policy else { return Ok(Policy::default()) };
    read_policy(path).map_err(|error| Advice::error(error.what, error.fix))
}

fn baseline(path: &Path) -> anyhow::Result<Baseline> {
    let name = path.display().to_string();
    let read = input::read_text(path, MAX_BASELINE).map_err(|error| error.to_string());
    read.and_then(|text| Baseline::parse(&name, &text)).map_err(|error| {
        let fix = format!("write a new file: rdmactl check -f json > {}", input::free_path(path));
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

/// Formats one document for each host, with the findings of the host. The documents are built one
/// after the other, because a common finding has the names of all its hosts.
fn lines_of_hosts(taken_ns: Option<u64>, report: &CheckReport) -> serde_json::Result<String> {
    let findings = by_host(&report.findings, |found| &found.finding);
    let accepted = by_host(&report.accepted, |(found, _)| &found.finding);
    let line = |host: &HostResults| {
        let name = host.host.as_str();
        let of_host = CheckReport {
            findings: of_name(&findings, name),
            hosts: vec![host.clone()],
            accepted: of_name(&accepted, name),
            usual: Vec::new(),
        };
        to_json_lines([CheckDocument::new(taken_ns, &of_host)])
    };
    report.hosts.iter().map(line).collect()
}

/// Items of each host, by the name of the host.
type ByHost<'report, T> = HashMap<&'report str, Vec<&'report T>>;

/// Returns the items whose finding concerns a host, by the name of the host.
fn by_host<T>(items: &[T], finding: impl Fn(&T) -> &Finding) -> ByHost<'_, T> {
    let mut by_host: ByHost<'_, T> = HashMap::new();
    for item in items {
        for host in &finding(item).hosts {
            by_host.entry(host).or_default().push(item);
        }
    }
    by_host
}

fn of_name<T: Clone>(by_host: &ByHost<'_, T>, name: &str) -> Vec<T> {
    by_host.get(name).into_iter().flatten().copied().cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser as _;

    use super::*;
    use crate::analyse::verdict::{Ends, not_tested, one_machine};
    use crate::cli::{Cli, Command};
    use crate::model::ping::{Cell, Pair, PingHost, Summary, Verdict};
    use crate::model::{CheckedFinding, HostFailure, Problem, Reason, Severity, Subject, Via};
    use crate::render::nagios;

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
        assert_eq!(outcome(&mut [absent()]), Outcome::Complete);
        let unreadable = report("RDMA netlink, ports of device 0");
        assert_eq!(outcome(&mut [absent(), unreadable.clone()]), Outcome::Incomplete);
        let silent = HostReport::failed("n2", HostFailure::new(Reason::Timeout, "no reply"));
        assert_eq!(outcome(&mut [absent(), silent.clone()]), Outcome::Incomplete);
        assert_eq!(outcome(&mut [silent]), Outcome::Nothing);
        let mut unrecorded = unreadable.clone();
        unrecorded.problems = [Problem { not_recorded: true, ..unreadable.problems[0].clone() }]
            .into_iter()
            .collect();
        let mut hosts = [unrecorded, unreadable];
        remove_unrecorded(&mut hosts);
        assert_eq!(hosts.each_ref().map(|host| host.problems.len()), [0, 1]);
    }

    #[test]
    fn two_names_of_one_host_make_no_run_incomplete() {
        let run = |verdict: Verdict| {
            let pairs = vec![Pair::of_verdict(Cell { rail: 0, source: 0, target: 1 }, verdict)];
            PingReport {
                hosts: ["n1", "n2"].map(|name| PingHost::of(name, 0, None)).into(),
                summary: Summary::of(&pairs),
                pairs,
                ..PingReport::default()
            }
        };
        let of_one_host = run(one_machine(&Ends { source: "n1", target: "n2", route: None }));
        assert!(!is_incomplete(&of_one_host) && is_incomplete(&run(not_tested())));
        let left_behind = vec!["n1: an agent may still run".to_owned()];
        assert!(is_incomplete(&PingReport { left_behind, ..of_one_host }));
    }

    /// Returns a report of two hosts with a common finding, a finding of n2, and an accepted one.
    fn findings() -> CheckReport {
        let found = |hosts: &[&str], what: &str| {
            let hosts = hosts.iter().map(ToString::to_string).collect();
            let finding = Finding::new(Severity::Fail, "port.down", Subject::Host, what);
            let finding = finding.fix("list them: rdmactl ports -H 'n[1-2]'");
            CheckedFinding {
                check: check("port.down").unwrap(),
                finding: Finding { hosts, ..finding },
                explains: BTreeSet::default(),
            }
        };
        let host = |name: &str| HostResults { host: name.into(), ..HostResults::default() };
        CheckReport {
            findings: vec![found(&["n1", "n2"], "common"), found(&["n2"], "own")],
            hosts: vec![host("n1"), host("n2"), host("n3")],
            accepted: vec![(found(&["n1"], "accepted"), "no cable".into())],
            usual: Vec::new(),
        }
    }

    #[test]
    fn each_host_has_its_line_with_its_findings() {
        let text = lines_of_hosts(Some(1), &findings()).unwrap();
        let line = |text: &str| {
            let json: serde_json::Value = serde_json::from_str(text).unwrap();
            let of = |key: &str, inner: &str| {
                let items = json[key].as_array().unwrap().iter();
                items.map(|one| one[inner].as_str().unwrap().to_owned()).collect::<Vec<_>>()
            };
            [of("hosts", "host"), of("findings", "what"), of("accepted", "why")].concat().join(" ")
        };
        let lines: Vec<String> = text.lines().map(line).collect();
        assert_eq!(lines, ["n1 common no cable", "n2 common own", "n3"]);
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(first["findings"][0]["hosts"], serde_json::json!(["n1", "n2"]));
    }

    fn parsed(words: &str) -> (Global, CheckArgs) {
        let cli = Cli::try_parse_from(words.split(' ')).unwrap();
        let Some(Command::Check(args)) = cli.command else { panic!("{words}") };
        (cli.global, args)
    }

    #[test]
    fn fixes_for_people_have_the_flags_of_the_connections() {
        for (flags, is_expected) in [
            ("-H n1", true),
            ("--plugin nagios", true),
            ("-f html", true),
            ("-f json", false),
            ("-j", false),
            ("-f csv", false),
            ("-o check.id", false),
            ("-w severity==fail", false),
        ] {
            let (global, _) = parsed(&format!("rdmactl check {flags}"));
            assert_eq!(is_for_people(&global), is_expected, "{flags}");
        }
        let mut report = findings();
        change_fixes(&mut report, |fix| fix.replace(" -H ", " -F cfg -H "));
        let fix = "list them: rdmactl ports -F cfg -H 'n[1-2]'";
        assert_eq!(report.findings[1].finding.fix.as_deref(), Some(fix));
        let (text, _) = nagios(&report, true);
        assert_eq!(text.matches(fix).count(), 2, "{text}");
        let page = check_page(None, &report);
        assert_eq!(page.matches("rdmactl ports -F cfg -H").count(), 2, "{page}");
    }

    #[test]
    fn the_fix_of_a_baseline_overwrites_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my run.json");
        let fix = |name: &str| {
            let file = folder.path().join(name);
            format!("write a new file: rdmactl check -f json > '{}'", file.display())
        };
        let fix_of = |error: anyhow::Error| error.downcast_ref::<Advice>().unwrap().fix.clone();
        assert_eq!(fix_of(baseline(&path).unwrap_err()), fix("my run.json"));
        std::fs::write(&path, r#"{ "schema": "rdmactl.ping/1", "findings": [] }"#).unwrap();
        assert_eq!(fix_of(baseline(&path).unwrap_err()), fix("my run.2.json"));
        std::fs::write(folder.path().join("my run.2.json"), "").unwrap();
        assert_eq!(fix_of(baseline(&path).unwrap_err()), fix("my run.3.json"));
    }

    #[test]
    fn active_checks_read_through_an_uploaded_program_unless_that_is_forbidden() {
        let uploads = |words: &str| {
            let (global, args) = parsed(words);
            flags_of_read(&global, &args).upload
        };
        assert!(uploads("rdmactl check --active -H n[1-2]"));
        assert!(!uploads("rdmactl check --active -H n[1-2] --no-upload"));
        assert!(!uploads("rdmactl check -H n[1-2]"));
        assert!(uploads("rdmactl check -H n[1-2] --upload"));
    }
}
