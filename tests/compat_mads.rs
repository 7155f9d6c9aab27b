//! `rdmactl compat` for the tools that read one node, a route or subnet administration, against
//! infiniband-diags in simulated fabrics.
//!
//! Every call runs the original and rdmactl; stdout and exit code must be equal. docs/compat.md
//! names the differences, which these tests state one by one.
#![expect(clippy::expect_used, reason = "a test without the simulator fails")]

#[path = "support/ibsim.rs"]
mod ibsim;

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use ibsim::{FABRIC, RDMACTL, Simulator, fat_tree};

/// Counters that the requests of the tools change, and the activity of a subnet manager.
const MOVING: [&str; 5] =
    ["PortXmitData:", "PortRcvData:", "PortXmitPkts:", "PortRcvPkts:", "\t\tActCount"];

/// Returns a line without numbers that differ from run to run.
fn still(line: &str) -> String {
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

fn said(simulator: &Simulator, program: &str, args: &[&str]) -> (i32, String) {
    let (code, out, _) = simulator.runs(program, args);
    (code, out.lines().map(still).collect())
}

/// Runs the original and rdmactl; returns both exit codes with their stdout.
fn both(simulator: &Simulator, call: &str) -> [(i32, String); 2] {
    let words: Vec<&str> = call.split_whitespace().collect();
    let program = format!("/usr/sbin/{}", words[0]);
    let ours = [&["compat"], &words[..]].concat();
    // The original prints the path by which it was started in its messages.
    let (code, theirs) = said(simulator, &program, &words[1..]);
    let theirs = theirs.replace(&format!("{program}: "), &format!("{}: ", words[0]));
    [(code, theirs), said(simulator, RDMACTL, &ours)]
}

/// Compares calls, one a line.
fn compare(simulator: &Simulator, calls: &str) {
    let mut differences = String::new();
    for call in calls.lines().map(str::trim).filter(|call| !call.is_empty()) {
        let [theirs, ours] = both(simulator, call);
        if theirs != ours {
            let _ = writeln!(
                differences,
                "{call}: exit code {}, ours {}\n--- theirs\n{}--- ours\n{}",
                theirs.0, ours.0, theirs.1, ours.1
            );
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn two_hosts_and_a_switch_are_read_as_the_originals_read_them() {
    let simulator = Simulator::start(FABRIC);
    let _manager = simulator.manage();
    // LID 1 is the first host, LID 2 the switch, LID 3 the second host.
    compare(
        &simulator,
        "sminfo\nsminfo 1\nsminfo 3\nsminfo -D 0\nsminfo 99\nsminfo x\nsminfo -s 2 -p 3 -a 4 1
        sminfo -G 0xb83fd20300100001\nsminfo -C nowhere\nsminfo -t 0
        perfquery\nperfquery -x\nperfquery 3\nperfquery 3 1\nperfquery -x 3 1\nperfquery -a
        perfquery -l\nperfquery -a 2\nperfquery -x -a 2\nperfquery -l 2 1-3\nperfquery -a 2 1,2
        perfquery 2 1,2\nperfquery 2 3-1\nperfquery 2 255\nperfquery 99\nperfquery -X 3 1
        perfquery -c 3 1\nperfquery --oprcvcounters 3 1\nperfquery --flowctlcounters 3 1
        perfquery --vlopdata 3 1\nperfquery --vlxmitcounters 3 1\nperfquery --rcvcc 3 1
        perfquery -G 0xb83fd20300100011\nperfquery -G 0x1
        smpquery NI 1\nsmpquery ni 2\nsmpquery ND 1\nsmpquery PI 1\nsmpquery PI 2 1
        smpquery PI 2 99\nsmpquery -K PI 3 1\nsmpquery -x PI 3 1\nsmpquery SI 2\nsmpquery SI 1
        smpquery PKeys 1\nsmpquery PKeys 2\nsmpquery PKeys 2 1\nsmpquery PKeys 1 2
        smpquery SL2VL 1\nsmpquery SL2VL 2 1\nsmpquery SL2VL 2 99\nsmpquery VLArb 1
        smpquery VLArb 2\nsmpquery VLArb 2 1\nsmpquery GI 1\nsmpquery GI 2\nsmpquery MEPI 1 1
        smpquery PIE 1\nsmpquery XX 1\nsmpquery NI 0\nsmpquery NI 70000\nsmpquery NI x
        smpquery -D NI 0\nsmpquery -D NI 0,1\nsmpquery -D NI 0,1,2\nsmpquery -D ND 0,9
        smpquery -G NI 0xb83fd20300a00100\nsmpquery -C ibsim0 -P 1 NI 2\nsmpquery
        ibroute\nibroute 2\nibroute -a 2\nibroute -n 2\nibroute 2 2\nibroute 2 1 2\nibroute 1
        ibroute 99\nibroute -D 0,1\nibroute -M 2\nibroute -M -n 2\nibroute -M -v 2
        ibroute -M -a -n 2 0xc000 0xc003\nibroute -M -a 2 0xc000 0xc003\nibroute -M 2 0x10 0xc003
        ibtracert 1 3\nibtracert 3 1\nibtracert -n 1 3\nibtracert 1 1\nibtracert 1 2
        ibtracert 2 3\nibtracert 2 2\nibtracert -v 1 3\nibtracert 1 99\nibtracert 99 1
        ibtracert -f 1 3\nibtracert 0 1\nibtracert 1\nibtracert --ports-file /nonexistent",
    );
}

#[test]
fn subnet_administration_is_queried_like_the_original() {
    let simulator = Simulator::start(FABRIC);
    let _manager = simulator.manage();
    compare(
        &simulator,
        "saquery\nsaquery -h\nsaquery -V\nsaquery NR\nsaquery NR 1\nsaquery nr 2\nsaquery leaf001
        saquery NR 99\nsaquery NR nowhere\nsaquery NR 0\nsaquery NR /1\nsaquery -C nowhere
        saquery -D\nsaquery -N\nsaquery -N leaf001\nsaquery -s\nsaquery -g\nsaquery -m
        saquery -m 0xc000\nsaquery -m 0xc001\nsaquery -p --slid 1 --dlid 3
        saquery --slid 1 --dlid 3 PR\nsaquery --src-to-dst 1:3\nsaquery --src-to-dst leaf001:3
        saquery --src-to-dst 1\nsaquery --sgid-to-dgid fe80::b83f:d203:10:1-fe80::b83f:d203:10:11
        saquery --sgid-to-dgid fe80::1\nsaquery --sgid x PR\nsaquery -p -n 1 --slid 1 --dlid 3
        saquery -p -r 1 --slid 1 --dlid 3\nsaquery -p --pkey 0xffff --slid 1 --dlid 3
        saquery -p --sl 0 --slid 1 --dlid 3\nsaquery -p --sl 3 --slid 1 --dlid 3
        saquery LR 1/1\nsaquery LR 2/2 3/1\nsaquery LR 1/1 3/1\nsaquery SWIR\nsaquery SWIR 2
        saquery SWIR 1\nsaquery CPI\nsaquery -c\nsaquery PIR 1\nsaquery PIR 2/1\nsaquery PIR 2/9
        saquery -K PIR 1\nsaquery SMIR\nsaquery SMIR 1\nsaquery SMIR 3\nsaquery -L\nsaquery -L leaf001
        saquery -L nowhere\nsaquery -l leaf001\nsaquery -G leaf001\nsaquery -O 2\nsaquery -O 0
        saquery -O\nsaquery -U 0xb83fd20300a00100\nsaquery -U\nsaquery -q",
    );
}

#[test]
fn a_fat_tree_is_read_as_the_originals_read_it() {
    // 25 nodes: tables of several switches, and routes of up to 4 hops.
    let simulator = Simulator::start(&fat_tree(2, 3, 6));
    let _manager = simulator.manage();
    let pairs = simulator.folder.path().join("pairs");
    fs::write(&pairs, "# pairs\n\n1 5\n  7 20\n").expect("a file");
    let pairs = pairs.display().to_string();
    let map = simulator.folder.path().join("names");
    fs::write(&map, "0xb83fd20300a00000 \"rack 1\"\n").expect("a file");
    let map = map.display().to_string();
    let mut calls = format!("ibtracert --ports-file {pairs}\n");
    for lid in (1..=23).step_by(3) {
        let _ = write!(
            calls,
            "smpquery NI {lid}\nsmpquery PI {lid} 1\nibtracert 1 {lid}\nibtracert -n {lid} 5\n\
             ibroute -n {lid}\nsmpquery --node-name-map {map} ND {lid}\n"
        );
    }
    for path in ["0,1", "0,1,1", "0,1,1,2", "0,1,2"] {
        let _ = write!(
            calls,
            "ibroute -D {path}\nibroute -M -D {path}\nsmpquery -D SI {path}\n\
             smpquery -D PI {path} 3\nsmpquery -D SL2VL {path} 2\nibroute -a -n -D {path}\n\
             ibroute --node-name-map {map} -D {path}\n"
        );
    }
    compare(&simulator, &calls);
}

#[test]
fn the_last_lid_of_a_table_is_printed_although_the_original_leaves_it_out() {
    // 72 nodes: the table has more than one block.
    let simulator = Simulator::start(&fat_tree(2, 4, 16));
    let _manager = simulator.manage();
    compare(&simulator, "ibroute -n -D 0,1\nibroute -D 0,1 60 70\nibroute -n -D 0,1 64");
    let [(_, theirs), (code, ours)] = both(&simulator, "ibroute -n -D 0,1 60 64");
    assert_eq!(code, 0);
    assert!(!theirs.contains("\n0x0040 ") && theirs.ends_with("\n4 valid lids dumped \n"));
    assert!(ours.contains("\n0x0040 ") && ours.ends_with("\n5 valid lids dumped \n"), "{ours}");
}

#[test]
fn a_node_that_does_not_reply_fails_as_in_the_originals() {
    let mut simulator = Simulator::start(FABRIC);
    let _manager = simulator.manage();
    // Every request to the second host is lost.
    simulator.console("Error \"H-b83fd20300100010\"[1] 100");
    std::thread::park_timeout(Duration::from_millis(300));
    compare(
        &simulator,
        "sminfo 3\nperfquery 3\nperfquery -x 3 1\nsmpquery NI 3\nsmpquery ND 3\nsmpquery PI 3
        smpquery PKeys 3\nsmpquery -D NI 0,1,2\nibroute 3\nibroute 2\nibroute -D 0,1
        ibtracert 1 3\nibtracert 3 1\nibtracert 1 2",
    );
    let (_, table) = said(&simulator, RDMACTL, &["compat", "ibroute", "2"]);
    assert!(table.contains("0x0003 002 : (unknown node and type)\n"), "{table}");
}

#[test]
fn errors_are_read_as_the_original_reads_them_and_not_cleared() {
    let mut simulator = Simulator::start(FABRIC);
    let _manager = simulator.manage();
    let inject = |simulator: &mut Simulator| {
        for (node, port, counter) in [
            ("S-b83fd20300a00100", 2, "PortCounters.SymbolErrorCounter=65535"),
            ("S-b83fd20300a00100", 1, "PortCounters.SymbolErrorCounter=9"),
            ("S-b83fd20300a00100", 2, "PortCounters.LinkDownedCounter=7"),
            ("S-b83fd20300a00100", 1, "PortCounters.LinkDownedCounter=250"),
            ("S-b83fd20300a00100", 2, "PortCounters.LocalLinkIntegrityErrors=15"),
            ("H-b83fd20300100010", 1, "PortCounters.PortXmitWait=5000"),
            ("S-b83fd20300a00100", 2, "PortXmitDiscardDetails.PortNeighborMTUDiscards=77"),
            ("S-b83fd20300a00100", 2, "PortRcvErrorDetails.PortMalformedPacketErrors=88"),
            ("S-b83fd20300a00100", 2, "PortVLOpPackets.PortVLOpPackets3=44"),
        ] {
            simulator.console(&format!("PerformanceSet \"{node}\"[{port}] {counter}"));
        }
        std::thread::park_timeout(Duration::from_millis(300));
    };
    inject(&mut simulator);
    // The sum of two ports stops at the largest number of a counter.
    compare(
        &simulator,
        "perfquery 2 2\nperfquery 3 1\nperfquery -a 2 1,2\nperfquery -a 2\nperfquery -l 2 1-2
        perfquery -l -a 2\nperfquery -D 2 2\nperfquery -E 2 2\nperfquery --vloppackets 2 2",
    );
    let (_, sum) = said(&simulator, RDMACTL, &["compat", "perfquery", "-a", "2", "1,2"]);
    assert!(sum.contains("SymbolErrorCounter:..............65535\n"), "{sum}");
    assert!(sum.contains("LinkDownedCounter:...............255\n"), "{sum}");
    for reset in ["-R", "-r"] {
        let output = simulator.runs(RDMACTL, &["compat", "perfquery", reset, "2", "2"]);
        assert_eq!((output.0, output.1.as_str()), (2, ""));
        assert!(output.2.contains("rdmactl fabric errors --clear"), "{}", output.2);
    }
}
