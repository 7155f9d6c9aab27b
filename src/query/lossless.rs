//! Lists the lossless verdict of each port, for `rdmactl ports --lossless`.

use super::column::listing;
use super::place_columns::{device, has_port, host, netdev, port, protocol, state, via};
use super::{DeviceRow, ShowCondition, Value};
use crate::analyse::lossless::{LosslessVerdict, judge};
use crate::model::HostReport;

/// One row: a port and its judgement.
#[derive(Debug, Clone)]
pub struct LosslessRow<'report> {
    /// Port of the row, with its device and host.
    pub place: DeviceRow<'report>,
    /// Judgement of the port; `None` for a row without a port.
    pub judgement: Option<LosslessVerdict>,
}

has_port!(LosslessRow);

listing! {
    /// Listing of `rdmactl ports --lossless`, one row for each port.
    Lossless "ports --lossless" of LosslessRow<'report>;
    example "lossless==lossy";
    keys [HOST, DEVICE, PORT];
    unreadable |row, source| row.place.is_unreadable(source);
    columns
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
}

fn number(row: &LosslessRow<'_>, get: impl Fn(&LosslessVerdict) -> Option<u32>) -> Value {
    row.judgement.as_ref().map_or(Value::Absent, |judgement| Value::int(get(judgement)))
}

/// Returns a row for each port with its judgement.
pub fn lossless_rows(reports: &[HostReport], hosts_named: bool) -> Vec<LosslessRow<'_>> {
    let rows = super::device_rows(reports, hosts_named).into_iter().map(|place| {
        let ends = place.device.zip(place.port);
        let judgement = ends.map(|(device, port)| judge(place.report, device, port));
        LosslessRow { place, judgement }
    });
    rows.collect()
}
