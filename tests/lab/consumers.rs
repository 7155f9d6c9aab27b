//! Real consumers of RDMA on two nodes: n1 is the server, and n2 is the client. The output of
//! `rdmactl connections` must have each connection with its transport and verdict.

use std::time::Duration;

use rdmactl::clock::Deadline;
use serde_json::Value;

use crate::cluster::Cluster;

/// Script for n1: NFS over RDMA and over TCP.
const NFS_SERVER: &str = r"
set -e
modprobe -a nfsd rpcrdma
mkdir -p /srv/share /var/lib/nfs/rpc_pipefs /var/lib/nfs/nfsdcltrack /proc/fs/nfsd
mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
mountpoint -q /srv/share || mount -t tmpfs tmpfs /srv/share
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
echo '/srv/share *(rw,fsid=0,insecure,no_subtree_check,no_root_squash)' > /etc/exports
dd if=/dev/zero of=/srv/share/file bs=1M count=2 2>/dev/null
rpc.mountd -N 2 -N 3
exportfs -ra
rpc.nfsd -N 3 --rdma=20049 2
";

/// Script for n1: an NVMe target and an iSCSI target, each over RDMA and over TCP.
const SERVER: &str = r"
set -e
modprobe -a nvmet nvmet-tcp nvmet-rdma loop target_core_mod iscsi_target_mod ib_isert tcp_diag smc smc_diag
truncate -s 8M /srv/disk
disk=$(losetup -f --show /srv/disk)
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
cd /sys/kernel/config/nvmet
mkdir subsystems/nqn.lab && echo 1 > subsystems/nqn.lab/attr_allow_any_host
mkdir subsystems/nqn.lab/namespaces/1
echo $disk > subsystems/nqn.lab/namespaces/1/device_path
echo 1 > subsystems/nqn.lab/namespaces/1/enable
port() {
    mkdir ports/$1
    echo ipv4 > ports/$1/addr_adrfam; echo $ADDRESS > ports/$1/addr_traddr
    echo $3 > ports/$1/addr_trsvcid; echo $2 > ports/$1/addr_trtype
    ln -s $PWD/subsystems/nqn.lab ports/$1/subsystems/nqn.lab
}
port 1 tcp 4420
port 2 rdma 4421
cd /sys/kernel/config/target
mkdir -p core/rd_mcp_0/disk
echo rd_pages=2048 > core/rd_mcp_0/disk/control
echo 1 > core/rd_mcp_0/disk/enable
group=iscsi/iqn.2026-01.lab:disk/tpgt_1
mkdir -p $group/np/$ADDRESS:3260 $group/np/$ADDRESS:3261 $group/lun/lun_0
echo 1 > $group/np/$ADDRESS:3261/iser
ln -s $PWD/core/rd_mcp_0/disk $group/lun/lun_0/disk
echo 0 > $group/attrib/authentication; echo 1 > $group/attrib/generate_node_acls
echo 1 > $group/attrib/cache_dynamic_acls; echo 0 > $group/attrib/demo_mode_write_protect
echo 1 > $group/enable
";

/// Script for n2: mounts, controllers and sessions.
const CLIENT: &str = r"
set -e
modprobe -a nfs rpcrdma nvme-tcp nvme-rdma ib_iser iscsi_tcp tcp_diag smc smc_diag
mkdir -p /mnt/tcp /mnt/reused /mnt/rdma /run/lock/iscsi /etc/iscsi
mount.nfs4 -o vers=4.1,proto=tcp $ADDRESS:/ /mnt/tcp
mount.nfs4 -o vers=4.1,nosharecache,proto=rdma,port=20049 $ADDRESS:/ /mnt/reused
mount.nfs4 -o vers=4.0,proto=rdma,port=20049 $ADDRESS:/ /mnt/rdma
cat /mnt/tcp/file /mnt/reused/file /mnt/rdma/file > /dev/null
nvme connect -t tcp -a $ADDRESS -s 4420 -n nqn.lab
nvme connect -t rdma -a $ADDRESS -s 4421 -n nqn.lab
echo InitiatorName=iqn.2026-01.lab:n2 > /etc/iscsi/initiatorname.iscsi
test -e /etc/iscsi/iscsid.conf || echo 'node.startup = manual' > /etc/iscsi/iscsid.conf
iscsid
iscsiadm -m node -T iqn.2026-01.lab:disk -p $ADDRESS:3260 -o new
iscsiadm -m node -T iqn.2026-01.lab:disk -p $ADDRESS:3260 --login
iscsiadm -m node -T iqn.2026-01.lab:disk -p $ADDRESS:3261 -I iser -o new
iscsiadm -m node -T iqn.2026-01.lab:disk -p $ADDRESS:3261 -I iser --login
";

