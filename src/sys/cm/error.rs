//! What can go wrong while connecting, by step.

use thiserror::Error;

use super::event::{Event, EventKind};
use crate::sys::dl::LoadError;
use crate::sys::errno::Errno;
use crate::sys::verbs::VerbsError;

/// Why a step towards a connection was not made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CmError {
    /// librdmacm cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The device refused something on the way.
    #[error(transparent)]
    Verbs(#[from] VerbsError),
    /// A call failed at once.
    #[error("cannot {step} {object}: {errno}")]
    Call {
        /// What was tried.
        step: Step,
        /// With whom, or on what.
        object: String,
        /// The library's or the kernel's answer.
        errno: Errno,
    },
    /// The kernel or the peer answered with something else than was hoped for.
    #[error("cannot {step} {object}: {event}")]
    Event {
        /// What was tried.
        step: Step,
        /// With whom, or on what.
        object: String,
        /// The answer.
        event: Event,
    },
    /// The program that listens at the address does not send the proof of the peer.
    #[error(
        "cannot connect to {object}: the listener is not the peer: it sent no number of this run"
    )]
    NotThePeer {
        /// The address.
        object: String,
    },
    /// No answer came in time.
    #[error("cannot {step} {object}: timed out")]
    TimedOut {
        /// What was tried.
        step: Step,
        /// With whom, or on what.
        object: String,
    },
}

impl CmError {
    /// Whether the peer's host is alive and refuses, as when nobody listens there.
    #[must_use]
    pub fn is_rejected(&self) -> bool {
        match self {
            Self::Event { event, .. } => event.kind == EventKind::Rejected,
            // On iWARP the refusal of the TCP connection is the answer of `rdma_connect` itself.
            Self::Call { step: Step::Connect, errno, .. } => *errno == Errno::REFUSED,
            _ => false,
        }
    }

    /// The step that was not made; `None` when it did not come to that.
    #[must_use]
    pub fn step(&self) -> Option<Step> {
        match self {
            Self::Load(_) | Self::Verbs(_) => None,
            Self::NotThePeer { .. } => Some(Step::Connect),
            Self::Call { step, .. } | Self::Event { step, .. } | Self::TimedOut { step, .. } => {
                Some(*step)
            }
        }
    }
}

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Opening the connection manager.
    Start,
    /// Making an identifier.
    Create,
    /// Taking a local address.
    Bind,
    /// Listening.
    Listen,
    /// Taking a request of a peer.
    Receive,
    /// Finding the device and the neighbour.
    ResolveAddress,
    /// Finding the way; on InfiniBand the subnet manager is asked.
    ResolveRoute,
    /// Connecting.
    Connect,
    /// Accepting a request.
    Accept,
    /// Watching a connection.
    Watch,
    /// Disconnecting.
    Disconnect,
}

impl std::fmt::Display for Step {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Start => "open the RDMA connection manager",
            Self::Create => "create a connection identifier for",
            Self::Bind => "bind to",
            Self::Listen => "listen on",
            Self::Receive => "receive a connection on",
            Self::ResolveAddress => "resolve the address of",
            Self::ResolveRoute => "resolve the route to",
            Self::Connect => "connect to",
            Self::Accept => "accept",
            Self::Watch => "watch",
            Self::Disconnect => "disconnect from",
        })
    }
}

#[test]
fn an_error_tells_step_peer_and_cause() {
    use super::event::EventStatus;
    let event = Event { kind: EventKind::Rejected, status: EventStatus::Failed(Errno::REFUSED) };
    let error = CmError::Event { step: Step::Connect, object: "192.0.2.7:5000".to_owned(), event };
    assert!(error.is_rejected());
    assert_eq!(
        error.to_string(),
        "cannot connect to 192.0.2.7:5000: rejected, ECONNREFUSED (connection refused)"
    );
}
