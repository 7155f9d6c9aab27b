//! Runs a ping from some hosts to one LID or GID. No agent runs at the target address.

use parking_lot::Mutex;

use crate::analyse::root_cause::findings;
use crate::cli::PingArgs;
use crate::clock;
use crate::cmd::Advice;
use crate::model::GidValue;
use crate::model::ping::{Pair, PingHost, PingReport, Summary};
use crate::ping::matrix::{Member, TestOptions};
use crate::ping::{MadAddressee, mad_address};
use crate::threads::at_once;

/// Returns the target address of the flags, if one is given.
pub(super) fn to(args: &PingArgs) -> Option<MadAddressee> {
    let gid = || args.mads.gid.map(|gid| MadAddressee::Gid(GidValue(gid)));
    args.mads.lid.map(MadAddressee::Lid).or_else(gid)
}

/// Refuses an interval at which only one request fits into the time limit.
pub(super) fn refuse_long_interval(args: &PingArgs) -> anyhow::Result<()> {
    let (rounds, slot) = args.measurement();
    let Some(interval) = args.mads.interval.filter(|&interval| rounds > 1 && interval >= slot)
    else {
        return Ok(());
    };
    let what = format!("--interval {interval:?} is not shorter than --slot {slot:?}");
    let needed = interval.saturating_mul(rounds.min(10)).as_secs() + 1;
    Err(Advice::error(what, format!("set a longer time limit: --slot {needed}s")))
}

/// Sends MADs from each host to the address. The caller sets `elapsed_ms`, `startup_ms` and
/// `left_behind`.
pub(super) fn run(
    members: &[Member<'_>],
    mut hosts: Vec<PingHost>,
    test_options: &TestOptions,
    to: MadAddressee,
) -> PingReport {
    let taken_ns = clock::wall_ns();
    let target = hosts.len();
    let pairs = Mutex::new(Vec::new());
    at_once(members.iter().enumerate().collect(), |(source, member)| {
        let pair = mad_address::run(member, (source, target), to, test_options);
        pairs.lock().push(pair);
    });
    let mut pairs = pairs.into_inner();
    pairs.sort_by_key(Pair::cell);
    hosts.push(PingHost { name: to.to_string(), kernel: None, failure: None, leaf: None });
    PingReport {
        hosts,
        cells: None,
        coverage: None,
        summary: Summary::of(&pairs),
        findings: findings(&pairs, None),
        pairs,
        outliers: Vec::new(),
        warnings: Vec::new(),
        simulated: None,
        taken_ns: Some(taken_ns),
        elapsed_ms: 0,
        startup_ms: 0,
        left_behind: Vec::new(),
    }
}
