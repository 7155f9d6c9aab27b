//! Reads TCP sockets to other hosts, and the processes that hold such a socket or an RDMA device.
//! `consumers` calls it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Reader, has_module};
use crate::model::{
    Consumers, Holder, HostReport, KnownFix, Object, Owner, SocketSource, TcpSocket, TcpState,
};
use crate::source::{
    Attributes, MORE_HOLDERS, Messages, Question, ReadError, SocketQuery, bytes_at,
};

const MAX_SOCKETS: usize = 65_536;
const MAX_HOLDERS: usize = 16_384;

/// Bytes of a `struct inet_diag_msg` (`include/uapi/linux/inet_diag.h`).
const MESSAGE: usize = 72;
const INFO: u16 = 2;

/// Offsets in `struct tcp_info` (`include/uapi/linux/tcp.h`) of the total of retransmissions, the
/// bytes acknowledged and the bytes received.
const RETRANSMITTED: usize = 100;
const ACKED: usize = 120;
const RECEIVED: usize = 128;

/// Reads processes even if sockets are unreadable, because they may hold RDMA devices.
pub(super) fn read(reader: &mut Reader<'_>, report: &HostReport, found: &mut Consumers) {
    // Without the module, the query would load it.
    let has_diag =
        has_module(reader, "consumers/sockets", "tcp_diag") || is_built_in(reader, "tcp_diag");
    let source = if has_diag { SocketSource::SockDiag } else { SocketSource::Proc };
    found.sockets = read_sockets(reader, source);
    found.sockets_from = found.sockets.as_ref().map(|_| source);
    let smc = found.smc.iter().flatten().map(|socket| socket.inode);
    let tcp = found.sockets.iter().flatten().map(|socket| socket.inode);
    found.holders = read_holders(reader, report, &tcp.chain(smc).collect());
    if source == SocketSource::Proc && bytes_matter(found) {
        let detail = "the kernel counts bytes of TCP sockets only with its module tcp_diag, which is not loaded";
        let query = SocketQuery::Tcp4.to_string();
        reader.report_missing("consumers/sockets/bytes", &query, detail, KnownFix::LoadTcpDiag);
    }
}

/// True if a process that has opened an RDMA device uses TCP. The number of bytes then shows if
/// RDMA falls back to TCP.
fn bytes_matter(found: &Consumers) -> bool {
    let sockets = found.sockets.iter().flatten();
    let connected = sockets.filter(|socket| socket.state != TcpState::Listen);
    let connected: HashSet<u64> = connected.map(|socket| socket.inode).collect();
    let holders = found.holders.iter().flatten();
    let mut with_device = holders.filter(|holder| !holder.devices.is_empty());
    with_device.any(|holder| holder.inodes.iter().any(|inode| connected.contains(inode)))
}

/// Returns the sockets of IPv4 and IPv6; `None` if neither could be listed.
fn read_sockets(reader: &mut Reader<'_>, source: SocketSource) -> Option<Vec<TcpSocket>> {
    let key = "consumers/sockets";
    let mut found: Option<Vec<TcpSocket>> = None;
    let families = [(SocketQuery::Tcp4, "/proc/net/tcp"), (SocketQuery::Tcp6, "/proc/net/tcp6")];
    for (query, path) in families {
        if source == SocketSource::Proc {
            let Some(text) = reader.content(key, path) else { continue };
            found.get_or_insert_default().extend(text.lines().skip(1).filter_map(parse));
            continue;
        }
        let question = Question::Sockets(query);
        let Some(answer) = reader.read(key, &question) else { continue };
        if !Messages::new(&answer).last_is_whole() {
            reader.report_malformed(key, &question.to_string(), "an incomplete message");
        }
        let all = Messages::new(&answer).filter_map(|message| decode(message.payload));
        found.get_or_insert_default().extend(all);
    }
    let mut all = found?;
    all.retain(is_outward);
    reader.truncate(key, "TCP sockets", MAX_SOCKETS, &mut all);
    Some(all)
}

fn is_built_in(reader: &mut Reader<'_>, module: &str) -> bool {
    let key = "consumers/sockets";
    let Some(release) = reader.content(key, "/proc/sys/kernel/osrelease") else { return false };
    let path = format!("/lib/modules/{}/modules.builtin", release.trim());
    let list = reader.content(key, &path).unwrap_or_default();
    let file = format!("/{module}.ko");
    list.lines().any(|line| line.ends_with(&file))
}

/// True if the socket is connected to another host, or listens.
fn is_outward(socket: &TcpSocket) -> bool {
    let remote = socket.remote.ip();
    let is_own = remote.is_loopback() || remote == socket.local.ip();
    socket.state == TcpState::Listen || !(is_own || remote.is_unspecified())
}

