//! Runs `rdmactl completions`: prints the scripts under completions/. The scripts call
//! `complete`.

use crate::cli::{CompletionShell, CompletionsArgs};
use crate::term::Term;

use super::Outcome;

/// Prints the script for one shell.
pub(super) fn run(args: &CompletionsArgs, term: Term) -> anyhow::Result<Outcome> {
    term.write_stdout(match args.shell {
        CompletionShell::Bash => include_str!("../../completions/rdmactl.bash"),
        CompletionShell::Zsh => include_str!("../../completions/_rdmactl"),
        CompletionShell::Fish => include_str!("../../completions/rdmactl.fish"),
    })?;
    Ok(Outcome::Complete)
}
