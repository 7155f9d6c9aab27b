//! Completions and man pages are committed, and those of the command line as it is.
#![expect(clippy::expect_used, reason = "a test without the program fails")]

#[path = "support/committed.rs"]
mod committed;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use committed::{compare, package};

fn names(folder: &Path) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeSet::new() };
    entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn the_committed_completions_are_those_of_the_program() {
    let files = [("bash", "rdmactl.bash"), ("zsh", "_rdmactl"), ("fish", "rdmactl.fish")];
    let differences: Vec<String> = files
        .iter()
        .filter_map(|(shell, file)| {
            let output = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
                .args(["completions", shell])
                .output()
                .expect("rdmactl runs");
            assert!(output.status.success());
            let script = String::from_utf8(output.stdout).expect("UTF-8");
            compare(&package(&format!("completions/{file}")), &script)
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_committed_man_pages_are_those_of_the_program() {
    let folder = tempfile::tempdir().expect("a directory");
    let status = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .arg("man")
        .arg(folder.path())
        .status()
        .expect("rdmactl runs");
    assert!(status.success());
    let pages = names(folder.path());
    assert!(pages.contains("rdmactl.1") && pages.contains("rdmactl-devices.1"), "{pages:?}");
    let differences: Vec<String> = pages
        .iter()
        .filter_map(|page| {
            let made = fs::read_to_string(folder.path().join(page)).expect("a page");
            compare(&package(&format!("man/{page}")), &made)
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(names(&package("man")), pages, "a page of a command that is no more");
}