fn state(code: u8) -> Option<TcpState> {
    match code {
        1 => Some(TcpState::Established),
        2 => Some(TcpState::SynSent),
        8 => Some(TcpState::CloseWait),
        10 => Some(TcpState::Listen),
        _ => None,
    }
}

fn decode(payload: &[u8]) -> Option<TcpSocket> {
    let (fixed, attributes) = (payload.get(..MESSAGE)?, Attributes::new(payload.get(MESSAGE..)?));
    let end = |ip: usize, port: usize| {
        let ip = match i32::from(fixed[0]) {
            libc::AF_INET => Ipv4Addr::from(bytes_at::<4>(fixed, ip)?).into(),
            _ => IpAddr::from(Ipv6Addr::from(bytes_at::<16>(fixed, ip)?)).to_canonical(),
        };
        Some(SocketAddr::new(ip, u16::from_be_bytes(bytes_at(fixed, port)?)))
    };
    let info = attributes.get(INFO).map(|attribute| attribute.payload);
    let number = |at| bytes_at(info?, at).map(u64::from_ne_bytes);
    Some(TcpSocket {
        local: end(8, 4)?,
        remote: end(24, 6)?,
        state: state(fixed[1])?,
        inode: u32::from_ne_bytes(bytes_at(fixed, 68)?).into(),
        sent_bytes: number(ACKED),
        received_bytes: number(RECEIVED),
        retransmitted: info
            .and_then(|info| bytes_at(info, RETRANSMITTED))
            .map(|bytes| u32::from_ne_bytes(bytes).into()),
    })
}

/// Parses a line of `/proc/net/tcp` or `tcp6`: number, both ends, state, …, inode.
fn parse(line: &str) -> Option<TcpSocket> {
    let words: Vec<&str> = line.split_whitespace().collect();
    Some(TcpSocket {
        local: parse_end(words.get(1)?)?,
        remote: parse_end(words.get(2)?)?,
        state: state(u8::from_str_radix(words.get(3)?, 16).ok()?)?,
        inode: words.get(9)?.parse().ok()?,
        sent_bytes: None,
        received_bytes: None,
        retransmitted: None,
    })
}

