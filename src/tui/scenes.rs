//! Sequence of scenes. The gathering thread builds and drops them, so that keys are handled
//! without delay.

use std::sync::Arc;

use super::Prepared;
use super::scene::Scene;

/// Builds scenes in sequence, each with the history of the earlier ones.
#[derive(Debug, Default)]
pub struct Scenes {
    /// Last scene, and earlier scenes that the screen may still show. The last owner frees a
    /// scene. For a thousand hosts this takes longer than drawing, so this list keeps it off the
    /// drawing thread.
    given: Vec<Scene>,
}

impl Scenes {
    /// Returns the scene of the next sample, with history and changes.
    pub fn next(&mut self, prepared: Prepared) -> Scene {
        let scene = Scene::next(self.given.last().cloned(), prepared);
        self.given.push(scene.clone());
        scene
    }

    /// Drops the scenes that the screen does not show any more.
    pub fn release(&mut self) {
        let last = self.given.pop();
        // `findings` belongs to one scene, so its reference count equals the number of clones.
        self.given.retain(|scene| Arc::strong_count(&scene.findings) > 1);
        self.given.extend(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::tui::Picture;

    fn prepared() -> Prepared {
        Prepared::of(Arc::new(Picture {
            at: clock::now(),
            taken_ns: 0,
            reports: Vec::new(),
            seen: Vec::new(),
            connections: Vec::new(),
        }))
    }

    #[test]
    fn a_scene_is_kept_as_long_as_it_may_be_shown() {
        let mut scenes = Scenes::default();
        let shown = scenes.next(prepared());
        drop(scenes.next(prepared()));
        let last = scenes.next(prepared());
        scenes.release();
        assert_eq!(scenes.given.len(), 2, "the one that is shown, and the last");
        drop((shown, last));
        scenes.release();
        assert_eq!(scenes.given.len(), 1, "the next one follows the last");
    }
}
