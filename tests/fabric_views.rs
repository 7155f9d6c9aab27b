//! The views of `rdmactl fabric` in fabrics that ibsim simulates, compared with infiniband-diags.
#![expect(clippy::expect_used, reason = "a test without the simulator fails")]

#[path = "support/ibsim.rs"]
mod ibsim;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::time::Duration;

use ibsim::{FABRIC, RDMACTL, Simulator, fat_tree};
use rdmactl::clock::Deadline;

/// Returns a fat tree with two spine switches, two leaf switches and two hosts per leaf switch.
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
fn saved_sweep_prints_the_output_of_the_live_sweep() {
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
        // Only stderr has values that change: the activity of the subnet manager and the process
        // id.
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
        // A hop is `[4] -> switch port {0x…}[1] lid 2-2 "leaf0"`. The lines of the ends do not
        // begin with `[`.
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
    // A line is `   GUID 0x… port 1: [SymbolErrorCounter == 65535] […]`. The sums of all ports do
    // not count.
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
            // ibqueryerrors prints the port GUID of an adapter. The node GUID is smaller by one.
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
    // ibqueryerrors --details exchanges the names of these two counters (docs/compat.md).
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
    let (code, out, _) = listed(&simulator, &["-w", "node=nowhere"]);
    assert_eq!((code, out.as_str()), (0, ""), "errors of other nodes are not listed");
    let filter = ["-w", "counter!=LinkDownedCounter", "--clear"];
    let (code, out, errors) = listed(&simulator, &filter);
    assert_eq!((code, out), (1, all.replace("LinkDownedCounter,5\n", "")), "{errors}");
    assert_eq!(errors, "rdmactl: cleared 3 of 3 listed counters\n");
    assert_eq!(listed(&simulator, &[]).1, "LinkDownedCounter,5\n");
    for (args, error) in [
        (&["links", "--clear"][..], "--clear has no effect on this view"),
        (&["links", "--format", "dot"], "--format tree and --format dot draw the whole subnet"),
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
fn a_bad_link_and_an_unresponsive_host_are_named() {
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
        for view in [&["errors"][..], &["sm"], &["partitions"], &["routes", "node1", "node2"]] {
            let arguments = [&["fabric"], view, &["--from", file]].concat();
            let (code, out, errors) = simulator.runs(RDMACTL, &arguments);
            assert_eq!((code, out.as_str()), (2, ""), "{view:?}");
            assert!(errors.contains(": a file of this kind has no "), "{errors}");
        }
        let imported =
            simulator.fabric(0, &["links", "--from", file, "-f", "csv", "-n", "-o", columns]);
        assert_eq!(links(&imported), live, "{file}");
    }
}

#[test]
fn an_unknown_node_is_an_error() {
    let simulator = Simulator::start(FABRIC);
    for format in ["table", "json", "ndjson"] {
        let arguments = ["fabric", "routes", "node001", "nowhere", "--format", format];
        let (code, _, errors) = simulator.runs(RDMACTL, &arguments);
        assert_eq!(code, 2, "{format}: {errors}");
        assert!(errors.contains("no node is called nowhere"), "{format}: {errors}");
        assert!(errors.contains("fix: list the nodes: rdmactl fabric nodes"), "{errors}");
    }
    let (code, out, _) = simulator.runs(RDMACTL, &["fabric"]);
    assert!(code == 0 && out.contains("fabric.no_manager"), "{out}");
}

/// Returns the links in the output of `iblinkinfo -l`: both ends as `NAME[PORT]`, width and
/// state.
fn links_of_iblinkinfo(text: &str) -> BTreeSet<String> {
    let mut links = BTreeSet::new();
    for line in text.lines().filter(|line| line.contains(" Gbps ")) {
        let quoted: Vec<&str> = line.split('"').collect();
        let [_, near, middle, far, ..] = quoted[..] else { unreachable!("{line}") };
        let (near_port, rest) = middle.split_once("==(").expect("an arrow");
        let (link, far_port) = rest.split_once(")==>").expect("the end of the arrow");
        let port = |text: &str| {
            let words = text.split('[').next().unwrap_or_default();
            words.split_whitespace().last().unwrap_or_default().to_owned()
        };
        let words: Vec<&str> = link.split_whitespace().collect();
        let [width, speed, _, state, physical] = words[..] else { unreachable!("{line}") };
        let ends = [(near.trim(), port(near_port)), (far, port(far_port))];
        links.insert(link_text(ends, [width, speed, &format!("{state} {physical}")]));
    }
    links
}

fn link_text(ends: [(&str, String); 2], link: [&str; 3]) -> String {
    let mut ends = ends.map(|(name, port)| format!("{name}[{port}]"));
    ends.sort();
    format!("{} {} {}", ends[0], ends[1], link.join(" "))
}

#[test]
fn links_are_those_of_iblinkinfo() {
    let simulator = Simulator::start(&fat_tree(4, 3, 4));
    let _manager = simulator.manage();
    let columns = "name,port,peer,peer_port,width,speed,state";
    let ours = simulator.fabric(0, &["links", "-f", "csv", "-n", "-o", columns]);
    let ours: BTreeSet<String> = ours
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let [name, port, peer, peer_port, width, speed, state] = cells[..] else {
                panic!("{line}")
            };
            let speed = if speed == "HDR" { "53.125" } else { speed };
            let state = if state == "active" { "Active/ LinkUp" } else { state };
            let ends = [(name, port.to_owned()), (peer, peer_port.to_owned())];
            link_text(ends, [width, speed, state])
        })
        .collect();
    let (code, theirs, _) = simulator.runs("iblinkinfo", &["-l"]);
    assert_eq!((code, ours.len()), (0, 4 * 3 + 3 * 4));
    assert_eq!(ours, links_of_iblinkinfo(&theirs));
}

