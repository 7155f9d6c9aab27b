//! Prints the scripts under completions/ for `rdmactl completions`, and the candidates for the
//! word at the cursor, which the scripts request through an environment variable.
//!
//! A request returns within a fixed time, prints no error and no control characters, and does not
//! use the network.

mod hosts;
mod rows;
mod words;

use std::env;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::CommandFactory as _;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};

use crate::cli::{Cli, CompletionShell, CompletionsArgs};
use crate::compat::Tool;
use crate::model::Object;
use crate::query::{ColumnDescription, listings_of};
use crate::term::Term;
use crate::tui::View;

use super::Outcome;
use super::flags::without_useless;
use words::TypedLine;

const SHELL_VARIABLE: &str = "RDMACTL_COMPLETE";

/// Time limit, because a home directory may hang. Usually it takes hundredths of a second; the
/// limit leaves time for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(3);

pub(super) fn print_script(args: &CompletionsArgs, term: Term) -> anyhow::Result<Outcome> {
    term.write_stdout(match args.shell {
        CompletionShell::Bash => include_str!("../../completions/rdmactl.bash"),
        CompletionShell::Zsh => include_str!("../../completions/_rdmactl"),
        CompletionShell::Fish => include_str!("../../completions/rdmactl.fish"),
    })?;
    Ok(Outcome::Complete)
}

pub(super) fn requested_shell() -> Option<CompletionShell> {
    match env::var(SHELL_VARIABLE).ok()?.as_str() {
        "bash" => Some(CompletionShell::Bash),
        "zsh" => Some(CompletionShell::Zsh),
        "fish" => Some(CompletionShell::Fish),
        _ => None,
    }
}

/// Prints one candidate per line; zsh and fish also get a tab and a description.
pub(super) fn print_candidates(shell: CompletionShell) -> ExitCode {
    let (tell, told) = mpsc::channel();
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let worker = thread::Builder::new().spawn(move || {
        let _ = tell.send(candidates(shell, &arguments).unwrap_or_default());
    });
    if worker.is_ok()
        && let Ok(text) = told.recv_timeout(TIMEOUT)
    {
        let _ = Term::default().write_stdout(text);
    }
    ExitCode::SUCCESS
}

fn candidates(shell: CompletionShell, arguments: &[OsString]) -> Option<String> {
    let line = TypedLine::of(shell, arguments)?;
    let current = line.words.get(line.index)?.to_str()?.to_owned();
    let place = env::current_dir().ok();
    let found =
        complete(&mut tree(&line.words), line.words.clone(), line.index, place.as_deref()).ok()?;
    let is_flag = |one: &CompletionCandidate| one.get_value().as_encoded_bytes().starts_with(b"-");
    let has_values = found.iter().any(|one| !is_flag(one));
    let mut text = String::new();
    for one in &found {
        // Flags beside values are offered only after a dash.
        if is_flag(one) && has_values && !current.starts_with('-') {
            continue;
        }
        let value = one.get_value().to_str().filter(|value| is_printable(value));
        let Some(value) = value.and_then(|value| line.rest_of(value)) else { continue };
        text.push_str(&value);
        let help = one.get_help().map(ToString::to_string).unwrap_or_default();
        let help = help.lines().next().unwrap_or_default();
        if shell != CompletionShell::Bash && is_printable(help) {
            text.extend(["\t", help]);
        }
        text.push('\n');
    }
    Some(text)
}

fn is_printable(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(char::is_control)
}

fn tree(words: &[OsString]) -> clap::Command {
    let tree = without_useless(Cli::command()).mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        command.mut_args(|arg| match completer(&name, arg.get_id().as_str(), words) {
            Some(completer) => arg.add(completer),
            None => arg,
        })
    });
    tree.mut_arg("hosts", |arg| arg.add(ArgValueCompleter::new(hosts::complete)))
}

fn completer(command: &str, argument: &str, words: &[OsString]) -> Option<ArgValueCompleter> {
    let of_columns: fn(&[ColumnDescription], &str) -> Vec<CompletionCandidate> = match argument {
        "hosts" | "matrix" | "clients" | "servers" | "targets" | "sets" => {
            return Some(ArgValueCompleter::new(hosts::complete));
        }
        "words" => {
            let words: Vec<&'static str> = match command {
                "compat" => Tool::ALL.iter().map(|tool| tool.name()).collect(),
                "resources" => Object::WORDS.to_vec(),
                _ => View::WORDS.to_vec(),
            };
            let takes_hosts = command != "compat";
            return Some(ArgValueCompleter::new(move |current: &OsStr| {
                let begins = |word: &&&str| current.to_str().is_some_and(|it| word.starts_with(it));
                let words = words.iter().filter(begins).map(CompletionCandidate::new);
                let hosts = if takes_hosts { hosts::complete(current) } else { Vec::new() };
                words.chain(hosts).collect()
            }));
        }
        "columns" => rows::columns,
        "sort" => rows::order,
        "filter" => rows::condition,
        _ => return None,
    };
    // A flag or a view may select another listing of the command than the default one.
    let is_asked = |name: &str| name.split(' ').all(|word| words.iter().any(|one| one == word));
    let mut listings = listings_of(command);
    let asked = listings.iter().rposition(|(name, _)| is_asked(name)).unwrap_or(0);
    let columns = if listings.is_empty() { Vec::new() } else { listings.swap_remove(asked).1 };
    Some(ArgValueCompleter::new(move |current: &OsStr| {
        current.to_str().map_or(Vec::new(), |current| of_columns(&columns, current))
    }))
}
