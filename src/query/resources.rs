//! Lists RDMA objects of the kernel, for `rdmactl resources`.

use super::Value;
use super::column::listing;
use super::place_columns::{has_host, host, via};
use crate::analyse::qp_owner::ConnectionIds;
use crate::model::{CmAddress, CmId, HostReport, Object, Owner, Resource};

/// One row: an object, or a host or device whose objects could not be listed.
#[derive(Debug, Clone, Copy)]
pub struct ResourceRow<'report> {
    /// Report of the host.
    pub report: &'report HostReport,
    /// Object; `None` for a host that did not respond, and for objects that could not be listed.
    pub resource: Option<&'report Resource>,
    /// Device whose objects could not be listed.
    pub unlisted: Option<&'report str>,
    /// Connection identifier of a queue pair, which has the addresses.
    pub cm_id: Option<&'report CmId>,
}

impl<'report> ResourceRow<'report> {
    /// Returns the row of a host without objects.
    pub fn empty(report: &'report HostReport) -> Self {
        Self { report, resource: None, unlisted: None, cm_id: None }
    }
}

has_host!(ResourceRow);

listing! {
    /// Listing of `rdmactl resources`, one row for each object.
    Resources "resources" of ResourceRow<'report>;
    example "kind==qp";
    keys [HOST]
        device "device" "resource.device",
        resource "kind" "resource.kind",
        resource "number" "resource.number";
    folds false;
    unreadable |row, source| is_unreadable(row, source);
    columns
    [host(), via()]
    "resource.device" "DEVICE" Left Always ["resources"] "Kernel name of the RDMA device"
        |row| Value::text(row.resource.map(|resource| resource.device.as_str()).or(row.unlisted));
    "resource.port" "PORT" Right Always ["resources"] "Port number of a queue pair or connection"
        |row| Value::id(facts(row).port);
    "resource.kind" "KIND" Left Always ["resources"] "Kind: qp, cm_id, cq, mr, pd, ctx, srq; for an unreachable host the reason"
        |row| Value::or_failure(row.report, || Value::text(row.resource.map(|resource| resource.object.word())));
    "resource.number" "ID" Right Always ["resources"] "Kernel number of the object; for a queue pair its QPN"
        |row| Value::id(facts(row).number);
    "resource.owner.pid" "PID" Right Always ["resources"] "Process id of the owner"
        |row| Value::id(owner(row, |owner| match owner {
            Owner::Process { pid, .. } => Some(*pid),
            Owner::Kernel { .. } => None,
        }));
    "resource.owner.name" "PROCESS" Left Always ["resources", "resources/owner"] "Name of the owning process, or [module] of the kernel"
        |row| Value::text(owner(row, |owner| match owner {
            Owner::Process { name, .. } => name.clone(),
            Owner::Kernel { name } => Some(format!("[{name}]")),
        }));
    "resource.qp_type" "TYPE" Left Always ["resources"] "Type of a queue pair or shared receive queue: RC, UD, XRC"
        |row| Value::text(facts(row).of_type);
    "resource.state" "STATE" Left Always ["resources"] "State of a queue pair or connection"
        |row| Value::text(facts(row).state);
    "resource.rqpn" "PEER_QP" Right Always ["resources"] "Queue pair number of the peer"
        |row| Value::id(facts(row).rqpn);
    "resource.source" "LOCAL" Left Always ["resources"] "Local address of a connection or of its queue pair"
        |row| Value::text(facts(row).source);
    "resource.destination" "REMOTE" Left Always ["resources"] "Remote address of a connection or of its queue pair"
        |row| Value::text(facts(row).destination);
    "resource.length_bytes" "BYTES" Right Always ["resources"] "Size of a memory region, in bytes"
        |row| Value::bytes(facts(row).length_bytes);
    "resource.lqpn" "QP" Right Verbose ["resources"] "Local queue pair number of a connection"
        |row| Value::id(facts(row).lqpn);
    "resource.port_space" "SPACE" Left Verbose ["resources"] "Port space of a connection: TCP, UDP, IPOIB, IB"
        |row| Value::text(facts(row).port_space);
    "resource.pdn" "PD" Right Verbose ["resources"] "Number of the protection domain"
        |row| Value::id(facts(row).pdn);
    "resource.ctxn" "CTX" Right Verbose ["resources"] "Number of the user context"
        |row| Value::id(facts(row).ctxn);
    "resource.cqn" "CQ" Right Asked ["resources"] "Number of the completion queue"
        |row| Value::id(facts(row).cqn);
    "resource.users" "USERS" Right Verbose ["resources"] "Number of objects that use the object"
        |row| Value::int(facts(row).users.map(|users| i64::try_from(users).unwrap_or(i64::MAX)));
    "resource.entries" "ENTRIES" Right Verbose ["resources"] "Number of entries of a completion queue"
        |row| Value::int(facts(row).entries);
    "resource.polled_by" "POLLED" Left Verbose ["resources"] "Polling mode of a kernel completion queue"
        |row| Value::text(facts(row).polled_by);
    "resource.adaptive_moderation" "DIM" Left Asked ["resources"] "Adaptive interrupt moderation: on, off"
        |row| Value::switch(facts(row).adaptive_moderation);
    "resource.rq_psn" "RQ_PSN" Right Verbose ["resources"] "Packet sequence number of the receive queue"
        |row| Value::int(facts(row).rq_psn);
    "resource.sq_psn" "SQ_PSN" Right Verbose ["resources"] "Packet sequence number of the send queue; changes with traffic"
        |row| Value::int(facts(row).sq_psn);
    "resource.path_migration" "PATH" Left Asked ["resources"] "Path migration state"
        |row| Value::text(facts(row).path_migration);
    "resource.rkey" "RKEY" Right Asked ["resources", "keys"] "Remote key of a memory region; root only"
        |row| key(row, facts(row).rkey);
    "resource.lkey" "LKEY" Right Asked ["resources", "keys"] "Local key of a memory region; root only"
        |row| key(row, facts(row).lkey);
    "resource.local_dma_lkey" "DMA_LKEY" Right Asked ["resources", "keys"]
        "Local DMA key of a protection domain; root only"
        |row| key(row, facts(row).local_dma_lkey);
}

