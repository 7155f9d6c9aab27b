//! Reads the transports of the kernel's RPC client, and the listeners and clients of its NFS
//! server. `consumers` calls it.

use super::Reader;
use super::mounts::parse_address;
use crate::model::{Consumers, NfsClientOfServer, NfsListener, NfsServer, SunrpcTransport};
use crate::source::Question;

const SWITCHES: &str = "/sys/kernel/sunrpc/xprt-switches";
const SERVER: &str = "/proc/fs/nfsd";

/// Limit of transports and of clients; no host has as many.
const MAX: usize = 65_536;

/// Reads the server, and the transports if a file system is mounted by NFS.
pub(super) fn read(reader: &mut Reader<'_>, found: &mut Consumers) {
    if found.nfs_mounts.as_ref().is_some_and(|mounts| !mounts.is_empty()) {
        found.sunrpc = Some(read_transports(reader));
    }
    found.nfsd = read_server(reader);
}

fn read_transports(reader: &mut Reader<'_>) -> Vec<SunrpcTransport> {
    let mut all = Vec::new();
    for switch in reader.sorted_names("consumers/sunrpc", SWITCHES) {
        for name in reader.sorted_names("consumers/sunrpc", &format!("{SWITCHES}/{switch}")) {
            let kind = name.strip_prefix("xprt-").and_then(|rest| rest.split_once('-'));
            let Some((_, kind)) = kind else { continue };
            if all.len() == MAX {
                reader.report_too_long("consumers/sunrpc", SWITCHES, MAX);
                return all;
            }
            all.push(read_transport(reader, &format!("{switch}/{name}"), kind));
        }
    }
    all
}

fn read_transport(reader: &mut Reader<'_>, name: &str, kind: &str) -> SunrpcTransport {
    let mut text = |field: &str| {
        let path = format!("{SWITCHES}/{name}/{field}");
        match reader.ask(&Question::File(path.clone())) {
            // Older kernels report ENOTCONN for a closed transport.
            Err(error) if error.is_not_connected() => None,
            answer => {
                let key = format!("consumers/sunrpc/{name}");
                let bytes = reader.ok_or_report(&key, &path, answer)?;
                Some(String::from_utf8_lossy(&bytes).trim_end_matches('\0').trim().to_owned())
            }
        }
    };
    let (address, about, state) = (text("dstaddr"), text("xprt_info"), text("xprt_state"));
    let number = |field: &str| {
        let mut words = about.as_deref()?.split_whitespace();
        words.find_map(|word| word.strip_prefix(field)?.strip_prefix('=')?.parse::<u32>().ok())
    };
    let port = |field: &str| u16::try_from(number(field)?).ok().filter(|port| *port != 0);
    let is_connected = |state: &String| state.split_whitespace().any(|word| word == "CONNECTED");
    SunrpcTransport {
        name: name.to_owned(),
        kind: kind.to_owned(),
        address: address.as_deref().and_then(parse_address),
        port: port("dst_port"),
        own_port: port("src_port"),
        waiting: number("tasks_queuelen"),
        is_connected: state.as_ref().map(is_connected),
    }
}

fn read_server(reader: &mut Reader<'_>) -> Option<NfsServer> {
    let text = reader.content("consumers/nfsd", &format!("{SERVER}/portlist"))?;
    let listener = |line: &str| {
        let (kind, port) = line.split_once(' ')?;
        Some(NfsListener { kind: kind.to_owned(), port: port.trim().parse().ok()? })
    };
    let mut listeners: Vec<NfsListener> = text.lines().filter_map(listener).collect();
    // The file has one line for each address family.
    listeners.sort_by(|a, b| (&a.kind, a.port).cmp(&(&b.kind, b.port)));
    listeners.dedup();
    let folder = format!("{SERVER}/clients");
    let clients = reader.names("consumers/nfsd/clients", &folder).map(|mut ids| {
        ids.sort_by(|a, b| crate::names::compare(a, b));
        reader.truncate("consumers/nfsd/clients", &folder, MAX, &mut ids);
        ids.into_iter().map(|id| read_client(reader, &folder, id)).collect()
    });
    Some(NfsServer { listeners, clients })
}

fn read_client(reader: &mut Reader<'_>, folder: &str, id: String) -> NfsClientOfServer {
    let text = reader.content("consumers/nfsd/clients", &format!("{folder}/{id}/info"));
    let value = |name: &str| {
        let line = text.as_deref()?.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().trim_matches('"').to_owned())
    };
    NfsClientOfServer {
        address: value("address:").and_then(|address| address.parse().ok()),
        name: value("name:"),
        id,
    }
}
