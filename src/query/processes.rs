use super::column::columns;
use super::place::{OfHost, host, via};
use super::{Column, Key, Listing, Value};
use crate::model::{HostReport, Object, Owner};

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

/// Who holds resources of a host, and how many.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holding {
    /// Who; `None` where the kernel does not say.
    pub owner: Option<Owner>,
    /// The devices, each once.
    pub devices: Vec<String>,
    /// Queue pairs.
    pub qps: u32,
    /// Those of them that are in error.
    pub failed_qps: u32,
    /// Completion queues.
    pub cqs: u32,
    /// Memory regions.
    pub mrs: u32,
    /// Their bytes; `None` where no size was told.
    pub mr_bytes: Option<u64>,
    /// Protection domains.
    pub pds: u32,
    /// User contexts.
    pub ctxs: u32,
    /// Shared receive queues.
    pub srqs: u32,
    /// Connection identifiers.
    pub cm_ids: u32,
}

impl Holding {
    /// The holders of a host's resources, in the order in which they are first met.
    #[must_use]
    pub fn all_of(report: &HostReport) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let mut known = std::collections::HashMap::new();
        for resource in report.resources.iter().flatten() {
            // A process is itself whatever its name is.
            let who = match &resource.owner {
                None => (None, None),
                Some(Owner::Process { pid, .. }) => (Some(*pid), None),
                Some(Owner::Kernel { name }) => (None, Some(name.as_str())),
            };
            let index = *known.entry(who).or_insert_with(|| {
                all.push(Self { owner: resource.owner.clone(), ..Self::default() });
                all.len() - 1
            });
            all[index].add(&resource.device, &resource.object);
        }
        all
    }

    fn add(&mut self, device: &str, object: &Object) {
        if !self.devices.iter().any(|known| known == device) {
            self.devices.push(device.to_owned());
        }
        match object {
            Object::Qp(qp) => {
                self.qps += 1;
                self.failed_qps += u32::from(matches!(qp.state.as_deref(), Some("ERR" | "SQE")));
            }
            Object::CmId(_) => self.cm_ids += 1,
            Object::Cq { .. } => self.cqs += 1,
            Object::Mr { length_bytes, .. } => {
                self.mrs += 1;
                if let Some(more) = length_bytes {
                    self.mr_bytes = Some(self.mr_bytes.unwrap_or(0).saturating_add(*more));
                }
            }
            Object::Pd { .. } => self.pds += 1,
            Object::Ctx { .. } => self.ctxs += 1,
            Object::Srq { .. } => self.srqs += 1,
        }
    }
}

impl OfHost for ProcessRow<'_> {
    fn report(&self) -> &HostReport {
        self.report
    }
}

impl Listing for Processes {
    type Row<'report> = ProcessRow<'report>;

    const NAME: &'static str = "top processes";

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
        "process.failed_qps" "QP_ERR" Right Always ["resources"] "Queue pairs in error"
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

#[test]
fn what_one_process_holds_is_one_row() {
    let mut report = HostReport::empty("n1", crate::model::Via::Agent);
    let object = |pid: u32, kind: &str, more: serde_json::Value| {
        let owner = serde_json::json!({ "process": { "pid": pid, "name": "mpi" } });
        let mut json = serde_json::json!({ "device": "mlx5_0", "owner": owner, "kind": kind });
        json.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(json).unwrap()
    };
    report.resources = Some(vec![
        object(7, "qp", serde_json::json!({ "lqpn": 1, "state": "ERR" })),
        object(8, "qp", serde_json::json!({ "lqpn": 2, "state": "RTS" })),
        object(7, "mr", serde_json::json!({ "length_bytes": 4096 })),
        object(7, "mr", serde_json::json!({ "length_bytes": 4096 })),
    ]);
    let all = Holding::all_of(&report);
    let told: Vec<_> =
        all.iter().map(|one| (one.qps, one.failed_qps, one.mrs, one.mr_bytes)).collect();
    assert_eq!(told, [(1, 1, 2, Some(8192)), (1, 0, 0, None)]);
}
