//! Handles command lines that clap does not parse: prints help, the version or a usage error.
//!
//! A usage error has the form of all errors: the failure, then a `fix:` line.

mod replacements;
mod suggestion;
mod verdict;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory as _};

use crate::cli::{Cli, exit_codes, short_help};
use crate::names;
use crate::render::{Note, escape};
use crate::term::{OutputError, Term};

use super::flags::without_useless;
use super::outcome::{say, short_words};
use super::{Outcome, compat};

/// Prints help or the version on stdout, a usage error on stderr.
pub(super) fn print(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let term = Term::default();
    let asked = help_topic(error, words);
    let text = match error.kind() {
        _ if asked.is_some() => asked.unwrap_or_default(),
        ErrorKind::DisplayHelp => help(&error.to_string(), words),
        ErrorKind::DisplayVersion => error.to_string(),
        _ => {
            let (what, fix) = explain(error, words);
            say(term, &Note { text: what, fix: Some(fix) });
            return Outcome::Nothing.into();
        }
    };
    match term.write_stdout(text) {
        // If the reader closed the pipe, the help was still a success.
        Ok(()) | Err(OutputError::Closed) => ExitCode::SUCCESS,
        Err(_) => Outcome::Nothing.into(),
    }
}

/// Returns the text of `help`, `help COMMAND` and `help CODE`; `None` for other words.
///
/// clap reports `help` as an unknown command, so flags may come before it.
fn help_topic(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let word = error.get(ContextKind::InvalidSubcommand).and_then(first_string);
    if error.kind() != ErrorKind::InvalidSubcommand || word.as_deref() != Some("help") {
        return None;
    }
    let Some(topic) = topic_of(words) else { return Some(help("rdmactl", &["--help".into()])) };
    let topic = topic.to_str()?;
    if let Some(text) = verdict::text_of(topic) {
        return Some(text);
    }
    let tree = Cli::command();
    tree.find_subcommand(topic)?;
    Some(help(&format!("rdmactl-{topic}"), &["--help".into()]))
}

/// Returns the first word after `help` that is no flag.
fn topic_of(words: &[OsString]) -> Option<&OsString> {
    let mut after = words.iter().skip_while(|word| *word != "help").skip(1);
    after.find(|word| !word.to_string_lossy().starts_with('-'))
}

fn explain(error: &clap::Error, words: &[OsString]) -> (String, String) {
    let context = |kind| error.get(kind).and_then(first_string);
    if error.kind() == ErrorKind::InvalidSubcommand {
        let mut word = context(ContextKind::InvalidSubcommand).unwrap_or_default();
        if word == "help" {
            word = topic_of(words).map_or(word, |topic| topic.to_string_lossy().into_owned());
        }
        let what = format!("unknown command {}", escape(&names::shortened(&word)));
        return (what, escape(&fix_of_word(&word, words)).into_owned());
    }
    let name = command_of(words);
    let command = name.map_or("rdmactl".to_owned(), |name| format!("rdmactl {name}"));
    let flag = context(ContextKind::InvalidArg).unwrap_or_default();
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let text = match name {
        Some(name) if is_unknown && !flag.starts_with('-') => {
            format!("{name} takes no argument {}", names::shortened(&flag))
        }
        _ if is_unknown => format!("unknown flag {}", names::shortened(&flag)),
        _ => error.to_string(),
    };
    let value = context(ContextKind::InvalidValue).unwrap_or_default();
    let text =
        if value.is_empty() { text } else { text.replace(&value, &names::shortened(&value)) };
    let text = if is_unknown { text.replace('\n', " ") } else { text };
    let what = text.split("\n\n").next().unwrap_or_default();
    let what = what.strip_prefix("error: ").unwrap_or(what).trim_end().replace("\n  ", " ");
    let what = what.lines().map(|line| escape(&short_words(line)).into_owned());
    let what = what.collect::<Vec<_>>().join("\n");
    if error.kind() == ErrorKind::ArgumentConflict
        && flag.starts_with("--where")
        && let Some(fix) = replacements::of_filters(words)
    {
        return (what, escape(&fix).into_owned());
    }
    if let Some(fix) = fix_of_value(name, &flag, &value) {
        return (what, escape(&fix).into_owned());
    }
    let other = if is_unknown { replacements::of_flag(name, &flag, words) } else { None };
    let near = if is_unknown {
        near_flag(name, &flag)
    } else {
        context(ContextKind::SuggestedArg).or_else(|| context(ContextKind::SuggestedValue))
    };
    let fix = match (other, near) {
        (Some(fix), _) => format!("{fix}; all flags: {command} --help"),
        (None, Some(near)) => format!("write {near}; all flags: {command} --help"),
        (None, None) => format!("list the flags and examples: {command} --help"),
    };
    (what, escape(&fix).into_owned())
}

