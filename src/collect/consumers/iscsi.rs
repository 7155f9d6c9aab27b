//! Reads iSCSI and iSER: sessions, the transports that the node database requests, and the
//! portals of the LIO target. `consumers` calls it.

use std::net::IpAddr;

use super::Reader;
use super::mounts::parse_address;
use crate::model::{Consumers, IscsiNode, IscsiPortal, IscsiSession};
use crate::source::Question;

const SESSIONS: &str = "/sys/class/iscsi_session";
const CONNECTIONS: &str = "/sys/class/iscsi_connection";
/// Node databases of open-iscsi: Debian 13 has `/var/lib/iscsi`, other systems have `/etc/iscsi`.
const NODES: [&str; 2] = ["/etc/iscsi/nodes", "/var/lib/iscsi/nodes"];
const TARGET: &str = "/sys/kernel/config/target/iscsi";

/// Limit of sessions, of records and of portals; no host has as many.
const MAX: usize = 16_384;

/// Reads sessions, node records and portals. Node records are read only if a session exists.
pub(super) fn read(reader: &mut Reader<'_>, found: &mut Consumers) {
    let mut names = reader.sorted_names("consumers/iscsi", SESSIONS);
    reader.truncate("consumers/iscsi", SESSIONS, MAX, &mut names);
    if !names.is_empty() {
        let connections = reader.sorted_names("consumers/iscsi", CONNECTIONS);
        let session = |name: &String| read_session(reader, name, &connections);
        found.iscsi = Some(names.iter().map(session).collect());
        found.iscsi_nodes = Some(read_nodes(reader));
    }
    found.lio = Some(read_portals(reader)).filter(|portals| !portals.is_empty());
}

fn read_session(reader: &mut Reader<'_>, name: &str, connections: &[String]) -> IscsiSession {
    let key = format!("consumers/iscsi/{name}");
    let number = name.trim_start_matches("session");
    let first = connections.iter().find(|connection| {
        let rest = connection.strip_prefix("connection");
        rest.and_then(|rest| rest.split_once(':')).is_some_and(|(session, _)| session == number)
    });
    let mut of_connection = |field: &str| {
        let path = format!("{CONNECTIONS}/{}/{field}", first?);
        match reader.ask(&Question::File(path.clone())) {
            // The kernel reports ENOTCONN after the loss of an RDMA device.
            Err(error) if error.is_not_connected() => None,
            answer => reader.decode_text(&key, &path, answer),
        }
    };
    // The persistent address outlives a connection. It is the address before a redirection.
    let address = of_connection("persistent_address");
    let port = of_connection("persistent_port");
    let own_port = of_connection("local_port");
    let connection = of_connection("state");
    let mut text = |field: &str| reader.text(&key, &format!("{SESSIONS}/{name}/{field}"));
    let (target, state) = (text("targetname"), text("state"));
    let link = reader.link(&key, &format!("{SESSIONS}/{name}"));
    let host = link.as_deref().and_then(|path| path.split('/').find(|part| is_host(part)));
    let transport =
        host.and_then(|host| reader.text(&key, &format!("/sys/class/scsi_host/{host}/proc_name")));
    IscsiSession {
        name: name.to_owned(),
        transport: transport.map(|name| name.trim_start_matches("iscsi_").to_owned()),
        target,
        state,
        address: address.as_deref().and_then(parse_address),
        port: port.and_then(|port| port.parse().ok()),
        own_port: own_port.and_then(|port| port.parse().ok()),
        connection,
    }
}

fn is_host(part: &str) -> bool {
    let number = part.strip_prefix("host").filter(|number| !number.is_empty());
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads the first node database that has records.
fn read_nodes(reader: &mut Reader<'_>) -> Vec<IscsiNode> {
    let mut databases = NODES.into_iter().map(|database| read_database(reader, database));
    databases.find(|records| !records.is_empty()).unwrap_or_default()
}

/// Reads `NODES/IQN/ADDRESS,PORT,TAG/INTERFACE`, or the path without INTERFACE.
fn read_database(reader: &mut Reader<'_>, database: &str) -> Vec<IscsiNode> {
    let mut all = Vec::new();
    let key = "consumers/iscsi_nodes";
    for target in reader.sorted_names(key, database) {
        for portal in reader.sorted_names(key, &format!("{database}/{target}")) {
            let folder = format!("{database}/{target}/{portal}");
            let names = match reader.ask(&Question::Dir(folder.clone())) {
                // The entry is a file: ENOTDIR.
                Err(error) if error.is_absent() => vec![String::new()],
                answer => reader.decode_names(key, &folder, answer).unwrap_or_default(),
            };
            for name in names {
                let path = format!("{folder}/{name}");
                let source = path.trim_end_matches('/').to_owned();
                let Some(text) = reader.content(key, &source) else { continue };
                if all.len() == MAX {
                    reader.report_too_long(key, database, MAX);
                    return all;
                }
                let (address, port) = parse_portal(portal.split(',').take(2));
                let transport = text.lines().find_map(|line| {
                    line.strip_prefix("iface.transport_name")?.trim_start().strip_prefix('=')
                });
                all.push(IscsiNode {
                    source,
                    target: target.clone(),
                    address,
                    port,
                    transport: transport.map(|name| name.trim().to_owned()),
                });
            }
        }
    }
    all
}

fn parse_portal<'text>(
    mut parts: impl Iterator<Item = &'text str>,
) -> (Option<IpAddr>, Option<u16>) {
    let address = parts.next().map(|text| text.trim_matches(['[', ']']));
    (address.and_then(parse_address), parts.next().and_then(|port| port.parse().ok()))
}

/// Reads the portals of the target, `IQN/tpgt_1/np/ADDRESS:PORT/iser`.
fn read_portals(reader: &mut Reader<'_>) -> Vec<IscsiPortal> {
    let mut all = Vec::new();
    let key = "consumers/lio";
    for target in reader.sorted_names(key, TARGET) {
        if !target.starts_with("iqn.") && !target.starts_with("eui.") {
            continue;
        }
        for group in reader.sorted_names(key, &format!("{TARGET}/{target}")) {
            if !group.starts_with("tpgt_") {
                continue;
            }
            let folder = format!("{TARGET}/{target}/{group}/np");
            for portal in reader.sorted_names(key, &folder) {
                if all.len() == MAX {
                    reader.report_too_long(key, TARGET, MAX);
                    return all;
                }
                let is_iser = reader.value(key, &format!("{folder}/{portal}/iser"), |text| {
                    text.parse().ok().map(|number: u32| number != 0)
                });
                let parts = portal.rsplit_once(':').unwrap_or((&portal, ""));
                let (address, port) = parse_portal([parts.0, parts.1].into_iter());
                all.push(IscsiPortal { target: target.clone(), address, port, is_iser });
            }
        }
    }
    all
}
