//! Lists the lossless verdict of each port, for `rdmactl ports --lossless`.

use super::column::columns;
use super::device_row::PORT_KEYS;
use super::place_columns::{HasPort, device, host, netdev, port, protocol, state, via};
use super::{Column, DeviceRow, Listing, MetricLabel, ShowCondition, Value};
use crate::analyse::lossless::{LosslessVerdict, judge};
use crate::model::HostReport;

/// Listing of `rdmactl ports --lossless`, one row for each port.
#[derive(Debug)]
pub enum Lossless {}

/// One row: a port and its judgement.
#[derive(Debug, Clone)]
pub struct LosslessRow<'report> {
    /// Port of the row, with its device and host.
    pub place: DeviceRow<'report>,
    /// Judgement of the port; `None` for a row without a port.
    pub judgement: Option<LosslessVerdict>,
}

impl HasPort for LosslessRow<'_> {
    fn place(&self) -> &DeviceRow<'_> {
        &self.place
    }
}

impl Listing for Lossless {
    type Row<'report> = LosslessRow<'report>;

    const NAME: &'static str = "ports --lossless";

    const EXAMPLE: &'static str = "lossless==lossy";

    const KEYS: &'static [MetricLabel] = PORT_KEYS;

    const COLUMNS: &'static [Column<Self>] = columns! {
        [host(), via(), device(), port(), state().shown(ShowCondition::Verbose), protocol(), netdev()]
        "lossless.tos" "TOS" Right Always [] "Default type of service of the traffic"
            |row| number(row, |judgement| judgement.tos);
        "lossless.dscp" "DSCP" Right Always [] "DSCP of the type of service"
            |row| number(row, |judgement| judgement.dscp);
        "lossless.priority" "PRIORITY" Right Always [] "Priority of the DSCP on the network interface"
            |row| number(row, |judgement| judgement.priority.map(u32::from));
        "lossless.class" "CLASS" Right Always [] "Traffic class of the priority"
            |row| number(row, |judgement| judgement.class.map(u32::from));
        "lossless.verdict" "LOSSLESS" Left Always [] "Verdict: lossless, lossy, unknown, not applicable; for an unreachable host the reason"
            |row| Value::or_failure(row.place.report, || {
                Value::text(row.judgement.as_ref().map(|judgement| judgement.verdict.word()))
            });
        "lossless.why" "WHY" Left Always [] "Reason of the verdict, in one sentence"
            |row| Value::text(row.judgement.as_ref().map(|judgement| &judgement.why));
        "lossless.fix" "FIX" Left Always [] "Fix: command that makes the traffic class lossless"
            |row| Value::text(row.judgement.as_ref().and_then(|judgement| judgement.fix.as_ref()));
    };

    fn is_unreadable(row: &LosslessRow<'_>, source: &str) -> bool {
        row.place.is_unreadable(source)
    }
}

fn number(row: &LosslessRow<'_>, get: impl Fn(&LosslessVerdict) -> Option<u32>) -> Value {
    row.judgement.as_ref().map_or(Value::Absent, |judgement| Value::int(get(judgement)))
}

/// Returns a row for each port with its judgement.
#[must_use]
pub fn lossless_rows(reports: &[HostReport], hosts_named: bool) -> Vec<LosslessRow<'_>> {
    let judged = |place: DeviceRow<'_>| {
        let ends = place.device.zip(place.port);
        ends.map(|(device, port)| judge(place.report, device, port))
    };
    super::device_rows(reports, hosts_named)
        .into_iter()
        .map(|place| LosslessRow { judgement: judged(place), place })
        .collect()
}
