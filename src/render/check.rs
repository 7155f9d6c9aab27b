//! Text and JSON of `rdmactl check`.

mod html;
mod plugin;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::escape;
use super::json::TOOL;
use super::problems::{mark, who};
use crate::model::{Check, CheckReport, CheckResult, CheckedFinding, HostResults, Severity};
use crate::names;

pub use plugin::{nagios, nhc, without_bar};

/// Renders a page with the findings, for a ticket.
pub fn check_page(taken_ns: Option<u64>, report: &CheckReport) -> String {
    html::page(taken_ns, report, summary(report, true).trim_end())
}

/// Formats findings, worst first, and a summary. Findings that may be intended are shown with
/// `verbose` only; then each finding also has its rule, and the checks without a result a reason.
pub fn render_checks(report: &CheckReport, hosts_named: bool, verbose: bool) -> String {
    let mut text = String::new();
    for found in &report.findings {
        if verbose || found.finding.severity != Severity::Info {
            write_finding(&mut text, found, hosts_named, verbose);
        }
    }
    if verbose {
        for (found, why) in &report.accepted {
            let who = format!("{}: {}", who(&found.finding, hosts_named), found.check.id);
            let _ = writeln!(text, "{}: {}", escape(&who), escape(why));
        }
        write_reasons(&mut text, report, hosts_named);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text + &summary(report, verbose)
}

fn write_finding(text: &mut String, found: &CheckedFinding, hosts_named: bool, verbose: bool) {
    let CheckedFinding { check, finding, explains } = found;
    let who = escape(&who(finding, hosts_named)).into_owned();
    let _ = writeln!(text, "{} {who}: {}", mark(finding.severity), check.id);
    let mut line = |name: &str, value: &str| {
        let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
        let _ = writeln!(text, "    {name}{}", escape(value));
    };
    line("", &finding.what);
    if let Some(fix) = &finding.fix {
        line("fix", fix);
    }
    if !explains.is_empty() {
        let explains: Vec<&str> = explains.iter().copied().collect();
        line("explains", &explains.join(", "));
    }
    if verbose {
        if let Some(source) = &finding.source {
            line("read from", source);
        }
        line("rule", &format!("{} ({})", check.rule, check.origin));
        line("consequence", check.consequence);
    }
}

/// Checks without a result for one reason, and their hosts.
type IdsAndHosts<'report> = (Vec<&'report str>, Vec<&'report str>);

/// Writes one line for each reason why checks have no result, with the checks and hosts.
fn write_reasons(text: &mut String, report: &CheckReport, hosts_named: bool) {
    let mut reasons: BTreeMap<(&str, &str), IdsAndHosts<'_>> = BTreeMap::new();
    for HostResults { host, results } in &report.hosts {
        for (id, result) in results {
            let Some(why) = result.reason() else { continue };
            let (ids, hosts) = reasons.entry((result.word(), why)).or_default();
            ids.push(id);
            hosts.push(host);
        }
    }
    for ((word, why), (mut ids, mut hosts)) in reasons {
        ids.sort_unstable();
        ids.dedup();
        hosts.dedup();
        let hosts = if hosts_named { format!(" on {}", names::fold(hosts)) } else { String::new() };
        let hosts = escape(&hosts);
        let ids = names::listed(ids.iter().copied(), 4, "more");
        let _ = writeln!(text, "{word}{hosts}: {}: {ids}", escape(why));
    }
}

/// Formats `2 hosts, 60 checks: 1 fail, 2 warn; results: 40 pass, 77 skip`.
fn summary(report: &CheckReport, verbose: bool) -> String {
    let hosts = report.hosts.len();
    let checks = report.hosts.iter().map(|host| host.results.len()).max().unwrap_or_default();
    let of = |severity: Severity| {
        report.findings.iter().filter(|found| found.finding.severity == severity).count()
    };
    let count = |word: &str| report.hosts.iter().map(|host| host.count(word)).sum::<usize>();
    let plural = |count: usize, one: &str| {
        if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
    };
    let mut text = format!("{}, {}: ", plural(hosts, "host"), plural(checks, "check"));
    let severities = [Severity::Fail, Severity::Warn, Severity::Unknown, Severity::Info];
    let found = severities.into_iter().filter(|severity| of(*severity) > 0);
    let found: Vec<String> =
        found.map(|severity| format!("{} {}", of(severity), severity.word())).collect();
    text += &if found.is_empty() { "no finding".to_owned() } else { found.join(", ") };
    let results: Vec<String> = ["pass", "skip", "unknown"]
        .into_iter()
        .filter(|word| count(word) > 0)
        .map(|word| format!("{} {word}", count(word)))
        .collect();
    let accepted = report.accepted.len();
    if accepted > 0 {
        let _ = write!(text, ", {accepted} accepted");
    }
    let _ = write!(text, "; results: {}", results.join(", "));
    let is_hiding = of(Severity::Info) > 0 || count("unknown") > 0 || accepted > 0;
    if is_hiding && !verbose {
        text += " (-v shows info and the reasons)";
    }
    text + "\n"
}

/// Formats the entry of a check, for `--explain`.
pub fn explain_check(check: &Check) -> String {
    let severity = check.severity.word();
    let mut text = format!("{}: {}\n", check.id, check.title);
    for (name, value) in [
        ("severity", severity),
        ("applies to", check.applies_to),
        ("finding", check.rule),
        ("origin", check.origin),
        ("consequence", check.consequence),
        ("remedy", check.remedy),
    ] {
        let _ = writeln!(text, "  {name}: {value}");
    }
    if !check.explains.is_empty() {
        let _ = writeln!(text, "  explains: {}", check.explains.join(", "));
    }
    text
}

/// Formats one line for each check, for `--list`.
pub fn list_checks(checks: &[&Check]) -> String {
    let width = checks.iter().map(|check| check.id.len()).max().unwrap_or_default();
    let line = |check: &&Check| {
        format!("{:width$}  {:7}  {}\n", check.id, check.severity.word(), check.title)
    };
    checks.iter().map(line).collect()
}

/// JSON of `rdmactl check`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CheckDocument<'report> {
    /// Kind and version: a key may be added under the same version; another change raises it.
    schema: &'static str,
    /// Name and version of the program.
    tool: &'static str,
    /// Time of the sample by the clock of the operator, in nanoseconds since 1970 UTC.
    taken_ns: Option<u64>,
    /// Findings, worst first.
    findings: Vec<FindingEntry<'report>>,
    /// Findings that the policy accepts, or that the baseline has.
    accepted: Vec<AcceptedEntry<'report>>,
    /// Results of each host.
    hosts: Vec<HostEntry<'report>>,
}

