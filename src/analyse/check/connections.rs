//! Checks of connections: the verdicts of `analyse::connections` that need attention.

use super::results::Results;
use crate::model::{Connection, ConnectionVerdict, Consumer, Finding, HostReport, Subject};

/// Checks of connections, one for each verdict that needs attention.
const OF_CONNECTIONS: [&str; 5] = [
    "connection.down",
    "connection.fallback_confirmed",
    "connection.degraded",
    "connection.mixed",
    "connection.suspected",
];

pub(super) fn judge(
    reports: &[&HostReport],
    connections: &[&[Connection]],
    results: &mut Results<'_>,
) {
    for (host, (report, connections)) in reports.iter().zip(connections).enumerate() {
        if report.failure.is_some() {
            continue;
        }
        results.skip(host, "connection.changed", "a single sample shows no change; top does");
        if connections.is_empty() {
            let why = "the host has no connection of an RDMA-capable application";
            for id in OF_CONNECTIONS {
                results.skip(host, id, why);
            }
        }
        for connection in *connections {
            if connection.verdict == ConnectionVerdict::Unknown {
                let why = connection.missing.join(", ");
                let why = format!("{} {}: {why}", connection.consumer.kind.word(), connection.id);
                // The missing facts may hide any fault of the connection.
                for id in OF_CONNECTIONS {
                    results.unknown(host, id, why.as_str());
                }
                continue;
            }
            let found = of_connection(connection);
            let code = found.as_ref().map(|found| found.code);
            for id in OF_CONNECTIONS.into_iter().filter(|id| code != Some(id)) {
                results.pass(host, id);
            }
            if let Some(found) = found {
                let source = connection.evidence.first().map(|evidence| evidence.source.clone());
                results.found(host, Finding { source, ..found });
            }
        }
    }
}

fn of_connection(connection: &Connection) -> Option<Finding> {
    let (severity, code) = connection.verdict.finding()?;
    let Consumer { kind, instance, .. } = &connection.consumer;
    let subject = Subject::Connection(kind.word().to_owned(), instance.clone());
    let cause = connection.cause.as_ref();
    let what = cause.map_or(connection.verdict.word(), |cause| cause.text.as_str());
    let fix = cause.and_then(|cause| cause.fix.clone());
    Some(Finding { fix, ..Finding::new(severity, code, subject, what) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{cluster, reports};
    use super::super::{CheckOptions, run};
    use super::*;
    use crate::analyse::connections::connections;

    #[test]
    fn a_connection_without_a_verdict_is_unknown_for_each_check() {
        let mut values = cluster();
        values[2]["consumers"] = json!({
            "nfs_mounts": [{
                "device": "10.9.0.1:/", "mount_point": "/mnt", "version": "4.2", "proto": "tcp",
                "port": 2049, "address": "10.9.0.1", "transports": [],
            }],
            "mount_intents": [{
                "device": "10.9.0.1:/", "mount_point": "/mnt", "fs_type": "nfs4",
                "options": "proto=rdma", "source": "/etc/fstab:12",
            }],
        });
        let all = reports(&values);
        let mut of_hosts = connections(&all);
        let works = Connection { verdict: ConnectionVerdict::Ok, ..of_hosts[2][0].clone() };
        let missing = vec!["the transport".to_owned()];
        let unknown = Connection { verdict: ConnectionVerdict::Unknown, missing, ..works.clone() };
        for known in [vec![unknown.clone()], vec![unknown, works]] {
            of_hosts[2] = known;
            let report = run(&all, &of_hosts, &CheckOptions::default());
            for id in OF_CONNECTIONS {
                let result = &report.hosts[2].results[id];
                let reason = result.reason().unwrap_or_default();
                assert_eq!(result.word(), "unknown", "{id}");
                assert!(reason.ends_with(": the transport"), "{id}: {reason}");
            }
        }
    }
}
