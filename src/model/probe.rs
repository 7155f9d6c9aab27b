//! The steps of a probe between two ports, as the operator asks for them and a worker answers.
//!
//! A connection is named by a number that the operator chooses; both ends get the same one. The
//! steps in order: open both ends, connect both, let one serve while the other probes, stop the
//! server, close both.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::GidValue;

/// One thing a worker is asked to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Step {
    /// Which connection it is about.
    pub connection: u32,
    /// What to do with it.
    pub act: Act,
}

/// What a [`Step`] does.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Make the local end: queue pair, buffer, TCP echo.
    Open(Opening),
    /// Bind the local end to the remote one.
    Connect(Connecting),
    /// Measure TCP against the remote echo.
    Tcp(TcpProbing),
    /// Answer messages until told to stop.
    Serve,
    /// Send messages and check the answers.
    Probe(Probing),
    /// End [`Act::Serve`]; its answer then comes.
    Stop,
    /// Destroy the local end.
    Close,
}

/// How the two ends find each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Queue pair numbers relayed by the operator.
    Relay,
    /// `rdma_cm`: the only way on iWARP.
    Cm,
}

impl Method {
    /// The method's word, as JSON and tables show it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::Cm => "cm",
        }
    }
}

/// Which end of a connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It sends first.
    Source,
    /// It answers.
    Target,
}

/// What is needed to make an end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Opening {
    /// Device name.
    pub device: String,
    /// Port number.
    pub port: u8,
    /// Index of the chosen GID on this host.
    pub gid_index: u16,
    /// The GID that is expected at that index.
    pub gid: GidValue,
    /// The IP address to run the TCP comparison on; `None` when the port has none.
    pub tcp_address: Option<SocketAddr>,
    /// The interface of the port, where the kernel names one.
    pub netdev: Option<String>,
    /// How it will be connected.
    pub method: Method,
    /// Which end it is.
    pub role: Role,
}

/// What an open end tells the other one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Opened {
    /// Queue pair number; 0 with [`Method::Cm`].
    pub queue_pair: u32,
    /// The first packet sequence number it will send.
    pub psn: u32,
    /// LID of the port; 0 on Ethernet.
    pub lid: u16,
    /// Active MTU of the port in bytes.
    pub mtu: u32,
    /// Where the `rdma_cm` listener of the target waits.
    pub cm_address: Option<SocketAddr>,
    /// Where its TCP echo waits.
    pub tcp_address: Option<SocketAddr>,
}

/// What is needed to bind an end to its peer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Connecting {
    /// What the peer's [`Opened`] said.
    pub remote: Opened,
    /// The peer's GID.
    pub remote_gid: GidValue,
    /// Path MTU for both, in bytes.
    pub mtu: u32,
    /// The queue pair's acknowledge timeout: 4.096 us times two to the power of this.
    pub ack_timeout: u8,
    /// How long it may take, in milliseconds.
    pub deadline_ms: u32,
}

/// The TCP comparison.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TcpProbing {
    /// The peer's echo.
    pub remote: SocketAddr,
    /// Round trips to make.
    pub rounds: u32,
    /// The longest it may take, in milliseconds.
    pub slot_ms: u32,
}

/// The RDMA probe.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Probing {
    /// Number of this run, in every message and every answer.
    pub nonce: u64,
    /// Message sizes to check, in bytes, ascending.
    pub sizes: Vec<u32>,
    /// Checked exchanges for each size.
    pub checks: u32,
    /// Message size of the latency measurement, in bytes.
    pub latency_bytes: u32,
    /// Round trips to measure.
    pub rounds: u32,
    /// The longest that the measurement, or the checks of one size, may go on, in milliseconds.
    pub slot_ms: u32,
    /// The longest wait for one answer, in milliseconds.
    pub reply_ms: u32,
}

/// What came of a step that worked.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepResult {
    /// [`Act::Open`].
    Opened(Opened),
    /// [`Act::Connect`].
    Connected,
    /// [`Act::Tcp`].
    Tcp(RoundTrips),
    /// [`Act::Serve`], after [`Act::Stop`]: how many messages it answered.
    Served {
        /// Messages answered.
        messages: u64,
    },
    /// [`Act::Probe`].
    Probed(RoundTrips),
    /// [`Act::Stop`] and [`Act::Close`].
    Done,
}

/// Round trip times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTrips {
    /// How many were measured.
    pub count: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// The 99th percentile; `None` below 1,000 samples, which do not carry it.
    pub p99_ns: Option<u64>,
    /// The longest.
    pub max_ns: u64,
}

/// Why a step failed at this end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepError {
    /// How far it got.
    pub stage: Stage,
    /// What failed.
    pub cause: Cause,
    /// The whole story in one sentence.
    pub detail: String,
    /// What to do about it, where the library knows.
    pub fix: Option<String>,
    /// Message size at which it failed, in bytes.
    pub size: Option<u32>,
    /// Messages of the same kind that went well before: of the smallest size, or of a full path MTU
    /// and more.
    pub done: u32,
}

impl StepError {
    /// A failure of which nothing more is known yet.
    #[must_use]
    pub fn new(stage: Stage, cause: Cause) -> Self {
        Self { stage, cause, detail: String::new(), fix: None, size: None, done: 0 }
    }
}

/// How far a probe got.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Reaching the host's agent.
    Agent,
    /// Choosing device, GID and method.
    Choose,
    /// Opening the device, making the queue pair.
    Open,
    /// The TCP comparison.
    Tcp,
    /// Connecting the queue pairs.
    Connect,
    /// The first message, of the smallest size.
    FirstMessage,
    /// A message that fills the path MTU, or several of them.
    FullMtu,
    /// The latency measurement.
    Latency,
}

impl Stage {
    /// The stage's word, as JSON and tables show it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Choose => "choose",
            Self::Open => "open",
            Self::Tcp => "tcp",
            Self::Connect => "connect",
            Self::FirstMessage => "first_message",
            Self::FullMtu => "full_mtu",
            Self::Latency => "latency",
        }
    }
}

/// What failed, in a form that verdicts are made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A call failed with this error name.
    Errno(String),
    /// The device or driver does not offer what was asked.
    Unsupported,
    /// A work request ended with this status (`IBV_WC_RETRY_EXC_ERR`).
    Completion(String),
    /// A work request did not end at all.
    NoCompletion,
    /// Everything was sent, and no answer came.
    NoReply,
    /// The answer carries other bytes than it should.
    WrongBytes,
    /// The peer refused the connection.
    Refused,
    /// A library is missing.
    Library,
    /// The other side did not come by the deadline.
    Timeout,
    /// The worker did not come back from a step, though it lives: a call hangs in the kernel.
    Stuck,
    /// The worker was told something out of order.
    Order,
}
