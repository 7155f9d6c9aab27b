use super::column::columns;
use super::{Column, Listing, Value};
use crate::model::{CmId, HostReport, Object, Owner, QueuePair, Resource};

/// The listing of `rdmactl resources`: one row for each object.
#[derive(Debug)]
pub enum Resources {}

/// What one line is about: an object, or the host that has none.
#[derive(Debug, Clone, Copy)]
pub struct ResourceRow<'report> {
    /// The host.
    pub report: &'report HostReport,
    /// The object; `None` for a host without an answer, and for objects that could not be listed.
    pub resource: Option<&'report Resource>,
    /// The device whose objects could not be listed.
    pub unlisted: Option<&'report str>,
}

impl Listing for Resources {
    type Row<'report> = ResourceRow<'report>;

    const COLUMNS: &'static [Column<Self>] = columns! {
        "host" "HOST" Left WithHosts [] "Name of the host"
            |row| Value::Text(row.report.host.clone());
        "via" "VIA" Left VerboseWithHosts [] "How the answer came: local, agent, upload, file"
            |row| Value::via(row.report);
        "resource.device" "DEVICE" Left Always ["resources"] "Kernel name of the RDMA device"
            |row| {
                let device = row.resource.map(|resource| resource.device.as_str());
                Value::text(device.or(row.unlisted))
            };
        "resource.port" "PORT" Right Always ["resources"] "Port of a queue pair or connection"
            |row| Value::int(object(row, port));
        "resource.kind" "KIND" Left Always ["resources"] "qp, cm_id, cq, mr, pd, ctx, srq; why a host gave no answer"
            kind;
        "resource.number" "ID" Right Always ["resources"] "The kernel's number of the object; of a queue pair its QPN"
            |row| Value::int(object(row, number));
        "resource.owner.pid" "PID" Right Always ["resources"] "Process that holds it"
            |row| Value::int(owner(row, |owner| match owner {
                Owner::Process { pid, .. } => Some(*pid),
                Owner::Kernel { .. } => None,
            }));
        "resource.owner.name" "PROCESS" Left Always ["resources", "resources/owner"] "Name of the process, or [module] of the kernel"
            |row| Value::text(owner(row, |owner| match owner {
                Owner::Process { name, .. } => name.clone(),
                Owner::Kernel { name } => Some(format!("[{name}]")),
            }));
        "resource.qp_type" "TYPE" Left Always ["resources"] "Type of a queue pair or shared receive queue: RC, UD, XRC and so on"
            |row| Value::text(object(row, type_of));
        "resource.state" "STATE" Left Always ["resources"] "State of a queue pair or connection"
            |row| Value::text(object(row, state));
        "resource.rqpn" "PEER_QP" Right Always ["resources"] "Number of the peer's queue pair"
            |row| Value::int(queue_pair(row, |qp| qp.rqpn));
        "resource.source" "LOCAL" Left Always ["resources"] "Local address of a connection"
            |row| Value::text(connection(row, |id| id.source));
        "resource.destination" "REMOTE" Left Always ["resources"] "The peer's address of a connection"
            |row| Value::text(connection(row, |id| id.destination));
        "resource.length_bytes" "BYTES" Right Always ["resources"] "Size of a memory region"
            |row| object(row, |object| match object {
                Object::Mr { length_bytes, .. } => *length_bytes,
                _ => None,
            }).map_or(Value::Absent, Value::Bytes);
        "resource.lqpn" "QP" Right Verbose ["resources"] "Number of a connection's own queue pair"
            |row| Value::int(object(row, |object| match object {
                Object::Qp(qp) => qp.lqpn,
                Object::CmId(id) => id.lqpn,
                _ => None,
            }));
        "resource.port_space" "SPACE" Left Verbose ["resources"] "Port space of a connection: TCP, UDP, IPOIB, IB"
            |row| Value::text(connection(row, |id| id.port_space.clone()));
        "resource.pdn" "PD" Right Verbose ["resources"] "Number of the protection domain"
            |row| Value::int(object(row, domain));
        "resource.ctxn" "CTX" Right Verbose ["resources"] "Number of the user context"
            |row| Value::int(object(row, |object| match object {
                Object::Cq { ctxn, .. } | Object::Pd { ctxn, .. } | Object::Ctx { ctxn } => *ctxn,
                _ => None,
            }));
        "resource.cqn" "CQ" Right Asked ["resources"] "Number of the completion queue"
            |row| Value::int(object(row, |object| match object {
                Object::Cq { cqn, .. } | Object::Srq { cqn, .. } => *cqn,
                _ => None,
            }));
        "resource.users" "USERS" Right Verbose ["resources"] "How many objects use it"
            |row| object(row, |object| match object {
                Object::Cq { users, .. } | Object::Pd { users, .. } => *users,
                _ => None,
            }).map_or(Value::Absent, |users| Value::Int(i64::try_from(users).unwrap_or(i64::MAX)));
        "resource.entries" "ENTRIES" Right Verbose ["resources"] "Entries of a completion queue"
            |row| Value::int(object(row, |object| match object {
                Object::Cq { entries, .. } => *entries,
                _ => None,
            }));
        "resource.polled_by" "POLLED" Left Verbose ["resources"] "How the kernel polls its own completion queue"
            |row| Value::text(object(row, |object| match object {
                Object::Cq { polled_by, .. } => polled_by.clone(),
                _ => None,
            }));
        "resource.adaptive_moderation" "DIM" Left Asked ["resources"] "Whether interrupt moderation adapts"
            |row| Value::text(object(row, |object| match object {
                Object::Cq { adaptive_moderation, .. } => *adaptive_moderation,
                _ => None,
            }).map(|is_on| if is_on { "on" } else { "off" }));
        "resource.rq_psn" "RQ_PSN" Right Verbose ["resources"] "Packet sequence number of the receive queue"
            |row| Value::int(queue_pair(row, |qp| qp.rq_psn));
        "resource.sq_psn" "SQ_PSN" Right Verbose ["resources"] "Packet sequence number of the send queue: it moves with traffic"
            |row| Value::int(queue_pair(row, |qp| qp.sq_psn));
        "resource.path_migration" "PATH" Left Asked ["resources"] "Path migration state"
            |row| Value::text(queue_pair(row, |qp| qp.path_migration.clone()));
        "resource.rkey" "RKEY" Right Asked ["resources"] "Remote key; the kernel shows it to root only"
            |row| Value::hex(object(row, |object| match object {
                Object::Mr { rkey, .. } => *rkey,
                _ => None,
            }));
        "resource.lkey" "LKEY" Right Asked ["resources"] "Local key; the kernel shows it to root only"
            |row| Value::hex(object(row, |object| match object {
                Object::Mr { lkey, .. } => *lkey,
                _ => None,
            }));
    };

    fn is_unreadable(row: &ResourceRow<'_>, source: &str) -> bool {
        let is_told = row.report.problems.iter().any(|problem| problem.key == source);
        is_told || (source == "resources" && row.unlisted.is_some())
    }
}

