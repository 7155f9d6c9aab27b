//! Formats the changes between two runs as text and JSON.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::MAX_PAIRS;
use super::json::TOOL;
use crate::clock::{utc_text, utc_time};
use crate::model::ping::{HostChange, PairChange, PingDiff, RunFacts};
use crate::names;
use crate::query::Value;
use crate::render::escape;

/// The JSON of `rdmactl ping --diff`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PingDiffDocument<'a> {
    /// Kind and version: a key may be added under the same version; another change raises it.
    schema: &'static str,
    /// Name and version of the program.
    tool: &'static str,
    /// Changes between the runs.
    #[serde(flatten)]
    diff: &'a PingDiff,
}

impl<'a> PingDiffDocument<'a> {
    /// Returns the document for a difference.
    pub fn new(diff: &'a PingDiff) -> Self {
        Self { schema: "rdmactl.ping-diff/1", tool: TOOL, diff }
    }
}

/// Formats a difference as text: both runs, then the changes; pairs that broke come first.
pub fn render_diff(diff: &PingDiff) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "old  {}", run(&diff.old));
    let _ = writeln!(text, "new  {}", run(&diff.new));
    write_changes(&mut text, diff);
    let _ = writeln!(text, "{}", sum(diff));
    text
}

/// Formats the changes since the previous run of a repeated test.
pub fn render_change(diff: &PingDiff) -> String {
    let at = diff.new.taken_ns.map_or(String::new(), |ns| format!("{}  ", utc_time(ns)));
    let RunFacts { pairs, ok, failed, .. } = diff.new;
    if diff.is_empty() {
        return format!("{at}no change: {pairs} pairs, {ok} ok, {failed} failed\n");
    }
    let mut text = format!("{at}{pairs} pairs, {ok} ok, {failed} failed\n");
    write_changes(&mut text, diff);
    text
}

/// Formats the facts of a run: `2026-11-22 08:02:40Z, 8 hosts, 56 pairs: 54 ok, 2 failed`.
fn run(run: &RunFacts) -> String {
    let when = match (&run.simulated, run.taken_ns) {
        (Some(file), _) => format!("SIMULATED from {}", escape(file)),
        (None, Some(ns)) => utc_text(ns),
        (None, None) => "at an unknown time".into(),
    };
    let RunFacts { hosts, pairs, ok, failed, .. } = run;
    format!("{when}, {hosts} hosts, {pairs} pairs: {ok} ok, {failed} failed")
}

fn sum(diff: &PingDiff) -> String {
    format!(
        "{} pairs compared: {} broke, {} repaired, {} fail in both, {} slower, {} faster",
        diff.compared,
        diff.broken_pairs,
        diff.mended_pairs,
        diff.still_failing_pairs,
        diff.slower.len(),
        diff.faster.len()
    )
}

