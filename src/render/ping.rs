//! A ping run as text: the matrix, who is to blame, and one line of sum.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::escape;
use super::table::lay_out;
use crate::analyse::culprit::{Blame, Culprit, blame};
use crate::model::ping::{Code, Pair, PingHost, PingReport};
use crate::query::{Align, Value};

/// Above this many hosts a matrix no longer fits a screen.
const WIDEST: usize = 40;

/// Whether a matrix of this run is of use on a screen.
#[must_use]
pub fn fits_matrix(report: &PingReport) -> bool {
    report.hosts.len() <= WIDEST
}

/// The answer of a run over a whole set: a matrix of medians, row by row the sources.
#[must_use]
pub fn render_matrix(report: &PingReport, header: bool) -> String {
    let name = |host: &PingHost| host.name.clone();
    let header = header.then(|| {
        let title = std::iter::once("half RTT, us".to_owned());
        title.chain(report.hosts.iter().map(name)).collect()
    });
    let cells: HashMap<(usize, usize), String> =
        report.pairs.iter().map(|pair| ((pair.source, pair.target), cell(pair))).collect();
    let rows = report.hosts.iter().enumerate().map(|(source, host)| {
        let cell = |target| match cells.get(&(source, target)) {
            _ if source == target => ".".to_owned(),
            None => "-".to_owned(),
            Some(cell) => cell.clone(),
        };
        std::iter::once(name(host)).chain((0..report.hosts.len()).map(cell)).collect()
    });
    let mut aligns = vec![Align::Right; report.hosts.len() + 1];
    aligns[0] = Align::Left;
    lay_out(&aligns, header.into_iter().chain(rows))
}

fn name(report: &PingReport, host: usize) -> String {
    report.hosts.get(host).map_or("?".into(), |host| escape(&host.name).into_owned())
}

/// Who is to blame, why, and what to type; then how many pairs are well.
#[must_use]
pub fn render_findings(report: &PingReport) -> String {
    let mut text = String::new();
    for blame in blame(&report.pairs, report.hosts.len()) {
        write_blame(&mut text, report, &blame);
    }
    for left in &report.left_behind {
        let _ = writeln!(text, "! left on {}", escape(left));
    }
    let _ = writeln!(text, "{}", sum(report));
    text
}

fn write_blame(text: &mut String, report: &PingReport, blame: &Blame<'_>) {
    let name = |host| name(report, host);
    let verdict = &blame.example.verdict;
    let (who, how_often) = match blame.culprit {
        Culprit::Host(host) => (name(host), format!("{} of {} pairs", blame.failed, blame.of)),
        Culprit::Pair(source, target) => {
            (format!("{} -> {}", name(source), name(target)), "1 pair".to_owned())
        }
    };
    let stage = verdict.stage.map_or(String::new(), |stage| format!(", at {}", stage.word()));
    let _ = writeln!(text, "! {who}: {} ({how_often}{stage})", verdict.code.word());
    // A host that was never reached has its own story.
    let story = match blame.culprit {
        Culprit::Host(host) => report.hosts.get(host).and_then(|host| host.failure.as_ref()),
        Culprit::Pair(..) => None,
    };
    let (detail, fix) = match story {
        Some(failure) => (&failure.detail, failure.fix.as_ref()),
        None => (&verdict.detail, verdict.hint.as_ref()),
    };
    let seen = match (story, blame.culprit) {
        (None, Culprit::Host(_)) => {
            let pair = blame.example;
            format!("{} -> {}: ", name(pair.source), name(pair.target))
        }
        _ => String::new(),
    };
    let _ = writeln!(text, "    {seen}{}", escape(detail));
    if let Some(fix) = fix {
        let _ = writeln!(text, "    fix: {}", escape(fix));
    }
}

fn sum(report: &PingReport) -> String {
    let count =
        |keep: &dyn Fn(&Pair) -> bool| report.pairs.iter().filter(|pair| keep(pair)).count();
    let all = report.pairs.len();
    let ok = count(&|pair| pair.verdict.code == Code::Ok);
    let not_applicable = count(&|pair| pair.verdict.code == Code::NoTransport);
    let over_tcp = count(&Pair::falls_back);
    let failed = count(&|pair| pair.verdict.code.is_failure());
    let noun = if all == 1 { "pair" } else { "pairs" };
    let mut text = format!("{all} {noun}: {ok} ok");
    if failed > 0 {
        let _ = write!(text, ", {failed} failed");
    }
    if over_tcp > 0 {
        let _ = write!(text, " ({over_tcp} of them would fall back to TCP)");
    }
    if not_applicable > 0 {
        let _ = write!(text, ", {not_applicable} not applicable");
    }
    let (seconds, tenths) = (report.elapsed_ms / 1_000, report.elapsed_ms % 1_000 / 100);
    let _ = write!(text, "; {seconds}.{tenths} s from the agents' hello");
    text
}

fn cell(pair: &Pair) -> String {
    match pair.verdict.code {
        Code::Ok => pair
            .rdma
            .map_or(Value::Absent, |rdma| Value::Nanoseconds(rdma.half_rtt_ns.p50))
            .to_string(),
        Code::NoTransport => "n/a".into(),
        Code::NotTested => "-".into(),
        Code::PeerDead | Code::Unreached => "dead !".into(),
        Code::PeerHung => "hung !".into(),
        Code::MtuBlackhole | Code::MtuMismatch => "mtu !".into(),
        _ if pair.falls_back() => "TCP !".into(),
        _ => "down !".into(),
    }
}
