//! `rdmactl completions`: completion scripts, made from the command line's types.

use clap::CommandFactory as _;
use clap_complete::generate;

use crate::cli::{Cli, CompletionsArgs, Shell};
use crate::term::Term;

use super::Outcome;

/// Prints the script of one shell.
pub(super) fn run(args: &CompletionsArgs, term: Term) -> anyhow::Result<Outcome> {
    let shell = match args.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "rdmactl", &mut script);
    term.answer(script)?;
    Ok(Outcome::Complete)
}
