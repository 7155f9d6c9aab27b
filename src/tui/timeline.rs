use std::time::Duration;

/// How time goes on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeline {
    /// As it goes: hosts are asked again and again, so often.
    Live(Duration),
    /// Not at all: a capture is one moment.
    Capture,
    /// As it went: a recording is played, held, and stepped through.
    Recording,
}

impl Timeline {
    /// Whether hosts are asked: else nothing can be done with them.
    pub(super) fn is_live(self) -> bool {
        matches!(self, Self::Live(_))
    }
}

/// Where in a recording a picture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Which of its pictures it is, from 1.
    pub position: usize,
    /// How many there are.
    pub count: usize,
    /// Whether it stays until somebody wants another one.
    pub is_paused: bool,
}
