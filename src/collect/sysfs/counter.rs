//! Reads the counters of a port (`counters/`, `hw_counters/`, `cm_*`) or of a whole device
//! (`hw_counters/`). `sysfs` calls it.
//!
//! `counters/` exists only if the driver replies to performance management MADs. Reading one of
//! its files costs one firmware command (`drivers/infiniband/core/sysfs.c`, `show_pma_counter`).

use super::super::Reader;
use crate::model::{Counter, CounterGroup, CounterUnit};
use crate::source::Question;

/// Limit of counters in a group; hfi1 has a few hundred.
const MAX_COUNTERS: usize = 4096;

/// Largest values of the counters that stop instead of wrapping (IBA 16.1.3.5), by their names in
/// `core/sysfs.c`. The counters of data and packets have 32 bits on old cards (qib, mthca), 64
/// bits on all other cards.
const LIMITS: [(u64, &str); 6] = [
    (0xf, "local_link_integrity_errors excessive_buffer_overrun_errors"),
    (0xff, "link_error_recovery link_downed"),
    (0xff, "port_xmit_constraint_errors port_rcv_constraint_errors"),
    (0xffff, "symbol_error port_rcv_errors port_rcv_remote_physical_errors VL15_dropped"),
    (0xffff, "port_rcv_switch_relay_errors port_xmit_discards"),
    (0xffff_ffff, "port_xmit_wait port_xmit_data port_rcv_data port_xmit_packets port_rcv_packets"),
];

/// Reads the counters of a port from directories below `path`. Keys of problems begin with `key`.
pub(super) fn read_port(reader: &mut Reader<'_>, key: &str, path: &str) -> Vec<Counter> {
    let groups = [
        CounterGroup::Pma,
        CounterGroup::Hardware,
        CounterGroup::CmTxMsgs,
        CounterGroup::CmTxRetries,
        CounterGroup::CmRxMsgs,
        CounterGroup::CmRxDuplicates,
    ];
    groups.into_iter().flat_map(|group| read_group(reader, key, path, group)).collect()
}

/// Reads one group of the counters of a port or a device.
pub(super) fn read_group(
    reader: &mut Reader<'_>,
    key: &str,
    path: &str,
    group: CounterGroup,
) -> Vec<Counter> {
    let folder = match group {
        CounterGroup::Pma => format!("{path}/counters"),
        CounterGroup::Hardware => format!("{path}/hw_counters"),
        // The words of the other groups are their directories, which exist while ib_cm is loaded.
        messages => format!("{path}/{}", messages.word()),
    };
    let key = format!("{key}/counters");
    let mut names = reader.names(&key, &folder).unwrap_or_default();
    // lifespan is not a counter, but the time for which the kernel caches counters.
    names.retain(|name| name != "lifespan");
    reader.truncate(&key, &folder, MAX_COUNTERS, &mut names);
    let read = |name: String| {
        let key = format!("{key}/{name}");
        let path = format!("{folder}/{name}");
        let question = Question::File(path.clone());
        let answer = reader.ask(&question);
        let read_ns = reader.source.answered_ns(&question);
        // Firmware may lack the counter of a file: qedr returns EINVAL for each file.
        if answer.as_ref().is_err_and(|error| error.is_invalid() || error.is_absent()) {
            return None;
        }
        let text = reader.decode_text(&key, &path, answer);
        // Kernels of the 3.x and 4.x series return this text instead of an error.
        if text.as_deref() == Some("N/A (no PMA)") {
            return None;
        }
        let value =
            text.and_then(|text| reader.parse(&key, &path, &text, |text| text.parse().ok()));
        Some(Counter { read_ns, ..counter(name, group, value) })
    };
    names.into_iter().filter_map(read).collect()
}

/// Returns a counter with its value in its unit. A PMA counter at its limit is saturated.
fn counter(name: String, group: CounterGroup, value: Option<u64>) -> Counter {
    let is_pma = group == CounterGroup::Pma;
    // port_xmit_data and port_rcv_data count 4-byte words (IBA 16.1.3.5); the report has bytes.
    let is_words = is_pma && name.ends_with("_data");
    let is_listed = |names: &str| names.split(' ').any(|known| known == name);
    let limit = LIMITS.iter().find(|(_, names)| is_listed(names)).map(|(limit, _)| *limit);
    let is_full = |value| value == u64::MAX || Some(value) == limit;
    Counter {
        group,
        saturated: is_pma && value.is_some_and(is_full),
        unit: match name.as_str() {
            _ if is_words => CounterUnit::Bytes,
            "port_xmit_wait" if is_pma => CounterUnit::Ticks,
            _ if is_pma => CounterUnit::Events,
            name => unit_of_driver(name),
        },
        value: if is_words { value.map(|words| words.saturating_mul(4)) } else { value },
        name,
        read_ns: None,
        rate: None,
    }
}

/// Derives the unit of a driver-specific counter from its name: `tx_bytes`, erdma's
/// `tx_bytes_cnt`, irdma's `ip4InOctets`, `bnxt_re`'s `active_qps`.
fn unit_of_driver(name: &str) -> CounterUnit {
    let is_bytes = ["_bytes", "_bytes_cnt", "Octets"].iter().any(|end| name.ends_with(end));
    let is_level = ["active_", "watermark_"].iter().any(|start| name.starts_with(start))
        || matches!(name, "current_rate" | "db_fifo_register");
    match (is_bytes, is_level) {
        (true, _) => CounterUnit::Bytes,
        (false, true) => CounterUnit::Level,
        (false, false) => CounterUnit::Events,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_of_a_driver_counter_follows_from_its_name() {
        let unit = |name: &str| counter(name.into(), CounterGroup::Hardware, Some(1)).unit;
        for name in ["tx_bytes", "tx_bytes_cnt", "ip4InOctets", "rx_roce_only_bytes"] {
            assert_eq!(unit(name), CounterUnit::Bytes, "{name}");
        }
        for name in ["active_qps", "watermark_mrs", "current_rate"] {
            assert_eq!(unit(name), CounterUnit::Level, "{name}");
        }
        for name in ["tx_pkts", "Rcvd Out of order packets", "port_xmit_wait", "sent_cnps"] {
            assert_eq!(unit(name), CounterUnit::Events, "{name}");
        }
    }

    #[test]
    fn a_full_counter_of_32_or_64_bits_is_saturated() {
        let full =
            |name: &str, value| counter(name.into(), CounterGroup::Pma, Some(value)).saturated;
        // qib reported all four counters with 32 bits.
        for name in ["port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets"] {
            assert!(full(name, 0xffff_ffff) && full(name, u64::MAX), "{name}");
            assert!(!full(name, 0x1_0000_0000), "{name}");
        }
        assert!(!full("unicast_xmit_packets", 0xffff_ffff));
    }

    #[test]
    fn words_become_bytes_and_full_counters_are_saturated() {
        let pma = |name: &str, value| counter(name.into(), CounterGroup::Pma, Some(value));
        let data = pma("port_xmit_data", 1_000);
        assert_eq!(
            (data.value, data.unit, data.saturated),
            (Some(4_000), CounterUnit::Bytes, false)
        );
        assert!(pma("port_rcv_data", 0xffff_ffff).saturated);
        assert!(pma("link_downed", 255).saturated && !pma("link_downed", 254).saturated);
        assert!(pma("excessive_buffer_overrun_errors", 15).saturated);
        assert!(!pma("port_rcv_packets", 255).saturated);
        let driver = counter("link_downed".into(), CounterGroup::Hardware, Some(255));
        assert!(!driver.saturated);
    }
}
