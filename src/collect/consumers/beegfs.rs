//! Reads `BeeGFS` clients from the files and the kernel log lines of the client module.
//!
//! The formats are those of `client_module/source/filesystem/ProcFsHelper.c`, unchanged from 6.19
//! to 8.3. rdmactl sends nothing to a server, so a server that does not respond cannot block it.
//! `consumers` calls this module.

use std::net::{IpAddr, SocketAddr};

use super::Reader;
use super::mounts::Mount;
use crate::model::{
    BeegfsClient, BeegfsFilter, BeegfsInterface, BeegfsLogLine, BeegfsNode, BeegfsNodeKind,
    BeegfsPool, Consumers, KnownFix, Subnet,
};
use crate::source::Question;

/// Parent directory of the modules' files; a renamed module is `beegfs_NAME`.
const FILES: &str = "/proc/fs";
/// Start of the module's lines in the kernel log.
const TAG: &str = "beegfs: ";
const ETC: &str = "/etc/";

const MAX_SERVERS: usize = 16_384;

pub(super) fn read(reader: &mut Reader<'_>, mounts: &[Mount], found: &mut Consumers) {
    let mut all = Vec::new();
    for module in reader.sorted_names("consumers/beegfs", FILES) {
        if module != "beegfs" && !module.starts_with("beegfs_") {
            continue;
        }
        for id in reader.sorted_names("consumers/beegfs", &format!("{FILES}/{module}")) {
            all.push(read_client(reader, &module, id));
        }
    }
    if all.is_empty() {
        return;
    }
    let mut own = mounts.iter().filter(|mount| mount.fstype.starts_with("beegfs"));
    // Only an ioctl on each mount would show which of several mounts belongs to a client.
    if let ([client], Some(mount), None) = (all.as_mut_slice(), own.next(), own.next()) {
        client.mount_point = Some(mount.place.clone());
    }
    let log = reader.kernel_log("consumers/beegfs/log", TAG.to_owned());
    found.beegfs_log = log.map(|log| log.lines().filter_map(parse_log).collect());
    found.beegfs = Some(all);
}

fn read_client(reader: &mut Reader<'_>, module: &str, id: String) -> BeegfsClient {
    let path = format!("{FILES}/{module}/{id}");
    let key = format!("consumers/beegfs/{id}");
    let config = reader.content(&key, &format!("{path}/config")).unwrap_or_default();
    let info = reader.content(&key, &format!("{path}/client_info"));
    let mut nodes = Vec::new();
    for kind in BeegfsNodeKind::ALL {
        let file = format!("{path}/{}", kind.file());
        let text = reader.content(&format!("{key}/{}", kind.file()), &file);
        nodes.extend(text.iter().flat_map(|text| parse_nodes(kind, text)));
    }
    reader.truncate(&key, &path, MAX_SERVERS, &mut nodes);
    let config = parse_config(&config);
    let mut filter = |name: &str| {
        let (_, file) = config.iter().find(|(known, file)| known == name && !file.is_empty())?;
        Some(read_filter(reader, &format!("{key}/{name}"), file))
    };
    let (tcp_only, allowed) = (filter("connTcpOnlyFilterFile"), filter("connNetFilterFile"));
    BeegfsClient {
        id,
        path,
        mount_point: None,
        tcp_only,
        allowed,
        config,
        interfaces: info.as_deref().map(parse_interfaces),
        nodes,
    }
}

/// Reads a filter file that the client configuration names. Files outside [`ETC`] are not
/// read: they may be on a file system that hangs.
fn read_filter(reader: &mut Reader<'_>, key: &str, path: &str) -> BeegfsFilter {
    let mut filter = BeegfsFilter { subnets: None, path: path.to_owned() };
    if !path.starts_with(ETC) || path.contains("/../") {
        let detail = format!("rdmactl does not read {path}: it is outside {ETC}");
        reader.report_missing(key, path, detail, KnownFix::MountFromEtc);
        return filter;
    }
    match reader.ask(&Question::File(path.to_owned())) {
        Ok(text) => filter.subnets = Some(parse_subnets(&String::from_utf8_lossy(&text))),
        // The client read the file when it was mounted; the file was deleted later.
        Err(error) if error.is_absent() => {
            let detail =
                format!("the client configuration names {path}, but the file does not exist");
            reader.report_missing(key, path, detail, KnownFix::MountWithout);
        }
        Err(error) => reader.report_unreadable(key, path, &error, None),
    }
    filter
}

