//! Tests the pairs of `rdmactl check --active`, like `rdmactl ping --matrix`.
//!
//! `analyse::check` makes findings of the results.

use crate::analyse::check::Selection;
use crate::cli::{CheckArgs, Global};
use crate::cmd::outcome::{note, say};
use crate::cmd::ping::AllPairs;
use crate::cmd::{Advice, host_selection};
use crate::model::ping::PingReport;
use crate::model::{CHECKS, CheckScope};
use crate::render::escape;
use crate::term::Term;

/// Returns the pairs of the hosts of the flags; `None` without `--active`.
///
/// # Errors
/// The flags select no check of pairs, or name fewer than two hosts.
pub(super) fn pairs(
    global: &Global,
    args: &CheckArgs,
    selection: &Selection,
) -> anyhow::Result<Option<AllPairs>> {
    if !args.active {
        return Ok(None);
    }
    let mut of_pairs = CHECKS.iter().filter(|check| check.scope == CheckScope::Pair);
    if !of_pairs.any(|check| selection.admits(check.id)) {
        let what = "--active runs the checks ping.*, which --only or --skip excludes";
        return Err(Advice::error(what, "remove --active, or add the checks: --only 'ping.*'"));
    }
    let hosts = host_selection::hosts(global)?.unwrap_or_default();
    let fix = "name two or more hosts: rdmactl check --active -H 'n[1-4]'";
    match hosts.as_slice() {
        [] => Err(Advice::error("--active tests pairs of hosts, and needs -H hosts", fix)),
        [host] => {
            let host = host.to_string();
            Err(Advice::error(format!("{} is one host; --active needs two", escape(&host)), fix))
        }
        _ => AllPairs::of(hosts).map(Some),
    }
}

/// Tests the pairs, and prints the agents that may still run.
pub(super) fn run(pairs: AllPairs, global: &Global, term: Term) -> anyhow::Result<PingReport> {
    let report = pairs.run(global, term)?;
    for left in &report.left_behind {
        say(term, &note(left));
    }
    Ok(report)
}
