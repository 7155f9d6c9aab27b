//! What wrong usage is answered, and hosts that are not there.
#![expect(clippy::expect_used, reason = "a test that cannot run its program has failed")]

use std::process::Command;

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
    assert!(stdout.contains("\nrdma.half_rtt_ns.p50  P50 us "), "{stdout}");
    let (code, _, stderr) = rdmactl(&["ping", "127.0.0.1:1", "-o", "speed"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("there is no column speed"), "{stderr}");
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
        (&["devices", "--count", "2"][..], "--count is for --watch"),
        (&["devices", "--watch", "-f", "prom"], "--watch contradicts --format prom"),
        (&["devices", "--watch", "--save", "/tmp/x"], "--save contradicts --watch"),
        (&["devices", "--watch", "--from", "/tmp/x"], "--from contradicts --watch"),
        (&["ping", "n2", "--watch"], "ping has no use for --watch"),
        (&["ping", "n2", "--save", "/tmp/x"][..], "ping has no use for --save"),
        (&["ping", "n2", "--from", "/tmp/x"], "ping has no use for --from"),
        (&["ping", "n2", "--root", "/"], "ping has no use for --root"),
        (&["-H", "n1", "ping", "--matrix", "n[1-2]"], "--matrix contradicts --hosts"),
        (&["--from", "/tmp/x", "devices", "-H", "n1"], "--hosts contradicts --from"),
        (&["capture", "--json"], "capture has no use for --json"),
        (&["completions", "bash", "-o", "host"], "completions has no use for --columns"),
        (&["man", "/tmp", "--save", "/tmp/x"], "man has no use for --save"),
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
    assert_eq!(json["findings"][0]["host"], 1, "the source is not to blame");
    let (code, stdout, stderr) = rdmactl(&["devices", "-H", "127.0.0.1:1"]);
    assert_eq!(code, 2, "nothing at all could be read");
    assert!(stdout.contains("refused !"), "{stdout}");
    assert!(stderr.contains("connection refused"), "{stderr}");
}

#[test]
fn what_is_too_wide_for_the_terminal_is_a_block_for_each_row() {
    let program = env!("CARGO_BIN_EXE_rdmactl");
    let on_terminal = |columns: u32, flags: &str| {
        let capture = "--from tests/fixtures/mlx5_roce/capture.ndjson";
        let command = format!("stty cols {columns}; {program} ports {flags} {capture} 2>/dev/null");
        let output = Command::new("script").args(["-qc", &command, "/dev/null"]).output();
        String::from_utf8(output.expect("script runs").stdout).expect("UTF-8").replace('\r', "")
    };
    let narrow = on_terminal(100, "-v");
    assert!(narrow.starts_with("DEVICE mlx5_2  PORT 1\n  STATE       DOWN !\n"), "{narrow}");
    for (columns, flags) in [(1000, "-v"), (10, ""), (10, "-v -o device,state,phys")] {
        let wide = on_terminal(columns, flags);
        assert!(wide.starts_with("DEVICE  "), "{columns} {flags}: {wide}");
    }
}
