//! The flags that a printed rdmactl command needs to reach the hosts of this run.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::summary::place_flags;
use crate::cli::Global;

/// The flags of this run, quoted for a shell; empty without flags.
static FLAGS: OnceLock<String> = OnceLock::new();

/// Keeps the typed flags that select the connection to the hosts. Flags of the configuration need
/// no repetition.
pub(super) fn keep(typed: &Global) {
    if typed.from.is_some() || typed.root.is_some() {
        return;
    }
    let way = Global { hosts: Vec::new(), hosts_file: None, ..typed.clone() };
    let _ = FLAGS.set(place_flags(&way));
}

/// Returns a text whose fixes have the flags of this run in each rdmactl command with `-H`.
pub(super) fn in_fixes(text: &str) -> String {
    let line = |line| match fix_of(line) {
        Some((before, fix)) => Cow::Owned(format!("{before}{}", in_fix(fix))),
        None => Cow::Borrowed(line),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Returns a fix with the flags of this run in each rdmactl command with `-H`.
pub(super) fn in_fix(fix: &str) -> String {
    with(fix, FLAGS.get().map_or("", String::as_str))
}

/// Splits a line before the text of its fix.
fn fix_of(line: &str) -> Option<(&str, &str)> {
    const MARK: &str = "fix: ";
    let indent = line.len() - line.trim_start().len();
    line[indent..].starts_with(MARK).then(|| line.split_at(indent + MARK.len()))
}

fn with(fix: &str, flags: &str) -> String {
    if flags.is_empty() {
        return fix.to_owned();
    }
    let first = flags.split(' ').next().unwrap_or(flags);
    let has_flags = |command: &str| command.split(' ').any(|word| word == first);
    let command = |command: &str| match command.split_once(" -H ") {
        Some((before, after)) if before.contains("rdmactl ") && !has_flags(command) => {
            format!("{before} {flags} -H {after}")
        }
        _ => command.to_owned(),
    };
    fix.split(';').map(command).collect::<Vec<_>>().join(";")
}

#[test]
fn a_command_with_hosts_gets_the_flags() {
    let flags = "-F /etc/x";
    for (fix, expected) in [
        (
            "set the MTU; compare both ports: rdmactl ports -v -H n1,n2",
            "set the MTU; compare both ports: rdmactl ports -v -F /etc/x -H n1,n2",
        ),
        ("on n1: ip link set eth1 up", "on n1: ip link set eth1 up"),
        ("curl -H x", "curl -H x"),
        ("rdmactl compat -H n1 -F /etc/x ibstat", "rdmactl compat -H n1 -F /etc/x ibstat"),
        ("rdmactl ports; pgrep -H x", "rdmactl ports; pgrep -H x"),
    ] {
        assert_eq!(with(fix, flags), expected);
        assert_eq!(with(fix, ""), fix);
    }
    assert_eq!(fix_of("    fix: rdmactl x\n"), Some(("    fix: ", "rdmactl x\n")));
    assert_eq!(fix_of("a fix: b"), None);
}
