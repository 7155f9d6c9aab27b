//! Connections of processes, and verdicts that need the reports of several hosts.

use rdmactl::model::{Channels, Connection, KnownBy};
use rdmactl::source::SocketQuery;

use super::*;

/// Adds a queue pair of a process: the local and the remote number, and the packet sequence
/// numbers of the receive queue and of the send queue.
fn of_process(machine: &mut Machine, pid: u32, numbers: (u32, u32), sequence: (u32, u32)) {
    machine.queue_pair(
        Owner::Process { pid, name: Some("mpi".into()) },
        Some(numbers.0),
        Some(numbers.1),
        "RTS",
    );
    let Some(Resource { object: Object::Qp(qp), .. }) = machine.resources.last_mut() else {
        panic!("no queue pair")
    };
    (qp.rq_psn, qp.sq_psn) = (Some(sequence.0), Some(sequence.1));
}

fn holder(machine: &mut Machine, pid: u32, what: &str) {
    let lines = what.replace(' ', &format!("\n{pid} "));
    let lines = format!("{pid} {lines}\n");
    machine
        .answer(Question::Holders, lines.as_bytes())
        .answer(Question::Environment(pid), b"")
        .file(&format!("/proc/{pid}/comm"), "mpi\n");
}

/// Adds an established TCP socket that has sent `bytes` bytes, in the format of `inet_diag`
/// (`struct inet_diag_msg` and `struct tcp_info`).
fn bulk_socket(machine: &mut Machine, local: &str, remote: &str, inode: u32, bytes: u64) {
    let ends: [SocketAddr; 2] = [local.parse().unwrap(), remote.parse().unwrap()];
    let mut payload = vec![0_u8; 72];
    payload[..2].copy_from_slice(&[2, 1]);
    for (at, end) in ends.iter().enumerate() {
        let IpAddr::V4(ip) = end.ip() else { panic!("{end} is not IPv4") };
        payload[4 + 2 * at..6 + 2 * at].copy_from_slice(&end.port().to_be_bytes());
        payload[8 + 16 * at..12 + 16 * at].copy_from_slice(&ip.octets());
    }
    payload[68..72].copy_from_slice(&inode.to_ne_bytes());
    payload.extend(140_u16.to_ne_bytes());
    payload.extend(2_u16.to_ne_bytes());
    let mut information = [0_u8; 136];
    information[120..128].copy_from_slice(&bytes.to_ne_bytes());
    payload.extend(information);
    let mut message = u32::try_from(16 + payload.len()).unwrap().to_ne_bytes().to_vec();
    message.extend(20_u16.to_ne_bytes());
    message.extend([0; 10]);
    message.extend(payload);
    machine
        .file("/sys/module/tcp_diag/refcnt", "1")
        .answer(Question::Sockets(SocketQuery::Tcp4), &message)
        .answer(Question::Sockets(SocketQuery::Tcp6), &[]);
}

#[test]
fn a_job_of_many_hosts_has_a_row_for_each_pair() {
    let hosts = 0..4_u32;
    let report = |host: u32| {
        let mut machine = Machine::default();
        machine.rxe(&format!("10.9.0.{}", host + 1)).sockets(&[]);
        for other in hosts.clone().filter(|other| *other != host) {
            let numbers = (100 * host + other, 100 * other + host);
            let sequence = (9000 * other + host, 9000 * host + other);
            of_process(&mut machine, 100 + host, numbers, sequence);
        }
        holder(&mut machine, 100 + host, "/dev/infiniband/uverbs0");
        machine.report(&format!("n{host}"))
    };
    let reports: Vec<HostReport> = hosts.clone().map(report).collect();
    assert_eq!(
        told(&reports),
        [
            "n0 process mpi[100] peer n1: RDMA ok",
            "n0 process mpi[100] peer n2: RDMA ok",
            "n0 process mpi[100] peer n3: RDMA ok",
            "n1 process mpi[101] peer n2: RDMA ok",
            "n1 process mpi[101] peer n3: RDMA ok",
            "n2 process mpi[102] peer n3: RDMA ok",
        ]
    );
    // Without the report of n3, each host lists its connection to n3 in a row without a peer.
    assert_eq!(
        told(&reports[..3]),
        [
            "n0 process mpi[100] peer n1: RDMA ok",
            "n0 process mpi[100] peer n2: RDMA ok",
            "n0 process mpi[100] peer -: RDMA ok",
            "n1 process mpi[101] peer n2: RDMA ok",
            "n1 process mpi[101] peer -: RDMA ok",
            "n2 process mpi[102] peer -: RDMA ok",
        ]
    );
}

