//! Input of the screen ([`Event`]) and the actions it requests ([`Effect`]).
//!
//! `cmd::top` sends the events and performs the effects; `update` does no I/O itself.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};

use super::{Snapshot, View};
use crate::model::ping::PingReport;

/// Input of the screen.
#[derive(Debug, Clone)]
pub enum Event {
    /// Key that was pressed.
    Key(KeyEvent),
    /// Text that was pasted.
    Paste(String),
    /// Mouse action.
    Mouse(MouseEvent),
    /// New size of the terminal: columns and rows.
    Resize(u16, u16),
    /// Newer snapshot.
    Snapshot(Snapshot),
    /// Passage of time: ages grow, and marks of changes fade.
    Tick,
    /// Result of an effect.
    Notice(Notice),
    /// Matrix of a completed ping.
    Matrix(Arc<PingReport>),
    /// Matrix that was read from a file.
    OpenedMatrix {
        /// Results of the ping.
        report: Arc<PingReport>,
        /// Name of the file, without its directory.
        name: String,
        /// Time at which the file was written, in nanoseconds since 1970 UTC; `None` if unknown.
        written_ns: Option<u64>,
    },
    /// End of the requested ping, with or without a matrix.
    PingEnded,
    /// End of a recording. Its start needs no event: the state assumes that [`Effect::Record`]
    /// succeeds.
    RecordingEnded,
    /// Request for a view, like a press of its digit.
    Show(View),
    /// Filter expression for the view, like a typed one.
    Condition(String),
}

/// Sentence for the last line of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// One sentence without a final period.
    pub text: String,
    /// True if the notice reports a failure.
    pub is_bad: bool,
}

/// Action that the caller performs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Exit.
    Quit {
        /// True if the last frame stays on the normal screen.
        keep_frame: bool,
    },
    /// End the agents, stop the process, and continue when the shell resumes it.
    Suspend,
    /// Copy a text to the clipboard of the terminal.
    Copy(String),
    /// Write a text to a new file.
    Save {
        /// First part of the file name: `rdmactl-ports`.
        stem: String,
        /// File extension: `txt`, `json`.
        extension: &'static str,
        /// Content of the file.
        text: String,
    },
    /// Write a matrix to a new file.
    SaveMatrix(Arc<PingReport>),
    /// Record every sample from this one on (true), or end the recording (false).
    Record(bool),
    /// Show an earlier (negative) or later sample of the recording, and pause there. Beyond
    /// either end, show the sample at that end.
    Step(i32),
    /// Pause the recording, or continue.
    PlayOrPause,
    /// Run a ping matrix over hosts.
    Ping(Vec<String>),
    /// Cancel the running ping.
    CancelPing,
    /// Read a saved matrix.
    OpenMatrix(PathBuf),
    /// Turn mouse reports on (true) or off (false).
    FollowMouse(bool),
}
