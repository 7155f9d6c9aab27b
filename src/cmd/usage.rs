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
    let text = match (help_topic(error, words), error.kind()) {
        (Some(text), _) => text,
        (None, ErrorKind::DisplayHelp) => help(&error.to_string(), words),
        (None, ErrorKind::DisplayVersion) => error.to_string(),
        (None, _) => {
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
/// clap has no command `help` here and reports the word as unknown. Flags may stand before it.
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

/// Returns the first word after `help` that is no flag and no value of a flag.
fn topic_of(words: &[OsString]) -> Option<&OsString> {
    plain_words(words).into_iter().skip_while(|word| *word != "help").nth(1)
}

/// Returns the words that are neither flags nor values of the flags of every command.
fn plain_words(words: &[OsString]) -> Vec<&OsString> {
    let tree = Cli::command();
    let mut plain = Vec::new();
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if !text.starts_with('-') {
            plain.push(word);
        } else if is_followed_by_value(&tree, &text) {
            words.next();
        }
    }
    plain
}

/// True if the word after these flags is the value of a flag: `--hosts`, `-H` or `-vH`.
fn is_followed_by_value(tree: &clap::Command, flags: &str) -> bool {
    let needs_value = |flag: &str| {
        let arg = tree.get_arguments().find(|arg| is_called(arg, flag));
        arg.is_some_and(|arg| {
            let is_optional = arg.get_num_args().is_some_and(|range| range.min_values() == 0);
            arg.get_action().takes_values() && !is_optional
        })
    };
    if flags.starts_with("--") {
        return needs_value(flags);
    }
    let mut letters = flags.chars().skip(1);
    // The rest of the word is the value: `-Hn1`.
    letters.any(|letter| needs_value(&format!("-{letter}"))) && letters.next().is_none()
}

/// Returns the failure and the fix of a usage error.
fn explain(error: &clap::Error, words: &[OsString]) -> (String, String) {
    let context = |kind| error.get(kind).and_then(first_string);
    if error.kind() == ErrorKind::InvalidSubcommand {
        let mut word = context(ContextKind::InvalidSubcommand).unwrap_or_default();
        if word == "help" {
            word = topic_of(words).map_or(word, |topic| topic.to_string_lossy().into_owned());
        }
        let what = format!("unknown command {}", escape(&names::shortened(&word)));
        return (what, escape(&fix_of_unknown_command(&word, words)).into_owned());
    }
    let command = command_of(words);
    let flag = context(ContextKind::InvalidArg).unwrap_or_default();
    let value = context(ContextKind::InvalidValue).unwrap_or_default();
    let what = failure_of_argument(error, command, &flag, &value);
    let fix = fix_of_argument(error, command, (&flag, &value), words);
    (what, escape(&fix).into_owned())
}

/// Returns the failure of an unknown flag, or of an invalid flag or value.
fn failure_of_argument(
    error: &clap::Error,
    command: Option<&str>,
    flag: &str,
    value: &str,
) -> String {
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let text = match command {
        Some(name) if is_unknown && !flag.starts_with('-') => {
            format!("{name} takes no argument {}", names::shortened(flag))
        }
        _ if is_unknown => format!("unknown flag {}", names::shortened(flag)),
        _ => error.to_string(),
    };
    let text = if value.is_empty() { text } else { text.replace(value, &names::shortened(value)) };
    let text = if is_unknown { text.replace('\n', " ") } else { text };
    let what = text.split("\n\n").next().unwrap_or_default();
    let what = what.strip_prefix("error: ").unwrap_or(what).trim_end().replace("\n  ", " ");
    let lines = what.lines().map(|line| escape(&short_words(line)).into_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the fix of an unknown flag, or of an invalid flag or value.
fn fix_of_argument(
    error: &clap::Error,
    command: Option<&str>,
    (flag, value): (&str, &str),
    words: &[OsString],
) -> String {
    if error.kind() == ErrorKind::ArgumentConflict
        && flag.starts_with("--where")
        && let Some(fix) = replacements::of_filters(words)
    {
        return fix;
    }
    if let Some(fix) = fix_of_value(command, flag, value) {
        return fix;
    }
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let other = if is_unknown { replacements::of_flag(command, flag, words) } else { None };
    let suggested = |kind| error.get(kind).and_then(first_string);
    let near = if is_unknown {
        near_flag(command, flag)
    } else {
        suggested(ContextKind::SuggestedArg).or_else(|| suggested(ContextKind::SuggestedValue))
    };
    let called = command.map_or("rdmactl".to_owned(), |name| format!("rdmactl {name}"));
    match (other, near) {
        (Some(fix), _) => format!("{fix}; all flags: {called} --help"),
        (None, Some(near)) => format!("write {near}; all flags: {called} --help"),
        (None, None) => format!("list the flags and examples: {called} --help"),
    }
}

fn fix_of_unknown_command(word: &str, words: &[OsString]) -> String {
    // A tool of `compat` keeps its own options.
    if let Some(fix) = compat::instead_of(word, words) {
        return fix;
    }
    if let Some(fix) = replacements::of_word(word, words) {
        return fix;
    }
    if matches!(word, "explain" | "verdict") {
        let mut known = plain_words(words).into_iter().filter_map(|word| word.to_str());
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
    let has_several = word.contains(['[', ',', '@']);
    let has_number = word.chars().any(|letter| letter.is_ascii_digit());
    if replacements::is_set(word) && (has_several || has_number) {
        let set = shlex::try_quote(word).unwrap_or_default();
        let hosts = replacements::hosts_of(words, Some(word));
        let flags = if hosts.is_empty() { hosts } else { format!(" {hosts}") };
        let (whose, their) =
            if has_several { ("these hosts", "their") } else { ("this host", "its") };
        return format!(
            "a summary of {whose}: rdmactl -H {set}{flags}; \
             {their} devices: rdmactl devices {set}{flags}"
        );
    }
    "list the commands: rdmactl -h".to_owned()
}

/// Returns the fix for a value that fits another flag: `-f 16`, `-f FILE`, `hosts --count SET`.
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

/// Returns the first word that is the name of a command, and no value of a flag.
fn command_of(words: &[OsString]) -> Option<&str> {
    let tree = Cli::command();
    let mut named = plain_words(words).into_iter().filter_map(|word| word.to_str());
    named.find(|word| tree.find_subcommand(word).is_some())
}

/// Returns the help of a command: complete if `words` contain `--help`, else for one screen.
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
        let short_text = short_help::own_text(short.command, flag).map(str::to_owned);
        (typed.to_owned(), short_text.or_else(|| arg.map(help_of)).unwrap_or_default())
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

/// True if `flag`, with its dashes, is the long or the short form of the argument.
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

    fn typed(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn value_of_a_flag_is_no_command() {
        for (line, command) in [
            ("rdmactl ping -H n1 --bogus", Some("ping")),
            ("rdmactl -H ping devices --bogus", Some("devices")),
            ("rdmactl --hosts ping devices --bogus", Some("devices")),
            ("rdmactl --hosts=n1 ping --bogus", Some("ping")),
            ("rdmactl -Hn1 ping --bogus", Some("ping")),
            ("rdmactl -vH ping devices --bogus", Some("devices")),
            ("rdmactl -v --sudo ping --bogus", Some("ping")),
            ("rdmactl --watch ping --bogus", Some("ping")),
            ("rdmactl --unknown ping", Some("ping")),
            ("rdmactl - -- ping", Some("ping")),
            ("rdmactl -H ping --bogus", None),
            ("rdmactl -H", None),
        ] {
            assert_eq!(command_of(&typed(line)), command, "{line}");
        }
    }

    #[test]
    fn value_of_a_flag_is_no_topic_of_help() {
        for (line, topic) in [
            ("rdmactl help ping", Some("ping")),
            ("rdmactl -l help help ping", Some("ping")),
            ("rdmactl help -H gids ping", Some("ping")),
            ("rdmactl help -v", None),
        ] {
            let words = typed(line);
            assert_eq!(topic_of(&words).and_then(|word| word.to_str()), topic, "{line}");
        }
    }

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