/// Finding of a check.
#[derive(Debug, Serialize, JsonSchema)]
struct FindingEntry<'report> {
    /// Check.
    id: &'static str,
    /// `fail`, `warn`, `unknown` or `info`.
    severity: &'static str,
    /// Hosts with the finding.
    hosts: &'report [String],
    /// Device, port, connection, interface, pair of hosts or part of a report.
    subject: String,
    /// Observation, in one sentence.
    what: &'report str,
    /// Source of the observation; `null` if several sources were combined.
    source: Option<&'report str>,
    /// Rule with its threshold.
    rule: &'static str,
    /// Origin of the rule and its threshold.
    origin: &'static str,
    /// Likely consequence.
    consequence: &'static str,
    /// Command or setting that repairs it.
    fix: Option<&'report str>,
    /// Checks whose findings this finding explains: on the same item or a part of it, or on pairs
    /// of its host.
    explains: Vec<&'static str>,
}

/// Finding that the policy accepts, or that the baseline has.
#[derive(Debug, Serialize, JsonSchema)]
struct AcceptedEntry<'report> {
    /// Check.
    id: &'static str,
    /// Hosts with the finding.
    hosts: &'report [String],
    /// Device, port, connection, interface, pair of hosts or part of a report.
    subject: String,
    /// Reason of the policy, or the name of the baseline.
    why: &'report str,
}

/// Results of the checks on one host.
#[derive(Debug, Serialize, JsonSchema)]
struct HostEntry<'report> {
    /// Name by which the user requested the host.
    host: &'report str,
    /// Result of each check.
    results: Vec<ResultEntry<'report>>,
}

/// Result of a check on one host.
#[derive(Debug, Serialize, JsonSchema)]
struct ResultEntry<'report> {
    /// Check.
    id: &'static str,
    /// `pass`, `info`, `warn`, `fail`, `skip` (does not apply) or `unknown` (could not be read).
    result: &'static str,
    /// Reason for `skip` and `unknown`.
    reason: Option<&'report str>,
}

impl<'report> CheckDocument<'report> {
    /// Returns the document of a report.
    pub fn new(taken_ns: Option<u64>, report: &'report CheckReport) -> Self {
        let finding = |found: &'report CheckedFinding| FindingEntry {
            id: found.check.id,
            severity: found.finding.severity.word(),
            hosts: &found.finding.hosts,
            subject: found.finding.subject.to_string(),
            what: &found.finding.what,
            source: found.finding.source.as_deref(),
            rule: found.check.rule,
            origin: found.check.origin,
            consequence: found.check.consequence,
            fix: found.finding.fix.as_deref(),
            explains: found.explains.iter().copied().collect(),
        };
        let accepted = |(found, why): &'report (CheckedFinding, String)| AcceptedEntry {
            id: found.check.id,
            hosts: &found.finding.hosts,
            subject: found.finding.subject.to_string(),
            why,
        };
        let result = |(id, result): (&&'static str, &'report CheckResult)| ResultEntry {
            id,
            result: result.word(),
            reason: result.reason(),
        };
        let host = |one: &'report HostResults| HostEntry {
            host: &one.host,
            results: one.results.iter().map(result).collect(),
        };
        Self {
            schema: "rdmactl.check/1",
            tool: TOOL,
            taken_ns,
            findings: report.findings.iter().map(finding).collect(),
            accepted: report.accepted.iter().map(accepted).collect(),
            hosts: report.hosts.iter().map(host).collect(),
        }
    }
}

#[test]
fn the_summary_counts_the_findings_of_each_severity() {
    use crate::model::{Finding, Subject, check};
    let of = |severities: &[Severity]| {
        let found = |severity: &Severity| CheckedFinding {
            check: check("unreadable").unwrap(),
            finding: Finding::new(*severity, "unreadable", Subject::Host, "x"),
            explains: std::collections::BTreeSet::default(),
        };
        let report = CheckReport {
            findings: severities.iter().map(found).collect(),
            hosts: vec![HostResults::default()],
            accepted: Vec::new(),
            usual: Vec::new(),
        };
        summary(&report, true)
    };
    assert_eq!(of(&[]), "1 host, 0 checks: no finding; results: \n");
    assert_eq!(of(&[Severity::Unknown]), "1 host, 0 checks: 1 unknown; results: \n");
    assert_eq!(
        of(&[Severity::Fail, Severity::Warn, Severity::Unknown, Severity::Info, Severity::Info]),
        "1 host, 0 checks: 1 fail, 1 warn, 1 unknown, 2 info; results: \n"
    );
}
