//! The documents: links resolve, commands parse, and README.md stays short.
#![expect(clippy::expect_used, reason = "a test without its documents fails")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use rdmactl::cli::{Cli, rewrite};

fn package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns all documents of the project: at the top, below docs/ and below lab/.
fn documents() -> Vec<String> {
    let mut all: Vec<String> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .into_iter()
        .chain(["FUZZING.md", "BENCHMARKS.md", "lab/README.md"])
        .map(str::to_owned)
        .collect();
    for entry in fs::read_dir(package("docs")).expect("docs/") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
            all.push(format!("docs/{name}"));
        }
    }
    all.sort();
    all
}

fn text(document: &str) -> String {
    fs::read_to_string(package(document)).expect("a document")
}

/// Returns the targets of the links of a document: `[text](target)`.
fn links(text: &str) -> Vec<&str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect()
}

/// Returns the anchors of a document's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let is_kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
        words.chars().filter(is_kept).collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

/// Returns why a link of a document is broken; `None` if its target exists.
fn broken(document: &str, link: &str) -> Option<String> {
    if link.contains("://") {
        return None;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let here = package(document);
    let target = match file {
        "" => here,
        file => here.parent().expect("a folder").join(file),
    };
    if !target.exists() {
        return Some(format!("{document}: {link}: no such file"));
    }
    let is_known = || anchors(&fs::read_to_string(&target).unwrap_or_default()).contains(anchor);
    (!anchor.is_empty() && !is_known()).then(|| format!("{document}: {link}: no such heading"))
}

#[test]
fn every_link_resolves() {
    let documents = documents();
    let broken: Vec<String> = documents
        .iter()
        .flat_map(|document| {
            let text = text(document);
            links(&text).into_iter().filter_map(|link| broken(document, link)).collect::<Vec<_>>()
        })
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    assert_eq!(links("see [a](b.md#c) and [d](e)"), ["b.md#c", "e"]);
    assert!(broken("README.md", "docs/nosuch.md").is_some());
    assert!(broken("README.md", "docs/README.md#nosuch").is_some());
    assert!(broken("README.md", "docs/README.md#documentation").is_none());
    assert!(broken("docs/README.md", "../README.md").is_none());
    assert_eq!(
        anchors("# What it *does*\n## -o, -w"),
        ["what-it-does", "-o--w"].map(String::from).into()
    );
}

#[test]
fn the_index_lists_every_page() {
    let index = text("docs/README.md");
    let links = links(&index);
    for page in documents() {
        if let Some(name) = page.strip_prefix("docs/").filter(|name| *name != "README.md") {
            assert!(links.contains(&name), "docs/README.md does not link {name}");
        }
    }
}

#[test]
fn the_readme_is_short() {
    let readme = text("README.md");
    assert!(readme.lines().count() <= 150, "{} lines", readme.lines().count());
    assert!(
        readme.split_whitespace().count() <= 1_000,
        "{} words",
        readme.split_whitespace().count()
    );
}

/// Returns the commands of rdmactl in the code blocks of a document, with their line numbers.
fn commands(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut is_fenced) = (Vec::new(), false);
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
            continue;
        }
        let is_code = is_fenced || line.starts_with("    ");
        let line = line.trim_start().trim_start_matches("$ ");
        let start =
            line.find("rdmactl").filter(|&start| start == 0 || line[..start].ends_with("4 "));
        let Some(start) = start.filter(|_| is_code) else { continue };
        let end =
            [" # ", "  #", " > ", " | ", " && "].iter().filter_map(|mark| line.find(mark)).min();
        let command = line.get(start..end.unwrap_or(line.len())).unwrap_or_default();
        if command == "rdmactl" || command.starts_with("rdmactl ") {
            found.push((number + 1, command.trim().to_owned()));
        }
    }
    found
}

fn parses(command: &str) -> bool {
    // Words in capitals are placeholders.
    let Some(words) = shlex::split(command) else { return false };
    let words = rewrite(words.into_iter().map(OsString::from).collect());
    Cli::matches(&words).is_ok_and(|(_, mut matches)| Cli::from_matches(&mut matches).is_ok())
}

#[test]
fn every_command_of_the_documents_parses() {
    let mut count = 0;
    for document in documents().iter().filter(|one| *one == "README.md" || one.starts_with("docs/"))
    {
        for (line, command) in commands(&text(document)) {
            count += 1;
            assert!(parses(&command), "{document}:{line}: {command}");
        }
    }
    assert!(count > 20, "only {count} commands were found");
}

#[test]
fn a_command_that_does_not_parse_is_found() {
    let text =
        "    rdmactl devices  # all\n```\n$ rdmactl ports --nonsense > x\n```\nrdmactl is prose\n";
    let found = commands(text);
    assert_eq!(found[0], (1, "rdmactl devices".to_owned()));
    assert_eq!(found[1], (3, "rdmactl ports --nonsense".to_owned()));
    assert_eq!(found.len(), 2);
    assert!(parses(&found[0].1) && !parses(&found[1].1));
}