/// One row for each object; a host without an answer has a row that says so.
#[must_use]
pub fn resource_rows(reports: &[HostReport]) -> Vec<ResourceRow<'_>> {
    let mut rows = Vec::new();
    for report in reports {
        match &report.resources {
            None => rows.push(ResourceRow { report, resource: None, unlisted: None }),
            Some(resources) => {
                let row =
                    |resource| ResourceRow { report, resource: Some(resource), unlisted: None };
                rows.extend(resources.iter().map(row));
                let row = |device| ResourceRow { report, resource: None, unlisted: Some(device) };
                rows.extend(unlisted(report).map(row));
            }
        }
    }
    rows
}

/// The devices of which a list of objects is missing, each once.
fn unlisted(report: &HostReport) -> impl Iterator<Item = &str> {
    let device = |name: &&str| {
        report.problems.iter().any(|problem| problem.key.strip_prefix("resources/") == Some(*name))
    };
    report.devices.iter().map(|device| device.name.as_str()).filter(device)
}

fn object<T>(row: &ResourceRow<'_>, get: impl Fn(&Object) -> Option<T>) -> Option<T> {
    get(&row.resource?.object)
}

fn owner<T>(row: &ResourceRow<'_>, get: impl Fn(&Owner) -> Option<T>) -> Option<T> {
    get(row.resource?.owner.as_ref()?)
}

fn queue_pair<T>(row: &ResourceRow<'_>, get: impl Fn(&QueuePair) -> Option<T>) -> Option<T> {
    object(row, |object| match object {
        Object::Qp(qp) => get(qp),
        _ => None,
    })
}

fn connection<T>(row: &ResourceRow<'_>, get: impl Fn(&CmId) -> Option<T>) -> Option<T> {
    object(row, |object| match object {
        Object::CmId(id) => get(id),
        _ => None,
    })
}

fn kind(row: &ResourceRow<'_>) -> Value {
    let word = || Value::text(row.resource.map(|resource| resource.object.word()));
    Value::or_failure(row.report, word)
}

fn port(object: &Object) -> Option<u32> {
    match object {
        Object::Qp(qp) => qp.port,
        Object::CmId(id) => id.port,
        _ => None,
    }
}

fn number(object: &Object) -> Option<u32> {
    match object {
        Object::Qp(qp) => qp.lqpn,
        Object::CmId(id) => id.cm_idn,
        Object::Cq { cqn, .. } => *cqn,
        Object::Mr { mrn, .. } => *mrn,
        Object::Pd { pdn, .. } => *pdn,
        Object::Ctx { ctxn } => *ctxn,
        Object::Srq { srqn, .. } => *srqn,
    }
}

fn domain(object: &Object) -> Option<u32> {
    match object {
        Object::Qp(qp) => qp.pdn,
        Object::Mr { pdn, .. } | Object::Pd { pdn, .. } | Object::Srq { pdn, .. } => *pdn,
        _ => None,
    }
}

fn type_of(object: &Object) -> Option<String> {
    match object {
        Object::Qp(qp) => qp.qp_type.clone(),
        Object::CmId(id) => id.qp_type.clone(),
        Object::Srq { srq_type, .. } => srq_type.clone(),
        _ => None,
    }
}

fn state(object: &Object) -> Option<String> {
    match object {
        Object::Qp(qp) => qp.state.clone(),
        Object::CmId(id) => id.state.clone(),
        _ => None,
    }
}
