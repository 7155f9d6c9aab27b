//! A ping run as text: the matrix or the list of pairs, who is to blame, and one line of sum.

use std::fmt::Write as _;

use super::escape;
use super::grid::{Align, grid};
use crate::analyse::culprit::{Blame, Culprit, blame};
use crate::model::ping::{Code, Latency, Pair, PingReport, Route, RoutePort};

/// Above this many hosts a matrix no longer fits a screen.
const WIDEST: usize = 40;

/// The answer of a run over a whole set: a matrix of medians, row by row the sources.
#[must_use]
pub fn render_matrix(report: &PingReport) -> String {
    let names: Vec<String> =
        report.hosts.iter().map(|host| escape(&host.name).into_owned()).collect();
    if names.len() > WIDEST {
        return render_pairs(report);
    }
    let mut rows = vec![[&["half RTT, us".to_owned()], names.as_slice()].concat()];
    for (source, name) in names.iter().enumerate() {
        let mut row = vec![name.clone()];
        row.extend((0..names.len()).map(|target| {
            if source == target {
                return ".".to_owned();
            }
            let found =
                report.pairs.iter().find(|pair| pair.source == source && pair.target == target);
            found.map_or_else(|| "-".to_owned(), cell)
        }));
        rows.push(row);
    }
    grid(&rows, |column| if column == 0 { Align::Left } else { Align::Right })
}

/// The same as a list, one line for each ordered pair.
#[must_use]
pub fn render_pairs(report: &PingReport) -> String {
    grid(&pair_rows(report), |column| if column < 6 { Align::Left } else { Align::Right })
}

/// The list with its cells parted by tabs.
#[must_use]
pub fn plain_pairs(report: &PingReport) -> String {
    let mut text = String::new();
    for row in pair_rows(report) {
        text.push_str(&row.join("\t"));
        text.push('\n');
    }
    text
}

fn pair_rows(report: &PingReport) -> Vec<Vec<String>> {
    let title = [
        "SOURCE",
        "TARGET",
        "VERDICT",
        "LINK",
        "FROM",
        "TO",
        "MTU",
        "COUNT",
        "MIN us",
        "P50 us",
        "P99 us",
        "TCP P50 us",
    ];
    let mut rows = vec![title.map(str::to_owned).to_vec()];
    rows.extend(report.pairs.iter().map(|pair| pair_row(report, pair)));
    rows
}

fn pair_row(report: &PingReport, pair: &Pair) -> Vec<String> {
    let route = pair.route.as_ref();
    let half = pair.rdma.map(|rdma| rdma.half_rtt_ns);
    let cells = [
        Some(name(report, pair.source)),
        Some(name(report, pair.target)),
        Some(verdict_word(pair)),
        route.map(link),
        route.map(|route| end(&route.source)),
        route.map(|route| end(&route.target)),
        route.and_then(|route| route.mtu).map(|mtu| mtu.to_string()),
        pair.rdma.map(|rdma| rdma.count.to_string()),
        half.map(|half| microseconds(half.min)),
        half.map(|half| microseconds(half.p50)),
        half.and_then(|half| half.p99).map(microseconds),
        pair.tcp.map(|tcp| microseconds(tcp.half_rtt_ns.p50)),
    ];
    cells.map(|cell| cell.unwrap_or_else(|| "-".into())).to_vec()
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
    let over_tcp = count(&|pair| falls_back(pair));
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

/// Whether applications between the two would go on over TCP, unnoticed.
fn falls_back(pair: &Pair) -> bool {
    pair.verdict.code.is_failure() && pair.tcp.is_some()
}

fn cell(pair: &Pair) -> String {
    match pair.verdict.code {
        Code::Ok => {
            pair.rdma.map_or("?".into(), |rdma: Latency| microseconds(rdma.half_rtt_ns.p50))
        }
        Code::NoTransport => "n/a".into(),
        Code::NotTested => "-".into(),
        Code::PeerDead | Code::Unreached => "dead !".into(),
        Code::PeerHung => "hung !".into(),
        Code::MtuBlackhole | Code::MtuMismatch => "mtu !".into(),
        _ if falls_back(pair) => "TCP !".into(),
        _ => "down !".into(),
    }
}

fn verdict_word(pair: &Pair) -> String {
    let word = pair.verdict.code.word();
    if pair.verdict.code.is_failure() { format!("{word} !") } else { word.to_owned() }
}

fn link(route: &Route) -> String {
    let is_software = [&route.source, &route.target].iter().any(|port| is_software(port));
    let word = route.protocol.word();
    if is_software { format!("{word} (software)") } else { word.to_owned() }
}

/// Drivers that run RDMA on any Ethernet card: their latency says nothing of hardware.
fn is_software(port: &RoutePort) -> bool {
    port.driver.as_deref().is_some_and(|driver| matches!(driver, "rxe" | "siw" | "rdma_rxe"))
        || port.device.starts_with("rxe")
        || port.device.starts_with("siw")
}

fn end(port: &RoutePort) -> String {
    format!("{}/{} gid {}", escape(&port.device), port.port, port.gid_index)
}

/// Microseconds with two decimals below 100, as latency tools print them.
fn microseconds(ns: u64) -> String {
    if ns < 100_000 {
        format!("{}.{:02}", ns / 1_000, ns % 1_000 / 10)
    } else {
        format!("{}", (ns + 500) / 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_have_two_decimals_where_they_matter() {
        assert_eq!(microseconds(1_629), "1.62");
        assert_eq!(microseconds(99_990), "99.99");
        assert_eq!(microseconds(1_234_567), "1235");
    }
}
