//! What goes between the operator and an agent: one greeting line, then frames.
//!
//! Framing and limits live here, and the messages themselves as plain types. What a message
//! makes either side do is no matter of this module.

mod delta;
mod frame;
mod greeting;
pub mod limits;
mod lines;
mod message;

pub use delta::{Change, Misfit};
pub use frame::{FRAME_LIMIT, FrameReader, FrameWriter, WireError};
pub use greeting::{Greeting, GreetingError, GreetingReader, Started};
pub use lines::{
    LINE_LIMIT, Line, LineDecoder, LineEncoder, LineError, LineReader, LineSplitter, LineWriter,
    Party,
};
pub use message::{
    FromAgent, FromWorker, Loss, PROTOCOL, Process, ToAgent, ToWorker, WORKER_LEASE, WorkerReply,
};

/// The largest report or recording of one host, in bytes of JSON: an agent leaves out what is over it, and an
/// operator reads no more.
pub const REPORT_LIMIT: usize = 16 << 20;

/// The largest answer that is kept to send or take only what changes of it, in bytes of JSON.
pub const BASE_LIMIT: usize = 1 << 20;

/// What the name of a directory for an uploaded agent begins with; the nonce follows.
pub const UPLOAD_PREFIX: &str = ".rdmactl-";