/// Parses lines of the form `10.9.0.0/24`. Other lines are skipped, as in
/// `client_module/source/common/toolkit/NetFilter.h`.
fn parse_subnets(text: &str) -> Vec<Subnet> {
    let subnet = |line: &str| {
        let (address, bits) = line.trim().split_once('/')?;
        Some(Subnet { address: address.parse().ok()?, bits: bits.trim().parse().ok()? })
    };
    text.lines().filter_map(subnet).collect()
}

/// Parses lines of the form `connUseRDMA = 1`. Returns only settings of connections.
fn parse_config(text: &str) -> Vec<(String, String)> {
    let setting = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let name = name.trim();
        let is_reported = name.starts_with("conn") && name != "connAuthFile";
        is_reported.then(|| (name.to_owned(), value.trim().to_owned()))
    };
    text.lines().filter_map(setting).collect()
}

/// Parses lines of the form `+ ib0[ip addr: 10.9.0.2; type: RDMA]`, up to the next heading.
fn parse_interfaces(text: &str) -> Vec<BeegfsInterface> {
    let lines = text.lines().skip_while(|line| !line.starts_with("Interfaces:")).skip(1);
    let interface = |line: &str| {
        let (name, rest) = line.strip_prefix("+ ")?.rsplit_once("[ip addr: ")?;
        let (address, kind) = rest.trim_end_matches(']').split_once("; type: ")?;
        Some(BeegfsInterface {
            name: name.to_owned(),
            address: address.parse().ok().map(|ip: IpAddr| ip.to_canonical()),
            is_rdma: kind == "RDMA",
        })
    };
    lines.take_while(|line| line.starts_with('+')).filter_map(interface).collect()
}

fn parse_nodes(kind: BeegfsNodeKind, text: &str) -> Vec<BeegfsNode> {
    let mut all: Vec<BeegfsNode> = Vec::new();
    for line in text.lines() {
        if let Some(items) = line.trim_start().strip_prefix("Connections: ")
            && let Some(node) = all.last_mut()
        {
            node.pools = Some(parse_pools(items));
        } else if !line.starts_with(' ')
            && let Some((name, id)) = line.trim_end().rsplit_once(" [ID: ")
        {
            let id = id.trim_end_matches(']').parse().ok();
            all.push(BeegfsNode { kind, name: name.to_owned(), id, pools: None });
        }
    }
    all
}

/// Parses `TCP: 1 (10.9.0.1:8203 [fallback route]); RDMA: 4 (busy); ` or `<none>`.
fn parse_pools(items: &str) -> Vec<BeegfsPool> {
    let pool = |item: &str| {
        let item = item.trim();
        let (kind, rest) = item.split_once(": ")?;
        let (count, peer) = rest.split_once(" (").unwrap_or((rest, ""));
        let peer = peer.trim_end_matches(')');
        let end = peer.trim_end_matches(" [fallback route]");
        let address: Option<SocketAddr> = end.parse().ok();
        Some(BeegfsPool {
            kind: kind.to_owned(),
            count: count.trim().parse().ok()?,
            address: address.map(|end| end.ip().to_canonical()),
            port: address.map(|end| end.port()),
            is_busy: end == "busy",
            is_fallback: peer.len() > end.len(),
            text: item.to_owned(),
        })
    };
    items.split("; ").flat_map(|item| item.split(';')).filter_map(pool).collect()
}

