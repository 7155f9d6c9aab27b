//! Command lines: forms that administrators type, usage errors and their fixes, and absent hosts.
#![expect(clippy::expect_used, reason = "a test that cannot run its program has failed")]

use std::io::Write as _;
use std::process::{Command, Stdio};

fn rdmactl(arguments: &[&str]) -> (i32, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_rdmactl")).args(arguments).output().expect("rdmactl runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

#[test]
fn a_wrong_host_set_is_pointed_at() {
    let (code, stdout, stderr) = rdmactl(&["ping", "--matrix", "n[1-"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(stderr.contains("n[1-\n ^^^"), "{stderr}");
}

/// Runs the program with a text on stdin, independent of the hosts and jobs of this machine.
fn fed(arguments: &[&str], stdin: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .args(arguments)
        .env_remove("PBS_NODEFILE")
        .env("SLURM_JOB_NODELIST", "n[1-3],gpu01")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rdmactl runs");
    let sent = child.stdin.take().map(|mut input| input.write_all(stdin.as_bytes()));
    // A program that does not read stdin may have ended.
    drop(sent);
    let output = child.wait_with_output().expect("rdmactl ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

#[test]
fn hosts_are_expanded_folded_and_counted() {
    let ok = |arguments: &[&str], stdin: &str| {
        let (code, stdout, stderr) = fed(&[&["hosts"], arguments].concat(), stdin);
        assert_eq!((code, stderr.as_str()), (0, ""), "{arguments:?}");
        stdout
    };
    assert_eq!(ok(&["n[9-11]!n10", "x:22"], ""), "n9\nn11\nx:22\n");
    assert_eq!(ok(&["--fold", "n3", "n1", "n2"], ""), "n[1-3]\n");
    assert_eq!(ok(&["--size", "n[1-3],n3"], ""), "3\n");
    assert_eq!(ok(&["--size", "n1!n1"], ""), "0\n");
    assert_eq!(ok(&["n1!n1"], ""), "");
    assert_eq!(ok(&["--fold", "@job!n2"], ""), "gpu01,n[1,3]\n");
    // The last line may lack its line break.
    assert_eq!(ok(&["--fold", "-"], "# all\nnode11\nnode12"), "node[11-12]\n");
    assert_eq!(ok(&["--fold", "-", "-H", "n1,-"], "n2\nn3\n"), "n[1-3]\n");
    let inventory = "[web]\nwww[1:2] ansible_user=bob\n[web:vars]\nx=y\n";
    assert_eq!(ok(&["--fold", "--hosts-file", "-"], inventory), "bob@www[1-2]\n");
    assert_eq!(ok(&["--fold", "-H", "n1", "--hosts-file", "mpich:-"], "n2:4\n"), "n[1-2]\n");
    assert_eq!(
        ok(&["-f", "csv", "u@n1:22", "n2"], ""),
        "host,user,name,port\nu@n1:22,u,n1,22\nn2,,n2,\n"
    );
    assert_eq!(ok(&["-f", "plain", "n[1-2]"], ""), "n1\nn2\n");
    let json: serde_json::Value =
        serde_json::from_str(&ok(&["--json", "u@n1:22,n2"], "")).expect("JSON");
    assert_eq!(json["schema"], "rdmactl.hosts/1");
    assert_eq!((&json["size"], &json["folded"]), (&2.into(), &"n2,u@n1:22".into()));
    assert_eq!(json["hosts"][0]["port"], 22);
    assert!(json["hosts"][1]["user"].is_null());
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("schema/rdmactl.hosts.json")).expect("the schema");
    assert!(jsonschema::is_valid(&schema, &json));
    let lines = ok(&["-f", "ndjson", "n[1-2]"], "");
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| jsonschema::is_valid(&schema, line)));
}

#[test]
fn partitions_and_states_are_queried_with_sinfo() {
    let folder = tempfile::tempdir().expect("a directory");
    // Like sinfo(1), the script prints nothing for an unknown partition, and exits with 0.
    let script = "#!/bin/sh\ncase \"$*\" in\n'-h -o %N -p batch') echo 'n[1-3],gpu01';;\n\
                  '-h -o %N -t down') echo 'n2';;\n'-h -o %N -t idle') ;;\n'-h -o %R') echo batch; echo debug;;\n\
                  '-h -o %N -p '*) ;;\n*) echo 'sinfo: error: Bad state' >&2; exit 1;;\nesac\n";
    let program = folder.path().join("sinfo");
    std::fs::write(&program, script).expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("a program");
    let ask = |set: &str| {
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let output = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
            .args(["hosts", "--fold", set])
            .env("PATH", path)
            .output()
            .expect("rdmactl runs");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8")
    };
    assert_eq!(ask("@slurm:batch!@slurmstate:down"), "gpu01,n[1,3]\n");
    assert_eq!(ask("@slurmstate:idle"), "\n");
    assert!(ask("@slurm:debug").starts_with('\n'), "a partition without nodes");
    assert!(
        ask("@slurm:nosuch")
            .contains("Slurm has no group nosuch: use one of these groups: batch, debug")
    );
    assert!(ask("@slurmstate:nosuch").contains("sinfo failed: sinfo: error: Bad state"));
}

#[test]
fn a_wrong_list_of_hosts_is_named_with_its_line() {
    let wrong = |arguments: &[&str], stdin: &str, said: &str| {
        let (code, stdout, stderr) = fed(&[&["hosts"], arguments].concat(), stdin);
        assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
        assert!(stderr.contains(said), "{arguments:?}: {stderr}");
        assert!(!stderr.contains('\u{1b}'), "{stderr}");
    };
    wrong(&["-"], "n1\nn[1-\n", "-\n^ invalid host set in stdin:2\nn[1-\n ^^^ unclosed bracket");
    wrong(
        &["--hosts-file", "-"],
        "n1\nn2:4\n",
        "stdin:2: `n2:4` is ambiguous: port 4 in a list of hosts",
    );
    wrong(
        &["--hosts-file", "-"],
        "n1\nn2:4\n",
        "  fix: name the kind of the file: list:FILE or mpich:FILE",
    );
    wrong(&["--hosts-file", "list:-"], "n1\nn\u{1b}[2J\n", "invalid host set in stdin:2:");
    wrong(&["--hosts-file", "openmpi:-"], "n1 \u{1b}[2J\n", "stdin:1: `\\x1b[2J` is not a setting");
    wrong(&["--hosts-file", "-"], "# nothing\n", "stdin contains no host");
    wrong(
        &["--hosts-file", "kind:/nowhere"],
        "",
        "check the file name, or write KIND:FILE; kinds: list, openmpi",
    );
    wrong(&["n1,^/nowhere"], "", "n1,^/nowhere\n   ^^^^^^^^^ cannot open /nowhere");
}

#[test]
fn a_matrix_of_one_host_is_wrong_usage() {
    let (code, _, stderr) = rdmactl(&["ping", "--matrix", "n1"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("n1 is one host") && stderr.contains("fix: "), "{stderr}");
}

#[test]
fn the_columns_of_a_ping_are_chosen_like_those_of_devices() {
    let (code, stdout, _) = rdmactl(&["ping", "-o", "help"]);
    assert_eq!(code, 0);
    let mut columns = stdout.lines().map(|line| line.split_whitespace().take(3));
    assert!(columns.any(|words| words.eq(["rdma.half_rtt_ns.p50", "P50", "us"])), "{stdout}");
    let (code, _, stderr) = rdmactl(&["ping", "127.0.0.1:1", "-o", "speed"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("no column speed"), "{stderr}");
    let asked = ["ping", "127.0.0.1:1", "-n", "-f", "plain", "-o", "target,verdict,side"];
    assert_eq!(rdmactl(&asked).1, "127.0.0.1:1\tpeer.unreached !\ttarget\n");
}

#[test]
fn a_ping_without_a_host_is_wrong_usage() {
    let (code, _, stderr) = rdmactl(&["ping"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("ping needs a host") && stderr.contains("fix: "), "{stderr}");
}

#[test]
fn a_flag_without_effect_is_wrong_usage() {
    let refused = [
        (&["devices", "--count", "2"][..], "--count needs --watch"),
        (&["devices", "--watch", "-f", "prom"], "--watch contradicts --format prom"),
        (&["devices", "--watch", "--save", "/tmp/x"], "--save contradicts --watch"),
        (&["devices", "--watch", "--from", "/tmp/x"], "--from contradicts --watch"),
        (&["ping", "n2", "--watch", "--save", "/tmp/x"], "--save contradicts --watch"),
        (&["ping", "n2", "--watch", "-f", "svg"], "--watch contradicts --format html and svg"),
        (&["ping", "n2", "--from", "/tmp/x"], "--from contradicts the hosts"),
        (&["ping", "--matrix", "n[1-3]", "--from", "/tmp/x"], "--from contradicts --matrix"),
        (&["ping", "--from", "/tmp/x", "--quick"], "--from contradicts --quick"),
        (&["ping", "--diff", "/tmp/x", "/tmp/y", "--rails", "all"], "--diff contradicts --rails"),
        (
            &["ping", "--diff", "/tmp/x", "/tmp/y", "--save", "/tmp/z"],
            "--diff does not support --save",
        ),
        (
            &["ping", "--matrix", "n[1-3]", "--plan", "--save", "/tmp/x"],
            "--plan does not support --save",
        ),
        (&["ping", "--matrix", "n[1-3]", "--plan", "-f", "csv"], "--plan prints a table or JSON"),
        (
            &["-H", "n1", "ping", "--clients", "n1", "--servers", "n2"],
            "--clients contradicts --hosts",
        ),
        (
            &["ping", "--clients", "n1", "--servers", "n1"],
            "the only source is also the only target",
        ),
        (&["-H", "n1", "ping", "n1"], "the only source is also the only target"),
        (
            &["ping", "--clients", "n[1-2]", "--servers", "n3", "--schedule", "bisection"],
            "needs one host set, which it halves",
        ),
        (&["ping", "--matrix", "n[1-4]", "--peers", "2", "--schedule", "bisection"], "--peers"),
        (&["ping", "--matrix", "n[1-16385]", "--plan"], "the limit is 16384"),
        (
            &["ping", "--matrix", "n[1-2]", "--gid-index", "n3=0", "--plan"],
            "--gid-index names n3, which is not a host of this run",
        ),
        (&["ping", "--matrix", "n[1-4000]"], "of messages through this host"),
        (
            &["ping", "--matrix", "n[1-66]", "--test", "bw"],
            "--test bw would fill the links of 66 hosts",
        ),
        (&["devices", "-f", "html"], "heat maps of ping"),
        (&["ping", "n2", "--root", "/"], "ping does not support --root"),
        (&["-H", "n1", "ping", "--matrix"], "n1 is one host; a matrix needs two"),
        (&["ping", "--matrix"], "--matrix needs hosts"),
        (&["--root", "/", "devices", "n1"], "--hosts contradicts --root"),
        (
            &["--from", "/tmp/x", "ping", "-H", "n1"],
            "--hosts cannot select hosts of a recorded ping run",
        ),
        (&["capture", "--json"], "capture does not support --json"),
        (&["completions", "bash", "-o", "host"], "completions does not support --columns"),
        (&["man", "/tmp", "--save", "/tmp/x"], "man does not support --save"),
        (
            &["--from", "/tmp/x", "devices", "--hosts-file", "/tmp/y"],
            "--hosts-file contradicts --from",
        ),
        (&["hosts", "n1", "--save", "/tmp/x"], "hosts does not support --save"),
        (&["hosts", "n1", "--watch"], "hosts does not support --watch"),
        (&["hosts", "n1", "-f", "prom"], "hosts does not support --format prom"),
        (&["hosts", "n1", "--fold", "--json"], "--fold contradicts --format and --json"),
        (&["hosts"], "hosts needs a host set"),
        (&["devices", "-H", "n1!n1"], "the host set is empty"),
    ];
    for (arguments, said) in refused {
        let (code, stdout, stderr) = rdmactl(arguments);
        assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said) && stderr.contains("fix: "), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_host_that_refuses_is_a_problem_in_ping_and_a_missing_row_in_a_listing() {
    let (code, stdout, _) = rdmactl(&["ping", "127.0.0.1:1", "--json"]);
    assert_eq!(code, 1);
    let json: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(json["pairs"][0]["verdict"]["code"], "peer.unreached");
    assert_eq!(json["hosts"][1]["failure"]["reason"], "refused");
    assert_eq!(json["findings"][0]["host"], 1, "the target is the faulty host, not the source");
    let (code, stdout, stderr) = rdmactl(&["devices", "-H", "127.0.0.1:1"]);
    assert_eq!(code, 2, "nothing at all could be read");
    assert!(stdout.contains("refused !"), "{stdout}");
    assert!(stderr.contains("connection refused"), "{stderr}");
    let (code, ..) = rdmactl(&["check", "-H", "127.0.0.1:1", "--fail-on", "never"]);
    assert_eq!(code, 2, "nothing at all could be read");
}

#[test]
fn table_wider_than_the_terminal_has_a_block_per_row() {
    let program = env!("CARGO_BIN_EXE_rdmactl");
    let on_terminal = |columns: u32, flags: &str| {
        let capture = "--from tests/fixtures/mlx5_roce/capture.ndjson";
        let command = format!("stty cols {columns}; {program} ports {flags} {capture} 2>/dev/null");
        let output = Command::new("script").args(["-qc", &command, "/dev/null"]).output();
        String::from_utf8(output.expect("script runs").stdout).expect("UTF-8").replace('\r', "")
    };
    let narrow = on_terminal(100, "-v");
    assert!(narrow.starts_with("DEVICE mlx5_2  PORT 1\n  STATE          DOWN !\n"), "{narrow}");
    for (columns, flags) in [(1000, "-v"), (10, ""), (10, "-v -o device,state,phys")] {
        let wide = on_terminal(columns, flags);
        assert!(wide.starts_with("DEVICE  "), "{columns} {flags}: {wide}");
    }
}

/// Capture with several hosts.
const FLEET: &str = "tests/fixtures/fleet/capture.ndjson";

/// Checks the exit code and a part of stdout for command lines that administrators type.
#[test]
fn commands_work_as_administrators_type_them() {
    let plan = ["--plan", "-f", "json"];
    let hosts_of_plan = |arguments: &[&str]| {
        let (code, stdout, stderr) = rdmactl(&[&["ping"], arguments, &plan[..]].concat());
        assert_eq!((code, stderr.as_str()), (0, ""), "{arguments:?}");
        let json: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
        (json["hosts"].as_u64(), json["coverage"]["planned"].as_u64())
    };
    // Two host sets are tested as a matrix. With --matrix, the hosts of -H belong to the matrix.
    let matrix = hosts_of_plan(&["--matrix", "n[1-3]"]);
    assert_eq!(hosts_of_plan(&["n1", "n2", "n3"]), matrix);
    assert_eq!(hosts_of_plan(&["-H", "n[1-3]", "--matrix"]), matrix);
    assert_eq!(hosts_of_plan(&["-H", "n1", "--matrix", "n2", "n3"]), matrix);
    // One host set names the targets, and -H names the sources.
    assert_eq!(hosts_of_plan(&["-H", "n1", "n2", "n3"]), hosts_of_plan(&["-H", "n1", "n[2-3]"]));
    assert_ne!(hosts_of_plan(&["-H", "n1", "n2", "n3"]), matrix);

    let (code, long, _) = rdmactl(&["ping", "--help"]);
    assert_eq!((code, rdmactl(&["help", "ping"]).1), (0, long.clone()));
    assert!(long.contains("--tclass") && long.contains("Exit codes: "), "{long}");
    let (code, short, _) = rdmactl(&["ping", "-h"]);
    assert!(code == 0 && !short.contains("--tclass") && short.contains("Example: "), "{short}");
    assert!(rdmactl(&["help"]).1.contains("connections"));
    // Flags may come before help.
    for words in [&["-F", "/x", "help", "ping"][..], &["-v", "help", "ping", "more"]] {
        assert_eq!(rdmactl(words).1, long, "{words:?}");
    }
    let (code, text, stderr) = rdmactl(&["help", "roce.udp4791_blocked"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(text.starts_with("roce.udp4791_blocked: TCP passes and RoCE does not"), "{text}");
    assert!(
        text.contains("\n  fix: allow UDP port 4791 (RoCE) between SOURCE and TARGET"),
        "{text}"
    );

    let listed = ["devices", "--from", FLEET];
    let json = rdmactl(&[&listed[..], &["--json"]].concat()).1;
    assert_eq!(rdmactl(&[&listed[..], &["-j"]].concat()).1, json);
    let verbose = rdmactl(&[&listed[..], &["-v"]].concat()).1;
    assert_eq!(rdmactl(&[&listed[..], &["-o", "wide"]].concat()).1, verbose);
}

#[test]
fn a_plus_counts_for_the_whole_list_of_columns() {
    let heading = |columns: &[&str]| {
        let flags = ["devices", "--from", FLEET, "-f", "csv"];
        let (_, stdout, _) = rdmactl(&[&flags[..], columns].concat());
        stdout.lines().next().unwrap_or_default().to_owned()
    };
    let usual = heading(&[]);
    assert_eq!(heading(&["-o", "+pci,numa"]), format!("{usual},device.pci,device.numa_node"));
    assert_eq!(heading(&["-o", "+pci", "-o", "numa"]), heading(&["-o", "+pci,+numa"]));
    assert_eq!(heading(&["-o", "pci,numa"]), "device.pci,device.numa_node");
}

#[test]
fn a_filter_that_removes_all_rows_is_noted() {
    for (format, filter, is_noted) in [
        ("table", "device==nosuch", true),
        ("plain", "device==nosuch", true),
        ("csv", "device==nosuch", true),
        ("csv", "device~mlx", false),
    ] {
        let flags = ["devices", "--from", FLEET, "-w", filter, "-f", format];
        let (code, _, stderr) = rdmactl(&flags);
        let (usual, ..) = rdmactl(&["devices", "--from", FLEET]);
        assert_eq!(code, usual, "{format}: {stderr}");
        let is_found = stderr.contains("0 of ") && stderr.contains(" rows match the filter\n");
        assert_eq!(is_found, is_noted, "{format} {filter}: {stderr}");
    }
}

#[test]
fn a_filter_that_no_row_can_match_is_an_error() {
    for (command, filter, expected) in [
        ("devices", "state==aktive", "STATE is one of: NOP, DOWN, INIT, ARMED, ACTIVE"),
        ("devices", "rate>banana", "RATE is a number; write for example"),
        ("connections", "verdict==fine", "VERDICT is one of: "),
        ("counters", "unit=packets", "UNIT is one of: bytes, ticks, events, level"),
        ("gids", "kind=rocev2", "KIND is one of: IB, \"RoCE v1\", \"RoCE v2\""),
    ] {
        let (code, stdout, stderr) = rdmactl(&[command, "--from", FLEET, "-w", filter]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{filter}: {stderr}");
        assert!(stderr.contains(expected), "{filter}: {stderr}");
    }
    let (code, _, stderr) = rdmactl(&["devices", "--from", FLEET, "-w", "state"]);
    assert!(code != 2 && stderr.contains("-w 'state==nop'"), "{stderr}");
}

#[test]
fn a_host_that_did_not_respond_is_no_filter_result() {
    let ssh = ["-F", "none", "--ssh-option", "ProxyCommand=false", "--timeout", "5"];
    let one = [&["devices", "-H", "n1", "-w", "state==active"], &ssh[..]].concat();
    let (code, stdout, stderr) = rdmactl(&one);
    assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
    assert!(stderr.contains("n1: ") && !stderr.contains("rows match"), "{stderr}");
    let pair = [&["ping", "n1", "n2", "--rails", "1"], &ssh[..]].concat();
    let (code, stdout, stderr) = rdmactl(&pair);
    assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
    assert!(stderr.contains("--rails 1: no host responded: "), "{stderr}");
}

#[test]
fn a_port_number_is_from_1_to_255() {
    for number in ["0", "256"] {
        let (code, _, stderr) = rdmactl(&["ping", "--matrix", "n1,n2", "--plan", "--port", number]);
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains("1..=255"), "{stderr}");
    }
    let (code, ..) = rdmactl(&["ping", "--matrix", "n1,n2", "--plan", "--port", "255"]);
    assert_eq!(code, 0);
}

#[test]
fn a_capture_reports_the_written_file() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("copy.ndjson").display().to_string();
    let (code, stdout, stderr) = rdmactl(&["capture", "--from", FLEET, "--save", &file]);
    assert_eq!((code, stdout.as_str()), (0, ""), "{stderr}");
    let wrote = format!("rdmactl: wrote {file}: ");
    let list = format!(" KB; list it: rdmactl devices --from {file}\n");
    assert!(stderr.starts_with(&wrote) && stderr.contains(&list), "{stderr}");
    let (_, _, stderr) = rdmactl(&["capture", "--from", FLEET, "--save", "/dev/null"]);
    assert_eq!(stderr, "", "a device has no size");
    let launcher = "exec false {host} {command}";
    let arguments = ["capture", "n1", "n2", "--launcher", launcher, "--save", &file];
    let (code, _, stderr) = rdmactl(&arguments);
    assert!(code == 2 && stderr.contains(&format!("wrote {file}: 0 of 2 hosts, ")), "{stderr}");
    let copy = folder.path().join("second.ndjson").display().to_string();
    let (_, _, stderr) = rdmactl(&["capture", "--from", &file, "--save", &copy]);
    assert!(stderr.contains(&format!("wrote {copy}: 0 of 2 hosts, ")), "{stderr}");
}

#[test]
fn an_unwritable_file_is_reported_before_hosts_are_queried() {
    let folder = tempfile::tempdir().expect("a directory");
    let marker = folder.path().join("queried").display().to_string();
    let launcher = format!("exec sh -c 'touch {marker}; exit 1' {{host}} {{command}}");
    for command in ["devices", "capture", "ping"] {
        let arguments = [command, "n1", "--launcher", &launcher, "--save", "/nowhere/x"];
        let (code, stdout, stderr) = rdmactl(&arguments);
        assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
        let what = "rdmactl: cannot write /nowhere/x: No such file or directory";
        assert!(stderr.starts_with(what) && stderr.contains("\n  fix: "), "{stderr}");
        assert!(!std::path::Path::new(&marker).exists(), "{command} queried the host");
    }
}

#[test]
fn a_full_disk_does_not_cost_the_rows() {
    for form in [&[][..], &["-j"][..]] {
        let (_, expected, _) = rdmactl(&[&["devices", "--from", FLEET], form].concat());
        let arguments = [&["devices", "--from", FLEET, "--save", "/dev/full"], form].concat();
        let (code, stdout, stderr) = rdmactl(&arguments);
        assert_eq!((code, stdout), (2, expected), "{stderr}");
        assert!(stderr.contains("cannot write /dev/full: No space left"), "{stderr}");
    }
}

#[test]
fn hosts_are_chosen_from_a_capture() {
    let hosts = |arguments: &[&str]| {
        let flags = ["--from", FLEET, "-f", "csv", "-n", "-o", "host"];
        let (_, stdout, stderr) = rdmactl(&[arguments, &flags[..]].concat());
        let mut names: Vec<String> = stdout.lines().map(str::to_owned).collect();
        names.dedup();
        (names, stderr)
    };
    let (all, _) = hosts(&["devices"]);
    assert!(all.len() > 2, "{all:?}");
    let first = all[0].as_str();
    assert_eq!(hosts(&["devices", "-H", first]).0, [first]);
    assert_eq!(hosts(&["devices", first]).0, [first]);
    let (none, stderr) = hosts(&["devices", "nosuch"]);
    assert!(none.is_empty() && stderr.contains("does not hold the host nosuch"), "{stderr}");
    assert!(stderr.contains("fix: name hosts of the file: -H '"), "{stderr}");
}

/// Arguments of a usage error, a part of the error and a part of its fix.
type Refused<'a> = (&'a [&'a str], &'a str, &'a str);

fn are_refused(rows: &[Refused<'_>]) {
    for (arguments, said, fix) in rows {
        let (code, stdout, stderr) = rdmactl(arguments);
        assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said) && stderr.contains(fix), "{arguments:?}: {stderr}");
    }
}

#[test]
fn an_unknown_word_gets_a_hint_with_a_command() {
    are_refused(&[
        (&["ls"][..], "unknown command ls", "fix: rdmactl devices\n"),
        (&["show"], "unknown command show", "fix: rdmactl devices\n"),
        (&["info"], "unknown command info", "fix: rdmactl devices\n"),
        (
            &["status"],
            "unknown command status",
            "fix: for a summary: rdmactl; for a live view: rdmactl top",
        ),
        (&["perf"], "unknown command perf", "fix: rdmactl ping n1 n2 --test lat,bw\n"),
        (&["bw"], "unknown command bw", "fix: rdmactl ping n1 n2 --test lat,bw\n"),
        (&["test"], "unknown command test", "fix: rdmactl ping --matrix"),
        (&["health"], "unknown command health", "fix: rdmactl check; rdmactl ping --matrix"),
        (&["devics"], "unknown command devics", "fix: rdmactl devices\n"),
        (&["xyzzy"], "unknown command xyzzy", "fix: list the commands: rdmactl -h\n"),
        (&["help", "xyzzy"], "unknown command xyzzy", "fix: list the commands: rdmactl -h\n"),
        (&["devices", "--hots", "n1"], "unknown flag --hots", "fix: write --hosts; all"),
        (&["devices", "--nonsense"], "unknown flag --nonsense", "fix: list the flags"),
        (
            &["n[1-4]"],
            "unknown command n[1-4]",
            "rdmactl -H 'n[1-4]'; their devices: rdmactl devices",
        ),
        (
            &["diff", "n1", "n2"],
            "unknown command diff",
            "hosts with equal values share a row: rdmactl ports n1 n2",
        ),
        (&["ping", "n1", "--bw"], "unknown flag --bw", "fix: write --test bw; all flags"),
        (&["ping", "n1", "-D", "5"], "unknown flag -D", "fix: write --slot TIME for each pair"),
        (
            &["ports", "--interval", "2"],
            "unknown flag --interval",
            "fix: write --watch 2, and --count N",
        ),
        (
            &["ports", "-w", "n[1-4]"],
            "n[1-4] looks like a host set",
            "fix: name hosts with -H: -H 'n[",
        ),
        (&["ping", "--all", "n1"], "unknown flag --all", "fix: write --matrix SET"),
        (&["ping", "n1", "-i", "1"], "unknown flag -i", "fix: write --port N"),
        (&["ports", "-i", "1"], "unknown flag -i", "fix: write --watch 1, and --count N"),
        (&["ping", "--baseline", "f"], "unknown flag --baseline", "write rdmactl ping --diff OLD"),
        (&["capture", "--anonymize"], "unknown flag --anonymize", "fix: write --redact"),
        (&["ib_write_bw"], "unknown command ib_write_bw", "fix: rdmactl ping n1 n2 --test bw"),
        (&["ibstat", "-l"], "unknown command ibstat", "fix: rdmactl compat ibstat -l\n"),
        (&["perfquery"], "unknown command perfquery", "fix: rdmactl compat perfquery\n"),
        (&["ports", "-H", "n[1-4]", "-x", "n4"], "unknown flag -x", "-H 'n[1-4]!n4'"),
        (
            &["ports", "-w", "a", "-w", "b"],
            "cannot be used multiple times",
            "fix: join the filters with and: -w 'a and b'\n",
        ),
        (&["top", "--every", "1s", "--watch", "2"], "both set the interval", "top --watch 5"),
        (&["top", "--count", "2"], "top does not support --count", "q ends it"),
        (&["ports", "-f", "8"], "invalid value '8'", "at the same time write --fanout 8"),
        (&["ports", "-o", "x.json"], "no column x.json", "raw data is --save FILE"),
        (&["ports", "-s", "64"], "no column 64", "message size of ping is --size BYTES"),
        (&["ports", "-j", "-w", "x"], "JSON has no rows", "fix: filter JSON with jq"),
        (&["ping", "n1", "-n", "5"], "5 would be the name of a host", "round trips is -c 5"),
        (&["top", "-w", "n[1-4]"], "n[1-4] looks like a host set", "fix: name hosts with -H"),
        (&["ports", "-w", "n1,n2"], "n1,n2 looks like a host set", "fix: name hosts with -H"),
        (&["devices", "--fanout", "0"], "0 is not in 1..=1024", "fix: list the flags"),
        (&["devices", "--watch", "0"], "invalid value '0'", "fix: list the flags"),
        (&["compat"], "required arguments were not provided", "fix: list the flags"),
        (&["devices", "n[1-"], "n[1-\n ^^^", "fix: write a host set such as"),
        (
            &["devices", "lo"],
            "lo is a network interface of this host",
            "fix: show it: rdmactl ports -w",
        ),
        (&["top", "port"], "it is not a view; write ports", "fix: list the flags"),
        (&["resources", "qps"], "it is not a kind; write qp", "fix: list the flags"),
        (&["ping", "-H", "n1"], "ping needs a host", "fix: to test every pair of the hosts of -H"),
    ]);
}

#[test]
fn a_hint_for_a_flag_is_right_or_does_not_exist() {
    are_refused(&[
        (&["ping", "--no-matrix"], "unknown flag --no-matrix", "fix: list the flags"),
        (&["ping", "--quiet"], "unknown flag --quiet", "fix: list the flags"),
        (&["ports", "-Q"], "unknown flag -Q", "fix: list the flags"),
        (&["devices", "--explain"], "unknown flag --explain", "rdmactl help CODE"),
        (&["counters", "--error"], "unknown flag --error", "fix: write --errors"),
        (&["gids", "--type", "RoCEv2"], "unknown flag --type", "fix: write -w kind~v2"),
        (&["gids", "--v2"], "unknown flag --v2", "fix: write -w kind~v2"),
        (
            &["ports", "--down"],
            "unknown flag --down",
            "fix: list the ports that are not active: rdmactl ports -w 'state!=ACTIVE'",
        ),
        (&["resources", "--summary"], "unknown flag --summary", "fix: write --by process"),
        (&["connections", "--check"], "unknown flag --check", "fix: write --fail-on fail"),
        (&["ports", "n1", "--diff"], "unknown flag --diff", "rdmactl ports n1 n2 -v"),
        (&["connections", "--nfs"], "unknown flag --nfs", "fix: write -w 'user==nfs'"),
        (
            &["connections", "--explain", "mixed"],
            "unknown flag --explain",
            "fix: print the meaning of a verdict: rdmactl help mixed",
        ),
        (
            &["connections", "nfs", "n[1-4]"],
            "nfs is a user of RDMA, not a host",
            "fix: list its connections: rdmactl connections 'n[1-4]' -w user==nfs",
        ),
        (&["explain", "mixed"], "unknown command explain", "fix: rdmactl help mixed"),
        (&["devices", "-d", "rxe0"], "unknown flag -d", "fix: write -w 'device==rxe0'; all"),
        (&["devices", "-d", "$(x)"], "unknown flag -d", "fix: write -w 'device==NAME'; all"),
        (&["devices", "--roce"], "unknown flag --roce", "fix: write -w link==roce"),
        (&["devices", "--type", "ib"], "unknown flag --type", "fix: write -w link==roce"),
        (&["ports", "-r"], "unknown flag -r", "fix: for descending order write -s -COLUMN"),
        (&["ping", "--dry-run", "n1"], "unknown flag --dry-run", "fix: write --plan"),
        (&["devices", "-f", "Cargo.toml"], "invalid value", "write --hosts-file Cargo.toml"),
        (&["devices", "-f", "nosuch.txt"], "invalid value", "fix: list the flags"),
        (&["devices", "-o", "csv"], "no column csv", "fix: write -f csv; -o chooses columns"),
        (&["devices", "-o", "yaml"], "no column yaml", "fix: write -f json; -o chooses columns"),
        (&["capture", "-o", "x"], "capture does not support --columns", "fix: write --save FILE"),
        (&["hosts", "--count", "n[1-2]"], "invalid value", "fix: rdmactl hosts --size 'n[1-2]'"),
        (&["hosts", "n1", "--count", "5"], "does not support --count", "rdmactl hosts --size SET"),
    ]);
}

#[test]
fn a_hint_for_a_command_repeats_the_hosts() {
    are_refused(&[
        (&["metrics"], "unknown command metrics", "fix: rdmactl counters -f prom\n"),
        (&["prom", "n1"], "unknown command prom", "fix: rdmactl counters n1 -f prom\n"),
        (&["expand", "n[1-2]"], "unknown command expand", "fix: rdmactl hosts 'n[1-2]'\n"),
        (&["expand"], "unknown command expand", "fix: rdmactl hosts SET\n"),
        (
            &["problems"],
            "unknown command problems",
            "fix: rdmactl top problems; rdmactl connections --only fallback\n",
        ),
        (&["bugreport"], "unknown command", "fix: rdmactl capture --redact --save FILE\n"),
        (&["n2"], "unknown command n2", "fix: a summary of this host: rdmactl -H n2; its devices"),
        (&["n2", "-F", "x"], "unknown command n2", "rdmactl -H n2 -F x; "),
        (&["show", "n2"], "unknown command show", "fix: rdmactl devices n2\n"),
        (&["-H", "n[1-2]", "show"], "unknown command show", "rdmactl devices -H 'n[1-2]'\n"),
        (
            &["health", "-H", "n1,n2", "-F", "cfg"],
            "unknown command health",
            "fix: rdmactl check -H 'n1,n2' -F cfg; rdmactl ping --matrix -H 'n1,n2' -F cfg\n",
        ),
        (&["explain"], "unknown command explain", "fix: rdmactl help CODE"),
        (&["explain", "rc.no_ack"], "unknown command explain", "fix: rdmactl help rc.no_ack\n"),
        (&["rc.no_ack"], "unknown command rc.no_ack", "fix: rdmactl help rc.no_ack\n"),
        (&["config", "hosts"], "config takes no argument hosts", "fix: list the flags"),
    ]);
}

#[test]
fn a_word_for_columns_is_neither_mixed_nor_ambiguous() {
    are_refused(&[
        (
            &["devices", "-o", "pci,+numa"],
            "+numa comes after a word without +",
            "fix: only these columns: -o pci,numa; in addition to the default columns: -o +pci,numa",
        ),
        (
            &["counters", "-w", "name~err"],
            "^ name is ambiguous: device.name, counter.name",
            "-o help lists the columns",
        ),
        (&["counters", "-s", "name"], "name is ambiguous: device.name, counter.name", "-o help"),
        (&["counters", "-o", "name"], "name is ambiguous: device.name, counter.name", "-o help"),
    ]);
}

#[test]
fn a_flag_or_a_file_in_the_wrong_place_is_refused() {
    are_refused(&[
        (
            &["compat", "show_gids", "-H", "n[1]", "mlx5_0"],
            "-H belongs to rdmactl, not to show_gids",
            "fix: rdmactl compat -H 'n[1]' show_gids mlx5_0\n",
        ),
        (
            &["compat", "ibstat", "-l", "--from=x.ndjson", "--upload"],
            "--from belongs to rdmactl",
            "fix: rdmactl compat '--from=x.ndjson' --upload ibstat -l\n",
        ),
        (
            &["capture", "ticket.json", "--save", "x"],
            "ticket.json is the name of a file",
            "fix: write the file after --save: rdmactl capture --save ticket.json\n",
        ),
    ]);
}

#[test]
fn an_error_repeats_little_of_a_long_argument() {
    let (code, _, stderr) = rdmactl(&["devices", &"x\u{1b}".repeat(20_000), "--fanout", "0"]);
    assert_eq!(code, 2);
    assert!(stderr.len() < 1_000 && !stderr.contains('\u{1b}'), "{}", stderr.len());
    let (code, _, stderr) = rdmactl(&[&"[".repeat(20_000)]);
    assert!(code == 2 && stderr.len() < 1_000, "{}", stderr.len());
    let long = "x".repeat(5_000);
    let nested = "(".repeat(5_000);
    for arguments in [
        &["devices", "-w", &nested][..],
        &["devices", "-w", &format!("state=={long}")],
        &["devices", "-o", &long],
        &["devices", "-s", &long],
        &["devices", "-H", &format!("{long}[")],
        &["devices", "--from", &long],
        &["devices", "--timeout", &long],
        &["devices", &format!("--{long}")],
        &["ping", "--topology", &long, "--matrix", "n1,n2"],
        &[&long],
    ] {
        let (code, _, stderr) = rdmactl(arguments);
        assert_eq!(code, 2, "{stderr}");
        let is_run = |part: &str| part.len() > 80;
        let runs = stderr.split(|letter| !matches!(letter, 'x' | '('));
        assert_eq!(runs.filter(|part| is_run(part)).count(), 0, "{stderr}");
    }
}

#[test]
fn a_capture_is_not_written_to_a_terminal() {
    let program = env!("CARGO_BIN_EXE_rdmactl");
    let command = format!("{program} capture --from {FLEET}; echo code $?");
    let mut terminal = Command::new("script");
    let output = terminal.args(["-qc", &command, "/dev/null"]).env("NO_COLOR", "1").output();
    let text = String::from_utf8(output.expect("script runs").stdout).expect("UTF-8");
    assert!(text.contains("fix: name a file: rdmactl capture --save FILE"), "{text}");
    assert!(text.contains("code 2") && text.lines().count() == 3, "{text}");
    let (code, stdout, _) = rdmactl(&["capture", "--from", FLEET]);
    assert!(code == 0 && stdout.starts_with("{\"schema\""));
}

#[test]
fn on_a_terminal_a_hung_host_does_not_delay_the_rows_of_the_others() {
    let program = env!("CARGO_BIN_EXE_rdmactl");
    let folder = tempfile::tempdir().expect("a directory");
    let launcher = folder.path().join("launcher");
    let script = "[ $1 = hung ] && exec sleep 600; exec sh -c \"$2\"\n";
    std::fs::write(&launcher, script).expect("a script");
    std::os::unix::fs::symlink(program, folder.path().join("rdmactl")).expect("a link");
    let run = |flags: &str| {
        let option = format!("--launcher exec 'sh {} {{host}} {{command}}'", launcher.display());
        let command = format!("{program} devices hung,quick {option} --timeout 8s {flags}");
        let mut terminal = Command::new("script");
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        terminal.args(["-qc", &command, "/dev/null"]).env("NO_COLOR", "1").env("PATH", path);
        let output = terminal.output().expect("script runs");
        String::from_utf8(output.stdout).expect("UTF-8").replace('\r', "")
    };
    let text = run("");
    let (before, after) = text.split_once("still waiting for hung\n").expect("a note");
    assert!(before.contains("quick") && !before.contains("hung"), "{text}");
    assert!(after.contains("hung") && after.contains("timeout"), "{text}");
    // A sorted listing waits for all rows.
    let text = run("-s host");
    assert!(!text.contains("still waiting") && text.contains("timeout"), "{text}");
}

#[test]
fn the_summary_repeats_the_hosts_in_its_next_commands() {
    let (_, stdout, _) = rdmactl(&["--from", FLEET, "-F", "/x", "--timeout", "3s"]);
    assert!(stdout.contains(&format!("rdmactl counters --from {FLEET}  ")), "{stdout}");
    assert!(!stdout.contains("rdmactl ping"), "a file has no living hosts: {stdout}");
    let hosts = ["-H", "127.0.0.1:1,localhost:1", "-F", "/dev/null", "-l", "a b"];
    let (_, stdout, _) = rdmactl(&[&hosts[..], &["--timeout", "2.5s"]].concat());
    let flags = "-H '127.0.0.1:1,localhost:1' -l 'a b' -F /dev/null --timeout 2500ms";
    assert!(stdout.contains(&format!("rdmactl devices {flags} ")), "{stdout}");
    assert!(stdout.starts_with("2 hosts, 2 without data\n"), "{stdout}");
}

#[test]
fn a_run_of_ping_is_no_capture() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("run.json").display().to_string();
    std::fs::write(&file, "{\"schema\": \"rdmactl.ping/1\", \"hosts\": []}\n").expect("a file");
    let (code, _, stderr) = rdmactl(&["--from", &file]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("holds a run of ping, not a capture"), "{stderr}");
    assert!(
        stderr.contains(&format!("fix: show the run: rdmactl ping --from {file}\n")),
        "{stderr}"
    );
}

/// Returns the rows of `resources` for a server of NFS, NVMe-oF, iSER and RDS over RDMA.
fn resources_of_server(arguments: &[&str]) -> String {
    const SERVER: &str = "tests/fixtures/consumers_server/capture.ndjson";
    let all = [&["resources", "--from", SERVER, "-f", "csv", "-n"], arguments].concat();
    let (code, stdout, stderr) = rdmactl(&all);
    assert_eq!(code, 0, "{stderr}");
    stdout
}

#[test]
fn a_queue_pair_of_the_kernel_has_the_owner_and_the_addresses_of_its_connection() {
    let rows = resources_of_server(&["qp", "-o", "number,name,source,destination"]);
    assert_eq!(rows.lines().count(), 8, "only queue pairs: {rows}");
    assert!(rows.contains("18,[rpcrdma],10.10.1.1:20049,10.10.1.2:46897"), "{rows}");
    assert!(rows.contains("21,[ib_isert],10.10.1.1:3261,10.10.1.2:51552"), "{rows}");
    assert!(!rows.contains("[rdma_cm]"), "{rows}");
}

#[test]
fn resources_by_process_has_one_row_for_each_holder() {
    let rows =
        resources_of_server(&["--by", "process", "-o", "process,qp,mr,cm_id", "-s", "process"]);
    let nvme = rows.lines().find(|line| line.contains("nvmet_rdma"));
    assert_eq!(nvme, Some("[nvmet_rdma],2,0,3"), "{rows}");
    assert_eq!(rows.lines().count(), 7, "{rows}");
    let (code, _, stderr) = rdmactl(&["resources", "mr", "--by", "process"]);
    assert!(code == 2 && stderr.contains("remove the kinds"), "{stderr}");
    let (code, _, stderr) = rdmactl(&["resources", "--json", "--by", "process"]);
    assert!(code == 2 && stderr.contains("JSON has no rows"), "{stderr}");
}

/// Only a process of root can be an agent that sudo started. For other users the variable has no
/// effect.
#[test]
fn an_agent_of_sudo_has_no_environment_of_its_caller() {
    use std::io::BufRead as _;
    let nonce = "0123456789abcdef0123456789abcdef";
    let mut agent = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .args(["agent", nonce])
        .env("SUDO_UID", "1000")
        .env("OF_THE_CALLER", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("rdmactl runs");
    let mut greeting = String::new();
    let output = agent.stdout.take().expect("a pipe");
    std::io::BufReader::new(output).read_line(&mut greeting).expect("a greeting");
    assert!(greeting.contains(nonce), "{greeting}");
    let environment = std::fs::read(format!("/proc/{}/environ", agent.id())).expect("its own");
    let has = |word: &[u8]| environment.windows(word.len()).any(|window| window == word);
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(has(b"OF_THE_CALLER"), !is_root);
    assert_eq!(has(b"PATH=/usr/sbin:/usr/bin:/sbin:/bin"), is_root);
    drop(agent.stdin.take());
    agent.wait().expect("it ends with its input");
}

#[test]
fn an_agent_takes_no_flag_that_runs_a_program_or_writes_a_file() {
    let nonce = "0123456789abcdef0123456789abcdef";
    for flag in ["--launcher=exec x", "--save=/nowhere/x", "--ssh-option=a=b", "-Hn1", "-v"] {
        let (code, stdout, stderr) = rdmactl(&["agent", nonce, flag]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{flag}");
        assert!(stderr.contains("rdmactl agent does not accept"), "{stderr}");
    }
}

#[test]
fn active_checks_need_two_hosts_and_a_new_run() {
    let name = "fix: name two or more hosts: rdmactl check --active -H 'n[1-4]'\n";
    let remove = "fix: remove it: --active tests the pairs of -H once, and saves no results\n";
    let refused = |flag: &str| format!("rdmactl: check --active does not support --{flag}\n");
    let [from, root, save, sample] = ["from", "root", "save", "sample"].map(refused);
    are_refused(&[
        (&["check", "--active"][..], "--active tests pairs of hosts, and needs -H hosts", name),
        (&["check", "--active", "-H", "n1"], "n1 is one host; --active needs two", name),
        (&["check", "--active", "n1,n1"], "n1 is one host; --active needs two", name),
        (&["check", "--active", "--from", "x"], from.as_str(), remove),
        (&["check", "--active", "--root", "/"], root.as_str(), remove),
        (&["check", "--active", "-H", "n[1-2]", "--save", "/tmp/x"], save.as_str(), remove),
        (&["check", "--active", "-H", "n[1-2]", "--sample", "1"], sample.as_str(), remove),
        (
            &["check", "--sample", "1", "--from", "x"],
            "rdmactl: check --sample does not support --from\n",
            "fix: remove it: --sample reads the hosts twice, and a file holds one sample\n",
        ),
        (
            &["check", "--active", "-H", "n[1-2]", "--only", "port.*"],
            "--active runs the checks ping.*, which --only or --skip excludes",
            "fix: remove --active, or add the checks: --only 'ping.*'\n",
        ),
    ]);
}

#[test]
fn a_check_that_does_not_exist_is_named_with_a_near_one() {
    for (arguments, error) in [
        (&["check", "--explain", "port.dwn"][..], "--explain: no check port.dwn"),
        (&["check", "--only", "prt.*"], "--only: no check prt.*"),
        (&["check", "--skip", "port.*,nothing"], "--skip: no check nothing"),
    ] {
        let (code, stdout, stderr) = rdmactl(arguments);
        assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
        assert!(stderr.contains(error) && stderr.contains("rdmactl check --list"), "{stderr}");
    }
    let (code, text, _) = rdmactl(&["check", "--explain", "port.down"]);
    assert_eq!(code, 0);
    for part in ["port.down: Each port has a link.", "origin:", "remedy:", "explains: port.slow"] {
        assert!(text.contains(part), "{text}");
    }
    let (_, listed, _) = rdmactl(&["check", "--list", "--only", "port.*"]);
    assert!(listed.lines().all(|line| line.starts_with("port.")) && listed.lines().count() > 8);
}

#[test]
fn a_plug_in_and_a_drawing_refuse_flags_of_a_listing() {
    let plugin = "fix: remove it: the monitoring system defines the output\n";
    let drawing = "fix: remove it: a drawing shows one sample and has no rows; or use another \
                   format\n";
    for (flags, named) in [
        (&["-f", "csv"][..], "--format (-f)"),
        (&["-j"], "--json (-j)"),
        (&["-o", "check.id"], "--columns (-o)"),
        (&["-w", "severity==fail"], "--where (-w)"),
        (&["-s", "check.id"], "--sort (-s)"),
        (&["-n"], "--no-header (-n)"),
        (&["-v"], "--verbose (-v)"),
    ] {
        let said = format!("check --plugin does not support {named}\n");
        let arguments = [&["check", "--plugin", "nagios"], flags].concat();
        are_refused(&[(&arguments[..], said.as_str(), plugin)]);
    }
    are_refused(&[
        (
            &["check", "--plugin", "nhc", "--fail-on", "warn"][..],
            "check --plugin does not support --fail-on\n",
            "fix: remove it: the monitoring system defines the exit codes\n",
        ),
        (
            &["fabric", "-f", "tree", "--watch"],
            "fabric --format tree does not support --watch\n",
            drawing,
        ),
        (
            &["-n", "fabric", "-f", "dot"],
            "fabric --format dot does not support --no-header",
            drawing,
        ),
        (&["check", "--explain", "port.down", "--policy-schema"], "cannot be used with", "--help"),
        (&["check", "--list", "--policy-schema"], "cannot be used with", "--help"),
        (&["check", "--list", "--explain", "port.down"], "cannot be used with", "--help"),
    ]);
}

/// Launcher of hosts that start no agent.
const NO_HOST: &str = "exec false {host} {command}";

#[test]
fn a_plug_in_reports_hosts_that_were_not_read() {
    let check = |plugin: &str, check: &str| {
        let launcher = ["-H", "n[1-2]", "--launcher", NO_HOST];
        let arguments = ["check", "--plugin", plugin, "--only", check];
        rdmactl(&[&arguments[..], &launcher].concat())
    };
    let (code, stdout, _) = check("nagios", "port.down");
    let first = "RDMA UNKNOWN: not read: n[1-2] | fail=0 warn=0 unknown=0\n";
    assert!(code == 3 && stdout.starts_with(first), "{code}: {stdout}");
    assert!(stdout.contains("false ended before the shell started"), "{stdout}");
    let (code, stdout, _) = check("nhc", "port.down");
    let start = "ERROR: rdmactl check: not read: n[1-2]; ";
    assert!(code == 1 && stdout.starts_with(start), "{code}: {stdout}");
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    let (code, stdout, _) = check("nagios", "host.silent");
    assert!(code == 2 && stdout.starts_with("RDMA CRITICAL: n"), "{code}: {stdout}");
}

#[test]
fn a_value_that_a_file_lacks_is_no_error_of_a_plug_in() {
    let capture = "tests/fixtures/debian12_rxe/capture.ndjson";
    let (code, stdout, _) = rdmactl(&["check", "--from", capture, "--plugin", "nhc"]);
    assert_eq!((code, stdout.as_str()), (0, "OK: rdmactl check\n"));
}

#[test]
fn an_error_of_a_plug_in_is_on_stdout() {
    for (plugin, start, expected) in
        [("nagios", "RDMA UNKNOWN: ", 3), ("nhc", "ERROR: rdmactl check: ", 1)]
    {
        for (flags, what) in [
            (&["--from", "/nowhere/x"][..], "/nowhere/x"),
            (&["--policy", "/nowhere/site.toml"], "cannot read /nowhere/site.toml: "),
            (&["--only", "port.dwn"], "--only: no check port.dwn; fix: write for example "),
            (&["-H", "n[1-"], "unclosed bracket"),
            (&["--from", FLEET, "--save", "/nowhere/x"], "cannot write /nowhere/x: "),
        ] {
            let arguments = [&["check", "--plugin", plugin], flags].concat();
            let (code, stdout, stderr) = rdmactl(&arguments);
            assert_eq!((code, stderr.as_str()), (expected, ""), "{arguments:?}: {stdout}");
            assert!(stdout.starts_with(start) && stdout.contains(what), "{arguments:?}: {stdout}");
            assert_eq!(stdout.lines().count(), 1, "{arguments:?}: {stdout}");
        }
    }
}

#[test]
fn a_learned_policy_replaces_no_file_and_needs_complete_reports() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("site.toml");
    let path = file.display().to_string();
    let learn = ["check", "--from", FLEET, "--learn", &path];
    let (_, stdout, stderr) = rdmactl(&learn);
    assert!(!stdout.is_empty(), "{stderr}");
    let what = format!("rdmactl: {path} is not written: ");
    assert!(stderr.contains(&what) && stderr.contains(" not read completely\n"), "{stderr}");
    assert!(!file.exists(), "the capture lacks values");
    std::fs::write(&file, "# hand-written\n").expect("a file");
    let (code, stdout, stderr) = rdmactl(&learn);
    assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
    let what = format!("rdmactl: --learn {path}: the file exists, and --learn replaces no file\n");
    let new = folder.path().join("site.2.toml");
    let fix = format!("  fix: name a new file: --learn {}\n", new.display());
    assert_eq!(stderr, what + &fix);
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "# hand-written\n");
}

/// The launcher delays each reply of the agent for longer than two intervals of the samples. The
/// first three parts of the output start the agent.
#[test]
fn a_host_may_need_longer_than_the_interval_of_two_samples() {
    let folder = tempfile::tempdir().expect("a directory");
    let script = folder.path().join("delay").display().to_string();
    let text = "#!/bin/sh\nshift; parts=0\n\
                \"$@\" | while dd bs=65536 count=1 of=\"$0.part\" 2>/dev/null; do\n\
                [ -s \"$0.part\" ] || exit\nparts=$((parts + 1))\n\
                [ $parts -le 3 ] || sleep 2.2\ncat \"$0.part\"\ndone\n";
    std::fs::write(&script, text).expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).expect("a program");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_rdmactl"));
    let folder_of_program = program.parent().expect("a directory").display();
    let launcher = format!("exec {script} {{host}} {{command}}");
    let output = Command::new(program)
        .args(["check", "-H", "n1", "--sample", "1", "--only", "host.silent"])
        .args(["--timeout", "30", "--launcher", &launcher])
        .env("PATH", format!("{folder_of_program}:/usr/bin:/bin"))
        .output()
        .expect("rdmactl runs");
    let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8");
    assert!(text.contains("1 host, 1 check: no finding"), "{text}");
}
