//! `rdmactl ping --simulate`: fabrics from files, and the findings and outliers of their runs.
#![expect(clippy::expect_used, reason = "a test without the program fails")]

#[path = "support/committed.rs"]
mod committed;

use std::fs;
use std::process::Command;

use committed::{compare, package};
use serde_json::Value;

/// Runs rdmactl in the directory of the package. Returns exit code, stdout and stderr.
fn rdmactl(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .current_dir(package("."))
        .args(arguments)
        .output()
        .expect("rdmactl runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

const FABRIC: &str = "tests/fixtures/ping/fabric.txt";

/// Runs `rdmactl ping --simulate` with a fabric. `FILE` replaces the name of the file in the
/// output.
fn simulate(text: &str, arguments: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("fabric.txt");
    fs::write(&file, text).expect("a file");
    let file = file.display().to_string();
    let (code, stdout, stderr) = rdmactl(&[&["ping", "--simulate", &file][..], arguments].concat());
    let short = |text: String| text.replace(&file, "FILE");
    (code, short(stdout), short(stderr))
}

#[test]
fn the_example_is_judged_as_committed() {
    let forms: [(&str, &[&str]); 4] =
        [("table", &[]), ("list", &["-v"]), ("csv", &["--format", "csv"]), ("json", &["--json"])];
    let differences: Vec<String> = forms
        .iter()
        .filter_map(|(form, flags)| {
            let (code, stdout, stderr) =
                rdmactl(&[&["ping", "--simulate", FABRIC][..], *flags].concat());
            assert_eq!(code, 1, "{form}: {stderr}");
            let talks = *form == "csv";
            assert_eq!(stderr.contains("SIMULATED"), talks, "{form}: {stderr}");
            assert!(talks || stdout.to_uppercase().contains("SIMULATED"), "{form}");
            // The pairs in JSON would be a megabyte: the committed file has only the summary.
            let kept = match *form {
                "json" => summary_of(&stdout),
                _ => stdout,
            };
            compare(&package(&format!("tests/golden/simulate/{form}.txt")), &kept)
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Returns a JSON document without its pairs.
fn summary_of(json: &str) -> String {
    let mut json: Value = serde_json::from_str(json).expect("JSON");
    let schema = fs::read(package("tests/schema/rdmactl.ping.json")).expect("the schema");
    let schema = serde_json::from_slice(&schema).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(json["pairs"].as_array().map(Vec::len), Some(16 * 15 * 2));
    json["pairs"].take();
    serde_json::to_string_pretty(&json).expect("JSON") + "\n"
}

#[test]
fn slow_is_no_failure_and_blocked_is() {
    let (code, stdout, _) = simulate("hosts n[1-8]\nnoise 3%\nfault host n3 slow 1.5", &[]);
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.starts_with("SIMULATED from FILE: no message was sent\n"), "{stdout}");
    assert!(stdout.contains("\n~ n3: slow host, +5") && stdout.contains("retested"), "{stdout}");
    let (code, stdout, _) = simulate("hosts n[1-8]\nfault host n3 blocked", &[]);
    assert_eq!(code, 1, "{stdout}");
    assert!(stdout.contains(
        "\n! n3: roce.udp4791_blocked (with 7 of 7 hosts, while sending the first message)\n"
    ));
    let (code, stdout, _) = simulate("hosts n1", &[]);
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.contains("0 pairs: 0 ok; simulated"), "{stdout}");
}

#[test]
fn a_wrong_line_is_pointed_at() {
    let cases = [
        ("hosts n[1-4]\nfault host n9 slow 2\n", "FILE:2: unknown host n9", "fix: add it to"),
        ("hosts n[1-\n", "FILE:1: invalid host set n[1-:\n", "fix: "),
        ("hosts n[1-5000]", "FILE:1: 5000 hosts exceed the limit of 4096", "fix: name fewer"),
        ("hosts n[1-4]\nrails 17", "FILE:2: rails 17", "fix: write a number from 1 to 16"),
        ("hosts n[1-99999]", "FILE:1: invalid host set n[1-99999]", "fix: "),
        ("", "FILE: no hosts line", "fix: add a line"),
        ("\u{1b}[2J", "FILE:1: unknown word \\x1b[2J", "fix: start the line with"),
    ];
    for (text, what, fix) in cases {
        let (code, stdout, stderr) = simulate(text, &[]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{text}");
        assert!(stderr.contains(what) && stderr.contains(fix), "{text}: {stderr}");
        assert!(!stderr.contains('\u{1b}'), "{stderr:?}");
    }
}

#[test]
fn a_file_that_is_no_fabric_is_rejected() {
    let (code, _, stderr) = rdmactl(&["ping", "--simulate", "/nowhere"]);
    assert!(code == 2 && stderr.contains("cannot read /nowhere"), "{stderr}");
    let (code, _, stderr) = rdmactl(&["ping", "--simulate", "/dev/zero"]);
    assert_eq!(code, 2, "{stderr}");
    for words in
        [&["-H", "n1", "ping", "--simulate", FABRIC][..], &["ping", "n1", "--simulate", FABRIC]]
    {
        let (code, _, stderr) = rdmactl(words);
        assert!(code == 2 && stderr.contains("--simulate"), "{stderr}");
    }
}

#[test]
fn findings_replace_a_matrix_that_does_not_fit_the_screen() {
    let text =
        "hosts n[01-64]\nrails 2\nnoise 3%\nfault host n07 rail 1 down\nfault host n50 slow 1.4";
    let (code, stdout, _) = simulate(text, &[]);
    assert_eq!(code, 1);
    assert!(stdout.contains("A matrix of 64 hosts does not fit a screen"), "{stdout}");
    assert!(stdout.contains("! n07 rail 1: local.link_down (with 63 of 63 hosts"), "{stdout}");
    assert!(
        stdout.contains("~ n50: slow host, +38.3%") && stdout.contains("8064 pairs: 7938 ok"),
        "{stdout}"
    );
}
