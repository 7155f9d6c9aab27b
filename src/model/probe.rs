//! Steps of a probe between two ports: requests of the operator and results of a worker. `wire`
//! carries requests and results; `ping` sends and executes the steps.
//!
//! The operator chooses a number for each connection; both ends use this number. Order of the
//! steps: open both ends, measure TCP, exchange datagrams, connect both ends, serve on the target
//! while the source probes, stop the server, close both ends.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::{Fix, GidValue};

/// Request to a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Step {
    /// Number of the connection.
    pub connection: u32,
    /// Action.
    pub act: Act,
}

/// Action of a [`Step`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Creates the local end: queue pair, buffer, TCP echo server.
    Open(Opening),
    /// Sends datagrams to the remote end, and replies to the datagrams of the remote end. Both
    /// ends run this step at the same time.
    #[serde(rename = "meet")]
    ExchangeDatagrams(DatagramExchange),
    /// Connects the local end to the remote end.
    Connect(Connecting),
    /// Measures TCP round trips with the remote echo server.
    Tcp(TcpProbing),
    /// Measures TCP throughput to the remote end, which reads the data.
    TcpStream(TcpStreaming),
    /// Replies to messages until [`Act::Stop`].
    Serve,
    /// Sends messages and checks the replies.
    Probe(Probing),
    /// Measures RDMA throughput: writes into the memory of the remote end, which runs
    /// [`Act::Serve`].
    Stream(Streaming),
    /// Opens the port for management datagrams (MADs) of `ibping`; replaces [`Act::Open`].
    OpenMad(MadOpening),
    /// Replies to MADs of `ibping` until [`Act::Stop`].
    ServeMad(MadRoute),
    /// Sends MADs of `ibping` to the remote end, which runs [`Act::ServeMad`].
    PingMad(MadPinging),
    /// Ends [`Act::Serve`], [`Act::ServeMad`] or [`Act::ExchangeDatagrams`]. The ended step then
    /// returns its result.
    Stop,
    /// Destroys the local end.
    Close,
}

json_words! {
    /// Method by which the two ends connect.
    #[derive(Serialize, Deserialize, schemars::JsonSchema)]
    pub enum Method {
        /// The operator relays the queue pair numbers.
        Relay = "relay",
        /// `rdma_cm`, the only method on iWARP.
        Cm = "cm",
        /// No connection, only datagrams: EFA.
        Datagrams = "datagrams",
    }
    /// Returns the word of the method, as JSON and tables show it.
    pub fn word(self);
}

/// Purpose of the queue pair of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Messages over a reliable connection.
    Messages,
    /// Messages over an unreliable connection.
    UnreliableMessages,
    /// Throughput over a reliable connection.
    Stream,
}

/// Role of an end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The end that sends first.
    Source,
    /// The end that replies.
    Target,
}

/// Parameters of [`Act::Open`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Opening {
    /// Kernel name of the device.
    pub device: String,
    /// Port number.
    pub port: u8,
    /// Index of the selected GID on this host.
    pub gid_index: u16,
    /// Expected GID at that index.
    pub gid: GidValue,
    /// Index of the partition key on this host.
    pub pkey_index: u16,
    /// Service level of the packets; on `RoCE` the priority of their VLAN tags.
    pub service_level: u8,
    /// Traffic class of the packets; on `RoCE` version 2 the upper six bits are the DSCP.
    pub traffic_class: u8,
    /// IP address for the TCP comparison; `None` if the port has none.
    pub tcp_address: Option<SocketAddr>,
    /// Network interface of the port; `None` if the kernel reports none.
    pub netdev: Option<String>,
    /// True on soft-RoCE, whose packets go through the firewall of the host.
    #[serde(default)]
    pub soft_roce: bool,
    /// Method of the connection.
    pub method: Method,
    /// Purpose of the connection.
    pub purpose: Purpose,
    /// Queue key of the datagrams of the run; `None` if the connection sends no datagrams. The
    /// highest bit is 0: only privileged processes may use a key with the highest bit.
    pub qkey: Option<u32>,
    /// Two random numbers of the pair, by which both ends of a connection identify each other.
    /// The listening end of a TCP connection sends the first number; the connecting end replies
    /// with the second number. With [`Method::Cm`], each end sends its number as private data.
    /// `None` if the operator got no random numbers; then neither TCP nor `rdma_cm` connects.
    #[serde(default)]
    pub proof: Option<[u64; 2]>,
    /// True if the target also starts the reader of [`Act::TcpStream`].
    pub tcp_stream: bool,
    /// IP address of the port of the peer, to which the target sends its TCP replies. The target
    /// checks that its route to this address uses `netdev`.
    #[serde(default)]
    pub tcp_peer: Option<IpAddr>,
    /// Role of the end.
    pub role: Role,
}

