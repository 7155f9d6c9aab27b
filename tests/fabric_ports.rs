//! Ports from which a sweep starts: planes, Omni-Path, and ports without a LID or a link. The
//! files come from fixtures, and the replies of the subnet are simulated.
#![expect(clippy::expect_used, reason = "a test without its fixtures fails")]

use std::collections::VecDeque;
use std::fs;
use std::path::Path;

use rdmactl::analyse::fabric::findings;
use rdmactl::capture::Capture;
use rdmactl::collect::host_report;
use rdmactl::mad::{
    Class, ClassPortInfo, MAD_BYTES, MadAttribute, NodeInfo, PortCounters, PortInfo, SwitchInfo,
};
use rdmactl::model::{Fabric, HostReport, Part, Parts, Via};
use rdmactl::source::{
    Answer, MadAnswer, MadError, MadTicket, Mads, Question, ReadError, Recorded, Recorder, Source,
};

/// Port GUID of the adapter in the fixture `mlx5_planes`.
const PLANE_GUID: u64 = 0x9803_9b03_009f_d5ee;

/// Management classes that a device supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Has {
    All,
    Subnet,
    General,
}

/// Port of a device, which is connected to a switch.
#[derive(Debug, Clone, Copy)]
struct Port {
    has: Has,
    /// LID of the port; 0 without a subnet manager.
    lid: u16,
    guid: u64,
    /// Base version that the node reports.
    base_version: u8,
}

const PORT: Port = Port { has: Has::All, lid: 5, guid: PLANE_GUID, base_version: 1 };

/// Fixture with simulated ports for management datagrams.
struct Machine {
    files: Recorded,
    ports: &'static str,
    port: fn(&str) -> Port,
}

impl Machine {
    fn new(fixture: &str, ports: &'static str, port: fn(&str) -> Port) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture);
        let path = folder.join("capture.ndjson");
        let text = fs::read(&path).expect("a fixture");
        let capture = Capture::parse(&text[..], &path).expect("a capture");
        let (_, files) = capture.into_sources().into_iter().next().expect("a host");
        Self { files, ports, port }
    }

    fn read(&self) -> HostReport {
        read(self)
    }
}

/// Sweeps the subnets with directed routes, and reads counters.
fn read(source: &dyn Source) -> HostReport {
    let parts = [Part::Fabric, Part::FabricSmp, Part::FabricCounters];
    let parts: Parts = parts.into_iter().collect();
    host_report(source, &parts, "n1", Via::File)
}

impl Source for Machine {
    fn ask(&self, question: &Question) -> Answer {
        match question {
            Question::MadPorts => Ok(self.ports.as_bytes().to_vec()),
            other => self.files.ask(other),
        }
    }

    fn mads(&self, umad: &str) -> Result<Box<dyn Mads + '_>, ReadError> {
        Ok(Box::new(Played { port: (self.port)(umad), waiting: VecDeque::new(), last: 0 }))
    }

    fn taken_ns(&self) -> Option<u64> {
        None
    }

    fn answered_ns(&self, _question: &Question) -> Option<u64> {
        None
    }
}

/// Port that replies for the local node and for the switch at the other end of its link.
struct Played {
    port: Port,
    waiting: VecDeque<(MadTicket, [u8; MAD_BYTES])>,
    last: u32,
}

impl Mads for Played {
    fn ask(&mut self, _lid: Option<u16>, mad: [u8; MAD_BYTES]) -> Result<MadTicket, ReadError> {
        let is_subnet = [Class::SUBNET_LID, Class::SUBNET_DIRECTED].contains(&Class(mad[1]));
        let wanted = if is_subnet { Has::Subnet } else { Has::General };
        if ![Has::All, wanted].contains(&self.port.has) {
            return Err(ReadError::from("EPROTONOSUPPORT".to_owned()));
        }
        self.last += 1;
        self.waiting.push_back((MadTicket(self.last), mad));
        Ok(MadTicket(self.last))
    }

