//! Memory budget for the replies of all hosts in this process.
//!
//! A share is taken before a reply is parsed. A host whose reply does not fit fails with a
//! reason, and the other hosts keep their shares. Agents and shells use it.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::model::{HostFailure, Reason};

/// Limit of the memory of all replies together, in bytes. The report of a host with eight cards
/// takes about 90 KiB: 10,000 of them take 0.9 GiB. A recording (`--save`) of 1,175 answers takes
/// about 500 KiB: 8,000 of them fit.
const TOTAL: usize = 4 << 30;

/// Bytes that no share holds.
static LEFT: AtomicUsize = AtomicUsize::new(TOTAL);

/// Memory of one reply. It is returned on drop, unless it is [kept](Self::keep).
#[derive(Debug)]
pub(super) struct MemoryShare {
    left: &'static AtomicUsize,
    bytes: usize,
}

impl Default for MemoryShare {
    fn default() -> Self {
        Self { left: &LEFT, bytes: 0 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reports of all hosts would take more than {} MiB of memory", TOTAL >> 20)]
pub(super) struct OverBudget;

const FEWER: &str =
    "query fewer hosts in one run, or fewer columns with -o; the largest report may be wrong";

impl From<OverBudget> for HostFailure {
    fn from(error: OverBudget) -> Self {
        Self::new(Reason::TooBig, error.to_string()).fix(FEWER)
    }
}

impl MemoryShare {
    /// Changes the share to `bytes`. An exhausted budget leaves it unchanged.
    pub(super) fn resize(&mut self, bytes: usize) -> Result<(), OverBudget> {
        if let Some(more) = bytes.checked_sub(self.bytes) {
            let take = |left: usize| left.checked_sub(more);
            let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
            taken.map_err(|_left| OverBudget)?;
        } else {
            self.left.fetch_add(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Keeps the memory until the process ends, for a reply that outlives its host.
    pub(super) fn keep(&mut self) {
        self.bytes = 0;
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.left.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(bytes: usize) -> &'static AtomicUsize {
        Box::leak(Box::new(AtomicUsize::new(bytes)))
    }

    fn share(left: &'static AtomicUsize) -> MemoryShare {
        MemoryShare { left, bytes: 0 }
    }

    #[test]
    fn answers_share_the_memory_and_give_it_back() {
        let budget = budget(100);
        let (mut first, mut second) = (share(budget), share(budget));
        first.resize(70).unwrap();
        assert_eq!(second.resize(31), Err(OverBudget));
        second.resize(30).unwrap();
        first.resize(10).unwrap();
        assert_eq!(budget.load(Ordering::Relaxed), 60);
        assert_eq!(first.resize(71), Err(OverBudget), "it still has its 10");
        drop((first, second));
        assert_eq!(budget.load(Ordering::Relaxed), 100);
        assert_eq!(share(budget).resize(usize::MAX), Err(OverBudget));
    }

    #[test]
    fn kept_share_is_not_returned_to_the_budget() {
        let budget = budget(100);
        let mut kept = share(budget);
        kept.resize(40).unwrap();
        kept.keep();
        drop(kept);
        assert_eq!(budget.load(Ordering::Relaxed), 60);
    }
}
