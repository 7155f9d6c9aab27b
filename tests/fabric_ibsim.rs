//! Management datagrams in the fabric that ibsim simulates: requests in flight, answers, silence.
//!
//! ibsim replaces calls of the C library, so each test runs this binary again with its library
//! preloaded.
#![expect(clippy::expect_used, reason = "a test without the simulator fails")]

use std::collections::{BTreeSet, HashMap};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rdmactl::clock::Deadline;
use rdmactl::collect::sweep;
use rdmactl::mad::{
    DirectedPath, NodeDescription, NodeInfo, PortInfo, SwitchInfo, directed_smp, smp_attribute,
};
use rdmactl::model::probe::{MadPinging, MadRoute, Role};
use rdmactl::model::{Fabric, FabricEnd, FabricNodeKind};
use rdmactl::ping::mad::MadEnd;
use rdmactl::source::{MadAnswer, MadError, MadLimits, MadPort, MadTicket, Mads as _};
use rdmactl::sys::umad::{HeaderSize, UmadPort};

/// The program.
const RDMACTL: &str = env!("CARGO_BIN_EXE_rdmactl");

/// Set where the test runs within the simulator.
const INSIDE: &str = "RDMACTL_TEST_IBSIM";

/// One switch with two hosts, in the form of `ibnetdiscover`.
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
        let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let is_ready = |line: String| line.contains("simulator ready");
        assert!(lines.by_ref().map_while(Result::ok).any(is_ready), "ibsim ended early");
        // ibsim ends if nobody reads its output.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { process, folder, socket }
    }

    /// Types a command at its console.
    fn console(&mut self, command: &str) {
        let console = self.process.stdin.as_mut().expect("a console");
        writeln!(console, "{command}").and_then(|()| console.flush()).expect("a console");
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
    smp_attribute(answer.as_ref().expect("an answer")).expect("an attribute")
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

/// A fat tree in the form of `ibnetdiscover`: every leaf switch has a cable to every spine switch.
fn fat_tree(spines: usize, leaves: usize, hosts: usize) -> String {
    let spine = |at: usize| format!("S-{:016x}", 0xb83f_d203_00b0_0000_u64 + at as u64 * 0x100);
    let leaf = |at: usize| format!("S-{:016x}", 0xb83f_d203_00a0_0000_u64 + at as u64 * 0x100);
    let host = |at: usize| format!("{:016x}", 0xb83f_d203_0010_0000_u64 + at as u64 * 0x10);
    let port = |at: usize| format!("{:016x}", 0xb83f_d203_0010_0001_u64 + at as u64 * 0x10);
    let mut text = String::new();
    let mut switch = |id: &str, name: &str, lines: &[String]| {
        let guid = &id[2..];
        writeln!(
            text,
            "vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x{guid}\nswitchguid=0x{guid}({guid})"
        )?;
        writeln!(text, "Switch\t40 \"{id}\"\t\t# \"{name}\" enhanced port 0 lid 0 lmc 0")?;
        writeln!(text, "{}\n", lines.join("\n"))
    };
    for at in 0..spines {
        let cable =
            |to: usize| format!("[{}]\t\"{}\"[{}]\t\t# \"\" lid 0 4xHDR", to + 1, leaf(to), at + 1);
        let lines: Vec<String> = (0..leaves).map(cable).collect();
        switch(&spine(at), &format!("spine{at}"), &lines).expect("a text");
    }
    for at in 0..leaves {
        let up = |to: usize| {
            format!("[{}]\t\"{}\"[{}]\t\t# \"\" lid 0 4xHDR", to + 1, spine(to), at + 1)
        };
        let down = |to: usize| {
            let number = at * hosts + to;
            let (host, port) = (host(number), port(number));
            format!("[{}]\t\"H-{host}\"[1]({port})\t\t# \"\" lid 0 4xHDR", spines + to + 1)
        };
        let lines: Vec<String> = (0..spines).map(up).chain((0..hosts).map(down)).collect();
        switch(&leaf(at), &format!("leaf{at}"), &lines).expect("a text");
    }
    for at in 0..leaves * hosts {
        let (guid, port, leaf, cable) =
            (host(at), port(at), leaf(at / hosts), spines + at % hosts + 1);
        write!(
            text,
            "vendid=0x2c9\ndevid=0x101b\nsysimgguid=0x{guid}\ncaguid=0x{guid}\n\
             Ca\t1 \"H-{guid}\"\t\t# \"node{at} HCA-1\"\n\
             [1]({port})\t\"{leaf}\"[{cable}]\t\t# lid 0 lmc 0 \"\" lid 0 4xHDR\n\n"
        )
        .expect("a text");
    }
    text
}

/// Nodes as `GUID KIND NAME`, and links as `GUID[PORT] GUID[PORT]` with the smaller end first.
type Parts = (BTreeSet<String>, BTreeSet<String>);

fn parts(fabric: &Fabric) -> Parts {
    let kind = |kind| match kind {
        FabricNodeKind::Ca => "Ca",
        FabricNodeKind::Switch => "Switch",
        FabricNodeKind::Router | FabricNodeKind::Unknown(_) => "other",
    };
    let node = |node: &rdmactl::model::FabricNode| {
        format!("{:016x} {} {}", node.guid.0, kind(node.kind), node.name.as_deref().unwrap_or("?"))
    };
    let end = |end: FabricEnd| format!("{:016x}[{}]", fabric.nodes[end.node].guid.0, end.port);
    let link = |(near, far)| {
        let (near, far) = (end(near), end(far));
        if near < far { format!("{near} {far}") } else { format!("{far} {near}") }
    };
    (fabric.nodes.iter().map(node).collect(), fabric.links().map(link).collect())
}

/// Returns the nodes and links in the output of `ibnetdiscover`.
fn parts_of_ibnetdiscover(text: &str) -> Parts {
    let (mut nodes, mut links) = (BTreeSet::new(), BTreeSet::new());
    let mut own = "";
    for line in text.lines() {
        let quoted: Vec<&str> = line.split('"').collect();
        match (line.chars().next(), quoted.as_slice()) {
            (Some('S' | 'C'), [kind, id, _, name, ..]) => {
                own = &id[2..];
                let kind = kind.split_whitespace().next().unwrap_or_default();
                nodes.insert(format!("{own} {kind} {name}"));
            }
            (Some('['), [near, id, far, ..]) => {
                let port = |text: &str| {
                    let number = text.split(['[', ']']).nth(1).unwrap_or_default();
                    number.to_owned()
                };
                let near = format!("{own}[{}]", port(near));
                let far = format!("{}[{}]", &id[2..], port(far));
                links.insert(if near < far {
                    format!("{near} {far}")
                } else {
                    format!("{far} {near}")
                });
            }
            _ => {}
        }
    }
    (nodes, links)
}

#[test]
fn a_sweep_finds_the_nodes_and_links_of_ibnetdiscover() {
    const SPINES: usize = 8;
    const LEAVES: usize = 15;
    const HOSTS: usize = 20;
    if env::var_os(INSIDE).is_none() {
        let simulator = Simulator::start(&fat_tree(SPINES, LEAVES, HOSTS));
        return simulator.run("a_sweep_finds_the_nodes_and_links_of_ibnetdiscover");
    }
    let theirs = Command::new("ibnetdiscover").output().expect("infiniband-diags");
    let theirs = parts_of_ibnetdiscover(&String::from_utf8_lossy(&theirs.stdout));
    let fabric = sweep(&mut port(32)).expect("a fabric");
    let ours = parts(&fabric);
    assert_eq!(ours.0.len(), SPINES + LEAVES + LEAVES * HOSTS);
    assert_eq!(ours.1.len(), SPINES * LEAVES + LEAVES * HOSTS);
    assert_eq!(ours, theirs);
    assert_eq!(fabric.silent, []);
    let first = &fabric.nodes[0];
    assert_eq!((first.kind, first.route.as_deref()), (FabricNodeKind::Ca, Some(&[][..])));
    assert!(
        fabric.nodes.iter().all(|node| node.route.as_ref().is_some_and(|route| route.len() <= 4)),
        "the shortest way is found first"
    );
    let leaf = fabric.nodes.iter().find(|node| node.name.as_deref() == Some("leaf3"));
    let leaf = leaf.expect("a leaf switch");
    assert_eq!((leaf.port_count, leaf.ports.len()), (40, 41));
    assert_eq!(leaf.port(40).map(|port| (port.physical_state, port.peer)), Some((2, None)));
}

#[test]
fn a_node_that_does_not_answer_is_listed_and_the_rest_is_found() {
    if env::var_os(INSIDE).is_none() {
        let mut simulator = Simulator::start(FABRIC);
        // NodeInfo of the second host is dropped.
        simulator.console("Error \"H-b83fd20300100010\"[1] 100 17");
        return simulator.run("a_node_that_does_not_answer_is_listed_and_the_rest_is_found");
    }
    let fabric = sweep(&mut port(32)).expect("a fabric");
    let names: Vec<&str> = fabric.nodes.iter().filter_map(|node| node.name.as_deref()).collect();
    assert_eq!(names, ["node001 HCA-1", "leaf001"]);
    let silent: Vec<_> =
        fabric.silent.iter().map(|one| (&one.route[..], &*one.attribute)).collect();
    assert_eq!(silent, [(&[1, 2][..], "NodeInfo")]);
    let port = fabric.nodes[1].port(2).expect("a port");
    assert_eq!((port.physical_state, port.peer), (5, None));
}

/// LIDs of the two hosts in [`FABRIC`].
const LIDS: [u16; 2] = [1, 2];

/// Sets an attribute of subnet management along a directed route.
fn set_smp(port: &mut MadPort, route: &DirectedPath, attribute: u16, modifier: u32, data: &[u8]) {
    let mut mad = directed_smp::<NodeInfo>(route, modifier);
    mad[3] = 2;
    mad[16..18].copy_from_slice(&attribute.to_be_bytes());
    mad[64..64 + data.len()].copy_from_slice(data);
    let ticket = port.ask(None, mad).expect("subnet management");
    assert!(answers(port)[&ticket].is_ok(), "attribute {attribute:#x} was set");
}

/// Does the work of a subnet manager: LIDs, states of ports, forwarding table of the switch.
fn configure_subnet() {
    const PORT_INFO: u16 = 0x15;
    const SWITCH_INFO: u16 = 0x12;
    const LINEAR_FORWARDING_TABLE: u16 = 0x19;
    let mut port = port(1);
    let host = |number: u8| if number == 1 { path(&[]) } else { path(&[1, 2]) };
    let mut table = [0xff; 64];
    for number in [1, 2_u8] {
        table[usize::from(LIDS[usize::from(number) - 1])] = number;
    }
    let ticket = port.ask(None, directed_smp::<SwitchInfo>(&path(&[1]), 0)).expect("a switch");
    let answer = answers(&mut port).remove(&ticket).expect("an answer").expect("a switch");
    let mut info: [u8; 64] = answer[64..128].try_into().expect("64 bytes");
    // LinearFDBTop: the highest LID in the table.
    info[6..8].copy_from_slice(&LIDS[1].to_be_bytes());
    set_smp(&mut port, &path(&[1]), SWITCH_INFO, 0, &info);
    set_smp(&mut port, &path(&[1]), LINEAR_FORWARDING_TABLE, 0, &table);
    let settings = |port: &mut MadPort, route: &DirectedPath, number: u32, lid: u16, state: u8| {
        let ticket = port.ask(None, directed_smp::<PortInfo>(route, number)).expect("a port");
        let answer = answers(port).remove(&ticket).expect("an answer").expect("a port");
        let mut data: [u8; 64] = answer[64..128].try_into().expect("64 bytes");
        data[16..18].copy_from_slice(&lid.to_be_bytes());
        data[18..20].copy_from_slice(&LIDS[0].to_be_bytes());
        // The low four bits are the state to set; width, speed and physical state do not change.
        data[32] = data[32] & 0xf0 | state;
        data[33] &= 0x0f;
        (data[29], data[35], data[63]) = (0, data[35] & 0xf0, data[63] & 0xe0);
        data
    };
    for state in [3, 4] {
        for number in [1, 2_u8] {
            let lid = LIDS[usize::from(number) - 1];
            let data = settings(&mut port, &host(number), 1, lid, state);
            set_smp(&mut port, &host(number), PORT_INFO, 1, &data);
            let data = settings(&mut port, &path(&[1]), number.into(), 0, state);
            set_smp(&mut port, &path(&[1]), PORT_INFO, number.into(), &data);
        }
    }
}

/// A program that ends with this value.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program of a host of the fabric.
fn program(simulator: &Simulator, host: &str, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(simulator.folder.path())
        .env("IBSIM_SOCKNAME", &simulator.socket)
        .env("SIM_HOST", host)
        .env("LD_PRELOAD", preload());
    command
}

/// Prints a line for the test that started this program.
#[expect(clippy::disallowed_methods, reason = "a pipe of the test, no terminal")]
fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").expect("a pipe");
}

