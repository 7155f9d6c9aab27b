//! Writes to stdout and stderr, and checks if they are terminals. No other module does.
//!
//! This module does not interpret the text.

pub mod screen;

use std::env;
use std::io::{self, IsTerminal, Write};
use std::os::fd::BorrowedFd;

use crate::sys::stdout;

/// Rule for colored output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// Colored on a terminal whose `TERM` is not `dumb`, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always colored.
    Always,
    /// Never colored.
    Never,
}

/// Error of writing to stdout.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The reader closed the pipe; the program exits without a message.
    #[error("stdout is closed")]
    Closed,
    /// Any other error, for example a full disk.
    #[error("cannot write to stdout: {0}")]
    Failed(io::Error),
}

/// Style of a text, by its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Failure.
    Bad,
    /// Fix.
    Fix,
}

/// Stdout and stderr of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Term {
    color: Color,
}

impl Term {
    /// Returns both streams with a color rule.
    pub fn new(color: Color) -> Self {
        Self { color }
    }

    /// Writes a part of the result to stdout.
    ///
    /// # Errors
    /// The reader closed the pipe, or the stream accepts no more bytes.
    #[expect(clippy::disallowed_methods, reason = "the one place that writes to stdout")]
    pub fn write_stdout(&self, bytes: impl AsRef<[u8]>) -> Result<(), OutputError> {
        if stdout::was_closed() {
            // Stdout was replaced by `/dev/null` at startup, which accepts everything.
            return Err(OutputError::Failed(rustix::io::Errno::BADF.into()));
        }
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(bytes.as_ref()).and_then(|()| stdout.flush());
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => OutputError::Closed,
            _ => OutputError::Failed(error),
        })
    }

    /// Writes a message to stderr. Errors are ignored.
    #[expect(clippy::disallowed_methods, reason = "the one place that writes to stderr")]
    pub fn write_stderr(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    }

    /// True if stdout is a terminal.
    #[expect(clippy::disallowed_methods, reason = "the one place that asks what stdout is")]
    pub fn is_stdout_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Returns the number of columns of the terminal on stdout; `None` if unknown or no terminal.
    pub fn stdout_width(&self) -> Option<usize> {
        width(rustix::stdio::stdout())
    }

    /// True if stderr is a terminal.
    #[expect(clippy::disallowed_methods, reason = "the one place that asks what stderr is")]
    pub fn is_stderr_terminal(&self) -> bool {
        io::stderr().is_terminal()
    }

    /// Returns the number of columns of the terminal on stderr; `None` if unknown or no terminal.
    pub fn stderr_width(&self) -> Option<usize> {
        width(rustix::stdio::stderr())
    }

    /// True if a progress line can be shown: stderr is a terminal that can erase a line.
    pub fn shows_progress(&self) -> bool {
        self.is_stderr_terminal() && !is_dumb()
    }

    /// True if text on stdout is colored.
    pub fn colors_stdout(&self) -> bool {
        self.colors(self.is_stdout_terminal())
    }

    /// Returns a text in a style, for stderr.
    pub fn style_stderr(&self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Bad => "1;31",
            Style::Fix => "32",
        };
        let is_colored = self.colors(self.is_stderr_terminal());
        if is_colored { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn colors(self, is_terminal: bool) -> bool {
        let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && !set("NO_COLOR") && !is_dumb(),
        }
    }
}

fn width(stream: BorrowedFd<'_>) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    // A serial line reports 0 columns.
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|term| term == "dumb")
}
