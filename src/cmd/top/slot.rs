use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use super::input::Input;
use crate::tui::Scene;

/// The newest picture that nobody took yet: whoever makes them waits for nobody who draws them, and the
/// other way round.
#[derive(Clone)]
pub(super) struct Slot {
    newest: Arc<Mutex<Option<Scene>>>,
    inputs: Sender<Input>,
}

impl Slot {
    pub(super) fn new(inputs: Sender<Input>) -> Self {
        Self { newest: Arc::default(), inputs }
    }

    /// Puts a picture in the place of one that was not taken; says so when there was none.
    pub(super) fn put(&self, scene: Scene) {
        let missed = self.newest.lock().unwrap_or_else(PoisonError::into_inner).replace(scene);
        if missed.is_none() {
            // Nobody takes it any more at the end of the run.
            let _ = self.inputs.send(Input::Fresh);
        }
    }

    /// Takes the newest one.
    pub(super) fn take(&self) -> Option<Scene> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
