//! Flags that a command does not support, or that contradict each other, are refused.

use clap::ArgMatches;
use clap::parser::ValueSource;

use crate::cli::flags::{self, FlagError, SUMMARY};
use crate::config::{Key, SETTINGS};

use super::Advice;

/// The flags and arguments that a command line gives.
pub(super) struct Given {
    command: String,
    /// Long names of the flags that all commands have.
    global: Vec<String>,
    /// The command's own arguments, flags with their dashes.
    own: Vec<String>,
}

impl Given {
    /// Returns the given flags that stand for a setting, with their dashes.
    pub(super) fn flags_of(&self, key: Key) -> Vec<&'static str> {
        let flags = SETTINGS.iter().filter(|setting| setting.key == key);
        let is_given = |flag: &&str| {
            self.own.iter().any(|own| own == flag)
                || self.global.iter().any(|long| flag.strip_prefix("--") == Some(long))
        };
        flags.flat_map(|setting| setting.flags.iter().copied()).filter(is_given).collect()
    }

    /// Checks the command line with the table of `cli::flags`.
    ///
    /// # Errors
    /// A flag has no effect on this command, or two contradict each other.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let global: Vec<&str> = self.global.iter().map(String::as_str).collect();
        flags::check(&self.command, &global, &self.own).map_err(|error| {
            let fix = match error {
                FlagError::Useless { fix, .. } | FlagError::Contrary { fix, .. } => fix,
            };
            Advice::error(error.to_string(), fix)
        })
    }
}

/// Returns the flags and arguments that a command line gives.
pub(super) fn given(tree: &clap::Command, matches: &ArgMatches) -> Given {
    // Flags that stand before the command are known behind it, too.
    let (command, matches) = matches.subcommand().unwrap_or((SUMMARY, matches));
    let is_given = |arg: &&clap::Arg| {
        let id = arg.get_id().as_str();
        matches.try_contains_id(id).is_ok()
            && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let of_all = tree.get_arguments().filter(|arg| arg.is_global_set());
    let longs = of_all.filter(is_given).filter_map(clap::Arg::get_long);
    let mut global: Vec<String> = longs.map(str::to_owned).collect();
    let own = tree.find_subcommand(command).into_iter().flat_map(clap::Command::get_arguments);
    let own: Vec<&clap::Arg> =
        own.filter(|arg| !arg.is_global_set()).filter(|arg| is_given(arg)).collect();
    // A set as an argument is a set of -H.
    if command != "hosts" && own.iter().any(|arg| arg.get_id() == "sets") {
        global.push("hosts".into());
    }
    let own: Vec<String> = own
        .into_iter()
        .map(|arg| match arg.get_long() {
            Some(flag) => format!("--{flag}"),
            None if arg.get_id() == "targets" => "the hosts".to_owned(),
            None => format!("the {}", arg.get_id()),
        })
        .collect();
    Given { command: command.to_owned(), global, own }
}

/// The clap tree, built, in which each command shows only flags that it has use for.
pub(super) fn without_useless(mut tree: clap::Command) -> clap::Command {
    tree.build();
    let names: Vec<String> =
        tree.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    for name in names {
        tree = tree.mut_subcommand(&name, |command| {
            command.mut_args(|arg| {
                let is_useless = arg.get_long().is_some_and(|flag| !flags::takes(&name, flag));
                if is_useless { arg.hide(true) } else { arg }
            })
        });
    }
    tree
}
