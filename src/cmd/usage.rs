//! Prints what clap answers instead of a parsed command line: help, the version, a usage error.
//!
//! Every usage error has the form of the other errors: what is wrong, then a `fix:` line.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory as _};

use crate::cli::{Cli, short_help};
use crate::render::{Note, escape};
use crate::term::{OutputError, Term};

use super::Outcome;
use super::flags::without_useless;
use super::outcome::say;

/// Words that people type as a command, and what to type instead.
const OTHER_WORDS: &[(&[&str], &str)] = &[
    (&["status", "stat", "summary"], "rdmactl, for a summary; rdmactl top, for a live view"),
    (&["ls", "list", "show", "info", "dev", "device", "link"], "rdmactl devices"),
    (&["port", "links"], "rdmactl ports"),
    (&["gid"], "rdmactl gids"),
    (&["show_gids"], "rdmactl gids; with the output of the tool: rdmactl compat show_gids"),
    (&["ibstat"], "rdmactl ports; with the output of the tool: rdmactl compat ibstat"),
    (
        &["ibv_devinfo"],
        "rdmactl devices -v; with the output of the tool: rdmactl compat ibv_devinfo",
    ),
    (&["ib_write_bw", "ib_read_bw", "ib_send_bw"], "rdmactl ping n1 n2 --test bw"),
    (&["ib_write_lat", "ib_read_lat", "ib_send_lat"], "rdmactl ping n1 n2"),
    (&["ps", "processes"], "rdmactl resources"),
    (&["stats", "statistic", "counter", "errors"], "rdmactl counters"),
    (&["resource", "res", "qp"], "rdmactl resources"),
    (&["mounts", "connection", "conn", "nfs", "beegfs"], "rdmactl connections"),
    (&["perf", "bw", "bandwidth"], "rdmactl ping n1 n2 --test lat,bw"),
    (&["latency", "lat", "pingpong"], "rdmactl ping n1 n2"),
    (&["test", "matrix"], "rdmactl ping --matrix n[1-4]"),
    (
        &["check", "doctor", "health", "diagnose"],
        "rdmactl ping --matrix n[1-4]; rdmactl connections --fail-on fail; rdmactl ports --lossless",
    ),
    (&["monitor", "watch", "live"], "rdmactl top"),
    (&["record", "dump"], "rdmactl capture --save FILE"),
    (
        &["diff", "compare", "cmp"],
        "list hosts together, equal hosts are one row: rdmactl ports n1 n2; compare runs: rdmactl ping --diff OLD NEW",
    ),
    (&["nodes", "nodeset"], "rdmactl hosts"),
    (&["settings", "configuration", "conf", "cfg"], "rdmactl config"),
    (&["version"], "rdmactl --version"),
];

/// Flags of other tools, and what to type instead: for one command, or for every command.
const OTHER_FLAGS: &[(Option<&str>, &[&str], &str)] = &[
    (Some("ping"), &["--all", "--all-pairs", "--all-to-all", "-a"], "write --matrix SET"),
    (Some("ping"), &["--device", "-d"], "write --dev NAME"),
    (Some("ping"), &["-i", "--ib-port"], "write --port N"),
    (Some("ping"), &["-x"], "write --gid-index N"),
    (Some("ping"), &["-m"], "write --mtu BYTES"),
    (Some("ping"), &["-S"], "write --sl N"),
    (Some("ping"), &["-R"], "write --test conn,lat; ping connects with librdmacm on iWARP only"),
    (
        Some("ping"),
        &["-q", "--qp"],
        "ping uses one queue pair per pair; use ib_write_bw -q for more",
    ),
    (Some("ping"), &["-b"], "write --test bw: ping measures both directions of each pair"),
    (Some("ping"), &["-t", "-W"], "write --timeout TIME for a host, --slot TIME for a pair"),
    (Some("ping"), &["--count"], "write -c N"),
    (Some("capture"), &["--anonymize", "--anonymise", "--anon"], "write --redact"),
    (None, &["--anonymize", "--anonymise"], "write rdmactl capture --redact"),
    (None, &["--bw", "--bandwidth", "--throughput"], "write --test bw"),
    (None, &["--lat", "--latency"], "write --test lat"),
    (
        None,
        &["--duration", "--time", "-D"],
        "write --slot TIME for each pair, --budget TIME for the run",
    ),
    (None, &["--interval", "-i", "-d", "--delay"], "write --watch SECS"),
    (Some("counters"), &["--diff", "--changed"], "write --watch 2 -w 'delta>0'"),
    (None, &["-c"], "write --watch --count N"),
    (None, &["--host", "--node", "--nodes"], "write -H SET"),
    (None, &["-a", "-g", "--all", "--group"], "write -H @GROUP for a group of hosts"),
    (None, &["--filter", "--grep", "--only-active"], "write -w EXPR"),
    (None, &["--user"], "write -l USER"),
    (None, &["--csv"], "write -f csv"),
    (None, &["--baseline", "--compare", "--diff"], "write rdmactl ping --diff OLD NEW"),
    (
        None,
        &["--output", "--out", "--file"],
        "write --save FILE for the raw data, -f FORMAT for a format",
    ),
    (None, &["--device"], "write -w 'device==NAME'"),
];