/// Script for n1: servers, and a listener without SMC. Servers that poll run with low priority,
/// so that rdmactl gets CPU time.
const WAITING: &str = r"
set -e
setsid rping -s -a $ADDRESS -p 7174 > /dev/null 2>&1 &
setsid nice -n 19 ib_send_lat -d rxe0 -x 1 -D 600 -p 18600 > /dev/null 2>&1 &
UCX_TLS=tcp UCX_NET_DEVICES=eth1 setsid nice -n 19 ucx_perftest -p 18700 > /dev/null 2>&1 &
setsid perl -MSocket -e '
    socket(S, PF_INET, SOCK_STREAM, 6); setsockopt(S, SOL_SOCKET, SO_REUSEADDR, 1);
    bind(S, sockaddr_in(5556, INADDR_ANY)); listen(S, 5); accept(C, S); sleep 600' > /dev/null 2>&1 &
sleep 1
";

/// Script for n2: clients of the servers, and an SMC socket (address family 43).
const TALKING: &str = r"
set -e
setsid rping -c -a $ADDRESS -p 7174 -C 1000000 > /dev/null 2>&1 &
setsid nice -n 19 ib_send_lat -d rxe0 -x 1 -D 600 -p 18600 $ADDRESS > /dev/null 2>&1 &
UCX_TLS=tcp UCX_NET_DEVICES=eth1 setsid nice -n 19 ucx_perftest -p 18700 -t tag_bw -n 100000000 -s 65536 $ADDRESS > /dev/null 2>&1 &
setsid perl -MSocket -e '
    socket(S, 43, SOCK_STREAM, 0); connect(S, sockaddr_in(5556, inet_aton($ENV{ADDRESS}))); sleep 600' > /dev/null 2>&1 &
sleep 5
";

/// Script for n1: an RDS socket (address family 21) that receives.
const RDS_WAITING: &str = r"
set -e
modprobe -a rds_rdma rds_tcp tcp_diag
setsid perl -MSocket -e '
    socket(R, 21, 5, 0); bind(R, sockaddr_in(4000, inet_aton($ENV{ADDRESS})));
    recv(R, $b, 100, 0) while 1' > /dev/null 2>&1 &
";

/// Script for n2: an RDS socket that sends to n1.
const RDS_TALKING: &str = r"
set -e
modprobe -a rds_rdma rds_tcp tcp_diag
export OWN=$(ip -4 -o address show eth1 | awk '{print $4}' | cut -d/ -f1)
setsid perl -MSocket -e '
    socket(R, 21, 5, 0); bind(R, sockaddr_in(0, inet_aton($ENV{OWN})));
    while (1) { send(R, q(x), 0, sockaddr_in(4000, inet_aton($ENV{ADDRESS}))); select(undef, undef, undef, 0.5) }' > /dev/null 2>&1 &
";

/// Starts NFS over RDMA and over TCP on n1. Returns the address of n1.
pub(crate) fn serve_nfs(lab: &Cluster) -> String {
    run(lab, "n1", NFS_SERVER);
    address(lab)
}

/// Returns the address of n1 on its rail.
fn address(lab: &Cluster) -> String {
    let said = lab.on("n1", "ip -4 -o address show eth1");
    let cidr = said.split_whitespace().nth(3).expect("an address");
    cidr.split('/').next().expect("an address").to_owned()
}

