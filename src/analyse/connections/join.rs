//! Joins the rows of the two ends of a connection.

use std::collections::{HashMap, HashSet};

use super::fleet::Fleet;
use crate::analyse::grouped;
use crate::model::{Connection, End, Role};

/// Index of a host, and index of a row of that host.
type Row = (usize, usize);

/// Joins the two ends of a connection into the row of the client, else of the first host. A row
/// also stays if the remote end of one of its channels has no row.
pub(super) fn join(fleet: &Fleet<'_>, all: &mut [Vec<Connection>]) {
    for connection in all.iter_mut().flatten() {
        let peer = &mut connection.peer;
        if let Some(host) = peer.address.and_then(|address| fleet.hosts.at(address)) {
            peer.host = Some(fleet.name(host).to_owned());
        }
    }
    let mut hidden: HashSet<Row> = HashSet::new();
    for (here, others) in grouped(whole(fleet, all)) {
        let (host, row) = here;
        let other = &all[host][row];
        // The fault cannot be assigned to one of several rows.
        if others.len() > 1 && other.verdict.needs_attention() {
            continue;
        }
        let other = other.clone();
        for (host_there, row_there) in others {
            let connection = &mut all[host_there][row_there];
            connection.peer.host.get_or_insert_with(|| fleet.name(host).to_owned());
            take_fault_of_removed_row(connection, &other, fleet.name(host));
        }
        hidden.insert(here);
    }
    for (host, of_host) in all.iter_mut().enumerate() {
        let mut rows = 0..;
        of_host.retain(|_| rows.next().is_some_and(|row| !hidden.contains(&(host, row))));
    }
}

/// Returns pairs of rows. The second row stays. Every end of the first row is in rows that stay.
fn whole(fleet: &Fleet<'_>, all: &[Vec<Connection>]) -> HashSet<(Row, Row)> {
    let mut by_queue_pair: HashMap<(usize, &str, u32), Row> = HashMap::new();
    let mut by_socket: HashMap<(&End, &End), Vec<Row>> = HashMap::new();
    for (host, of_host) in all.iter().enumerate() {
        for (row, connection) in of_host.iter().enumerate() {
            for channel in &connection.rdma {
                if let Some(lqpn) = channel.lqpn {
                    by_queue_pair.insert((host, &channel.device, lqpn), (host, row));
                }
            }
            for channel in connection.tcp.iter().filter(|channel| !channel.is_control) {
                by_socket.entry((&channel.local, &channel.remote)).or_default().push((host, row));
            }
        }
    }
    let mut pairs = HashSet::new();
    for (host, of_host) in all.iter().enumerate() {
        for (row, connection) in of_host.iter().enumerate() {
            let over_rdma = connection.rdma.iter().map(|channel| {
                let end = fleet.remote_queue_pairs.of(host, &channel.device, channel.lqpn?)?;
                Some(vec![*by_queue_pair.get(&end)?])
            });
            let over_tcp = connection.tcp.iter().filter(|channel| !channel.is_control);
            let over_tcp = over_tcp.map(|channel| {
                // Mounts of one server share a socket.
                let rows = by_socket.get(&(&channel.remote, &channel.local))?;
                let there = rows.first()?.0;
                // Hosts may have equal local addresses, for example of containers.
                let is_one = there != host && rows.iter().all(|row| row.0 == there);
                is_one.then(|| rows.clone())
            });
            let stays = |there: &Row| stays(&all[there.0][there.1], there.0, connection, host);
            let stay = |there: &Vec<Row>| there.iter().all(stays);
            let others: Option<Vec<Vec<Row>>> =
                over_rdma.chain(over_tcp).map(|there| there.filter(stay)).collect();
            let others = others.into_iter().flatten().flatten();
            pairs.extend(others.map(|there| ((host, row), there)));
        }
    }
    pairs
}

fn stays(one: &Connection, host: usize, other: &Connection, other_host: usize) -> bool {
    match (one.consumer.role, other.consumer.role) {
        (Role::Client, Role::Client) | (Role::Server | Role::Peer, Role::Server | Role::Peer) => {
            host < other_host
        }
        (is, _) => is == Role::Client,
    }
}

fn take_fault_of_removed_row(connection: &mut Connection, other: &Connection, host: &str) {
    if !other.verdict.needs_attention() || other.verdict <= connection.verdict {
        return;
    }
    connection.verdict = other.verdict;
    connection.cause = other.cause.clone().map(|mut cause| {
        cause.text = format!("at {host}: {}", cause.text);
        cause
    });
    connection.evidence.extend(other.evidence.iter().cloned().map(|mut seen| {
        seen.source = format!("{host}: {}", seen.source);
        seen
    }));
}
