//! Fuzz target for the consumers of RDMA: files, sockets and processes of a host.

use rdmactl::analyse::connections::connections;
use rdmactl::model::{Connection, ConnectionVerdict, Part, Strength};
use rdmactl::query::{Connections, connection_rows};
use rdmactl::render::{ConnectionsDocument, to_json};
use rdmactl::source::{Answer, Question, SocketQuery};

use super::changes::Changes;
use super::machine::Machine;
use super::shown;

/// Index of the fixture that has queue pairs of software devices.
const FIXTURE: usize = 2;

/// Directories with their entries: one instance of each kind of consumer.
const FOLDERS: [(&str, &str); 16] = [
    ("/sys/module/tcp_diag", "refcnt"),
    ("/sys/module/smc", "refcnt"),
    ("/sys/module/smc_diag", "refcnt"),
    ("/sys/module/rds", "refcnt"),
    ("/sys/kernel/sunrpc/xprt-switches", "switch-0"),
    ("/sys/kernel/sunrpc/xprt-switches/switch-0", "xprt-0-tcp\nxprt-1-rdma"),
    ("/proc/fs/nfsd/clients", "1"),
    ("/sys/class/nvme", "nvme0\nnvme1"),
    ("/sys/kernel/config/nvmet/ports", "1"),
    ("/sys/class/iscsi_session", "session1"),
    ("/sys/class/iscsi_connection", "connection1:0"),
    ("/sys/kernel/config/target/iscsi", "iqn.x"),
    ("/sys/kernel/config/target/iscsi/iqn.x", "tpgt_1"),
    ("/sys/kernel/config/target/iscsi/iqn.x/tpgt_1/np", "10.9.0.1:3260"),
    ("/proc/fs", "beegfs\nlustre"),
    ("/proc/fs/beegfs", "1-2-n1"),
];
const MORE_FOLDERS: [(&str, &str); 5] = [
    ("/proc/fs/lustre/osc", "fs-OST0000-osc"),
    ("/proc/fs/lustre/obdfilter", "fs-OST0000"),
    ("/proc/fs/lustre/obdfilter/fs-OST0000/exports", "10.9.0.2@o2ib\n0@lo"),
    ("/sys/class/srp_remote_ports", "port-5:1"),
    ("/sys/class/scsi_host", "host5"),
];

/// Judges and prints the connections of two equal hosts.
///
/// The input is lines of [`Changes`]. The names `holders`, `environ`, `tcp4`, `tcp6`, `smc` and
/// `rds` set answers that are not files.
pub fn run(data: &[u8]) {
    let changes = Changes::parse(data);
    let change = |question: &Question| changes.to(question).or_else(|| special(&changes, question));
    let parts = [Part::Connections, Part::Resources, Part::Gids].into_iter().collect();
    let report = Machine::new(FIXTURE, &change).read(&parts);
    let mut twin = report.clone();
    twin.host = "twin".into();
    let reports = [report, twin];
    let all = connections(&reports);
    for connection in all.iter().flatten() {
        check(connection);
    }
    assert!(to_json(&ConnectionsDocument::new(None, &reports, all.clone())).is_ok());
    shown::rows::<Connections>(&connection_rows(&reports, all));
}

fn special(changes: &Changes<'_>, question: &Question) -> Option<Answer> {
    let name = match question {
        Question::Holders => "holders",
        Question::Environment(_) => "environ",
        Question::Rds(_) => "rds",
        Question::Sockets(SocketQuery::Tcp4) => "tcp4",
        Question::Sockets(SocketQuery::Tcp6) => "tcp6",
        Question::Sockets(SocketQuery::Smc) => "smc",
        Question::Dir(path) => {
            let known = FOLDERS.iter().chain(&MORE_FOLDERS).find(|(folder, _)| folder == path)?;
            return Some(Ok(known.1.as_bytes().to_vec()));
        }
        _ => return None,
    };
    changes.to(&Question::File(name.into()))
}

/// Checks the evidence of a verdict. Correlation alone confirms no fallback, and each fault has a
/// cause or evidence.
fn check(connection: &Connection) {
    if connection.verdict == ConnectionVerdict::FallbackConfirmed {
        let mut evidence = connection.evidence.iter();
        let proves = |strength| matches!(strength, Strength::Direct | Strength::Config);
        assert!(evidence.any(|seen| proves(seen.strength)), "{connection:?}");
    }
    assert!(
        !connection.verdict.is_fault()
            || connection.cause.is_some()
            || !connection.evidence.is_empty()
    );
    assert_eq!(connection.id.len(), 16);
}