/// Result of [`Act::Open`], which the operator relays to the other end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Opened {
    /// Queue pair number; 0 with [`Method::Cm`].
    pub queue_pair: u32,
    /// First packet sequence number that the end sends.
    pub psn: u32,
    /// LID of the port; 0 on Ethernet.
    pub lid: u16,
    /// Active MTU of the port in bytes.
    pub mtu: u32,
    /// Address of the `rdma_cm` listener of the target.
    pub cm_address: Option<SocketAddr>,
    /// Address of the TCP echo server of the target.
    pub tcp_address: Option<SocketAddr>,
    /// Address of the TCP stream reader of the target.
    pub tcp_stream_address: Option<SocketAddr>,
    /// Reason why TCP to the target fails: the target has no TCP server, or its replies leave
    /// through another interface. `None` if the target knows no reason.
    #[serde(default)]
    pub tcp_failure: Option<Box<StepError>>,
    /// Number of the datagram queue pair, or the reason why the end has none; `None` if no
    /// datagrams were requested.
    pub datagrams: Option<Result<u32, StepError>>,
}

/// Parameters of [`Act::ExchangeDatagrams`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DatagramExchange {
    /// Random number of the run. Every datagram carries the number.
    pub nonce: u64,
    /// Number of the connection. Every datagram carries the number.
    pub connection: u32,
    /// Datagram queue pair of the peer.
    pub queue_pair: u32,
    /// LID of the peer; 0 on Ethernet.
    pub lid: u16,
    /// GID of the peer.
    pub gid: GidValue,
    /// Round trips to measure after the first reply; 0 on the end that only replies.
    pub rounds: u32,
    /// Time limit of the measurement, in milliseconds.
    pub slot_ms: u32,
    /// Longest wait for a reply to the first datagrams, in milliseconds.
    pub reply_ms: u32,
}

/// Parameters of [`Act::Connect`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Connecting {
    /// Result of [`Act::Open`] of the peer.
    pub remote: Opened,
    /// GID of the peer.
    pub remote_gid: GidValue,
    /// Path MTU of both ends, in bytes.
    pub mtu: u32,
    /// Acknowledge timeout of the queue pair: 4.096 µs times two to the power of this value.
    pub ack_timeout: u8,
    /// Number of retransmissions before the adapter gives up: of a packet without an
    /// acknowledgment (`retry_cnt`), and of a packet to a peer that is not ready (`rnr_retry`,
    /// where 7 means no limit).
    pub retries: u8,
    /// Time limit, in milliseconds.
    pub deadline_ms: u32,
}

/// Parameters of [`Act::Tcp`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TcpProbing {
    /// Address of the echo server of the peer.
    pub remote: SocketAddr,
    /// Round trips to measure.
    pub rounds: u32,
    /// Time limit, in milliseconds.
    pub slot_ms: u32,
}

/// Parameters of [`Act::TcpStream`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TcpStreaming {
    /// Address of the stream reader of the peer.
    pub remote: SocketAddr,
    /// Duration of the transfer, in milliseconds.
    pub slot_ms: u32,
}

/// Parameters of [`Act::Stream`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Streaming {
    /// Random number of the run, which determines the bytes that the target checks at the end.
    pub nonce: u64,
    /// Duration of the transfer, in milliseconds.
    pub slot_ms: u32,
    /// Longest wait for a reply of the target, in milliseconds.
    pub reply_ms: u32,
}

/// Parameters of [`Act::Probe`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Probing {
    /// Random number of the run. Every message and every reply carries the number.
    pub nonce: u64,
    /// Message sizes to check, in bytes, in ascending order.
    pub sizes: Vec<u32>,
    /// Number of checked messages per size.
    pub checks: u32,
    /// Message size of the latency measurement, in bytes.
    pub latency_bytes: u32,
    /// Round trips to measure; 0 for none.
    pub rounds: u32,
    /// Time limit of the measurement, and of the checks of one size, in milliseconds.
    pub slot_ms: u32,
    /// Longest wait for one reply, in milliseconds.
    pub reply_ms: u32,
    /// Additional wait for the completion status of a message without a reply, in milliseconds.
    pub status_ms: u32,
}

