//! Backend of ratatui: writes each frame to the screen in one piece, and requests nothing from
//! the terminal.

use std::cell::RefCell;
use std::env;
use std::io::{self, Write};
use std::rc::Rc;

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

use crate::term::screen::{MAX, Screen};

/// Synchronized update (mode 2026): the terminal shows the frame when it is complete.
const FRAME_BEGINS: &[u8] = b"\x1b[?2026h";
const FRAME_ENDS: &[u8] = b"\x1b[?2026l";

/// Sends no query to the terminal, because the reply would arrive among the keys.
pub(super) struct FrameBackend {
    pub(super) screen: Screen,
    pub(super) size: Size,
    frame: Frame,
    inner: CrosstermBackend<Frame>,
}

#[derive(Clone, Default)]
struct Frame(Rc<RefCell<Vec<u8>>>);

impl FrameBackend {
    pub(super) fn new(screen: Screen) -> Self {
        let frame = Frame::default();
        let inner = CrosstermBackend::new(frame.clone());
        let mut frame_backend = Self { screen, size: Size::default(), frame, inner };
        frame_backend.measure();
        frame_backend
    }

    pub(super) fn measure(&mut self) -> Size {
        let (width, height) = self.screen.size();
        // A serial line reports 0; the environment or 80 x 24 is used instead.
        let other = |variable, usual| size_from_environment(variable).unwrap_or(usual);
        let width = if width == 0 { other("COLUMNS", 80) } else { width };
        let height = if height == 0 { other("LINES", 24) } else { height };
        self.size = Size { width, height };
        self.size
    }
}

fn size_from_environment(variable: &str) -> Option<u16> {
    let count: u16 = env::var(variable).ok()?.parse().ok()?;
    Some(count.min(MAX)).filter(|count| *count > 0)
}

impl Write for Frame {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Backend for FrameBackend {
    type Error = io::Error;

    fn draw<'cell, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'cell Cell)>,
    {
        self.inner.draw(content)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.inner.clear_region(region)
    }

    fn size(&self) -> io::Result<Size> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size, pixels: Size::default() })
    }

    fn flush(&mut self) -> io::Result<()> {
        let bytes = self.frame.0.take();
        if bytes.is_empty() {
            return Ok(());
        }
        self.screen.write(&[FRAME_BEGINS, &bytes, FRAME_ENDS].concat())
    }
}
