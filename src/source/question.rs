//! Questions that a [`Source`](super::Source) replies to.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{EthtoolQuery, RdmaQuery, RdsList, RouteQuery, SocketQuery};

/// Item to read. Paths are absolute, as seen on the machine that replies.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Content of a file, up to the limit of the source.
    File(String),
    /// Sorted names in a directory, one a line. Names with a line break are omitted: the kernel
    /// makes none.
    Dir(String),
    /// Target of a symbolic link, as it is written in the link.
    Link(String),
    /// Check that a device file exists and may be opened for reading and writing. The file is not
    /// opened; the reply is empty.
    Access(String),
    /// JSON of a [`VerbsAnswer`](crate::model::VerbsAnswer).
    Verbs,
    /// Messages of the kernel's RDMA netlink.
    Rdma(RdmaQuery),
    /// Messages of the kernel's network configuration (rtnetlink).
    Route(RouteQuery),
    /// Messages of ethtool netlink.
    Ethtool(EthtoolQuery),
    /// Messages of `sock_diag` netlink.
    Sockets(SocketQuery),
    /// Processes that hold sockets and RDMA devices: `4711 socket:[12345]`, or `4711 -` for a
    /// process that the caller may not read. The last line of an incomplete list is
    /// [`MORE_HOLDERS`](super::MORE_HOLDERS).
    Holders,
    /// Settings in the environment of a process that decide on transports, one a line. The reply
    /// is not recorded.
    Environment(u32),
    /// Records of the kernel log whose text starts with one of these tags, as `/dev/kmsg` has them.
    /// The string has one tag a line.
    KernelLog(String),
    /// List of the kernel's reliable datagram sockets (RDS): the size of an item as four bytes,
    /// little-endian, and the items.
    Rds(RdsList),
    /// Ports that send management datagrams, one a line: `umad0 mlx5_0 1 InfiniBand 4 5`.
    MadPorts,
    /// Exchanges of a port that [`Source::mads`](super::Source::mads) opened, as a capture
    /// records them.
    Mads(String),
}

impl fmt::Display for Question {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) | Self::Dir(path) | Self::Link(path) | Self::Access(path) => {
                out.write_str(path)
            }
            Self::Verbs => out.write_str("libibverbs"),
            Self::Rdma(query) => query.fmt(out),
            Self::Route(query) => query.fmt(out),
            Self::Ethtool(query) => query.fmt(out),
            Self::Sockets(query) => query.fmt(out),
            Self::Holders => out.write_str("/proc/PID/fd"),
            Self::Environment(pid) => write!(out, "/proc/{pid}/environ"),
            Self::KernelLog(tags) => {
                write!(out, "/dev/kmsg, lines that start with {}", any_of(tags))
            }
            Self::Rds(list) => list.fmt(out),
            Self::MadPorts => out.write_str("/sys/class/infiniband_mad"),
            Self::Mads(umad) => write!(out, "/dev/infiniband/{umad}"),
        }
    }
}

/// Formats tags of the kernel log, one a line, as `"a", "b" or "c"`. Omits blanks at their ends.
fn any_of(tags: &str) -> String {
    let tags: Vec<String> = tags.lines().map(|tag| format!("{:?}", tag.trim())).collect();
    match tags.as_slice() {
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        tags => tags.concat(),
    }
}

#[test]
fn tags_of_the_kernel_log_are_quoted_without_blanks() {
    let shown = |tags: &str| Question::KernelLog(tags.into()).to_string();
    assert_eq!(shown("beegfs: "), "/dev/kmsg, lines that start with \"beegfs:\"");
    assert_eq!(
        shown("irdma \nmlx5_core \nNETDEV WATCHDOG: "),
        "/dev/kmsg, lines that start with \"irdma\", \"mlx5_core\" or \"NETDEV WATCHDOG:\""
    );
}
