//! Renders a ping run as text: the matrix, the findings and the summary line.

mod coverage;
mod diff;
mod events;
mod folded;
mod heat;
mod html;
mod outliers;
mod plan;
mod rail_title;
mod svg;

pub use diff::{PingDiffDocument, render_change, render_diff};
pub use events::PingEvent;
pub(super) use heat::xml;
pub use html::render_html;
pub use plan::{PingPlanDocument, render_plan};
pub use svg::render_svg;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use super::problems::write_entry;
use super::table::lay_out;
use super::{escape, json};
use crate::model::ping::{
    Bandwidth, Code, Finding, Pair, PingReport, Summary, Verdict, name_rails,
};
use crate::model::{CheckScope, check, is_plain};
use crate::names;
use crate::query::{Align, Value};

/// Largest number of hosts for which a matrix fits a screen.
const WIDEST: usize = 40;

/// Agent startup time from which on it is printed, in milliseconds.
const SHORT_STARTUP_MS: u64 = 1_000;

/// Largest number of single pairs with a line each; the others are counted.
const MAX_PAIRS: usize = 10;

/// Formats a run over a whole set as matrices of medians, one row per source. If they do not fit
/// a screen, one line replaces them. Hosts of one leaf switch are next to each other.
pub fn render_matrix(report: &PingReport, header: bool) -> String {
    if report.hosts.len() > WIDEST {
        let hosts = report.hosts.len();
        return format!(
            "A matrix of {hosts} hosts does not fit a screen. Pairs as rows: -v. Heat map: --format svg.\n"
        );
    }
    let mut rails: BTreeSet<usize> = report.pairs.iter().map(|pair| pair.rail).collect();
    if rails.is_empty() {
        rails.insert(0);
    }
    let has_rails = rails.iter().any(|&rail| rail > 0);
    let grids = rails.into_iter().flat_map(|rail| {
        let title = has_rails.then(|| rail_title::rail_title(report, rail));
        let is_shown = |figure: &&Figure| {
            let mut pairs = report.pairs.iter().filter(|pair| pair.rail == rail);
            pairs.any(|pair| pair.verdict.code == Code::Ok && (figure.of)(pair) != Value::Absent)
        };
        let mut shown: Vec<&Figure> = FIGURES.iter().filter(is_shown).collect();
        if shown.is_empty() {
            // Without a value, the matrix shows only which pairs work.
            shown.push(&NO_FIGURE);
        }
        shown.into_iter().map(move |figure| {
            let titles = title.as_deref().into_iter().chain(header.then_some(figure.title));
            let caption = titles.collect::<Vec<_>>().join(": ");
            let end = if caption.is_empty() { "" } else { "\n" };
            caption + end + &render_figure(report, rail, figure, header)
        })
    });
    grids.collect::<Vec<_>>().join("\n")
}

/// Value that a matrix shows for each pair that works.
struct Figure {
    title: &'static str,
    of: fn(&Pair) -> Value,
}

/// Matrix of a run in which no pair has a value.
const NO_FIGURE: Figure = Figure { title: "result, row -> column", of: |_| Value::Absent };

/// Values of a pair. Each value that was measured has its own matrix.
const FIGURES: &[Figure] = &[
    Figure {
        title: "half RTT in us, row -> column",
        of: |pair| pair.rdma.map_or(Value::Absent, |rdma| Value::Nanoseconds(rdma.half_rtt_ns.p50)),
    },
    Figure {
        title: "RDMA throughput in bit/s, row -> column",
        of: |pair| bandwidth(pair.measured.bandwidth),
    },
    Figure {
        title: "TCP throughput in bit/s, row -> column",
        of: |pair| bandwidth(pair.measured.tcp_bandwidth),
    },
    Figure {
        title: "MAD RTT in us, row -> column",
        of: |pair| {
            let latency = pair.measured.mad.as_ref().and_then(|mad| mad.latency);
            latency.map_or(Value::Absent, |all| Value::Nanoseconds(all.rtt_ns.p50))
        },
    },
];

fn bandwidth(seen: Option<Bandwidth>) -> Value {
    seen.map_or(Value::Absent, |seen| Value::Bits(seen.median_bps))
}