fn mad_end(role: Role) -> MadEnd {
    let path = Path::new("/dev/infiniband/umad0");
    MadEnd::open(path, HeaderSize::Old, role).expect("a port")
}

fn lid_route(lid: u16) -> MadRoute {
    MadRoute { lid, gids: None, pkey_index: 0, service_level: 0, traffic_class: 0 }
}

fn requests(lid: u16, rounds: u32) -> MadPinging {
    let (interval_ms, slot_ms, reply_ms) = (0, 5_000, 200);
    MadPinging { route: lid_route(lid), rounds, interval_ms, slot_ms, reply_ms }
}

#[test]
fn a_server_of_ibping_answers_our_requests() {
    const TEST: &str = "a_server_of_ibping_answers_our_requests";
    if env::var_os(INSIDE).is_none() {
        let simulator = Simulator::start(FABRIC);
        simulator.run("a_subnet_gets_its_lids");
        // On a loaded machine a server may end before it is attached to the simulator.
        let server = (0..5).find_map(|_attempt| {
            let mut server = program(&simulator, "H-b83fd20300100010", "ibping", &["-S"])
                .env("SIM_SET_ISSM", "1")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("infiniband-diags");
            let files = simulator.folder.path().join(format!("sys-{}", server.id()));
            let until = Deadline::after(Duration::from_secs(5));
            let mut is_running = || server.try_wait().is_ok_and(|status| status.is_none());
            while is_running() && !files.exists() && !until.is_over() {
                std::thread::park_timeout(Duration::from_millis(50));
            }
            std::thread::park_timeout(Duration::from_millis(500));
            let is_attached = is_running() && files.exists();
            let server = Ending(server);
            is_attached.then_some(server)
        });
        let _server = server.expect("ibping -S runs");
        return simulator.run(TEST);
    }
    let end = mad_end(Role::Source);
    let until = Deadline::after(Duration::from_secs(20));
    // The server needs a moment to start.
    while end.ping(&requests(LIDS[1], 1), &|| false).expect("a port").answered == 0 {
        assert!(!until.is_over(), "ibping -S does not reply");
    }
    let seen = end.ping(&requests(LIDS[1], 1_000), &|| false).expect("a port");
    assert_eq!((seen.sent, seen.answered), (1_000, 1_000));
    assert!(seen.host.is_some_and(|host| !host.is_empty()));
    let trips = seen.trips.expect("round trips");
    assert!(trips.min_ns <= trips.p50_ns && trips.p99_ns.is_some_and(|p99| p99 <= trips.max_ns));
    let seen = end.ping(&requests(9, 1_000), &|| false).expect("a port");
    assert_eq!((seen.sent, seen.answered), (3, 0), "no port has LID 9");
}

