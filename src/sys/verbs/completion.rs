//! Copies completions of work requests from the structs of libibverbs. The queues of `sys::verbs`
//! use it.

use std::fmt;

use crate::sys::ffi;
use crate::sys::plain::Plain;

/// Declares the statuses with their C names and the texts of `ibv_wc_status_str`.
macro_rules! statuses {
    ($($(#[doc = $doc:literal])? $name:ident = $code:ident, $text:literal;)*) => {
        /// Status of a completed work request (`ibv_wc_status`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum CompletionStatus {
            $(#[doc = concat!("`", stringify!($code), "`: ", $text, ".")] $(#[doc = $doc])? $name,)*
            /// Any other status, with its number.
            Other(u32),
        }

        impl CompletionStatus {
            pub(super) fn from_code(code: ffi::ibv_wc_status) -> Self {
                match code {
                    $(ffi::$code => Self::$name,)*
                    other => Self::Other(other),
                }
            }

            /// Returns the C name, for example `IBV_WC_RETRY_EXC_ERR`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($code),)*
                    Self::Other(_) => "IBV_WC_?",
                }
            }

            /// Returns the text of the C library, for example `transport retry counter exceeded`.
            pub fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Other(_) => "unknown",
                }
            }
        }
    };
}

statuses! {
    Success = IBV_WC_SUCCESS, "success";
    /// A length does not match: on RC, often the path MTUs of the two ends differ.
    LocalLength = IBV_WC_LOC_LEN_ERR, "local length error";
    /// The queue pair or the local port is in a wrong state.
    LocalQueuePair = IBV_WC_LOC_QP_OP_ERR, "local QP operation error";
    /// The end-to-end context is inconsistent (RD only).
    LocalEndToEnd = IBV_WC_LOC_EEC_OP_ERR, "local EE context operation error";
    /// The local memory is not registered for the operation.
    LocalProtection = IBV_WC_LOC_PROT_ERR, "local protection error";
    /// The request was flushed after another failure. It is never the first failure.
    Flushed = IBV_WC_WR_FLUSH_ERR, "Work Request Flushed Error";
    WindowBind = IBV_WC_MW_BIND_ERR, "memory management operation error";
    BadResponse = IBV_WC_BAD_RESP_ERR, "bad response error";
    /// The memory at this end does not allow the access.
    LocalAccess = IBV_WC_LOC_ACCESS_ERR, "local access error";
    /// The responder rejects the request: it is too long or not allowed.
    RemoteInvalidRequest = IBV_WC_REM_INV_REQ_ERR, "remote invalid request error";
    /// The memory at the other end does not allow the access.
    RemoteAccess = IBV_WC_REM_ACCESS_ERR, "remote access error";
    RemoteOperation = IBV_WC_REM_OP_ERR, "remote operation error";
    /// The peer did not acknowledge, after all retries.
    RetryExceeded = IBV_WC_RETRY_EXC_ERR, "transport retry counter exceeded";
    /// The peer had no receive posted, after all retries.
    ReceiverNotReady = IBV_WC_RNR_RETRY_EXC_ERR, "RNR retry counter exceeded";
    /// The reliable datagram domains do not match (RD only).
    LocalDomain = IBV_WC_LOC_RDD_VIOL_ERR, "local RDD violation error";
    /// The responder rejects a reliable datagram (RD only).
    RemoteInvalidDatagram = IBV_WC_REM_INV_RD_REQ_ERR, "remote invalid RD request";
    RemoteAbort = IBV_WC_REM_ABORT_ERR, "aborted error";
    /// The end-to-end context does not exist (RD only).
    EndToEndNumber = IBV_WC_INV_EECN_ERR, "invalid EE context number";
    /// The end-to-end context is in the wrong state (RD only).
    EndToEndState = IBV_WC_INV_EEC_STATE_ERR, "invalid EE context state";
    Fatal = IBV_WC_FATAL_ERR, "fatal error";
    /// The peer did not respond (EFA).
    ResponseTimeout = IBV_WC_RESP_TIMEOUT_ERR, "response timeout error";
    General = IBV_WC_GENERAL_ERR, "general error";
    TagMatching = IBV_WC_TM_ERR, "TM error";
    /// Software must finish a rendezvous of tag matching.
    TagRendezvous = IBV_WC_TM_RNDV_INCOMPLETE, "TM software rendezvous";
}

impl fmt::Display for CompletionStatus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(code) => write!(out, "unknown completion status {code}"),
            known => write!(out, "{} ({})", known.name(), known.text()),
        }
    }
}

/// Kind of a completed work request (`ibv_wc_opcode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opcode {
    /// A send.
    Send,
    /// A receive.
    Receive,
    /// Any other request, with the number of its opcode.
    Other(u32),
}

/// Completion of one work request (`ibv_wc`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Id with which the request was posted.
    pub id: u64,
    /// Result of the request.
    pub status: CompletionStatus,
    /// Kind of the request; `None` if it failed, because the device need not set it then.
    pub opcode: Option<Opcode>,
    /// Received bytes; on UD they include the 40 bytes of the GRH. 0 if the request failed.
    pub length: u32,
    /// Error code of the device; undefined unless the request failed.
    pub vendor_err: u32,
    /// Number of the local queue pair.
    pub qp_num: u32,
    /// Number of the sender's queue pair (UD); 0 if the request failed.
    pub source_qp: u32,
    /// True if the first 40 bytes of the received data hold a GRH (UD).
    pub has_grh: bool,
}

impl Completion {
    #[inline]
    fn copy(raw: &ffi::ibv_wc) -> Self {
        let status = CompletionStatus::from_code(raw.status);
        // If a request failed, only id, status, queue pair and vendor code are set.
        let succeeded = status == CompletionStatus::Success;
        Self {
            id: raw.wr_id,
            status,
            opcode: succeeded.then_some(match raw.opcode {
                ffi::IBV_WC_SEND => Opcode::Send,
                ffi::IBV_WC_RECV => Opcode::Receive,
                other => Opcode::Other(other),
            }),
            length: if succeeded { raw.byte_len } else { 0 },
            vendor_err: raw.vendor_err,
            qp_num: raw.qp_num,
            source_qp: if succeeded { raw.src_qp } else { 0 },
            has_grh: succeeded && raw.wc_flags & ffi::IBV_WC_GRH != 0,
        }
    }
}

/// Reusable buffer for the completions of one poll.
pub struct Batch {
    pub(super) raw: [ffi::ibv_wc; Self::ROOM],
    /// Number of completions in `raw`.
    pub(super) used: usize,
}

impl Batch {
    /// Maximum number of completions of one poll.
    pub const ROOM: usize = 32;

    /// Makes an empty batch.
    pub fn new() -> Self {
        Self { raw: [ffi::ibv_wc::zeroed(); Self::ROOM], used: 0 }
    }

    /// Returns the completions of the last poll, in the device's order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Completion> {
        let used = self.raw.get(..self.used).unwrap_or_default();
        used.iter().map(Completion::copy)
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.iter()).finish()
    }
}

#[test]
fn a_failed_completion_has_no_length() {
    let mut raw = ffi::ibv_wc::zeroed();
    raw.status = ffi::IBV_WC_RETRY_EXC_ERR;
    raw.byte_len = 77;
    let completion = Completion::copy(&raw);
    assert_eq!((completion.length, completion.opcode), (0, None));
    assert_eq!(
        completion.status.to_string(),
        "IBV_WC_RETRY_EXC_ERR (transport retry counter exceeded)"
    );
    assert_eq!(CompletionStatus::from_code(99), CompletionStatus::Other(99));
}
