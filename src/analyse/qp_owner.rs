//! Kernel modules that own the queue pairs of the RDMA connection manager.
//!
//! The kernel reports `rdma_cm` as the owner of every queue pair that a module creates with the
//! connection manager. The connection identifier of the queue pair has module and addresses.

use std::collections::HashMap;

use crate::model::{CmId, HostReport, Object, Owner, Resource};

/// Connection identifiers of a host with their owners, by device and queue pair number.
#[derive(Debug, Default)]
pub struct ConnectionIds<'report>(
    HashMap<(&'report str, u32), (&'report CmId, Option<&'report Owner>)>,
);

impl<'report> ConnectionIds<'report> {
    /// Collects the connection identifiers of a host.
    pub fn of(resources: &'report [Resource]) -> Self {
        let ids = resources.iter().filter_map(|one| {
            let Object::CmId(id) = &one.object else { return None };
            Some(((one.device.as_str(), id.lqpn?), (id, one.owner.as_ref())))
        });
        Self(ids.collect())
    }

    /// Returns the connection identifier of a queue pair.
    pub fn cm_id(&self, resource: &Resource) -> Option<&'report CmId> {
        self.find(resource).map(|(id, _)| id)
    }

    /// Returns `None` unless the object is a queue pair of the connection manager.
    fn owner(&self, resource: &Resource) -> Option<&'report Owner> {
        match &resource.owner {
            Some(Owner::Kernel { name }) if name == "rdma_cm" => self.find(resource)?.1,
            _ => None,
        }
    }

    fn find(&self, resource: &Resource) -> Option<(&'report CmId, Option<&'report Owner>)> {
        let Object::Qp(qp) = &resource.object else { return None };
        self.0.get(&(resource.device.as_str(), qp.lqpn?)).copied()
    }
}

/// Replaces the owner `rdma_cm` of queue pairs by the module that owns the connection identifier.
pub fn name_owners(report: &mut HostReport) {
    let resources = report.resources.as_deref_mut().unwrap_or_default();
    let ids = ConnectionIds::of(resources);
    let found: Vec<Option<Owner>> = resources.iter().map(|one| ids.owner(one).cloned()).collect();
    for (resource, owner) in resources.iter_mut().zip(found) {
        if owner.is_some() {
            resource.owner = owner;
        }
    }
}

#[test]
fn a_queue_pair_has_the_owner_of_its_connection_identifier() {
    use serde_json::json;

    let kernel = |name: &str| json!({ "kernel": { "name": name } });
    let object = |device: &str, owner: serde_json::Value, kind: &str, lqpn: u32| {
        let json = json!({ "device": device, "owner": owner, "kind": kind, "lqpn": lqpn });
        serde_json::from_value::<Resource>(json).unwrap()
    };
    let mut report = HostReport::empty("n1", crate::model::Via::Agent);
    report.resources = Some(vec![
        object("a", kernel("rdma_cm"), "qp", 18),
        object("a", kernel("rdma_cm"), "qp", 19),
        object("b", kernel("rdma_cm"), "qp", 18),
        object("a", kernel("ib_core"), "qp", 20),
        object("a", kernel("rpcrdma"), "cm_id", 18),
        object("a", kernel("nvmet_rdma"), "cm_id", 20),
    ]);
    name_owners(&mut report);
    let all = report.resources.unwrap();
    let names: Vec<&str> = all
        .iter()
        .map(|one| match &one.owner {
            Some(Owner::Kernel { name }) => name.as_str(),
            _ => "",
        })
        .collect();
    assert_eq!(names, ["rpcrdma", "rdma_cm", "rdma_cm", "ib_core", "rpcrdma", "nvmet_rdma"]);
}
