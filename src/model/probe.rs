//! The steps of a probe between two ports, as the operator asks for them and a worker answers.
//!
//! A connection is named by a number that the operator chooses; both ends get the same one. The
//! steps in order: open both ends, let their datagrams meet, connect both, let one serve while the
//! other probes, stop the server, close both.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::{Fix, GidValue};

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
    /// Send datagrams to the remote end and answer its own, both ends at once.
    Meet(Meeting),
    /// Bind the local end to the remote one.
    Connect(Connecting),
    /// Measure TCP against the remote echo.
    Tcp(TcpProbing),
    /// Measure how much TCP takes to the remote end, which reads it.
    TcpStream(TcpStreaming),
    /// Answer messages until told to stop.
    Serve,
    /// Send messages and check the answers.
    Probe(Probing),
    /// Write as much as goes through into the memory of the remote end, which serves.
    Stream(Streaming),
    /// Open the port for management datagrams (MADs) of `ibping`; takes the place of [`Act::Open`].
    OpenMad(MadOpening),
    /// Reply to MADs of `ibping` until told to stop.
    ServeMad(MadRoute),
    /// Send MADs of `ibping` to the remote end, which serves.
    PingMad(MadPinging),
    /// End [`Act::Serve`], [`Act::ServeMad`] or [`Act::Meet`]; its answer then comes.
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
    /// No connection at all, only datagrams: EFA.
    Datagrams,
}

impl Method {
    /// The method's word, as JSON and tables show it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::Cm => "cm",
            Self::Datagrams => "datagrams",
        }
    }
}

/// What a connection's queue pair is, and what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Messages over a reliable connection.
    Messages,
    /// Messages over an unreliable connection.
    UnreliableMessages,
    /// Bandwidth over a reliable connection.
    Stream,
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
    /// Index of the partition key on this host.
    pub pkey_index: u16,
    /// Service level of the packets; the priority of their VLAN tags on `RoCE`.
    pub service_level: u8,
    /// Traffic class of the packets: the upper six bits are the DSCP on `RoCE` version 2.
    pub traffic_class: u8,
    /// The IP address to run the TCP comparison on; `None` when the port has none.
    pub tcp_address: Option<SocketAddr>,
    /// The interface of the port, where the kernel names one.
    pub netdev: Option<String>,
    /// Whether it is soft-RoCE, whose packets the host's own firewall sees.
    #[serde(default)]
    pub soft_roce: bool,
    /// How it will be connected.
    pub method: Method,
    /// What it is for.
    pub purpose: Purpose,
    /// The key of the run's datagrams; `None` when none are to be sent. Its high bit is clear: with
    /// it only privileged processes may choose a key.
    pub qkey: Option<u32>,
    /// Two random numbers of the pair, by which both ends of a connection know each other. The
    /// listening end of a TCP connection sends the first number, the connecting end replies with
    /// the second. With [`Method::Cm`], each end sends its number as private data. `None` if there
    /// are no random numbers.
    #[serde(default)]
    pub proof: Option<[u64; 2]>,
    /// Whether the target is to read TCP streams, too.
    pub tcp_stream: bool,
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
    /// Where the reader of its TCP streams waits.
    pub tcp_stream_address: Option<SocketAddr>,
    /// Its datagram queue pair, or why it has none; `None` when none was asked for.
    pub datagrams: Option<Result<u32, StepError>>,
}

/// The exchange of datagrams.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Meeting {
    /// Number of this run, in every datagram.
    pub nonce: u64,
    /// The connection's number, in every datagram, too.
    pub connection: u32,
    /// The peer's datagram queue pair.
    pub queue_pair: u32,
    /// The peer's LID; 0 on Ethernet.
    pub lid: u16,
    /// The peer's GID.
    pub gid: GidValue,
    /// Round trips to measure once there was an answer; the other end only answers.
    pub rounds: u32,
    /// The longest that the measurement may go on, in milliseconds.
    pub slot_ms: u32,
    /// How long an answer is waited for after the first datagram, in milliseconds.
    pub reply_ms: u32,
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
    /// How often a packet is sent again before the adapter gives up, and as often when the peer is
    /// not ready; 7 is for ever.
    pub retries: u8,
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

