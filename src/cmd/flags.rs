//! Refuses flags that a command does not support, and flags that contradict each other.

use clap::ArgMatches;
use clap::parser::ValueSource;

use crate::cli::Format;
use crate::cli::flags::{self, SUMMARY};
use crate::config::{SETTINGS, SettingKey};

use super::Advice;

pub(super) struct GivenFlags {
    command: String,
    /// Long names of the given global flags.
    global: Vec<String>,
    /// Given flags of the command with their dashes, and its given arguments.
    own: Vec<String>,
}

impl GivenFlags {
    pub(super) fn flags_of(&self, key: SettingKey) -> Vec<&'static str> {
        let flags = SETTINGS.iter().filter(|setting| setting.key == key);
        let is_given = |flag: &&str| {
            self.own.iter().any(|own| own == flag)
                || self.global.iter().any(|long| flag.strip_prefix("--") == Some(long))
        };
        flags.flat_map(|setting| setting.flags.iter().copied()).filter(is_given).collect()
    }

    /// Checks the command line with the table of `cli::flags`.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let global: Vec<&str> = self.global.iter().map(String::as_str).collect();
        flags::check(&self.command, &global, &self.own)
            .map_err(|error| Advice::error(error.what, error.fix))
    }
}

pub(super) fn given(tree: &clap::Command, matches: &ArgMatches) -> GivenFlags {
    // clap copies global flags before the command into the matches of the subcommand.
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
    // A host set as an argument is the same as -H.
    if command != "hosts" && own.iter().any(|arg| arg.get_id() == "sets") {
        global.push("hosts".into());
    }
    let own = own.into_iter().map(|arg| match arg.get_long() {
        Some(flag) => format!("--{flag}"),
        None if arg.get_id() == "targets" => "the hosts".to_owned(),
        None => format!("the {}", arg.get_id()),
    });
    let own = own.chain(drawing(command, matches).map(str::to_owned)).collect();
    GivenFlags { command: command.to_owned(), global, own }
}

/// Returns the format with which `fabric` draws a subnet instead of listing it.
fn drawing(command: &str, matches: &ArgMatches) -> Option<&'static str> {
    let format = matches.try_get_one::<Format>("format").ok().flatten()?;
    match format {
        Format::Tree if command == "fabric" => Some("--format tree"),
        Format::Dot if command == "fabric" => Some("--format dot"),
        _ => None,
    }
}

/// Returns the built clap tree; each command hides flags that have no effect on it.
pub(super) fn without_useless(mut tree: clap::Command) -> clap::Command {
    tree.build();
    tree.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        let reads_no_host = matches!(name.as_str(), "completions" | "man");
        command.mut_args(|arg| {
            let is_useless = arg.get_long().is_some_and(|flag| !flags::takes(&name, flag))
                || (reads_no_host && arg.is_global_set());
            if is_useless { arg.hide(true) } else { arg }
        })
    })
}
