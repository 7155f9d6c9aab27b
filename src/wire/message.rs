use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::Parts;
use crate::model::probe::{Step, StepError, StepResult};

/// The protocol of this program, and of the agents that it talks to: raised when a message is added or
/// changes its meaning.
///
/// 2: reports and probes. 3: [`ToAgent::Record`]. 4: parts as words, and told in the report.
/// 5: [`Probing::status_ms`](crate::model::probe::Probing::status_ms).
/// 6: [`Act::PingMad`](crate::model::probe::Act::PingMad).
/// 7: [`Loss::Expired`], and how a worker ended in [`Loss::Ended`].
/// 8: [`Opening::proof`](crate::model::probe::Opening::proof), the numbers that both ends of a TCP
/// or `rdma_cm` connection send first.
pub const PROTOCOL: u32 = 8;

/// How long an agent keeps a worker without a message from the operator.
pub const WORKER_LEASE: Duration = Duration::from_secs(3);

/// What the operator says to an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToAgent {
    /// Read the host's inventory and report it.
    Report {
        /// What to read besides the files.
        parts: Parts,
        /// How long reading may take: what hangs longer is left out of the report.
        limit_ms: u32,
        /// Which of this agent's answers to such questions the operator still has; 0 for none. Then only what
        /// changed since need be sent. `None` when it asks once: nothing need be kept.
        ///
        /// An agent that does not know it answers in full, which is always right.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base: Option<u64>,
    },
    /// Read the same, and answer with the raw answers instead of what they mean.
    Record {
        /// What to read besides the files.
        parts: Parts,
        /// How long reading may take.
        limit_ms: u32,
    },
    /// Start the worker that probes.
    StartWorker,
    /// Hand this to the worker.
    Worker(Box<ToWorker>),
    /// The operator is still there.
    Alive,
    /// Nothing more will be asked: clean up and end.
    Bye,
}

/// What an agent says to the operator.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromAgent {
    /// The first frame: which process is to be killed if it no longer answers.
    Hello(Process),
    /// A piece of the answer to [`ToAgent::Report`], which may be larger than a frame.
    ReportPart {
        /// A piece of the JSON of a `HostReport`.
        text: String,
        /// Whether it is the last one.
        is_last: bool,
    },
    /// A piece of the answer to [`ToAgent::Report`] where the operator has an earlier one.
    DeltaPart {
        /// The answer that it changes, as the question named it.
        base: u64,
        /// A piece of the JSON of an `Option<Change>`; `null` where nothing changed.
        text: String,
        /// Whether it is the last one.
        is_last: bool,
    },
    /// A piece of the answer to [`ToAgent::Record`].
    RecordPart {
        /// A piece of the JSON of a `Recording`.
        text: String,
        /// Whether it is the last one.
        is_last: bool,
    },
    /// What the worker answered.
    Worker(WorkerReply),
    /// The agent and its worker are still there; not sent without a worker.
    Alive,
    /// The worker is gone; no step will be answered any more.
    WorkerLost(Loss),
    /// The last frame: how many came before it.
    End {
        /// Frames before this one.
        frames: u64,
    },
}

/// A process that can be told from a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Field 22 of `/proc/PID/stat`: when it was started, in clock ticks since boot.
    pub start_ticks: u64,
}

/// How a worker was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// It ended or was killed. Both are `None` if the supervisor could not find out how.
    Ended {
        /// Exit status.
        status: Option<i32>,
        /// Number of the signal that killed it.
        signal: Option<i32>,
    },
    /// It stopped answering and was killed for it.
    Hung,
    /// The operator was silent for longer than a worker is kept without one. The supervisor killed
    /// the worker, so that no queue pair stays, and starts another one on request.
    Expired,
}

/// What a supervisor says to its worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToWorker {
    /// Number of the question, chosen by the operator.
    pub id: u64,
    /// What to do.
    pub step: Step,
}

/// What a worker says to its supervisor.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromWorker {
    /// An answer for the operator.
    Reply(Box<WorkerReply>),
    /// The worker is still there.
    Alive,
}

/// The answer to a [`ToWorker`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkerReply {
    /// Number of the question.
    pub id: u64,
    /// What came of it.
    pub result: Result<StepResult, StepError>,
}
