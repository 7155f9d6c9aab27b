//! What drivers count of congestion control, under their different names.

use crate::model::{Counter, CounterGroup};

/// A thing that several drivers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// Congestion notifications sent, because packets came in marked.
    CnpSent,
    /// Congestion notifications that made this end send slower.
    CnpHandled,
    /// Packets that a switch had marked.
    EcnMarked,
    /// Packets that came out of order: one before was lost, or took another way.
    OutOfSequence,
}

impl Congestion {
    /// The names of mlx5, `bnxt_re` (before and since Linux 7), irdma, hns, mana and rxe, in that order.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::CnpSent => {
                &["np_cnp_sent", "tx_cnp_pkts", "np_cnp_pkts", "cnpSent", "tx_cnp_pkt", "sent_cnps"]
            }
            Self::CnpHandled => {
                &["rp_cnp_handled", "rx_cnp_pkts", "cnpHandled", "rx_cnp_pkt", "received_cnps"]
            }
            Self::EcnMarked => {
                &["np_ecn_marked_roce_packets", "rx_ecn_marked_pkts", "RxECNMrkd", "received_ecns"]
            }
            Self::OutOfSequence => {
                &["out_of_sequence", "oos_drop_count", "responder_oos", "out_of_seq_request"]
            }
        }
    }

    /// The driver's counter of it, if it has one.
    #[must_use]
    pub fn find(self, counters: &[Counter]) -> Option<&Counter> {
        self.names().iter().find_map(|name| {
            counters
                .iter()
                .find(|counter| counter.group == CounterGroup::Hardware && counter.name == *name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::CounterUnit;

    #[test]
    fn a_counter_is_found_by_the_name_its_driver_gives_it() {
        let counter = |name: &str, value| Counter {
            name: name.into(),
            group: CounterGroup::Hardware,
            value: Some(value),
            unit: CounterUnit::Events,
            saturated: false,
            read_ns: None,
            rate: None,
        };
        let irdma = [counter("cnpIgnored", 1), counter("cnpHandled", 2), counter("cnpSent", 3)];
        let value = |what: Congestion| what.find(&irdma).and_then(|counter| counter.value);
        assert_eq!(value(Congestion::CnpHandled), Some(2));
        assert_eq!(value(Congestion::CnpSent), Some(3));
        assert_eq!(value(Congestion::EcnMarked), None);
    }
}