/// Part of two other tests, which need LIDs.
#[test]
fn a_subnet_gets_its_lids() {
    if env::var_os(INSIDE).is_none() {
        return Simulator::start(FABRIC).run("a_subnet_gets_its_lids");
    }
    configure_subnet();
    let mut port = port(1);
    let ticket = port.ask(None, directed_smp::<PortInfo>(&path(&[1, 2]), 1)).expect("a port");
    let info: PortInfo = attribute(&answers(&mut port)[&ticket]);
    assert_eq!((info.lid, info.state), (LIDS[1], 4));
}

#[test]
fn a_client_of_ibping_gets_our_replies() {
    const TEST: &str = "a_client_of_ibping_gets_our_replies";
    const CLIENT: &str = "RDMACTL_TEST_IBPING";
    if env::var_os(INSIDE).is_none() {
        let simulator = Simulator::start(FABRIC);
        simulator.run("a_subnet_gets_its_lids");
        let done = simulator.folder.path().join("done");
        let server = program(
            &simulator,
            "H-b83fd20300100010",
            env::current_exe().expect("this test").to_str().expect("a path"),
            &["--exact", TEST, "--nocapture"],
        )
        .env(INSIDE, "1")
        .env("SIM_SET_ISSM", "1")
        .env(CLIENT, &done)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the test runs");
        let mut server = Ending(server);
        // libibumad of the client must not begin before the server is there: its first request
        // would be lost.
        let mut lines = BufReader::new(server.0.stdout.take().expect("output")).lines();
        let is_ready = |line: String| line.contains("serving");
        assert!(lines.by_ref().map_while(Result::ok).any(is_ready), "the server did not start");
        let lid = LIDS[1].to_string();
        let client = program(&simulator, "H-b83fd20300100000", "ibping", &["-f", "-c", "3", &lid])
            .output()
            .expect("infiniband-diags");
        fs::write(&done, "").expect("a file");
        let printed = String::from_utf8_lossy(&client.stdout);
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        assert!(server.0.wait().expect("the server").success(), "{rest:?}");
        let errors = String::from_utf8_lossy(&client.stderr);
        assert!(
            printed.contains("3 packets transmitted, 3 received, 0% packet loss"),
            "{printed}{errors}"
        );
        assert!(printed.contains("--- n9.example (Lid 2) ibping statistics ---"), "{printed}");
        assert!(rest.iter().any(|line| line.contains("replied to 3")), "{rest:?}");
        return;
    }
    let done = PathBuf::from(env::var_os(CLIENT).expect("a server"));
    let end = mad_end(Role::Target);
    say("serving");
    let until = Deadline::after(Duration::from_secs(30));
    let is_over = || done.exists() || until.is_over();
    let replies = end.serve(&lid_route(0), "n9.example", &is_over).expect("a port");
    say(&format!("replied to {replies}"));
}