/// Starts all consumers and checks the rows of `rdmactl connections`. `lab` must be up and clean.
pub(crate) fn assert_told(lab: &Cluster) {
    let address = address(lab);
    assert_rds_told(lab, &address);
    serve_nfs(lab);
    run(lab, "n1", &format!("ADDRESS={address}\n{SERVER}"));
    run(lab, "n2", &format!("ADDRESS={address}\n{CLIENT}"));
    run(lab, "n1", &format!("export ADDRESS={address}\n{WAITING}"));
    run(lab, "n2", &format!("export ADDRESS={address}\n{TALKING}"));
    let before = state(lab);
    // On a busy machine, rdmactl may read the nodes while clients still connect. Each end of such
    // a connection is then a row of its own.
    let settled = Deadline::after(Duration::from_secs(60));
    let rows = loop {
        let answer = lab.rdmactl(&["connections", "-H", "n[1-2]"]);
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        let rows = self::rows(&answer.json);
        if rows.len() == 12 || settled.is_over() {
            break rows;
        }
    };
    // rdmactl loads no module and mounts nothing.
    assert_eq!(state(lab), before);
    let is = |start: &str, end: &str| {
        assert!(
            rows.iter().any(|row| row.starts_with(start) && row.ends_with(end)),
            "{start} … {end}:\n{}",
            rows.join("\n")
        );
    };
    is("n2 nfs /mnt/rdma client n1", "rdma ok");
    is("n2 nfs /mnt/tcp client n1", "tcp rdma_available");
    is("n2 nfs /mnt/reused client n1", "tcp fallback_confirmed");
    is("n2 nvmeof nvme0 client n1", "tcp mixed");
    is("n2 nvmeof nvme1 client n1", "rdma ok");
    is("n2 iscsi session1 client n1", "tcp tcp");
    is("n2 iscsi session2 client n1", "rdma ok");
    // Both ends of a connection are one row, in the report of the client or of the first host.
    is("n1 process rping[", "peer n2: rdma ok");
    is("n1 process ib_send_lat[", "peer n2: rdma ok");
    is("n1 process ucx_perftest[", "peer n2: tcp tcp_configured");
    is("n1 rds ", "peer n2: rdma ok");
    is("n2 smc perl[", "peer n1: tcp fallback_confirmed");
    assert_eq!(rows.len(), 12, "{}", rows.join("\n"));
    // The ports also count the packets of these programs, so a ping cannot count lost packets.
    let ping = lab.rdmactl(&["ping", "n1", "n2"]);
    assert_eq!(ping.code, 0, "{}", ping.stderr);
    let [warning] = ping.json["warnings"].as_array().expect("warnings").as_slice() else {
        panic!("one warning, not {}", ping.json["warnings"]);
    };
    assert_eq!(warning["code"], "loss.not_counted", "{warning}");
    assert_eq!(warning["hosts"], serde_json::json!([0, 1]), "{warning}");
    for pair in ping.json["pairs"].as_array().expect("pairs") {
        assert_eq!(pair["packets"], Value::Null, "{pair}");
    }
    // Without the NFS server, processes that access the mounts hang, but rdmactl does not hang.
    lab.on("n1", "rpc.nfsd 0");
    lab.on("n2", "for at in tcp rdma; do (stat -f /mnt/$at > /dev/null 2>&1 &); done; sleep 3");
    let hung = lab.on("n2", "cat /proc/[0-9]*/wchan 2>/dev/null | grep -c rpc; pgrep -c -x stat");
    assert_eq!(hung.lines().last(), Some("2"), "both hang: {hung}");
    let answer = lab.rdmactl(&["connections", "-H", "n2"]);
    let rows = self::rows(&answer.json);
    assert!(rows.iter().any(|row| row.starts_with("n2 nfs /mnt/tcp client")), "{rows:?}");
}

/// Checks RDS alone, before other consumers use the device: the test removes the device of n2 and
/// adds it again.
fn assert_rds_told(lab: &Cluster, address: &str) {
    let wait = || run(lab, "n1", &format!("export ADDRESS={address}\n{RDS_WAITING}"));
    let talk = || run(lab, "n2", &format!("export ADDRESS={address}\n{RDS_TALKING}"));
    let becomes = |node: &str, verdict: &str| {
        let look = format!("rdmactl connections -n -o verdict 2>/dev/null | grep '^{verdict}'");
        lab.wait_on(node, &look)();
    };
    let is_told = |transport: &str, verdict: &str| {
        for node in ["n1", "n2"] {
            becomes(node, verdict);
        }
        let answer = lab.rdmactl(&["connections", "-H", "n[1-2]"]);
        let expected = format!("n1 rds {address} peer n2: {transport} {verdict}");
        assert_eq!(rows(&answer.json), [expected]);
    };
    wait();
    talk();
    is_told("rdma", "ok");
    // A socket keeps the transport to which it was bound. The old socket is down, and the new
    // socket uses TCP.
    run(lab, "n2", "rdma link delete rxe0");
    becomes("n2", "down");
    talk();
    is_told("tcp", "fallback_confirmed");
    run(lab, "n2", "rdma link add rxe0 type rxe netdev eth1");
    is_told("mixed", "mixed");
    // The test follows the fix of the verdict: without the module rds_tcp, RDS uses RDMA again.
    for node in ["n1", "n2"] {
        run(lab, node, "pkill -x perl; while pgrep -x perl; do :; done; modprobe -r rds_tcp");
    }
    wait();
    talk();
    is_told("rdma", "ok");
}

pub(crate) fn run(lab: &Cluster, node: &str, script: &str) {
    let wrapped =
        format!("( {script} ) > /tmp/script.log 2>&1; echo \"exit $?\"; cat /tmp/script.log");
    let said = lab.on(node, &format!("bash -c {}", quoted(&wrapped)));
    assert!(said.starts_with("exit 0"), "{node}: {said}");
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn state(lab: &Cluster) -> String {
    ["n1", "n2"]
        .map(|node| lab.on(node, "cut -d' ' -f1 /proc/modules | sort; cat /proc/mounts"))
        .concat()
}

fn rows(json: &Value) -> Vec<String> {
    let mut rows = Vec::new();
    for host in json["hosts"].as_array().expect("hosts") {
        for one in host["connections"].as_array().expect("connections") {
            let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            let peer = if one["peer"]["host"].is_string() {
                &one["peer"]["host"]
            } else {
                &one["peer"]["address"]
            };
            rows.push(format!(
                "{} {} {} {} {}: {} {}",
                word(&host["host"]),
                word(&one["consumer"]["kind"]),
                word(&one["consumer"]["instance"]),
                word(&one["consumer"]["role"]),
                word(peer),
                word(&one["transport"]),
                word(&one["verdict"]),
            ));
        }
    }
    rows
}
