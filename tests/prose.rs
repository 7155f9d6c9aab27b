//! `packaging/prose`, which `make lint` runs: each rule reports its line, and other text passes.
#![expect(clippy::expect_used, reason = "a test without the script fails")]

use std::path::Path;
use std::process::Command;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/prose");

/// Returns the output of a script for a file or a directory.
fn report_of(script: &Path, path: &Path) -> String {
    let output = Command::new(script).arg(path).output().expect("packaging/prose");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.success(), text.is_empty(), "{text}{output:?}");
    text.into_owned()
}

/// Returns the output of the script for a source file, without the name of the file.
fn report(source: &str) -> String {
    let file = tempfile::NamedTempFile::with_suffix(".rs").expect("a file");
    std::fs::write(file.path(), source).expect("a file");
    report_of(Path::new(SCRIPT), file.path()).replace(&format!("{}:", file.path().display()), "")
}

#[test]
fn each_rule_reports_its_line() {
    for (source, expected) in [
        (
            "/// Whether it works.",
            "1: a doc comment starts with \"Whether\"; start with a verb or a noun\n",
        ),
        (
            "//! Of the hosts one.",
            "1: a doc comment starts with \"Of\"; start with a verb or a noun\n",
        ),
        (
            "// A fault.\n/// The same of a port.",
            "2: a doc comment starts with \"The same\"; start with a verb or a noun\n",
        ),
        ("// rdmactl mends the port.", "1: \"mends\"; write: fix, repair\n"),
        (
            "    let text = \"names the culprit\";",
            "1: \"culprit\"; write: probable cause, root cause\n",
        ),
    ] {
        assert_eq!(report(source), expected, "{source}");
    }
    let wide = format!("    // {}\n", "x".repeat(96));
    assert_eq!(report(&wide), "1: a comment of 99 columns; the limit is 98\n");
}

#[test]
fn a_doc_comment_starts_with_no_question_and_no_condition() {
    for word in ["How", "Why", "When", "If"] {
        let expected =
            format!("1: a doc comment starts with \"{word}\"; start with a verb or a noun\n");
        assert_eq!(report(&format!("/// {word} a host replies.")), expected);
    }
}

#[test]
fn a_module_starts_with_a_head_comment() {
    let folder = tempfile::tempdir().expect("a folder");
    // The script reads the modules of the package that it is in.
    let script = folder.path().join("packaging/prose");
    std::fs::create_dir(folder.path().join("packaging")).expect("a folder");
    std::os::unix::fs::symlink(SCRIPT, &script).expect("a link");
    let source = folder.path().join("src");
    std::fs::create_dir_all(source.join("sys")).expect("a folder");
    for (name, text) in [
        ("empty.rs", ""),
        ("headless.rs", "use std::fs;\n"),
        ("late.rs", "\n//! Parses ports.\n"),
        ("port.rs", "//! Parses ports.\n"),
        ("sys/cm.rs", "// Types of librdmacm.\n"),
        ("sys/ffi.rs", "// Types of libibverbs.\n"),
        ("tests.rs", "use super::*;\n"),
        ("wrong.rs", "/// Parses ports.\nfn parse() {}\n"),
    ] {
        std::fs::write(source.join(name), text).expect("a file");
    }
    let expected = ["empty.rs", "headless.rs", "late.rs", "sys/cm.rs", "wrong.rs"].map(|name| {
        let path = source.join(name);
        let fault = "no head comment; start the file with \"//!\" and what the module does";
        format!("{}:1: {fault}\n", path.display())
    });
    assert_eq!(report_of(&script, &source), expected.concat());
    assert_eq!(report_of(&script, &source.join("headless.rs")), expected[1], "one file");
    assert_eq!(report_of(&script, &source.join("sys")), expected[3], "a part of the modules");
    assert_eq!(report_of(&script, &source.join("tests.rs")), "");
    let outside = folder.path().join("outside.rs");
    std::fs::write(&outside, "use std::fs;\n").expect("a file");
    assert_eq!(report_of(&script, &outside), "", "no module");
}

#[test]
fn other_text_passes() {
    for source in [
        "/// Returns the name of a port.\n/// What follows is a second line.\n///\n/// Of these, 1.",
        "// What the kernel calls a port.",
        "let leash = \"a host.silent finding\";",
        "//// Whether this is a doc comment: it is not.",
    ] {
        assert_eq!(report(source), "", "{source}");
    }
    assert_eq!(report(&format!("    // {}\n", "x".repeat(95))), "");
}
