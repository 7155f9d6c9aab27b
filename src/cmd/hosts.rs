//! Reports of remote hosts.

use crate::cli::Global;
use crate::collect::Parts;
use crate::model::HostReport;

use super::Advice;

/// Asks every host of the set, and gives one report for each, in the order of the set.
///
/// # Errors
/// The set cannot be read. A host that gives no answer is a report with its failure.
pub(super) fn report_hosts(
    _global: &Global,
    hosts: &str,
    _parts: Parts,
) -> anyhow::Result<Vec<HostReport>> {
    Err(Advice::error(
        format!("cannot ask {hosts}: other hosts cannot be reached yet"),
        "run rdmactl devices there",
    ))
}
