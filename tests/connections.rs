//! Verdicts on connections, from the files and answers of simulated hosts.
//!
//! The texts were recorded on two virtual machines: 10.9.0.1 is the server, and 10.9.0.2 is the
//! client.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test without its machine must end")]

#[path = "connections/joined.rs"]
mod joined;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};

use rdmactl::analyse::connections::connections;
use rdmactl::collect::host_report;
use rdmactl::model::{
    CmAddress, CmId, ConnectionVerdict, Holder, HostReport, Object, Owner, Part, Problem,
    QueuePair, Resource, SocketSource, Strength, Via,
};
use rdmactl::query::{ConnectionRow, Connections, Listing, connection_rows};
use rdmactl::source::{Answer, Question, ReadError, Source};
use rdmactl::sys::Errno;

/// Simulated host: files by path, and other answers.
#[derive(Default)]
struct Machine {
    files: BTreeMap<String, String>,
    links: BTreeMap<String, String>,
    /// Paths that only root may read, with everything below them.
    denied: BTreeSet<String>,
    others: BTreeMap<Question, Vec<u8>>,
    errors: BTreeMap<Question, ReadError>,
    resources: Vec<Resource>,
    next_qpn: u32,
}

impl Source for Machine {
    fn ask(&self, question: &Question) -> Answer {
        let none = Err(ReadError::Errno(Errno::NO_ENTRY));
        if let Question::File(path) | Question::Dir(path) | Question::Link(path) = question
            && self.denied.iter().any(|denied| path.starts_with(denied))
        {
            return Err(ReadError::Errno(Errno::ACCESS));
        }
        if let Some(error) = self.errors.get(question) {
            return Err(error.clone());
        }
        match question {
            Question::File(path) => {
                self.files.get(path).map_or(none, |text| Ok(text.clone().into_bytes()))
            }
            Question::Link(path) => {
                self.links.get(path).map_or(none, |text| Ok(text.clone().into_bytes()))
            }
            Question::Dir(path) => {
                let start = format!("{path}/");
                let all = self.files.keys().chain(self.links.keys());
                let inside = all.filter_map(|known| known.strip_prefix(&start)?.split('/').next());
                let names: BTreeSet<&str> = inside.collect();
                if names.is_empty() {
                    return none;
                }
                Ok(names.into_iter().flat_map(|name| format!("{name}\n").into_bytes()).collect())
            }
            other => self.others.get(other).cloned().map_or(none, Ok),
        }
    }

    fn taken_ns(&self) -> Option<u64> {
        None
    }

    fn answered_ns(&self, _: &Question) -> Option<u64> {
        None
    }
}

fn end(text: &str) -> CmAddress {
    CmAddress::Ip(text.parse().unwrap())
}

impl Machine {
    fn file(&mut self, path: &str, text: &str) -> &mut Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    fn deny(&mut self, path: &str) -> &mut Self {
        self.denied.insert(path.to_owned());
        self
    }

    fn fails(&mut self, question: Question, error: ReadError) -> &mut Self {
        self.errors.insert(question, error);
        self
    }

    fn answer(&mut self, question: Question, bytes: &[u8]) -> &mut Self {
        self.others.insert(question, bytes.to_vec());
        self
    }

    /// Adds a connection of the connection manager that a kernel module owns, as iproute2 lists
    /// it.
    fn rdma(&mut self, module: &str, local: &str, remote: &str, state: &str) -> &mut Self {
        self.next_qpn += 1;
        let lqpn = Some(16 + self.next_qpn);
        let cm = Owner::Kernel { name: "rdma_cm".into() };
        self.queue_pair(cm, lqpn, Some(1), state);
        self.resources.push(Resource {
            device: "rxe0".into(),
            owner: Some(Owner::Kernel { name: module.into() }),
            object: Object::CmId(CmId {
                cm_idn: Some(1),
                port: Some(1),
                lqpn,
                qp_type: Some("RC".into()),
                state: Some("CONNECT".into()),
                port_space: Some("TCP".into()),
                source: Some(end(local)),
                destination: Some(end(remote)),
            }),
        });
        self
    }

    fn queue_pair(&mut self, owner: Owner, lqpn: Option<u32>, rqpn: Option<u32>, state: &str) {
        self.resources.push(Resource {
            device: "rxe0".into(),
            owner: Some(owner),
            object: Object::Qp(QueuePair {
                port: Some(1),
                lqpn,
                rqpn,
                qp_type: Some("RC".into()),
                state: Some(state.into()),
                rq_psn: Some(1000),
                sq_psn: Some(2000),
                path_migration: None,
                pdn: None,
            }),
        });
    }

    /// Adds the GSI queue pair of the port. The kernel lists it only for processes in the initial
    /// PID namespace.
    fn in_first_namespace(&mut self) -> &mut Self {
        let owner = Owner::Kernel { name: "ib_core".into() };
        self.queue_pair(owner, Some(1), None, "RTS");
        if let Some(Object::Qp(qp)) = self.resources.last_mut().map(|last| &mut last.object) {
            qp.qp_type = Some("GSI".into());
        }
        self
    }

    fn listens(&mut self, module: &str, local: &str) -> &mut Self {
        self.resources.push(Resource {
            device: "rxe0".into(),
            owner: Some(Owner::Kernel { name: module.into() }),
            object: Object::CmId(CmId {
                cm_idn: Some(9),
                port: None,
                lqpn: None,
                qp_type: None,
                state: Some("LISTEN".into()),
                port_space: Some("TCP".into()),
                source: Some(end(local)),
                destination: None,
            }),
        });
        self
    }

    /// Sets the TCP sockets in `/proc/net/tcp`: local address, remote address, inode.
    fn sockets(&mut self, all: &[(&str, &str, u64)]) -> &mut Self {
        let hex = |end: &str| {
            let end: SocketAddr = end.parse().unwrap();
            let IpAddr::V4(ip) = end.ip() else { panic!("{end} is not IPv4") };
            format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), end.port())
        };
        let mut text = "  sl  local_address rem_address   st\n".to_owned();
        for (local, remote, inode) in all {
            let state = if remote.ends_with(":0") { "0A" } else { "01" };
            writeln!(text, "   0: {} {} {state} 0:0 0:0 0 0 0 {inode} 1", hex(local), hex(remote))
                .unwrap();
        }
        self.file("/proc/net/tcp", &text)
    }

    /// Adds an RDMA device with one active port that has an address.
    fn rxe(&mut self, address: &str) -> &mut Self {
        let ip: std::net::Ipv4Addr = address.parse().unwrap();
        let [a, b, c, d] = ip.octets();
        let gid = format!("0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}");
        let place = "/sys/class/infiniband/rxe0";
        let port = format!("{place}/ports/1");
        self.file(&format!("{place}/node_type"), "1: CA")
            .file(&format!("{port}/state"), "4: ACTIVE")
            .file(&format!("{port}/link_layer"), "Ethernet")
            .file(&format!("{port}/gids/0"), &gid)
            .file(&format!("{port}/gid_attrs/types/0"), "RoCE v2")
            .file(&format!("{port}/gid_attrs/ndevs/0"), "eth1")
    }

    fn report(&self, host: &str) -> HostReport {
        let mut report =
            host_report(self, &[Part::Connections, Part::Gids].into(), host, Via::Local);
        report.resources = Some(self.resources.clone());
        report
    }
}

/// Formats all connections: `host user instance role peer: transport verdict code`.
fn told(reports: &[HostReport]) -> Vec<String> {
    let mut all = Vec::new();
    for (report, of_host) in reports.iter().zip(connections(reports)) {
        for one in of_host {
            let peer = one.peer.host.clone().or_else(|| one.peer.address.map(|ip| ip.to_string()));
            let peer = peer.or_else(|| one.peer.name.clone()).unwrap_or_else(|| "-".into());
            let code = one.cause.as_ref().map_or("", |cause| cause.code.as_str());
            all.push(
                format!(
                    "{} {} {} {} {peer}: {} {} {code}",
                    report.host,
                    one.consumer.kind.word(),
                    one.consumer.instance,
                    one.consumer.role.word(),
                    one.transport.word(),
                    one.verdict.word(),
                )
                .trim_end()
                .to_owned(),
            );
            assert_honest(&one);
        }
    }
    all
}

/// Returns the missing data of each connection.
fn missing(report: HostReport) -> Vec<Vec<String>> {
    let all = connections(&[report]).into_iter().flatten();
    all.map(|one| one.missing).collect()
}

/// Asserts that a confirmed fallback has evidence beyond correlation, and a cause.
fn assert_honest(one: &rdmactl::model::Connection) {
    if one.verdict == ConnectionVerdict::FallbackConfirmed {
        let has = |strength| one.evidence.iter().any(|seen| seen.strength == strength);
        assert!(has(Strength::Direct) || has(Strength::Config), "{one:?}");
        assert!(one.cause.is_some(), "{one:?}");
    }
}

const BEEGFS: &str = "/proc/fs/beegfs/c95-6B0112EA-node2";
const CLIENT: &str = "ClientID: c95-6B0112EA-node2\nInterfaces:\n+ eth0[ip addr: 10.9.0.2; type: RDMA]\n\
                      + eth0[ip addr: 10.9.0.2; type: TCP]\nOutbound RDMA Interfaces:\n+ Any\n";

fn beegfs(storage: &str) -> Machine {
    let mut machine = Machine::default();
    machine
        .file(
            "/proc/self/mounts",
            "beegfs_nodev /mnt/bee beegfs rw,relatime,cfgFile=/etc/beegfs/beegfs-client.conf 0 0\n",
        )
        .file(
            &format!("{BEEGFS}/config"),
            "connUseRDMA = 1\nconnTCPFallbackEnabled = 1\nconnFallbackExpirationSecs = 900\n",
        )
        .file(&format!("{BEEGFS}/client_info"), CLIENT)
        .file(
            &format!("{BEEGFS}/mgmt_nodes"),
            "management [ID: 1]\n   Connections: TCP: 1 (10.9.0.1:8008); \n",
        )
        .file(
            &format!("{BEEGFS}/meta_nodes"),
            "node_meta_01 [ID: 1]\n   Root: <yes>\n   Connections: <none>\n",
        )
        .file(&format!("{BEEGFS}/storage_nodes"), storage)
        .rdma("beegfs", "10.9.0.2:37063", "10.9.0.1:8003", "RTS");
    machine
}

