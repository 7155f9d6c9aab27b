//! Compares `rdmactl compat` with infiniband-diags in fabrics that ibsim simulates: stdout,
//! stderr and exit code of the tools that print a whole subnet.
//!
//! The package infiniband-diags must be installed. docs/compat.md names every difference that a
//! case here allows.
#![expect(clippy::expect_used, reason = "a test without the simulator fails")]

#[path = "support/ibsim.rs"]
mod ibsim;

use ibsim::{FABRIC, RDMACTL, Simulator, fat_tree};

/// Command lines whose output must be that of the original.
const CASES: &[&[&str]] = &[
    &["ibnetdiscover"],
    &["ibnetdiscover", "-f"],
    &["ibnetdiscover", "--show"],
    &["ibnetdiscover", "-l"],
    &["ibnetdiscover", "-H"],
    &["ibnetdiscover", "--Switch_list"],
    &["ibnetdiscover", "-R"],
    &["ibnetdiscover", "-p"],
    &["ibnetdiscover", "-m", "-o", "8"],
    &["ibnetdiscover", "--node-name-map", "names"],
    &["ibhosts"],
    &["ibhosts", "-C", "ibsim0", "-P", "1"],
    &["ibswitches"],
    &["ibswitches", "-t", "100"],
    &["iblinkinfo"],
    &["iblinkinfo", "-l"],
    &["iblinkinfo", "-d"],
    &["iblinkinfo", "-l", "-p"],
    &["iblinkinfo", "--switches-only"],
    &["iblinkinfo", "--cas-only"],
    &["iblinkinfo", "--node-name-map", "names"],
    &["iblinkinfo", "-D", "0,1"],
    &["iblinkinfo", "-D", "0,1,9"],
    &["iblinkinfo", "-G", "0x1"],
    &["ibqueryerrors"],
    &["ibqueryerrors", "-c"],
    &["ibqueryerrors", "-s", "PortXmitWait,SymbolErrorCounter"],
    &["ibqueryerrors", "-r"],
    &["ibqueryerrors", "--data"],
    &["ibqueryerrors", "--counters", "-r"],
    &["ibqueryerrors", "--details", "--node-name-map", "names"],
    &["ibqueryerrors", "--switch"],
    &["ibqueryerrors", "--ca"],
    &["ibqueryerrors", "--router"],
    &["ibqueryerrors", "--skip-sl"],
    &["ibqueryerrors", "-D", "0,1"],
    &["ibqueryerrors", "-G", "0xb83fd20300100001"],
    &["ibqueryerrors", "-G", "0x1"],
    &["ibqueryerrors", "--threshold-file", "thresholds"],
    &["ibqueryerrors", "--threshold-file", "/nonexistent"],
];

/// Command lines that are wrong, or name a port that does not exist.
const BAD_CASES: &[&[&str]] = &[
    &["ibnetdiscover", "-h"],
    &["ibnetdiscover", "--nonsense"],
    &["ibnetdiscover", "-t", "0"],
    &["ibnetdiscover", "-C", "nowhere0"],
    &["ibnetdiscover", "-P", "7"],
    &["ibhosts", "-h"],
    &["ibhosts", "-x"],
    &["ibhosts", "-C", "nowhere0"],
    &["ibswitches", "/nonexistent"],
    &["iblinkinfo", "-h"],
    &["iblinkinfo", "--nonsense"],
    &["iblinkinfo", "-C", "nowhere0"],
    &["iblinkinfo", "-D", "0,9"],
    &["ibqueryerrors", "-h"],
    &["ibqueryerrors", "--nonsense"],
    &["ibqueryerrors", "-C", "nowhere0"],
];

/// Output of a tool without the parts that vary between two runs.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Said {
    fn new((code, stdout, stderr): (i32, String, String), case: &[&str]) -> Self {
        let counts_vary = case.contains(&"--counters") || case.contains(&"--data");
        // rdmactl scans the whole subnet where the original scans a part of it (docs/compat.md).
        let is_partial = case.contains(&"-D") || case.contains(&"-G");
        let is_kept = |line: &&str| !(is_partial && line.contains("query_smp.c"));
        let tidy = |text: &str| {
            let lines = text.replace("/usr/sbin/", "");
            let lines = lines.lines().filter(is_kept).map(|line| {
                if line.starts_with("# Topology file: generated on") {
                    return "# Topology file: generated on".to_owned();
                }
                let line = without_pid(line);
                if counts_vary { without_counts(&line) } else { line }
            });
            lines.map(|line| line + "\n").collect()
        };
        // A program's last line must end as that of the original does.
        let ends = |text: &str| text.is_empty() || text.ends_with('\n');
        assert!(ends(&stdout) && ends(&stderr), "{stdout}{stderr}");
        Self { code, stdout: tidy(&stdout), stderr: tidy(&stderr) }
    }
}

