//! Collects the leaf switches of a file, and rejects contradictions between its lines.
//!
//! Does not parse lines: `list` and `slurm` do.

use std::collections::BTreeMap;

use super::error::{ParseResult, wrong};
use super::{ExpandHosts, LeafSwitches, expand_set};
use crate::model::ping::Leaf;

pub(super) struct LeafSwitchesBuilder<'a> {
    expand: ExpandHosts<'a>,
    index_of_leaf: BTreeMap<String, usize>,
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
        Self {
            expand,
            index_of_leaf: BTreeMap::new(),
            names: Vec::new(),
            hosts: BTreeMap::new(),
            pods: BTreeMap::new(),
            pod_count: 0,
            hosts_read: 0,
            below_read: 0,
        }
    }

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
        let leaf = *self.index_of_leaf.entry(name.to_owned()).or_insert(next);
        if leaf == next {
            self.names.push(name.to_owned());
        }
        for host in hosts {
            let (other, before) = *self.hosts.entry(host.clone()).or_insert((leaf, line));
            if other != leaf {
                let other = &self.names[other];
                return wrong(
                    format!("host {host} is on leaf switch {name} and in line {before} on {other}"),
                    "remove the host from one of the two lines",
                );
            }
        }
        Ok(())
    }

    pub(super) fn knows(&self, name: &str) -> bool {
        self.index_of_leaf.contains_key(name)
    }

    /// Records that the switches of a set are below one switch, so that they form a pod.
    pub(super) fn join(&mut self, set: &str) -> ParseResult<()> {
        let names = expand_set(self.expand, set)?;
        self.below_read += names.len();
        let most = LeafSwitches::MAX_NAMES;
        if self.below_read > most {
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
