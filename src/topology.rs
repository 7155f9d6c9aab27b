//! Finds the leaf switch of each host: in a Slurm topology file, in a list, or in a sweep of an
//! InfiniBand subnet.
//!
//! Opens no file and parses no host set: the caller passes the text and a function for host sets.
//! `cmd::ping` makes a [`Topology`] from the result, with which `ping` plans and judges a run.

mod builder;
mod error;
mod fabric;
mod lines;
mod list;
mod slurm;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;

use builder::LeafSwitchesBuilder;
use lines::{LogicalLine, logical};

pub use error::TopologyError;
pub(crate) use error::{LineFault, ParseResult, wrong};

use crate::model::ping::{Leaf, Topology};

/// Function that expands a host set to names of hosts. The error says what is invalid, and where.
pub type ExpandHosts<'a> = &'a dyn Fn(&str) -> Result<Vec<String>, String>;

/// Expands a host set of a line. A set without a host is a mistake.
pub(crate) fn expand_set(expand: ExpandHosts<'_>, set: &str) -> ParseResult<Vec<String>> {
    match expand(set) {
        Ok(hosts) if hosts.is_empty() => {
            wrong(format!("{set} contains no host"), "write a host set, for example n[01-16]")
        }
        Ok(hosts) => Ok(hosts),
        Err(error) => wrong(
            format!("invalid host set {set}:\n{error}"),
            "write a host set without spaces, for example n[01-16,20],gpu3",
        ),
    }
}

/// Name of the leaf switch of hosts that are not in the file.
pub const UNKNOWN: &str = "unknown";

const FIX_OF_FORMAT: &str =
    "write one line for each leaf switch: leaf leaf1 n[01-16], or SwitchName=leaf1 Nodes=n[01-16]";

/// Leaf switches and the hosts that are connected to them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeafSwitches {
    leaves: Vec<Leaf>,
    leaf_of: BTreeMap<String, usize>,
}

/// Leaf switches of the hosts of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTopology {
    /// Leaf switch of each host. Contains no leaf switch without a host of the run.
    pub topology: Topology,
    /// Indices of the hosts without a known leaf switch. Their leaf switch is [`UNKNOWN`].
    pub unknown: Vec<usize>,
}

impl LeafSwitches {
    /// Maximum size of a file, in bytes. 65,536 lines with one host each are half as large.
    pub const MAX_BYTES: u64 = 4 << 20;

    /// Maximum number of hosts in a file, and of switches.
    pub const MAX_NAMES: usize = 65_536;

    /// Parses Slurm's `topology.conf` or `leaf NAME SET` lines. The first line decides the format.
    ///
    /// # Errors
    /// Returns the first invalid line with its fix. A host on two leaf switches is an error.
    pub fn parse(text: &str, expand: ExpandHosts<'_>) -> Result<Self, TopologyError> {
        let lines = logical(text);
        let missing =
            |what: &str| TopologyError { line: None, what: what.into(), fix: FIX_OF_FORMAT.into() };
        let Some(first) = lines.first() else { return Err(missing("no leaf switch")) };
        let read: fn(&mut LeafSwitchesBuilder<'_>, &LogicalLine) -> ParseResult<()> = match () {
            () if slurm::is_line(&first.text) => slurm::read,
            () if list::is_line(&first.text) => list::read,
            () => {
                let what = "neither a leaf line nor a line of Slurm's topology.conf";
                let fault = LineFault { what: what.into(), fix: FIX_OF_FORMAT.into() };
                return Err(fault.at(first.number));
            }
        };
        let mut draft = LeafSwitchesBuilder::new(expand);
        for line in &lines {
            read(&mut draft, line).map_err(|wrong| wrong.at(line.number))?;
        }
        draft.finish().ok_or_else(|| missing("no leaf switch has a host"))
    }

    /// Returns the number of hosts with a known leaf switch.
    pub fn hosts(&self) -> usize {
        self.leaf_of.len()
    }

    /// Returns the topology of a run of these hosts. Looks up a name with a domain as it is, then
    /// without the domain, because Slurm writes short names.
    pub fn of_run<S: AsRef<str>>(&self, hosts: impl IntoIterator<Item = S>) -> RunTopology {
        let found: Vec<Option<usize>> =
            hosts.into_iter().map(|host| self.leaf_of(host.as_ref())).collect();
        let mut used: Vec<usize> = found.iter().copied().flatten().collect();
        used.sort_unstable();
        used.dedup();
        let mut leaves: Vec<Leaf> = used.iter().map(|&leaf| self.leaves[leaf].clone()).collect();
        let new_index = |leaf: usize| used.partition_point(|&other| other < leaf);
        let leaf_of = found.iter().map(|leaf| leaf.map_or(used.len(), new_index)).collect();
        let unknown: Vec<usize> = (0..found.len()).filter(|&host| found[host].is_none()).collect();
        if !unknown.is_empty() {
            leaves.push(Leaf { name: UNKNOWN.to_owned(), pod: 0 });
        }
        RunTopology { topology: Topology { leaf_of, leaves }, unknown }
    }

    fn leaf_of(&self, host: &str) -> Option<usize> {
        let short = || {
            let (name, _) = host.split_once('.')?;
            // An IP address has no domain.
            if host.parse::<IpAddr>().is_ok() { None } else { self.leaf_of.get(name) }
        };
        self.leaf_of.get(host).or_else(short).copied()
    }
}
