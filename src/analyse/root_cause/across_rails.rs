//! Merges the findings of the rails into findings over all rails.

use std::collections::BTreeMap;

use crate::model::ping::{Code, Finding};

/// Key of findings that are one on several rails: host, leaf switches, pair (only without host
/// and leaf switches) and code.
type FindingKey = (Option<usize>, Vec<String>, Option<(usize, usize, bool)>, Code);

/// Findings by key, in the order of the first occurrence.
pub(super) struct RailFindings {
    count: usize,
    known: BTreeMap<FindingKey, usize>,
    findings: Vec<Finding>,
}

impl RailFindings {
    pub(super) fn new(count: usize) -> Self {
        Self { count, known: BTreeMap::new(), findings: Vec::new() }
    }

    /// Adds the findings of a rail. The rails come in order.
    pub(super) fn add(&mut self, rail: usize, findings: Vec<Finding>) {
        for mut finding in findings {
            let is_pair = finding.host.is_none() && finding.leaves.is_empty();
            let pair = is_pair.then_some((finding.source, finding.target, finding.both_ways));
            let name = (finding.host, finding.leaves.clone(), pair, finding.code);
            let known = self.known.get(&name).and_then(|&at| self.findings.get_mut(at));
            if let Some(known) = known {
                known.rails.push(rail);
                known.failed += finding.failed;
                known.of += finding.of;
                known.host_pairs_failed = known.host_pairs_failed.max(finding.host_pairs_failed);
                known.host_pairs = known.host_pairs.max(finding.host_pairs);
            } else {
                finding.rails.push(rail);
                self.known.insert(name, self.findings.len());
                self.findings.push(finding);
            }
        }
    }

    /// Returns all findings: leaf switches, paths and hosts before pairs. A finding on every rail
    /// lists no rails.
    pub(super) fn findings(mut self) -> Vec<Finding> {
        for finding in &mut self.findings {
            if finding.rails.len() == self.count {
                finding.rails.clear();
            }
        }
        self.findings.sort_by_key(|finding| finding.host.is_none() && finding.leaves.is_empty());
        self.findings
    }
}
