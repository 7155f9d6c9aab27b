//! Reads which SMB servers this host reaches over RDMA, and which it could reach over RDMA
//! (`fs/smb/client/cifs_debug.c`). `consumers` calls it.

use std::net::IpAddr;

use super::Reader;
use crate::model::{Consumers, SmbServer};

const DEBUG: &str = "/proc/fs/cifs/DebugData";

/// Reads the servers; `None` if the module cifs is not loaded or its file is unreadable.
pub(super) fn read(reader: &mut Reader<'_>, found: &mut Consumers) {
    found.smb = reader.content("consumers/smb", DEBUG).map(|text| parse(&text));
}

fn parse(text: &str) -> Vec<SmbServer> {
    let features = text.lines().find_map(|line| line.strip_prefix("Features:"));
    let kernel_can = features.is_some_and(|words| words.contains("SMB_DIRECT"));
    let mut all: Vec<SmbServer> = Vec::new();
    let mut is_rdma_interface = false;
    for line in text.lines().map(str::trim) {
        if let Some(host) = hostname(line) {
            is_rdma_interface = false;
            all.push(SmbServer {
                host,
                is_rdma: false,
                is_connected: None,
                rdma_addresses: Vec::new(),
                kernel_can,
            });
            continue;
        }
        let Some(server) = all.last_mut() else { continue };
        if line.starts_with("SMBDirect transport not available") {
            (server.is_rdma, server.is_connected) = (true, Some(false));
        } else if let Some(rest) = line.strip_prefix("SMBDirect") {
            server.is_rdma = true;
            // In kernels up to 6.17, SMBD_CONNECTED of enum smbd_connection_status is 2. Later
            // kernels print the name, and then the number in brackets.
            let status = rest.split_once("transport status: ").map(|(_, status)| status);
            let word = status.and_then(|status| status.split_whitespace().next());
            server.is_connected = word.map(|word| word == "2" || word == "CONNECTED");
        } else if line == "RDMA" || line.starts_with("RDMA ") {
            server.is_rdma = true;
        } else if let Some(words) = line.strip_prefix("Capabilities:") {
            is_rdma_interface = words.split_whitespace().any(|word| word == "rdma");
        } else if let Some(address) = line.strip_prefix("IPv4: ").or(line.strip_prefix("IPv6: "))
            && is_rdma_interface
            && let Ok(address) = address.trim().parse::<IpAddr>()
        {
            server.rdma_addresses.push(address);
            is_rdma_interface = false;
        }
    }
    all
}

/// Parses `1) ConnectionId: 0x1 Hostname: filer`. Lines of sessions have another form.
fn hostname(line: &str) -> Option<String> {
    let (number, rest) = line.split_once(')')?;
    let is_numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let (_, host) = rest.split_once("Hostname: ")?;
    (is_numbered && rest.contains("ConnectionId:"))
        .then(|| host.split_whitespace().next().unwrap_or_default().to_owned())
}

#[test]
fn each_server_has_its_transport() {
    let text = "Display Internal CIFS Data Structures for Debugging\n\
        Features: DFS,SMB_DIRECT,STATS,DEBUG\nServers: \n\
        1) ConnectionId: 0x1 Hostname: filer \nClientGUID: 1\nSMBDirect (in hex) protocol version: 100 transport status: 2\n\
        Number of credits: 1,1,1 Dialect 0x311\nRDMA TCP status: 1 Instance: 1\n\
        \tSessions: \n\t1) Address: 10.0.0.9 Uses: 1\n\
        2) ConnectionId: 0x2 Hostname: other\nTCP status: 1 Instance: 1\n\
        \t\tServer interfaces: 1\tLast updated: 3 seconds ago\n\t\t1)\tSpeed: 100Gbps\n\
        \t\t\tCapabilities: rdma rss\n\t\t\tIPv4: 10.0.0.10\n\
        3) ConnectionId: 0x3 Hostname: gone\nSMBDirect transport not available\n\
        4) ConnectionId: 0x4 Hostname: new\nSMBDirect protocol version: 0x100 transport status: CONNECTED (13)\n\
        5) ConnectionId: 0x5 Hostname: lost\nSMBDirect protocol version: 0x100 transport status: DISCONNECTED (18)\n";
    let all = parse(text);
    assert_eq!(all.len(), 5, "{all:?}");
    assert!(all[0].is_rdma && all[0].is_connected == Some(true) && all[0].kernel_can);
    assert!(!all[1].is_rdma && all[1].rdma_addresses.len() == 1);
    assert_eq!((all[2].is_rdma, all[2].is_connected), (true, Some(false)));
    assert_eq!((all[3].is_rdma, all[3].is_connected), (true, Some(true)));
    assert_eq!((all[4].is_rdma, all[4].is_connected), (true, Some(false)));
}
