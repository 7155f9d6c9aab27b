//! Error counters: recognizes them by name, classifies them and returns a fix for each class.

use std::borrow::Cow;
use std::sync::Arc;

use crate::model::{Counter, CounterGroup, CounterUnit, Port};

/// Increase of an error counter since an earlier sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorIncrease {
    /// Name of the counter; copies share it.
    pub name: Arc<str>,
    /// Increase between the last two samples.
    pub last: u64,
    /// Total increase.
    pub sum: u64,
}

/// Class of an error counter, independent of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// Link error: cable, connector, transceiver or the remote port.
    Link,
    /// A receiver that is slower than its senders.
    Receiver,
    /// Packets that were lost in the network and sent again.
    Loss,
    /// Rejected requests: a faulty program, or a requester without permission.
    Request,
}

impl ErrorKind {
    /// Returns the class of a counter by its name; `None` if the counter counts no errors.
    pub fn of(name: &str) -> Option<Self> {
        const RECEIVER: [&str; 4] = ["rnr", "rree", "out_of_buffer", "vl15_dropped"];
        const LINK: [&str; 6] = ["symbol", "link", "rcv_errors", "physical", "overrun", "crc"];
        const LOSS: [&str; 10] = [
            "retr",
            "exceeded",
            "seq",
            "oos",
            "out of order",
            "timeout",
            "discard",
            "drop",
            "tree",
            "unresponsive",
        ];
        if !is_error(name) {
            return None;
        }
        let name = lowered(name);
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        Some(match () {
            () if has(&RECEIVER) => Self::Receiver,
            () if has(&LINK) => Self::Link,
            () if has(&LOSS) => Self::Loss,
            () => Self::Request,
        })
    }

    /// Returns the fix for this class.
    pub fn fix(self) -> &'static str {
        match self {
            Self::Link => "clean or replace the cable, then check whether the counters still rise",
            Self::Receiver => {
                "the receiver is slower than its senders: its program must post more receive buffers"
            }
            Self::Loss => {
                "the network loses packets: compare the flow control of both hosts and of the \
                 switch (rdmactl ports --lossless)"
            }
            Self::Request => {
                "read the log of the program that uses the port: it sends invalid requests"
            }
        }
    }
}

/// Returns the error counters that increased since the previous sample.
pub fn errors(port: &Port) -> impl Iterator<Item = &Counter> {
    error_counters(port).filter(|counter| counter.delta().is_some_and(|delta| delta > 0))
}

/// Returns the counters of a port that count errors.
pub fn error_counters(port: &Port) -> impl Iterator<Item = &Counter> {
    let counters = port.counters.as_deref().unwrap_or_default().iter();
    counters.filter(|counter| counts_events(counter) && is_error(&counter.name))
}

/// True if the counter counts events on the wire.
pub(super) fn counts_events(counter: &Counter) -> bool {
    let is_of_traffic = matches!(counter.group, CounterGroup::Pma | CounterGroup::Hardware);
    is_of_traffic && counter.unit == CounterUnit::Events
}

fn lowered(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// True if a counter with this name counts errors.
pub fn is_error(name: &str) -> bool {
    const WORDS: [&str; 17] = [
        "discard",
        "drop",
        "downed",
        "link_error_recovery",
        "overrun",
        "exceeded",
        "retrans",
        "out_of_seq",
        "out_of_buffer",
        "out of order",
        "oos",
        "nak",
        "icrc",
        "invalid_",
        "length_mismatch",
        "requester_timeout",
        "unresponsive",
    ];
    let name = lowered(name);
    // Excludes `ack_deferred` of rxe.
    let has_error = name.match_indices("err").any(|(at, _)| {
        let rest = &name[at + 3..];
        rest.is_empty() || rest.starts_with(['o', 's', '_', ' '])
    });
    // A closed queue pair flushes its requests, which is no error.
    (has_error || WORDS.iter().any(|word| name.contains(word)) || is_mlx4_error(&name))
        && !name.contains("flush")
}

/// True for an error counter of mlx4, which has the abbreviation of the error in its name, such
/// as `sq_num_tree` (transport retries exceeded). Excluded are flushed requests (`wrfe`),
/// duplicates, and events that a retry repairs (`diag_counters` in
/// `drivers/infiniband/hw/mlx4/main.c`).
fn is_mlx4_error(name: &str) -> bool {
    const NO_ERRORS: [&str; 4] = ["wrfe", "dup", "rnr", "to"];
    let of_queue = name.strip_prefix("sq_num_").or_else(|| name.strip_prefix("rq_num_"));
    name == "num_cqovf" || of_queue.is_some_and(|error| !NO_ERRORS.contains(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_counters_are_recognized_by_name() {
        for name in ["symbol_error", "InOptErrors", "link_downed", "rx_err_pkt", "send_rnr_err"] {
            assert!(is_error(name), "{name}");
        }
        for name in ["sq_num_tree", "num_cqovf", "rx_icrc_encapsulated", "res_rx_invalid_rkey"] {
            assert!(is_error(name), "{name}");
        }
        for name in ["ack_deferred", "port_rcv_packets", "np_cnp_sent", "rdma_sends", "sq_num_wrfe"]
        {
            assert!(!is_error(name), "{name}");
        }
    }

    #[test]
    fn requests_that_are_flushed_at_the_end_are_no_errors() {
        for name in ["req_cqe_flush_error", "resp_cqe_flush_error"] {
            assert!(!is_error(name), "{name}");
        }
        assert!(is_error("req_cqe_error"));
    }

    #[test]
    fn a_cable_is_changed_for_errors_of_the_link_alone() {
        let cases = [
            ("symbol_error", ErrorKind::Link),
            ("link_downed", ErrorKind::Link),
            ("port_rcv_errors", ErrorKind::Link),
            ("out_of_buffer", ErrorKind::Receiver),
            ("rnr_nak_retry_err", ErrorKind::Receiver),
            ("VL15_dropped", ErrorKind::Receiver),
            ("out_of_sequence", ErrorKind::Loss),
            ("local_ack_timeout_err", ErrorKind::Loss),
            ("tcpRetransSegs", ErrorKind::Loss),
            ("sq_num_tree", ErrorKind::Loss),
            ("sq_num_rree", ErrorKind::Receiver),
            ("rx_icrc_encapsulated", ErrorKind::Link),
            ("rq_num_lle", ErrorKind::Request),
            ("port_xmit_discards", ErrorKind::Loss),
            ("req_remote_access_errors", ErrorKind::Request),
        ];
        for (name, kind) in cases {
            assert_eq!(ErrorKind::of(name), Some(kind), "{name}");
        }
        assert_eq!(ErrorKind::of("port_rcv_packets"), None);
    }
}
