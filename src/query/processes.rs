use super::column::columns;
use super::place::{OfHost, host, via};
use super::{Column, Key, Listing, Value};
use crate::analyse::holding::Holding;
use crate::model::{HostReport, Owner};

/// Who holds resources, of `rdmactl top`: one row for each process, or module of the kernel.
#[derive(Debug)]
pub enum Processes {}

/// What one line is about: a holder of resources, or the host that has none.
#[derive(Debug, Clone, Copy)]
pub struct ProcessRow<'report> {
    /// The host.
    pub report: &'report HostReport,
    /// Who holds them, and how many; `None` for a host without an answer.
    pub holding: Option<&'report Holding>,
}

impl OfHost for ProcessRow<'_> {
    fn report(&self) -> &HostReport {
        self.report
    }
}

impl Listing for Processes {
    type Row<'report> = ProcessRow<'report>;

    const NAME: &'static str = "top resources";

    const KEYS: &'static [Key] = &[
        Key::new("host", "host", "host"),
        Key::new("process", "pid", "process.pid"),
        Key::new("process", "name", "process.name"),
    ];

    const COLUMNS: &'static [Column<Self>] = columns! {
        [host(), via()]
        "process.name" "PROCESS" Left Always ["resources", "resources/owner"] "Name of the process, or [module] of the kernel; why a host gave no answer"
            |row| Value::or_failure(row.report, || of(row, |one| Value::text(match &one.owner {
                None => None,
                Some(Owner::Process { name, .. }) => name.clone(),
                Some(Owner::Kernel { name }) => Some(format!("[{name}]")),
            })));
        "process.pid" "PID" Right Always ["resources"] "Its number; none for the kernel's own"
            |row| of(row, |one| Value::id(match &one.owner {
                Some(Owner::Process { pid, .. }) => Some(*pid),
                _ => None,
            }));
        "process.devices" "DEVICES" Left Always ["resources"] "RDMA devices that it uses"
            |row| of(row, |one| Value::list(Some(&one.devices)));
        "process.qps" "QP" Right Always ["resources"] "Queue pairs"
            |row| of(row, |one| Value::Int(one.qps.into()));
        "process.failed_qps" "QP_ERR" Right Always ["resources"]: Unwanted "Queue pairs in error"
            |row| of(row, |one| match one.failed_qps {
                0 => Value::Int(0),
                some => Value::Bad(some.to_string()),
            });
        "process.cqs" "CQ" Right Always ["resources"] "Completion queues"
            |row| of(row, |one| Value::Int(one.cqs.into()));
        "process.mrs" "MR" Right Always ["resources"] "Memory regions"
            |row| of(row, |one| Value::Int(one.mrs.into()));
        "process.mr_bytes" "MEMORY" Right Always ["resources"] "Size of its memory regions, which is pinned"
            |row| of(row, |one| one.mr_bytes.map_or(Value::Absent, Value::Size));
        "process.pds" "PD" Right Always ["resources"] "Protection domains"
            |row| of(row, |one| Value::Int(one.pds.into()));
        "process.cm_ids" "CM_ID" Right Always ["resources"] "Connection identifiers"
            |row| of(row, |one| Value::Int(one.cm_ids.into()));
        "process.ctxs" "CTX" Right Verbose ["resources"] "User contexts"
            |row| of(row, |one| Value::Int(one.ctxs.into()));
        "process.srqs" "SRQ" Right Verbose ["resources"] "Shared receive queues"
            |row| of(row, |one| Value::Int(one.srqs.into()));
    };

    fn is_unreadable(row: &ProcessRow<'_>, source: &str) -> bool {
        row.report.problems.has(source)
    }
}

fn of(row: &ProcessRow<'_>, get: impl Fn(&Holding) -> Value) -> Value {
    row.holding.map_or(Value::Absent, get)
}
