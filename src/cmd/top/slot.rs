//! Slot for the newest scene, between the source of samples and the main loop.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use super::input::Input;
use crate::tui::Scene;

/// Newest scene that was not taken yet. Neither the writer nor the reader waits.
#[derive(Clone)]
pub(super) struct Slot {
    newest: Arc<Mutex<Option<Scene>>>,
    inputs: Sender<Input>,
}

impl Slot {
    pub(super) fn new(inputs: Sender<Input>) -> Self {
        Self { newest: Arc::default(), inputs }
    }

    /// Replaces the scene in the slot; sends [`Input::Fresh`] if the slot was empty.
    pub(super) fn put(&self, scene: Scene) {
        let missed = self.newest.lock().unwrap_or_else(PoisonError::into_inner).replace(scene);
        if missed.is_none() {
            // At the end of the run, the receiver is gone.
            let _ = self.inputs.send(Input::Fresh);
        }
    }

    /// Takes the newest scene.
    pub(super) fn take(&self) -> Option<Scene> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