fn is_unreadable(row: &ResourceRow<'_>, source: &str) -> bool {
    if source == "keys" {
        // Only some kinds of objects have keys; `key` decides for each cell.
        return false;
    }
    row.report.problems.has(source) || (source == "resources" && row.unlisted.is_some())
}

/// Returns a row for each object, and for each host or device whose objects could not be listed.
pub fn resource_rows(reports: &[HostReport]) -> Vec<ResourceRow<'_>> {
    let mut rows = Vec::new();
    for report in reports {
        match &report.resources {
            None => rows.push(ResourceRow::empty(report)),
            Some(resources) => {
                let (ids, empty) = (ConnectionIds::of(resources), ResourceRow::empty(report));
                rows.extend(resources.iter().map(|resource| ResourceRow {
                    resource: Some(resource),
                    cm_id: ids.cm_id(resource),
                    ..empty
                }));
                let row = |device| ResourceRow { unlisted: Some(device), ..empty };
                rows.extend(unlisted(report).map(row));
            }
        }
    }
    rows
}

/// Returns each device for which a list of objects is missing.
fn unlisted(report: &HostReport) -> impl Iterator<Item = &str> {
    let device = |name: &&str| report.problems.has(&format!("resources/{name}"));
    report.devices.iter().map(|device| device.name.as_str()).filter(device)
}

fn owner<T>(row: &ResourceRow<'_>, get: impl Fn(&Owner) -> Option<T>) -> Option<T> {
    get(row.resource?.owner.as_ref()?)
}

/// Key of an object that has this kind of key; `None` if the kernel does not return it.
#[derive(Clone, Copy)]
struct MemoryKey(Option<u32>);

/// Returns the cell of a key. The cell is unreadable if the kernel hides the key from the user.
fn key(row: &ResourceRow<'_>, key: Option<MemoryKey>) -> Value {
    match key {
        None => Value::Absent,
        Some(MemoryKey(None)) if row.report.problems.has("keys") => Value::Failed,
        Some(MemoryKey(key)) => Value::hex(key),
    }
}

/// Values of an object. Each kind of object has only some of them.
#[derive(Default)]
struct Facts<'report> {
    number: Option<u32>,
    port: Option<u32>,
    of_type: Option<&'report String>,
    state: Option<&'report String>,
    lqpn: Option<u32>,
    rqpn: Option<u32>,
    rq_psn: Option<u32>,
    sq_psn: Option<u32>,
    path_migration: Option<&'report String>,
    port_space: Option<&'report String>,
    source: Option<CmAddress>,
    destination: Option<CmAddress>,
    length_bytes: Option<u64>,
    rkey: Option<MemoryKey>,
    lkey: Option<MemoryKey>,
    local_dma_lkey: Option<MemoryKey>,
    pdn: Option<u32>,
    ctxn: Option<u32>,
    cqn: Option<u32>,
    users: Option<u64>,
    entries: Option<u32>,
    polled_by: Option<&'report String>,
    adaptive_moderation: Option<bool>,
}

fn facts<'report>(row: &ResourceRow<'report>) -> Facts<'report> {
    let none = Facts::default();
    match row.resource.map(|resource| &resource.object) {
        None => none,
        Some(Object::Qp(qp)) => Facts {
            number: qp.lqpn,
            port: qp.port,
            of_type: qp.qp_type.as_ref(),
            state: qp.state.as_ref(),
            lqpn: qp.lqpn,
            rqpn: qp.rqpn,
            rq_psn: qp.rq_psn,
            sq_psn: qp.sq_psn,
            path_migration: qp.path_migration.as_ref(),
            pdn: qp.pdn,
            port_space: row.cm_id.and_then(|id| id.port_space.as_ref()),
            source: row.cm_id.and_then(|id| id.source),
            destination: row.cm_id.and_then(|id| id.destination),
            ..none
        },
        Some(Object::CmId(id)) => Facts {
            number: id.cm_idn,
            port: id.port,
            of_type: id.qp_type.as_ref(),
            state: id.state.as_ref(),
            lqpn: id.lqpn,
            port_space: id.port_space.as_ref(),
            source: id.source,
            destination: id.destination,
            ..none
        },
        Some(&Object::Cq { cqn, entries, users, ref polled_by, adaptive_moderation, ctxn }) => {
            let polled_by = polled_by.as_ref();
            Facts { number: cqn, cqn, entries, users, polled_by, adaptive_moderation, ctxn, ..none }
        }
        Some(&Object::Mr { mrn, rkey, lkey, length_bytes, pdn }) => {
            let (rkey, lkey) = (Some(MemoryKey(rkey)), Some(MemoryKey(lkey)));
            Facts { number: mrn, rkey, lkey, length_bytes, pdn, ..none }
        }
        Some(&Object::Pd { pdn, local_dma_lkey, users, ctxn }) => {
            let local_dma_lkey = Some(MemoryKey(local_dma_lkey));
            Facts { number: pdn, pdn, local_dma_lkey, users, ctxn, ..none }
        }
        Some(&Object::Ctx { ctxn }) => Facts { number: ctxn, ctxn, ..none },
        Some(&Object::Srq { srqn, ref srq_type, pdn, cqn }) => {
            Facts { number: srqn, of_type: srq_type.as_ref(), pdn, cqn, ..none }
        }
    }
}