const STORAGE: &str = "node_storage_01 [ID: 1]\n   Connections: RDMA: 1 (10.9.0.1:8003); \n\
                       node_storage_02 [ID: 2]\n   Connections: TCP: 1 (10.9.0.1:8103); \n\
                       node_storage_03 [ID: 3]\n   Connections: TCP: 1 (10.9.0.1:8203 [fallback route]); \n\
                       node_storage_04 [ID: 4]\n   Connections: <none>\n";

#[test]
fn settings_counts_and_marks_give_the_verdicts_of_beegfs() {
    let report = beegfs(STORAGE).report("n2");
    assert_eq!(
        told(&[report]),
        [
            "n2 beegfs /mnt/bee mgmtd client 10.9.0.1: TCP tcp_configured",
            "n2 beegfs /mnt/bee meta client node_meta_01: none idle",
            "n2 beegfs /mnt/bee storage client 10.9.0.1: RDMA ok",
            "n2 beegfs /mnt/bee storage client 10.9.0.1: TCP tcp beegfs.peer_no_rdma",
            "n2 beegfs /mnt/bee storage client 10.9.0.1: TCP fallback_confirmed beegfs.rdma_connect_failed",
            "n2 beegfs /mnt/bee storage client node_storage_04: none idle",
        ]
    );
}

/// The tools of BeeGFS show neither fallback. They hide the mark `[fallback route]` while the
/// connection is in use, and a client without RDMA never sets the mark.
#[test]
fn fallbacks_of_beegfs_without_a_mark_are_found() {
    let busy = "node_storage_03 [ID: 3]\n   Connections: TCP: 1 (busy); \n";
    let mut machine = beegfs(busy);
    let last = |reports: &[HostReport]| {
        let rows = told(reports);
        rows.into_iter().find(|row| row.contains("storage")).unwrap()
    };
    assert_eq!(
        last(&[machine.report("n2")]),
        "n2 beegfs /mnt/bee storage client node_storage_03: TCP unknown beegfs.busy"
    );
    let log = "6,1,1,-;beegfs: df(223): NodeConn (acquire stream): Connect failed: beegfs-storage@10.9.0.1:8203 (protocol: RDMA)\n\
               6,2,2,-;beegfs: df(223): NodeConn (acquire stream): Connected: beegfs-storage@10.9.0.1:8203 (protocol: TCP; fallback route)\n";
    machine.answer(Question::KernelLog("beegfs: ".into()), log.as_bytes());
    let confirmed = "n2 beegfs /mnt/bee storage client 10.9.0.1: TCP fallback_confirmed beegfs.rdma_connect_failed";
    assert_eq!(last(&[machine.report("n2")]), confirmed);

    let mut machine = beegfs("node_storage_01 [ID: 1]\n   Connections: TCP: 1 (10.9.0.1:8003); \n");
    machine.file(&format!("{BEEGFS}/client_info"), "ClientID: c97\nInterfaces:\n+ eth0[ip addr: 10.9.0.2; type: TCP]\nOutbound RDMA Interfaces:\n+ Any\n");
    let expected =
        "n2 beegfs /mnt/bee storage client 10.9.0.1: TCP fallback_confirmed beegfs.no_local_rdma";
    assert_eq!(last(&[machine.report("n2")]), expected);
    machine.file(&format!("{BEEGFS}/config"), "connUseRDMA = 0\n");
    let expected = "n2 beegfs /mnt/bee storage client 10.9.0.1: TCP tcp_configured";
    assert_eq!(last(&[machine.report("n2")]), expected);
}

/// Returns a client of one storage server, with a line of connections.
fn storage(connections: &str) -> Machine {
    let text = format!("s1 [ID: 1]\n   Connections: {connections}; \n");
    Machine { resources: Vec::new(), ..beegfs(&text) }
}

/// Formats the connections to storage servers of all hosts.
fn storage_rows(reports: &[HostReport]) -> Vec<String> {
    let mut rows = told(reports);
    rows.retain(|row| row.contains("beegfs") && !row.contains("mgmtd") && !row.contains("meta"));
    rows
}

#[test]
fn a_mark_of_beegfs_counts_beside_rdma() {
    let row = "n2 beegfs /mnt/bee storage client 10.9.0.1: mixed";
    let told = |connections: &str| storage_rows(&[storage(connections).report("n2")]);
    assert_eq!(
        told("TCP: 3 (10.9.0.1:8003 [fallback route]); RDMA: 1 (busy)"),
        [format!("{row} fallback_confirmed beegfs.rdma_connect_failed")]
    );
    assert_eq!(
        told("TCP: 3 (10.9.0.1:8003); RDMA: 1 (10.9.0.1:8003)"),
        [format!("{row} mixed beegfs.mixed")]
    );
}

#[test]
fn tcp_that_a_filter_of_beegfs_asks_for_is_no_fault() {
    let row = "n2 beegfs /mnt/bee storage client 10.9.0.1: TCP";
    let mut machine = storage("TCP: 3 (10.9.0.1:8003)");
    let path = "/etc/beegfs/tcp_only.conf";
    machine.file(
        &format!("{BEEGFS}/config"),
        &format!("connUseRDMA = 1\nconnTcpOnlyFilterFile = {path}\nconnNetFilterFile = \n"),
    );
    let missing = |machine: &Machine| {
        let report = machine.report("n2");
        let key = format!("consumers/beegfs/{}/connTcpOnlyFilterFile", &BEEGFS[16..]);
        let is_reported = report.problems.has(&key);
        let of_storage = connections(&[report])
            .remove(0)
            .into_iter()
            .find(|one| one.consumer.instance.contains("storage"));
        (is_reported, of_storage.unwrap().missing)
    };
    // The requested transport is unknown if the file is missing, unreadable, or on a network file
    // system.
    let unknown = [format!("{row} unknown")];
    assert_eq!(storage_rows(&[machine.report("n2")]), unknown);
    let expected = (true, vec![format!("{path} (connTcpOnlyFilterFile)")]);
    assert_eq!(missing(&machine), expected);
    machine.fails(Question::File(path.into()), ReadError::Errno(Errno::ACCESS));
    assert_eq!(storage_rows(&[machine.report("n2")]), unknown);
    assert_eq!(missing(&machine), expected);
    machine.errors.clear();
    machine.file(path, "# none but these\n10.9.0.0/24\n");
    assert_eq!(storage_rows(&[machine.report("n2")]), [format!("{row} tcp_configured")]);
    assert_eq!(missing(&machine), (false, Vec::new()));
    machine.file(path, "10.8.0.0/24\n");
    assert_eq!(storage_rows(&[machine.report("n2")]), [format!("{row} tcp beegfs.peer_no_rdma")]);
    machine.file(path, "");
    let outside = "connUseRDMA = 1\nconnTcpOnlyFilterFile = /mnt/nfs/filter\n";
    machine.file(&format!("{BEEGFS}/config"), outside).file("/mnt/nfs/filter", "10.9.0.0/24\n");
    let reason = "a file on a network file system is not read";
    assert_eq!(storage_rows(&[machine.report("n2")]), unknown, "{reason}");
}

#[test]
fn a_filter_of_beegfs_may_leave_out_the_addresses_for_rdma() {
    let row = "n2 beegfs /mnt/bee storage client n1: TCP";
    let mut machine = storage("TCP: 3 (10.9.0.1:8003)");
    let path = "/etc/beegfs/nets.conf";
    machine
        .file(
            &format!("{BEEGFS}/config"),
            &format!("connUseRDMA = 1\nconnNetFilterFile = {path}\n"),
        )
        .file(path, "10.9.0.0/24\n");
    // The RDMA device of the server has another address.
    let mut server = beegfs_server("10.9.0.1", 8003);
    server.rxe("10.8.0.1").sockets(&[("10.9.0.1:8003", "10.9.0.2:7", 9)]);
    let both = [machine.report("n2"), server.report("n1")];
    assert_eq!(storage_rows(&both)[0], format!("{row} tcp_configured"));
    machine.file(path, "10.0.0.0/8\n");
    let both = [machine.report("n2"), server.report("n1")];
    assert_eq!(storage_rows(&both)[0], format!("{row} suspected beegfs.rdma_offered"));
}

/// Returns a host whose storage server listens over RDMA.
fn beegfs_server(address: &str, port: u16) -> Machine {
    let mut server = Machine::default();
    server
        .rxe(address)
        .listens("x", &format!("0.0.0.0:{port}"))
        .answer(Question::Holders, b"9 socket:[77]\n9 /dev/infiniband/rdma_cm\n")
        .file("/proc/9/comm", "beegfs-storage\n")
        .sockets(&[(&format!("{address}:{port}"), "0.0.0.0:0", 77)]);
    let owner = Owner::Process { pid: 9, name: Some("beegfs-storage".into()) };
    server.resources[0].owner = Some(owner);
    server
}

#[test]
fn the_listeners_of_a_beegfs_server_decide_the_verdict() {
    let client = |line: &str| storage(line).report("n2");
    let offers = beegfs_server("10.9.0.1", 8003);
    let idle = "TCP: 1 (10.9.0.1:8003)";
    let row = "n2 beegfs /mnt/bee storage client n1: TCP";
    assert_eq!(
        storage_rows(&[client(idle), offers.report("n1")]),
        [format!("{row} suspected beegfs.rdma_offered")]
    );
    let elsewhere = beegfs_server("10.9.0.1", 8103);
    let mut without = beegfs_server("10.9.0.1", 8003);
    without.resources.clear();
    for server in [elsewhere, without] {
        assert_eq!(
            storage_rows(&[client(idle), server.report("n1")]),
            [format!("{row} tcp beegfs.peer_no_rdma")]
        );
    }
}

#[test]
fn busy_tcp_of_beegfs_is_suspected_only_where_rdma_reaches_the_server() {
    let mut machine = storage("TCP: 1 (busy)");
    let log = |text: &str| format!("6,2,2,-;beegfs: df(223): NodeConn (acquire stream): {text}\n");
    let tell = |machine: &mut Machine, lines: &[&str]| {
        let text: String = lines.iter().map(|line| log(line)).collect();
        machine.answer(Question::KernelLog("beegfs: ".into()), text.as_bytes());
        storage_rows(&[machine.report("n2")])
    };
    let row = "n2 beegfs /mnt/bee storage client";
    assert_eq!(tell(&mut machine, &[]), [format!("{row} s1: TCP unknown beegfs.busy")]);
    // The server has no RDMA and is under load.
    let plain = "Connected: beegfs-storage@10.9.0.1:8003 (protocol: TCP)";
    assert_eq!(
        tell(&mut machine, &[plain]),
        [format!("{row} 10.9.0.1: TCP tcp beegfs.peer_no_rdma")]
    );
    let suspected = [format!("{row} 10.9.0.1: TCP suspected beegfs.busy")];
    let failed = "Connect failed: beegfs-storage@10.9.0.1:8003 (protocol: RDMA)";
    assert_eq!(tell(&mut machine, &[plain, failed]), suspected);
    // Another client of this host reaches the server over RDMA.
    machine.rdma("beegfs_other", "10.9.0.2:37063", "10.9.0.1:8003", "RTS");
    assert_eq!(tell(&mut machine, &[plain])[0], suspected[0]);
}

