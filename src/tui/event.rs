use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};

use super::{Scene, View};
use crate::model::ping::PingReport;

/// What happens to the screen.
#[derive(Debug, Clone)]
pub enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The mouse did something.
    Mouse(MouseEvent),
    /// The terminal has another size: columns and rows.
    Resize(u16, u16),
    /// There is a newer picture, of which everything was made.
    Scene(Scene),
    /// Time went by: ages grow, and marks fade.
    Tick,
    /// What became of an effect.
    Told(Notice),
    /// A ping has made a matrix.
    Matrix(Arc<PingReport>),
    /// A matrix was read from a file.
    OpenedMatrix {
        /// The matrix.
        report: Arc<PingReport>,
        /// The name of the file.
        name: String,
        /// When it was written, in nanoseconds since 1970 UTC; `None` where nobody knows.
        written_ns: Option<u64>,
    },
    /// The ping that was asked for has come to its end, with a matrix or without.
    PingEnded,
    /// Pictures are recorded no more; that they are is taken for granted when [`Effect::Record`] is given.
    RecordingEnded,
    /// A view is wanted, as if its digit was pressed.
    Show(View),
    /// A condition for the rows of the view, as if it was typed.
    Condition(String),
}

/// A sentence for the last line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What there is to say.
    pub text: String,
    /// Whether it tells of a failure.
    pub is_bad: bool,
}

/// What is to be done outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Leave; with the last frame on the normal screen, or without.
    Quit {
        /// Whether the last frame stays.
        keep_frame: bool,
    },
    /// Say goodbye to the agents, stop, and come back when the shell says so.
    Suspend,
    /// Put this into the clipboard of the terminal.
    Copy(String),
    /// Write this text into a new file whose name begins so.
    Save {
        /// `rdmactl-ports`
        stem: String,
        /// `txt`, `json`
        extension: &'static str,
        /// What to write.
        text: String,
    },
    /// Write this matrix into a new file.
    SaveMatrix(Arc<PingReport>),
    /// Record every picture from this one on, or stop it.
    Record(bool),
    /// Show the picture that many before (negative) or after the one that is shown, and stay there; beyond
    /// either end, the one there.
    Step(i32),
    /// Have a recording stand still, or go on.
    PlayOrPause,
    /// Run a ping matrix over these hosts.
    Ping(Vec<String>),
    /// End it.
    CancelPing,
    /// Read a saved matrix.
    OpenMatrix(PathBuf),
    /// Follow the mouse, or leave it to the terminal.
    FollowMouse(bool),
}