#[test]
fn equal_numbers_on_many_hosts_join_nothing() {
    let report = |host: u32| {
        let mut machine = Machine::default();
        machine.rxe(&format!("10.9.0.{host}")).sockets(&[]);
        // Drivers start with the same queue pair number. Packet sequence numbers are random.
        of_process(&mut machine, 100, (17, 17), (1_000_000 * host, 2_000_000 * host));
        machine.report(&format!("n{host}"))
    };
    let alike = [report(1), report(2), report(3)];
    assert_eq!(told(&alike).len(), 3);
    assert!(told(&alike).iter().all(|row| row.contains(" peer -: RDMA ok")), "{:?}", told(&alike));
}

#[test]
fn a_row_shows_the_fault_of_the_hidden_end() {
    let mut client = nfs(&[NFS_RDMA]);
    client.rdma("rpcrdma", "10.9.0.2:37021", "10.9.0.1:20049", "RTS");
    let mut server = Machine { next_qpn: 3, ..Machine::default() };
    server
        .rxe("10.9.0.1")
        .file("/proc/fs/nfsd/portlist", "rdma 20049\ntcp 2049\n")
        .listens("rpcrdma", "0.0.0.0:20049")
        .rdma("rpcrdma", "10.9.0.1:20049", "10.9.0.2:37021", "ERR");
    let (mut client, mut server) = (client.report("n2"), server.report("n1"));
    mirror(&mut client, &mut server);
    let reports = [client, server];
    let all: Vec<Connection> = connections(&reports).into_iter().flatten().collect();
    let [one] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((one.consumer.instance.as_str(), one.verdict.word()), ("/mnt/r", "degraded"));
    assert!(one.evidence.iter().any(|seen| seen.source.starts_with("n1: ")), "{one:?}");
}

#[test]
fn the_ends_of_addresses_that_no_gid_has_are_joined() {
    // With IP over InfiniBand, GIDs contain GUIDs and no IP addresses.
    let infiniband = |machine: &mut Machine, guid: &str| {
        machine.files.retain(|path, _| !path.starts_with("/sys/class/infiniband"));
        let place = "/sys/class/infiniband/mlx5_0";
        machine
            .file(&format!("{place}/node_type"), "1: CA")
            .file(&format!("{place}/ports/1/state"), "4: ACTIVE")
            .file(&format!("{place}/ports/1/link_layer"), "InfiniBand")
            .file(&format!("{place}/ports/1/gids/0"), &format!("fe80:0:0:0:2:c903:0:{guid}"));
    };
    let mut client = nfs(&[NFS_RDMA]);
    infiniband(&mut client, "2");
    client.rdma("rpcrdma", "10.9.0.2:37021", "10.9.0.1:20049", "RTS");
    let mut server = Machine { next_qpn: 3, ..Machine::default() };
    infiniband(&mut server, "1");
    server
        .file("/proc/fs/nfsd/portlist", "rdma 20049\ntcp 2049\n")
        .listens("rpcrdma", "0.0.0.0:20049")
        .rdma("rpcrdma", "10.9.0.1:20049", "10.9.0.2:37021", "RTS");
    let (mut client, mut server) = (client.report("n2"), server.report("n1"));
    mirror(&mut client, &mut server);
    assert_eq!(told(&[client, server]), ["n2 nfs /mnt/r client n1: RDMA ok"]);
}