#[test]
fn busy_channels_of_beegfs_are_listed_once() {
    let mut machine = storage("RDMA: 2 (busy)");
    machine.rdma("beegfs", "10.9.0.2:37063", "10.9.0.1:8003", "RTS").rdma(
        "beegfs",
        "10.9.0.2:37064",
        "10.9.0.1:8003",
        "RTS",
    );
    let row = "n2 beegfs /mnt/bee storage client 10.9.0.1: RDMA ok";
    assert_eq!(storage_rows(&[machine.report("n2")]), [row]);
    let all = connections(&[machine.report("n2")]);
    let of_storage = all[0].iter().find(|one| one.consumer.instance.contains("storage")).unwrap();
    assert_eq!(of_storage.rdma.len(), 2);
    // Two servers share the busy channels: the owner of each one is unknown, but the lists
    // already count all of them.
    machine.file(
        &format!("{BEEGFS}/storage_nodes"),
        "s1 [ID: 1]\n   Connections: RDMA: 1 (busy); \ns2 [ID: 2]\n   Connections: RDMA: 1 (busy); \n",
    );
    assert_eq!(
        storage_rows(&[machine.report("n2")]),
        [
            "n2 beegfs /mnt/bee storage client s1: RDMA ok",
            "n2 beegfs /mnt/bee storage client s2: RDMA ok"
        ]
    );
    // A channel that no list counts gets a row of its own.
    machine.file(&format!("{BEEGFS}/storage_nodes"), "");
    let left = "n2 beegfs [beegfs] peer 10.9.0.1: RDMA ok";
    assert_eq!(storage_rows(&[machine.report("n2")]), [left]);
}

#[test]
fn a_connection_of_beegfs_has_its_pinned_memory() {
    let mut machine = beegfs(STORAGE);
    let settings = "connUseRDMA = 1\nconnRDMABufSize = 8192\nconnRDMABufNum = 70\nconnRDMAMetaBufSize = 65536\n\
                    connRDMAMetaBufNum = 12\nconnMaxInternodeNum = 12\n";
    machine
        .file(&format!("{BEEGFS}/config"), settings)
        .file("/proc/meminfo", "MemTotal:        1048576 kB\nMemFree: 1 kB\n");
    let all = connections(&[machine.report("n2")]);
    let memory: Vec<_> = all[0].iter().map(|one| one.memory.as_ref()).collect();
    assert_eq!(memory[0], None, "management speaks TCP");
    let meta = memory[1].unwrap();
    assert_eq!((meta.per_connection_bytes, meta.now_bytes), (65_536 * 12 * 2, Some(0)));
    let storage = memory[2].unwrap();
    assert_eq!((storage.per_connection_bytes, storage.now_bytes), (1_146_880, Some(1_146_880)));
    assert_eq!((storage.most_bytes, storage.client_most_bytes), (13_762_560, 5 * 13_762_560));
    // Five servers and one client.
    assert_eq!(storage.server_most_bytes, 6 * 13_762_560);
    assert_eq!((storage.buffer_bytes, storage.buffers), (8192, 70));
    assert_eq!((storage.host_bytes, storage.recommended_buffers), (Some(1 << 30), None));
    // A client with too little memory prints no connections.
    machine.file(&format!("{BEEGFS}/storage_nodes"), "node_storage_01 [ID: 1]\n");
    let all = connections(&[machine.report("n2")]);
    let storage = all[0].iter().find(|one| one.consumer.instance.contains("storage")).unwrap();
    let storage = storage.memory.as_ref().unwrap();
    assert_eq!((storage.per_connection_bytes, storage.now_bytes), (1_146_880, None));
}

fn nfs(mounts: &[(&str, &str)]) -> Machine {
    let mut machine = Machine::default();
    let (mut text, mut statistics) = (String::new(), String::new());
    for (place, options) in mounts {
        writeln!(
            text,
            "10.9.0.1:/ {place} nfs4 rw,relatime,{options},clientaddr=10.9.0.2,addr=10.9.0.1 0 0"
        )
        .unwrap();
        let kind = if options.contains("proto=rdma") {
            "rdma 0 0 1 0 1 35 35 0 40 0 0 16 3 1 1 0 0 1 0 0 0 0 0 11 16 0 0"
        } else {
            "tcp 0 0 2 0 0 35 35 0 35 0 2 0 0"
        };
        writeln!(statistics, "device 10.9.0.1:/ mounted on {place} with fstype nfs4 statvers=1.1\n\topts:\trw,{options}\n\txprt:\t{kind}").unwrap();
    }
    machine
        .rxe("10.9.0.2")
        .file("/proc/self/mounts", &text)
        .file("/proc/self/mountstats", &statistics);
    machine
}

const NFS_RDMA: (&str, &str) = ("/mnt/r", "vers=4.0,proto=rdma,port=20049");
const NFS_REUSED: (&str, &str) =
    ("/mnt/r2", "vers=4.1,nosharecache,proto=tcp,nconnect=2,port=20049");
const NFS_TCP: (&str, &str) = ("/mnt/t", "vers=4.1,proto=tcp,nconnect=2");

#[test]
fn a_mount_that_requested_rdma_and_uses_tcp_is_a_fallback() {
    let mut machine = nfs(&[NFS_TCP, NFS_REUSED]);
    machine.sockets(&[
        ("10.9.0.2:855", "10.9.0.1:2049", 13917),
        ("10.9.0.2:978", "10.9.0.1:2049", 13924),
    ]);
    let expected = [
        "n2 nfs /mnt/t client 10.9.0.1: TCP tcp",
        "n2 nfs /mnt/r2 client 10.9.0.1: TCP fallback_confirmed nfs.client_reused",
    ];
    assert_eq!(told(&[machine.report("n2")]), expected);
    // /etc/fstab may request RDMA, too. If it requests TCP, the mount has no fault.
    let mut machine = nfs(&[NFS_TCP]);
    machine.file("/etc/fstab", "# nfs\n10.9.0.1:/ /mnt/t nfs4 vers=4.1,proto=rdma 0 0\n");
    assert_eq!(
        told(&[machine.report("n2")]),
        ["n2 nfs /mnt/t client 10.9.0.1: TCP fallback_confirmed nfs.tcp_instead"]
    );
    machine.file("/etc/fstab", "10.9.0.1:/ /mnt/t nfs4 vers=4.1,proto=tcp 0 0\n");
    assert_eq!(
        told(&[machine.report("n2")]),
        ["n2 nfs /mnt/t client 10.9.0.1: TCP tcp_configured"]
    );
}

/// Without a limit, the channels of 65,536 mounts with 131,072 sockets would fill the memory.
#[test]
fn the_sockets_that_mounts_share_are_limited_and_the_rows_say_so() {
    let places: Vec<String> = (0..520).map(|number| format!("/mnt/{number}")).collect();
    let mounts: Vec<(&str, &str)> =
        places.iter().map(|place| (place.as_str(), "vers=4.1,proto=tcp")).collect();
    let sockets = |count: u64| {
        let mut machine = nfs(&mounts);
        let ends: Vec<String> = (0..count).map(|at| format!("10.9.0.2:{}", 600 + at)).collect();
        let all: Vec<(&str, &str, u64)> =
            ends.iter().zip(1..).map(|(end, at)| (end.as_str(), "10.9.0.1:2049", at)).collect();
        machine.sockets(&all);
        let rows = connections(&[machine.report("n2")]).remove(0);
        (rows.iter().map(|row| row.tcp.len()).sum::<usize>(), rows[519].missing.clone())
    };
    assert_eq!(sockets(500), (260_000, Vec::new()));
    let limit = "channels: the connections of the host have more than 262144 of them";
    assert_eq!(sockets(600), (262_144, vec![limit.to_owned()]));
}

/// A manual mount may contradict /etc/fstab. So the verdict names a reused NFS client only if it
/// was observed.
#[test]
fn the_cause_of_a_fallback_of_nfs_is_observed_or_a_possible_cause() {
    let cause = |machine: &Machine| {
        let one = connections(&[machine.report("n2")]).remove(0).pop().unwrap();
        let cause = one.cause.unwrap();
        (one.transport.word(), cause.code, cause.text, cause.fix.unwrap())
    };
    let fstab = |place: &str| format!("10.9.0.1:/ {place} nfs proto=rdma 0 0\n");
    let mut machine = nfs(&[NFS_TCP]);
    machine.sockets(&[("10.9.0.2:855", "10.9.0.1:2049", 1)]).file("/etc/fstab", &fstab("/mnt/t"));
    let (transport, code, text, fix) = cause(&machine);
    assert_eq!((transport, code.as_str()), ("TCP", "nfs.tcp_instead"));
    assert!(text.contains("; either the mount command requested TCP, or the kernel"), "{text}");
    assert!(fix.starts_with("list the mounts (nfsstat -m)"), "{fix}");

    let mut machine = nfs(&[NFS_REUSED]);
    machine.sockets(&[("10.9.0.2:855", "10.9.0.1:2049", 1)]).file("/etc/fstab", &fstab("/mnt/r2"));
    let (transport, code, text, _) = cause(&machine);
    assert_eq!((transport, code.as_str()), ("TCP", "nfs.client_reused"));
    assert!(text.contains("but the kernel reused the NFS client"), "{text}");

    let mut machine = nfs(&[("/mnt/u", "vers=3,proto=udp")]);
    machine.file("/etc/fstab", &fstab("/mnt/u"));
    let (transport, code, text, fix) = cause(&machine);
    assert_eq!((transport, code.as_str()), ("UDP", "nfs.tcp_instead"));
    assert_eq!(text, "RDMA was requested, but the mount uses UDP");
    assert!(fix.contains("unmount all UDP mounts of 10.9.0.1"), "{fix}");
}

