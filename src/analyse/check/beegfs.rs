//! Checks of the RDMA settings of `BeeGFS` clients. `connections` judges their connections.

use std::collections::BTreeSet;

use super::results::Results;
use super::{on_host, responding};
use crate::model::{
    BeegfsClient, Connection, Device, Finding, HostReport, PinnedMemory, Port, Protocol, Severity,
    Subject,
};

const SWITCH: &str = "beegfs.rdma_off";
const BUFFERS: &str = "beegfs.buffers";
const MEMORY: &str = "beegfs.memory";

/// Smallest number of buffers with which RDMA works (comments of `beegfs-client.conf`).
const MIN_BUFFERS: u64 = 3;

/// Minimum share of host memory for buffers that is a finding, in percent.
const MIN_PERCENT: u64 = 25;

pub(super) fn judge(
    reports: &[&HostReport],
    connections: &[&[Connection]],
    results: &mut Results<'_>,
) {
    for (host, report) in responding(reports) {
        let consumers = report.consumers.as_ref();
        let clients = consumers.and_then(|consumers| consumers.beegfs.as_deref());
        let Some(clients) = clients.filter(|clients| !clients.is_empty()) else {
            let why = "the host has no client of BeeGFS";
            results.missing(host, &[SWITCH, BUFFERS, MEMORY], "consumers/beegfs", why);
            continue;
        };
        for client in clients {
            judge_switch(host, report, client, results);
        }
        let connections = connections.get(host).into_iter().flat_map(|all| all.iter());
        let memory: Vec<&PinnedMemory> =
            connections.filter_map(|connection| connection.memory.as_ref()).collect();
        if memory.is_empty() {
            let why = "no client of BeeGFS uses buffers for RDMA";
            results.missing(host, &[BUFFERS, MEMORY], "consumers/beegfs", why);
            continue;
        }
        judge_buffers(host, report, &memory, results);
        judge_memory(host, report, &memory, results);
    }
}

fn judge_switch(
    host: usize,
    report: &HostReport,
    client: &BeegfsClient,
    results: &mut Results<'_>,
) {
    let Some(uses_rdma) = client.switch("connUseRDMA") else {
        let key = format!("consumers/beegfs/{}", client.id);
        let why = "the client does not report connUseRDMA";
        return results.missing(host, &[SWITCH], &key, why);
    };
    let protocols = [Protocol::Ib, Protocol::Roce, Protocol::Iwarp, Protocol::Opa];
    let is_usable = |(device, port): (&Device, &Port)| {
        let is_supported = port.protocol.is_some_and(|protocol| protocols.contains(&protocol));
        is_supported && port.is_active() && !device.is_software()
    };
    let found = (!uses_rdma && report.ports().any(is_usable)).then(|| {
        let what = "the client uses TCP only (connUseRDMA = false), and the host has an active \
                    RDMA port";
        let subject = Subject::Part(format!("beegfs/{}", client.id));
        Finding::new(Severity::Warn, SWITCH, subject, what)
            .fix(on_host(
                report,
                "set connUseRDMA = true in beegfs-client.conf, and restart the client",
            ))
            .source(format!("{}/config", client.path))
    });
    results.judged(host, SWITCH, found);
}

fn finding(report: &HostReport, severity: Severity, id: &'static str, what: String) -> Finding {
    let command = "change connRDMABufSize, connRDMABufNum or connMaxInternodeNum in \
                   beegfs-client.conf, and restart the client";
    let found = Finding::new(severity, id, Subject::Part("beegfs".into()), what);
    found.fix(on_host(report, command)).source("/proc/fs/beegfs/ID/config")
}

fn judge_buffers(
    host: usize,
    report: &HostReport,
    memory: &[&PinnedMemory],
    results: &mut Results<'_>,
) {
    let settings: BTreeSet<_> = memory
        .iter()
        .map(|one| {
            let recommended = one.recommended_buffers.zip(one.recommended_buffer_bytes);
            (one.buffers, one.buffer_bytes, recommended)
        })
        .collect();
    for (count, size, recommended) in settings {
        let found = if count < MIN_BUFFERS {
            let what = format!("{count} buffers per connection; RDMA needs {MIN_BUFFERS}");
            Some(finding(report, Severity::Fail, BUFFERS, what))
        } else {
            recommended.map(|(usual_count, usual_size)| {
                let what = format!(
                    "{count} buffers of {size} bytes per connection; BeeGFS recommends \
                     {usual_count} of {usual_size} bytes for this adapter"
                );
                finding(report, Severity::Info, BUFFERS, what)
            })
        };
        results.judged(host, BUFFERS, found);
    }
}

fn judge_memory(
    host: usize,
    report: &HostReport,
    memory: &[&PinnedMemory],
    results: &mut Results<'_>,
) {
    let total = memory.iter().find_map(|one| one.host_bytes).filter(|bytes| *bytes > 0);
    let Some(total) = total else {
        let why = "the memory of the host is unknown";
        return results.missing(host, &[MEMORY], "consumers/memory", why);
    };
    // Each entry is the limit of one client for one server.
    let most = memory.iter().fold(0_u64, |sum, one| sum.saturating_add(one.most_bytes));
    let percent = most.saturating_mul(100) / total;
    let found = (percent >= MIN_PERCENT).then(|| {
        let what = format!(
            "the buffers of all clients for all servers may take {} MiB, which is {percent} % of \
             the memory of the host",
            most >> 20
        );
        finding(report, Severity::Warn, MEMORY, what)
    });
    results.judged(host, MEMORY, found);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{checked, cluster, reports};

    /// Returns the result of `beegfs.memory` on a host with these clients, and the observation.
    /// The buffers of a connection to a server take 10 MiB, and the host has 100 MiB.
    fn memory(clients: &[&[&str]]) -> (&'static str, Option<String>) {
        let client = |(id, servers): (usize, &&[&str])| {
            let node = |kind: &&str| json!({ "kind": kind, "name": "s", "id": 1, "pools": [] });
            let nodes: Vec<Value> = servers.iter().map(node).collect();
            json!({
                "id": format!("{id}-A"), "path": format!("/proc/fs/beegfs/{id}-A"),
                "config": [
                    ["connUseRDMA", "1"], ["connRDMABufSize", "65536"], ["connRDMABufNum", "8"],
                    ["connMaxInternodeNum", "10"],
                ],
                "nodes": nodes,
            })
        };
        let mut values = cluster();
        let clients: Vec<Value> = clients.iter().enumerate().map(client).collect();
        values[2]["consumers"] = json!({ "memory_bytes": 100 << 20, "beegfs": clients });
        let report = checked(&reports(&values));
        let mut found = report.findings.iter().filter(|found| found.check.id == super::MEMORY);
        let what = found.next().map(|found| found.finding.what.clone());
        (report.hosts[2].results[super::MEMORY].word(), what)
    }

    #[test]
    fn the_memory_of_all_clients_and_servers_counts() {
        assert_eq!(memory(&[&["storage", "meta"]]), ("pass", None));
        let expected = "the buffers of all clients for all servers may take 40 MiB, which is 40 % \
                        of the memory of the host";
        let two_clients = memory(&[&["storage", "meta"], &["storage", "meta"]]);
        assert_eq!(two_clients, ("warn", Some(expected.to_owned())));
        assert_eq!(memory(&[&["storage", "storage", "meta"]]).0, "warn", "one client");
        assert_eq!(memory(&[&["storage", "management"], &["meta"]]).0, "pass", "over TCP");
    }
}
