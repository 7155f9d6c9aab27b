//! Throughput and errors of a port. Each driver has its own counter names.

use super::errors::{counts_events, is_error};
use crate::model::{Counter, CounterGroup, PerSecond, Port};

/// Counters of received and sent bytes in the drivers.
const BYTES: [(&str, &str); 6] = [
    // `bnxt_re`, EFA and mana.
    ("rx_bytes", "tx_bytes"),
    // erdma.
    ("rx_bytes_cnt", "tx_bytes_cnt"),
    // ionic.
    ("rx_rdma_ucast_bytes", "tx_rdma_ucast_bytes"),
    // rxe.
    ("rcvd_bytes", "sent_bytes"),
    // irdma counts IPv4 and IPv6 separately.
    ("ip4InOctets", "ip4OutOctets"),
    ("ip6InOctets", "ip6OutOctets"),
];

/// Counters of received and sent packets in the drivers.
const PACKETS: [(&str, &str); 8] = [
    ("rx_pkts", "tx_pkts"),
    ("rx_packets", "tx_packets"),
    ("rx_packets_cnt", "tx_packets_cnt"),
    ("rx_pkt", "tx_pkt"),
    ("rx_rdma_ucast_pkts", "tx_rdma_ucast_pkts"),
    ("rcvd_pkts", "sent_pkts"),
    ("ip4InPkts", "ip4OutPkts"),
    ("ip6InPkts", "ip6OutPkts"),
];

/// Traffic of a port between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Received bits per second; `None` in the first sample, and if the driver counts no bytes.
    pub rx_bps: Option<u64>,
    /// Sent bits per second; `None` in the first sample, and if the driver counts no bytes.
    pub tx_bps: Option<u64>,
    /// Received packets per second; `None` if no counter counts packets.
    pub rx_packets: Option<PerSecond>,
    /// Sent packets per second; `None` if no counter counts packets.
    pub tx_packets: Option<PerSecond>,
    /// Errors of all kinds per second; `None` if no error counter has a rate.
    pub errors: Option<PerSecond>,
}

impl Traffic {
    /// Returns the traffic of a port from the rates of its counters.
    pub fn of(port: &Port) -> Self {
        port.counters.as_deref().map(Self::of_counters).unwrap_or_default()
    }

    fn of_counters(counters: &[Counter]) -> Self {
        let mut all = Self::default();
        // A driver may count one event in both groups; counters of the specification come first.
        let mut own = Self::default();
        for counter in counters {
            let Some(rate) = &counter.rate else { continue };
            match (counter.group, counter.name.as_str()) {
                (CounterGroup::Pma, "port_rcv_data") => all.rx_bps = rate.rate_bps,
                (CounterGroup::Pma, "port_xmit_data") => all.tx_bps = rate.rate_bps,
                (CounterGroup::Pma, "port_rcv_packets") => all.rx_packets = rate.rate_per_s,
                (CounterGroup::Pma, "port_xmit_packets") => all.tx_packets = rate.rate_per_s,
                (CounterGroup::Hardware, name) if BYTES.iter().any(|(rx, _)| *rx == name) => {
                    own.rx_bps = sum(own.rx_bps, rate.rate_bps);
                }
                (CounterGroup::Hardware, name) if BYTES.iter().any(|(_, tx)| *tx == name) => {
                    own.tx_bps = sum(own.tx_bps, rate.rate_bps);
                }
                (CounterGroup::Hardware, name) if PACKETS.iter().any(|(rx, _)| *rx == name) => {
                    own.rx_packets = add(own.rx_packets, rate.rate_per_s);
                }
                (CounterGroup::Hardware, name) if PACKETS.iter().any(|(_, tx)| *tx == name) => {
                    own.tx_packets = add(own.tx_packets, rate.rate_per_s);
                }
                (
                    CounterGroup::Pma,
                    "unicast_rcv_packets"
                    | "unicast_xmit_packets"
                    | "multicast_rcv_packets"
                    | "multicast_xmit_packets",
                ) => {}
                // The name check is slow. Once a sum exists, a rate of 0 does not need it.
                _ if counts_events(counter)
                    && (all.errors.is_none() || rate.rate_per_s.is_some_and(|rate| rate.0 > 0))
                    && is_error(&counter.name) =>
                {
                    all.errors = add(all.errors, rate.rate_per_s);
                }
                _ => {}
            }
        }
        Self {
            rx_bps: all.rx_bps.or(own.rx_bps),
            tx_bps: all.tx_bps.or(own.tx_bps),
            rx_packets: all.rx_packets.or(own.rx_packets),
            tx_packets: all.tx_packets.or(own.tx_packets),
            errors: all.errors,
        }
    }