#[test]
fn nfs_over_rdma_is_ok_or_down() {
    let mut machine = nfs(&[NFS_RDMA, NFS_TCP]);
    machine.rdma("rpcrdma", "10.9.0.2:37021", "10.9.0.1:20049", "RTS");
    let expected = [
        "n2 nfs /mnt/r client 10.9.0.1: RDMA ok",
        "n2 nfs /mnt/t client 10.9.0.1: TCP rdma_available nfs.rdma_available",
    ];
    assert_eq!(told(&[machine.report("n2")]), expected);
    let mut machine = nfs(&[NFS_RDMA]);
    let xprt = "/sys/kernel/sunrpc/xprt-switches/switch-1/xprt-2-rdma";
    machine
        .file(&format!("{xprt}/dstaddr"), "10.9.0.1\n")
        .file(&format!("{xprt}/xprt_state"), "state=  BOUND\n");
    assert_eq!(
        told(&[machine.report("n2")]),
        ["n2 nfs /mnt/r client 10.9.0.1: none down nfs.rdma_lost"]
    );
}

/// A server or a tunnel may accept TCP at the port of NFS over RDMA.
#[test]
fn the_socket_shows_tcp_at_the_port_of_rdma() {
    let mut machine = nfs(&[NFS_REUSED]);
    machine.sockets(&[("10.9.0.2:855", "10.9.0.1:20049", 11)]);
    let row = "n2 nfs /mnt/r2 client 10.9.0.1: TCP";
    assert_eq!(told(&[machine.report("n2")]), [format!("{row} tcp")]);
    machine.file("/etc/fstab", "10.9.0.1:/ /mnt/r2 nfs4 vers=4.1,proto=tcp,port=20049 0 0\n");
    assert_eq!(told(&[machine.report("n2")]), [format!("{row} tcp_configured")]);
    // A reused NFS client keeps its socket, which leads to another port.
    let mut machine = nfs(&[NFS_REUSED]);
    machine.sockets(&[("10.9.0.2:855", "10.9.0.1:2049", 11)]);
    let expected = [format!("{row} fallback_confirmed nfs.client_reused")];
    assert_eq!(told(&[machine.report("n2")]), expected);
    // The kernel lists the port of a transport, also if its socket is in another network
    // namespace.
    let xprt = "/sys/kernel/sunrpc/xprt-switches/switch-1/xprt-2-tcp";
    machine
        .sockets(&[])
        .file(&format!("{xprt}/dstaddr"), "10.9.0.1\n")
        .file(&format!("{xprt}/xprt_info"), "state=1 dst_port=2049\n");
    assert_eq!(told(&[machine.report("n2")]), expected);
    // Without the socket and the transport, the port is the only evidence.
    let mut machine = nfs(&[NFS_REUSED]);
    machine.sockets(&[]);
    let report = machine.report("n2");
    assert_eq!(missing(report.clone()), [["the TCP socket of the mount"]]);
    assert_eq!(told(&[report]), [format!("{row} suspected nfs.rdma_port")]);
}

/// In the PID namespace of a container, the kernel does not list its own queue pairs.
#[test]
fn queue_pairs_that_are_hidden_are_not_missing() {
    let row = "n2 nfs /mnt/r client 10.9.0.1:";
    let mut machine = nfs(&[NFS_RDMA]);
    let hidden = missing(machine.report("n2"));
    assert!(hidden[0][0].contains("RPC transports") && hidden[0][1].contains("PID namespace"));
    assert_eq!(told(&[machine.report("n2")]), [format!("{row} RDMA unknown")]);
    machine.in_first_namespace();
    assert_eq!(told(&[machine.report("n2")]), [format!("{row} none down nfs.rdma_lost")]);
    // If a part of the queue pairs is unreadable, the readable part proves nothing.
    let mut report = machine.report("n2");
    report.problems.push(rdmactl::model::Problem {
        key: "resources/rxe0".into(),
        source: "RDMA netlink".into(),
        errno: None,
        detail: "cannot read queue pairs".into(),
        fix: None,
        not_recorded: false,
    });
    assert_eq!(told(&[report.clone()]), [format!("{row} RDMA unknown")]);
    assert_eq!(missing(report)[0][1], "cannot read queue pairs");

    let mut machine = Machine::default();
    machine.rxe("10.9.0.2");
    controller(&mut machine, "nvme1", "rdma", 4421, "live");
    let row = "n2 nvmeof nvme1 client 10.9.0.1: RDMA ok";
    assert_eq!(told(&[machine.report("n2")]), [row]);
    assert!(missing(machine.report("n2"))[0][0].contains("PID namespace"));
    // A live controller has queues even if no queue pair is listed.
    machine.in_first_namespace();
    assert_eq!(told(&[machine.report("n2")]), [row]);
    assert_eq!(missing(machine.report("n2")), [["the queue pairs of the controller"]]);
}

/// The statistics of the kernel count reconnects and invalid messages.
#[test]
fn reconnects_of_a_mount_over_rdma_are_evidence() {
    let evidence = |statistics: &str| {
        let mut machine = nfs(&[NFS_RDMA]);
        let text = format!(
            "device 10.9.0.1:/ mounted on /mnt/r with fstype nfs4 statvers=1.1\n\txprt:\t{statistics}\n"
        );
        machine.file("/proc/self/mountstats", &text).rdma(
            "rpcrdma",
            "10.9.0.2:37021",
            "10.9.0.1:20049",
            "RTS",
        );
        let evidence = connections(&[machine.report("n2")]).remove(0).remove(0).evidence;
        evidence.into_iter().map(|seen| seen.text).collect::<Vec<_>>()
    };
    let healthy = "rdma 0 0 1 0 1 35 35 0 40 0 0 16 3 1 1 0 0 1 0 0 0 0 0 11 16 0 0";
    assert_eq!(evidence(healthy), ["proto=rdma"]);
    let unhealthy = "rdma 0 0 4 0 1 35 35 0 40 0 0 16 3 1 1 0 0 1 2 3 0 0 0 11 16 0 0";
    let expected = "connected 4 times, 5 invalid requests or replies";
    assert_eq!(evidence(unhealthy), ["proto=rdma", expected]);
}

#[test]
fn a_mount_of_nfs_3_is_idle_only_without_waiting_requests() {
    let mut machine = nfs(&[("/mnt/r", "vers=3,proto=rdma,port=20049")]);
    machine.in_first_namespace();
    let row = "n2 nfs /mnt/r client 10.9.0.1: none";
    assert_eq!(told(&[machine.report("n2")]), [format!("{row} unknown")]);
    assert_eq!(missing(machine.report("n2")), [["whether requests wait for the transport"]]);
    let xprt = "/sys/kernel/sunrpc/xprt-switches/switch-1/xprt-2-rdma";
    machine
        .file(&format!("{xprt}/dstaddr"), "10.9.0.1\n")
        .file(&format!("{xprt}/xprt_state"), "state=  BOUND\n")
        .file(&format!("{xprt}/xprt_info"), "src_port=0 tasks_queuelen=0 dst_port=20049\n");
    assert_eq!(told(&[machine.report("n2")]), [format!("{row} idle")]);
    machine.file(&format!("{xprt}/xprt_info"), "src_port=0 tasks_queuelen=3 dst_port=20049\n");
    assert_eq!(told(&[machine.report("n2")]), [format!("{row} down nfs.rdma_lost")]);
}

/// Only root may read the file with the requested transport.
#[test]
fn unreadable_mount_options_make_the_verdict_unknown() {
    let mut machine = nfs(&[NFS_TCP]);
    machine.sockets(&[("10.9.0.2:855", "10.9.0.1:2049", 11)]);
    let row = "n2 nfs /mnt/t client 10.9.0.1: TCP";
    machine.file("/etc/auto.data", "").deny("/etc/auto.data");
    assert_eq!(told(&[machine.report("n2")]), [format!("{row} unknown")]);
    assert!(missing(machine.report("n2"))[0][0].contains("/etc/auto.data"));
    // Another file about the mount, or another mount of the server, is sufficient evidence.
    machine.file("/etc/fstab", "10.9.0.1:/ /mnt/t nfs4 vers=4.1,proto=rdma 0 0\n");
    let fallback = format!("{row} fallback_confirmed nfs.tcp_instead");
    assert_eq!(told(&[machine.report("n2")]), [fallback]);
    let mut machine = nfs(&[NFS_TCP, NFS_RDMA]);
    machine.rdma("rpcrdma", "10.9.0.2:37021", "10.9.0.1:20049", "RTS");
    machine.file("/etc/auto.data", "").deny("/etc/auto.data");
    let available = format!("{row} rdma_available nfs.rdma_available");
    assert_eq!(told(&[machine.report("n2")])[0], available);
    assert!(missing(machine.report("n2"))[0][0].contains("/etc/auto.data"));

    let mut machine = Machine::default();
    controller(&mut machine, "nvme0", "tcp", 4420, "live");
    machine.deny("/etc/nvme/");
    assert_eq!(told(&[machine.report("n2")]), ["n2 nvmeof nvme0 client 10.9.0.1: TCP unknown"]);
    assert!(missing(machine.report("n2"))[0][0].contains("/etc/nvme/"));
    // A path with an unreadable state may be live.
    machine.denied.clear();
    controller(&mut machine, "nvme1", "rdma", 4421, "live");
    machine.deny("/sys/class/nvme/nvme1/state");
    assert_eq!(told(&[machine.report("n2")])[0], "n2 nvmeof nvme0 client 10.9.0.1: TCP unknown");
    assert_eq!(missing(machine.report("n2"))[0], ["/sys/class/nvme/nvme1/state"]);

    let mut machine = Machine::default();
    session(&mut machine, 1, "tcp", 3260, "LOGGED_IN");
    machine.sockets(&[("10.9.0.2:50240", "10.9.0.1:3260", 10884)]).deny("/etc/iscsi/nodes");
    assert_eq!(told(&[machine.report("n2")]), ["n2 iscsi session1 client 10.9.0.1: TCP unknown"]);
    assert!(missing(machine.report("n2"))[0][0].contains("/etc/iscsi/nodes"));
    machine.denied.clear();
    machine.deny("/sys/class/iscsi_session/session1/state");
    assert_eq!(told(&[machine.report("n2")]), ["n2 iscsi session1 client 10.9.0.1: TCP unknown"]);
}

