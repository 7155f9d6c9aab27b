//! RDMA resources by owner: counts per process or kernel module.

use std::collections::HashMap;

use crate::model::{HostReport, Object, Owner, Resource};

/// Number of RDMA objects of one owner on a host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceCounts {
    /// Owner; `None` if the kernel does not report one.
    pub owner: Option<Owner>,
    /// Devices of the objects, each once.
    pub devices: Vec<String>,
    /// Number of queue pairs.
    pub qps: u32,
    /// Number of queue pairs in an error state.
    pub failed_qps: u32,
    /// Number of completion queues.
    pub cqs: u32,
    /// Number of memory regions.
    pub mrs: u32,
    /// Size of all memory regions in bytes; `None` if no size was reported.
    pub mr_bytes: Option<u64>,
    /// Number of protection domains.
    pub pds: u32,
    /// Number of user contexts.
    pub ctxs: u32,
    /// Number of shared receive queues.
    pub srqs: u32,
    /// Number of connection identifiers.
    pub cm_ids: u32,
}

impl ResourceCounts {
    /// Returns the counts of all owners of a host, in the order of their first resource.
    pub fn all_of(report: &HostReport) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let mut known = HashMap::new();
        for resource in report.resources.iter().flatten() {
            let index = *known.entry(owner_key(resource.owner.as_ref())).or_insert_with(|| {
                all.push(Self { owner: resource.owner.clone(), ..Self::default() });
                all.len() - 1
            });
            all[index].add(&resource.device, &resource.object);
        }
        all
    }

    /// True if the resource belongs to this owner.
    pub fn has(&self, resource: &Resource) -> bool {
        owner_key(resource.owner.as_ref()) == owner_key(self.owner.as_ref())
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

/// Identifies processes by PID, not by name.
fn owner_key(owner: Option<&Owner>) -> (Option<u32>, Option<&str>) {
    match owner {
        None => (None, None),
        Some(Owner::Process { pid, .. }) => (Some(*pid), None),
        Some(Owner::Kernel { name }) => (None, Some(name)),
    }
}

#[test]
fn each_process_has_one_row_of_resource_counts() {
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
    let all = ResourceCounts::all_of(&report);
    let told: Vec<_> =
        all.iter().map(|one| (one.qps, one.failed_qps, one.mrs, one.mr_bytes)).collect();
    assert_eq!(told, [(1, 1, 2, Some(8192)), (1, 0, 0, None)]);
    let resources = report.resources.as_deref().unwrap();
    assert_eq!(resources.iter().filter(|one| all[0].has(one)).count(), 3);
}