/// A subnet manager in the simulated fabric, which ends with this value.
struct Manager {
    process: Child,
}

impl Simulator {
    /// Starts opensm at the first host, and waits until the first sweep is done.
    fn manage(&self) -> Manager {
        let list = self.folder.path().join("opensm-subnet.lst");
        let process = Command::new("/usr/sbin/opensm")
            .args(["-e", "-f", "osm.log"])
            .current_dir(self.folder.path())
            .envs([("OSM_TMP_DIR", "."), ("OSM_CACHE_DIR", ".")])
            .envs(self.environment())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("opensm runs (package opensm)");
        let manager = Manager { process };
        let deadline = Deadline::after(Duration::from_secs(60));
        while !fs::read_to_string(&list).is_ok_and(|text| text.ends_with('\n')) {
            assert!(!deadline.is_over(), "opensm does not end its first sweep");
            std::thread::park_timeout(Duration::from_millis(50));
        }
        manager
    }

    fn environment(&self) -> [(&'static str, std::ffi::OsString); 3] {
        [
            ("IBSIM_SOCKNAME", self.socket.clone().into()),
            ("SIM_HOST", "H-b83fd20300100000".into()),
            ("LD_PRELOAD", preload().into()),
        ]
    }

    /// Runs a program as one of the first host; returns its exit code and its output.
    fn runs(&self, program: &str, args: &[&str]) -> (i32, String, String) {
        let output = Command::new(program)
            .args(args)
            .current_dir(self.folder.path())
            .env("RDMACTL_CONFIG", "/dev/null")
            .envs(self.environment())
            .output()
            .expect("the program runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }

    /// Runs `rdmactl fabric`; it must end with the exit code.
    fn fabric(&self, code: i32, args: &[&str]) -> String {
        let words: Vec<&str> = ["fabric"].iter().chain(args).copied().collect();
        let (got, out, errors) = self.runs(RDMACTL, &words);
        assert_eq!(got, code, "{args:?}\n{out}\n{errors}");
        out
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // opensm waits for the simulator when it is asked to end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The fabric of [`FABRIC`] as a fat tree of two leaf switches, with faults.
fn small_tree() -> String {
    fat_tree(2, 2, 2)
}

#[test]
fn a_healthy_subnet_is_listed_without_findings() {
    let simulator = Simulator::start(&fat_tree(8, 15, 20));
    let _manager = simulator.manage();
    let text = simulator.fabric(0, &[]);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 2, "no finding stands below the row: {text}");
    assert_eq!(
        rows[0],
        ["SUBNET", "FROM", "MANAGER", "SM_LID", "CAS", "SWITCHES", "LINKS", "PROBLEMS", "METHOD"]
    );
    let expected =
        ["fe80:0000:0000:0000", "ibsim0/1", "node0", "HCA-1", "1", "300", "23", "420", "0", "smp"];
    assert_eq!(rows[1], expected);
    let managers = simulator.fabric(0, &["sm", "-f", "csv", "-n"]);
    assert!(managers.starts_with("node0 HCA-1,ca,1,1,master,0,"), "{managers}");
    let partitions =
        simulator.fabric(0, &["partitions", "-o", "p_key,full,limited", "-f", "csv", "-n"]);
    assert_eq!(partitions, "32767,323,0\n");
}

#[test]
fn what_a_sweep_found_is_read_back_from_its_file() {
    let simulator = Simulator::start(&small_tree());
    let _manager = simulator.manage();
    let saved = simulator.folder.path().join("saved.ndjson");
    let saved = saved.to_str().expect("a path");
    for view in [&["nodes"][..], &["links"], &["switches"], &["sm"], &["routes", "node0", "node3"]]
    {
        let live = simulator.fabric(0, &[view, &["-v", "--save", saved]].concat());
        let output = Command::new(RDMACTL)
            .args([&["fabric"], view, &["-v", "--from", saved]].concat())
            .env("RDMACTL_CONFIG", "/dev/null")
            .output()
            .expect("rdmactl runs");
        let read = String::from_utf8_lossy(&output.stdout);
        // The activity of the subnet manager and the number of the process change; the rows do not.
        assert_eq!(read, live, "{view:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_route_has_the_hops_of_ibtracert() {
    let simulator = Simulator::start(&fat_tree(4, 3, 4));
    let _manager = simulator.manage();
    for (from, to) in [(0, 11), (0, 1), (5, 9), (11, 0)] {
        let ends = [format!("node{from}"), format!("node{to}")];
        let ours = simulator.fabric(
            0,
            &["routes", &ends[0], &ends[1], "-f", "csv", "-n", "-o", "name,enters,leaves"],
        );
        let lid = |node: usize| {
            let text = simulator.fabric(
                0,
                &[
                    "nodes",
                    "-f",
                    "csv",
                    "-n",
                    "-o",
                    "lid",
                    "-w",
                    &format!("name=='node{node} HCA-1'"),
                ],
            );
            text.trim().to_owned()
        };
        let (_, theirs, _) = simulator.runs("ibtracert", &[&lid(from), &lid(to)]);
        // `[4] -> switch port {0x…}[1] lid 2-2 "leaf0"` is a hop; the ends are told apart.
        let hop = |line: &str| {
            let out = line.strip_prefix('[')?.split(']').next()?;
            let (_, rest) = line.split_once("}[")?;
            let enters = rest.split(']').next()?;
            let name = line.split('"').nth(1)?;
            Some((out.to_owned(), enters.to_owned(), name.to_owned()))
        };
        let theirs: Vec<_> = theirs.lines().filter_map(hop).collect();
        let ours: Vec<Vec<&str>> = ours.lines().map(|line| line.split(',').collect()).collect();
        let ours: Vec<_> = ours
            .windows(2)
            .map(|pair| (pair[0][2].to_owned(), pair[1][1].to_owned(), pair[1][0].to_owned()))
            .collect();
        assert_eq!(ours, theirs, "{from} to {to}");
    }
}

#[test]
fn errors_are_those_of_ibqueryerrors() {
    let mut simulator = Simulator::start(&small_tree());
    let _manager = simulator.manage();
    for (port, counter, value) in [
        ("\"H-b83fd20300100010\"[1]", "PortCounters.SymbolErrorCounter", 65_535),
        ("\"H-b83fd20300100010\"[1]", "PortCounters.LinkDownedCounter", 3),
        ("\"S-b83fd20300a00000\"[1]", "PortCounters.PortXmitDiscards", 9),
        ("\"S-b83fd20300a00000\"[1]", "PortXmitDiscardDetails.PortNeighborMTUDiscards", 8),
        ("\"S-b83fd20300a00000\"[2]", "PortCounters.PortRcvErrors", 7),
        ("\"S-b83fd20300a00000\"[2]", "PortRcvErrorDetails.PortMalformedPacketErrors", 6),
    ] {
        simulator.console(&format!("PerformanceSet {port} {counter}={value}"));
    }
    let columns = "guid,error.port,counter,value";
    let deadline = Deadline::after(Duration::from_secs(10));
    let ours = loop {
        let (code, out, _) =
            simulator.runs(RDMACTL, &["fabric", "errors", "-f", "csv", "-n", "-o", columns]);
        if code == 1 && out.contains("PortMalformedPktErrors") {
            break out;
        }
        assert!(!deadline.is_over(), "the counters do not appear: {out}");
    };
    let mut ours: Vec<String> = ours.lines().map(|line| line.replace(':', "")).collect();
    ours.sort();
    let (code, theirs, _) = simulator.runs("ibqueryerrors", &[]);
    assert_eq!(code, 1);
    // `   GUID 0x… port 1: [SymbolErrorCounter == 65535] […]`, without the sums of all ports.
    let mut expected = Vec::new();
    for line in theirs
        .lines()
        .filter(|line| line.trim_start().starts_with("GUID") && !line.contains("port ALL"))
    {
        let words: Vec<&str> = line.split_whitespace().collect();
        let guid = words[1].trim_start_matches("0x");
        for counter in line.split('[').skip(1) {
            let (name, value) =
                counter.trim_end().trim_end_matches(']').split_once(" == ").expect("a counter");
            // ibqueryerrors names the port GUID of an adapter; the node GUID is one less here.
            let guid = if guid.starts_with("b83fd203001") {
                format!("{}0", &guid[..15])
            } else {
                guid.to_owned()
            };
            expected.push(format!("{guid},{},{name},{value}", words[3].trim_end_matches(':')));
        }
    }
    expected.sort();
    let details = ["PortNeighborMTUDiscards,8", "PortMalformedPktErrors,6"];
    let (details, counters): (Vec<_>, Vec<_>) =
        ours.into_iter().partition(|line| details.iter().any(|end| line.ends_with(end)));
    assert_eq!(counters, expected);
    // ibqueryerrors --details exchanges the names of these two (its issue, see docs/compat.md).
    assert_eq!(details.len(), 2, "{details:?}");
    let limits = simulator.folder.path().join("limits");
    fs::write(&limits, "SymbolErrorCounter=65535\nLinkDownedCounter=3\nPortXmitDiscards=9\nPortRcvErrors=7\nPortNeighborMTUDiscards=8\nPortMalformedPktErrors=6\n").expect("a file");
    let (code, out, errors) = simulator.runs(
        RDMACTL,
        &["fabric", "errors", "-n", "--thresholds", limits.to_str().expect("a path")],
    );
    assert_eq!((code, out.as_str()), (0, ""), "{errors}");
}

#[test]
fn only_the_listed_counters_are_cleared() {
    let mut simulator = Simulator::start(&small_tree());
    let _manager = simulator.manage();
    let port = "\"S-b83fd20300a00000\"[2]";
    for (counter, value) in [
        ("PortCounters.SymbolErrorCounter", 9),
        ("PortCounters.PortRcvErrors", 7),
        ("PortRcvErrorDetails.PortMalformedPacketErrors", 6),
        ("PortCounters.LinkDownedCounter", 5),
    ] {
        simulator.console(&format!("PerformanceSet {port} {counter}={value}"));
    }
    let listed = |simulator: &Simulator, args: &[&str]| {
        let columns = ["fabric", "errors", "-f", "csv", "-n", "-o", "counter,value"];
        simulator.runs(RDMACTL, &[&columns, args].concat())
    };
    let deadline = Deadline::after(Duration::from_secs(10));
    while !listed(&simulator, &[]).1.contains("LinkDownedCounter,5") {
        assert!(!deadline.is_over(), "the counters do not appear");
    }
    let all =
        "SymbolErrorCounter,9\nLinkDownedCounter,5\nPortRcvErrors,7\nPortMalformedPktErrors,6\n";
    assert_eq!(listed(&simulator, &[]).1, all);
    let filter = ["-w", "counter!=LinkDownedCounter", "--clear"];
    let (code, out, errors) = listed(&simulator, &filter);
    assert_eq!((code, out), (1, all.replace("LinkDownedCounter,5\n", "")), "{errors}");
    assert_eq!(errors, "rdmactl: cleared 3 of 3 listed counters\n");
    assert_eq!(listed(&simulator, &[]).1, "LinkDownedCounter,5\n");
    for (args, error) in [
        (&["links", "--clear"][..], "--clear has no effect on this view"),
        (&["errors", "--clear", "-H", "n1"], "--clear works from this host only, without -H"),
        (&["errors", "--clear", "-j"], "--clear lists counters as rows, and JSON has no rows"),
        (&["errors", "--clear", "--watch"], "--clear contradicts --watch"),
    ] {
        let (code, out, errors) = simulator.runs(RDMACTL, &[&["fabric"], args].concat());
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(errors.starts_with(&format!("rdmactl: {error}\n  fix: ")), "{errors}");
    }
}

#[test]
fn a_bad_link_and_a_silent_host_are_named() {
    // The cable of the second host has one lane.
    let host = "b83fd20300100010";
    let mut is_host = false;
    let line = |line: &str| {
        is_host = line.starts_with("Ca") && line.contains(host) || is_host && line.starts_with('[');
        let is_cable =
            line.starts_with('[') && (is_host || line.contains(&format!("\"H-{host}\"")));
        if is_cable { line.replace("4xHDR", "1xHDR") } else { line.to_owned() }
    };
    let bad: Vec<String> = small_tree().lines().map(line).collect();
    let mut simulator = Simulator::start(&(bad.join("\n") + "\n"));
    let _manager = simulator.manage();
    simulator.console("Error \"H-b83fd20300100030\"[1] 100 17");
    let deadline = Deadline::after(Duration::from_secs(10));
    loop {
        let (code, out, errors) = simulator.runs(RDMACTL, &["fabric"]);
        if code == 3 {
            assert!(out.contains("fabric.no_answer"), "{out}");
            assert!(out.contains("the node behind leaf1 port"), "{out}");
            let finding = "is 1X although both ends support 4X";
            assert!(out.contains("fabric.width") && out.contains(finding), "{out}");
            assert!(errors.contains("no NodeInfo: no reply"), "{errors}");
            break;
        }
        assert!(!deadline.is_over(), "the host still answers");
    }
}

#[test]
fn files_of_other_tools_are_fabrics() {
    let simulator = Simulator::start(&fat_tree(4, 3, 4));
    let _manager = simulator.manage();
    let columns = "name,port,peer,peer_port,width,speed";
    let links = |text: &str| {
        let mut links: Vec<String> = text
            .lines()
            .map(|line| {
                let cells: Vec<&str> = line.split(',').collect();
                let (near, far) = (cells[..2].join(":"), cells[2..4].join(":"));
                let (near, far) = if near < far { (near, far) } else { (far, near) };
                format!("{near} {far} {}", cells[4..].join(" "))
            })
            .collect();
        links.sort();
        links
    };
    let live = links(&simulator.fabric(0, &["links", "-f", "csv", "-n", "-o", columns]));
    let (_, netdiscover, _) = simulator.runs("ibnetdiscover", &[]);
    let file = simulator.folder.path().join("netdiscover.txt");
    fs::write(&file, netdiscover).expect("a file");
    for file in [file, simulator.folder.path().join("opensm-subnet.lst")] {
        let file = file.to_str().expect("a path");
        let imported =
            simulator.fabric(0, &["links", "--from", file, "-f", "csv", "-n", "-o", columns]);
        assert_eq!(links(&imported), live, "{file}");
    }
}

#[test]
fn a_node_that_nobody_knows_is_an_error() {
    let simulator = Simulator::start(FABRIC);
    let (code, _, errors) = simulator.runs(RDMACTL, &["fabric", "routes", "node001", "nowhere"]);
    assert_eq!(code, 2, "{errors}");
    assert!(errors.contains("no node is called nowhere"), "{errors}");
    assert!(errors.contains("fix: list the nodes: rdmactl fabric nodes"), "{errors}");
    let (code, out, _) = simulator.runs(RDMACTL, &["fabric"]);
    assert!(code == 0 && out.contains("fabric.no_manager"), "{out}");
}
