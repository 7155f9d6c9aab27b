//! Rates of RDMA operations of a port. Each driver has its own counter names.

use crate::model::{Counter, CounterGroup, PerSecond};

/// Counters in each driver, a column for each [`Operation`]; empty if the driver has none. No
/// driver counts one event under two of the names.
const NAMES: [[&str; 3]; 11] = [
    // mlx5 and mana.
    ["rx_read_requests", "rx_write_requests", "rx_send_requests"],
    // `bnxt_re`.
    ["tx_read_req", "tx_write_req", "tx_send_req"],
    ["rx_read_req", "rx_write_req", "rx_send_req"],
    // irdma before Linux 7.
    ["iwInRdmaReads", "iwInRdmaWrites", "iwInRdmaSends"],
    ["iwOutRdmaReads", "iwOutRdmaWrites", "iwOutRdmaSends"],
    // irdma since Linux 7.
    ["InRdmaReads", "InRdmaWrites", "InRdmaSends"],
    ["OutRdmaReads", "OutRdmaWrites", "OutRdmaSends"],
    // EFA.
    ["rdma_read_wrs", "rdma_write_wrs", "send_wrs"],
    ["", "", "recv_wrs"],
    // rxe.
    ["", "", "rdma_sends"],
    ["", "", "rdma_recvs"],
];

/// Kind of work request, counted at the requester or at the responder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// RDMA read.
    Read,
    /// RDMA write.
    Write,
    /// Send or receive.
    Send,
}

impl Operation {
    /// Returns operations per second, summed over the directions that the driver counts. `None`
    /// if the driver counts none, and in the first sample.
    pub fn rate(self, counters: &[Counter]) -> Option<PerSecond> {
        let ours = |counter: &&Counter| {
            counter.group == CounterGroup::Hardware
                && NAMES.iter().any(|names| names[self as usize] == counter.name)
        };
        let rates = counters.iter().filter(ours).filter_map(|counter| counter.rate?.rate_per_s);
        rates.reduce(|one, other| PerSecond(one.0.saturating_add(other.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CounterChange, CounterRate, CounterUnit};

    #[test]
    fn both_directions_are_one_rate_and_what_is_not_counted_is_none() {
        let counter = |name: &str, per_s: Option<u64>| Counter {
            name: name.into(),
            group: CounterGroup::Hardware,
            value: Some(9),
            unit: CounterUnit::Events,
            saturated: false,
            read_ns: None,
            rate: per_s.map(|per_s| CounterRate {
                change: CounterChange::Counted,
                interval_ns: 1_000_000_000,
                delta: Some(per_s),
                rate_per_s: Some(PerSecond(per_s * 1_000)),
                rate_bps: None,
            }),
        };
        let irdma = [
            counter("InRdmaReads", Some(2)),
            counter("OutRdmaReads", Some(3)),
            counter("OutRdmaWrites", None),
        ];
        assert_eq!(Operation::Read.rate(&irdma), Some(PerSecond(5_000)));
        assert_eq!(Operation::Write.rate(&irdma), None);
        assert_eq!(Operation::Send.rate(&irdma), None);
    }
}
