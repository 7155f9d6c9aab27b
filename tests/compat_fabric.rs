//! `rdmactl compat` for the tools of the fabric against infiniband-diags, in simulated fabrics.
//!
//! Each test starts ibsim and opensm, runs the original and rdmactl, and compares stdout and exit code.
//! docs/compat.md names the differences, which the tests state one by one.
#![expect(clippy::expect_used, reason = "a test without the simulator fails")]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rdmactl::clock::Deadline;

/// Host from which the tools run.
const HOST: &str = "H-b83fd20300100000";

/// A simulated fabric with a subnet manager.
struct Fabric {
    simulator: Child,
    manager: Option<Child>,
    folder: tempfile::TempDir,
    socket: String,
}

impl Fabric {
    fn start(net: &str) -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let file = folder.path().join("net");
        fs::write(&file, net).expect("a file");
        let socket = format!("compat-{}", folder.path().display()).replace('/', "-");
        let mut simulator = Command::new("ibsim")
            .args(["-s".as_ref(), file.as_os_str()])
            .current_dir(folder.path())
            .env("IBSIM_SOCKNAME", &socket)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("ibsim runs (package ibsim-utils)");
        let mut lines = BufReader::new(simulator.stdout.take().expect("its output")).lines();
        let is_ready = |line: String| line.contains("simulator ready");
        assert!(lines.by_ref().map_while(Result::ok).any(is_ready), "ibsim ended early");
        // ibsim ends if nobody reads its output.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let mut fabric = Self { simulator, manager: None, folder, socket };
        let manager = fabric
            .program("opensm", &["-e", "-f", "osm.log"])
            .env("OSM_TMP_DIR", fabric.folder.path())
            .env("OSM_CACHE_DIR", fabric.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("opensm runs (package opensm)");
        fabric.manager = Some(manager);
        let done = fabric.folder.path().join("opensm-subnet.lst");
        let until = Deadline::after(Duration::from_secs(60));
        while !fs::metadata(&done).is_ok_and(|file| file.len() > 0) {
            assert!(!until.is_over(), "opensm did not configure the subnet");
            std::thread::park_timeout(Duration::from_millis(50));
        }
        fabric
    }

    /// Types a command at the console of the simulator.
    fn console(&mut self, command: &str) {
        let console = self.simulator.stdin.as_mut().expect("a console");
        writeln!(console, "{command}").and_then(|()| console.flush()).expect("a console");
    }

