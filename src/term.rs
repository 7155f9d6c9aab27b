//! The terminal and the pipes: the only place that writes to stdout and stderr or asks what they
//! are.
//!
//! It knows nothing of what is written.

pub mod screen;

use std::env;
use std::io::{self, IsTerminal, Write};

use crate::sys::stdout;

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// On a terminal that is not dumb, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Why stdout could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The reader has gone: the program ends without a word.
    #[error("stdout is closed")]
    Closed,
    /// Anything else, as a full disk.
    #[error("cannot write to stdout: {0}")]
    Failed(io::Error),
}

/// A style by its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Something failed.
    Bad,
    /// A remedy.
    Fix,
}

/// stdout and stderr of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Term {
    color: Color,
}

impl Term {
    /// Both streams, coloured by this rule.
    #[must_use]
    pub fn new(color: Color) -> Self {
        Self { color }
    }

    /// Writes a part of the answer.
    ///
    /// # Errors
    /// The reader has gone, or the stream cannot take more.
    #[expect(clippy::disallowed_methods, reason = "the one place that writes to stdout")]
    pub fn answer(&self, bytes: impl AsRef<[u8]>) -> Result<(), OutputError> {
        if stdout::was_closed() {
            // What stands in its place takes everything and keeps nothing.
            return Err(OutputError::Failed(rustix::io::Errno::BADF.into()));
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes.as_ref()).and_then(|()| stdout.flush()).map_err(|error| match error
            .kind()
        {
            io::ErrorKind::BrokenPipe => OutputError::Closed,
            _ => OutputError::Failed(error),
        })
    }

    /// Says something beside the answer. That nobody listens is no failure.
    #[expect(clippy::disallowed_methods, reason = "the one place that writes to stderr")]
    pub fn talk(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    }

    /// Whether stdout is a terminal.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that asks what stdout is")]
    pub fn is_answer_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// How many columns the terminal has that stdout is; `None` for anything else.
    #[must_use]
    pub fn answer_width(&self) -> Option<usize> {
        let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
        // A serial line does not know its size.
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }

    /// Whether stderr is a terminal.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that asks what stderr is")]
    pub fn is_talk_terminal(&self) -> bool {
        io::stderr().is_terminal()
    }

    /// How many columns the terminal has that stderr is; `None` for anything else.
    #[must_use]
    pub fn talk_width(&self) -> Option<usize> {
        let size = rustix::termios::tcgetwinsize(rustix::stdio::stderr()).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }

    /// Whether somebody sees how far a run is: on a terminal that can take a line back.
    #[must_use]
    pub fn shows_progress(&self) -> bool {
        self.is_talk_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Whether the answer is coloured.
    #[must_use]
    pub fn colors_answer(&self) -> bool {
        self.colors(self.is_answer_terminal())
    }

    /// Whether what is said beside it is coloured.
    #[must_use]
    pub fn colors_talk(&self) -> bool {
        self.colors(self.is_talk_terminal())
    }

    /// The text in the style, for stderr.
    #[must_use]
    pub fn style_talk(&self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Bad => "1;31",
            Style::Fix => "32",
        };
        if self.colors_talk() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn colors(self, is_terminal: bool) -> bool {
        let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                is_terminal
                    && !set("NO_COLOR")
                    && env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        }
    }
}
