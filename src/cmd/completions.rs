//! Runs `rdmactl completions`: prints the scripts under completions/. The scripts call
//! `complete`.

use crate::cli::{CompletionsArgs, Shell};
use crate::term::Term;

use super::Outcome;

/// Prints the script for one shell.
pub(super) fn run(args: &CompletionsArgs, term: Term) -> anyhow::Result<Outcome> {
    term.write_stdout(match args.shell {
        Shell::Bash => include_str!("../../completions/rdmactl.bash"),
        Shell::Zsh => include_str!("../../completions/_rdmactl"),
        Shell::Fish => include_str!("../../completions/rdmactl.fish"),
    })?;
    Ok(Outcome::Complete)
}