#[test]
fn address_of_several_hosts_identifies_no_peer() {
    let host = |own: &str| {
        let mut machine = Machine::default();
        machine.rxe(own).sockets(&[("172.17.0.1:0", "0.0.0.0:0", 3)]);
        machine
    };
    let mut client = nfs(&[("/mnt/t", "vers=4.2,proto=tcp,addr=172.17.0.1")]);
    client.rxe("10.9.0.2");
    let reports =
        [client.report("n2"), host("10.9.0.1").report("n1"), host("10.9.0.3").report("n3")];
    assert_eq!(told(&reports), ["n2 nfs /mnt/t client 172.17.0.1: TCP tcp"]);
}

#[test]
fn queue_pairs_override_the_peer_known_by_sockets() {
    let host = |pid: u32, own: &str, numbers: (u32, u32), sequence: (u32, u32)| {
        let mut machine = Machine::default();
        machine.rxe(own).sockets(&[(&format!("{own}:4000"), "10.9.0.9:5000", 7)]);
        of_process(&mut machine, pid, numbers, sequence);
        holder(&mut machine, pid, "socket:[7] /dev/infiniband/uverbs0");
        machine.report(&format!("n{pid}"))
    };
    let one = host(1, "10.9.0.1", (17, 27), (50_000, 90_000));
    let other = host(2, "10.9.0.2", (27, 17), (90_000, 50_000));
    // The report of one host shows only the launcher at 10.9.0.9.
    let alone = connections(std::slice::from_ref(&one));
    assert_eq!(alone[0][0].peer.known_by, Some(KnownBy::OutOfBand));
    let reports = [one, other];
    assert_eq!(
        told(&reports),
        [
            "n1 process mpi[1] peer n2: RDMA ok",
            "n1 process mpi[1] peer 10.9.0.9: TCP tcp",
            "n2 process mpi[2] peer 10.9.0.9: TCP tcp",
        ]
    );
    assert_eq!(connections(&reports)[0][0].peer.known_by, Some(KnownBy::QueuePairs));
}

/// Returns the verdict on a process that has sent 500 MiB over TCP to 10.9.0.1. Another
/// connection of its host reaches this address over RDMA.
fn bulk(open_files: &str, environment: &str) -> String {
    let mut machine = Machine::default();
    machine.rxe("10.9.0.2").rdma("rpcrdma", "10.9.0.2:37021", "10.9.0.1:20049", "RTS");
    bulk_socket(&mut machine, "10.9.0.2:57251", "10.9.0.1:40152", 7, 500 << 20);
    holder(&mut machine, 192, open_files);
    machine.answer(Question::Environment(192), environment.as_bytes());
    let all = connections(&[machine.report("n2")]).remove(0);
    let of_process = all.iter().find(|one| one.consumer.pid == Some(192)).unwrap();
    of_process.verdict.word().to_owned()
}

#[test]
fn bulk_tcp_is_suspected_of_those_that_have_opened_a_device() {
    assert_eq!(bulk("socket:[7] /dev/infiniband/uverbs0", ""), "suspected");
    // An open connection manager, or a variable that names a device, is no evidence.
    assert_eq!(bulk("socket:[7] /dev/infiniband/rdma_cm", ""), "tcp");
    assert_eq!(bulk("socket:[7]", "NCCL_IB_HCA=mlx5_0\n"), "tcp");
    let device = "socket:[7] /dev/infiniband/uverbs0";
    assert_eq!(bulk(device, "OMPI_MCA_btl=self,tcp\n"), "tcp_configured");
    assert_eq!(bulk(device, "OMPI_MCA_btl=openib,self,tcp\n"), "suspected");
}

