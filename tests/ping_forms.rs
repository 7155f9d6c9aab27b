//! Command lines and outputs of `rdmactl ping`, with simulated fabrics from files.
#![expect(clippy::expect_used, reason = "a test without the program fails")]

#[path = "support/committed.rs"]
mod committed;

use std::fs;
use std::path::Path;
use std::process::Command;

use committed::{compare, package};
use serde_json::Value;

/// Runs rdmactl in a folder. Returns exit code, stdout and stderr.
fn rdmactl(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("rdmactl runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Creates a folder with a fabric in `fabric.txt`.
fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    fs::write(folder.path().join("fabric.txt"), text).expect("a file");
    folder
}

/// Runs `rdmactl ping --simulate fabric.txt` with further arguments.
fn simulate(folder: &tempfile::TempDir, arguments: &[&str]) -> (i32, String, String) {
    rdmactl(folder.path(), &[&["ping", "--simulate", "fabric.txt"][..], arguments].concat())
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn assert_valid(kind: &str, document: &Value) {
    let schema = fs::read(package(&format!("tests/schema/rdmactl.{kind}.json"))).expect("a schema");
    let schema = serde_json::from_slice(&schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{kind}: {errors:?}");
}

const FEW: &str = "hosts n[1-6]\nnoise 3%\nfault host n3 blocked\nfault pair n1 n2 slow 3\n";

#[test]
fn a_file_that_cannot_be_written_does_not_cost_the_answer() {
    let folder = folder(FEW);
    let (_, shown, _) = simulate(&folder, &[]);
    let (code, all_the_same, error) = simulate(&folder, &["--save", "/dev/full"]);
    assert_eq!((code, all_the_same), (2, shown));
    assert!(error.contains("cannot write /dev/full: No space left"), "{error}");
    let (code, nothing, error) = simulate(&folder, &["--save", "no/such/folder/run.json"]);
    assert_eq!((code, nothing.as_str()), (2, ""), "the error precedes the run");
    assert!(error.contains("no/such/folder/run.json"), "{error}");
}

#[test]
fn a_run_that_is_kept_is_shown_in_every_form() {
    let folder = folder(FEW);
    for form in ["table", "json", "ndjson", "csv", "plain", "prom", "svg", "html"] {
        let (code, live, _) = simulate(&folder, &["-f", form, "--save", "run.json"]);
        assert_eq!(code, 1, "{form}");
        let (code, again, _) = rdmactl(folder.path(), &["ping", "--from", "run.json", "-f", form]);
        assert_eq!((code, again == live), (1, true), "{form}: {again}\n{live}");
    }
    let (code, stdout, stderr) =
        rdmactl(folder.path(), &["ping", "--from", "run.json", "-f", "csv", "-o", "source,target"]);
    assert!(code == 1 && stdout.starts_with("source.name,target.name\n"), "{stdout}");
    assert!(stderr.contains("SIMULATED from fabric.txt: no message was sent"), "{stderr}");
    // A saved run that is saved again is equal.
    let kept = || fs::read_to_string(folder.path().join("run.json")).expect("a file");
    let before = kept();
    rdmactl(folder.path(), &["ping", "--from", "run.json", "--save", "run.json"]);
    assert_eq!(kept(), before);
    assert_valid("ping", &json(&before));
}

#[test]
fn a_file_that_is_no_run_is_rejected_with_a_fix() {
    let folder = folder(FEW);
    simulate(&folder, &["--save", "run.json"]);
    let whole = fs::read_to_string(folder.path().join("run.json")).expect("a file");
    let newer = whole.replacen("rdmactl.ping/1", "rdmactl.ping/2", 1);
    let capture = fs::read_to_string(package("tests/fixtures/mlx5_roce/capture.ndjson"));
    let strange = whole.replacen(r#""source":0"#, r#""source":77"#, 1);
    let cases = [
        (
            whole[..whole.len() / 2].to_owned(),
            "the file is truncated",
            "rdmactl ping --matrix SET --save FILE",
        ),
        ("noise\n".to_owned(), "not JSON of rdmactl ping", "rdmactl ping --matrix SET --save FILE"),
        (String::new(), "not JSON of rdmactl ping", "rdmactl ping --matrix SET --save FILE"),
        (newer, "written by a newer rdmactl", "the version of rdmactl that wrote"),
        (
            capture.expect("a capture"),
            "its schema is rdmactl.capture/",
            "rdmactl devices --from FILE",
        ),
        (
            strange,
            "refers to a host that the file does not list",
            "rdmactl ping --matrix SET --save FILE",
        ),
    ];
    for (text, what, fix) in cases {
        fs::write(folder.path().join("bad.json"), text).expect("a file");
        for arguments in
            [&["ping", "--from", "bad.json"][..], &["ping", "--diff", "run.json", "bad.json"]]
        {
            let (code, stdout, stderr) = rdmactl(folder.path(), arguments);
            assert_eq!((code, stdout.as_str()), (2, ""), "{what}: {stderr}");
            assert!(stderr.contains(what) && stderr.contains(fix), "{what}: {stderr}");
        }
    }
    let (code, _, stderr) = rdmactl(folder.path(), &["ping", "--from", "/nowhere"]);
    assert!(code == 2 && stderr.contains("cannot read /nowhere"), "{stderr}");
    let (code, _, stderr) = rdmactl(folder.path(), &["devices", "--from", "run.json"]);
    assert!(
        code == 2 && stderr.contains("fix: show the run: rdmactl ping --from run.json"),
        "{stderr}"
    );
    let (code, _, stderr) = simulate(&folder, &["--save", "/nowhere/run.json"]);
    assert!(code == 2 && stderr.contains("cannot write /nowhere/run.json"), "{stderr}");
}

#[test]
fn clients_and_servers_are_tried_with_each_other_both_ways() {
    let folder = folder("hosts c[1-3],s[1-2]\nfault pair s1 -> c2 blocked");
    let sets = ["--clients", "c[1-3]", "--servers", "s[1-2]"];
    let (code, stdout, _) = simulate(
        &folder,
        &[&sets[..], &["-f", "csv", "-n", "-o", "source,target,verdict"]].concat(),
    );
    assert_eq!(code, 1);
    let rows: Vec<&str> = stdout.lines().collect();
    assert_eq!(rows.len(), 12, "{stdout}");
    assert_eq!(rows[..2], ["c1,s1,ok", "c1,s2,ok"], "clients come first");
    assert!(stdout.contains("s1,c2,roce.udp4791_blocked"), "{stdout}");
    // A host in both sets is one host, and it is not tested with itself.
    let both = ["--clients", "c[1-3],s1", "--servers", "s[1-2]", "--json"];
    let report = json(&simulate(&folder, &both).1);
    assert_eq!(report["summary"]["pairs"], 14);
    let (code, _, stderr) = simulate(&folder, &["--clients", "c9", "--servers", "s1"]);
    assert!(code == 2 && stderr.contains("c9 is not a host of the fabric file"), "{stderr}");
}

#[test]
fn a_sample_reports_its_coverage() {
    let leaf = |leaf: usize| format!("leaf l{leaf} n[{}-{}]\n", leaf * 8 + 1, leaf * 8 + 8);
    let leaves = (0..8).map(leaf).collect::<Vec<_>>().concat();
    let folder = folder(&format!("hosts n[1-64]\n{leaves}"));
    let (code, stdout, _) = simulate(&folder, &["--peers", "4", "--seed", "7"]);
    assert_eq!(code, 0, "a pair outside of the sample is no failure: {stdout}");
    assert!(stdout.contains(" of 4032 pairs tested, each host with at least 4 others"), "{stdout}");
    assert!(stdout.contains("36 of 36 pairs of leaf switches; random, seed 7\n"), "{stdout}");
    let (_, again, _) = simulate(&folder, &["--peers", "4", "--seed", "7", "--json"]);
    let coverage = &json(&again)["coverage"];
    assert_eq!((&coverage["seed"], &coverage["peers"]), (&7.into(), &4.into()));
    assert_eq!(coverage["planned"], coverage["tested"]);
    let bisection = json(&simulate(&folder, &["--schedule", "bisection", "--json"]).1);
    assert_eq!(bisection["summary"]["pairs"], 64);
    for schedule in ["circle", "shift", "random"] {
        let all = json(&simulate(&folder, &["--schedule", schedule, "--json"]).1);
        assert_eq!(all["summary"]["ok"], 4032, "{schedule}");
    }
}

#[test]
fn a_budget_leaves_pairs_out_and_does_not_fail_for_them() {
    let folder = folder("hosts n[1-64]\n");
    let (code, stdout, _) = simulate(&folder, &["--budget", "1s"]);
    assert_eq!(code, 0, "{stdout}");
    assert!(
        stdout.contains(" not tested") && stdout.contains("within the budget of 1 s"),
        "{stdout}"
    );
    let report = json(&simulate(&folder, &["--budget", "1s", "--json"]).1);
    let coverage = &report["coverage"];
    assert!(coverage["tested"].as_u64() < coverage["planned"].as_u64(), "{coverage}");
    assert_eq!(report["summary"]["pairs"], 4032);
    let odd = self::folder("hosts n[1-65]\n");
    let (code, stdout, _) = simulate(&odd, &["--budget", "1ms"]);
    assert_eq!(code, 3, "a host was not tested: {stdout}");
}

#[test]
fn a_plan_lists_the_steps_of_the_run() {
    let folder = folder("hosts n[1-16]\nrails 2\n");
    let (code, stdout, _) = simulate(&folder, &["--plan"]);
    assert_eq!(code, 0);
    assert!(stdout.starts_with("SIMULATED from fabric.txt: no message would be sent"), "{stdout}");
    assert!(stdout.contains("hosts  16 hosts, 2 rails\npairs  480 in 15 rounds\n"), "{stdout}");
    assert!(
        stdout
            .contains("\ntest   conn,lat,tcp-lat of each pair; up to 1000 round trips in 300 ms\n")
    );
    assert!(!stdout.contains("upload"), "a simulation uploads nothing: {stdout}");
    let some = ["ping", "--matrix", "n[1-3]", "--plan"];
    let (_, stdout, _) = rdmactl(folder.path(), &some);
    assert!(
        stdout.starts_with("Nothing was sent. Without --plan, rdmactl does this:\n"),
        "{stdout}"
    );
    assert!(
        stdout.contains("\nstart  an agent on 3 hosts, until the end of the run\n"),
        "{stdout}"
    );
    let size = json(&rdmactl(folder.path(), &[&some[..], &["--json"]].concat()).1);
    let bytes = fs::metadata(env!("CARGO_BIN_EXE_rdmactl")).expect("the program").len();
    assert_eq!((&size["upload_bytes"], &size["agents"]), (&bytes.into(), &3.into()));
    assert!(stdout.contains("to each of these hosts that does not have it: "), "{stdout}");
    let (_, stdout, _) = rdmactl(folder.path(), &[&some[..], &["--no-upload"]].concat());
    assert!(stdout.contains("\nupload nothing\n"), "{stdout}");
    let nobody = ["ping", "--matrix", "n[1-10000]", "--peers", "16", "--seed", "1", "--plan"];
    let (code, stdout, _) = rdmactl(folder.path(), &[&nobody[..], &["--json"]].concat());
    assert_eq!(code, 0);
    let plan = json(&stdout);
    assert_valid("ping-plan", &plan);
    assert_eq!(plan["coverage"]["planned"], 160_000);
    assert_eq!(plan["coverage"]["least_peers"], 16);
    assert_eq!(plan["memory_bytes"], 831_782_912_u64);
}

#[test]
fn each_event_is_a_line() {
    let folder = folder(FEW);
    let (code, stdout, _) = simulate(&folder, &["-f", "ndjson"]);
    assert_eq!(code, 1);
    let events: Vec<Value> = stdout.lines().map(json).collect();
    for event in &events {
        assert_valid("ping-event", event);
    }
    let count = |kind: &str| events.iter().filter(|event| event["event"] == kind).count();
    assert_eq!([count("host"), count("pair"), count("summary")], [6, 30, 1]);
    assert!(count("finding") > 0 && count("outlier") > 0, "{stdout}");
    let last = events.last().expect("events");
    assert_eq!((&last["event"], &last["simulated"]), (&"summary".into(), &"fabric.txt".into()));
    assert!(stdout.starts_with(r#"{"schema":"rdmactl.ping-event/1","event":"host","id":0,"#));
}

#[test]
fn ping_diff_lists_the_changes_between_two_runs() {
    let folder = folder("hosts n[1-8]\nnoise 2%\n");
    simulate(&folder, &["--save", "old.json"]);
    let broken =
        "hosts n[1-8]\nnoise 2%\nseed 2\nfault pair n1 -> n2 blocked\nfault host n5 slow 2";
    fs::write(folder.path().join("fabric.txt"), broken).expect("a file");
    simulate(&folder, &["--save", "new.json"]);
    let diff = |old: &str, new: &str, more: &[&str]| {
        rdmactl(folder.path(), &[&["ping", "--diff", old, new][..], more].concat())
    };
    let (code, stdout, _) = diff("old.json", "new.json", &[]);
    assert_eq!(code, 1, "{stdout}");
    for line in [
        "old  SIMULATED from fabric.txt, 8 hosts, 56 pairs: 56 ok, 0 failed\n",
        "! n1 -> n2 broke: roce.udp4791_blocked\n",
        "~ n5: ",
        " times slower (14 of 14 pairs)\n",
        "56 pairs compared: 1 broke, 0 repaired, 0 fail in both, 0 slower, 0 faster\n",
    ] {
        assert!(stdout.contains(line), "{line}: {stdout}");
    }
    let (code, stdout, _) = diff("new.json", "old.json", &[]);
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.contains("+ n1 -> n2 is repaired; it was roce.udp4791_blocked\n"), "{stdout}");
    let (code, stdout, _) = diff("old.json", "new.json", &["--json"]);
    assert_eq!(code, 1);
    assert_valid("ping-diff", &json(&stdout));
    let (code, stdout, _) = diff("old.json", "old.json", &[]);
    assert!(
        code == 0 && stdout.contains("0 broke, 0 repaired, 0 fail in both, 0 slower"),
        "{stdout}"
    );
}

#[test]
fn watch_prints_the_first_run_and_then_only_changes() {
    let folder = folder("hosts n[1-4]\n");
    let (code, stdout, stderr) = simulate(&folder, &["--watch=0.1", "--count", "3"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(stdout.matches("half RTT in us").count(), 1, "{stdout}");
    assert_eq!(stdout.matches("no change: 12 pairs, 12 ok, 0 failed").count(), 2, "{stdout}");
    let (code, stdout, _) =
        simulate(&folder, &["--watch=0.1", "--count", "2", "-f", "csv", "-o", "source,target"]);
    assert_eq!((code, stdout.lines().count()), (0, 1 + 2 * 12), "one heading: {stdout}");
}

const PICTURE: &str = "hosts n[01-08]\nrails 2\nnoise 3%\nseed 3\nfault host n03 blocked\n\
                       fault pair n05 n06 rail 1 slow 3\nfault host n08 rail 1 down\n";

#[test]
fn heat_maps_are_as_committed_and_need_nothing_else() {
    let folder = folder(PICTURE);
    let differences: Vec<String> = ["svg", "html"]
        .into_iter()
        .filter_map(|form| {
            let (code, picture, _) = simulate(&folder, &["-f", form]);
            assert_eq!(code, 1);
            assert!(picture.contains("SIMULATED from fabric.txt: no message was sent"), "{form}");
            assert!(picture.contains("<title>n03 -&gt; n01: roce.udp4791_blocked"), "{form}");
            for foreign in ["<script", "href", "url(", "@import", " src=", "onload"] {
                assert!(!picture.contains(foreign), "{form} has {foreign}");
            }
            compare(&package(&format!("tests/golden/ping/heat_map.{form}")), &picture)
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_heat_map_of_many_hosts_is_folded_and_labeled() {
    let folder = folder("hosts n[0001-1024]\nfault pair n0001 n0700 blocked\n");
    let (code, picture, _) = simulate(&folder, &["-f", "svg", "--peers", "40"]);
    assert_eq!(code, 0, "the random sample contains the blocked pair");
    assert!(
        picture.contains("each square shows the worst of 4 x 4 pairs"),
        "{}",
        &picture[..2_000]
    );
    assert!(picture.len() < 20 << 20, "{} bytes", picture.len());
    fs::write(folder.path().join("fabric.txt"), "hosts n[0001-1025]\n").expect("a file");
    let (code, stdout, stderr) = simulate(&folder, &["-f", "html", "--peers", "1"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(
        stderr.contains("1025 hosts are too many for a heat map; the limit is 1024"),
        "{stderr}"
    );
}

#[test]
fn hostile_names_in_a_file_reach_no_page_and_no_terminal() {
    let folder = folder("hosts n[1-3]\n");
    simulate(&folder, &["--save", "run.json"]);
    let path = folder.path().join("run.json");
    let text = fs::read_to_string(&path).expect("a file");
    let hostile = text.replacen(r#""name":"n1""#, r#""name":"<script>\u001b[2J\u202e&\"'""#, 1);
    assert_ne!(hostile, text);
    fs::write(&path, hostile).expect("a file");
    for form in ["svg", "html", "table"] {
        let (_, stdout, _) = rdmactl(folder.path(), &["ping", "--from", "run.json", "-f", form]);
        assert!(!stdout.contains('\u{1b}') && !stdout.contains('\u{202e}'), "{form}");
        assert!(form == "table" || !stdout.contains("<script>"), "{form}");
    }
    let diff = ["ping", "--diff", "run.json", "run.json"];
    assert!(!rdmactl(folder.path(), &diff).1.contains('\u{1b}'));
}

#[test]
fn the_progress_of_a_run_is_shown_only_on_a_terminal() {
    // The server accepts connections and sends no byte, so that the run lasts until the timeout.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let (program, host) = (env!("CARGO_BIN_EXE_rdmactl"), format!("127.0.0.1:{port}"));
    let folder = folder("");
    let arguments = ["ping", &host, "--timeout", "1s", "-f", "plain"];
    let (code, _, stderr) = rdmactl(folder.path(), &arguments);
    assert_eq!(code, 1);
    assert!(!stderr.contains("reaching") && !stderr.contains('\u{1b}'), "{stderr}");
    let command = format!("{program} {} > plain.txt", arguments.join(" "));
    let output = Command::new("script")
        .args(["-qc", &command, "/dev/null"])
        .current_dir(folder.path())
        .env("TERM", "xterm")
        .output()
        .expect("script runs");
    let terminal = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(terminal.contains("\r\u{1b}[Kreaching hosts: 1 of 2"), "{terminal:?}");
    assert!(terminal.ends_with("\r\u{1b}[K"), "the line is not erased: {terminal:?}");
    let plain = fs::read_to_string(folder.path().join("plain.txt")).expect("the answer");
    assert!(plain.contains("peer.") && !plain.contains('\u{1b}'), "{plain}");
}

#[test]
fn only_failed_pairs_are_listed_in_every_form_of_pairs() {
    let folder = folder(FEW);
    let (code, stdout, _) = simulate(&folder, &["--only", "failed", "-f", "csv", "-n"]);
    assert_eq!((code, stdout.lines().count()), (1, 10), "n3 with its five peers: {stdout}");
    assert!(stdout.lines().all(|row| row.contains("roce.udp4791_blocked")), "{stdout}");
    let (_, stdout, _) = simulate(&folder, &["--only", "failed", "-f", "plain", "-n"]);
    assert_eq!(stdout.lines().count(), 10, "{stdout}");
    let (_, stdout, _) = simulate(&folder, &["--only", "failed"]);
    assert!(stdout.contains("SOURCE") && stdout.contains("\n! n3: roce"), "{stdout}");
    assert!(stdout.contains("30 pairs: 20 ok, 10 failed"), "the whole run is counted: {stdout}");
    let (_, stdout, _) = simulate(&folder, &["--only", "failed", "--json", "--save", "run.json"]);
    assert_valid("ping", &json(&stdout));
    assert_eq!(json(&stdout)["pairs"].as_array().map(Vec::len), Some(10));
    let (_, stdout, _) = simulate(&folder, &["--only", "failed", "-f", "ndjson"]);
    assert_eq!(stdout.matches("\"roce.udp4791_blocked\"").count(), 10 + 1, "{stdout}");
    assert!(!stdout.contains("\"code\":\"ok\""), "{stdout}");
    // The saved run has all pairs.
    let (_, stdout, _) = rdmactl(folder.path(), &["ping", "--from", "run.json", "-f", "csv", "-n"]);
    assert_eq!(stdout.lines().count(), 30);
    let words = ["ping", "--from", "run.json", "--only", "failed", "-f", "csv", "-n"];
    assert_eq!(rdmactl(folder.path(), &words).1.lines().count(), 10);
    let (code, _, stderr) = simulate(&folder, &["--only", "failed", "-f", "svg"]);
    assert!(code == 2 && stderr.contains("fix: remove --only, or write rows"), "{stderr}");
}

#[test]
fn filters_for_failed_pairs_get_a_hint_for_only_failed() {
    let folder = folder(FEW);
    // This verdict does not exist, so the error lists the verdicts.
    let (code, _, stderr) = simulate(&folder, &["-f", "csv", "-w", "verdict==failed"]);
    assert!(code == 2 && stderr.contains("VERDICT is one of: ok, "), "{stderr}");
    assert!(stderr.contains("fix: write for example -w 'verdict!=ok'"), "{stderr}");
    let (_, _, stderr) = simulate(&folder, &["-f", "csv", "-w", "verdict==ib.pkey"]);
    assert!(
        stderr
            .contains("0 of 30 rows match the filter\n  fix: list failed pairs with --only failed"),
        "{stderr}"
    );
    for flag in ["--failed", "--only-failed", "--errors"] {
        let (code, _, stderr) = simulate(&folder, &[flag]);
        assert!(code == 2 && stderr.contains("fix: write --only failed; "), "{flag}: {stderr}");
    }
    let (code, stdout, _) = rdmactl(folder.path(), &["ping", "n1", "--only", "broken"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
}

#[test]
fn hints_of_filters_and_columns_are_about_pairs() {
    let folder = folder(FEW);
    let cases = [
        (["-w", "state!=up"], "fix: write for example -w 'verdict!=ok'; -o help lists"),
        (["-o", "state"], "fix: write for example -o source,target,verdict; -o help lists"),
        (["-s", "state"], "fix: write for example -s verdict; -o help lists"),
    ];
    for (flags, fix) in cases {
        let (code, _, stderr) = simulate(&folder, &flags);
        assert!(code == 2 && stderr.contains(fix), "{flags:?}: {stderr}");
    }
    let (_, _, stderr) = rdmactl(folder.path(), &["gids", "-w", "state!=up"]);
    assert!(stderr.contains("-w 'kind==\"RoCE v2\"'"), "each listing has its own: {stderr}");
}

#[test]
fn a_pair_that_fails_in_both_directions_is_one_finding() {
    let folder = folder(
        "hosts n[1-5]\nrails 2\nfault pair n1 n2 blocked\nfault pair n3 -> n4 rail 1 blocked\n",
    );
    let (_, stdout, _) = simulate(&folder, &["--findings"]);
    assert!(
        stdout
            .contains("\n! n1 <-> n2: roce.udp4791_blocked (both directions, on all rails, while"),
        "{stdout}"
    );
    assert!(stdout.contains("\n    n1 -> n2: a message of 64 bytes failed"), "{stdout}");
    assert!(
        stdout.contains("\n! n3 -> n4 rail 1: roce.udp4791_blocked (one direction, while"),
        "{stdout}"
    );
    assert_eq!(stdout.matches("\n! ").count(), 2, "{stdout}");
    assert!(stdout.contains("40 pairs: 35 ok, 5 failed"), "{stdout}");
}

#[test]
fn a_matrix_without_a_value_has_no_heading_of_one() {
    let folder = folder("hosts n[1-2]\nfault host n1 blocked\n");
    let (_, stdout, _) = simulate(&folder, &[]);
    assert!(stdout.contains("\nresult, row -> column\n       n1     n2\n"), "{stdout}");
    assert!(!stdout.contains("half RTT"), "{stdout}");
}

#[test]
fn the_caption_of_a_rail_names_its_ports() {
    let folder = folder("hosts n[1-4]\nrails 2\n");
    let (_, stdout, _) = simulate(&folder, &["--save", "run.json"]);
    let caption = "rail 1 (mlx5_1/1 on eth1): half RTT in us, row -> column\n";
    assert!(stdout.contains(caption), "{stdout}");
    let file = folder.path().join("run.json");
    let mut run = json(&std::fs::read_to_string(&file).unwrap());
    for pair in run["pairs"].as_array_mut().unwrap() {
        for end in ["source", "target"] {
            if pair[end] == 3 && pair["rail"] == 1 {
                pair["route"][end]["device"] = "mlx5_7".into();
            }
        }
    }
    // The schema is the first key of a saved run, but serde_json sorts the keys.
    let schema = run.as_object_mut().unwrap().remove("schema").unwrap();
    let text = format!("{{\"schema\":{schema},{}", &run.to_string()[1..]);
    std::fs::write(&file, text).unwrap();
    let (_, stdout, stderr) = rdmactl(folder.path(), &["ping", "--from", "run.json"]);
    assert_eq!(stderr, "");
    let differ = "rail 1 (n[1-3] mlx5_1/1 on eth1, n4 mlx5_7/1 on eth1): half RTT in us, ";
    assert!(stdout.contains(differ), "{stdout}");
}

#[test]
fn a_port_with_another_mtu_is_a_warning_and_no_failure() {
    let one = folder("hosts n[1-4]\nrails 2\nfault host n4 rail 1 mtu 1500\n");
    let (code, stdout, _) = simulate(&one, &[]);
    assert_eq!(code, 0, "{stdout}");
    let told = "\n~ n4 rail 1: mtu.differs\n    mlx5_1/1 on eth1 has MTU 1500 (RDMA path MTU 1024); 3 of \
                4 hosts have MTU 9000 (RDMA path MTU 4096)\n    fix: check that the switch port passes \
                packets of 9000 bytes; then, on n4: ip link set eth1 mtu 9000\n";
    assert!(stdout.contains(told), "{stdout}");
    assert!(stdout.ends_with("24 pairs: 24 ok; 1 warning; simulated\n"), "{stdout}");
    let (_, stdout, _) = simulate(&one, &["-f", "csv", "-n", "-o", "source,target,rail,mtu"]);
    assert!(stdout.contains("n1,n4,1,1024\n") && stdout.contains("n1,n4,0,4096\n"), "{stdout}");
    let (_, stdout, _) = simulate(&one, &["--json", "--save", "run.json"]);
    assert_valid("ping", &json(&stdout));
    assert_eq!(json(&stdout)["warnings"][0]["hosts"], serde_json::json!([3]));
    let (_, stdout, _) = simulate(&one, &["-f", "ndjson"]);
    let event = stdout.lines().find(|line| line.contains("\"event\":\"warning\"")).expect("one");
    assert_valid("ping-event", &json(event));
    let (_, stdout, _) = rdmactl(one.path(), &["ping", "--from", "run.json", "--findings"]);
    assert!(stdout.contains("~ n4 rail 1: mtu.differs"), "{stdout}");

    let halves = folder("hosts n[1-4]\nfault host n[3-4] mtu 1500\n");
    let (code, stdout, _) = simulate(&halves, &[]);
    assert!(code == 0 && stdout.contains("\n~ n[1-4]: mtu.differs\n"), "{stdout}");
    assert!(stdout.contains("n[3-4] (mlx5_0/1 on eth0): MTU 1500"), "{stdout}");

    let (_, stdout, _) = simulate(&folder("hosts n[1-4]\nfault host n[1-4] mtu 1500\n"), &[]);
    assert!(!stdout.contains('~') && stdout.contains("12 pairs: 12 ok; sim"), "{stdout}");
}
