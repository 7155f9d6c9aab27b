//! Management datagrams in the fabric that ibsim simulates: requests in flight, answers, silence.
//!
//! ibsim replaces calls of the C library, so each test runs this binary again with its library
//! preloaded.
#![expect(clippy::expect_used, reason = "a test without the simulator fails")]

use std::collections::HashMap;
use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rdmactl::mad::{DirectedPath, NodeDescription, NodeInfo, PortInfo, directed_smp, smp_data};
use rdmactl::source::{MadAnswer, MadError, MadLimits, MadPort, MadTicket};
use rdmactl::sys::umad::{HeaderSize, UmadPort};

/// Set where the test runs within the simulator.
const INSIDE: &str = "RDMACTL_TEST_IBSIM";

/// One switch with two hosts, in the form of ibnetdiscover.
const FABRIC: &str = "\
vendid=0x2c9
devid=0xd2f0
sysimgguid=0xb83fd20300a00100
switchguid=0xb83fd20300a00100(b83fd20300a00100)
Switch\t40 \"S-b83fd20300a00100\"\t\t# \"leaf001\" enhanced port 0 lid 0 lmc 0
[1]\t\"H-b83fd20300100000\"[1](b83fd20300100001)\t\t# \"node001 HCA-1\" lid 0 4xHDR
[2]\t\"H-b83fd20300100010\"[1](b83fd20300100011)\t\t# \"node002 HCA-1\" lid 0 4xHDR

vendid=0x2c9
devid=0x101b
sysimgguid=0xb83fd20300100000
caguid=0xb83fd20300100000
Ca\t1 \"H-b83fd20300100000\"\t\t# \"node001 HCA-1\"
[1](b83fd20300100001)\t\"S-b83fd20300a00100\"[1]\t\t# lid 0 lmc 0 \"leaf001\" lid 0 4xHDR

vendid=0x2c9
devid=0x101b
sysimgguid=0xb83fd20300100010
caguid=0xb83fd20300100010
Ca\t1 \"H-b83fd20300100010\"\t\t# \"node002 HCA-1\"
[1](b83fd20300100011)\t\"S-b83fd20300a00100\"[2]\t\t# lid 0 lmc 0 \"leaf001\" lid 0 4xHDR
";

/// A simulated fabric, which ends with this value.
struct Simulator {
    process: Child,
    folder: tempfile::TempDir,
    socket: String,
}

impl Simulator {
    fn start(fabric: &str) -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let file = folder.path().join("net");
        fs::write(&file, fabric).expect("a file");
        let socket = format!("rdmactl-{}", folder.path().display()).replace('/', "-");
        let mut process = Command::new("ibsim")
            .args(["-s".as_ref(), file.as_os_str()])
            .current_dir(folder.path())
            .env("IBSIM_SOCKNAME", &socket)
            // It spins at the end of its input.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("ibsim runs (package ibsim-utils)");
        let output = process.stdout.take().expect("its output");
        let is_ready = BufReader::new(output)
            .lines()
            .map_while(Result::ok)
            .any(|line| line.contains("simulator ready"));
        assert!(is_ready, "ibsim ended early");
        Self { process, folder, socket }
    }

    /// Runs a test of this binary as a program of the host.
    fn run(&self, test: &str) {
        let output = Command::new(env::current_exe().expect("this test"))
            .args(["--exact", test, "--nocapture"])
            .current_dir(self.folder.path())
            .env(INSIDE, "1")
            .env("IBSIM_SOCKNAME", &self.socket)
            .env("SIM_HOST", "H-b83fd20300100000")
            .env("LD_PRELOAD", preload())
            .output()
            .expect("the test runs");
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && printed.contains("1 passed"), "{printed}\n{errors}");
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn preload() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").expect("libraries").flatten();
    let library = |folder: fs::DirEntry| folder.path().join("umad2sim/libumad2sim.so");
    folders.map(library).find(|path| path.exists()).expect("the package ibsim-utils")
}

fn port(window: usize) -> MadPort {
    let path = Path::new("/dev/infiniband/umad0");
    let port = UmadPort::open(path, HeaderSize::Old).expect("a port");
    let limits = MadLimits { window, timeout: Duration::from_millis(200), retries: 0 };
    MadPort::new(port, limits)
}

/// A route by these ports.
fn path(ports: &[u8]) -> DirectedPath {
    let step = |path: DirectedPath, port: &u8| path.through(*port).expect("a short route");
    ports.iter().fold(DirectedPath::own(), step)
}

/// Waits for all answers.
fn answers(port: &mut MadPort) -> HashMap<MadTicket, MadAnswer> {
    let mut answers = HashMap::new();
    while let Some((ticket, answer)) = port.next_answer().expect("a port") {
        assert!(answers.insert(ticket, answer).is_none(), "a second answer to {ticket:?}");
    }
    answers
}

fn attribute<A: rdmactl::mad::Attribute>(answer: &MadAnswer) -> A {
    let mad = answer.as_ref().expect("an answer").first_chunk().expect("256 bytes");
    A::decode(smp_data(mad)).expect("an attribute")
}

#[test]
fn nodes_answer_along_directed_routes() {
    if env::var_os(INSIDE).is_none() {
        return Simulator::start(FABRIC).run("nodes_answer_along_directed_routes");
    }
    let mut port = port(32);
    let mut ask = |mad| port.ask(None, mad).expect("subnet management");
    let own = ask(directed_smp::<NodeInfo>(&path(&[]), 0));
    let switch = ask(directed_smp::<NodeInfo>(&path(&[1]), 0));
    let name = ask(directed_smp::<NodeDescription>(&path(&[1]), 0));
    let other = ask(directed_smp::<NodeDescription>(&path(&[1, 2]), 0));
    let link = ask(directed_smp::<PortInfo>(&path(&[1]), 2));
    let nobody = ask(directed_smp::<NodeInfo>(&path(&[1, 3]), 0));
    let answers = answers(&mut port);
    let info: NodeInfo = attribute(&answers[&own]);
    assert_eq!((info.node_type, info.node_guid), (1, 0xb83f_d203_0010_0000));
    assert_eq!((info.port_guid, info.local_port, info.ports), (0xb83f_d203_0010_0001, 1, 1));
    let info: NodeInfo = attribute(&answers[&switch]);
    assert_eq!((info.node_type, info.ports, info.local_port), (2, 40, 1));
    assert_eq!(attribute::<NodeDescription>(&answers[&name]).0, "leaf001");
    assert_eq!(attribute::<NodeDescription>(&answers[&other]).0, "node002 HCA-1");
    let info: PortInfo = attribute(&answers[&link]);
    assert_eq!((info.physical_state, info.width_active, info.speed_ext_active), (5, 2, 4));
    assert_eq!(answers[&nobody], Err(MadError::NoReply));
    assert_eq!(port.outstanding(), 0);
}

#[test]
fn more_requests_than_fit_the_window_are_all_answered() {
    if env::var_os(INSIDE).is_none() {
        return Simulator::start(FABRIC).run("more_requests_than_fit_the_window_are_all_answered");
    }
    for window in [1, 8, 64] {
        let mut port = port(window);
        let routes = [path(&[]), path(&[1]), path(&[1, 2])];
        for request in 0..300 {
            let mad = directed_smp::<NodeInfo>(&routes[request % routes.len()], 0);
            port.ask(None, mad).expect("subnet management");
        }
        let answers = answers(&mut port);
        assert_eq!(answers.len(), 300, "window {window}");
        assert!(answers.values().all(Result::is_ok), "window {window}");
    }
}
