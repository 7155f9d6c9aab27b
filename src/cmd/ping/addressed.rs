//! Flags of a ping from some hosts to one LID or GID, at which no agent runs.

use crate::cli::PingArgs;
use crate::cmd::Advice;
use crate::model::GidValue;
use crate::ping::MadAddressee;

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