/// Denies access to each file and each folder of a host whose connections all have faults. No
/// verdict may become good. The verdict `rdma_available` is allowed: it is certain without the
/// denied file.
#[test]
fn no_refusal_makes_a_good_verdict() {
    let mut machine = nfs(&[NFS_REUSED, NFS_TCP, ("/mnt/r", "vers=3,proto=rdma,port=20049")]);
    let xprt = "/sys/kernel/sunrpc/xprt-switches/switch-1/xprt-2-rdma";
    machine
        .in_first_namespace()
        .file(&format!("{xprt}/dstaddr"), "10.9.0.1\n")
        .file(&format!("{xprt}/xprt_state"), "state=  BOUND\n")
        .file(&format!("{xprt}/xprt_info"), "src_port=0 tasks_queuelen=3 dst_port=20049\n")
        .file("/etc/fstab", "10.9.0.1:/ /mnt/t nfs4 vers=4.1,proto=rdma 0 0\n")
        .sockets(&[("10.9.0.2:855", "10.9.0.1:2049", 1), ("10.9.0.2:9", "10.9.0.1:3260", 2)]);
    controller(&mut machine, "nvme0", "tcp", 4420, "live");
    controller(&mut machine, "nvme1", "rdma", 4421, "connecting");
    session(&mut machine, 1, "tcp", 3260, "LOGGED_IN");
    session(&mut machine, 2, "iser", 3261, "FAILED");
    let import = "import:\n    target: x_UUID\n    state: FULL\n    connection:\n       \
                  failover_nids: [ 10.0.0.1@o2ib, 10.0.0.1@tcp ]\n       current_connection: 10.0.0.1@tcp\n";
    machine
        .file(
            "/etc/iscsi/nodes/iqn.2026-01.t:1/10.9.0.1,3260,1/default",
            "iface.transport_name = iser\n",
        )
        .file("/proc/fs/lustre/osc/fs-OST0000-osc-ffff/import", import)
        .file(
            "/proc/fs/cifs/DebugData",
            "Features: SMB_DIRECT\n1) ConnectionId: 0x3 Hostname: gone\nSMBDirect transport not available\n",
        );
    let judged = |machine: &Machine| {
        let all = connections(&[machine.report("n2")]).remove(0);
        let rows = all.into_iter().map(|one| {
            let consumer = format!("{} {}", one.consumer.kind.word(), one.consumer.instance);
            (consumer, (one.verdict, one.missing))
        });
        rows.collect::<BTreeMap<_, _>>()
    };
    let before = judged(&machine);
    assert_eq!(before.len(), 9, "{before:?}");
    assert!(before.values().all(|(verdict, _)| verdict.is_fault()), "{before:?}");
    let files: Vec<String> = machine.files.keys().chain(machine.links.keys()).cloned().collect();
    let folders = files
        .iter()
        .flat_map(|file| file.match_indices('/').skip(2).map(|(end, _)| file[..=end].to_owned()));
    let all: BTreeSet<String> = folders.chain(files.iter().cloned()).collect();
    for path in all {
        machine.denied = [path.clone()].into();
        for (consumer, (verdict, missing)) in judged(&machine) {
            let is_known = before.contains_key(&consumer);
            let is_advice = verdict == ConnectionVerdict::RdmaAvailable;
            assert!(
                !is_known
                    || verdict.needs_attention()
                    || (verdict == ConnectionVerdict::Unknown || is_advice) && !missing.is_empty(),
                "{consumer} is {verdict:?} without {path}, missing {missing:?}"
            );
        }
    }
}

#[test]
fn a_client_of_the_nfs_server_lacks_the_name_that_only_root_may_read() {
    let mut machine = Machine::default();
    machine
        .file("/proc/fs/nfsd/portlist", "tcp 2049\n")
        .file("/proc/fs/nfsd/clients/7/info", "address: \"10.9.0.2:855\"\nname: \"x\"\n")
        .sockets(&[("10.9.0.1:2049", "10.9.0.2:855", 1)]);
    assert_eq!(missing(machine.report("n1")), [[""; 0]]);
    machine.deny("/proc/fs/nfsd/clients");
    assert!(missing(machine.report("n1"))[0][0].contains("/proc/fs/nfsd/clients"));
}

#[test]
fn both_ends_of_a_mount_are_one_row() {
    let mut client = nfs(&[NFS_RDMA]);
    client.rdma("rpcrdma", "10.9.0.2:37021", "10.9.0.1:20049", "RTS");
    let mut server = Machine { next_qpn: 3, ..Machine::default() };
    server
        .rxe("10.9.0.1")
        .file("/proc/fs/nfsd/portlist", "rdma 20049\nrdma 20049\ntcp 2049\ntcp 2049\n")
        .file(
            "/proc/fs/nfsd/clients/7/info",
            "clientid: 0x8\naddress: \"10.9.0.2:0\"\nname: \"Linux NFSv4.0 node2\"\n",
        )
        .listens("rpcrdma", "0.0.0.0:20049")
        .rdma("rpcrdma", "10.9.0.1:20049", "10.9.0.2:37021", "RTS")
        .sockets(&[("10.9.0.1:2049", "10.9.0.3:700", 1)]);
    let (mut client, mut server) = (client.report("n2"), server.report("n1"));
    assert_eq!(
        told(std::slice::from_ref(&server)),
        [
            "n1 nfs nfsd server 10.9.0.2: RDMA ok",
            "n1 nfs nfsd server 10.9.0.3: TCP rdma_available nfs.rdma_available"
        ]
    );
    // The queue pair of each end has the number of the other end.
    mirror(&mut client, &mut server);
    assert_eq!(
        told(&[client, server]),
        [
            "n2 nfs /mnt/r client n1: RDMA ok",
            "n1 nfs nfsd server 10.9.0.3: TCP rdma_available nfs.rdma_available"
        ]
    );
}

#[test]
fn a_client_of_nfsd_is_named_by_what_it_came_over() {
    let mut server = Machine::default();
    server
        .rxe("10.9.0.1")
        .file("/proc/fs/nfsd/portlist", "rdma 20049\ntcp 2049\n")
        .file("/proc/fs/nfsd/clients/3/info", "address: \"10.9.0.2:735\"\nname: \"by TCP\"\n")
        .file("/proc/fs/nfsd/clients/5/info", "address: \"10.9.0.2:0\"\nname: \"by RDMA\"\n")
        .file("/proc/fs/nfsd/clients/6/info", "address: \"10.9.0.3:0\"\nname: \"n3\"\n")
        .listens("rpcrdma", "0.0.0.0:20049")
        .rdma("rpcrdma", "10.9.0.1:20049", "10.9.0.2:37021", "RTS")
        .sockets(&[("10.9.0.1:2049", "10.9.0.2:735", 1), ("10.9.0.1:2049", "10.9.0.3:700", 2)]);
    let all = connections(&[server.report("n1")]);
    let names: Vec<_> =
        all[0].iter().map(|one| (one.transport.word(), one.peer.name.as_deref())).collect();
    let expected = [("RDMA", Some("by RDMA")), ("TCP", Some("by TCP")), ("TCP", Some("n3"))];
    assert_eq!(names, expected);
}

/// Connects the first queue pairs of two hosts: each gets the number and the packet sequence
/// numbers of the other.
fn mirror(one: &mut HostReport, other: &mut HostReport) {
    fn first(report: &mut HostReport) -> &mut QueuePair {
        let mut all = report.resources.as_mut().unwrap().iter_mut();
        all.find_map(|resource| match &mut resource.object {
            Object::Qp(qp) => Some(qp),
            _ => None,
        })
        .unwrap()
    }
    let (one, other) = (first(one), first(other));
    (one.rqpn, other.rqpn) = (other.lqpn, one.lqpn);
    (other.rq_psn, other.sq_psn) = (one.sq_psn, one.rq_psn);
}

#[test]
fn processes_are_joined_by_numbers_and_their_sockets_are_control() {
    let host = |pid: u32, local: &str, remote: &str| {
        let mut machine = Machine { next_qpn: pid, ..Machine::default() };
        machine.rxe(local.split(':').next().unwrap());
        let owner = Owner::Process { pid, name: Some("ib_send_lat".into()) };
        machine.queue_pair(owner, Some(pid), None, "RTS");
        let holders = format!("{pid} socket:[10777]\n{pid} /dev/infiniband/uverbs0\n");
        machine
            .answer(Question::Holders, holders.as_bytes())
            .file(&format!("/proc/{pid}/comm"), "ib_send_lat\n")
            .sockets(&[(local, remote, 10777)]);
        machine.report(&format!("n{pid}"))
    };
    let mut one = host(155, "10.9.0.2:42768", "10.9.0.1:18600");
    let mut other = host(156, "10.9.0.1:18600", "10.9.0.2:42768");
    assert_eq!(told(&[one.clone()]), ["n155 process ib_send_lat[155] peer 10.9.0.1: RDMA ok"]);
    mirror(&mut one, &mut other);
    let reports = [one, other];
    assert_eq!(told(&reports), ["n155 process ib_send_lat[155] peer n156: RDMA ok"]);
    let all = connections(&reports);
    assert!(all[0][0].tcp[0].is_control);
}

#[test]
fn a_process_that_only_receives_is_connected_as_soon_as_it_has_a_peer() {
    for (peer, said) in [
        (Some(17), "n3 process ib_write_bw[152] peer -: RDMA ok"),
        (None, "n3 process ib_write_bw[152] peer -: none idle"),
    ] {
        let mut machine = Machine::default();
        machine
            .rxe("10.9.0.3")
            .answer(Question::Holders, b"152 /dev/infiniband/uverbs0\n")
            .file("/proc/152/comm", "ib_write_bw\n");
        let owner = Owner::Process { pid: 152, name: Some("ib_write_bw".into()) };
        machine.queue_pair(owner, Some(17), peer, "RTR");
        assert_eq!(told(&[machine.report("n3")]), [said]);
    }
}

#[test]
fn the_requested_transport_decides_on_tcp_beside_an_idle_device() {
    let mut machine = Machine::default();
    machine
        .rxe("10.9.0.2")
        .answer(
            Question::Holders,
            b"192 socket:[12756]\n192 /dev/infiniband/rdma_cm\n193 socket:[5]\n",
        )
        .file("/proc/192/comm", "ucx_perftest\n")
        .sockets(&[("10.9.0.2:57251", "10.9.0.1:40152", 12756), ("10.9.0.2:7", "10.9.0.1:8", 5)]);
    let row = "n2 process ucx_perftest[192] peer 10.9.0.1: TCP";
    assert_eq!(told(&[machine.report("n2")]), [format!("{row} tcp")]);
    // A capture has no environment, and the environment of another user is unreadable.
    let lacks = |machine: &Machine| {
        let all = connections(&[machine.report("n2")]);
        all[0][0].missing.iter().any(|what| what.starts_with("the environment of the process"))
    };
    assert!(lacks(&machine));
    machine.answer(Question::Environment(192), b"");
    assert!(!lacks(&machine));
    machine.answer(Question::Environment(192), b"UCX_TLS=tcp\n");
    assert_eq!(told(&[machine.report("n2")]), [format!("{row} tcp_configured")]);
    machine.answer(Question::Environment(192), b"UCX_TLS=rc,tcp\n");
    assert_eq!(told(&[machine.report("n2")]), [format!("{row} tcp")]);
}

