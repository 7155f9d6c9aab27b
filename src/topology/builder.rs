//! Collects the leaf switches of the lines of a file, and rejects contradictions between its
//! lines.
//!
//! Does not parse lines: `list` and `slurm` do, and `file` chooses between them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::error::{ParseResult, wrong};
use super::{ExpandHosts, LeafSwitches, expand_set};
use crate::model::ping::Leaf;

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

impl<'a> LeafSwitchesBuilder<'a> {
    pub(super) fn new(expand: ExpandHosts<'a>) -> Self {
        let (leaves, names, hosts, pods) = Default::default();
        let (pod_count, hosts_read, below_read) = Default::default();
        Self { expand, leaves, names, hosts, pods, pod_count, hosts_read, below_read }
    }

    /// Adds the hosts of a set to a known or new leaf switch.
    pub(super) fn add(&mut self, name: &str, set: &str, line: usize) -> ParseResult<()> {
        let hosts = expand_set(self.expand, set)?;
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
        let names = expand_set(self.expand, set)?;
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

    /// Returns the leaf switches; `None` if no leaf switch has a host.
    pub(super) fn finish(self) -> Option<LeafSwitches> {
        let Self { names, hosts, pods, .. } = self;
        if hosts.is_empty() {
            return None;
        }
        let leaf = |name: String| Leaf { pod: pods.get(&name).copied().unwrap_or(0), name };
        let leaf_of = hosts.into_iter().map(|(host, (leaf, _))| (host, leaf)).collect();
        Some(LeafSwitches { leaves: names.into_iter().map(leaf).collect(), leaf_of })
    }
}