/// Parses `0200090A:C000`: an address in words of 32 bits, in the byte order of this machine.
fn parse_end(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word =
        |at: usize| u32::from_str_radix(address.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match address.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let bytes = [word(0)?, word(8)?, word(16)?, word(24)?].concat();
            IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// Returns the processes that hold one of the sockets, an RDMA device, or a QP or CM ID.
fn read_holders(
    reader: &mut Reader<'_>,
    report: &HostReport,
    inodes: &BTreeSet<u64>,
) -> Option<Vec<Holder>> {
    let key = "consumers/holders";
    let answer = reader.read(key, &Question::Holders)?;
    let mut hidden = 0_usize;
    let mut all: BTreeMap<u32, Holder> = BTreeMap::new();
    for line in String::from_utf8_lossy(&answer).lines() {
        if line == MORE_HOLDERS {
            reader.report_incomplete(key, &Question::Holders.to_string(), "too many open files");
        }
        let Some((pid, what)) = line.split_once(' ') else { continue };
        let Ok(pid) = pid.parse() else { continue };
        if what == "-" {
            hidden += 1;
            continue;
        }
        let inode = what.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
        let inode = inode.and_then(|inode| inode.parse().ok());
        let device = what.strip_prefix("/dev/infiniband/");
        if device.is_none() && !inode.is_some_and(|inode| inodes.contains(&inode)) {
            continue;
        }
        if all.len() == MAX_HOLDERS && !all.contains_key(&pid) {
            reader.report_too_long(key, "processes", MAX_HOLDERS);
            break;
        }
        let holder = all.entry(pid).or_insert_with(|| holder(pid, None));
        holder.inodes.extend(inode);
        holder.devices.extend(device.map(str::to_owned));
    }
    if hidden > 0 {
        // With the mount option hidepid of /proc, only process 1 is known to be hidden.
        let count = if hidden == 1 { "one or more".to_owned() } else { hidden.to_string() };
        let detail =
            format!("{count} processes could not be read: the owners of some sockets are unknown");
        reader.report_hidden(key, "/proc/PID/fd", &detail);
    }
    name_holders(reader, &mut all);
    // Netlink reports the owners of objects even if their files are hidden.
    for resource in report.resources.iter().flatten() {
        if let (Some(Owner::Process { pid, name }), Object::Qp(_) | Object::CmId(_)) =
            (&resource.owner, &resource.object)
        {
            all.entry(*pid).or_insert_with(|| holder(*pid, name.clone()));
        }
    }
    Some(all.into_values().collect())
}

fn holder(pid: u32, name: Option<String>) -> Holder {
    Holder { pid, name, inodes: Vec::new(), devices: Vec::new(), environment: None }
}

/// Reads the name of each process, and the settings in its environment.
fn name_holders(reader: &mut Reader<'_>, all: &mut BTreeMap<u32, Holder>) {
    let (mut hung, mut nameless) = (Vec::new(), None);
    for holder in all.values_mut() {
        holder.devices.sort_unstable();
        holder.devices.dedup();
        let path = format!("/proc/{}/comm", holder.pid);
        match reader.ask(&Question::File(path.clone())) {
            Ok(name) => holder.name = Some(String::from_utf8_lossy(&name).trim_end().to_owned()),
            Err(error) if error.is_absent() => {}
            Err(error) => drop(nameless.get_or_insert((path, error))),
        }
        let environment = reader.ask(&Question::Environment(holder.pid));
        if matches!(environment, Err(ReadError::Process(_))) {
            hung.push(holder.pid);
        }
        // The environment of another user's process is unreadable, and captures hold none.
        let lines =
            |text: Vec<u8>| String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
        holder.environment = environment.ok().map(lines);
    }
    // One problem is enough for all processes without a name.
    if let Some((path, error)) = nameless {
        reader.report_unreadable("consumers/holders/name", &path, &error, None);
    }
    if let Some(first) = hung.first() {
        let detail = format!(
            "the environment of {} processes could not be read in time (for example pid {first}): the \
             processes may hang, and connections do not show if UCX_TLS or another variable requests TCP",
            hung.len()
        );
        let (pid, source) = (first.to_string(), Question::Environment(*first).to_string());
        let fix = KnownFix::ShowStack.with(&[&pid, &pid]);
        reader.report_missing("consumers/holders/settings", &source, detail, fix);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_proc_is_a_socket() {
        let line = "   3: 0200090A:C1E4 0100090A:0801 01 00000000:00000000 02:000004E1 00000000     0        0 13924 2 0000000000000000 21 4 0 10 -1";
        let socket = parse(line).unwrap();
        assert_eq!(socket.local.to_string(), "10.9.0.2:49636");
        assert_eq!(socket.remote.to_string(), "10.9.0.1:2049");
        assert_eq!((socket.state, socket.inode), (TcpState::Established, 13924));
        let mapped = "0000000000000000FFFF00000200090A:8612";
        assert_eq!(parse_end(mapped).unwrap().to_string(), "10.9.0.2:34322");
        assert_eq!(parse("  sl  local_address rem_address   st"), None);
    }

    #[test]
    fn only_what_leads_to_other_hosts_counts() {
        use TcpState::{Established, Listen};

        let socket = |local: &str, remote: &str, state| TcpSocket {
            local: local.parse().unwrap(),
            remote: remote.parse().unwrap(),
            state,
            inode: 1,
            sent_bytes: None,
            received_bytes: None,
            retransmitted: None,
        };
        assert!(is_outward(&socket("10.0.0.1:5", "10.0.0.2:6", Established)));
        assert!(is_outward(&socket("0.0.0.0:5", "0.0.0.0:0", Listen)));
        assert!(!is_outward(&socket("10.0.0.1:5", "10.0.0.1:6", Established)));
        assert!(!is_outward(&socket("127.0.0.1:5", "127.0.0.1:6", Established)));
    }

    #[test]
    fn an_answer_of_the_kernel_is_a_socket() {
        let mut message = [0_u8; MESSAGE + 4 + 136];
        message[..2].copy_from_slice(&[2, 1]);
        message[4..6].copy_from_slice(&978_u16.to_be_bytes());
        message[6..8].copy_from_slice(&2049_u16.to_be_bytes());
        message[8..12].copy_from_slice(&[10, 9, 0, 2]);
        message[24..28].copy_from_slice(&[10, 9, 0, 1]);
        message[68..72].copy_from_slice(&13924_u32.to_ne_bytes());
        message[MESSAGE..MESSAGE + 2].copy_from_slice(&140_u16.to_ne_bytes());
        message[MESSAGE + 2..MESSAGE + 4].copy_from_slice(&INFO.to_ne_bytes());
        let info = MESSAGE + 4;
        message[info + ACKED..info + ACKED + 8].copy_from_slice(&4993_u64.to_ne_bytes());
        message[info + RECEIVED..info + RECEIVED + 8].copy_from_slice(&4_198_532_u64.to_ne_bytes());
        let socket = decode(&message).unwrap();
        assert_eq!(socket.remote.to_string(), "10.9.0.1:2049");
        assert_eq!((socket.sent_bytes, socket.received_bytes), (Some(4993), Some(4_198_532)));
        assert_eq!((socket.inode, socket.retransmitted), (13924, Some(0)));
        assert_eq!(decode(&message[..MESSAGE - 1]), None);
    }
}
