//! Partitions and node states of Slurm, from `sinfo`.

use std::process::Command;

use super::command::Commands;
use super::{output_lines, unknown};
use crate::hosts::set::{AllowedTerms, GroupName, LookupError, ResolvedLines};

pub(super) fn partition(name: &str, commands: &Commands) -> Result<ResolvedLines, LookupError> {
    let nodes = match name {
        GroupName::ALL => sinfo(&["%N"], commands)?,
        name => sinfo(&["%N", "-p", name], commands)?,
    };
    if nodes.trim().is_empty() {
        // `sinfo` reports no error for an unknown partition. `%R` omits the mark of the default
        // one.
        let partitions = sinfo(&["%R"], commands)?;
        if !partitions.split_whitespace().any(|known| known == name) {
            return Err(unknown(name, "Slurm", partitions.split_whitespace()));
        }
    }
    Ok(found(&nodes))
}

/// Accepts a state without nodes.
pub(super) fn state(name: &str, commands: &Commands) -> Result<ResolvedLines, LookupError> {
    let nodes = match name {
        GroupName::ALL => sinfo(&["%N"], commands),
        name => sinfo(&["%N", "-t", name], commands),
    };
    Ok(found(&nodes?))
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
    let lines = output_lines(nodes, "the output of sinfo");
    ResolvedLines { lines, within: AllowedTerms::Hosts }
}
