//! Partitions and node states of Slurm, from `sinfo`.

use std::process::Command;

use super::command::Commands;
use super::unknown;
use crate::hosts::set::{AllowedTerms, GroupName, LookupError, ResolvedLine, ResolvedLines};

pub(super) fn partition(name: &str, commands: &Commands) -> Result<ResolvedLines, LookupError> {
    let nodes = match name {
        GroupName::ALL => sinfo(&["%N"], commands)?,
        name => sinfo(&["%N", "-p", name], commands)?,
    };
    if nodes.trim().is_empty() {
        // `sinfo` reports no error for an unknown partition. `%R` prints the name without the
        // mark of the default partition.
        let partitions = sinfo(&["%R"], commands)?;
        if !partitions.split_whitespace().any(|known| known == name) {
            return Err(unknown(name, "Slurm", partitions.split_whitespace()));
        }
    }
    Ok(found(&nodes))
}

/// Returns the nodes in a state. No node may be in the state.
pub(super) fn state(name: &str, commands: &Commands) -> Result<ResolvedLines, LookupError> {
    match name {
        GroupName::ALL => sinfo(&["%N"], commands),
        name => sinfo(&["%N", "-t", name], commands),
    }
    .map(|nodes| found(&nodes))
}

fn sinfo(arguments: &[&str], commands: &Commands) -> Result<String, LookupError> {
    let mut command = Command::new("sinfo");
    command.args(["-h", "-o"]).args(arguments);
    let ended = commands.run(command, "sinfo")?;
    if ended.is_success {
        return Ok(ended.text);
    }
    Err(LookupError::new(format!("sinfo failed: {}", ended.last_line))
        .fix("test it: sinfo; or write the hosts"))
}

fn found(nodes: &str) -> ResolvedLines {
    let line =
        |text: &str| ResolvedLine { text: text.to_owned(), place: "the output of sinfo".into() };
    let lines = nodes.lines().map(str::trim).filter(|line| !line.is_empty());
    ResolvedLines { lines: lines.map(line).collect(), within: AllowedTerms::Hosts }
}