fn render_figure(report: &PingReport, rail: usize, figure: &Figure, header: bool) -> String {
    let order = report.by_leaf();
    let name = |&host: &usize| report.hosts[host].name.clone();
    let header =
        header.then(|| std::iter::once(String::new()).chain(order.iter().map(name)).collect());
    let pairs = report.pairs.iter().filter(|pair| pair.rail == rail);
    let cells: HashMap<(usize, usize), String> =
        pairs.map(|pair| ((pair.source, pair.target), cell(pair, figure))).collect();
    let rows = order.iter().map(|&source| {
        let cell = |&target: &usize| match cells.get(&(source, target)) {
            _ if source == target => ".".to_owned(),
            None => "-".to_owned(),
            Some(cell) => cell.clone(),
        };
        std::iter::once(name(&source)).chain(order.iter().map(cell)).collect()
    });
    let mut aligns = vec![Align::Right; report.hosts.len() + 1];
    aligns[0] = Align::Left;
    lay_out(&aligns, header.into_iter().chain(rows))
}

/// Returns the line that marks a report as simulated; an empty text for a real run.
pub fn render_origin(report: &PingReport) -> String {
    let origin = |file: &String| format!("SIMULATED from {}: no message was sent\n", escape(file));
    report.simulated.as_ref().map_or(String::new(), origin)
}

/// Renders the findings with their fixes, then the summary line.
pub fn render_findings(report: &PingReport) -> String {
    let mut text = String::new();
    // A fabric on which all pairs fail may have as many bad paths as pairs.
    let (hosts, pairs): (Vec<_>, Vec<_>) =
        report.findings.iter().partition(|one| one.host.is_some() || one.leaves.len() == 1);
    let (told, counted) = pairs.split_at(pairs.len().min(MAX_PAIRS));
    for alike in folded::fold(report, &hosts) {
        match alike.as_slice() {
            [one] => write_finding(&mut text, report, one),
            many => folded::write(&mut text, report, many),
        }
    }
    for finding in told {
        write_finding(&mut text, report, finding);
    }
    if !counted.is_empty() {
        let has_paths = counted.iter().any(|finding| !finding.leaves.is_empty());
        let noun = if has_paths { "paths and pairs of hosts" } else { "pairs of hosts" };
        let _ = writeln!(text, "! {} more {noun}: {}", counted.len(), count_codes(counted));
    }
    write_warnings(&mut text, report);
    outliers::write(&mut text, report);
    write_recovered(&mut text, report);
    for left in &report.left_behind {
        let _ = writeln!(text, "! {}", escape(left));
    }
    let _ = writeln!(text, "{}", sum(report));
    if let Some(coverage) = report.coverage.as_ref().filter(|coverage| coverage.is_partial()) {
        let _ = writeln!(text, "{}", coverage::describe(coverage));
    }
    text
}

fn write_finding(text: &mut String, report: &PingReport, finding: &Finding) {
    let pair = report.pair_name(finding.source, finding.target, false);
    let who = finding.place(report) + &name_rails(&finding.rails);
    let how_often = how_often(report, finding);
    let stage = finding.stage.map_or(String::new(), |stage| format!(", {}", stage.phrase()));
    let word = format!("{} ({how_often}{stage})", finding.code.word());
    let is_told_by_pair = match finding.host {
        Some(host) => report.was_reached(host),
        None => !finding.leaves.is_empty() || finding.both_ways,
    };
    let seen = if is_told_by_pair { format!("{pair}: ") } else { String::new() };
    let detail = format!("{seen}{}", finding.detail);
    write_entry(text, '!', &who, &word, Some((&detail, finding.hint.as_deref())));
    write_check(text, report, &[finding]);
}

/// Writes the command that runs the check that explains all these findings, if there is one.
fn write_check(text: &mut String, report: &PingReport, findings: &[&Finding]) {
    let Some(first) = findings.first() else { return };
    let Some(check) = first.check.as_deref().and_then(check) else { return };
    if findings.iter().any(|finding| finding.check != first.check) {
        return;
    }
    // A check that compares hosts needs both hosts of a pair.
    let of_host = |finding: &Finding| finding.host.filter(|_| check.scope != CheckScope::Fleet);
    let hosts = findings.iter().flat_map(|finding| match of_host(finding) {
        Some(host) => [host; 2],
        None => [finding.source, finding.target],
    });
    let hosts: BTreeSet<usize> = hosts.collect();
    let plain = |host: usize| {
        let name = report.host_name(host);
        if is_plain(name) { name } else { "HOST" }
    };
    let set = names::in_shell(&names::fold(hosts.into_iter().map(plain)));
    let _ = writeln!(text, "    see: rdmactl check -H {set} --only {}", check.id);
}

