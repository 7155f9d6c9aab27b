//! `rdmactl agent`: the parts of the program that run in a process of their own.

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::cli::AgentArgs;
use crate::source::answer_verbs;
use crate::term::Term;

use super::{Advice, Outcome};

/// Plays the role that the parent process names.
pub(super) fn run(args: &AgentArgs, term: Term) -> anyhow::Result<Outcome> {
    match args.role.as_str() {
        "verbs" => {
            // A child that outlives its parent has nobody to answer. It is a courtesy: where the
            // kernel refuses, the parent's deadline still holds.
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            term.answer(serde_json::to_vec(&answer_verbs())?)?;
            Ok(Outcome::Complete)
        }
        role => Err(Advice::error(
            format!("there is no agent role {role}"),
            "leave this command to rdmactl itself",
        )),
    }
}
