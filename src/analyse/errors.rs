//! Which counters tell of something that should not happen, and what helps against each kind.

use std::borrow::Cow;
use std::sync::Arc;

use crate::model::{Counter, CounterGroup, CounterUnit, Port};

/// What a counter of errors counted while somebody looked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// Its name, which copies share.
    pub name: Arc<str>,
    /// How much between the last two readings.
    pub last: u64,
    /// How much in all.
    pub sum: u64,
}

/// What a counter of errors is about, whatever driver gave it its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The link: cable, connector, transceiver, the other end.
    Link,
    /// A receiver that is slower than who sends to it.
    Receiver,
    /// Packets that are lost on the way, and sent again.
    Loss,
    /// Requests that were refused: a program's mistake, or somebody's who should not ask.
    Request,
}

impl ErrorKind {
    /// Of a counter's name; `None` for what is no error.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        const RECEIVER: [&str; 3] = ["rnr", "out_of_buffer", "vl15_dropped"];
        const LINK: [&str; 6] = ["symbol", "link", "rcv_errors", "physical", "overrun", "crc"];
        const LOSS: [&str; 8] =
            ["retr", "exceeded", "seq", "oos", "out of order", "timeout", "discard", "drop"];
        let name = lowered(name);
        if !tells_of_error(&name) {
            return None;
        }
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        Some(match () {
            () if has(&RECEIVER) => Self::Receiver,
            () if has(&LINK) => Self::Link,
            () if has(&LOSS) => Self::Loss,
            () => Self::Request,
        })
    }

    /// What to do about it.
    #[must_use]
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

/// Whether a name tells of something that should not happen.
#[must_use]
pub fn is_error(name: &str) -> bool {
    tells_of_error(&lowered(name))
}

/// The counters of errors that counted since the reading before.
pub fn errors(port: &Port) -> impl Iterator<Item = &Counter> {
    let has_counted = |counter: &&Counter| {
        let delta = counter.rate.and_then(|rate| rate.delta);
        counts_events(counter) && delta.is_some_and(|delta| delta > 0) && is_error(&counter.name)
    };
    port.counters.as_deref().unwrap_or_default().iter().filter(has_counted)
}

/// Whether it counts events on the wire.
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

fn tells_of_error(name: &str) -> bool {
    const TELLING: [&str; 12] = [
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
    ];
    // Not rxe's ack_deferred.
    let has_error = name.match_indices("err").any(|(at, _)| {
        let rest = &name[at + 3..];
        rest.is_empty() || rest.starts_with(['o', 's', '_', ' '])
    });
    // Whoever closes a queue pair has its requests flushed: nothing is wrong with that.
    (has_error || TELLING.iter().any(|word| name.contains(word))) && !name.contains("flush")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_by_their_names() {
        for name in ["symbol_error", "InOptErrors", "link_downed", "rx_err_pkt", "send_rnr_err"] {
            assert!(is_error(name), "{name}");
        }
        for name in ["ack_deferred", "port_rcv_packets", "np_cnp_sent", "rdma_sends"] {
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
            ("port_xmit_discards", ErrorKind::Loss),
            ("req_remote_access_errors", ErrorKind::Request),
        ];
        for (name, kind) in cases {
            assert_eq!(ErrorKind::of(name), Some(kind), "{name}");
        }
        assert_eq!(ErrorKind::of("port_rcv_packets"), None);
    }
}