/// Parses a line of the kernel log about a connection, such as `beegfs: df(223): NodeConn
/// (acquire stream): Connected: beegfs-storage@10.9.0.1:8203 (protocol: TCP; fallback route)`.
fn parse_log(line: &str) -> Option<BeegfsLogLine> {
    let (_, text) = line.split_once(TAG)?;
    let (_, said) = text.split_once("NodeConn (acquire stream): ")?;
    let (is_connected, rest) = match said.strip_prefix("Connected: ") {
        Some(rest) => (true, rest),
        None => (false, said.strip_prefix("Connect failed: ")?),
    };
    let (end, protocol) = rest.split_once(" (protocol: ")?;
    let end: SocketAddr = end.rsplit_once('@')?.1.parse().ok()?;
    let protocol = protocol.trim_end().trim_end_matches(')');
    let (kind, route) = protocol.split_once(';').unwrap_or((protocol, ""));
    Some(BeegfsLogLine {
        address: end.ip().to_canonical(),
        port: end.port(),
        kind: kind.to_owned(),
        is_connected,
        is_fallback: route.trim() == "fallback route",
        text: said.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nodes_are_those_of_the_kernel_module() {
        let text = "node_storage_01 [ID: 1]\n   Connections: RDMA: 1 (10.9.0.1:8003); \n\
                    node_storage_02 [ID: 2]\n   Connections: TCP: 1 (busy); RDMA: 2; \n\
                    node storage [x] [ID: 3]\n   Root: <yes>\n   \
                    Connections: TCP: 1 ([2001:db8::1]:8203 [fallback route]); \n\
                    node_storage_04 [ID: 4]\n   Connections: <none>\n\
                    node_storage_05 [ID: 5]\n   \
                    Connections not available [Error: Out of memory]\n";
        let nodes = parse_nodes(BeegfsNodeKind::Storage, text);
        let pools = |at: usize| nodes[at].pools.as_deref().unwrap_or_default();
        assert_eq!(nodes.len(), 5);
        assert_eq!((pools(0)[0].kind.as_str(), pools(0)[0].port), ("RDMA", Some(8003)));
        assert!(pools(1)[0].is_busy && pools(1)[1].count == 2 && !pools(1)[1].is_busy);
        assert_eq!((nodes[2].name.as_str(), nodes[2].id), ("node storage [x]", Some(3)));
        assert!(pools(2)[0].is_fallback && pools(2)[0].address.unwrap().is_ipv6());
        assert_eq!((nodes[3].pools.as_deref(), nodes[4].pools.as_deref()), (Some(&[][..]), None));
    }

    #[test]
    fn interfaces_are_in_order_and_marked() {
        let text = "ClientID: c95\nInterfaces:\n+ ib0[ip addr: 10.9.0.2; type: RDMA]\n\
                    + eth0[ip addr: ::ffff:10.9.0.3; type: TCP]\nOutbound RDMA Interfaces:\n+ Any\n";
        let all = parse_interfaces(text);
        assert_eq!(all.len(), 2);
        assert!(all[0].is_rdma && !all[1].is_rdma);
        assert_eq!(all[1].address.unwrap().to_string(), "10.9.0.3");
    }

    #[test]
    fn a_filter_is_a_list_of_subnets() {
        let text = "# storage\n10.9.0.0/24\n\n 2001:db8::/32 \nno subnet\n10.9.1.1\n10.9.2.0/x\n";
        let told: Vec<_> = parse_subnets(text).iter().map(|net| (net.address, net.bits)).collect();
        assert_eq!(told, [("10.9.0.0".parse().unwrap(), 24), ("2001:db8::".parse().unwrap(), 32)]);
    }

    #[test]
    fn the_log_lists_connection_attempts() {
        let line = "6,573,25605493,-;beegfs: df(223): NodeConn (acquire stream): Connected: \
                    beegfs-storage@10.9.0.1:8203 (protocol: TCP; fallback route)";
        let line = parse_log(line).unwrap();
        assert!(line.is_connected && line.is_fallback && line.kind == "TCP");
        assert_eq!((line.address.to_string(), line.port), ("10.9.0.1".into(), 8203));
        let failed = "beegfs: df(1): NodeConn (acquire stream): Connect failed: \
                      beegfs-storage@[2001:db8::1]:8003 (protocol: RDMA)";
        assert!(!parse_log(failed).unwrap().is_connected);
        assert_eq!(parse_log("beegfs: df(1): Disconnected: x"), None);
    }

    proptest! {
        #[test]
        fn no_text_can_crash_it(text in "[ -~\n]{0,300}") {
            let _ = (parse_nodes(BeegfsNodeKind::Meta, &text), parse_interfaces(&text));
            let _ = (parse_config(&text), parse_log(&text), parse_pools(&text));
            let _ = parse_subnets(&text);
        }
    }
}