    fn next_answer(&mut self) -> Result<Option<(MadTicket, MadAnswer)>, ReadError> {
        let Some((ticket, mut mad)) = self.waiting.pop_front() else { return Ok(None) };
        let Port { lid, guid, base_version, .. } = self.port;
        let id = u16::from_be_bytes([mad[16], mad[17]]);
        let (mad_class, is_own, number) = (Class(mad[1]), mad[7] == 0, mad[23]);
        let own = NodeInfo {
            base_version,
            node_type: 1,
            ports: 1,
            node_guid: guid - 1,
            port_guid: guid,
            local_port: 1,
            ..NodeInfo::default()
        };
        let switch = NodeInfo { node_type: 2, ports: 2, node_guid: 7, port_guid: 7, ..own };
        // Port 0 of the switch has the LID of the switch. Port 2 has no link.
        let port = PortInfo {
            lid: match (is_own, number) {
                (true, _) => lid,
                (false, 0) => 9,
                (false, _) => 0,
            },
            physical_state: if is_own || number < 2 { 5 } else { 2 },
            state: if lid == 0 { 2 } else { 4 },
            ..PortInfo::default()
        };
        let counters = PortCounters { symbol_errors: 3, ..PortCounters::default() };
        let data = &mut mad[64..];
        let written = match id {
            ClassPortInfo::ID if mad_class == Class::PERFORMANCE => Ok(()),
            PortCounters::ID if mad_class == Class::PERFORMANCE => counters.encode(data),
            NodeInfo::ID if is_own => own.encode(data),
            NodeInfo::ID => switch.encode(data),
            PortInfo::ID => port.encode(data),
            SwitchInfo::ID => SwitchInfo::default().encode(data),
            _ => return Ok(Some((ticket, Err(MadError::NoReply)))),
        };
        written.expect("it is long enough");
        Ok(Some((ticket, Ok(mad.to_vec()))))
    }
}

/// Returns the problems of the fabric, each with its fix.
fn notes(report: &HostReport) -> Vec<String> {
    let own = report.problems.iter().filter(|problem| problem.key.starts_with("fabric"));
    let own = own.filter(|problem| !problem.key.ends_with("unanswered"));
    own.map(|problem| format!("{} | {}", problem.detail, problem.fix.as_deref().unwrap_or("-")))
        .collect()
}

fn fabrics(report: &HostReport) -> &[Fabric] {
    report.fabrics.as_deref().unwrap_or_default()
}

/// Returns device and port from which the only fabric was swept, the number of its nodes, and the
/// number of its ports with counters.
fn only(report: &HostReport) -> (String, u32, usize, usize) {
    assert_eq!(fabrics(report).len(), 1);
    let fabric = &fabrics(report)[0];
    let ports = fabric.nodes.iter().flat_map(|node| &node.ports);
    let counted = ports.filter(|port| port.counters.is_some()).count();
    (fabric.device.clone(), fabric.port, fabric.nodes.len(), counted)
}

/// Device files of a ConnectX-8 (Mellanox/rdmamap pull request 17). The state of its fourth plane
/// is init.
const PLANES: &str = "umad0 ibp17s0 1 InfiniBand 4 5\numad1 smi1 1 InfiniBand 4 5\n\
    umad2 smi1 2 InfiniBand 4 5\numad3 smi1 3 InfiniBand 4 5\numad4 smi1 4 InfiniBand 2 5\n";

fn plane(umad: &str) -> Port {
    Port { has: if umad == "umad0" { Has::General } else { Has::Subnet }, ..PORT }
}

#[test]
fn a_sweep_takes_a_plane_and_the_counters_come_by_the_other_device() {
    let report = Machine::new("mlx5_planes", PLANES, plane).read();
    // The local port, and ports 1 and 2 of the switch.
    assert_eq!(only(&report), ("smi1".into(), 1, 2, 3));
    assert_eq!(
        notes(&report),
        ["smi1 port 4 is a plane in state init; the sweep shows another plane of the same port | \
          list the subnet managers: rdmactl fabric sm; if none is master: systemctl start opensm"]
    );
}

#[test]
fn a_record_of_planes_gives_the_same_subnet() {
    let recorder = Recorder::new(Machine::new("mlx5_planes", PLANES, plane));
    let live = read(&recorder);
    let replayed = read(&Recorded::new(recorder.into_entries(), None));
    assert_eq!((only(&replayed), notes(&replayed)), (only(&live), notes(&live)));
}

#[test]
fn a_port_without_its_planes_has_a_fix() {
    let ports = "umad0 ibp17s0 1 InfiniBand 4 5\n";
    let report = Machine::new("mlx5_planes", ports, plane).read();
    assert_eq!(fabrics(&report), []);
    assert_eq!(
        notes(&report),
        [
            "ibp17s0 port 1 has no subnet management, and no device of its planes (smi1) was found | \
          rdma dev add smi1 type SMI parent ibp17s0"
        ]
    );
}

