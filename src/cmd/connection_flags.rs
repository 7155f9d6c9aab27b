//! The flags that a printed rdmactl command needs to reach the hosts of this run.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::cli::{FANOUT, Global, LauncherArg, TIMEOUT};
use crate::clock::flag_time;
use crate::render::escape;

/// The flags of this run, quoted for a shell; empty without flags.
static CONNECTION_FLAGS: OnceLock<String> = OnceLock::new();

/// Keeps the typed connection flags; flags of the configuration need no repetition.
pub(super) fn keep(typed: &Global) {
    if typed.from.is_some() || typed.root.is_some() {
        return;
    }
    let without_hosts = Global { hosts: Vec::new(), hosts_file: None, ..typed.clone() };
    let _ = CONNECTION_FLAGS.set(place_flags(&without_hosts));
}

/// Returns the flags that name and reach the hosts, quoted for a shell.
pub(super) fn place_flags(global: &Global) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut add = |flag: &str, value: Option<String>| {
        if let Some(value) = value {
            words.push(flag.to_owned());
            words.extend(shlex::try_quote(&value).ok().map(String::from));
        }
    };
    let path = |path: &std::path::Path| path.display().to_string();
    for set in &global.hosts {
        add("-H", Some(set.clone()));
    }
    add("--hosts-file", global.hosts_file.clone());
    add("--from", global.from.as_deref().map(path));
    add("--root", global.root.as_deref().map(path));
    if global.from.is_some() || global.root.is_some() {
        return escape(&words.join(" ")).into_owned();
    }
    add("-l", global.login.clone());
    add("-F", global.ssh_config.as_deref().map(path));
    add("--timeout", (global.timeout != TIMEOUT).then(|| flag_time(global.timeout)));
    add("--fanout", (global.fanout != FANOUT).then(|| global.fanout.to_string()));
    for option in &global.ssh_option {
        add("--ssh-option", Some(option.clone()));
    }
    match &global.launcher {
        LauncherArg::Ssh => {}
        LauncherArg::Slurm => add("--launcher", Some("slurm".into())),
        LauncherArg::Exec(template) => {
            add("--launcher", Some("exec".into()));
            words.extend(shlex::try_quote(template).ok().map(String::from));
        }
    }
    for (flag, is_given) in [
        ("--sudo", global.sudo),
        ("--no-sudo", global.no_sudo),
        ("--upload", global.upload),
        ("--no-upload", global.no_upload),
    ] {
        if is_given {
            words.push(flag.to_owned());
        }
    }
    escape(&words.join(" ")).into_owned()
}

pub(super) fn in_fixes(text: &str) -> String {
    let line = |line| match fix_of(line) {
        Some((before, fix)) => Cow::Owned(format!("{before}{}", in_fix(fix))),
        None => Cow::Borrowed(line),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Adds the flags of this run to each rdmactl command with `-H` in a fix.
pub(super) fn in_fix(fix: &str) -> String {
    with(fix, CONNECTION_FLAGS.get().map_or("", String::as_str))
}

/// Splits a line before the text of its fix, or before the command that shows its cause.
fn fix_of(line: &str) -> Option<(&str, &str)> {
    const MARKS: [&str; 2] = ["fix: ", "see: "];
    let indent = line.len() - line.trim_start().len();
    let mark = MARKS.into_iter().find(|mark| line[indent..].starts_with(mark))?;
    Some(line.split_at(indent + mark.len()))
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
    assert_eq!(fix_of("    see: rdmactl x\n"), Some(("    see: ", "rdmactl x\n")));
    assert_eq!(fix_of("a fix: b"), None);
}
