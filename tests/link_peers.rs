//! The other end of the link of an InfiniBand port, read with MADs or from a saved fabric.
#![expect(clippy::expect_used, reason = "a test without the program fails")]

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rdmactl::collect::host_report;
use rdmactl::mad::{Header, MAD_BYTES, MadAttribute as _, NodeDescription, NodeInfo};
use rdmactl::model::{FabricNodeKind, Guid, HostReport, LinkPeer, Part, Via};
use rdmactl::source::{Answer, MadAnswer, MadError, MadTicket, Mads, Question, ReadError, Source};
use rdmactl::sys::Errno;

/// Simulated host with the device `mlx5_0`. Port 2 of the device has an InfiniBand link.
struct Host {
    /// Answer to [`Question::MadPorts`].
    mad_ports: Answer,
    /// Result of opening the port for MADs.
    open: Result<(), ReadError>,
    /// True if the other end replies.
    has_peer: bool,
}

impl Host {
    fn healthy() -> Self {
        let mad_ports =
            Ok(b"umad0 mlx5_0 1 InfiniBand 1 2\numad1 mlx5_0 2 InfiniBand 4 5\n".to_vec());
        Self { mad_ports, open: Ok(()), has_peer: true }
    }

    fn report(&self) -> HostReport {
        host_report(self, &[Part::FabricPeers].into(), "n1", Via::Local)
    }

    /// Returns the other end of the link of port 2, and the problems of reading it.
    fn peer(&self) -> (Option<LinkPeer>, Vec<String>) {
        let report = self.report();
        let ports = &report.devices[0].ports;
        assert_eq!(ports[0].link_peer, None, "port 1 has no link");
        let of_peers = |problem: &&rdmactl::model::Problem| problem.key.contains("peer");
        let problems = report.problems.iter().filter(of_peers).map(|one| one.detail.clone());
        (ports[1].link_peer.clone(), problems.collect())
    }
}

impl Source for Host {
    fn ask(&self, question: &Question) -> Answer {
        let text = match question {
            Question::MadPorts => return self.mad_ports.clone(),
            Question::Dir(path) => match path.strip_prefix("/sys/class/infiniband") {
                Some("") => "mlx5_0\n",
                Some("/mlx5_0/ports") => "1\n2\n",
                _ => return Err(ReadError::Errno(Errno::NO_ENTRY)),
            },
            Question::File(path) if path.ends_with("/link_layer") => "InfiniBand\n",
            _ => return Err(ReadError::Errno(Errno::NO_ENTRY)),
        };
        Ok(text.as_bytes().to_vec())
    }

    fn mads(&self, umad: &str) -> Result<Box<dyn Mads + '_>, ReadError> {
        assert_eq!(umad, "umad1", "a port without a link is not opened");
        self.open.clone()?;
        Ok(Box::new(Port { has_peer: self.has_peer, waiting: VecDeque::new() }))
    }

    fn taken_ns(&self) -> Option<u64> {
        None
    }

    fn answered_ns(&self, _: &Question) -> Option<u64> {
        None
    }
}

/// Port that is connected to port 17 of a switch.
struct Port {
    has_peer: bool,
    waiting: VecDeque<[u8; MAD_BYTES]>,
}

impl Mads for Port {
    fn ask(&mut self, lid: Option<u16>, mad: [u8; MAD_BYTES]) -> Result<MadTicket, ReadError> {
        assert_eq!(
            (lid, mad[6..8].to_vec(), mad[129]),
            (None, vec![0, 1], 2),
            "one hop, by port 2"
        );
        self.waiting.push_back(mad);
        Ok(MadTicket(Header::decode(&mad).expect("a MAD").attribute.into()))
    }

    fn next_answer(&mut self) -> Result<Option<(MadTicket, MadAnswer)>, ReadError> {
        let Some(mut mad) = self.waiting.pop_front() else { return Ok(None) };
        let id = Header::decode(&mad).expect("a MAD").attribute;
        if id == NodeInfo::ID {
            let info =
                NodeInfo { node_type: 2, node_guid: 7, local_port: 17, ..NodeInfo::default() };
            info.encode(&mut mad[64..]).expect("room");
        } else {
            NodeDescription("leaf\u{1b}[2J".into()).encode(&mut mad[64..]).expect("room");
        }
        let answer = if self.has_peer { Ok(mad.to_vec()) } else { Err(MadError::NoReply) };
        Ok(Some((MadTicket(id.into()), answer)))
    }
}

#[test]
fn the_other_end_is_that_of_its_reply() {
    let (peer, problems) = Host::healthy().peer();
    let expected = LinkPeer {
        node: Some("leaf\u{1b}[2J".into()),
        node_guid: Guid(7),
        node_kind: FabricNodeKind::Switch,
        node_port: 17,
    };
    assert_eq!((peer, problems), (Some(expected), vec![]));
}

