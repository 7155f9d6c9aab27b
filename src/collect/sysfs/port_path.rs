//! Keys and paths of a device's ports, and the forms of numbers in sysfs. `sysfs` uses it.

use super::super::Reader;
use crate::model::{NodeType, Parts};

pub(super) struct DeviceFacts<'device> {
    pub(super) name: &'device str,
    pub(super) node_type: Option<NodeType>,
    pub(super) driver: Option<&'device str>,
    pub(super) has_one_port: bool,
    /// Netdev below an rxe device; `None` for other devices.
    pub(super) netdev: Option<&'device str>,
    pub(super) parts: &'device Parts,
}

pub(super) struct PortPath {
    /// For example `mlx5_0/1`.
    pub(super) key: String,
    /// For example `/sys/class/infiniband/mlx5_0/ports/1`.
    pub(super) path: String,
}

impl PortPath {
    pub(super) fn key(&self, field: &str) -> String {
        format!("{}/{field}", self.key)
    }

    pub(super) fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.path)
    }

    /// Reads the value of a field whose file has the same name.
    pub(super) fn value<T>(
        &self,
        reader: &mut Reader<'_>,
        field: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        reader.value(&self.key(field), &self.path(field), parse)
    }
}

/// Parses a plain decimal number, as in the names of ports and table entries.
pub(super) fn parse_index(text: &str) -> Option<u32> {
    text.bytes().all(|digit| digit.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Parses hexadecimal digits behind `0x`.
pub(super) fn parse_hex(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x")?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Parses a number with at most one decimal into tenths. Integers are exact, also for 2.5.
pub(super) fn parse_tenths(text: &str) -> Option<u64> {
    let (whole, tenth) = text.split_once('.').unwrap_or((text, "0"));
    let [digit @ b'0'..=b'9'] = tenth.as_bytes() else { return None };
    Some(u64::from(parse_index(whole)?) * 10 + u64::from(digit - b'0'))
}

#[test]
fn an_index_is_digits_only() {
    assert_eq!(parse_index("12"), Some(12));
    for text in ["", "+1", "-1", "1a", "99999999999", " 1"] {
        assert_eq!(parse_index(text), None, "{text}");
    }
}
