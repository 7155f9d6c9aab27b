//! How much goes through a port, and what goes wrong there, under the drivers' different names.

use std::borrow::Cow;

use crate::model::{Counter, CounterGroup, CounterUnit, PerSecond, Port};

/// What went through a port between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Bits received for each second; `None` in a first reading, and where the driver counts no bytes.
    pub rx_bps: Option<u64>,
    /// Bits sent; `None` as above.
    pub tx_bps: Option<u64>,
    /// Packets received for each second; `None` where nothing counts them.
    pub rx_packets: Option<PerSecond>,
    /// Packets sent; `None` as above.
    pub tx_packets: Option<PerSecond>,
    /// Errors of all kinds for each second; `None` while no counter of errors has a rate.
    pub errors: Option<PerSecond>,
}

impl Traffic {
    /// The traffic of a port, as far as its counters have rates.
    #[must_use]
    pub fn of(port: &Port) -> Self {
        port.counters.as_deref().map(Self::of_counters).unwrap_or_default()
    }

    fn of_counters(counters: &[Counter]) -> Self {
        let mut all = Self::default();
        // A driver may count the same in both groups: the specification's counters go first.
        let (mut own, mut packets) = (Self::default(), Self::default());
        for counter in counters {
            let Some(rate) = &counter.rate else { continue };
            match (counter.group, counter.name.as_str()) {
                (CounterGroup::Pma, "port_rcv_data") => all.rx_bps = rate.rate_bps,
                (CounterGroup::Pma, "port_xmit_data") => all.tx_bps = rate.rate_bps,
                (CounterGroup::Pma, "port_rcv_packets") => all.rx_packets = rate.rate_per_s,
                (CounterGroup::Pma, "port_xmit_packets") => all.tx_packets = rate.rate_per_s,
                // bnxt_re, EFA and mana; erdma; ionic; rxe; irdma counts both versions of IP.
                (
                    CounterGroup::Hardware,
                    "rx_bytes"
                    | "rx_bytes_cnt"
                    | "rx_rdma_ucast_bytes"
                    | "rcvd_bytes"
                    | "ip4InOctets"
                    | "ip6InOctets",
                ) => own.rx_bps = sum(own.rx_bps, rate.rate_bps),
                (
                    CounterGroup::Hardware,
                    "tx_bytes"
                    | "tx_bytes_cnt"
                    | "tx_rdma_ucast_bytes"
                    | "sent_bytes"
                    | "ip4OutOctets"
                    | "ip6OutOctets",
                ) => own.tx_bps = sum(own.tx_bps, rate.rate_bps),
                (
                    CounterGroup::Hardware,
                    "rx_pkts" | "rx_packets" | "rx_packets_cnt" | "rx_pkt" | "rx_rdma_ucast_pkts"
                    | "rcvd_pkts" | "ip4InPkts" | "ip6InPkts",
                ) => packets.rx_packets = add(packets.rx_packets, rate.rate_per_s),
                (
                    CounterGroup::Hardware,
                    "tx_pkts" | "tx_packets" | "tx_packets_cnt" | "tx_pkt" | "tx_rdma_ucast_pkts"
                    | "sent_pkts" | "ip4OutPkts" | "ip6OutPkts",
                ) => packets.tx_packets = add(packets.tx_packets, rate.rate_per_s),
                // Most that counts at all is traffic: its name need not be looked at for long.
                (
                    CounterGroup::Pma,
                    "unicast_rcv_packets"
                    | "unicast_xmit_packets"
                    | "multicast_rcv_packets"
                    | "multicast_xmit_packets",
                ) => {}
                _ if counts_events(counter) => {
                    let is_more = |rate: &PerSecond| rate.0 > 0 && is_error(&counter.name);
                    let more = rate.rate_per_s.filter(is_more);
                    all.errors = add(all.errors, Some(more.unwrap_or(PerSecond(0))));
                }
                _ => {}
            }
        }
        Self {
            rx_bps: all.rx_bps.or(own.rx_bps),
            tx_bps: all.tx_bps.or(own.tx_bps),
            rx_packets: all.rx_packets.or(packets.rx_packets),
            tx_packets: all.tx_packets.or(packets.tx_packets),
            errors: all.errors,
        }
    }

    /// The busier direction in percent of the port's rate.
    #[must_use]
    pub fn use_percent(&self, rate_bps: Option<u64>) -> Option<u32> {
        let rate = u128::from(rate_bps.filter(|rate| *rate > 0)?);
        let most = u128::from(self.rx_bps.into_iter().chain(self.tx_bps).max()?);
        // What flows at all uses something.
        let percent = (most * 100 / rate).max(u128::from(most > 0));
        u32::try_from(percent).ok()
    }
}

/// The counters of errors that counted since the reading before.
pub fn errors(port: &Port) -> impl Iterator<Item = &Counter> {
    let has_counted = |counter: &&Counter| {
        let delta = counter.rate.and_then(|rate| rate.delta);
        counts_events(counter) && delta.is_some_and(|delta| delta > 0) && is_error(&counter.name)
    };
    port.counters.as_deref().unwrap_or_default().iter().filter(has_counted)
}

fn counts_events(counter: &Counter) -> bool {
    let is_of_traffic = matches!(counter.group, CounterGroup::Pma | CounterGroup::Hardware);
    is_of_traffic && counter.unit == CounterUnit::Events
}

/// Whether a name tells of something that should not happen, whatever driver gave it.
#[must_use]
pub fn is_error(name: &str) -> bool {
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
    let name = if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    };
    // Not rxe's ack_deferred.
    let has_error = name.match_indices("err").any(|(at, _)| {
        let rest = &name[at + 3..];
        rest.is_empty() || rest.starts_with(['o', 's', '_', ' '])
    });
    has_error || TELLING.iter().any(|word| name.contains(word))
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
    use crate::model::{CounterChange, CounterRate};

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
    fn errors_are_told_by_their_names() {
        for name in ["symbol_error", "InOptErrors", "link_downed", "rx_err_pkt", "send_rnr_err"] {
            assert!(is_error(name), "{name}");
        }
        for name in ["ack_deferred", "port_rcv_packets", "np_cnp_sent", "rdma_sends"] {
            assert!(!is_error(name), "{name}");
        }
        let unit = CounterUnit::Events;
        let counters = [
            counter(CounterGroup::Pma, "symbol_error", unit, 2),
            counter(CounterGroup::Hardware, "sent_pkts", unit, 9),
        ];
        let traffic = Traffic::of_counters(&counters);
        assert_eq!(traffic.errors, Some(PerSecond(2_000)));
        assert_eq!(traffic.tx_packets, Some(PerSecond(9_000)));
    }

    #[test]
    fn what_flows_at_all_uses_something() {
        let traffic = Traffic { rx_bps: Some(1), tx_bps: Some(0), ..Traffic::default() };
        assert_eq!(traffic.use_percent(Some(400_000_000_000)), Some(1));
        assert_eq!(traffic.use_percent(None), None);
        assert_eq!(traffic.use_percent(Some(0)), None);
        assert_eq!(Traffic::default().use_percent(Some(1)), None);
    }
}