    /// Returns the sum of the traffic of ports.
    pub fn total(ports: impl Iterator<Item = Self>) -> Self {
        ports.fold(Self::default(), |all, port| Self {
            rx_bps: sum(all.rx_bps, port.rx_bps),
            tx_bps: sum(all.tx_bps, port.tx_bps),
            rx_packets: add(all.rx_packets, port.rx_packets),
            tx_packets: add(all.tx_packets, port.tx_packets),
            errors: add(all.errors, port.errors),
        })
    }

    /// Returns the load of the busier direction in percent of the port rate.
    pub fn use_percent(&self, rate_bps: Option<u64>) -> Option<u32> {
        let rate = u128::from(rate_bps.filter(|rate| *rate > 0)?);
        let most = u128::from(self.rx_bps.into_iter().chain(self.tx_bps).max()?);
        // Any traffic counts as at least 1 %.
        let percent = (most * 100 / rate).max(u128::from(most > 0));
        u32::try_from(percent).ok()
    }
}

/// Returns true for a counter of received bytes.
pub(super) fn counts_received_bytes(counter: &Counter) -> bool {
    match counter.group {
        CounterGroup::Pma => counter.name == "port_rcv_data",
        CounterGroup::Hardware => BYTES.iter().any(|(rx, _)| *rx == counter.name),
        _ => false,
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

fn add(one: Option<PerSecond>, other: Option<PerSecond>) -> Option<PerSecond> {
    sum(one.map(|rate| rate.0), other.map(|rate| rate.0)).map(PerSecond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CounterChange, CounterRate, CounterUnit};

    fn counter(group: CounterGroup, name: &str, unit: CounterUnit, per_s: u64) -> Counter {
        let rate = CounterRate {
            change: CounterChange::Counted,
            interval_ns: 1_000_000_000,
            delta: Some(per_s),
            rate_per_s: Some(PerSecond(per_s * 1_000)),
            rate_bps: (unit == CounterUnit::Bytes).then_some(per_s * 8),
        };
        let (name, value) = (name.to_owned(), Some(1_000_000));
        Counter { name, group, value, unit, saturated: false, read_ns: None, rate: Some(rate) }
    }

    #[test]
    fn bytes_of_both_groups_are_not_counted_twice() {
        let counters = [
            counter(CounterGroup::Hardware, "rcvd_bytes", CounterUnit::Bytes, 100),
            counter(CounterGroup::Pma, "port_rcv_data", CounterUnit::Bytes, 100),
            counter(CounterGroup::Hardware, "ip4OutOctets", CounterUnit::Bytes, 3),
            counter(CounterGroup::Hardware, "ip6OutOctets", CounterUnit::Bytes, 4),
        ];
        let traffic = Traffic::of_counters(&counters);
        assert_eq!((traffic.rx_bps, traffic.tx_bps), (Some(800), Some(56)));
        assert_eq!(traffic.errors, None);
    }

    #[test]
    fn only_error_counters_count_as_errors() {
        let unit = CounterUnit::Events;
        let counters = [
            counter(CounterGroup::Pma, "symbol_error", unit, 2),
            counter(CounterGroup::Pma, "link_downed", unit, 0),
            counter(CounterGroup::Hardware, "sent_pkts", unit, 9),
        ];
        let traffic = Traffic::of_counters(&counters);
        assert_eq!(traffic.errors, Some(PerSecond(2_000)));
        assert_eq!(traffic.tx_packets, Some(PerSecond(9_000)));
        // Without error counters the number of errors is unknown.
        let others = [counter(CounterGroup::Hardware, "np_cnp_sent", unit, 9)];
        assert_eq!(Traffic::of_counters(&others).errors, None);
        let none = [counter(CounterGroup::Pma, "symbol_error", unit, 0)];
        assert_eq!(Traffic::of_counters(&none).errors, Some(PerSecond(0)));
    }

    #[test]
    fn a_counter_that_was_reset_has_no_rate_and_is_no_zero() {
        let mut reset = counter(CounterGroup::Pma, "symbol_error", CounterUnit::Events, 0);
        reset.rate = reset.rate.map(|rate| CounterRate {
            change: CounterChange::Reset,
            delta: None,
            rate_per_s: None,
            ..rate
        });
        assert_eq!(Traffic::of_counters(&[reset]).errors, None);
    }

    #[test]
    fn use_of_a_port_with_traffic_is_at_least_1_percent() {
        let traffic = Traffic { rx_bps: Some(1), tx_bps: Some(0), ..Traffic::default() };
        assert_eq!(traffic.use_percent(Some(400_000_000_000)), Some(1));
        assert_eq!(traffic.use_percent(None), None);
        assert_eq!(traffic.use_percent(Some(0)), None);
        assert_eq!(Traffic::default().use_percent(Some(1)), None);
    }
}
