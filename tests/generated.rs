//! Compares the committed completions, man pages and tables with the output of the program.
#![expect(clippy::expect_used, reason = "a test without the program fails")]

#[path = "support/committed.rs"]
mod committed;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use committed::{compare, package};
use rdmactl::analyse::verdict::with_placeholders;
use rdmactl::model::ping::Code;

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

/// Compares the generated table of a page. The table is between two marks.
fn compare_table(page: &str, name: &str, table: &str) {
    let (start, end) =
        (format!("<!-- {name}: generated -->\n"), format!("<!-- end of {name} -->\n"));
    let page = package(page);
    let text = fs::read_to_string(&page).expect("the page");
    let (before, rest) = text.split_once(&start).expect("the first mark");
    let (_, after) = rest.split_once(&end).expect("the second mark");
    let difference = compare(&page, &[before, &start, table, &end, after].concat());
    assert!(difference.is_none(), "{}", difference.unwrap_or_default());
}

#[test]
fn the_committed_table_of_verdicts_is_that_of_the_program() {
    let escape = |text: String| text.replace('|', "\\|").replace('*', "\\*");
    let mut table = "| Verdict | Observation and fix |\n|---|---|\n".to_owned();
    for code in Code::ALL {
        let fixes = code.fixes().iter().map(|fix| format!("<br>Fix: {}", with_placeholders(fix)));
        let text = escape(code.meaning().to_owned() + &fixes.collect::<String>());
        let _ = writeln!(table, "| `{}` | {text} |", code.word());
    }
    compare_table("docs/ping.md", "verdicts", &table);
}

#[test]
fn the_committed_table_of_settings_is_that_of_the_program() {
    let mut table =
        "| key | value | default | variable | flags | meaning |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for setting in rdmactl::config::SETTINGS {
        let code = |word: &&str| format!("`{word}`");
        let cells = [
            code(&setting.name),
            setting.kind.expects(),
            setting.default.as_ref().map(code).unwrap_or_default(),
            code(&setting.variable),
            setting.flags.iter().map(code).collect::<Vec<_>>().join(", "),
            setting.help.to_owned(),
        ];
        table.extend(["| ", &cells.join(" | "), " |\n"]);
    }
    compare_table("docs/configuration.md", "settings", &table);
}

#[test]
fn the_committed_table_of_checks_is_that_of_the_program() {
    let escape = |text: &str| text.replace('|', "\\|").replace('*', "\\*");
    let mut table =
        "| Check | Severity | Expected state, finding and remedy |\n|---|---|---|\n".to_owned();
    for check in rdmactl::model::CHECKS {
        let text = format!(
            "{} Applies to {}. Finding: {} ({}). Consequence: {}.<br>Remedy: {}",
            check.title,
            check.applies_to,
            check.rule,
            check.origin,
            check.consequence,
            check.remedy
        );
        let severity = check.severity.word();
        let _ = writeln!(table, "| `{}` | {severity} | {} |", check.id, escape(&text));
    }
    compare_table("docs/checks.md", "checks", &table);
}

/// The page of a listing has all its columns, and `man` renders each page without a warning.
#[test]
fn the_man_pages_are_valid_and_describe_every_column() {
    for page in names(&package("man")) {
        let path = package(&format!("man/{page}"));
        let output = Command::new("man")
            .args(["--warnings", "-E", "UTF-8", "-l"])
            .arg(&path)
            .env("MANWIDTH", "200")
            .env("LC_ALL", "C.UTF-8")
            .output()
            .expect("man runs");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{page}");
        let command = page.trim_start_matches("rdmactl-").trim_end_matches(".1");
        let listings = rdmactl::query::listings_of(command);
        for column in listings.into_iter().flat_map(|(_, columns)| columns) {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let help = column.help.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(&format!("{} ({},", column.id, column.title)), "{page}");
            // groff replaces quotes and hyphens with other characters.
            let bare = |text: &str| text.replace(['‐', '-', '\'', '’', '`', '‘'], "");
            assert!(bare(&words).contains(&bare(&help)), "{page}: {help}");
        }
    }
}
