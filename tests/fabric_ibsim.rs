//! Management datagrams (MADs) in a fabric that ibsim simulates: requests in flight, replies,
//! missing replies and ibping.
//!
//! The library of ibsim replaces functions of the C library. So each test runs this binary again
//! with the library of ibsim preloaded.
#![expect(clippy::expect_used, reason = "a test without the simulator fails")]

#[path = "support/ibsim.rs"]
mod ibsim;

use std::collections::{BTreeSet, HashMap};
use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ibsim::{FABRIC, INSIDE, Simulator, fat_tree, preload};
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

fn port(window: usize) -> MadPort {
    let path = Path::new("/dev/infiniband/umad0");
    let port = UmadPort::open(path, HeaderSize::Old).expect("a port");
    let limits = MadLimits { window, timeout: Duration::from_millis(200), retries: 0 };
    MadPort::new(port, limits)
}

/// Returns the directed route through output ports.
fn path(ports: &[u8]) -> DirectedPath {
    let step = |path: DirectedPath, port: &u8| path.through(*port).expect("a short route");
    ports.iter().fold(DirectedPath::own(), step)
}

/// Waits for the replies to all requests.
fn answers(port: &mut MadPort) -> HashMap<MadTicket, MadAnswer> {
    let mut answers = HashMap::new();
    while let Some((ticket, answer)) = port.next_answer().expect("a port") {
        assert!(answers.insert(ticket, answer).is_none(), "a second answer to {ticket:?}");
    }
    answers
}

fn attribute<A: rdmactl::mad::MadAttribute>(answer: &MadAnswer) -> A {
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

/// Nodes as `GUID KIND NAME`, and links as `GUID[PORT] GUID[PORT]`, with the smaller GUID first.
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
    is_swept_like_ibnetdiscover("a_sweep_finds_the_nodes_and_links_of_ibnetdiscover", 8, 15, 20);
}

#[test]
fn a_sweep_of_two_hosts_is_that_of_ibnetdiscover() {
    is_swept_like_ibnetdiscover("a_sweep_of_two_hosts_is_that_of_ibnetdiscover", 0, 1, 2);
}

#[test]
fn a_sweep_of_2000_hosts_is_that_of_ibnetdiscover() {
    is_swept_like_ibnetdiscover("a_sweep_of_2000_hosts_is_that_of_ibnetdiscover", 8, 100, 20);
}

/// Sweeps a fat tree with both programs and compares their nodes and links.
fn is_swept_like_ibnetdiscover(test: &str, spines: usize, leaves: usize, hosts: usize) {
    if env::var_os(INSIDE).is_none() {
        return Simulator::start(&fat_tree(spines, leaves, hosts)).run(test);
    }
    let theirs = Command::new("ibnetdiscover").output().expect("infiniband-diags");
    let theirs = parts_of_ibnetdiscover(&String::from_utf8_lossy(&theirs.stdout));
    let fabric = sweep(&mut port(32)).expect("a fabric");
    let ours = parts(&fabric);
    assert_eq!(ours.0.len(), spines + leaves + leaves * hosts);
    assert_eq!(ours.1.len(), spines * leaves + leaves * hosts);
    assert_eq!(ours, theirs);
    assert_eq!(fabric.unanswered, []);
    let first = &fabric.nodes[0];
    assert_eq!((first.kind, first.route.as_deref()), (FabricNodeKind::Ca, Some(&[][..])));
    assert!(
        fabric.nodes.iter().all(|node| node.route.as_ref().is_some_and(|route| route.len() <= 4)),
        "the shortest way is found first"
    );
    let leaf = fabric.nodes.iter().find(|node| node.name.as_deref() == Some("leaf0"));
    let leaf = leaf.expect("a leaf switch");
    assert_eq!(leaf.ports.len(), usize::from(leaf.port_count) + 1);
    let last = leaf.port(leaf.port_count).map(|port| (port.physical_state, port.peer));
    assert_eq!(last, Some((2, None)));
}

#[test]
fn a_node_that_does_not_answer_is_listed_and_the_rest_is_found() {
    if env::var_os(INSIDE).is_none() {
        let mut simulator = Simulator::start(FABRIC);
        // ibsim drops the NodeInfo of the second host.
        simulator.console("Error \"H-b83fd20300100010\"[1] 100 17");
        return simulator.run("a_node_that_does_not_answer_is_listed_and_the_rest_is_found");
    }
    let fabric = sweep(&mut port(32)).expect("a fabric");
    let names: Vec<&str> = fabric.nodes.iter().filter_map(|node| node.name.as_deref()).collect();
    assert_eq!(names, ["node001 HCA-1", "leaf001"]);
    let unanswered: Vec<_> =
        fabric.unanswered.iter().map(|one| (&one.route[..], &*one.attribute)).collect();
    assert_eq!(unanswered, [(&[1, 2][..], "NodeInfo")]);
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

/// Configures the subnet in place of a subnet manager: sets LIDs, port states and the forwarding
/// table of the switch.
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

/// Child process that is killed when the value is dropped.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a command that runs a program as a host of the fabric.
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

/// Prints a line for the test that started this process.
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
        // On a busy machine a server may end before it is attached to the simulator.
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

/// Two other tests run this test to set the LIDs.
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
        // The client must not start before the server: its first request would be lost.
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
