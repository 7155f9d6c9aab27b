//! Owner of the screen: decides when to draw the state, and draws it.

use std::io;
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::buffer::Buffer;
use ratatui::layout::Size;

use super::frame_backend::FrameBackend;
use crate::term::screen::{Screen, ScreenError};
use crate::tui::{State, draw};

/// Minimum time between two frames after input; 16 ms feels immediate.
const AFTER_INPUT: Duration = Duration::from_millis(16);

/// Minimum time between two frames if only the data changed.
const AFTER_NEWS: Duration = Duration::from_millis(100);

pub(super) struct Display {
    terminal: Terminal<FrameBackend>,
    drawn: Option<Instant>,
    /// Time of the next frame; `None` without changes.
    pub(super) due: Option<Instant>,
}

impl Display {
    /// Enters full-screen mode; the first frame is due at once.
    pub(super) fn enter(now: Instant) -> Result<Self, ScreenError> {
        let terminal = Terminal::new(FrameBackend::new(Screen::enter()?))?;
        Ok(Self { terminal, drawn: None, due: Some(now) })
    }

    pub(super) fn size(&self) -> Size {
        self.terminal.backend().size
    }

    pub(super) fn screen(&self) -> &Screen {
        &self.terminal.backend().screen
    }

    pub(super) fn measure(&mut self) -> Size {
        self.terminal.backend_mut().measure()
    }

    /// Enters full-screen mode again, and redraws everything.
    pub(super) fn reclaim(&mut self) -> Result<(), ScreenError> {
        self.screen().reclaim()?;
        Ok(self.terminal.clear()?)
    }

    /// Requests a frame after a change; after input, it is due sooner.
    pub(super) fn touch(&mut self, at: Instant, is_input: bool) {
        let gap = if is_input { AFTER_INPUT } else { AFTER_NEWS };
        let due = self.drawn.map_or(at, |drawn| at.max(drawn + gap));
        self.due = Some(self.due.map_or(due, |other| other.min(due)));
    }

    pub(super) fn draw_if_due(&mut self, state: &State, now: Instant) -> io::Result<()> {
        if self.due.is_some_and(|due| due <= now) {
            (self.due, self.drawn) = (None, Some(now));
            self.terminal.draw(|frame| draw(state, frame))?;
        }
        Ok(())
    }

    pub(super) fn frame(&mut self, state: &State) -> io::Result<Buffer> {
        Ok(self.terminal.draw(|frame| draw(state, frame))?.buffer.clone())
    }
}
