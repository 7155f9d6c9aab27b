use std::io;
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::buffer::Buffer;
use ratatui::layout::Size;

use super::canvas::Canvas;
use crate::term::screen::{Screen, ScreenError};
use crate::tui::{State, draw};

/// From one frame to the next when somebody types or turns the wheel: an answer seems to come at once.
const AFTER_INPUT: Duration = Duration::from_millis(16);

/// The same when nothing but the picture is newer.
const AFTER_NEWS: Duration = Duration::from_millis(100);

/// The screen with what is drawn on it, and when it is drawn again.
pub(super) struct Stage {
    terminal: Terminal<Canvas>,
    drawn: Option<Instant>,
    due: Option<Instant>,
}

impl Stage {
    /// Takes the screen, to be drawn on at once.
    pub(super) fn enter(now: Instant) -> Result<Self, ScreenError> {
        let terminal = Terminal::new(Canvas::new(Screen::enter()?))?;
        Ok(Self { terminal, drawn: None, due: Some(now) })
    }

    /// The size that was measured last.
    pub(super) fn size(&self) -> Size {
        self.terminal.backend().size
    }

    pub(super) fn screen(&self) -> &Screen {
        self.terminal.backend().screen()
    }

    /// Takes the size that the terminal has now.
    pub(super) fn measure(&mut self) -> Size {
        self.terminal.backend_mut().measure()
    }

    /// Takes the screen once more, and draws everything anew.
    pub(super) fn reclaim(&mut self) -> Result<(), ScreenError> {
        self.screen().reclaim()?;
        Ok(self.terminal.clear()?)
    }

    /// Something is newer, and by whom.
    pub(super) fn touch(&mut self, at: Instant, is_input: bool) {
        let gap = if is_input { AFTER_INPUT } else { AFTER_NEWS };
        let due = self.drawn.map_or(at, |drawn| at.max(drawn + gap));
        self.due = Some(self.due.map_or(due, |other| other.min(due)));
    }

    /// When to draw next; `None` as long as nothing is newer.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Draws if it is time.
    pub(super) fn draw(&mut self, state: &State, now: Instant) -> io::Result<()> {
        if self.due.is_some_and(|due| due <= now) {
            (self.due, self.drawn) = (None, Some(now));
            self.terminal.draw(|frame| draw(state, frame))?;
        }
        Ok(())
    }

    /// What there is to see.
    pub(super) fn frame(&mut self, state: &State) -> io::Result<Buffer> {
        Ok(self.terminal.draw(|frame| draw(state, frame))?.buffer.clone())
    }
}