/// The TCP bandwidth.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TcpStreaming {
    /// The peer's reader.
    pub remote: SocketAddr,
    /// How long to write, in milliseconds.
    pub slot_ms: u32,
}

/// The RDMA bandwidth.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Streaming {
    /// Number of this run, in the bytes that the target checks at the end.
    pub nonce: u64,
    /// How long to write, in milliseconds.
    pub slot_ms: u32,
    /// The longest wait for an answer of the target, in milliseconds.
    pub reply_ms: u32,
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
    /// Round trips to measure; 0 for none.
    pub rounds: u32,
    /// The longest that the measurement, or the checks of one size, may go on, in milliseconds.
    pub slot_ms: u32,
    /// The longest wait for one answer, in milliseconds.
    pub reply_ms: u32,
    /// How much longer the end of a request without an answer is waited for, in milliseconds.
    pub status_ms: u32,
}

/// Port of one end, for management datagrams (MADs).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadOpening {
    /// Name of its device file: `umad0`.
    pub umad: String,
    /// Which end it is.
    pub role: Role,
}

/// Addresses of MADs, as one end has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadRoute {
    /// LID of the peer; 0 on Ethernet.
    pub lid: u16,
    /// GIDs of both ends; `None` within an InfiniBand subnet, where LIDs suffice.
    pub gids: Option<MadGids>,
    /// Index of the partition key on this host.
    pub pkey_index: u16,
    /// Service level of the requests.
    pub service_level: u8,
    /// Traffic class of the requests.
    pub traffic_class: u8,
}

/// GIDs of both ends of a [`MadRoute`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadGids {
    /// Index of the GID of this end.
    pub index: u8,
    /// GID of this end.
    pub own: GidValue,
    /// GID of the peer.
    pub peer: GidValue,
    /// Network interface of this end.
    pub netdev: Option<String>,
    /// True on soft-RoCE, whose packets the firewall of the host sees.
    pub soft_roce: bool,
}

/// Requests by MADs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadPinging {
    /// Addresses of the requests.
    pub route: MadRoute,
    /// Requests to send.
    pub rounds: u32,
    /// Time from one request to the next, in milliseconds; 0 to send each after the reply to the one
    /// before.
    pub interval_ms: u32,
    /// Time limit of all requests, in milliseconds. The last reply is waited for beyond the limit.
    pub slot_ms: u32,
    /// Longest wait for one reply, in milliseconds.
    pub reply_ms: u32,
}

/// Replies to [`MadPinging`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MadPinged {
    /// Requests that were sent.
    pub sent: u32,
    /// Requests that were answered.
    pub answered: u32,
    /// Name in the first reply. The peer chooses the name.
    pub host: Option<String>,
    /// Status of the last reply that refused a request.
    pub refused: Option<String>,
    /// Round trips of the answered requests.
    pub trips: Option<RoundTrips>,
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
    /// [`Act::Serve`] and [`Act::ServeMad`], after [`Act::Stop`]: how many messages it answered.
    Served {
        /// Messages answered.
        messages: u64,
    },
    /// [`Act::Probe`]; `None` when only the sizes were to be checked.
    Probed(Option<RoundTrips>),
    /// [`Act::Meet`].
    Met(Met),
    /// [`Act::Stream`] and [`Act::TcpStream`].
    Streamed(Throughput),
    /// [`Act::OpenMad`].
    MadOpened,
    /// [`Act::PingMad`].
    MadPinged(MadPinged),
    /// [`Act::Close`] of a connection: what its port counted meanwhile.
    Closed(Traffic),
    /// [`Act::Stop`], and [`Act::Close`] of what was not open or had no connection.
    Done,
}

