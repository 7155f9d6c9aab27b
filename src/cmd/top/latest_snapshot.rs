//! Passes the newest snapshot from the source of samples to the main loop.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use parking_lot::Mutex;

use super::input::Input;
use crate::tui::Snapshot;

/// Newest snapshot that was not taken yet. Neither the writer nor the reader waits.
#[derive(Clone)]
pub(super) struct LatestSnapshot {
    newest: Arc<Mutex<Option<Snapshot>>>,
    inputs: Sender<Input>,
}

impl LatestSnapshot {
    pub(super) fn new(inputs: Sender<Input>) -> Self {
        Self { newest: Arc::default(), inputs }
    }

    /// Replaces the snapshot; sends [`Input::Fresh`] if the main loop took the previous one.
    pub(super) fn put(&self, snapshot: Snapshot) {
        let missed = self.newest.lock().replace(snapshot);
        if missed.is_none() {
            // At the end of the run, the receiver is gone.
            let _ = self.inputs.send(Input::Fresh);
        }
    }

    pub(super) fn take(&self) -> Option<Snapshot> {
        self.newest.lock().take()
    }
}