fn write_changes(text: &mut String, diff: &PingDiff) {
    for (mark, what, hosts) in [("!", "missing", &diff.hosts_gone), ("+", "new", &diff.hosts_come)]
    {
        if !hosts.is_empty() {
            let names = names::listed(hosts.iter().map(|host| escape(host)), MAX_PAIRS, "more");
            let _ = writeln!(text, "{mark} {what} hosts: {names}");
        }
    }
    for change in &diff.hosts_broken {
        let code = change.code.map_or("", |code| code.word());
        let (host, HostChange { pairs, of, .. }) = (escape(&change.host), change);
        let _ = writeln!(text, "! {host} broke: {code} ({pairs} of {of} pairs)");
    }
    let all = [&diff.broken, &diff.mended, &diff.still_failing, &diff.slower, &diff.faster];
    let has_rails = all.iter().flat_map(|changes| changes.iter()).any(|change| change.rail > 0);
    let name = |change: &PairChange| {
        let rail = if has_rails { format!(" rail {}", change.rail) } else { String::new() };
        format!("{} -> {}{rail}", escape(&change.source), escape(&change.target))
    };
    let broken_hosts: BTreeSet<&str> =
        diff.hosts_broken.iter().map(|change| change.host.as_str()).collect();
    let is_single = |change: &&PairChange| {
        ![&change.source, &change.target].iter().any(|host| broken_hosts.contains(host.as_str()))
    };
    write_some(text, diff.broken.iter().filter(is_single), "! ", "pairs broke", &|change| {
        format!("! {} broke: {}", name(change), change.new_code.word())
    });
    let reason = "pairs still fail, for another reason";
    write_some(text, diff.still_failing.iter(), "! ", reason, &|change| {
        let (old, new) = (change.old_code.word(), change.new_code.word());
        format!("! {} still fails: {old} -> {new}", name(change))
    });
    write_some(text, diff.mended.iter(), "+ ", "pairs repaired", &|change| {
        format!("+ {} is repaired; it was {}", name(change), change.old_code.word())
    });
    for (mark, word, hosts) in
        [("~", "slower", &diff.hosts_slower), ("+", "faster", &diff.hosts_faster)]
    {
        for change in hosts {
            let by = change.slower_permille.map_or(word.to_owned(), by_how_much);
            let (host, HostChange { pairs, of, .. }) = (escape(&change.host), change);
            let _ = writeln!(text, "{mark} {host}: {by} ({pairs} of {of} pairs)");
        }
    }
    for (mark, word, pairs) in [("~", "slower", &diff.slower), ("+", "faster", &diff.faster)] {
        write_some(text, pairs.iter(), &format!("{mark} "), &format!("pairs {word}"), &|change| {
            let by = change.slower_permille.map_or(word.to_owned(), by_how_much);
            let ns = |ns: Option<u64>| ns.map_or(Value::Absent, Value::Nanoseconds);
            let (old, new) = (ns(change.old_half_rtt_ns), ns(change.new_half_rtt_ns));
            format!("{mark} {}: {by} ({old} -> {new} us)", name(change))
        });
    }
    // Medians vary by less than this from run to run.
    if diff.drift_permille.unsigned_abs() >= 50 {
        let mark = if diff.drift_permille > 0 { "~" } else { "+" };
        let by = by_how_much(diff.drift_permille);
        let _ = writeln!(text, "{mark} all pairs together: {by}");
    }
}

fn write_some<'diff>(
    text: &mut String,
    mut changes: impl Iterator<Item = &'diff PairChange>,
    mark: &str,
    noun: &str,
    line: &dyn Fn(&PairChange) -> String,
) {
    for change in changes.by_ref().take(MAX_PAIRS) {
        let _ = writeln!(text, "{}", line(change));
    }
    let more = changes.count();
    if more > 0 {
        let _ = writeln!(text, "{mark}{more} more {noun}");
    }
}

/// Formats by how many thousandths round trips take longer: `12.3 % slower`, `1.7 times faster`.
fn by_how_much(permille: i64) -> String {
    let word = if permille < 0 { "faster" } else { "slower" };
    let (old, new) = (1_000, permille.saturating_add(1_000).max(1).unsigned_abs());
    let (short, long) = if new < old { (new, old) } else { (old, new) };
    // Difference of both times, in thousandths of the shorter time.
    let more = (long - short).saturating_mul(1_000) / short;
    match more {
        0..500 => format!("{}.{} % {word}", more / 10, more % 10),
        500..8_950 => {
            let tenths = (more + 1_050) / 100;
            format!("{}.{} times {word}", tenths / 10, tenths % 10)
        }
        _ => format!("{} times {word}", (more + 1_500) / 1_000),
    }
}

#[test]
fn a_large_change_is_a_factor() {
    let told = [123, 499, 700, 3_606, 36_060, -49, -407, -900, -1_000, 0].map(by_how_much);
    let wanted = [
        "12.3 % slower",
        "49.9 % slower",
        "1.7 times slower",
        "4.6 times slower",
        "37 times slower",
        "5.1 % faster",
        "1.7 times faster",
        "10 times faster",
        "1000 times faster",
        "0.0 % slower",
    ];
    assert_eq!(told, wanted);
    assert!(by_how_much(i64::MAX).ends_with("times slower"));
}

#[test]
fn a_pair_that_fails_for_another_reason_has_a_line() {
    use crate::model::ping::Code;

    let change = PairChange {
        source: "n1".into(),
        target: "n4".into(),
        rail: 0,
        old_code: Code::PeerDead,
        new_code: Code::Udp4791Blocked,
        old_half_rtt_ns: None,
        new_half_rtt_ns: None,
        slower_permille: None,
    };
    let diff = PingDiff {
        compared: 30,
        still_failing_pairs: 2,
        still_failing: vec![change],
        ..PingDiff::default()
    };
    let text = render_diff(&diff);
    let line = "! n1 -> n4 still fails: peer.dead -> roce.udp4791_blocked\n";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("30 pairs compared: 0 broke, 0 repaired, 2 fail in both, "), "{text}");
}
