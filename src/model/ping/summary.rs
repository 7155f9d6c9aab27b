//! Summary of a ping run.
//! `ping` counts the pairs; `render` shows the counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Code, Pair};

/// Number of ordered pairs by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// All requested pairs.
    pub pairs: usize,
    /// Pairs that work.
    pub ok: usize,
    /// Pairs of `ok` that passed only at the second attempt.
    pub ok_at_second_attempt: usize,
    /// Pairs that do not work.
    pub failed: usize,
    /// Pairs of `failed` whose applications would fall back to TCP without notice.
    pub tcp_fallback: usize,
    /// Pairs without a common RDMA protocol, to which RDMA does not apply.
    pub not_applicable: usize,
    /// Pairs that were not tested.
    pub not_tested: usize,
}

impl Summary {
    /// Returns the summary of the pairs.
    pub fn of(pairs: &[Pair]) -> Self {
        let mut summary = Self::default();
        for pair in pairs {
            summary.add(pair.verdict.code, pair.falls_back(), pair.failed_first().is_some());
        }
        summary
    }

    /// Adds requested pairs that were not tested.
    pub fn leave_out(&mut self, pairs: u64) {
        let pairs = usize::try_from(pairs).unwrap_or(usize::MAX);
        self.pairs = self.pairs.saturating_add(pairs);
        self.not_tested = self.not_tested.saturating_add(pairs);
    }

    /// Adds one pair.
    pub fn add(&mut self, code: Code, falls_back: bool, at_second_attempt: bool) {
        self.pairs += 1;
        match code {
            Code::Ok => {
                self.ok += 1;
                self.ok_at_second_attempt += usize::from(at_second_attempt);
            }
            Code::NoTransport => self.not_applicable += 1,
            Code::NotTested => self.not_tested += 1,
            _ => {
                self.failed += 1;
                self.tcp_fallback += usize::from(falls_back);
            }
        }
    }
}
