//! Counts the RDMA packets of a port during a connection, from the counters of its driver.
//!
//! The connections of a worker use this module. `analyse::hidden_faults` compares the counts of
//! both ends.

use std::time::Duration;

use crate::analyse::errors::ErrorKind;
use crate::model::probe::Traffic;
use crate::source::{CountedQueuePairs, has_other_queue_pairs};
use crate::sys::port_counters::hardware_counters;

/// Packet counters of soft-RoCE (`drivers/infiniband/sw/rxe/rxe_hw_counters.c`), which does not
/// count a packet with a wrong checksum as received. The packet counters of hardware are not
/// read, because hardware usually carries packets of other programs as well.
const SENT: &str = "sent_pkts";
const RECEIVED: &str = "rcvd_pkts";

const QUEUE_PAIR_LIST_TIMEOUT: Duration = Duration::from_millis(500);

/// Result of a port that counts packets of other programs as well, for example of an NFS mount.
/// The packets of an NFS mount would count as lost at the other end.
const SHARED: Traffic = Traffic { sent: None, received: None, retransmissions: 0, is_shared: true };

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

    /// Returns the packets that the port counted since the baseline, or [`SHARED`]; `None` if it
    /// is unknown whether the port counted packets of other programs.
    pub(super) fn since(&self) -> Option<Traffic> {
        let traffic = difference(self.before?, counted(&self.device, self.port)?);
        // Other programs, or adaptive routing of their packets, also change these counters.
        let is_doubtful = traffic.sent.is_none() && traffic.retransmissions > 0;
        let is_shared = is_doubtful
            && has_others(&self.device, CountedQueuePairs::Retransmissions) == Some(true);
        Some(if is_shared { SHARED } else { traffic })
    }
}

/// Returns the counters of a port, or [`SHARED`] if the port counts packets and other programs
/// have queue pairs on the device; `None` if the kernel does not list the queue pairs.
fn counted(device: &str, port: u8) -> Option<Traffic> {
    let traffic = traffic(&hardware_counters(device, port));
    if traffic.sent.is_none() {
        return Some(traffic);
    }
    let is_shared = has_others(device, CountedQueuePairs::Packets)?;
    Some(if is_shared { SHARED } else { traffic })
}

fn has_others(device: &str, counted: CountedQueuePairs) -> Option<bool> {
    has_other_queue_pairs(device, counted, QUEUE_PAIR_LIST_TIMEOUT)
}

/// Selects the packet counters and sums the counters of lost packets.
fn traffic(counters: &[(String, u64)]) -> Traffic {
    let value = |wanted: &str| counters.iter().find(|(name, _)| name == wanted).map(|one| one.1);
    let losses = counters.iter().filter(|(name, _)| ErrorKind::of(name) == Some(ErrorKind::Loss));
    Traffic {
        sent: value(SENT),
        received: value(RECEIVED),
        retransmissions: losses.fold(0, |sum, (_, value)| sum.saturating_add(*value)),
        is_shared: false,
    }
}

/// Returns the increase of the counters. A counter that decreased was reset: its increase is 0.
fn difference(before: Traffic, after: Traffic) -> Traffic {
    if before.is_shared || after.is_shared {
        return SHARED;
    }
    let increase = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?));
    Traffic {
        sent: increase(before.sent, after.sent),
        received: increase(before.received, after.received),
        retransmissions: after.retransmissions.saturating_sub(before.retransmissions),
        is_shared: false,
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
        let wanted = Traffic {
            sent: Some(20),
            received: Some(13),
            retransmissions: 2,
            ..Traffic::default()
        };
        assert_eq!(difference(before, after), wanted);
        // Another program has opened or closed a queue pair meanwhile.
        assert_eq!(difference(before, SHARED), SHARED);
        assert_eq!(difference(SHARED, after), SHARED);
    }

    #[test]
    fn hardware_counts_retransmissions_only() {
        let seen = traffic(&counters(&[("local_ack_timeout_err", 3), ("packet_seq_err", 4)]));
        assert_eq!(seen, Traffic { retransmissions: 7, ..Traffic::default() });
        let reset = difference(seen, Traffic::default());
        assert_eq!(reset.retransmissions, 0, "the counters were reset");
    }
}
