//! Keys and paths of a device's ports, and the numbers in names of files. `sysfs` uses it.

use crate::model::{NodeType, Parts};

/// Facts about a device that the reading of its ports needs.
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
    /// Key, for example `mlx5_0/1`.
    pub(super) key: String,
    /// Path, for example `/sys/class/infiniband/mlx5_0/ports/1`.
    pub(super) path: String,
}

impl PortPath {
    pub(super) fn key(&self, field: &str) -> String {
        format!("{}/{field}", self.key)
    }

    pub(super) fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.path)
    }
}

/// Parses a plain decimal number, as in the names of ports and table entries.
pub(super) fn parse_index(text: &str) -> Option<u32> {
    text.bytes().all(|digit| digit.is_ascii_digit()).then(|| text.parse().ok())?
}

#[test]
fn an_index_is_digits_only() {
    assert_eq!(parse_index("12"), Some(12));
    for text in ["", "+1", "-1", "1a", "99999999999", " 1"] {
        assert_eq!(parse_index(text), None, "{text}");
    }
}