#[test]
fn bulk_tcp_beside_queue_pairs_prepares_nothing() {
    let machine = |bytes: u64, remote: Option<&str>| {
        let mut machine = Machine::default();
        machine.rxe("10.9.0.2");
        of_process(&mut machine, 192, (17, 18), (1, 2));
        if let Some(remote) = remote {
            let cm_id = |port| CmId {
                cm_idn: Some(1),
                port: Some(1),
                lqpn: Some(17),
                qp_type: Some("RC".into()),
                state: Some("CONNECT".into()),
                port_space: Some("TCP".into()),
                source: Some(end("10.9.0.2:5")),
                destination: Some(end(&format!("{remote}:{port}"))),
            };
            machine.resources.push(Resource {
                device: "rxe0".into(),
                owner: Some(Owner::Process { pid: 192, name: Some("mpi".into()) }),
                object: Object::CmId(cm_id(7174)),
            });
        }
        bulk_socket(&mut machine, "10.9.0.2:57251", "10.9.0.1:40152", 7, bytes);
        holder(&mut machine, 192, "socket:[7] /dev/infiniband/uverbs0");
        machine.report("n2")
    };
    let row = "n2 process mpi[192] peer";
    assert_eq!(told(&[machine(2000, Some("10.9.0.1"))]), [format!("{row} 10.9.0.1: RDMA ok")]);
    assert_eq!(
        told(&[machine(500 << 30, Some("10.9.0.1"))]),
        [format!("{row} 10.9.0.1: mixed mixed process.bulk_beside")]
    );
    let all = connections(&[machine(500 << 30, Some("10.9.0.1"))]);
    let channels = Channels { rdma: Some(1), tcp: Some(1), is_busy: None };
    assert_eq!((all[0][0].channels, all[0][0].tcp[0].is_control), (channels, false));
    // Connection setup does not transfer so many bytes, so the socket does not identify the peer.
    assert_eq!(
        told(&[machine(500 << 30, None)]),
        [format!("{row} -: RDMA ok"), format!("{row} 10.9.0.1: TCP tcp")]
    );
}

#[test]
fn the_order_of_processes_decides_nothing() {
    let verdicts = |bulk: u32, other: u32| {
        let mut machine = Machine::default();
        machine.rxe("10.9.0.2");
        for (pid, lqpn, remote) in [(other, 17, "10.9.0.1:7174"), (bulk, 18, "10.9.0.3:7174")] {
            of_process(&mut machine, pid, (lqpn, 9), (1, 2));
            machine.resources.push(Resource {
                device: "rxe0".into(),
                owner: Some(Owner::Process { pid, name: Some("mpi".into()) }),
                object: Object::CmId(CmId {
                    cm_idn: Some(1),
                    port: Some(1),
                    lqpn: Some(lqpn),
                    qp_type: Some("RC".into()),
                    state: Some("CONNECT".into()),
                    port_space: Some("TCP".into()),
                    source: Some(end("10.9.0.2:5")),
                    destination: Some(end(remote)),
                }),
            });
        }
        bulk_socket(&mut machine, "10.9.0.2:57251", "10.9.0.1:40152", 7, 500 << 20);
        holder(&mut machine, bulk, "socket:[7] /dev/infiniband/uverbs0");
        let mut verdicts: Vec<&str> =
            connections(&[machine.report("n2")])[0].iter().map(|one| one.verdict.word()).collect();
        verdicts.sort_unstable();
        verdicts
    };
    assert_eq!(verdicts(100, 200), ["ok", "ok", "suspected"]);
    assert_eq!(verdicts(200, 100), verdicts(100, 200));
}

#[test]
fn uncounted_bytes_are_missing_and_not_zero() {
    let mut machine = Machine::default();
    machine.rxe("10.9.0.2").sockets(&[("10.9.0.2:57251", "10.9.0.1:40152", 7)]);
    holder(&mut machine, 192, "socket:[7] /dev/infiniband/uverbs0");
    let all = connections(&[machine.report("n2")]);
    assert!(all[0][0].evidence.iter().all(|seen| !seen.text.contains("0 bytes")));
    assert_eq!(all[0][0].missing, ["the throughput of the sockets (modprobe tcp_diag)"]);
}

