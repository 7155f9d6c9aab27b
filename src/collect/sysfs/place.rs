//! Where the files of a device and its ports lie, and how numbers stand in their names.

use crate::model::{NodeType, Parts};

/// What the ports of a device need to know of it.
pub(super) struct Parent<'device> {
    pub(super) name: &'device str,
    pub(super) node_type: Option<NodeType>,
    pub(super) driver: Option<&'device str>,
    pub(super) has_one_port: bool,
    /// The netdev below an rxe device.
    pub(super) netdev: Option<&'device str>,
    /// What is wanted.
    pub(super) parts: &'device Parts,
}

/// The keys and paths of one port.
pub(super) struct Place {
    /// `mlx5_0/1`
    pub(super) key: String,
    /// `/sys/class/infiniband/mlx5_0/ports/1`
    pub(super) path: String,
}

impl Place {
    pub(super) fn key(&self, field: &str) -> String {
        format!("{}/{field}", self.key)
    }

    pub(super) fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.path)
    }
}

/// A plain decimal number, as directories of ports and tables are named.
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
