//! Counts the RDMA packets of a port during a connection, from the counters of its driver.
//!
//! The connections of a worker use this module. `analyse::hidden_faults` compares the counts of
//! both ends.

use std::time::Duration;

use crate::analyse::errors::ErrorKind;
use crate::model::probe::Traffic;
use crate::source::has_other_queue_pairs;
use crate::sys::port_counters::hardware_counters;

/// Packet counters of soft-RoCE (`drivers/infiniband/sw/rxe/rxe_hw_counters.c`), which does not
/// count a packet with a wrong checksum as received. The packet counters of hardware are not
/// read, because hardware usually carries packets of other programs as well.
const SENT: &str = "sent_pkts";
const RECEIVED: &str = "rcvd_pkts";

const QUEUE_PAIR_LIST_TIMEOUT: Duration = Duration::from_millis(500);

/// Counters of a port when a connection was opened.
#[derive(Debug)]
pub(super) struct TrafficBaseline {
    device: String,
    port: u8,
    before: Option<Traffic>,
}

impl TrafficBaseline {
    pub(super) fn of(device: &str, port: u8) -> Self {
        Self { device: device.to_owned(), port, before: counted(device, port) }
    }

    /// Returns the packets that the port counted since the baseline; `None` if the port may have
    /// counted packets of other programs.
    pub(super) fn since(&self) -> Option<Traffic> {
        Some(difference(self.before?, counted(&self.device, self.port)?))
    }
}

/// Returns the counters of a port. Returns `None` if the port counts packets and other programs
/// have queue pairs on the device, for example an NFS mount. The packets of an NFS mount would
/// count as lost at the other end.
fn counted(device: &str, port: u8) -> Option<Traffic> {
    let traffic = traffic(&hardware_counters(device, port));
    let is_comparable = traffic.sent.is_none()
        || has_other_queue_pairs(device, QUEUE_PAIR_LIST_TIMEOUT) == Some(false);
    is_comparable.then_some(traffic)
}

/// Selects the packet counters and sums the counters of lost packets.
fn traffic(counters: &[(String, u64)]) -> Traffic {
    let value = |wanted: &str| counters.iter().find(|(name, _)| name == wanted).map(|one| one.1);
    let losses = counters.iter().filter(|(name, _)| ErrorKind::of(name) == Some(ErrorKind::Loss));
    Traffic {
        sent: value(SENT),
        received: value(RECEIVED),
        retransmissions: losses.fold(0, |sum, (_, value)| sum.saturating_add(*value)),
    }
}

/// Returns the increase of the counters. A counter that decreased was reset: its increase is 0.
fn difference(before: Traffic, after: Traffic) -> Traffic {
    let increase = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?));
    Traffic {
        sent: increase(before.sent, after.sent),
        received: increase(before.received, after.received),
        retransmissions: after.retransmissions.saturating_sub(before.retransmissions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(values: &[(&str, u64)]) -> Vec<(String, u64)> {
        values.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn soft_roce_counts_packets_and_retransmissions() {
        let before =
            traffic(&counters(&[("sent_pkts", 10), ("rcvd_pkts", 7), ("duplicate_request", 1)]));
        let after = traffic(&counters(&[
            ("sent_pkts", 30),
            ("rcvd_pkts", 20),
            ("duplicate_request", 9),
            ("completer_retry_err", 2),
            ("send_rnr_err", 4),
        ]));
        let wanted = Traffic { sent: Some(20), received: Some(13), retransmissions: 2 };
        assert_eq!(difference(before, after), wanted);
    }

    #[test]
    fn hardware_counts_retransmissions_only() {
        let seen = traffic(&counters(&[("local_ack_timeout_err", 3), ("packet_seq_err", 4)]));
        assert_eq!(seen, Traffic { sent: None, received: None, retransmissions: 7 });
        let reset = difference(seen, Traffic::default());
        assert_eq!(reset.retransmissions, 0, "the counters were reset");
    }
}