fn controller(machine: &mut Machine, name: &str, transport: &str, port: u16, state: &str) {
    let place = format!("/sys/class/nvme/{name}");
    machine
        .file(&format!("{place}/transport"), transport)
        .file(&format!("{place}/address"), &format!("traddr=10.9.0.1,trsvcid={port}"))
        .file(&format!("{place}/subsysnqn"), "nqn.test")
        .file(&format!("{place}/state"), state)
        .file(&format!("{place}/queue_count"), "2");
}

#[test]
fn multipath_on_tcp_is_a_fallback_of_nvme() {
    let mut machine = Machine::default();
    controller(&mut machine, "nvme0", "tcp", 4420, "live");
    assert_eq!(told(&[machine.report("n2")]), ["n2 nvmeof nvme0 client 10.9.0.1: TCP tcp"]);
    controller(&mut machine, "nvme1", "rdma", 4421, "connecting");
    assert_eq!(
        told(&[machine.report("n2")]),
        [
            "n2 nvmeof nvme0 client 10.9.0.1: TCP fallback_confirmed nvmeof.multipath_on_tcp",
            "n2 nvmeof nvme1 client 10.9.0.1: none down nvmeof.not_live",
        ]
    );
    controller(&mut machine, "nvme1", "rdma", 4421, "live");
    machine.rdma("nvme_rdma", "10.9.0.2:59714", "10.9.0.1:4421", "RTS");
    let degraded = told(&[machine.report("n2")]);
    assert_eq!(degraded[1], "n2 nvmeof nvme1 client 10.9.0.1: RDMA degraded nvmeof.queues_missing");
    machine.rdma("nvme_rdma", "10.9.0.2:45612", "10.9.0.1:4421", "RTS");
    assert_eq!(
        told(&[machine.report("n2")]),
        [
            "n2 nvmeof nvme0 client 10.9.0.1: TCP mixed nvmeof.multipath_mixed",
            "n2 nvmeof nvme1 client 10.9.0.1: RDMA ok",
        ]
    );
}

/// The discovery controllers of all targets have one NQN.
#[test]
fn controllers_of_discovery_are_no_paths_of_one_subsystem() {
    let mut machine = Machine::default();
    for (name, transport, state) in
        [("nvme0", "tcp", "live"), ("nvme1", "rdma", "connecting"), ("nvme2", "fc", "live")]
    {
        controller(&mut machine, name, transport, 8009, state);
        let nqn = "nqn.2014-08.org.nvmexpress.discovery";
        machine.file(&format!("/sys/class/nvme/{name}/subsysnqn"), nqn);
    }
    let tcp = "n2 nvmeof nvme0 client 10.9.0.1: TCP tcp";
    let down = "n2 nvmeof nvme1 client 10.9.0.1: none down nvmeof.not_live";
    assert_eq!(told(&[machine.report("n2")]), [tcp, down]);
    machine.file("/sys/class/nvme/nvme1/state", "live");
    let live = "n2 nvmeof nvme1 client 10.9.0.1: RDMA ok";
    assert_eq!(told(&[machine.report("n2")]), [tcp, live]);
}

#[test]
fn queues_of_two_subsystems_at_one_portal_are_counted_together() {
    let mut machine = Machine::default();
    machine.rxe("10.9.0.2");
    controller(&mut machine, "nvme0", "rdma", 4420, "live");
    controller(&mut machine, "nvme1", "rdma", 4420, "live");
    machine.file("/sys/class/nvme/nvme1/subsysnqn", "nqn.other");
    for port in 1..=4 {
        let rows = told(&[machine.report("n2")]);
        // One queue pair may belong to either subsystem, so it proves no missing queue.
        let expected = if port == 1 { "ok" } else { "degraded nvmeof.queues_missing" };
        for (row, name) in rows.iter().zip(["nvme0", "nvme1"]) {
            assert_eq!(*row, format!("n2 nvmeof {name} client 10.9.0.1: RDMA {expected}"));
        }
        machine.rdma("nvme_rdma", &format!("10.9.0.2:{port}"), "10.9.0.1:4420", "RTS");
    }
    let rows = told(&[machine.report("n2")]);
    assert!(rows.iter().all(|row| row.ends_with("RDMA ok")), "{rows:?}");
}

/// Multipath prefers a path that works.
#[test]
fn one_dead_path_of_several_is_no_fallback() {
    let mut machine = Machine::default();
    machine.rxe("10.9.0.2");
    controller(&mut machine, "nvme0", "tcp", 4420, "live");
    controller(&mut machine, "nvme1", "rdma", 4421, "connecting");
    controller(&mut machine, "nvme2", "rdma", 4422, "live");
    let rows = told(&[machine.report("n2")]);
    assert_eq!(rows[0], "n2 nvmeof nvme0 client 10.9.0.1: TCP mixed nvmeof.multipath_mixed");
}

/// Names come from other machines, and administrators paste the commands.
#[test]
fn fixes_contain_no_command_of_a_host() {
    let mut machine = nfs(&[("/mnt/a;reboot", "vers=4.1,proto=tcp,port=20049")]);
    machine.sockets(&[("10.9.0.2:855", "10.9.0.1:2049", 11)]);
    session(&mut machine, 1, "tcp", 3260, "LOGGED_IN");
    machine.file("/sys/class/iscsi_session/session1/targetname", "iqn.x:$(reboot)").file(
        "/etc/iscsi/nodes/iqn.x:$(reboot)/10.9.0.1,3260,1/default",
        "iface.transport_name = iser\n",
    );
    controller(&mut machine, "nvme0", "tcp", 4420, "live");
    controller(&mut machine, "nvme1", "rdma", 4421, "live");
    let all = connections(&[machine.report("n2")]).remove(0);
    let fix = |at: usize| all[at].cause.as_ref().unwrap().fix.clone().unwrap();
    assert!(
        fix(0).starts_with("list the mounts (nfsstat -m); when they are idle, unmount ")
            && fix(0).ends_with(" DIRECTORY")
    );
    // The command disconnects the path over TCP, not the path over RDMA.
    assert_eq!(
        fix(1),
        "list the paths (nvme list-subsys); if TCP is not intended, disconnect this path: nvme disconnect -d nvme0"
    );
    let iscsi = fix(3);
    assert!(
        iscsi.starts_with("when nothing uses its disks (iscsiadm -m session -P 3), log in again: ")
    );
    assert!(iscsi.contains("-T TARGET --logout"), "{iscsi}");
}

fn session(machine: &mut Machine, number: u32, transport: &str, port: u16, state: &str) {
    let place = format!("/sys/class/iscsi_session/session{number}");
    let connection = format!("/sys/class/iscsi_connection/connection{number}:0");
    machine
        .file(&format!("{place}/targetname"), "iqn.2026-01.t:1")
        .file(&format!("{place}/state"), state)
        .file(&format!("{connection}/persistent_address"), "10.9.0.1")
        .file(&format!("{connection}/persistent_port"), &port.to_string())
        .file(&format!("{connection}/state"), if state == "LOGGED_IN" { "up" } else { "failed" })
        .file(
            &format!("/sys/class/scsi_host/host{number}/proc_name"),
            &format!("iscsi_{transport}"),
        );
    machine.links.insert(
        place,
        format!(
            "../../devices/platform/host{number}/session{number}/iscsi_session/session{number}"
        ),
    );
}

#[test]
fn iscsi_is_one_or_the_other() {
    let mut machine = Machine::default();
    session(&mut machine, 1, "tcp", 3260, "LOGGED_IN");
    session(&mut machine, 2, "iser", 3261, "LOGGED_IN");
    machine.rdma("ib_iser", "10.9.0.2:40415", "10.9.0.1:3261", "RTS");
    machine.sockets(&[("10.9.0.2:50240", "10.9.0.1:3260", 10884)]);
    let iser = "n2 iscsi session2 client 10.9.0.1: RDMA ok";
    assert_eq!(told(&[machine.report("n2")]), ["n2 iscsi session1 client 10.9.0.1: TCP tcp", iser]);
    let fallback = "n2 iscsi session1 client 10.9.0.1: TCP fallback_confirmed iscsi.tcp_instead";
    // Debian 13 keeps the node records in /var/lib.
    for database in ["/var/lib/iscsi/nodes", "/etc/iscsi/nodes"] {
        let record = format!("{database}/iqn.2026-01.t:1/10.9.0.1,3260,1/default");
        machine.files.retain(|file, _| !file.contains("iscsi/nodes"));
        machine.file(&record, "iface.transport_name = iser\nnode.session.auth.password = x\n");
        assert_eq!(told(&[machine.report("n2")]), [fallback, iser], "{database}");
    }
    session(&mut machine, 2, "iser", 3261, "FAILED");
    assert_eq!(
        told(&[machine.report("n2")]),
        [fallback, "n2 iscsi session2 client 10.9.0.1: none down iscsi.down"]
    );
}

/// Several servers may share a port number, and several targets may share a portal.
#[test]
fn a_client_is_of_the_server_whose_address_it_reached() {
    let mut machine = Machine::default();
    let ports = "/sys/kernel/config/nvmet/ports";
    for (id, address) in [("1", "10.9.0.1"), ("2", "10.8.0.1")] {
        machine
            .file(&format!("{ports}/{id}/addr_trtype"), "tcp")
            .file(&format!("{ports}/{id}/addr_traddr"), address)
            .file(&format!("{ports}/{id}/addr_trsvcid"), "4420")
            .file(&format!("{ports}/{id}/subsystems/nqn.a"), "");
    }
    let targets = "/sys/kernel/config/target/iscsi/iqn.2026-01.x";
    for target in ["a", "b"] {
        machine.file(&format!("{targets}:{target}/tpgt_1/np/0.0.0.0:3260/iser"), "0");
    }
    machine
        .file(&format!("{targets}:c/tpgt_1/np/10.9.0.1:3261/iser"), "1")
        .rdma("ib_isert", "10.9.0.1:3261", "10.9.0.2:5003", "RTS")
        .file("/proc/fs/nfsd/portlist", "tcp 2049\nudp 2049\ntcp 2049\nudp 2049\n")
        .sockets(&[
            ("10.9.0.1:4420", "10.9.0.2:5000", 1),
            ("10.9.0.1:3260", "10.9.0.2:5001", 2),
            ("10.9.0.1:3261", "10.9.0.3:5002", 3),
            ("10.9.0.1:2049", "10.9.0.2:700", 4),
        ]);
    let report = machine.report("n1");
    assert_eq!(
        told(std::slice::from_ref(&report)),
        [
            "n1 nfs nfsd server 10.9.0.2: TCP tcp",
            "n1 nvmeof nvmet port 1 server 10.9.0.2: TCP tcp",
            "n1 iscsi 2 targets at :3260 server 10.9.0.2: TCP tcp",
            "n1 iscsi iqn.2026-01.x:c at 10.9.0.1:3261 server 10.9.0.2: RDMA ok",
            // A portal for iSER also accepts TCP.
            "n1 iscsi iqn.2026-01.x:c at 10.9.0.1:3261 server 10.9.0.3: TCP rdma_available iscsi.rdma_available",
        ]
    );
    assert_eq!(connections(&[report])[0][0].channels.tcp, Some(1));
    machine.deny(&format!("{targets}:a/tpgt_1/np/0.0.0.0:3260/iser"));
    let rows = told(&[machine.report("n1")]);
    assert_eq!(rows[2], "n1 iscsi 2 targets at :3260 server 10.9.0.2: TCP unknown");
}

