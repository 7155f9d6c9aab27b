//! Defines the errors of connecting, by step.

use thiserror::Error;

use super::event::{CmEvent, EventKind};
use crate::sys::dl::LoadError;
use crate::sys::errno::Errno;
use crate::sys::verbs::VerbsError;

/// Reason why a step of a connection failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CmError {
    /// librdmacm cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The device refused an operation.
    #[error(transparent)]
    Verbs(#[from] VerbsError),
    /// A call failed immediately.
    #[error("cannot {step} {object}: {errno}")]
    Call {
        /// Failed step.
        step: CmStep,
        /// Address or object of the step.
        object: String,
        /// Error of the library or the kernel.
        errno: Errno,
    },
    /// The kernel or the peer sent another event than the expected one.
    #[error("cannot {step} {object}: {event}")]
    Event {
        /// Failed step.
        step: CmStep,
        /// Address or object of the step.
        object: String,
        /// Event that arrived.
        event: CmEvent,
    },
    /// The program that listens at the address does not send the proof of the peer.
    #[error(
        "cannot connect to {object}: the listener is not the peer: it sent no number of this run"
    )]
    NotThePeer {
        /// Address.
        object: String,
    },
    /// No event arrived before the deadline.
    #[error("cannot {step} {object}: timed out")]
    TimedOut {
        /// Failed step.
        step: CmStep,
        /// Address or object of the step.
        object: String,
    },
}

impl CmError {
    /// True if the peer's host rejects the connection, for example without a listener.
    pub fn is_rejected(&self) -> bool {
        match self {
            Self::Event { event, .. } => event.kind == EventKind::Rejected,
            // On iWARP, `rdma_connect` itself returns the refusal of the TCP connection.
            Self::Call { step: CmStep::Connect, errno, .. } => *errno == Errno::REFUSED,
            _ => false,
        }
    }

    /// Returns the failed step; `None` for an error of the library or of a verbs call.
    pub fn step(&self) -> Option<CmStep> {
        match self {
            Self::Load(_) | Self::Verbs(_) => None,
            Self::NotThePeer { .. } => Some(CmStep::Connect),
            Self::Call { step, .. } | Self::Event { step, .. } | Self::TimedOut { step, .. } => {
                Some(*step)
            }
        }
    }
}

/// Declares the steps with their words in an error: "cannot STEP OBJECT".
macro_rules! steps {
    ($($name:ident = $words:literal;)*) => {
        /// Step of a connection.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum CmStep {
            $(#[doc = concat!("The step \"", $words, "\".")] $name,)*
        }

        #[cfg(test)]
        impl CmStep {
            pub(crate) const ALL: &[Self] = &[$(Self::$name),*];
        }

        impl std::fmt::Display for CmStep {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(match self { $(Self::$name => $words,)* })
            }
        }
    };
}

steps! {
    Start = "open the RDMA connection manager";
    Create = "create a connection identifier for";
    Bind = "bind to";
    Listen = "listen on";
    Receive = "receive a connection on";
    ResolveAddress = "resolve the address of";
    // On InfiniBand the kernel queries the subnet manager.
    ResolveRoute = "resolve the route to";
    Connect = "connect to";
    Accept = "accept";
    Watch = "watch";
    Disconnect = "disconnect from";
}

#[test]
fn an_error_names_step_peer_and_cause() {
    use super::event::EventStatus;
    let event = CmEvent { kind: EventKind::Rejected, status: EventStatus::Failed(Errno::REFUSED) };
    let error =
        CmError::Event { step: CmStep::Connect, object: "192.0.2.7:5000".to_owned(), event };
    assert!(error.is_rejected());
    assert_eq!(
        error.to_string(),
        "cannot connect to 192.0.2.7:5000: rejected, ECONNREFUSED (connection refused)"
    );
}