/// Parameters of [`Act::OpenMad`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadOpening {
    /// Name of the device file of the port: `umad0`.
    pub umad: String,
    /// Role of the end.
    pub role: Role,
}

/// Addresses of management datagrams (MADs), from the view of one end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadRoute {
    /// LID of the peer; 0 on Ethernet.
    pub lid: u16,
    /// GIDs of both ends; `None` within an InfiniBand subnet, where LIDs are enough.
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
    /// True on soft-RoCE, whose packets go through the firewall of the host.
    pub soft_roce: bool,
}

/// Parameters of [`Act::PingMad`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadPinging {
    /// Addresses of the requests.
    pub route: MadRoute,
    /// Requests to send.
    pub rounds: u32,
    /// Time between two requests, in milliseconds. With 0, each request follows the reply to the
    /// previous request.
    pub interval_ms: u32,
    /// Time limit of all requests, in milliseconds. The wait for the last reply may exceed the
    /// limit.
    pub slot_ms: u32,
    /// Longest wait for one reply, in milliseconds.
    pub reply_ms: u32,
}

/// Result of [`Act::PingMad`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MadPinged {
    /// Requests that were sent.
    pub sent: u32,
    /// Requests with a reply.
    pub answered: u32,
    /// Host name in the first reply. The peer chooses this name; it proves nothing.
    pub host: Option<String>,
    /// Status of the last reply that refused a request; `None` if no reply refused a request.
    pub refused: Option<String>,
    /// Round trips of the requests with a reply; `None` without a reply.
    pub trips: Option<RoundTrips>,
}

/// Result of a successful step. The text of a variant names the step.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepResult {
    /// [`Act::Open`].
    Opened(Opened),
    /// [`Act::Connect`].
    Connected,
    /// [`Act::Tcp`].
    Tcp(RoundTrips),
    /// [`Act::Serve`] and [`Act::ServeMad`], after [`Act::Stop`].
    Served {
        /// Number of messages with a reply.
        messages: u64,
    },
    /// [`Act::Probe`]; `None` if only the sizes were checked.
    Probed(Option<RoundTrips>),
    /// [`Act::ExchangeDatagrams`].
    #[serde(rename = "met")]
    DatagramsExchanged(DatagramCounts),
    /// [`Act::Stream`] and [`Act::TcpStream`].
    Streamed(Throughput),
    /// [`Act::OpenMad`].
    MadOpened,
    /// [`Act::PingMad`].
    MadPinged(MadPinged),
    /// [`Act::Close`] after [`Act::Open`], with the packets that the port counted in between.
    /// `None` if the counters may include packets of other programs, or if the purpose was not
    /// [`Purpose::Messages`].
    Closed(Option<Traffic>),
    /// [`Act::Stop`]; [`Act::Close`] after [`Act::OpenMad`], or of an unknown connection.
    Done,
}

/// RDMA packets that a port counted during a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Traffic {
    /// Packets that the port sent; `None` if the port has no such counter.
    pub sent: Option<u64>,
    /// Packets that the port received; `None` if the port has no such counter.
    pub received: Option<u64>,
    /// Events that indicate lost packets: retransmissions, timeouts, packets out of sequence.
    pub retransmissions: u64,
    /// True if other programs have queue pairs on the device. The counters then include the
    /// packets of these programs, and the other fields are empty.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_shared: bool,
}

/// Result of [`Act::ExchangeDatagrams`], from the view of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DatagramCounts {
    /// Requests that this end sent.
    pub sent: u32,
    /// Requests of this end with a reply.
    pub answered: u32,
    /// Requests of the peer that arrived at this end.
    pub heard: u32,
    /// Round trips of the requests with a reply; `None` if this end measured none.
    pub trips: Option<RoundTrips>,
}

/// Throughput of the payload that arrived at the other end.
///
/// The transfer is divided into intervals. The first interval does not count, because both ends
/// are starting. If no data arrived after the first interval, the whole transfer is one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Throughput {
    /// Bytes of all intervals that count.
    pub bytes: u64,
    /// Median of the intervals, in bits per second.
    pub median_bps: u64,
    /// Slowest interval, in bits per second.
    pub min_bps: u64,
    /// Standard deviation of the intervals, in bits per second.
    pub stddev_bps: u64,
}