fn fix_of_word(word: &str, words: &[OsString]) -> String {
    // A tool of `compat` keeps its own options.
    if let Some(fix) = compat::instead_of(word, words) {
        return fix;
    }
    if let Some(fix) = replacements::of_word(word, words) {
        return fix;
    }
    if matches!(word, "explain" | "verdict") {
        let mut known = words.iter().filter_map(|word| word.to_str());
        let code = known.find(|word| verdict::text_of(word).is_some());
        let code =
            code.unwrap_or("CODE, with the code of a verdict; list the codes: man rdmactl-ping");
        return format!("rdmactl help {code}");
    }
    if verdict::text_of(word).is_some() {
        return format!("rdmactl help {word}");
    }
    let tree = Cli::command();
    let commands = tree.get_subcommands().filter(|command| !command.is_hide_set());
    if let Some(near) = suggestion::nearest(word, commands.map(clap::Command::get_name)) {
        let hosts = replacements::hosts_of(words, Some(word));
        return format!("rdmactl {near} {hosts}").trim_end().to_owned();
    }
    let is_several = word.contains(['[', ',', '@']);
    let has_number = word.chars().any(|letter| letter.is_ascii_digit());
    if replacements::is_set(word) && (is_several || has_number) {
        let set = shlex::try_quote(word).unwrap_or_default();
        let way = replacements::hosts_of(words, Some(word));
        let way = if way.is_empty() { way } else { format!(" {way}") };
        let (whose, their) =
            if is_several { ("these hosts", "their") } else { ("this host", "its") };
        return format!(
            "a summary of {whose}: rdmactl -H {set}{way}; {their} devices: rdmactl devices {set}{way}"
        );
    }
    "list the commands: rdmactl -h".to_owned()
}

fn fix_of_value(command: Option<&str>, flag: &str, value: &str) -> Option<String> {
    if flag.starts_with("--format") {
        if value.parse::<u16>().is_ok() {
            return Some(format!(
                "-f is the output format; for {value} hosts at the same time write --fanout {value}"
            ));
        }
        let is_file = value.len() < 1000 && std::path::Path::new(value).is_file();
        let file = shlex::try_quote(value).ok().filter(|_| is_file)?;
        return Some(format!(
            "-f is the output format; for a file with hosts write --hosts-file {file}"
        ));
    }
    if flag.starts_with("--count") && command == Some("hosts") && replacements::is_set(value) {
        return Some(format!("rdmactl hosts --size {}", shlex::try_quote(value).ok()?));
    }
    None
}

/// Returns the flag of the command that is nearest to a misspelled flag.
fn near_flag(command: Option<&str>, flag: &str) -> Option<String> {
    let word = flag.strip_prefix("--")?;
    let tree = without_useless(Cli::command());
    let command = command.and_then(|name| tree.find_subcommand(name)).unwrap_or(&tree);
    let flags = command.get_arguments().filter(|arg| !arg.is_hide_set());
    suggestion::nearest(word, flags.filter_map(Arg::get_long)).map(|flag| format!("--{flag}"))
}

fn first_string(value: &ContextValue) -> Option<String> {
    match value {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

fn command_of(words: &[OsString]) -> Option<&str> {
    let tree = Cli::command();
    let named = words.iter().skip(1).filter_map(|word| word.to_str());
    named.into_iter().find(|word| tree.find_subcommand(word).is_some())
}

/// Returns the help of a command. `-h` fits on one screen; `--help` is complete.
///
/// `name` is the display name in clap: `rdmactl` or `rdmactl-ping`.
fn help(name: &str, words: &[OsString]) -> String {
    let mut tree = exit_codes::add_to(without_useless(Cli::command()));
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

/// Returns the text of `-h`, at most 24 lines of 80 columns.
fn render_short(command: &mut clap::Command, short: &short_help::ShortHelp) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.render_usage().to_string();
    let mut text = format!("{about}\n\n{usage}\n\n");
    let arguments = command.get_positionals().map(|arg| {
        let name = arg.get_value_names().and_then(|names| names.first());
        (name.map(ToString::to_string).unwrap_or_default(), help_of(arg))
    });
    let flags = short.flags().map(|typed| {
        let flag = typed.split(' ').next().unwrap_or(typed);
        let arg = command.get_arguments().find(|arg| is_called(arg, flag));
        let own = short_help::own_text(short.command, flag).map(str::to_owned);
        (typed.to_owned(), own.or_else(|| arg.map(help_of)).unwrap_or_default())
    });
    let commands = command.get_subcommands().filter(|one| !one.is_hide_set()).map(|one| {
        let about = one.get_about().map(ToString::to_string);
        (one.get_name().to_owned(), about.unwrap_or_default())
    });
    let values = short_help::rows_of(short.command).iter();
    let values = values.map(|(left, right)| ((*left).to_owned(), (*right).to_owned()));
    let rows: Vec<(String, String)> =
        commands.chain(arguments).chain(flags).chain(values).collect();
    let width = rows.iter().map(|(left, _)| left.chars().count()).max().unwrap_or(0);
    for (left, right) in &rows {
        let _ = writeln!(text, "  {left:width$}  {right}");
    }
    let more = match short.command {
        "" => "rdmactl help COMMAND".to_owned(),
        name => format!("rdmactl {name} --help"),
    };
    let further = match short_help::further_flags(short.command) {
        [] => String::new(),
        flags => format!(" (also {})", flags.join(", ")),
    };
    let _ = writeln!(text, "\nExample: {}\nMore: {more}{further}", short.example);
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
            if name == "rdmactl-ping" {
                for flag in ["-H n1", "--only failed", "--rails", "--plan", "--from", "--slot"] {
                    assert!(text.contains(flag), "{flag}: {text}");
                }
                let arguments: Vec<&Arg> =
                    tree.find_subcommand("ping").unwrap().get_arguments().collect();
                for flag in short_help::further_flags("ping") {
                    assert!(arguments.iter().any(|arg| is_called(arg, flag)), "{flag}");
                }
                assert!(text.contains("SET ") && text.contains("Hosts that send"), "{text}");
            }
            let long = help(&name, &["rdmactl".into(), "--help".into()]);
            assert!(long.lines().count() > text.lines().count() || name.contains("man"), "{name}");
        }
    }
}
