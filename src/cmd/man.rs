//! Runs `rdmactl man`: writes one page for the program and one page per command.

mod page;

use std::fs;

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::cli::{Cli, ManArgs, exit_codes};

use super::Outcome;
use super::flags::without_useless;

pub(super) fn run(args: &ManArgs) -> anyhow::Result<Outcome> {
    let tree = exit_codes::add_to(without_useless(Cli::command()));
    let commands = tree.get_subcommands().filter(|command| !command.is_hide_set());
    for command in commands.chain([&tree]) {
        let page = page::of(command, &tree).context("cannot make a page")?;
        let name = command.get_display_name().unwrap_or(command.get_name());
        let path = args.directory.join(format!("{name}.1"));
        fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(Outcome::Complete)
}