/// Counts peers of a host, pairs of hosts across a leaf switch, or directions of a pair.
fn how_often(report: &PingReport, finding: &Finding) -> String {
    let Finding { failed, of, host_pairs_failed, host_pairs, .. } = finding;
    let noun = if *host_pairs == 1 { "host" } else { "hosts" };
    let count = match finding.host {
        // Files of older versions do not have this count.
        _ if *host_pairs == 0 => format!("{failed} of {of} pairs"),
        Some(_) => format!("with {host_pairs_failed} of {host_pairs} {noun}"),
        None if !finding.leaves.is_empty() => {
            format!("{host_pairs_failed} of {host_pairs} pairs of hosts")
        }
        None if finding.both_ways => "both directions".to_owned(),
        None => "one direction".to_owned(),
    };
    let has_rails = report.pairs.iter().any(|pair| pair.rail > 0);
    let rails = if has_rails && finding.rails.is_empty() { ", on all rails" } else { "" };
    format!("{count}{rails}")
}

/// Writes each difference that fails no pair, with its fix.
fn write_warnings(text: &mut String, report: &PingReport) {
    for warning in &report.warnings {
        let names = warning.hosts.iter().filter_map(|&host| report.hosts.get(host));
        let who = names::fold(names.map(|host| &host.name));
        let who = who + &name_rails(&warning.rails);
        let cause = Some((warning.detail.as_str(), Some(warning.hint.as_str())));
        write_entry(text, '~', &who, warning.code.word(), cause);
    }
}

/// Writes the pairs that worked at the second attempt only, which may point to a fault.
fn write_recovered(text: &mut String, report: &PingReport) {
    let recovered: Vec<(&Pair, &Verdict)> =
        report.pairs.iter().filter_map(|pair| Some((pair, pair.failed_first()?))).collect();
    for (pair, first) in recovered.iter().take(MAX_PAIRS) {
        let (ends, code) = (report.pair_name(pair.source, pair.target, false), first.code.word());
        let _ = writeln!(
            text,
            "{}: ok at the second attempt; the first attempt was {code}",
            escape(&ends)
        );
        let _ = writeln!(text, "    {}", escape(&first.detail));
    }
    if let Some(more) = recovered.len().checked_sub(MAX_PAIRS).filter(|&more| more > 0) {
        let _ = writeln!(text, "{more} more pairs: ok at the second attempt");
    }
}

/// Counts findings by code: `roce.udp4791_blocked 970, mtu.blackhole 10`.
fn count_codes(findings: &[&Finding]) -> String {
    let mut counts: BTreeMap<Code, usize> = BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.code).or_default() += 1;
    }
    let words: Vec<String> =
        counts.iter().map(|(code, count)| format!("{} {count}", code.word())).collect();
    words.join(", ")
}

fn sum(report: &PingReport) -> String {
    let Summary {
        pairs,
        ok,
        ok_at_second_attempt,
        failed,
        tcp_fallback,
        not_applicable,
        not_tested,
    } = report.summary;
    let noun = if pairs == 1 { "pair" } else { "pairs" };
    let mut text = format!("{pairs} {noun}: {ok} ok");
    for (count, clause) in [
        (ok_at_second_attempt, format!(" ({ok_at_second_attempt} at the second attempt)")),
        (failed, format!(", {failed} failed")),
        (tcp_fallback, format!(" ({tcp_fallback} would fall back to TCP)")),
        (not_applicable, format!(", {not_applicable} not applicable")),
        (not_tested, format!(", {not_tested} not tested")),
        (report.outliers.len(), format!("; {} slow", report.outliers.len())),
    ] {
        if count > 0 {
            text.push_str(&clause);
        }
    }
    match report.warnings.len() {
        0 => {}
        1 => text.push_str("; 1 warning"),
        many => {
            let _ = write!(text, "; {many} warnings");
        }
    }
    if report.simulated.is_some() {
        return text + "; simulated";
    }
    let (seconds, tenths) = (report.elapsed_ms / 1_000, report.elapsed_ms % 1_000 / 100);
    let _ = write!(text, "; {seconds}.{tenths} s");
    if report.startup_ms < SHORT_STARTUP_MS {
        return text + ", agent startup excluded";
    }
    let _ = write!(text, " (agent startup excluded: {} s)", report.startup_ms.div_ceil(1_000));
    text
}

fn cell(pair: &Pair, figure: &Figure) -> String {
    match pair.verdict.code {
        Code::Ok => match (figure.of)(pair) {
            Value::Absent => "ok".into(),
            value => value.to_string(),
        },
        Code::NoTransport => "n/a".into(),
        Code::NotTested => "-".into(),
        Code::PeerDead => "dead !".into(),
        Code::Unreached => "ssh !".into(),
        Code::AgentFailed => "agent !".into(),
        Code::ConnectionLost => "lost !".into(),
        Code::PeerHung => "hung !".into(),
        Code::MtuBlackhole | Code::MtuMismatch => "mtu !".into(),
        _ if pair.falls_back() => "TCP !".into(),
        _ => "down !".into(),
    }
}
