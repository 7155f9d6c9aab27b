//! The counters of a port (`counters/`, `hw_counters/`, `cm_*`) or of a whole device
//! (`hw_counters/`).
//!
//! `counters/` exists only where the driver answers performance management MADs; each file then
//! costs one firmware command (`drivers/infiniband/core/sysfs.c`, `show_pma_counter`).

use super::super::Reader;
use crate::model::{Counter, CounterGroup, CounterUnit};
use crate::source::{Question, ReadError};

/// More than any driver has: hfi1 shows some hundreds.
const MOST: usize = 4096;

/// The largest values of the counters that stop instead of wrapping (IBA 16.1.3.5), by their names
/// in `core/sysfs.c`. The data and packet counters are of 64 bits on all but old cards.
const LIMITS: [(&str, u64); 13] = [
    ("local_link_integrity_errors", 0xf),
    ("excessive_buffer_overrun_errors", 0xf),
    ("link_error_recovery", 0xff),
    ("link_downed", 0xff),
    ("port_xmit_constraint_errors", 0xff),
    ("port_rcv_constraint_errors", 0xff),
    ("symbol_error", 0xffff),
    ("port_rcv_errors", 0xffff),
    ("port_rcv_remote_physical_errors", 0xffff),
    ("port_rcv_switch_relay_errors", 0xffff),
    ("port_xmit_discards", 0xffff),
    ("VL15_dropped", 0xffff),
    ("port_xmit_wait", 0xffff_ffff),
];

/// Reads the counters of a port below `path`; problems are those of `key`.
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

/// Reads the counters of a whole device.
pub(super) fn read_device(reader: &mut Reader<'_>, key: &str, path: &str) -> Vec<Counter> {
    read_group(reader, key, path, CounterGroup::Hardware)
}

fn read_group(reader: &mut Reader<'_>, key: &str, path: &str, group: CounterGroup) -> Vec<Counter> {
    let folder = match group {
        CounterGroup::Pma => format!("{path}/counters"),
        CounterGroup::Hardware => format!("{path}/hw_counters"),
        // Their words are the names of their directories, there while ib_cm is loaded.
        messages => format!("{path}/{}", messages.word()),
    };
    let key = format!("{key}/counters");
    let mut names = reader.names(&key, &folder).unwrap_or_default();
    // How long the values are kept, which is no counter.
    names.retain(|name| name != "lifespan");
    if names.len() > MOST {
        reader.too_long(&key, &folder, MOST);
        names.truncate(MOST);
    }
    let read = |name: String| {
        let key = format!("{key}/{name}");
        let path = format!("{folder}/{name}");
        let answer = reader.ask(&Question::File(path.clone()));
        // The driver has the file, and its firmware no such counter: qedr says so to all.
        let has_none = answer.as_ref().is_err_and(ReadError::is_invalid);
        let is_gone = answer.as_ref().is_err_and(ReadError::is_absent);
        let text = if has_none { None } else { reader.text_of(&key, &path, answer) };
        // What kernels before 4.x said instead of an error.
        if has_none || is_gone || text.as_deref() == Some("N/A (no PMA)") {
            return None;
        }
        let value = text.and_then(|text| {
            let value = text.parse().ok();
            if value.is_none() {
                reader.malformed(&key, &path, &text);
            }
            value
        });
        Some(counter(name, group, value))
    };
    names.into_iter().filter_map(read).collect()
}

fn counter(name: String, group: CounterGroup, value: Option<u64>) -> Counter {
    let is_pma = group == CounterGroup::Pma;
    let is_words = is_pma && name.ends_with("_data");
    let limit = LIMITS.iter().find(|(known, _)| is_pma && *known == name).map(|(_, limit)| *limit);
    // Old cards stop at 32 bits, new ones count in 64.
    let limit = limit.or(is_words.then_some(0xffff_ffff));
    Counter {
        group,
        saturated: value.is_some() && value == limit,
        unit: match name.as_str() {
            _ if is_words || name.ends_with("_bytes") => CounterUnit::Bytes,
            "port_xmit_wait" => CounterUnit::Ticks,
            _ => CounterUnit::Events,
        },
        value: if is_words { value.map(|words| words.saturating_mul(4)) } else { value },
        name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_bytes_and_full_counters_are_marked() {
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