/// Prints help or the version on stdout, a usage error on stderr.
pub(super) fn answer(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let term = Term::default();
    let text = match error.kind() {
        ErrorKind::DisplayHelp => help(&error.to_string(), words),
        ErrorKind::DisplayVersion => error.to_string(),
        _ => {
            let (what, fix) = explain(error, words);
            say(term, &Note { text: what, fix: Some(fix) });
            return Outcome::Nothing.into();
        }
    };
    match term.answer(text) {
        // A reader that closed the pipe needs no more help.
        Ok(()) | Err(OutputError::Closed) => ExitCode::SUCCESS,
        Err(_) => Outcome::Nothing.into(),
    }
}

/// Returns what is wrong with a command line, and what to type.
fn explain(error: &clap::Error, words: &[OsString]) -> (String, String) {
    let context = |kind| error.get(kind).and_then(first_string);
    let command = command_of(words).map_or("rdmactl".to_owned(), |name| format!("rdmactl {name}"));
    if error.kind() == ErrorKind::InvalidSubcommand {
        let word = context(ContextKind::InvalidSubcommand).unwrap_or_default();
        let other = OTHER_WORDS.iter().find(|(words, _)| words.contains(&word.as_str()));
        let fix = match (other, context(ContextKind::SuggestedSubcommand)) {
            (Some((_, fix)), _) => (*fix).to_owned(),
            (None, _) if word.len() < 100 && word.contains(['[', ',', '@']) => {
                let set = escape(&word);
                let set = shlex::try_quote(&set).unwrap_or_default();
                format!(
                    "a summary of these hosts: rdmactl -H {set}; their devices: rdmactl devices {set}"
                )
            }
            (None, Some(near)) => format!("rdmactl {near}"),
            (None, None) => "list the commands: rdmactl -h".to_owned(),
        };
        return (format!("unknown command {}", escape(&shortened(&word))), fix);
    }
    let flag = context(ContextKind::InvalidArg).unwrap_or_default();
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let text = if is_unknown {
        format!("unknown flag {flag}").replace('\n', " ")
    } else {
        error.to_string()
    };
    let what = text.split("\n\n").next().unwrap_or_default();
    let what = what.strip_prefix("error: ").unwrap_or(what).trim_end().replace("\n  ", " ");
    let what = what.lines().map(|line| escape(&shortened(line)).into_owned());
    let name = command_of(words);
    let is_for = |only: Option<&str>| only.is_none() || only == name;
    let other = OTHER_FLAGS
        .iter()
        .find(|(only, flags, _)| is_unknown && is_for(*only) && flags.contains(&flag.as_str()));
    let value = context(ContextKind::InvalidValue).unwrap_or_default();
    if flag.starts_with("--format") && value.parse::<u16>().is_ok() {
        let fix = format!(
            "-f is the output format; for {value} hosts at the same time write --fanout {value}"
        );
        return (what.collect::<Vec<_>>().join("\n"), fix);
    }
    let near = context(ContextKind::SuggestedArg).or_else(|| context(ContextKind::SuggestedValue));
    let fix = match (other, near) {
        (Some((.., fix)), _) => format!("{fix}; all flags: {command} --help"),
        (None, Some(near)) => format!("write {near}; all flags: {command} --help"),
        (None, None) => format!("list the flags and examples: {command} --help"),
    };
    (what.collect::<Vec<_>>().join("\n"), fix)
}