/// Replaces the process of a warning.
fn without_pid(line: &str) -> String {
    let Some((_, rest)) = line.strip_prefix("ibwarn: [").and_then(|rest| rest.split_once(']'))
    else {
        return line.to_owned();
    };
    format!("ibwarn: [PID]{rest}")
}

/// Replaces the values of data counters, which the requests of the tools raise. The names and the
/// brackets stay.
fn without_counts(line: &str) -> String {
    let mut parts = line.split(" == ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = match part.split_once(')') {
            Some((value, rest)) if value.contains('(') && !value.contains(']') => {
                format!("N (N){rest}")
            }
            _ => part.to_owned(),
        };
        text += " == ";
        text += &rest;
    }
    text
}

/// Runs the cases in a fabric and returns the cases that differ.
fn differences(simulator: &Simulator, cases: &[&[&str]]) -> Vec<String> {
    let mut found = Vec::new();
    for case in cases {
        let original = format!("/usr/sbin/{}", case[0]);
        let theirs = Said::new(simulator.runs(&original, &case[1..]), case);
        let words: Vec<&str> = ["compat"].iter().chain(*case).copied().collect();
        let ours = Said::new(simulator.runs(RDMACTL, &words), case);
        if theirs != ours {
            let first = |one: &str, other: &str| {
                let lines = one.lines().zip(other.lines());
                let differs = lines.into_iter().find(|(one, other)| one != other);
                format!("{differs:?} ({} and {} lines)", one.lines().count(), other.lines().count())
            };
            found.push(format!(
                "{case:?}: exit {} and {}\n  stdout {}\n  stderr {}",
                theirs.code,
                ours.code,
                first(&theirs.stdout, &ours.stdout),
                first(&theirs.stderr, &ours.stderr)
            ));
        }
    }
    found
}

fn assert_none(differences: &[String]) {
    assert!(differences.is_empty(), "{}\n{} differ", differences.join("\n"), differences.len());
}

/// Writes a file of thresholds and one of names into the directory where the tools run.
fn add_files(simulator: &Simulator) {
    let names = "# names\n0xb83fd20300a00100 \"a leaf switch\"\n0xb83fd20300100000 host\n";
    std::fs::write(simulator.folder.path().join("names"), names).expect("a file");
    let text = "# counters\n\nSymbolErrorCounter=10\nPortXmitWait=1000\nNoCounter=3\n";
    std::fs::write(simulator.folder.path().join("thresholds"), text).expect("a file");
}

#[test]
fn two_hosts_are_shown_as_the_originals_show_them() {
    let simulator = Simulator::start(FABRIC);
    let _manager = simulator.manage();
    add_files(&simulator);
    assert_none(&differences(&simulator, CASES));
    assert_none(&differences(&simulator, BAD_CASES));
}

#[test]
fn a_fat_tree_is_shown_as_the_originals_show_it() {
    let simulator = Simulator::start(&fat_tree(2, 4, 6));
    let _manager = simulator.manage();
    add_files(&simulator);
    assert_none(&differences(&simulator, CASES));
}

#[test]
fn errors_and_a_lost_link_are_shown_as_the_originals_show_them() {
    let mut simulator = Simulator::start(&fat_tree(2, 4, 6));
    let _manager = simulator.manage();
    add_files(&simulator);
    for counter in [
        "\"H-b83fd20300100030\"[1] PortCounters.SymbolErrorCounter=1234",
        "\"H-b83fd20300100030\"[1] PortCounters.LinkErrorRecoveryCounter=7",
        "\"S-b83fd20300a00000\"[3] PortCounters.LinkDownedCounter=12",
        "\"S-b83fd20300a00000\"[4] PortCounters.PortRcvErrors=345",
        "\"S-b83fd20300a00100\"[3] PortCounters.PortXmitDiscards=9000",
        "\"S-b83fd20300a00100\"[3] PortCounters.PortXmitWait=123456789",
        "\"S-b83fd20300a00200\"[3] PortCounters.SymbolErrorCounter=65535",
        "\"H-b83fd20300100060\"[1] PortCountersExtended.PortXmitData=123456789012",
    ] {
        simulator.console(&format!("PerformanceSet {counter}"));
    }
    simulator.console("Unlink \"S-b83fd20300a00300\"[4]");
    let expected = "[SymbolErrorCounter == 1234] [LinkErrorRecoveryCounter == 7]";
    let (code, printed, _) = simulator.runs(RDMACTL, &["compat", "ibqueryerrors"]);
    assert_eq!(code, 1);
    assert!(printed.contains(expected), "{printed}");
    assert!(printed.contains("\n## Summary: 29 nodes checked"), "{printed}");
    assert_none(&differences(&simulator, CASES));
}