/// Returns the fields of a dump: `Name:....value`, `name....value`.
fn fields(text: &str) -> BTreeMap<String, String> {
    let field = |line: &str| {
        let (name, value) = line.trim().split_once("..")?;
        Some((name.trim_end_matches(':').to_owned(), value.trim_start_matches('.').to_owned()))
    };
    text.lines().filter_map(field).collect()
}

#[test]
fn counters_are_those_of_perfquery() {
    let mut simulator = Simulator::start(&small_tree());
    let _manager = simulator.manage();
    let port = "\"S-b83fd20300a00000\"[2]";
    for (counter, value) in [
        ("PortCounters.SymbolErrorCounter", 65_535),
        ("PortCounters.LinkDownedCounter", 3),
        ("PortCounters.PortXmitDiscards", 9),
        ("PortCounters.VL15Dropped", 2),
    ] {
        simulator.console(&format!("PerformanceSet {port} {counter}={value}"));
    }
    let leaf = simulator
        .fabric(0, &["nodes", "-f", "csv", "-n", "-o", "lid", "-w", "guid=='b83f:d203:00a0:0000'"]);
    let listed = || {
        let (_, out, _) = simulator.runs(
            RDMACTL,
            &[
                "counters",
                "--fabric",
                "--all",
                "-f",
                "csv",
                "-n",
                "-o",
                "counter,value",
                "-w",
                "guid=='b83f:d203:00a0:0000' and port==2",
            ],
        );
        let counters = out.lines().filter_map(|line| line.split_once(','));
        let counters = counters.map(|(name, value)| (name.to_owned(), value.to_owned()));
        counters.collect::<BTreeMap<String, String>>()
    };
    let deadline = Deadline::after(Duration::from_secs(10));
    while listed().get("VL15Dropped").is_none_or(|value| value != "2") {
        assert!(!deadline.is_over(), "the counters do not appear");
    }
    let before = fields(&simulator.runs("perfquery", &[leaf.trim(), "2"]).1);
    let ours = listed();
    let after = fields(&simulator.runs("perfquery", &[leaf.trim(), "2"]).1);
    assert!(before.len() > 20, "{before:?}");
    // libibmad reads QP1Dropped from the bytes of VL15Dropped.
    let others = ["PortSelect", "CounterSelect", "CounterSelect2", "QP1Dropped"];
    for (name, first) in before.iter().filter(|(name, _)| !others.contains(&name.as_str())) {
        let value = |text: &str| text.parse::<u64>().expect("a number");
        // Traffic increases the counters between two reads. perfquery prints words of 4 bytes.
        let factor = if name.ends_with("Data") { 4 } else { 1 };
        let (first, last) = (value(first) * factor, value(&after[name]) * factor);
        let own = ours.get(name).unwrap_or_else(|| panic!("{name} is missing: {ours:?}"));
        assert!((first..=last).contains(&value(own)), "{name}: {first} {own} {last}");
    }
    assert_eq!(before["SymbolErrorCounter"], "65535");
}

#[test]
fn nodes_are_those_of_saquery() {
    let simulator = Simulator::start(&small_tree());
    let _manager = simulator.manage();
    let nodes = simulator.fabric(0, &["nodes", "-f", "csv", "-n", "-o", "lid,guid,name,ports"]);
    assert_eq!(nodes.lines().count(), 8);
    for node in nodes.lines() {
        let cells: Vec<&str> = node.split(',').collect();
        let [lid, guid, name, ports] = cells[..] else { panic!("{node}") };
        let (code, out, errors) = simulator.runs("saquery", &[lid]);
        let record = fields(&out);
        assert_eq!(code, 0, "{errors}");
        assert_eq!(record["lid"], lid);
        assert_eq!(record["node_guid"], format!("0x{}", guid.replace(':', "")));
        assert_eq!((&*record["NodeDescription"], &*record["num_ports"]), (name, ports));
    }
}

