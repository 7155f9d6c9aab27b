use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Code, Pair};

/// How many ordered pairs there were, and what came of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// All that were asked for.
    pub pairs: usize,
    /// Those that work.
    pub ok: usize,
    /// Those of them that went well at the second attempt only.
    pub ok_at_second_attempt: usize,
    /// Those that do not work.
    pub failed: usize,
    /// Those of them between which applications would go on over TCP, unnoticed.
    pub tcp_fallback: usize,
    /// Those between which RDMA does not apply: no protocol in common.
    pub not_applicable: usize,
    /// Those whose turn did not come.
    pub not_tested: usize,
}

impl Summary {
    /// The summary of these pairs.
    #[must_use]
    pub fn of(pairs: &[Pair]) -> Self {
        let mut summary = Self::default();
        for pair in pairs {
            summary.add(pair.verdict.code, pair.falls_back(), pair.failed_first().is_some());
        }
        summary
    }

    /// Counts so many more pairs that were asked for and whose turn did not come.
    pub fn leave_out(&mut self, pairs: u64) {
        let pairs = usize::try_from(pairs).unwrap_or(usize::MAX);
        self.pairs = self.pairs.saturating_add(pairs);
        self.not_tested = self.not_tested.saturating_add(pairs);
    }

    /// Counts one more pair.
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
