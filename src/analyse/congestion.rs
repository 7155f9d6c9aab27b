//! Congestion control counters: maps one event to the counter names of all drivers.

use crate::model::{Counter, CounterGroup};

/// Event that several drivers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// Congestion notification packets (CNP) sent in reply to marked packets.
    CnpSent,
    /// Congestion notification packets (CNP) that reduced the send rate of this host.
    CnpHandled,
    /// Received packets with a congestion mark (ECN) from a switch.
    EcnMarked,
    /// Packets received out of order. An earlier packet was lost or took another path.
    OutOfSequence,
}

impl Congestion {
    /// Returns the counter of this event; `None` if the driver has none.
    pub fn find(self, counters: &[Counter]) -> Option<&Counter> {
        // Names of mlx5, bnxt_re (before and since Linux 7), irdma, hns, mana and rxe, in order.
        let names: &[&str] = match self {
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
        };
        let hardware = || counters.iter().filter(|one| one.group == CounterGroup::Hardware);
        names.iter().find_map(|name| hardware().find(|counter| counter.name == *name))
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