#[test]
fn the_subnet_manager_is_the_one_of_sminfo_also_after_a_move() {
    let simulator = Simulator::start(&small_tree());
    let master = || {
        let text = simulator.fabric(0, &["sm", "-f", "csv", "-n", "-o", "lid,guid,state"]);
        let (code, theirs, errors) = simulator.runs("sminfo", &[]);
        assert_eq!(code, 0, "{errors}");
        // `sminfo: sm lid 1 sm guid 0x…, activity count 85 priority 0 state 3 SMINFO_MASTER`
        let words: Vec<&str> = theirs.split([' ', ',']).collect();
        let guid = text.split(',').nth(1).expect("a GUID").replace(':', "");
        let ours: Vec<&str> = text.trim().split(',').collect();
        assert_eq!((ours[0], format!("0x{guid}").as_str()), (words[3], words[6]), "{text}{theirs}");
        assert_eq!((ours[2], text.lines().count()), ("master", 1), "{text}");
        guid
    };
    let manager = simulator.manage();
    assert_eq!(master(), "b83fd20300100001");
    drop(manager);
    let _manager = simulator.manage_at("H-b83fd20300100030", "second");
    assert_eq!(master(), "b83fd20300100031");
    let out = simulator.fabric(0, &[]);
    assert!(out.contains(" node3 HCA-1 ") && out.lines().count() == 2, "no finding: {out}");
}

/// Returns a fat tree with four leaf switches. The cables for which `is_bad` is true have one
/// lane.
fn tree_with_bad_cables(is_bad: impl Fn(&str, &str) -> bool) -> String {
    let mut node = String::new();
    let line = |line: &str| {
        let quoted: Vec<&str> = line.split('"').collect();
        match quoted[..] {
            [_, id, ..] if !line.starts_with('[') => id.clone_into(&mut node),
            [_, far, ..] if is_bad(&node, far) || is_bad(far, &node) => {
                return line.replace("4xHDR", "1xHDR");
            }
            _ => {}
        }
        line.to_owned()
    };
    let lines: Vec<String> = fat_tree(4, 4, 4).lines().map(line).collect();
    lines.join("\n") + "\n"
}

/// Runs a simulated ping of the same hosts and leaf switches with a fault. Returns its output.
fn simulated_ping(simulator: &Simulator, fault: &str) -> String {
    let leaves = (0..4).map(|leaf| format!("leaf leaf{leaf} node[{}-{}]", leaf * 4, leaf * 4 + 3));
    let leaves = leaves.collect::<Vec<_>>().join("\n");
    let file = simulator.folder.path().join("ping.txt");
    fs::write(&file, format!("hosts node[0-15]\n{leaves}\nnoise 2%\nfault {fault}\n"))
        .expect("a file");
    let (code, out, errors) =
        simulator.runs(RDMACTL, &["ping", "--simulate", file.to_str().expect("a path")]);
    // A slow pair is not a failed pair.
    assert_eq!(code, 0, "{out}{errors}");
    out
}

#[test]
fn a_bad_leaf_switch_is_named_by_fabric_and_by_ping() {
    let leaf = "S-b83fd20300a00200";
    let is_bad = |near: &str, far: &str| near == leaf && far.starts_with("S-");
    let simulator = Simulator::start(&tree_with_bad_cables(is_bad));
    let _manager = simulator.manage();
    let out = simulator.fabric(0, &["problems", "-f", "csv", "-n", "-o", "subject,code,what"]);
    let expected =
        "leaf2,fabric.width,4 of 4 links to switches are 1X although both ends support 4X\n";
    assert_eq!(out, expected);
    let out = simulated_ping(&simulator, "leaf leaf2 slow 4");
    let findings: Vec<&str> = out.lines().filter(|line| line.starts_with("~ ")).collect();
    assert!(
        matches!(findings[..], [one] if one.starts_with("~ leaf leaf2: slow leaf switch")),
        "{out}"
    );
}

#[test]
fn a_bad_cable_is_named_by_fabric_and_by_ping() {
    let (leaf, host) = ("S-b83fd20300a00100", "H-b83fd20300100050");
    let is_bad = |near: &str, far: &str| near == leaf && far == host;
    let simulator = Simulator::start(&tree_with_bad_cables(is_bad));
    let _manager = simulator.manage();
    let out = simulator.fabric(0, &["problems", "-f", "csv", "-n", "-o", "subject,code,what"]);
    assert!(out.starts_with("leaf1 port 6,fabric.width,") && out.contains("node5 HCA-1"), "{out}");
    assert_eq!(out.lines().count(), 1);
    let out = simulated_ping(&simulator, "host node5 slow 4");
    let findings: Vec<&str> = out.lines().filter(|line| line.starts_with("~ ")).collect();
    assert!(matches!(findings[..], [one] if one.starts_with("~ node5: slow host")), "{out}");
}
