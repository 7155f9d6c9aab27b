//! Notes on stderr about flags whose effect may surprise.

use std::time::Duration;

use crate::cli::PingArgs;
use crate::clock::flag_time;
use crate::model::ping::{Code, Pair, PingReport};
use crate::render::{Note, escape};

/// Returns a note for `--matrix` with two sets: every pair of both sets is tested.
pub(super) fn two_sets(args: &PingArgs, hosts: usize) -> Option<Note> {
    let matrix = args.matrix.as_ref()?;
    let sets: Vec<&String> = matrix.iter().chain(&args.targets).collect();
    let [first, second] = sets.as_slice() else { return None };
    let quoted = |set: &str| Some(shlex::try_quote(&escape(set)).ok()?.into_owned());
    let (first, second) = (quoted(first)?, quoted(second)?);
    let text = format!(
        "every pair of {hosts} hosts; for clients against servers: --clients {first} --servers {second}"
    );
    Some(Note { text, fix: None })
}

/// Returns a note if the slot was too short for the requested round trips.
pub(super) fn cut_short(args: &PingArgs, report: &PingReport) -> Option<Note> {
    let wanted = u64::from(args.iters?);
    let slot = args.slot;
    let measured = report.pairs.iter().filter(|pair| pair.verdict.code == Code::Ok);
    let short: Vec<_> = measured
        .filter_map(|pair| Some((pair, pair.rdma?.count)))
        .filter(|(_, count)| *count < wanted)
        .collect();
    let ((first, _), more) = (short.first()?, short.len() - 1);
    let least = short.iter().map(|(_, count)| *count).min()?;
    let most = short.iter().map(|(_, count)| *count).max()?;
    let counts = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let text = format!(
        "{counts} of {wanted} round trips in --slot {} ({})",
        flag_time(slot),
        pairs_of(report, first, more),
    );
    let fix = format!("--slot {}", flag_time(enough(slot, wanted, least)));
    Some(Note { text, fix: Some(fix) })
}

/// Returns a note if an interruption of this run is the reason why pairs were not tested.
pub(super) fn interrupted(report: &PingReport) -> Option<Note> {
    let mut pairs = report.pairs.iter().filter(|pair| pair.verdict.was_interrupted());
    let first = pairs.next()?;
    let text = format!(
        "not tested: {}: rdmactl was stopped or suspended, or the network between rdmactl and the agents was \
         interrupted",
        pairs_of(report, first, pairs.count())
    );
    Some(Note { text, fix: Some("repeat the run".into()) })
}

/// Returns the hosts of the first pair, and the number of further pairs: `n1 -> n2 and 3 more`.
fn pairs_of(report: &PingReport, first: &Pair, more: usize) -> String {
    let name = |host: usize| report.hosts.get(host).map_or("?".into(), |host| escape(&host.name));
    let others = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{} -> {}{others}", name(first.source), name(first.target))
}

/// Returns the time that the slowest pair needs, in tenths of a second, at most one day.
fn enough(slot: Duration, wanted: u64, done: u64) -> Duration {
    let ms = slot.as_millis().saturating_mul(wanted.into()) / u128::from(done.max(1));
    let tenths = u64::try_from(ms / 100 + 1).unwrap_or(u64::MAX);
    Duration::from_millis(tenths.saturating_mul(100)).min(Duration::from_secs(86_400))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::verdict;
    use crate::model::ping::{Cell, PingHost, Verdict};

    fn args(words: &[&str]) -> PingArgs {
        use clap::FromArgMatches as _;

        let words: Vec<_> =
            ["rdmactl", "ping"].iter().chain(words).map(|word| (*word).into()).collect();
        let (_, matches) = crate::cli::Cli::matches(&words).unwrap();
        let cli = crate::cli::Cli::from_arg_matches(&matches).unwrap();
        let Some(crate::cli::Command::Ping(args)) = cli.command else { panic!("no ping") };
        *args
    }

    #[test]
    fn only_interrupted_pairs_are_noted() {
        let host = |(at, name)| PingHost::of(name, at, None);
        let pair = |target, verdict| Pair::of_verdict(Cell { rail: 0, source: 0, target }, verdict);
        let seen = Verdict { code: Code::PeerDead, ..verdict::not_tested() };
        let ended = pair(1, verdict::not_tested());
        let mut report = PingReport {
            hosts: ["n1", "n2", "n3"].into_iter().enumerate().map(host).collect(),
            pairs: vec![ended],
            ..PingReport::default()
        };
        assert!(interrupted(&report).is_none(), "the run ended before the pair");
        report.pairs.push(pair(2, verdict::interrupted(&seen)));
        let text = interrupted(&report).unwrap().text;
        assert!(text.starts_with("not tested: n1 -> n3: rdmactl was stopped"), "{text}");
    }

    #[test]
    fn two_sets_beside_matrix_are_explained() {
        let text = |words: &[&str]| two_sets(&args(words), 4).map(|note| note.text);
        let wanted = "every pair of 4 hosts; for clients against servers: --clients \
                      'n[1-2]' --servers 'n[3-4]'";
        assert_eq!(text(&["--matrix", "n[1-2]", "n[3-4]"]).as_deref(), Some(wanted));
        assert_eq!(text(&["--matrix", "n[1-4]"]), None);
        assert_eq!(text(&["n[1-2]", "n[3-4]"]), None, "without --matrix nothing is ambiguous");
    }

    #[test]
    fn the_suggested_slot_is_long_enough_and_longer() {
        let ms = Duration::from_millis;
        assert_eq!(enough(ms(300), 200, 22), ms(2_800));
        assert_eq!(enough(ms(300), 200, 199), ms(400));
        assert_eq!(enough(ms(300), 10_000_000, 0), Duration::from_secs(86_400));
    }

    #[test]
    fn a_run_without_requested_round_trips_has_no_note() {
        let report = serde_json::json!({
            "hosts": [], "pairs": [], "findings": [], "elapsed_ms": 1, "left_behind": []
        });
        let report: PingReport = serde_json::from_value(report).unwrap();
        assert!(cut_short(&args(&["n1"]), &report).is_none());
        assert!(cut_short(&args(&["n1", "-c", "200"]), &report).is_none(), "no pair was short");
    }
}
