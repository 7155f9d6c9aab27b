//! Lists the holders of RDMA resources, for `rdmactl top resources` and `rdmactl resources --by
//! process`.

use std::borrow::Cow;

use super::Value;
use super::column::listing;
use super::place_columns::{has_host, host, via};
use crate::analyse::resource_counts::ResourceCounts;
use crate::model::{HostReport, Owner};

/// One row: a holder of resources, or a host whose objects could not be listed.
#[derive(Debug, Clone)]
pub struct ProcessRow<'report> {
    /// Report of the host.
    pub report: &'report HostReport,
    /// Holder with the number of its objects; `None` if the objects could not be listed.
    pub holding: Option<Cow<'report, ResourceCounts>>,
}

has_host!(ProcessRow);

listing! {
    /// Listing of the holders of resources, one row for each process or kernel module.
    Processes "top resources" of ProcessRow<'report>;
    example "qps>100";
    keys [HOST] process "pid" "process.pid", process "name" "process.name";
    unreadable |row, source| row.report.problems.has(source);
    columns
    [host(), via()]
    "process.name" "PROCESS" Left Always ["resources", "resources/owner"] "Name of the process, or [module] of the kernel; for an unreachable host the reason"
        |row| Value::or_failure(row.report, || of(row, |one| Value::text(match &one.owner {
            None => None,
            Some(Owner::Process { name, .. }) => name.clone(),
            Some(Owner::Kernel { name }) => Some(format!("[{name}]")),
        })));
    "process.pid" "PID" Right Always ["resources"] "Process id; none for kernel users"
        |row| of(row, |one| Value::id(match &one.owner {
            Some(Owner::Process { pid, .. }) => Some(*pid),
            _ => None,
        }));
    "process.devices" "DEVICES" Left Always ["resources"] "RDMA devices that the process uses"
        |row| of(row, |one| Value::list(Some(&one.devices)));
    "process.qps" "QP" Right Always ["resources"] "Number of queue pairs"
        |row| of(row, |one| Value::Int(one.qps.into()));
    "process.failed_qps" "QP_ERR" Right Always ["resources"]: Unwanted "Number of queue pairs in state ERR"
        |row| of(row, |one| Value::bad_count(one.failed_qps));
    "process.cqs" "CQ" Right Always ["resources"] "Number of completion queues"
        |row| of(row, |one| Value::Int(one.cqs.into()));
    "process.mrs" "MR" Right Always ["resources"] "Number of memory regions"
        |row| of(row, |one| Value::Int(one.mrs.into()));
    "process.mr_bytes" "MEMORY" Right Always ["resources"] "Pinned size of the memory regions, in bytes"
        |row| of(row, |one| one.mr_bytes.map_or(Value::Absent, Value::Size));
    "process.pds" "PD" Right Always ["resources"] "Number of protection domains"
        |row| of(row, |one| Value::Int(one.pds.into()));
    "process.cm_ids" "CM_ID" Right Always ["resources"] "Number of rdma_cm identifiers"
        |row| of(row, |one| Value::Int(one.cm_ids.into()));
    "process.ctxs" "CTX" Right Verbose ["resources"] "Number of user contexts"
        |row| of(row, |one| Value::Int(one.ctxs.into()));
    "process.srqs" "SRQ" Right Verbose ["resources"] "Number of shared receive queues"
        |row| of(row, |one| Value::Int(one.srqs.into()));
}

fn of(row: &ProcessRow<'_>, get: impl Fn(&ResourceCounts) -> Value) -> Value {
    row.holding.as_deref().map_or(Value::Absent, get)
}

/// Returns a row for each holder, and for each host whose objects could not be listed.
pub fn process_rows(reports: &[HostReport]) -> Vec<ProcessRow<'_>> {
    let mut rows = Vec::new();
    for report in reports {
        if report.resources.is_none() {
            rows.push(ProcessRow { report, holding: None });
        }
        let all = ResourceCounts::all_of(report).into_iter();
        rows.extend(all.map(|one| ProcessRow { report, holding: Some(Cow::Owned(one)) }));
    }
    rows
}
