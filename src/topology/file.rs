//! Parses a file of either format, and rejects contradictions between its lines.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::error::{LineFault, ParseResult, wrong};
use super::lines::{LogicalLine, logical};
use super::{ExpandHosts, LeafSwitches, TopologyError, list, slurm};
use crate::model::ping::Leaf;

/// Fix for a file of neither format.
const KINDS: &str =
    "write one line for each leaf switch: leaf leaf1 n[01-16], or SwitchName=leaf1 Nodes=n[01-16]";

/// Leaf switches of the lines that were parsed.
pub(super) struct LeafSwitchesBuilder<'a> {
    expand: ExpandHosts<'a>,
    /// Index of each leaf switch.
    leaves: BTreeMap<String, usize>,
    /// Names of the leaf switches, by index.
    names: Vec<String>,
    /// Leaf switch and line of each host.
    hosts: BTreeMap<String, (usize, usize)>,
    /// Pod of each switch that has a switch above it.
    pods: BTreeMap<String, usize>,
    /// Number of pods. Leaf switches outside of all pods have pod 0.
    pod_count: usize,
    /// Number of host names that were parsed, including repeated names: a short file can repeat a
    /// large set many times. `below_read` counts switches below others in this way.
    hosts_read: usize,
    below_read: usize,
}

pub(super) fn parse(text: &str, expand: ExpandHosts<'_>) -> Result<LeafSwitches, TopologyError> {
    let lines = logical(text);
    let missing = |what: &str| TopologyError { line: None, what: what.into(), fix: KINDS.into() };
    let Some(first) = lines.first() else { return Err(missing("no leaf switch")) };
    let read: fn(&mut LeafSwitchesBuilder<'_>, &LogicalLine) -> ParseResult<()> = match () {
        () if slurm::is_line(&first.text) => slurm::read,
        () if list::is_line(&first.text) => list::read,
        () => {
            let what = "neither a leaf line nor a line of Slurm's topology.conf";
            return Err(LineFault { what: what.into(), fix: KINDS.into() }.at(first.number));
        }
    };
    let (leaves, names, hosts, pods) = Default::default();
    let mut draft = LeafSwitchesBuilder {
        expand,
        leaves,
        names,
        hosts,
        pods,
        pod_count: 0,
        hosts_read: 0,
        below_read: 0,
    };
    for line in &lines {
        read(&mut draft, line).map_err(|wrong| wrong.at(line.number))?;
    }
    if draft.hosts.is_empty() {
        return Err(missing("no leaf switch has a host"));
    }
    Ok(draft.finish())
}

impl LeafSwitchesBuilder<'_> {
    /// Adds the hosts of a set to a known or new leaf switch.
    pub(super) fn add(&mut self, name: &str, set: &str, line: usize) -> ParseResult<()> {
        let hosts = self.set(set)?;
        self.hosts_read += hosts.len();
        let (read, most) = (self.hosts_read, LeafSwitches::MAX_NAMES);
        if read > most {
            return wrong(
                format!("{read} hosts exceed the limit of {most}"),
                "keep only the lines of hosts that you test",
            );
        }
        let next = self.names.len();
        let leaf = *self.leaves.entry(name.to_owned()).or_insert(next);
        if leaf == next {
            self.names.push(name.to_owned());
        }
        for host in hosts {
            match self.hosts.entry(host) {
                Entry::Vacant(free) => {
                    free.insert((leaf, line));
                }
                Entry::Occupied(known) => {
                    let (other, before) = *known.get();
                    if other != leaf {
                        let what = format!(
                            "host {} is on leaf switch {name} and in line {before} on {}",
                            known.key(),
                            self.names[other],
                        );
                        return wrong(what, "remove the host from one of the two lines");
                    }
                }
            }
        }
        Ok(())
    }

    /// True if a line defines a leaf switch of this name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.leaves.contains_key(name)
    }

    /// Records that the switches of a set are below one switch, so that they form a pod.
    pub(super) fn join(&mut self, set: &str) -> ParseResult<()> {
        let names = self.set(set)?;
        self.below_read += names.len();
        if self.below_read > LeafSwitches::MAX_NAMES {
            let most = LeafSwitches::MAX_NAMES;
            return wrong(
                format!("more than {most} switches below other switches"),
                "keep only the lines of leaf switches",
            );
        }
        self.pod_count += 1;
        for name in names {
            self.pods.entry(name).or_insert(self.pod_count);
        }
        Ok(())
    }

    fn set(&self, set: &str) -> ParseResult<Vec<String>> {
        match (self.expand)(set) {
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

    fn finish(self) -> LeafSwitches {
        let Self { names, hosts, pods, .. } = self;
        let leaf = |name: String| Leaf { pod: pods.get(&name).copied().unwrap_or(0), name };
        let leaf_of = hosts.into_iter().map(|(host, (leaf, _))| (host, leaf)).collect();
        LeafSwitches { leaves: names.into_iter().map(leaf).collect(), leaf_of }
    }
}
