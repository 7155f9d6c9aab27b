//! Defines the events of the connection manager.

use std::fmt;

use crate::sys::descriptors;
use crate::sys::errno::Errno;
use crate::sys::ffi;

/// An event with its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CmEvent {
    /// Kind of the event.
    pub kind: EventKind,
    /// Status code of the event.
    pub status: EventStatus,
}

/// Status code of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStatus {
    /// Success.
    Good,
    /// An error code.
    Failed(Errno),
    /// Reject reason of InfiniBand: 8 no program listens, 28 the program on the peer rejects.
    Reason(u32),
}

impl CmEvent {
    pub(super) fn new(kind: EventKind, status: i32) -> Self {
        let status = match (kind, status) {
            // librdmacm finds no device, or cannot open it. It sets -1, which is no errno
            // (`ucma_process_addr_resolved`, cma.c of rdma-core).
            (EventKind::AddressError, -1) => {
                EventStatus::Failed(descriptors::shortage(1).unwrap_or(Errno::NO_DEVICE))
            }
            _ => EventStatus::from_code(status),
        };
        Self { kind, status }
    }
}

impl EventStatus {
    fn from_code(code: i32) -> Self {
        match u32::try_from(code) {
            Ok(0) => Self::Good,
            Ok(reason) => Self::Reason(reason),
            Err(_) => Self::Failed(Errno::from_code(code)),
        }
    }
}

/// Declares the kinds of events with their C names and texts.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])? $name:ident = $code:ident, $text:literal;)*) => {
        /// Kind of an event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum EventKind {
            $(#[doc = concat!("`", stringify!($code), "`: ", $text, ".")] $(#[doc = $doc])? $name,)*
            /// Event that has no name here, by its number.
            Other(u32),
        }

        impl EventKind {
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$name),*];

            pub(super) fn from_code(code: ffi::rdma_cm_event_type) -> Self {
                match code {
                    $(ffi::$code => Self::$name,)*
                    other => Self::Other(other),
                }
            }

            /// Returns the text for the kind.
            pub fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Other(_) => "unknown event",
                }
            }
        }
    };
}

kinds! {
    AddressResolved = RDMA_CM_EVENT_ADDR_RESOLVED, "address resolved";
    AddressError = RDMA_CM_EVENT_ADDR_ERROR, "address not resolved";
    RouteResolved = RDMA_CM_EVENT_ROUTE_RESOLVED, "route resolved";
    RouteError = RDMA_CM_EVENT_ROUTE_ERROR, "route not resolved";
    ConnectRequest = RDMA_CM_EVENT_CONNECT_REQUEST, "connection request";
    /// The peer has replied, and the id has no queue pair yet.
    ConnectResponse = RDMA_CM_EVENT_CONNECT_RESPONSE, "connection response";
    ConnectError = RDMA_CM_EVENT_CONNECT_ERROR, "connection error";
    /// The peer's host does not respond.
    Unreachable = RDMA_CM_EVENT_UNREACHABLE, "unreachable";
    Rejected = RDMA_CM_EVENT_REJECTED, "rejected";
    Established = RDMA_CM_EVENT_ESTABLISHED, "established";
    Disconnected = RDMA_CM_EVENT_DISCONNECTED, "disconnected";
    DeviceRemoval = RDMA_CM_EVENT_DEVICE_REMOVAL, "device removed";
    /// The address has moved to another device.
    AddressChange = RDMA_CM_EVENT_ADDR_CHANGE, "address changed";
    /// The number of the queue pair can be used again.
    TimewaitExit = RDMA_CM_EVENT_TIMEWAIT_EXIT, "time-wait ended";
}

impl fmt::Display for CmEvent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.kind.text())?;
        match self.status {
            EventStatus::Good => Ok(()),
            EventStatus::Failed(errno) => write!(out, ", {errno}"),
            EventStatus::Reason(8) => out.write_str(", no listener on the peer (reason 8)"),
            EventStatus::Reason(28) => out.write_str(", by the program on the peer (reason 28)"),
            EventStatus::Reason(reason) => write!(out, ", reason {reason}"),
        }
    }
}

#[test]
fn a_positive_status_is_a_reason() {
    assert_eq!(EventStatus::from_code(8), EventStatus::Reason(8));
    assert_eq!(EventStatus::from_code(-libc::ETIMEDOUT), EventStatus::Failed(Errno::TIMED_OUT));
}

#[test]
fn status_of_librdmacm_itself_is_a_missing_device() {
    let status = |kind, status| CmEvent::new(kind, status).status;
    let address = |code| status(EventKind::AddressError, code);
    assert_eq!(address(-1), EventStatus::Failed(Errno::NO_DEVICE));
    assert_eq!(address(-libc::EHOSTUNREACH), EventStatus::Failed(Errno::HOST_UNREACHABLE));
    let connect = status(EventKind::ConnectError, -1);
    assert_eq!(connect, EventStatus::Failed(Errno::NOT_PERMITTED));
}