/// Packets of RDMA that a port counted in some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Traffic {
    /// Packets that the port sent; `None` where the packets of other programs cannot be excluded.
    pub sent: Option<u64>,
    /// Packets that the port received; `None` as for `sent`.
    pub received: Option<u64>,
    /// Events that tell of lost packets: retransmissions, timeouts, packets out of sequence.
    pub retransmissions: u64,
}

/// What one end saw of the exchange of datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Met {
    /// Datagrams it sent of its own accord.
    pub sent: u32,
    /// How many of these were answered.
    pub answered: u32,
    /// Datagrams that the peer sent of its own accord, and that came.
    pub heard: u32,
    /// Round trips of those that were answered.
    pub trips: Option<RoundTrips>,
}

/// How much went through, in payload that the other side has.
///
/// The time is cut into parts of equal length, of which the first is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Throughput {
    /// Bytes of all parts.
    pub bytes: u64,
    /// Median of the parts, in bits per second.
    pub median_bps: u64,
    /// The slowest part.
    pub min_bps: u64,
    /// Standard deviation of the parts.
    pub stddev_bps: u64,
}

/// Round trip times in nanoseconds.
///
/// The median is told of any number of samples; of the higher percentiles only those beyond which
/// there are ten samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RoundTrips {
    /// How many were measured.
    pub count: u64,
    /// How many were made before, and by rule not measured.
    pub warm_up: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// The 90th percentile; `None` below 100 samples.
    pub p90_ns: Option<u64>,
    /// The 99th percentile; `None` below 1,000 samples.
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile; `None` below 10,000 samples.
    pub p99_9_ns: Option<u64>,
    /// The longest.
    pub max_ns: u64,
    /// The mean.
    pub mean_ns: u64,
    /// The standard deviation of the samples.
    pub stddev_ns: u64,
}

/// Why a step failed at this end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepError {
    /// How far it got.
    pub stage: Stage,
    /// What failed.
    pub cause: Cause,
    /// The whole story in one sentence.
    #[serde(deserialize_with = "super::words::read")]
    pub detail: String,
    /// What to do about it, where the library knows.
    #[serde(default, deserialize_with = "super::fix::read")]
    pub fix: Option<Fix>,
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
    /// The bandwidth measurement.
    Bandwidth,
    /// The exchange of management datagrams (MADs).
    Mad,
}

impl Stage {
    /// Returns the stage in plain words, after the count of pairs.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Agent => "while starting the agent",
            Self::Choose => "while choosing ports and GIDs",
            Self::Open => "while opening the port",
            Self::Tcp => "while testing TCP",
            Self::Connect => "while connecting",
            Self::FirstMessage => "while sending the first message",
            Self::FullMtu => "while sending messages of one path MTU",
            Self::Latency => "while measuring round trips",
            Self::Bandwidth => "while measuring throughput",
            Self::Mad => "while sending MADs",
        }
    }

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
            Self::Bandwidth => "bandwidth",
            Self::Mad => "mad",
        }
    }
}

/// What failed, in a form that verdicts are made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A call failed with this error name.
    Errno(String),
    /// A call that pins memory failed with this error name, for which the limit of locked memory can
    /// be the cause.
    MemoryLimit(String),
    /// The device was removed, or removed and added again.
    DeviceGone,
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
    /// The port has no path MTU, or a smaller one than is to be used.
    Mtu,
    /// The host's own firewall drops what is to be sent.
    Filtered,
    /// The kernel knows no route to the peer's address from the port's interface.
    NoRoute,
    /// The peer refused the connection.
    Refused,
    /// The port has no device file for management datagrams (MADs).
    NoUmad,
    /// A library is missing.
    Library,
    /// The other side did not come by the deadline.
    Timeout,
    /// The worker did not come back from a step, though it lives: a call hangs in the kernel.
    Stuck,
    /// The worker was told something out of order.
    Order,
}

impl Cause {
    /// The name of the errno or the completion status, where it is one.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        match self {
            Self::Errno(name) | Self::MemoryLimit(name) | Self::Completion(name) => {
                Some(name.clone())
            }
            _ => None,
        }
    }
}
