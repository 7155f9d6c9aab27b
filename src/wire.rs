//! Protocol between the operator and an agent: one greeting line, then frames.
//!
//! This module has the framing, the limits and the messages as plain types. It does not act on a
//! message. `fleet` is the operator's end, `agent` the other end.

mod delta;
mod frame;
mod greeting;
pub mod limits;
mod lines;
mod message;

pub use delta::{DeltaMismatch, TextDelta};
pub use frame::{FrameReader, FrameWriter, WireError};
pub use greeting::{Greeting, GreetingError, GreetingReader, Started};
pub use lines::{
    LINE_LIMIT, Line, LineDecoder, LineEncoder, LineError, LineReader, LineSplitter, LineWriter,
    Recipient,
};
pub use message::{
    AGENT_LEASE, EXPIRED_STATUS, FromAgent, FromWorker, Loss, PROTOCOL, Process, ToAgent, ToWorker,
    WORKER_LEASE, WorkerReply,
};

/// Size limit of a frame for either side, in bytes.
pub const FRAME_LIMIT: usize = 1 << 20;

/// Size limit of a host's report or recording, in bytes of JSON. An agent omits data beyond it.
pub const REPORT_LIMIT: usize = 16 << 20;

/// Size limit of a report that both ends keep as the base of a delta, in bytes of JSON.
pub const BASE_LIMIT: usize = 1 << 20;

/// Prefix of the directory name of an uploaded agent. The nonce follows.
pub const UPLOAD_PREFIX: &str = ".rdmactl-";
