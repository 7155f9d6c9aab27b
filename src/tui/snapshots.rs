//! Sequence of snapshots. The gathering thread builds and drops them, so that keys are handled
//! without delay.

use std::sync::Arc;

use super::Prepared;
use super::snapshot::Snapshot;

/// Builds snapshots in sequence, each with the history of the earlier ones.
#[derive(Debug, Default)]
pub struct Snapshots {
    /// Last snapshot, and earlier snapshots that the screen may still show. The last owner frees a
    /// snapshot. For a thousand hosts this takes longer than drawing, so this list keeps it off the
    /// drawing thread.
    given: Vec<Snapshot>,
}

impl Snapshots {
    /// Returns the snapshot of the next sample, with history and changes.
    pub fn next(&mut self, prepared: Prepared) -> Snapshot {
        let snapshot = Snapshot::next(self.given.last().cloned(), prepared);
        self.given.push(snapshot.clone());
        snapshot
    }

    /// Drops the snapshots that the screen does not show any more.
    pub fn release(&mut self) {
        let last = self.given.pop();
        // `findings` belongs to one snapshot, so its reference count equals the number of clones.
        self.given.retain(|snapshot| Arc::strong_count(&snapshot.findings) > 1);
        self.given.extend(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::tui::Sample;

    fn prepared() -> Prepared {
        Prepared::of(Arc::new(Sample {
            at: clock::now(),
            taken_ns: 0,
            reports: Vec::new(),
            seen: Vec::new(),
            connections: Vec::new(),
        }))
    }

    #[test]
    fn a_scene_is_kept_as_long_as_it_may_be_shown() {
        let mut snapshots = Snapshots::default();
        let shown = snapshots.next(prepared());
        drop(snapshots.next(prepared()));
        let last = snapshots.next(prepared());
        snapshots.release();
        assert_eq!(snapshots.given.len(), 2, "the one that is shown, and the last");
        drop((shown, last));
        snapshots.release();
        assert_eq!(snapshots.given.len(), 1, "the next one follows the last");
    }
}
