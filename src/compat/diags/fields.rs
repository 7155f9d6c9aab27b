//! Fields of attributes as libibmad prints them: `Name:....value`.
//!
//! Reads the bytes of an attribute, not of a MAD. Used by `smpquery`, `perfquery` and others.

pub(in crate::compat) mod tables;

use super::ValueFormat;
use super::values::value;
use crate::mad::read_bits;

/// Column of the value.
const COLUMN: usize = 32;

/// A field of an attribute.
#[derive(Debug, Clone, Copy)]
pub(in crate::compat) struct Field {
    /// First bit; bit 0 is the most significant bit of byte 0.
    pub(in crate::compat) bit: usize,
    pub(in crate::compat) bits: usize,
    pub(in crate::compat) name: &'static str,
    pub(in crate::compat) show: ValueFormat,
}

impl Field {
    /// Returns the number in the field.
    pub(in crate::compat) fn number(&self, bytes: &[u8]) -> u64 {
        read_bits(bytes, self.bit, self.bits)
    }
}

/// Formats fields, one per line.
pub(in crate::compat) fn dump(bytes: &[u8], fields: &[Field]) -> String {
    dump_values(fields, |field| field.number(bytes))
}

/// Formats fields with computed values, one per line.
pub(in crate::compat) fn dump_values(fields: &[Field], number: impl Fn(&Field) -> u64) -> String {
    let line = |field: &Field| line(field.name, &value(field.show, number(field), field.bits));
    fields.iter().map(line).collect()
}

/// Formats `PortInfo`; the key only if keys are shown.
pub(in crate::compat) fn dump_port_info(bytes: &[u8], shows_keys: bool, indent: &str) -> String {
    let tables = [tables::PORT_INFO, tables::PORT_INFO_EXTENDED_SPEEDS];
    let one = |field: &Field| {
        let shown = if field.name == "Mkey" && !shows_keys {
            "<not displayed>".to_owned()
        } else {
            value(field.show, field.number(bytes), field.bits)
        };
        format!("{indent}{}", line(field.name, &shown))
    };
    tables.iter().flat_map(|table| table.iter()).map(one).collect()
}

fn line(name: &str, shown: &str) -> String {
    let dots = ".".repeat(COLUMN.saturating_sub(name.len()));
    format!("{name}:{dots}{shown}\n")
}

#[test]
fn a_line_has_dots_up_to_its_value() {
    let text = dump(
        &[0, 0, 2],
        &[Field { bit: 16, bits: 8, name: "NodeType", show: ValueFormat::NodeType }],
    );
    assert_eq!(text, "NodeType:........................Switch\n");
}
