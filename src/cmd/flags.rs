//! Flags that a command has no use for, or that contradict each other, are refused.

use clap::ArgMatches;
use clap::parser::ValueSource;

use crate::cli::flags::{self, FlagError, SUMMARY};

use super::Advice;

/// Holds the flags of a command line against the table of `cli::flags`.
///
/// # Errors
/// One has no effect on this command, or two contradict each other.
pub(super) fn check(tree: &clap::Command, matches: &ArgMatches) -> anyhow::Result<()> {
    // Flags that stand before the command are known behind it, too.
    let (command, matches) = matches.subcommand().unwrap_or((SUMMARY, matches));
    let is_given = |arg: &&clap::Arg| {
        matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    let of_all = tree.get_arguments().filter(|arg| arg.is_global_set());
    let given: Vec<&str> = of_all.filter(is_given).filter_map(clap::Arg::get_long).collect();
    flags::check(command, &given).map_err(|error| {
        let fix = match error {
            FlagError::Useless { fix, .. } => fix,
            FlagError::Contrary { .. } => "leave one of them out",
        };
        Advice::error(error.to_string(), fix)
    })
}
