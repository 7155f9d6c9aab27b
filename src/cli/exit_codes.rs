//! The line `Exit codes:` in the help of each command. The man pages make a section of it.

use clap::Command;

const LISTING: &str = "Exit codes: 0 everything was read; 2 usage error, or nothing could be read; \
                       3 a host or a value could not be read.";

/// Exit codes of commands that query no host.
const NO_HOST: &str =
    "Exit codes: 0 success; 2 usage error, or a file could not be read or written.";

/// Exit codes that differ from those of listings.
const OTHERS: &[(&str, &str)] = &[
    (
        "connections",
        "Exit codes: 0 everything was read; 1 a verdict reached the level of --fail-on; \
         2 usage error, or nothing could be read; 3 a host or a value could not be read.",
    ),
    (
        "top",
        "Exit codes: 0 top was ended with a key; 1 an agent of a ping test still runs on a host; \
         2 usage error, or a file could not be read; 3 another agent still runs on a host, or the \
         end of a recording was not written.",
    ),
    (
        "compat",
        "Exit codes: 0-255 the exit code of the tool; 2 also a usage error of rdmactl, or a host \
         that could not be read.",
    ),
    ("hosts", NO_HOST),
    ("config", NO_HOST),
    ("completions", NO_HOST),
    ("man", NO_HOST),
];

/// Start of the line.
pub const START: &str = "Exit codes: ";

/// Adds the line to the help of each command that has none.
pub fn add_to(tree: Command) -> Command {
    tree.mut_subcommands(|command| {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        if text.contains(START) {
            return command;
        }
        let other = OTHERS.iter().find(|(name, _)| *name == command.get_name());
        let codes = other.map_or(LISTING, |(_, codes)| codes);
        command.after_help(format!("{text}\n\n{codes}").trim_start().to_owned())
    })
}

#[test]
fn every_command_has_one_line_of_exit_codes() {
    use clap::CommandFactory as _;

    let tree = add_to(super::Cli::command());
    for command in tree.get_subcommands() {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert_eq!(help.matches(START).count(), 1, "{}: {help}", command.get_name());
    }
    for (name, _) in OTHERS {
        assert!(tree.find_subcommand(name).is_some(), "{name} is no command");
    }
}
