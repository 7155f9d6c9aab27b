use std::sync::Arc;

use super::Prepared;
use super::scene::Scene;

/// Scenes that follow one another, made by whoever gathers, so that no key waits for it.
#[derive(Debug, Default)]
pub struct Scenes {
    /// The last one, and those before that may still be shown. The last one who has a scene takes it apart,
    /// which for a thousand hosts takes longer than to draw it: that is to be done here, too.
    given: Vec<Scene>,
}

impl Scenes {
    /// What follows the scene before: with trends, and with what changed.
    pub fn next(&mut self, prepared: Prepared) -> Scene {
        let scene = Scene::next(self.given.last().cloned(), prepared);
        self.given.push(scene.clone());
        scene
    }

    /// Lets go of what nobody shows any more.
    pub fn release(&mut self) {
        let last = self.given.pop();
        // What is made for a scene alone has no other owners than those of the scene.
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