/// Returns the first string of an error's context.
fn first_string(value: &ContextValue) -> Option<String> {
    match value {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

/// Cuts a line of an error that repeats more input than anybody reads.
fn shortened(line: &str) -> String {
    const MOST: usize = 400;
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

/// Returns the name of the command among the words of a command line.
fn command_of(words: &[OsString]) -> Option<&str> {
    let tree = Cli::command();
    let named = words.iter().skip(1).filter_map(|word| word.to_str());
    named.into_iter().find(|word| tree.find_subcommand(word).is_some())
}

/// Returns the help of a command: `-h` fits on one screen, `--help` has everything.
///
/// `name` is the display name that clap has for the command: `rdmactl` or `rdmactl-ping`.
fn help(name: &str, words: &[OsString]) -> String {
    let mut tree = without_useless(Cli::command());
    let command = name.trim().strip_prefix("rdmactl-").unwrap_or_default();
    let found = match command {
        "" => &mut tree,
        name => match tree.find_subcommand_mut(name) {
            Some(command) => command,
            None => return String::new(),
        },
    };
    let is_long = words.iter().any(|word| word == "--help");
    match short_help::of(command).filter(|_| !is_long) {
        Some(short) => render_short(found, short),
        None => found.render_long_help().to_string(),
    }
}

/// Returns the text of `-h`: 24 lines of 80 columns at most.
fn render_short(command: &mut clap::Command, short: &short_help::ShortHelp) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.render_usage().to_string();
    let mut text = format!("{about}\n\n{usage}\n\n");
    let arguments = command.get_positionals().map(|arg| {
        let name = arg.get_value_names().and_then(|names| names.first());
        (name.map(ToString::to_string).unwrap_or_default(), help_of(arg))
    });
    let flags = short.flags.iter().map(|typed| {
        let flag = typed.split(' ').next().unwrap_or(typed);
        let arg = command.get_arguments().find(|arg| is_called(arg, flag));
        ((*typed).to_owned(), arg.map(help_of).unwrap_or_default())
    });
    let commands = command
        .get_subcommands()
        .filter(|one| !one.is_hide_set())
        .map(|one| (one.get_name().to_owned(), one.get_about().map(ToString::to_string)))
        .map(|(name, about)| (name, about.unwrap_or_default()));
    let rows: Vec<(String, String)> = commands.chain(arguments).chain(flags).collect();
    let width = rows.iter().map(|(left, _)| left.chars().count()).max().unwrap_or(0);
    for (left, right) in &rows {
        let _ = writeln!(text, "  {left:width$}  {right}");
    }
    let more = match short.command {
        "" => "rdmactl help COMMAND".to_owned(),
        name => format!("rdmactl {name} --help"),
    };
    let _ = writeln!(text, "\nExample: {}\nMore: {more}", short.example);
    text
}

fn help_of(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

fn is_called(arg: &Arg, flag: &str) -> bool {
    match flag.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => flag
            .strip_prefix('-')
            .is_some_and(|short| arg.get_short().is_some_and(|letter| short == letter.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_help_fits_on_one_screen() {
        let tree = Cli::command();
        let commands = tree.get_subcommands().filter(|command| !command.is_hide_set());
        let names = commands.map(|command| format!("rdmactl-{}", command.get_name()));
        for name in names.chain(["rdmactl".into()]) {
            let text = help(&name, &["rdmactl".into(), "-h".into()]);
            assert!(text.lines().count() <= 24, "{name}: {} lines", text.lines().count());
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{name}: {line}");
                assert!(!line.ends_with(' '), "{name}: a flag without a text: {line}");
            }
            let long = help(&name, &["rdmactl".into(), "--help".into()]);
            assert!(long.lines().count() > text.lines().count() || name.contains("man"), "{name}");
        }
    }

    #[test]
    fn no_command_is_listed_as_another_word() {
        let tree = Cli::command();
        for word in OTHER_WORDS.iter().flat_map(|(words, _)| *words) {
            assert!(tree.find_subcommand(word).is_none(), "{word} is a command");
        }
    }
}