#[test]
fn planes_without_the_other_device_are_swept_without_counters() {
    let ports = "umad1 smi1 1 InfiniBand 4 5\n";
    let report = Machine::new("mlx5_planes", ports, plane).read();
    assert_eq!(only(&report), ("smi1".into(), 1, 2, 0));
    let unanswered = &fabrics(&report)[0].unanswered;
    assert!(unanswered.iter().any(|one| one.detail.contains("EPROTONOSUPPORT")), "{unanswered:?}");
}

#[test]
fn omni_path_is_refused_with_its_tools() {
    let ports = "umad0 hfi1_0 1 InfiniBand 4 5\numad1 hfi1_1 1 InfiniBand 1 2\n";
    let report = Machine::new("hfi1", ports, |_| panic!("no device is opened")).read();
    assert_eq!(report.fabrics, None);
    let expected = "hfi1_0 port 1 is an Omni-Path port: its management datagrams have 2,048 bytes, \
        which rdmactl does not read | use opainfo and opareport (packages opa-basic-tools and \
        opa-fastfabric)";
    assert_eq!(notes(&report)[0], expected);
    assert_eq!(notes(&report).len(), 2);
    // Without its driver the port looks like InfiniBand. The base version of its node identifies
    // Omni-Path.
    let port = |_: &str| Port { base_version: 0x80, ..PORT };
    let report = Machine::new("none", "umad0 hfi1_0 1 InfiniBand 4 5\n", port).read();
    assert_eq!((fabrics(&report), notes(&report)), (&[][..], vec![expected.to_owned()]));
}

#[test]
fn a_port_without_a_lid_is_swept_and_named() {
    // The first port of the fixture has a link and is in state init.
    let ports = "umad0 mlx5_0 1 InfiniBand 2 5\n";
    let report = Machine::new("mlx5_no_manager", ports, |_| Port { lid: 0, ..PORT }).read();
    assert_eq!(only(&report), ("mlx5_0".into(), 1, 2, 0), "counters need a LID");
    let without = "mlx5_0 port 1 has no LID, because no subnet manager has configured it: counters \
        are not read | list the subnet managers: rdmactl fabric sm; if none is master: systemctl \
        start opensm";
    assert_eq!(notes(&report), [without]);
    let found = findings(&fabrics(&report)[0], "n1");
    for code in ["fabric.no_manager", "fabric.port_not_active"] {
        assert!(found.iter().any(|finding| finding.code == code), "{found:?}");
    }
    let report = Machine::new("mlx5_no_manager", ports, |_| Port { lid: 0xffff, ..PORT }).read();
    assert_eq!((notes(&report), fabrics(&report)[0].nodes[0].lid()), (vec![without.into()], None));
}

#[test]
fn a_port_with_a_lid_is_taken_before_one_without() {
    let ports = "umad0 mlx5_0 1 InfiniBand 2 5\numad1 mlx5_1 1 InfiniBand 4 5\n";
    let port = |umad: &str| Port { lid: if umad == "umad0" { 0 } else { 5 }, ..PORT };
    let report = Machine::new("none", ports, port).read();
    assert_eq!(only(&report), ("mlx5_1".into(), 1, 2, 3), "both lead to one subnet");
    assert_eq!(notes(&report), [""; 0]);
}

#[test]
fn a_port_without_a_link_leads_to_no_subnet() {
    let both = "umad0 mlx5_0 1 InfiniBand 1 2\numad1 mlx5_1 1 InfiniBand 4 5\n";
    let report = Machine::new("none", both, |_| PORT).read();
    assert_eq!(only(&report).0, "mlx5_1");
    assert_eq!(notes(&report), [""; 0]);
    let report = Machine::new("none", "umad0 mlx5_0 1 InfiniBand 1 3\n", |_| PORT).read();
    assert_eq!(
        notes(&report),
        ["no InfiniBand port has a link: mlx5_0 port 1 | check the cables and the ports of the \
          switch; list the ports: rdmactl ports -v"]
    );
}

#[test]
fn ethernet_ports_have_no_subnet() {
    let report = Machine::new("none", "umad0 rxe0 1 Ethernet 4 5\n", |_| PORT).read();
    assert_eq!(
        notes(&report),
        ["rxe0 port 1: link layer Ethernet: there is no subnet manager and no fabric to read | \
          for RoCE use rdmactl ports, rdmactl ping --matrix and the tools of the switches"]
    );
    let report = Machine::new("none", "", |_| PORT).read();
    assert!(notes(&report)[0].starts_with("no port sends management datagrams (MADs) | "));
}
