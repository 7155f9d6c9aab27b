//! `rdmactl man`: one page for the program and one for each command.

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::cli::{Cli, ManArgs};

use super::Outcome;

/// Writes the pages.
pub(super) fn run(args: &ManArgs) -> anyhow::Result<Outcome> {
    clap_mangen::generate_to(Cli::command(), &args.directory)
        .with_context(|| format!("cannot write to {}", args.directory.display()))?;
    Ok(Outcome::Complete)
}
