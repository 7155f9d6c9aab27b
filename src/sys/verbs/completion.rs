//! Completions: what became of a posted request.

use std::fmt;

use crate::sys::ffi;
use crate::sys::plain::Plain;

/// Declares the outcomes with their C names and the words of `ibv_wc_status_str`.
macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $code:ident, $text:literal;)*) => {
        /// The outcome of a request.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Status {
            $($(#[$doc])* $name,)*
            /// An outcome that this program does not know, by its number.
            Other(u32),
        }

        impl Status {
            pub(super) fn from_code(code: ffi::ibv_wc_status) -> Self {
                match code {
                    $(ffi::$code => Self::$name,)*
                    other => Self::Other(other),
                }
            }

            /// The name of the C library, as in `IBV_WC_RETRY_EXC_ERR`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($code),)*
                    Self::Other(_) => "IBV_WC_?",
                }
            }

            /// The words of the C library, as in `transport retry counter exceeded`.
            #[must_use]
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
    /// Done.
    Success = IBV_WC_SUCCESS, "success";
    /// A length does not fit: on RC, often the two path MTUs.
    LocalLength = IBV_WC_LOC_LEN_ERR, "local length error";
    /// The queue pair or the local port is not in order.
    LocalQueuePair = IBV_WC_LOC_QP_OP_ERR, "local QP operation error";
    /// End-to-end context in disorder (RD only).
    LocalEndToEnd = IBV_WC_LOC_EEC_OP_ERR, "local EE context operation error";
    /// Memory is not registered for this.
    LocalProtection = IBV_WC_LOC_PROT_ERR, "local protection error";
    /// Flushed after another failure: never the first cause.
    Flushed = IBV_WC_WR_FLUSH_ERR, "Work Request Flushed Error";
    /// A memory window was not bound.
    WindowBind = IBV_WC_MW_BIND_ERR, "memory management operation error";
    /// The responder sent something that makes no sense.
    BadResponse = IBV_WC_BAD_RESP_ERR, "bad response error";
    /// Memory at this end does not allow the access.
    LocalAccess = IBV_WC_LOC_ACCESS_ERR, "local access error";
    /// The responder refuses the request: too long for it, or not allowed.
    RemoteInvalidRequest = IBV_WC_REM_INV_REQ_ERR, "remote invalid request error";
    /// Memory at the other end does not allow the access.
    RemoteAccess = IBV_WC_REM_ACCESS_ERR, "remote access error";
    /// The responder could not finish the request.
    RemoteOperation = IBV_WC_REM_OP_ERR, "remote operation error";
    /// Nobody acknowledged, after all retries.
    RetryExceeded = IBV_WC_RETRY_EXC_ERR, "transport retry counter exceeded";
    /// The peer had no receive posted, after all retries.
    ReceiverNotReady = IBV_WC_RNR_RETRY_EXC_ERR, "RNR retry counter exceeded";
    /// Reliable datagram domains do not fit (RD only).
    LocalDomain = IBV_WC_LOC_RDD_VIOL_ERR, "local RDD violation error";
    /// The responder refuses a reliable datagram (RD only).
    RemoteInvalidDatagram = IBV_WC_REM_INV_RD_REQ_ERR, "remote invalid RD request";
    /// The responder gave up.
    RemoteAbort = IBV_WC_REM_ABORT_ERR, "aborted error";
    /// No such end-to-end context (RD only).
    EndToEndNumber = IBV_WC_INV_EECN_ERR, "invalid EE context number";
    /// The end-to-end context is in the wrong state (RD only).
    EndToEndState = IBV_WC_INV_EEC_STATE_ERR, "invalid EE context state";
    /// The transport is beyond repair.
    Fatal = IBV_WC_FATAL_ERR, "fatal error";
    /// The peer did not respond (EFA).
    ResponseTimeout = IBV_WC_RESP_TIMEOUT_ERR, "response timeout error";
    /// Something else.
    General = IBV_WC_GENERAL_ERR, "general error";
    /// Tag matching failed.
    TagMatching = IBV_WC_TM_ERR, "TM error";
    /// Tag matching needs software to finish a rendezvous.
    TagRendezvous = IBV_WC_TM_RNDV_INCOMPLETE, "TM software rendezvous";
}

impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(code) => write!(out, "unknown completion status {code}"),
            known => write!(out, "{} ({})", known.name(), known.text()),
        }
    }
}

/// What kind of request has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opcode {
    /// A send.
    Send,
    /// A receive.
    Receive,
    /// Any other.
    Other(u32),
}

/// The end of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The id that the request was posted with.
    pub id: u64,
    /// What became of it.
    pub status: Status,
    /// What kind of request it was; `None` when it failed, as the device need not tell then.
    pub opcode: Option<Opcode>,
    /// Bytes received, with the 40 bytes of the GRH on UD; 0 when it failed.
    pub length: u32,
    /// The device's own code; means nothing unless the request failed.
    pub vendor_err: u32,
    /// The local queue pair.
    pub qp_num: u32,
    /// The sender's queue pair (UD); 0 when it failed.
    pub source_qp: u32,
    /// Whether the first 40 bytes of the receive hold a GRH (UD).
    pub has_grh: bool,
}

impl Completion {
    #[inline]
    fn copy(raw: &ffi::ibv_wc) -> Self {
        let status = Status::from_code(raw.status);
        // Only id, status, queue pair and vendor code are set when a request failed.
        let good = status == Status::Success;
        Self {
            id: raw.wr_id,
            status,
            opcode: good.then_some(match raw.opcode {
                ffi::IBV_WC_SEND => Opcode::Send,
                ffi::IBV_WC_RECV => Opcode::Receive,
                other => Opcode::Other(other),
            }),
            length: if good { raw.byte_len } else { 0 },
            vendor_err: raw.vendor_err,
            qp_num: raw.qp_num,
            source_qp: if good { raw.src_qp } else { 0 },
            has_grh: good && raw.wc_flags & ffi::IBV_WC_GRH != 0,
        }
    }
}

/// Room for the completions of one poll, made once and used again.
pub struct Batch {
    raw: [ffi::ibv_wc; Self::ROOM],
    used: usize,
}

impl Batch {
    /// Completions that one poll can bring at most.
    pub const ROOM: usize = 32;

    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self { raw: [ffi::ibv_wc::zeroed(); Self::ROOM], used: 0 }
    }

    /// The completions of the last poll, in the device's order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Completion> {
        let used = self.raw.get(..self.used).unwrap_or_default();
        used.iter().map(Completion::copy)
    }

    /// Lets `fill` set the room, and notes how much of it is used.
    #[inline]
    pub(super) fn refill<E>(
        &mut self,
        fill: impl FnOnce(&mut [ffi::ibv_wc]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        self.used = 0;
        self.used = fill(&mut self.raw)?;
        Ok(self.used)
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
fn a_failed_completion_claims_no_length() {
    let mut raw = ffi::ibv_wc::zeroed();
    raw.status = ffi::IBV_WC_RETRY_EXC_ERR;
    raw.byte_len = 77;
    let completion = Completion::copy(&raw);
    assert_eq!((completion.length, completion.opcode), (0, None));
    assert_eq!(
        completion.status.to_string(),
        "IBV_WC_RETRY_EXC_ERR (transport retry counter exceeded)"
    );
    assert_eq!(Status::from_code(99), Status::Other(99));
}
