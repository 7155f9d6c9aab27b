//! Fields of attributes as libibmad prints them: `Name:....value`.
//!
//! Reads the bytes of an attribute, not of a MAD. Used by `smpquery`, `perfquery` and others.

pub(crate) mod tables;

use super::ValueFormat;
use super::values::value;
use crate::mad::read_bits;

/// Column of the value.
const COLUMN: usize = 32;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    /// First bit; bit 0 is the most significant bit of byte 0.
    pub(crate) bit: usize,
    pub(crate) bits: usize,
    pub(crate) name: &'static str,
    /// Number after the name, for a field of a series.
    index: Option<usize>,
    pub(crate) show: ValueFormat,
}

impl Field {
    pub(crate) fn number(&self, bytes: &[u8]) -> u64 {
        read_bits(bytes, self.bit, self.bits)
    }

    fn line(&self, shown: &str) -> String {
        let name =
            format!("{}{}", self.name, self.index.map_or(String::new(), |it| it.to_string()));
        format!("{name}:{}{shown}\n", ".".repeat(COLUMN.saturating_sub(name.len())))
    }

    fn line_of(&self, number: u64) -> String {
        self.line(&value(self.show, number, self.bits))
    }
}

/// Formats fields, one per line.
pub(crate) fn dump(bytes: &[u8], fields: &[Field]) -> String {
    fields.iter().map(|field| field.line_of(field.number(bytes))).collect()
}

/// Formats fields with computed values, one per line.
pub(crate) fn dump_values(fields: &[Field], numbers: &[u64]) -> String {
    fields.iter().zip(numbers).map(|(field, number)| field.line_of(*number)).collect()
}

/// Formats `PortInfo`; the key only if keys are shown.
pub(crate) fn dump_port_info(bytes: &[u8], shows_keys: bool, indent: &str) -> String {
    let line = |field: &Field| {
        let shown = if field.name == "Mkey" && !shows_keys {
            "<not displayed>".to_owned()
        } else {
            value(field.show, field.number(bytes), field.bits)
        };
        format!("{indent}{}", field.line(&shown))
    };
    tables::PORT_INFO.iter().chain(tables::PORT_INFO_EXTENDED_SPEEDS).map(line).collect()
}

#[test]
fn a_line_has_dots_up_to_its_value() {
    let text = dump(&[0, 0, 2], &tables::NODE_INFO[2..3]);
    assert_eq!(text, "NodeType:........................Switch\n");
}
