//! `rdmactl ping --topology`: plans, reports and errors by the leaf switches of a file.
#![expect(clippy::expect_used, reason = "a test without the program fails")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Runs rdmactl in a folder. Returns exit code, stdout and stderr.
fn rdmactl(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .current_dir(folder)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("rdmactl runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Creates a folder with a text in `leaves.txt`.
fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    fs::write(folder.path().join("leaves.txt"), text).expect("a file");
    folder
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Runs a ping of hosts that the launcher does not reach: a real run that needs no RDMA.
fn unreached(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let run = ["ping", "--matrix", "n[1-8]", "--launcher", "exec", "false {host} {command}"];
    rdmactl(folder, &[&run[..], arguments].concat())
}

const SLURM: &str = "SwitchName=leaf1 Nodes=n[1-4] # rack 1\nSwitchName=leaf2 Nodes=n[5-6]\n\
                     SwitchName=leaf3 \\\n  Nodes=n[7-8]\nSwitchName=spine Switches=leaf[1-3]\n";

#[test]
fn a_plan_has_a_pair_for_every_two_leaf_switches() {
    let folder = folder(SLURM);
    let plan = ["ping", "--matrix", "n[1-8]", "--peers", "1", "--seed", "1", "--plan"];
    let with = [&plan[..], &["--topology", "leaves.txt"]].concat();
    let (code, stdout, stderr) = rdmactl(folder.path(), &with);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    assert!(stdout.contains(", 6 of 6 pairs of leaf switches; random, seed 1"), "{stdout}");
    let (_, stdout, _) = rdmactl(folder.path(), &[&with[..], &["--json"]].concat());
    assert_eq!(json(&stdout)["coverage"]["leaf_pairs"]["possible"], 6);
    let (_, stdout, _) = rdmactl(folder.path(), &[&plan[..], &["--json"]].concat());
    assert!(json(&stdout)["coverage"]["leaf_pairs"].is_null(), "{stdout}");
}

#[test]
fn a_run_keeps_the_leaf_switch_of_each_host() {
    let folder = folder(SLURM);
    let (code, live, stderr) =
        unreached(folder.path(), &["--json", "--save", "run.json", "--topology", "leaves.txt"]);
    assert_eq!((code, stderr.as_str()), (1, ""), "{live}");
    let report = json(&live);
    let leaves: Vec<&Value> =
        report["hosts"].as_array().expect("hosts").iter().map(|host| &host["leaf"]).collect();
    assert_eq!(leaves[3..7], ["leaf1", "leaf2", "leaf2", "leaf3"]);
    assert_eq!(report["coverage"]["leaf_pairs"]["possible"], 6);
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/schema/rdmactl.ping.json");
    let schema = fs::read(schema).expect("a schema");
    let schema = serde_json::from_slice(&schema).expect("JSON");
    assert!(jsonschema::validator_for(&schema).expect("a schema").is_valid(&report));
    let (_, again, _) = rdmactl(folder.path(), &["ping", "--from", "run.json", "--json"]);
    assert_eq!(again, live);
    let (_, picture, _) = rdmactl(folder.path(), &["ping", "--from", "run.json", "-f", "svg"]);
    assert!(picture.contains("<title>n4 (leaf1) -&gt; n5 (leaf2): "), "{picture}");
    let (_, without, _) = unreached(folder.path(), &["--json"]);
    assert!(!without.contains("leaf1") && !without.contains("\"leaf\""), "{without}");
}

#[test]
fn pictures_show_the_hosts_of_a_leaf_switch_together() {
    let folder = folder("leaf odd n1,n3\nleaf even n2,n4\n");
    let fabric = "hosts n[1-4]\nleaf odd n1,n3\nleaf even n2,n4\n";
    fs::write(folder.path().join("fabric.txt"), fabric).expect("a file");
    let simulate = ["ping", "--simulate", "fabric.txt", "--save", "run.json"];
    let (_, table, _) = rdmactl(folder.path(), &simulate);
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with('n')).collect();
    let names: Vec<&str> = rows.iter().filter_map(|row| row.split(' ').next()).collect();
    assert_eq!(names, ["n1", "n3", "n2", "n4"], "{table}");
    assert!(rows[1].split_whitespace().nth(2) == Some("."), "{table}");
    for form in ["svg", "html"] {
        let live = rdmactl(folder.path(), &[&simulate[..], &["-f", form]].concat()).1;
        assert!(live.contains(">odd</text>") && live.contains(">even</text>"), "{form}: {live}");
        assert!(live.contains("<title>n2 (even) -&gt; n1 (odd): ok"), "{form}: {live}");
        let kept = rdmactl(folder.path(), &["ping", "--from", "run.json", "-f", form]).1;
        assert_eq!(kept, live, "{form}");
    }
}

#[test]
fn a_folded_picture_has_leaf_switches_too() {
    let folder = folder("");
    let leaf = |leaf: usize| format!("leaf rack{leaf} n[{}-{}]\n", leaf * 35 + 1, leaf * 35 + 35);
    let fabric: String = (0..20).map(leaf).collect();
    fs::write(folder.path().join("fabric.txt"), format!("hosts n[1-700]\n{fabric}"))
        .expect("a file");
    let arguments = ["ping", "--simulate", "fabric.txt", "--peers", "8", "-f", "svg"];
    let (code, picture, stderr) = rdmactl(folder.path(), &arguments);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(picture.contains("each square shows the worst of 3 x 3 pairs"));
    assert_eq!(picture.matches(">rack").count(), 20, "each leaf switch has its name");
}

#[test]
fn hosts_without_a_leaf_switch_are_named_in_one_note() {
    let folder = folder("leaf leaf1 n[1-4]\nleaf leaf2 n5\n");
    let (code, stdout, stderr) = unreached(folder.path(), &["--json", "--topology", "leaves.txt"]);
    assert_eq!(code, 1, "{stdout}");
    let note = "leaves.txt has no leaf switch for n[6-8]; findings name it unknown\n";
    assert!(stderr.contains(note) && stderr.contains("fix: add the hosts"), "{stderr}");
    assert_eq!(json(&stdout)["hosts"][6]["leaf"], "unknown");
}

#[test]
fn a_file_that_is_no_topology_is_an_error_with_its_line() {
    let cases = [
        ("leaf a n1\nleaf b n[1-\n", "leaves.txt:2: invalid host set n[1-:\n", "write a host set"),
        (
            "leaf a n1\nleaf b n[1-2]\n",
            "leaves.txt:2: host n1 is on leaf switch b and in line 1 on a",
            "remove",
        ),
        ("BlockName=b Nodes=n1\n", "leaves.txt:1: BlockName: block topology", "list the leaf"),
        ("", "leaves.txt: no leaf switch", "write one line"),
        ("leaf a x[1-8]\n", "leaves.txt names no host of this run", "use the names"),
        ("\u{1b}[2J\n", "leaves.txt:1: neither a leaf line nor", "write one line"),
        ("leaf a n1\n\u{1b}[2J\n", "leaves.txt:2: unknown word \\x1b[2J", "write: leaf NAME SET"),
    ];
    for (text, what, fix) in cases {
        let folder = folder(text);
        for more in [&["--plan"][..], &[]] {
            let arguments = [&["--topology", "leaves.txt"][..], more].concat();
            let (code, stdout, stderr) = unreached(folder.path(), &arguments);
            assert_eq!((code, stdout.as_str()), (2, ""), "{text}");
            assert!(stderr.contains(what) && stderr.contains(fix), "{text}: {stderr}");
            assert!(!stderr.contains('\u{1b}'), "{stderr:?}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let folder = folder("leaf a n1\n");
    for (file, what) in [
        ("/nowhere", "cannot read /nowhere"),
        (".", "cannot read ."),
        ("/dev/zero", "/dev/zero is larger than 4194304 bytes"),
    ] {
        let (code, _, stderr) = unreached(folder.path(), &["--topology", file]);
        assert!(code == 2 && stderr.contains(what), "{file}: {stderr}");
    }
}

#[test]
fn a_topology_has_no_place_beside_a_simulated_or_saved_run() {
    let folder = folder("leaf a n1\n");
    for words in [["--simulate", "fabric.txt"], ["--from", "run.json"]] {
        let arguments = [&["ping", "--topology", "leaves.txt"][..], &words].concat();
        let (code, stdout, stderr) = rdmactl(folder.path(), &arguments);
        assert_eq!((code, stdout.as_str()), (2, ""));
        assert!(stderr.contains("--topology") && stderr.contains(words[0]), "{stderr}");
    }
}

/// Returns an `opensm-subnet.lst` with two switches, a cable between them, and two hosts per
/// switch.
fn opensm_list() -> String {
    let adapter = |number: usize| {
        format!(
            "{{ CA Ports:01 SystemGUID:{number:016x} NodeGUID:{number:016x} PortGUID:{:016x} \
             VenID:0002C9 DevID:101B Rev:000000A1 {{n{number} HCA-1}} LID:000{number} PN:01 }}",
            number + 100
        )
    };
    let switch = |number: usize, port: usize| {
        format!(
            "{{ SW Ports:28 SystemGUID:{0:016x} NodeGUID:{0:016x} PortGUID:{0:016x} VenID:0002C9 \
             DevID:D2F0 Rev:000000A0 {{leaf{number}}} LID:00{0:02x} PN:{port:02x} }}",
            number + 10
        )
    };
    let links = [
        (adapter(1), switch(1, 1)),
        (adapter(2), switch(1, 2)),
        (adapter(3), switch(2, 1)),
        (adapter(4), switch(2, 2)),
        (switch(1, 3), switch(2, 3)),
    ];
    links.map(|(one, other)| format!("{one} {other} PHY=4x LOG=ACT SPD=50\n")).concat()
}

#[test]
fn a_saved_subnet_has_the_leaf_switches_of_its_hosts() {
    let folder = folder(&opensm_list());
    let plan = ["ping", "--matrix", "n[1-4]", "--plan", "--json", "--topology", "leaves.txt"];
    let (code, stdout, stderr) = rdmactl(folder.path(), &plan);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    assert_eq!(json(&stdout)["coverage"]["leaf_pairs"]["possible"], 3);
    let plan = ["ping", "--matrix", "x[1-4]", "--plan", "--topology", "leaves.txt"];
    let (code, _, stderr) = rdmactl(folder.path(), &plan);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("leaves.txt names no host of this run"), "{stderr}");
    // A saved subnet has no lines to edit.
    let fix = "  fix: compare the host names with the node descriptions: \
               rdmactl fabric nodes --from leaves.txt\n";
    assert!(stderr.ends_with(fix), "{stderr}");
    let plan = ["ping", "--matrix", "n[1-4],x1", "--plan", "--topology", "leaves.txt"];
    let (code, _, stderr) = rdmactl(folder.path(), &plan);
    let note = "rdmactl: leaves.txt has no leaf switch for x1; findings name it unknown\n";
    assert!(code == 0 && stderr.contains(&format!("{note}{fix}")), "{stderr}");
}

#[test]
fn a_capture_without_a_subnet_is_an_error() {
    let folder = folder("");
    let capture =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/consumers_client/capture.ndjson");
    let (code, _, stderr) =
        rdmactl(folder.path(), &["ping", "--matrix", "n[1-4]", "--plan", "--topology", capture]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("holds no InfiniBand subnet"), "{stderr}");
    assert!(stderr.contains("fix: save one: rdmactl fabric --save FILE"), "{stderr}");
}