#[test]
fn a_node_that_does_not_respond_is_shown_as_the_originals_show_it() {
    let mut simulator = Simulator::start(&fat_tree(2, 3, 4));
    let _manager = simulator.manage();
    add_files(&simulator);
    simulator.console("Error \"H-b83fd20300100020\"[1] 100");
    let (code, printed, errors) = simulator.runs(RDMACTL, &["compat", "ibhosts"]);
    assert_eq!(code, 0);
    assert_eq!(printed.lines().count(), 11, "{printed}");
    assert!(errors.contains("bad status 110; Connection timed out"), "{errors}");
    assert_none(&differences(&simulator, CASES));
}

/// The original prints nothing for ibqueryerrors without a subnet manager (docs/compat.md).
#[test]
fn a_subnet_without_a_manager_is_shown_as_the_originals_show_it() {
    let simulator = Simulator::start(FABRIC);
    add_files(&simulator);
    let is_same = |case: &&&[&str]| case[0] != "ibqueryerrors" || case.contains(&"--skip-sl");
    let cases: Vec<&[&str]> = CASES.iter().filter(is_same).copied().collect();
    assert_none(&differences(&simulator, &cases));
    let (code, printed, _) = simulator.runs("/usr/sbin/ibqueryerrors", &[]);
    assert_eq!((code, printed.as_str()), (0, ""));
    let (code, printed, _) = simulator.runs(RDMACTL, &["compat", "ibqueryerrors"]);
    assert_eq!(code, 0);
    assert!(printed.contains("## Summary: 3 nodes checked, 0 bad nodes found"), "{printed}");
}

/// The original swaps the fields of the two attributes (docs/compat.md).
#[test]
fn details_of_errors_have_the_names_of_their_attribute() {
    let mut simulator = Simulator::start(FABRIC);
    let _manager = simulator.manage();
    for counter in [
        "PortCounters.PortRcvErrors=6",
        "PortCounters.PortXmitDiscards=5",
        "PortXmitDiscardDetails.PortNeighborMTUDiscards=77",
        "PortRcvErrorDetails.PortMalformedPacketErrors=88",
    ] {
        simulator.console(&format!("PerformanceSet \"H-b83fd20300100010\"[1] {counter}"));
    }
    let (code, printed, _) = simulator.runs(RDMACTL, &["compat", "ibqueryerrors", "--details"]);
    let expected = "[PortRcvErrors == 6] [PortMalformedPktErrors == 88] \
                    [PortXmitDiscards == 5] [PortNeighborMTUDiscards == 77]\n";
    assert_eq!(code, 1);
    assert!(printed.contains(expected), "{printed}");
    let (_, printed, _) = simulator.runs("/usr/sbin/ibqueryerrors", &["--details"]);
    assert!(
        printed.contains("[PortXmitDiscards == 5] [PortMalformedPktErrors == 77]"),
        "{printed}"
    );
}

/// The original prints `Port not available` here (docs/compat.md).
#[test]
fn a_host_that_is_named_by_its_guid_has_its_link() {
    let simulator = Simulator::start(FABRIC);
    let _manager = simulator.manage();
    let words = ["compat", "iblinkinfo", "-G", "0xb83fd20300100001"];
    let (code, printed, errors) = simulator.runs(RDMACTL, &words);
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(printed.contains("[  ] \"leaf001\" ("), "{printed}");
}

#[test]
fn options_that_are_not_offered_name_a_command() {
    let simulator = Simulator::start(FABRIC);
    for (words, command) in [
        (&["ibnetdiscover", "-g"][..], "rdmactl fabric switches"),
        (&["ibnetdiscover", "--cache", "file"], "rdmactl fabric --save"),
        (&["iblinkinfo", "--load-cache", "file"], "rdmactl fabric links --from"),
        (&["iblinkinfo", "-n", "2"], "rdmactl scans the whole subnet"),
        (&["ibqueryerrors", "-k"], "rdmactl fabric errors --clear"),
        (&["ibqueryerrors", "--load-cache", "file"], "rdmactl fabric errors --from"),
    ] {
        let all: Vec<&str> = ["compat"].iter().chain(words).copied().collect();
        let (code, printed, errors) = simulator.runs(RDMACTL, &all);
        assert_eq!((code, printed.as_str()), (2, ""), "{words:?}\n{errors}");
        assert!(errors.contains(command), "{words:?}\n{errors}");
        let option = format!("does not support {}", words[1]);
        let long = errors.contains(&option) || errors.contains("does not support --");
        assert!(long, "{words:?}\n{errors}");
    }
}

#[test]
fn the_parts_that_vary_are_found() {
    assert_eq!(without_pid("ibwarn: [12] main: text"), "ibwarn: [PID] main: text");
    assert_eq!(without_pid("other [12]"), "other [12]");
    let line = "port 1: [PortXmitWait == 5] [PortXmitData == 12 (48.000B)]";
    assert_eq!(without_counts(line), "port 1: [PortXmitWait == 5] [PortXmitData == N (N)]");
}