    fn program(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("IBSIM_SOCKNAME", &self.socket)
            .env("SIM_HOST", HOST)
            .env("PATH", format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()))
            .env("LD_PRELOAD", preload());
        command
    }

    /// Runs a program; its output without times and counters that move, and its exit code.
    fn said(&self, program: &str, arguments: &[&str]) -> (String, Option<i32>) {
        let output = self.program(program, arguments).stdin(Stdio::null()).output();
        let output = output.expect("the program runs (package infiniband-diags)");
        let text = String::from_utf8_lossy(&output.stdout);
        (text.lines().map(still).collect(), output.status.code())
    }

    fn ours(&self, words: &[&str]) -> (String, Option<i32>) {
        self.said(env!("CARGO_BIN_EXE_rdmactl"), &[&["compat"], words].concat())
    }

    /// Compares calls, each in one line.
    fn compare(&self, calls: &str) {
        let mut differences = String::new();
        for call in calls.lines().map(str::trim).filter(|call| !call.is_empty()) {
            let words: Vec<&str> = call.split_whitespace().collect();
            let (theirs, ours) = (self.said(words[0], &words[1..]), self.ours(&words));
            if theirs != ours {
                let _ = writeln!(
                    differences,
                    "{call}: exit code {:?}, ours {:?}\n--- theirs\n{}--- ours\n{}",
                    theirs.1, ours.1, theirs.0, ours.0
                );
            }
        }
        assert!(differences.is_empty(), "{differences}");
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        for process in self.manager.iter_mut().chain([&mut self.simulator]) {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Returns a line without what differs from run to run: the time, and counters of our own requests.
fn still(line: &str) -> String {
    const MOVING: [&str; 4] = ["PortXmitData:", "PortRcvData:", "PortXmitPkts:", "PortRcvPkts:"];
    if line.starts_with("# Topology file: generated on ") {
        return "# Topology file\n".into();
    }
    if let Some(name) = MOVING.iter().find(|name| line.starts_with(**name)) {
        return format!("{name}\n");
    }
    match line.split_once(", activity count ") {
        Some((before, after)) => {
            let after = after.split_once(' ').map_or("", |(_, after)| after);
            format!("{before} {after}\n")
        }
        None => format!("{line}\n"),
    }
}

fn preload() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").expect("libraries").flatten();
    let library = |folder: fs::DirEntry| folder.path().join("umad2sim/libumad2sim.so");
    folders.map(library).find(|path| path.exists()).expect("the package ibsim-utils")
}

/// Leaf switches with hosts, each with a cable to every spine switch, in the form of `ibnetdiscover`.
fn net(spines: u64, leaves: u64, hosts: u64) -> String {
    let spine = |at: u64| format!("{:016x}", 0xb83f_d203_00b0_0000 + at * 0x100);
    let leaf = |at: u64| format!("{:016x}", 0xb83f_d203_00a0_0000 + at * 0x100);
    let host = |at: u64| format!("{:016x}", 0xb83f_d203_0010_0000 + at * 0x10);
    let port = |at: u64| format!("{:016x}", 0xb83f_d203_0010_0001 + at * 0x10);
    let switch = |guid: &str, name: &str, lines: &[String]| {
        format!(
            "vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x{guid}\nswitchguid=0x{guid}({guid})\n\
             Switch\t40 \"S-{guid}\"\t\t# \"{name}\" enhanced port 0 lid 0 lmc 0\n{}\n\n",
            lines.join("\n")
        )
    };
    let mut text = String::new();
    for at in 0..spines {
        let cable =
            |to| format!("[{}]\t\"S-{}\"[{}]\t\t# \"\" lid 0 4xHDR", to + 1, leaf(to), at + 1);
        text +=
            &switch(&spine(at), &format!("spine{at}"), &(0..leaves).map(cable).collect::<Vec<_>>());
    }
    for at in 0..leaves {
        let up =
            |to| format!("[{}]\t\"S-{}\"[{}]\t\t# \"\" lid 0 4xHDR", to + 1, spine(to), at + 1);
        let down = |to| {
            let number = at * hosts + to;
            let (host, port, cable) = (host(number), port(number), spines + to + 1);
            format!("[{cable}]\t\"H-{host}\"[1]({port})\t\t# \"\" lid 0 4xHDR")
        };
        let lines: Vec<String> = (0..spines).map(up).chain((0..hosts).map(down)).collect();
        text += &switch(&leaf(at), &format!("leaf{at}"), &lines);
    }
    for at in 0..leaves * hosts {
        let (guid, port, leaf) = (host(at), port(at), leaf(at / hosts));
        let cable = spines + at % hosts + 1;
        let _ = write!(
            text,
            "vendid=0x2c9\ndevid=0x101b\nsysimgguid=0x{guid}\ncaguid=0x{guid}\n\
             Ca\t1 \"H-{guid}\"\t\t# \"node{at} HCA-1\"\n\
             [1]({port})\t\"S-{leaf}\"[{cable}]\t\t# lid 0 lmc 0 \"\" lid 0 4xHDR\n\n"
        );
    }
    text
}

#[test]
fn two_hosts_and_a_switch_are_shown_as_the_originals_show_them() {
    let fabric = Fabric::start(&net(0, 1, 2));
    fabric.compare(
        "ibnetdiscover\nibnetdiscover -f -m\nibnetdiscover -p\nibnetdiscover -l\nibnetdiscover -H
        ibnetdiscover -S\nibnetdiscover -R\nibnetdiscover -s\nibnetdiscover -h\nibnetdiscover -V
        ibnetdiscover -q\nibnetdiscover -t 0\nibnetdiscover -C nowhere\nibhosts\nibswitches
        ibhosts -h\nibswitches -P 1 -t 100\nibhosts --nope\nsminfo\nsminfo 1\nsminfo -D 0\nsminfo 0
        sminfo -h\nsminfo -C nowhere\nsmpquery NI 1\nsmpquery ND 2\nsmpquery PI 2 1\nsmpquery PI 1
        smpquery -K PI 1 1\nsmpquery -D PI 0,1 2\nsmpquery PIE 2 1\nsmpquery SI 2\nsmpquery SI 1
        smpquery PKeys 1\nsmpquery PKeys 2 1\nsmpquery PKeys 2 99\nsmpquery SL2VL 2 1
        smpquery SL2VL 1\nsmpquery VLArb 2 1\nsmpquery VLArb 1 1\nsmpquery GI 1\nsmpquery MEPI 1 1
        smpquery FOO 1\nsmpquery NI\nsmpquery -h",
    );
}

#[test]
fn a_fat_tree_is_shown_as_the_originals_show_it() {
    let fabric = Fabric::start(&net(2, 4, 3));
    fabric.compare(
        "ibnetdiscover -m\nibnetdiscover -p\nibnetdiscover -s\nibhosts\nibswitches\niblinkinfo
        iblinkinfo -l\niblinkinfo -d\niblinkinfo -p\niblinkinfo -lp --switches-only
        iblinkinfo --cas-only\niblinkinfo -D 0,1\niblinkinfo -h\nperfquery\nperfquery -x
        perfquery -a 1\nperfquery -l -a 1\nperfquery 2 3-1\nperfquery -D 2 1\nperfquery -E 2 1
        perfquery --vloppackets 2 1\nperfquery --vlxmitflowctlerrors 2 1\nperfquery -h
        ibqueryerrors\nibqueryerrors -c\nibqueryerrors -h\nibroute 1\nibroute -D 0,1
        ibroute -n -D 0,1\nibroute -a -D 0,1\nibroute -D 0,1 2 3\nibroute\nibtracert 1 2
        ibtracert 1 5\nibtracert -n 5 9\nibtracert 9 1\nibtracert 1 1\nibtracert\nibtracert -h",
    );
}

#[test]
fn a_node_that_does_not_answer_is_left_out_as_the_originals_do() {
    let mut fabric = Fabric::start(&net(1, 2, 3));
    // NodeInfo of a host is dropped.
    fabric.console("Error \"H-b83fd20300100010\"[1] 100 17");
    std::thread::park_timeout(Duration::from_millis(300));
    fabric.compare(
        "ibnetdiscover\nibnetdiscover -m\nibnetdiscover -p\niblinkinfo\nibhosts\nibqueryerrors",
    );
    let (hosts, _) = fabric.ours(&["ibhosts"]);
    assert!(!hosts.contains("node1 ") && hosts.contains("node2 "), "{hosts}");
}

#[test]
fn errors_are_counted_as_the_originals_count_them() {
    let mut fabric = Fabric::start(&net(1, 2, 3));
    for (node, port, counter) in [
        ("S-b83fd20300a00000", 2, "PortCounters.SymbolErrorCounter=65535"),
        ("S-b83fd20300a00000", 2, "PortCounters.LinkDownedCounter=7"),
        ("H-b83fd20300100020", 1, "PortCounters.PortXmitWait=5000"),
        ("S-b83fd20300a00100", 3, "PortCounters.PortXmitDiscards=5"),
        ("S-b83fd20300a00100", 3, "PortXmitDiscardDetails.PortNeighborMTUDiscards=77"),
    ] {
        fabric.console(&format!("PerformanceSet \"{node}\"[{port}] {counter}"));
    }
    std::thread::park_timeout(Duration::from_millis(300));
    fabric.compare(
        "ibqueryerrors\nibqueryerrors -r\nibqueryerrors -c -s SymbolErrorCounter\nibqueryerrors --ca
        ibqueryerrors --switch\nibqueryerrors --threshold-file /nonexistent",
    );
    let (report, code) = fabric.ours(&["ibqueryerrors"]);
    assert_eq!(code, Some(1));
    assert!(report.contains("[SymbolErrorCounter == 65535] [LinkDownedCounter == 7]"), "{report}");
    // The original decodes these details with the names of another attribute.
    let (details, _) = fabric.ours(&["ibqueryerrors", "--details"]);
    let expected = "[PortXmitDiscards == 5] [PortNeighborMTUDiscards == 77]";
    assert!(details.contains(expected), "{details}");
}

#[test]
fn an_option_that_is_not_offered_ends_with_the_command_that_has_the_facts() {
    for (call, option, fix) in [
        (&["ibnetdiscover", "--cache", "x"][..], "--cache", "rdmactl fabric --save FILE"),
        (&["perfquery", "-T"], "--extended_speeds", "rdmactl fabric errors"),
        (&["sminfo", "1", "2"], "modifier 2", "rdmactl changes no subnet manager"),
        (&["ibtracert", "-m", "0xc000", "1", "2"], "--mlid", "compat ibroute -M SWITCH"),
        (&["smpquery", "-c", "NI", "1", "0,1"], "--combined", "smpquery -D"),
        (&["saquery", "LFTR"], "LFTRecord", "rdmactl compat ibroute LID"),
        (&["saquery", "--mtu", "4", "PR"], "--mtu", "saquery then prints all records"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_rdmactl")).arg("compat").args(call).output();
        let output = output.expect("rdmactl runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{call:?}");
        assert!(
            output.stdout.is_empty() && errors.contains(option) && errors.contains(fix),
            "{errors}"
        );
    }
}