/// A working queue pair does not hide a broken queue pair of the same client.
#[test]
fn a_client_with_a_broken_queue_pair_is_degraded() {
    let mut machine = Machine::default();
    machine
        .file("/proc/fs/nfsd/portlist", "rdma 20049\n")
        .rdma("rpcrdma", "10.9.0.1:20049", "10.9.0.2:1", "RTS")
        .rdma("rpcrdma", "10.9.0.1:20049", "10.9.0.2:2", "ERR")
        .rdma("rpcrdma", "10.9.0.1:20049", "10.9.0.3:1", "ERR")
        .rdma("rpcrdma", "10.9.0.1:20049", "10.9.0.4:1", "RTR");
    let reports = [machine.report("n1")];
    assert_eq!(
        told(&reports),
        [
            "n1 nfs nfsd server 10.9.0.2: RDMA degraded rdma.queue_pair_error",
            "n1 nfs nfsd server 10.9.0.3: none degraded rdma.queue_pair_error",
            "n1 nfs nfsd server 10.9.0.4: none idle",
        ]
    );
    let counted = connections(&reports).remove(0).into_iter().map(|one| one.channels.rdma);
    assert_eq!(counted.collect::<Vec<_>>(), [Some(1), Some(0), Some(0)]);
}

/// A connection that is down has no transport and no channel.
#[test]
fn connection_that_is_down_has_no_channels() {
    let mut machine = Machine::default();
    machine.in_first_namespace();
    controller(&mut machine, "nvme1", "rdma", 4421, "connecting");
    controller(&mut machine, "nvme2", "tcp", 4420, "connecting");
    session(&mut machine, 1, "tcp", 3260, "FAILED");
    session(&mut machine, 2, "iser", 3261, "FAILED");
    machine
        .file("/sys/class/scsi_host/host5/dgid", "fe80::1")
        .file("/sys/class/scsi_host/host5/local_ib_device", "mlx5_0")
        .file("/sys/class/scsi_host/host5/ch_count", "4");
    machine.file(
        "/proc/fs/cifs/DebugData",
        "Features: SMB_DIRECT\n1) ConnectionId: 0x3 Hostname: gone\nSMBDirect transport not available\n",
    );
    machine.file("/sys/class/srp_remote_ports/port-5:1/state", "lost\n");
    let all = connections(&[machine.report("n2")]).remove(0);
    assert_eq!(all.len(), 6, "{all:?}");
    for one in all {
        assert_eq!(one.transport, rdmactl::model::Transport::None, "{one:?}");
        assert_eq!(one.verdict, ConnectionVerdict::Down, "{one:?}");
        assert!(one.channels.rdma.is_none_or(|count| count == 0), "{one:?}");
        assert!(one.channels.tcp.is_none_or(|count| count == 0), "{one:?}");
    }
}

fn rds(items: &[(&str, u8)]) -> Vec<u8> {
    let mut answer = 42_u32.to_le_bytes().to_vec();
    for (transport, flags) in items {
        let mut item = [0_u8; 42];
        item[16..20].copy_from_slice(&[10, 9, 0, 2]);
        item[20..24].copy_from_slice(&[10, 9, 0, 1]);
        item[24..24 + transport.len()].copy_from_slice(transport.as_bytes());
        item[40] = *flags;
        answer.extend_from_slice(&item);
    }
    answer
}

#[test]
fn unconnected_rds_connection_over_rdma_proves_a_fallback() {
    let list = Question::Rds(rdmactl::source::RdsList::Connections);
    let judged = |items: &[(&str, u8)], with_device: bool| {
        let mut machine = Machine::default();
        machine.file("/sys/module/rds/refcnt", "1").answer(list.clone(), &rds(items));
        if with_device {
            machine.rxe("10.9.0.2");
        }
        told(&[machine.report("n2")]).join("")
    };
    let row = "n2 rds 10.9.0.2 peer 10.9.0.1:";
    assert_eq!(judged(&[("infiniband", 4)], true), format!("{row} RDMA ok"));
    assert_eq!(
        judged(&[("tcp", 4), ("infiniband", 0)], false),
        format!("{row} TCP fallback_confirmed rds.fallback")
    );
    // Sockets that were bound without RDMA keep TCP after RDMA is back.
    assert_eq!(
        judged(&[("tcp", 4), ("infiniband", 4)], true),
        format!("{row} mixed mixed rds.tcp_beside")
    );
    assert_eq!(judged(&[("tcp", 0), ("infiniband", 4)], true), format!("{row} RDMA ok"));
    assert_eq!(judged(&[("tcp", 4)], true), format!("{row} TCP suspected rds.tcp_on_rdma_address"));
    assert_eq!(judged(&[("tcp", 4)], false), format!("{row} TCP tcp"));
    assert_eq!(judged(&[("loopback", 4)], false), "");
}

/// Returns a message of `sock_diag` about an SMC socket. `codes` is the reason of a fallback and
/// the peer's diagnosis.
fn smc(state: u8, mode: u8, codes: [u32; 2], device: Option<&str>) -> Vec<u8> {
    let mut payload = vec![43, state, mode, 0];
    payload.extend(47754_u16.to_be_bytes());
    payload.extend(5556_u16.to_be_bytes());
    payload.extend([10, 9, 0, 2].iter().chain(&[0; 12]));
    payload.extend([10, 9, 0, 1].iter().chain(&[0; 12]));
    payload.extend([0; 12]);
    payload.extend([0; 4]);
    payload.extend(14188_u64.to_ne_bytes());
    let mut attribute = |kind: u16, value: &[u8]| {
        let length = u16::try_from(4 + value.len()).unwrap();
        payload.extend(length.to_ne_bytes());
        payload.extend(kind.to_ne_bytes());
        payload.extend_from_slice(value);
        payload.resize(payload.len().next_multiple_of(4), 0);
    };
    if let Some(name) = device {
        let mut link = vec![0; 147];
        link[1..=name.len()].copy_from_slice(name.as_bytes());
        link[65] = 1;
        attribute(2, &link);
    }
    attribute(5, &[codes[0].to_ne_bytes(), codes[1].to_ne_bytes()].concat());
    let length = u32::try_from(16 + payload.len()).unwrap();
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(20_u16.to_ne_bytes());
    message.extend([0; 10]);
    message.extend(payload);
    message
}

#[test]
fn a_fallback_of_smc_has_the_reason_of_the_kernel() {
    let query = Question::Sockets(rdmactl::source::SocketQuery::Smc);
    let judged = |answer: &[u8]| {
        let mut machine = Machine::default();
        machine
            .file("/sys/module/smc/refcnt", "1")
            .file("/sys/module/smc_diag/refcnt", "1")
            .answer(query.clone(), answer)
            .sockets(&[("10.9.0.2:47754", "10.9.0.1:5556", 14189)]);
        told(&[machine.report("n2")]).join("")
    };
    let row = "n2 smc inode 14188 peer 10.9.0.1:";
    assert_eq!(
        judged(&smc(1, 1, [0x0303_0000, 0], None)),
        format!("{row} TCP fallback_confirmed smc.0x03030000")
    );
    assert_eq!(judged(&smc(1, 0, [0, 0], Some("mlx5_0"))), format!("{row} SMC-R ok"));
    assert_eq!(judged(&smc(2, 0, [0, 0], None)), format!("{row} none unknown smc.handshake"));
    assert_eq!(judged(&smc(10, 0, [0, 0], None)), "");
    // A connection within one host does not use RDMA.
    for own in [[10, 9, 0, 2], [127, 0, 0, 1]] {
        let mut answer = smc(1, 1, [0x0303_0000, 0], None);
        let at = answer.windows(4).position(|bytes| bytes == [10, 9, 0, 1]).unwrap();
        answer[at..at + 4].copy_from_slice(&own);
        assert_eq!(judged(&answer), "");
    }
    // Without the module smc_diag, SMC sockets are unknown. rdmactl loads no module.
    let mut machine = Machine::default();
    machine.file("/sys/module/smc/refcnt", "1").answer(query.clone(), &smc(1, 1, [0; 2], None));
    let report = machine.report("n2");
    assert!(
        report.problems.iter().any(|problem| problem.fix.as_deref() == Some("modprobe smc_diag"))
    );
    assert!(told(&[report]).is_empty());
}

#[test]
fn network_identifiers_show_the_transport_of_lustre() {
    let judged = |current: &str, nids: &str, state: &str| {
        let mut machine = Machine::default();
        let text = format!(
            "import:\n    name: x\n    target: fs-OST0000_UUID\n    state: {state}\n    connection:\n       failover_nids: [ {nids} ]\n       current_connection: {current}\n"
        );
        machine.file("/proc/fs/lustre/osc/fs-OST0000-osc-ffff/import", &text);
        told(&[machine.report("n2")]).join("")
    };
    let row = "n2 lustre fs-OST0000 client";
    assert_eq!(
        judged("10.0.0.1@o2ib", "10.0.0.1@o2ib, 10.0.0.1@tcp", "FULL"),
        format!("{row} 10.0.0.1: RDMA ok")
    );
    assert_eq!(
        judged("10.0.0.1@tcp", "10.0.0.1@o2ib, 10.0.0.1@tcp", "FULL"),
        format!("{row} 10.0.0.1: TCP fallback_confirmed lustre.tcp_nid")
    );
    assert_eq!(
        judged("10.0.0.1@tcp", "10.0.0.1@tcp", "FULL"),
        format!("{row} 10.0.0.1: TCP tcp_configured")
    );
    assert_eq!(
        judged("\"<none>\"", "10.0.0.1@o2ib", "DISCONN"),
        format!("{row} 10.0.0.1@o2ib: none down lustre.no_connection")
    );
}