/// Round-trip times in nanoseconds.
///
/// The median exists for any number of samples. A higher percentile exists only if ten samples
/// lie above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RoundTrips {
    /// Number of measured round trips.
    pub count: u64,
    /// Number of round trips before the measurement, for warm-up.
    pub warm_up: u64,
    /// Minimum.
    pub min_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 90th percentile; `None` below 100 samples.
    pub p90_ns: Option<u64>,
    /// 99th percentile; `None` below 1,000 samples.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile; `None` below 10,000 samples.
    pub p99_9_ns: Option<u64>,
    /// Maximum.
    pub max_ns: u64,
    /// Mean.
    pub mean_ns: u64,
    /// Standard deviation.
    pub stddev_ns: u64,
}

/// Failure of a step at one end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepError {
    /// Stage of the probe at which the step failed.
    pub stage: Stage,
    /// Cause, as input of verdicts.
    pub cause: Cause,
    /// Observation and cause, in one sentence.
    #[serde(deserialize_with = "super::words::read")]
    pub detail: String,
    /// Command or setting that fixes the failure; `None` if no fix is known.
    #[serde(default, deserialize_with = "super::fix::read")]
    pub fix: Option<Fix>,
    /// Size of the message that failed, in bytes; `None` if the step failed without a message.
    pub size: Option<u32>,
    /// Number of messages that passed at the same stage before the failure.
    pub done: u32,
}

impl StepError {
    /// Returns a failure without detail, fix and message.
    pub fn new(stage: Stage, cause: Cause) -> Self {
        Self { stage, cause, detail: String::new(), fix: None, size: None, done: 0 }
    }
}

json_words! {
    /// Stage of a probe.
    #[derive(PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
    pub enum Stage {
        /// Start of the agent on the host.
        Agent = "agent",
        /// Choice of device, GID and method.
        Choose = "choose",
        /// Opening of the device, and creation of the queue pair.
        Open = "open",
        /// TCP comparison.
        Tcp = "tcp",
        /// Connection of the queue pairs.
        Connect = "connect",
        /// First message, of the smallest size.
        FirstMessage = "first_message",
        /// Messages that fill one path MTU or several.
        FullMtu = "full_mtu",
        /// Latency measurement.
        Latency = "latency",
        /// Bandwidth measurement.
        Bandwidth = "bandwidth",
        /// Exchange of management datagrams (MADs).
        Mad = "mad",
    }
    /// Returns the word of the stage, as JSON and tables show it.
    pub fn word(self);
}

impl Stage {
    /// Returns the stage as a phrase, which follows the number of failed peers in a finding.
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
}

/// Cause of a failed step, as input of verdicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A call failed with this errno name.
    Errno(String),
    /// A call that pins memory failed with this errno name, and a limit of locked memory applies.
    MemoryLimit(String),
    /// The device was removed, or removed and added again.
    DeviceGone,
    /// The device or driver does not support the request.
    Unsupported,
    /// A work request completed with this status (`IBV_WC_RETRY_EXC_ERR`).
    Completion(String),
    /// A work request did not complete.
    NoCompletion,
    /// The request was sent without an error, but no reply arrived.
    NoReply,
    /// A message or a reply arrived with other bytes than expected.
    WrongBytes,
    /// The port has no path MTU, or a smaller one than requested.
    Mtu,
    /// The firewall of the host drops outgoing packets.
    Filtered,
    /// The kernel has no route from the network interface of the port to the address of the peer.
    NoRoute,
    /// The peer refused the connection.
    Refused,
    /// The port has no device file for management datagrams (MADs).
    NoUmad,
    /// A library is missing.
    Library,
    /// The peer did not reply by the deadline, or the connection broke.
    Timeout,
    /// The worker runs, but the step does not return: a call hangs in the kernel.
    Stuck,
    /// A thread could not be started: the host allows no more processes and threads.
    ThreadLimit,
    /// The worker received a step out of order.
    Order,
}

impl Cause {
    /// Returns the name of the errno or of the completion status; `None` for any other cause.
    pub fn error(&self) -> Option<String> {
        let (Self::Errno(name) | Self::MemoryLimit(name) | Self::Completion(name)) = self else {
            return None;
        };
        Some(name.clone())
    }
}
