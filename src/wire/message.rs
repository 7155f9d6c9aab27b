//! Messages between operator, agent, supervisor and worker, as plain types.
//!
//! The module does not act on a message. `fleet` and `agent` use it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::Parts;
use crate::model::probe::{Step, StepError, StepResult};

/// Protocol version of this program and of the agents that it accepts. It is raised when a
/// message is added or changes its meaning.
///
/// - 2: reports and probes.
/// - 3: [`ToAgent::Record`].
/// - 4: parts as words, and in the report.
/// - 5: [`Probing::status_ms`](crate::model::probe::Probing::status_ms).
/// - 6: [`Act::PingMad`](crate::model::probe::Act::PingMad).
/// - 7: [`Loss::Expired`], and the ending of a worker in [`Loss::Ended`].
/// - 8: [`Opening::proof`](crate::model::probe::Opening::proof), the numbers that both ends of a
///   TCP or `rdma_cm` connection send first.
pub const PROTOCOL: u32 = 8;

/// Time that an agent keeps a worker without a message from the operator.
pub const WORKER_LEASE: Duration = Duration::from_secs(3);

/// Time that an agent runs without a message from the operator.
pub const AGENT_LEASE: Duration = Duration::from_secs(60);

/// Exit status of an agent whose lease expired: `EX_TEMPFAIL` of `sysexits.h`.
pub const EXPIRED_STATUS: i32 = 75;

/// Message from the operator to an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToAgent {
    /// Read the inventory of the host and report it.
    Report {
        /// Parts of the inventory to read besides the files.
        parts: Parts,
        /// Time limit of reading, in milliseconds. A part that takes longer is not reported.
        limit_ms: u32,
        /// Number of the last report that the operator has kept; 0 for none. The agent may then
        /// send only the changes since that report. `None` if the operator requests a single
        /// report, so that the agent need not keep it.
        /// An agent without this field sends the full report, which is always valid.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<u64>,
    },
    /// Read the same inventory, and send the raw replies of the host instead of a report.
    Record {
        /// Parts of the inventory to read besides the files.
        parts: Parts,
        /// Time limit of reading, in milliseconds.
        limit_ms: u32,
    },
    /// Start the worker, which runs the probes.
    StartWorker,
    /// Pass a step to the worker.
    Worker(Box<ToWorker>),
    /// Heartbeat of the operator.
    Alive,
    /// The operator has no more requests: clean up and end.
    Bye,
}

/// Message from an agent to the operator.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromAgent {
    /// First frame: the process to kill if the agent no longer responds.
    Hello(Process),
    /// Piece of the reply to [`ToAgent::Report`], which may be larger than a frame.
    ReportPart {
        /// Piece of the JSON of a `HostReport`.
        text: String,
        /// True for the last piece.
        is_last: bool,
    },
    /// Piece of the reply to [`ToAgent::Report`] as a delta, if the operator has kept a report.
    DeltaPart {
        /// Number of the report that the delta changes, from the request.
        base: u64,
        /// Piece of the JSON of a `Change`.
        text: String,
        /// True for the last piece.
        is_last: bool,
    },
    /// Piece of the reply to [`ToAgent::Record`].
    RecordPart {
        /// Piece of the JSON of a `Recording`.
        text: String,
        /// True for the last piece.
        is_last: bool,
    },
    /// Reply of the worker.
    Worker(WorkerReply),
    /// Heartbeat of the agent and its worker. An agent without a worker does not send it.
    Alive,
    /// The worker is lost, and its steps get no reply.
    WorkerLost(Loss),
    /// Last frame. It lets the operator check that all frames arrived.
    End {
        /// Number of frames before this one.
        frames: u64,
    },
}

/// Process, distinguished from a later one with the same process id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Start time in clock ticks since boot: field 22 of `/proc/PID/stat`.
    pub start_ticks: u64,
}

/// Cause of the loss of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The worker ended or was killed. Both fields are `None` if the cause is not known.
    Ended {
        /// Exit status.
        status: Option<i32>,
        /// Number of the signal that killed the worker.
        signal: Option<i32>,
    },
    /// The worker stopped responding, and the supervisor killed it.
    Hung,
    /// The operator sent nothing for longer than [`WORKER_LEASE`]. The supervisor killed the
    /// worker, so that no queue pair stays. It starts another worker on request.
    Expired,
}

/// Message from a supervisor to its worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToWorker {
    /// Number of the request, chosen by the operator.
    pub id: u64,
    /// Step to run.
    pub step: Step,
}

/// Message from a worker to its supervisor.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromWorker {
    /// Reply for the operator.
    Reply(Box<WorkerReply>),
    /// Heartbeat of the worker.
    Alive,
}

/// Reply to a [`ToWorker`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkerReply {
    /// Number of the request.
    pub id: u64,
    /// Result of the step, or its error.
    pub result: Result<StepResult, StepError>,
}