/// A Lustre server that is a client of itself uses no network.
#[test]
fn lustre_within_one_host_is_no_row() {
    let mut machine = Machine::default();
    let import = |current: &str| {
        format!(
            "import:\n    name: x\n    target: MGS\n    state: FULL\n    connection:\n       failover_nids: [ 0@lo, 10.0.0.2@o2ib ]\n       current_connection: {current}\n"
        )
    };
    let path = "/proc/fs/lustre/mgc/MGC10.0.0.1@o2ib/import";
    machine
        .file(path, &import("0@lo"))
        .file("/proc/fs/lustre/mdt/fs-MDT0000/exports/0@lo/uuid", "x")
        .file("/proc/fs/lustre/mdt/fs-MDT0000/exports/10.0.0.7@o2ib/uuid", "x");
    let client = "n1 lustre fs-MDT0000 server 10.0.0.7: RDMA ok";
    assert_eq!(told(&[machine.report("n1")]), [client]);
    machine.file(path, &import("10.0.0.2@o2ib"));
    assert_eq!(told(&[machine.report("n1")]), ["n1 lustre MGS client 10.0.0.2: RDMA ok", client]);
    // Without a state, the verdict is unknown.
    machine.file(path, &import("10.0.0.2@o2ib").replace("    state: FULL\n", ""));
    assert_eq!(told(&[machine.report("n1")])[0], "n1 lustre MGS client 10.0.0.2: RDMA unknown");
    machine.file(path, &import("10.0.0.2@o2ib").replace("FULL", "DISCONN"));
    let down = "n1 lustre MGS client 10.0.0.2: none down lustre.no_connection";
    assert_eq!(told(&[machine.report("n1")])[0], down);
}

#[test]
fn omitted_clients_of_lustre_are_a_problem() {
    let mut machine = Machine::default();
    for target in 0..2 {
        for client in 0..33_000 {
            let nid = format!("10.{}.{}.{}@o2ib", client / 65536, client / 256 % 256, client % 256);
            machine.file(
                &format!("/proc/fs/lustre/obdfilter/fs-OST000{target}/exports/{nid}/uuid"),
                "x",
            );
        }
    }
    let report = machine.report("n1");
    let peers = report.consumers.as_ref().unwrap().lustre_peers.as_ref().unwrap();
    assert_eq!(peers.len(), 65_536);
    let found = report.problems.within("consumers/lustre_peers");
    assert!(found.iter().any(|problem| problem.detail.contains("more than 65536")), "{found:?}");
}

#[test]
fn one_failed_list_of_sockets_costs_only_itself() {
    use rdmactl::source::SocketQuery::{Tcp4, Tcp6};

    let mut machine = Machine::default();
    let own = [vec![2, 1, 0, 0, 0xc0, 0, 0x08, 0x01, 10, 9, 0, 2], vec![0; 12]].concat();
    let socket = [own, vec![10, 9, 0, 1], vec![0; 40], 77_u32.to_ne_bytes().to_vec()].concat();
    let mut message = u32::try_from(16 + socket.len()).unwrap().to_ne_bytes().to_vec();
    message.extend([20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    message.extend(socket);
    machine
        .file("/sys/module/tcp_diag/refcnt", "1")
        .file("/proc/5/comm", "app\n")
        .answer(Question::Holders, b"5 socket:[77]\n6 /dev/infiniband/uverbs0\n")
        .answer(Question::Sockets(Tcp4), &message)
        .fails(Question::Sockets(Tcp6), ReadError::TooBig);
    let report = machine.report("n2");
    assert!(report.problems.has("consumers/sockets"));
    let consumers = report.consumers.unwrap();
    assert_eq!(consumers.sockets.unwrap()[0].remote.to_string(), "10.9.0.1:2049");
    assert_eq!(consumers.sockets_from, Some(SocketSource::SockDiag));
    let pids = |holders: Option<Vec<Holder>>| -> Vec<u32> {
        holders.unwrap().iter().map(|holder| holder.pid).collect()
    };
    assert_eq!(pids(consumers.holders), [5, 6]);
    machine.fails(Question::Sockets(Tcp4), ReadError::TooBig);
    let consumers = machine.report("n2").consumers.unwrap();
    assert_eq!((consumers.sockets, consumers.sockets_from), (None, None));
    assert_eq!(pids(consumers.holders), [6], "the holder of a device is still known");
}

#[test]
fn without_tcp_diag_the_bytes_of_sockets_are_a_problem() {
    let mut machine = Machine::default();
    machine.sockets(&[("10.9.0.2:22", "0.0.0.0:0", 1)]);
    let report = machine.report("n2");
    assert!(!report.problems.affects("consumers/sockets"), "a listener transfers no bytes");
    machine.sockets(&[("10.9.0.2:57251", "10.9.0.1:40152", 2)]);
    let report = machine.report("n2");
    assert!(!report.problems.affects("consumers/sockets"), "the socket has no relation to RDMA");
    machine.answer(Question::Holders, b"7 socket:[2]\n7 /dev/infiniband/uverbs0\n");
    let report = machine.report("n2");
    let found = report.problems.within("consumers/sockets");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix.as_deref(), Some("modprobe tcp_diag"));
    assert_eq!(report.consumers.unwrap().sockets_from, Some(SocketSource::Proc));
}

#[test]
fn an_environment_is_missing_or_empty() {
    let mut machine = Machine::default();
    let line = |pid: u32| format!("{pid} /dev/infiniband/uverbs0\n").into_bytes();
    let holders: Vec<u8> = (1..8).flat_map(line).chain(*b"more\n").collect();
    machine
        .answer(Question::Holders, &holders)
        .answer(Question::Environment(1), b"UCX_TLS=rc\n")
        .answer(Question::Environment(2), b"")
        .fails(Question::Environment(3), ReadError::NotRecorded)
        .fails(Question::Environment(4), ReadError::Errno(Errno::ACCESS));
    for pid in 5..8 {
        machine.fails(Question::Environment(pid), ReadError::Process("it hangs".into()));
    }
    let report = machine.report("n2");
    let holders = report.consumers.as_ref().unwrap().holders.as_ref().unwrap();
    let found: Vec<_> = holders.iter().map(|one| one.environment.as_deref()).collect();
    assert_eq!(found[..2], [Some(&["UCX_TLS=rc".to_owned()][..]), Some(&[])]);
    assert!(found[2..].iter().all(Option::is_none), "{found:?}");
    let hung = report.problems.within("consumers/holders/settings");
    assert_eq!(hung.len(), 1);
    assert!(hung[0].detail.contains("of 3 processes"), "{}", hung[0].detail);
    assert!(hung[0].detail.contains("requests TCP"), "{}", hung[0].detail);
    assert!(hung[0].fix.as_deref().unwrap().contains("cat /proc/5/stack"), "{:?}", hung[0].fix);
    // The list of holders is truncated, which is a problem.
    assert!(report.problems.has("consumers/holders"));
}

/// Returns the cells of the first row of a user, by column.
fn cells(report: &HostReport, user: &str) -> BTreeMap<&'static str, String> {
    let reports = std::slice::from_ref(report);
    let rows = connection_rows(reports, connections(reports));
    let is_of = |row: &&ConnectionRow<'_>| {
        row.connection.as_ref().is_some_and(|one| one.consumer.kind.word() == user)
    };
    let row = rows.iter().find(is_of).unwrap();
    Connections::COLUMNS.iter().map(|column| (column.id, column.value(row).to_string())).collect()
}

#[test]
fn a_cell_is_unreadable_where_its_own_source_is() {
    let problem = |key: &str| Problem {
        key: key.into(),
        source: String::new(),
        errno: None,
        detail: String::new(),
        fix: None,
        not_recorded: false,
    };
    let mut machine = storage("RDMA: 1 (10.9.0.1:8003)");
    machine
        .file(
            "/proc/self/mounts",
            "10.9.0.1:/ /mnt/t nfs4 rw,vers=4.1,proto=tcp,addr=10.9.0.1 0 0\n",
        )
        .rxe("10.9.0.2");
    let mut report = machine.report("n2");
    for user in ["beegfs", "nfs"] {
        assert!(cells(&report, user).values().all(|cell| cell != "?"), "{user}");
    }
    for key in ["resources/rxe0", "consumers/sockets", "consumers/fstab", "consumers/beegfs/x"] {
        report.problems.push(problem(key));
    }
    let unreadable = |user: &str| -> Vec<&str> {
        let cells = cells(&report, user).into_iter();
        cells.filter(|(_, cell)| cell == "?").map(|(id, _)| id).collect()
    };
    let nfs = [
        "channels",
        "local.address",
        "requested.source",
        "requested.transport",
        "tcp.received_bytes",
        "tcp.sent_bytes",
    ];
    assert_eq!(unreadable("nfs"), nfs);
    // The first row of beegfs is the connection to the management server, which uses TCP.
    let beegfs = unreadable("beegfs");
    assert!(
        beegfs.contains(&"memory.now_bytes") && beegfs.contains(&"tcp.sent_bytes"),
        "{beegfs:?}"
    );
    assert!(!beegfs.contains(&"rdma.device"), "{beegfs:?}");
}

/// An unreadable source is not reported as a host without consumers. A long directory is
/// readable.
#[test]
fn empty_listing_is_limited_to_the_readable_data() {
    let folder = tempfile::tempdir().unwrap();
    let place = |path: &str| folder.path().join(path);
    std::fs::create_dir_all(place("sys/class/infiniband/rxe0/ports/1")).unwrap();
    std::fs::create_dir_all(place("proc/fs/lustre/obdfilter/fs-OST0000/exports")).unwrap();
    let run = || {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_rdmactl"))
            .args(["connections", "--root"])
            .arg(folder.path())
            .output()
            .unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    // With another root, netlink is not queried.
    let (_, said) = run();
    assert!(said.contains("no entry in the readable data"), "{said}");
    for client in 0..5_000 {
        let nid = format!("10.0.{}.{}@o2ib", client / 256, client % 256);
        std::fs::create_dir(place(&format!("proc/fs/lustre/obdfilter/fs-OST0000/exports/{nid}")))
            .unwrap();
    }
    let (rows, _) = run();
    assert!(rows.contains("10.0.19.135"), "{}", rows.len());
}
