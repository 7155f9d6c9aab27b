use std::fmt;

use serde::{Deserialize, Serialize};

use super::{EthtoolQuery, RdmaQuery, RouteQuery};

/// One thing to read. Paths are absolute, as seen on the machine that is asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// The content of a small file.
    File(String),
    /// The names in a directory, sorted, one a line. Names with a line break are left out: the
    /// kernel makes none.
    Dir(String),
    /// The target of a symbolic link, as it is written in the link.
    Link(String),
    /// The JSON of a [`VerbsAnswer`](crate::model::VerbsAnswer).
    Verbs,
    /// The messages of the kernel's RDMA netlink.
    Rdma(RdmaQuery),
    /// The messages of the kernel's network configuration.
    Route(RouteQuery),
    /// The messages of ethtool netlink.
    Ethtool(EthtoolQuery),
}

impl fmt::Display for Question {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) | Self::Dir(path) | Self::Link(path) => out.write_str(path),
            Self::Verbs => out.write_str("libibverbs"),
            Self::Rdma(query) => query.fmt(out),
            Self::Route(query) => query.fmt(out),
            Self::Ethtool(query) => query.fmt(out),
        }
    }
}
