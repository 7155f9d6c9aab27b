//! Reads the `P_Key` table of a port. `sysfs` calls it.

use super::super::Reader;
use super::port_path::parse_hex;
use crate::model::{LinkLayer, Membership, PKey};

/// Maximum number of entries that are read; tables of InfiniBand cards have 128.
const MAX_ENTRIES: usize = 4096;
/// Bits of a `P_Key` with the number of the partition. The highest bit is the membership.
const PARTITION_BITS: u16 = 0x7fff;

/// Reads the entries that name a partition; `None` if the port has no table.
pub(super) fn read_table(
    reader: &mut Reader<'_>,
    key: &str,
    folder: &str,
    layer: Option<LinkLayer>,
) -> Option<Vec<PKey>> {
    let mut entries = if layer == Some(LinkLayer::Ethernet) {
        // On Ethernet only the default partition exists. Some drivers reported that partition
        // 65535 times.
        vec![read_entry(reader, key, folder, 0)?]
    } else {
        let mut indices = reader.indices(key, folder)?;
        reader.truncate(key, folder, MAX_ENTRIES, &mut indices);
        indices.into_iter().filter_map(|index| read_entry(reader, key, folder, index)).collect()
    };
    entries.retain(|entry| entry.value & PARTITION_BITS != 0);
    Some(entries)
}

fn read_entry(reader: &mut Reader<'_>, key: &str, folder: &str, index: u32) -> Option<PKey> {
    let value = reader.value(&format!("{key}/{index}"), &format!("{folder}/{index}"), parse)?;
    let is_full = value & !PARTITION_BITS != 0;
    let membership = if is_full { Membership::Full } else { Membership::Limited };
    Some(PKey { index, value, membership })
}

/// Parses `0xffff`.
fn parse(text: &str) -> Option<u16> {
    parse_hex(text).filter(|_| text.len() == 6)?.try_into().ok()
}

#[test]
fn a_pkey_has_four_digits() {
    assert_eq!(parse("0x7fff"), Some(0x7fff));
    for text in ["", "7fff", "0x", "0x7ffff", "0x+fff", "0xfffg"] {
        assert_eq!(parse(text), None, "{text}");
    }
}
