//! Names of hosts, pairs, leaf switches and rails for the texts of a ping run.
//!
//! `analyse` and `render` use them. A name may come from a file, so `render` escapes the texts.

use super::{Finding, Outlier, OutlierKind, PingReport};

impl PingReport {
    /// Returns the name of a host; `?` for no host and for an index without a host.
    pub fn host_name(&self, host: impl Into<Option<usize>>) -> &str {
        host.into().and_then(|host| self.hosts.get(host)).map_or("?", |host| host.name.as_str())
    }

    /// Formats an ordered pair: `n1 -> n2`; or both directions: `n1 <-> n2`.
    pub fn pair_name(
        &self,
        source: impl Into<Option<usize>>,
        target: impl Into<Option<usize>>,
        both_ways: bool,
    ) -> String {
        let way = if both_ways { "<->" } else { "->" };
        format!("{} {way} {}", self.host_name(source), self.host_name(target))
    }

    /// Returns true if a host was reached. For other hosts, the reason of the failure replaces the
    /// pairs.
    pub fn was_reached(&self, host: usize) -> bool {
        self.hosts.get(host).is_some_and(|host| host.failure.is_none())
    }
}

impl Finding {
    /// Formats the place of the fault: `n1`, `n1 -> n2`, `leaf leaf1`, or `path leaf1 - leaf2`.
    pub fn place(&self, run: &PingReport) -> String {
        match (self.host, self.leaves.as_slice()) {
            (Some(host), _) => run.host_name(host).to_owned(),
            (None, []) => run.pair_name(self.source, self.target, self.both_ways),
            (None, leaves) => name_leaves(leaves),
        }
    }
}

impl Outlier {
    /// Formats the place that is slow, as [`Finding::place`] does.
    pub fn place(&self, run: &PingReport) -> String {
        match self.kind {
            OutlierKind::Leaf | OutlierKind::Path => name_leaves(&self.leaves),
            OutlierKind::Pair => run.pair_name(self.host, self.target, self.both_ways),
            _ => run.host_name(self.host).to_owned(),
        }
    }
}

/// Formats leaf switches or a path: `leaf leaf1`, `path leaf1 - leaf2`.
fn name_leaves(leaves: &[String]) -> String {
    let noun = if leaves.len() == 1 { "leaf" } else { "path" };
    format!("{noun} {}", leaves.join(" - "))
}

/// Formats rails: ` rail 1`, ` rails 1,2`; an empty text for all rails.
pub fn name_rails(rails: &[usize]) -> String {
    let numbers: Vec<String> = rails.iter().map(ToString::to_string).collect();
    match numbers.as_slice() {
        [] => String::new(),
        [one] => format!(" rail {one}"),
        many => format!(" rails {}", many.join(",")),
    }
}