#[test]
fn ipoib_and_loopback_sockets_are_no_connections() {
    let mut machine = Machine::default();
    machine.rxe("10.9.0.2");
    machine.queue_pair(Owner::Kernel { name: "ib_ipoib".into() }, Some(77), None, "RTS");
    machine.sockets(&[("10.9.0.2:57251", "10.9.0.2:40152", 7), ("127.0.0.1:5", "127.0.0.1:6", 8)]);
    holder(&mut machine, 192, "socket:[7] socket:[8] /dev/infiniband/uverbs0");
    assert_eq!(told(&[machine.report("n2")]), [""; 0]);
}

#[test]
fn an_identity_is_of_one_connection_and_stays() {
    let ids = |reports: &[HostReport]| -> Vec<String> {
        connections(reports).into_iter().flatten().map(|one| one.id).collect()
    };
    let mut server = Machine::default();
    server
        .rxe("10.9.0.1")
        .file("/proc/fs/nfsd/portlist", "rdma 20049\ntcp 2049\n")
        .listens("rpcrdma", "0.0.0.0:20049")
        .rdma("rpcrdma", "10.9.0.1:20049", "10.9.0.2:37021", "RTS")
        .sockets(&[("10.9.0.1:2049", "10.9.0.2:700", 1)]);
    let both = ids(&[server.report("n1")]);
    assert_eq!(both.len(), 2);
    assert_ne!(both[0], both[1]);
    // A client that falls back to TCP keeps its identity.
    server.resources.retain(|resource| !matches!(resource.object, Object::Qp(_)));
    server.resources.truncate(1);
    assert_eq!(ids(&[server.report("n1")]), both[..1]);
    // While all connections are busy, BeeGFS shows no address.
    let storage = |pools: &str| {
        let nodes = format!("node_storage_01 [ID: 1]\n   Connections: {pools}\n");
        ids(&[beegfs(&nodes).report("n2")])
    };
    let busy = storage("RDMA: 4 (busy); ");
    assert!(busy.len() >= 3);
    assert!(storage("RDMA: 4 (10.9.0.1:8003); ").iter().all(|id| busy.contains(id)));
}

#[test]
fn ports_that_could_not_be_read_may_be_active() {
    let mut machine = Machine::default();
    machine.rxe("10.9.0.2").rdma("rpcrdma", "10.9.0.2:37021", "10.9.0.1:20049", "RTS");
    bulk_socket(&mut machine, "10.9.0.2:57251", "10.9.0.1:40152", 7, 500 << 20);
    holder(&mut machine, 192, "socket:[7] /dev/infiniband/uverbs0");
    let of_process = |machine: &Machine| {
        let all = connections(&[machine.report("n2")]).remove(0);
        all.into_iter().find(|one| one.consumer.pid == Some(192)).unwrap()
    };
    assert_eq!(of_process(&machine).verdict, ConnectionVerdict::Suspected);
    machine.deny("/sys/class/infiniband");
    let unread = of_process(&machine);
    assert_eq!((unread.verdict, unread.missing.len()), (ConnectionVerdict::Tcp, 1));
}

#[test]
fn mounts_that_share_a_socket_are_one_client_of_the_server() {
    let mut client = nfs(&[NFS_TCP, ("/mnt/u", NFS_TCP.1)]);
    client.sockets(&[("10.9.0.2:700", "10.9.0.1:2049", 5)]);
    let mut server = Machine::default();
    server.rxe("10.9.0.1").file("/proc/fs/nfsd/portlist", "tcp 2049\n").sockets(&[(
        "10.9.0.1:2049",
        "10.9.0.2:700",
        1,
    )]);
    assert_eq!(
        told(&[server.report("n1"), client.report("n2")]),
        ["n2 nfs /mnt/t client n1: TCP tcp", "n2 nfs /mnt/u client n1: TCP tcp"]
    );
}