#[test]
fn an_other_end_that_is_not_read_is_a_problem() {
    let (peer, problems) = Host { has_peer: false, ..Host::healthy() }.peer();
    let why = "/dev/infiniband/umad1: the other end of the link does not reply";
    assert_eq!((peer, problems), (None, vec![why.into()]));
    let denied = Err(ReadError::Errno(Errno::ACCESS));
    let (peer, problems) = Host { open: denied, ..Host::healthy() }.peer();
    let why = "cannot read /dev/infiniband/umad1: EACCES (permission denied)";
    assert_eq!((peer, problems), (None, vec![why.into()]));
    let missing = Err(ReadError::Errno(Errno::NO_ENTRY));
    let (peer, problems) = Host { mad_ports: missing, ..Host::healthy() }.peer();
    assert_eq!(peer, None);
    let [why] = &problems[..] else { panic!("{problems:?}") };
    assert!(why.ends_with(": the kernel module ib_umad is not loaded"), "{why}");
}

#[test]
fn a_missing_device_file_is_no_healthy_subnet() {
    let missing = Err(ReadError::Errno(Errno::NO_ENTRY));
    let host = Host { open: missing, ..Host::healthy() };
    let report = host_report(&host, &[Part::Fabric].into(), "n1", Via::Local);
    assert_eq!(report.fabrics, None);
    let problem = report.problems.iter().find(|problem| problem.key == "fabric/mlx5_0/2");
    let why = "cannot open /dev/infiniband/umad1: ENOENT (no such file or directory)";
    assert_eq!(problem.map(|problem| &*problem.detail), Some(why), "{:?}", report.problems);
}

/// Runs rdmactl in a folder. Returns exit code, stdout and stderr.
fn rdmactl(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .current_dir(folder)
        .args(arguments)
        .env("RDMACTL_CONFIG", "/dev/null")
        .stdin(Stdio::null())
        .output()
        .expect("rdmactl runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Output of ibnetdiscover: a switch with the first adapter of the fixture `mlx5_ib`.
const FABRIC: &str = "\
switchguid=0xb83fd20300a00100(b83fd20300a00100)
Switch\t40 \"S-b83fd20300a00100\"\t\t# \"leaf001\" enhanced port 0 lid 3 lmc 0
[17]\t\"H-58a2e103002a1600\"[1](58a2e103002a1600)\t\t# \"n1 mlx5_0\" lid 2 4xHDR

caguid=0x58a2e103002a1600
Ca\t1 \"H-58a2e103002a1600\"\t\t# \"n1 mlx5_0\"
[1](58a2e103002a1600)\t\"S-b83fd20300a00100\"[17]\t\t# lid 2 lmc 0 \"leaf001\" lid 3 4xHDR
";

#[test]
fn a_saved_fabric_names_the_other_ends() {
    let folder = tempfile::tempdir().expect("a directory");
    fs::write(folder.path().join("net"), FABRIC).expect("a file");
    fs::write(folder.path().join("leaves"), "leaf a n1\n").expect("a file");
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mlx5_ib/capture.ndjson");
    let run = |arguments: &[&str]| {
        rdmactl(folder.path(), &[arguments, &["--from", fixture][..]].concat())
    };
    for command in ["devices", "ports"] {
        let (_, out, errors) = run(&[command, "--fabric", "net"]);
        let heading = out.lines().next().expect("a heading");
        assert!(heading.ends_with("REMOTE   REMOTE_PORT"), "{out}");
        assert_eq!(errors, "", "nothing is requested from the host");
        let (_, out, _) = run(&[
            command,
            "--fabric",
            "net",
            "-fcsv",
            "-n",
            "-odevice,remote,remote_port,leaf_switch",
        ]);
        assert_eq!(out, "mlx5_0,leaf001,17,leaf001\nmlx5_1,,,\n");
    }
    let (_, out, _) = run(&["devices", "--fabric", "net", "-j"]);
    let json: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let peer = &json["hosts"][0]["devices"][0]["ports"][0]["link_peer"];
    assert_eq!(peer["node"], "leaf001", "{json}");
    let (code, out, errors) = run(&["connections", "--fabric", "leaves"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(errors.starts_with("rdmactl: leaves holds no fabric\n  fix: "), "{errors}");
    // The capture has no recorded MADs about the links.
    let (code, out, errors) = run(&["ports", "-fcsv", "-n", "-o", "device,remote"]);
    assert_eq!((code, out.as_str()), (3, "mlx5_0,?\nmlx5_1,?\n"), "{errors}");
}
