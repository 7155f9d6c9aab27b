use std::fmt;

use serde::{Deserialize, Serialize};

use super::{EthtoolQuery, RdmaQuery, RdsList, RouteQuery, SocketQuery};

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
    /// Check that a device file exists and may be opened for reading and writing. The file is
    /// not opened; the answer is empty.
    Access(String),
    /// The JSON of a [`VerbsAnswer`](crate::model::VerbsAnswer).
    Verbs,
    /// The messages of the kernel's RDMA netlink.
    Rdma(RdmaQuery),
    /// The messages of the kernel's network configuration.
    Route(RouteQuery),
    /// The messages of ethtool netlink.
    Ethtool(EthtoolQuery),
    /// The messages of `sock_diag` netlink.
    Sockets(SocketQuery),
    /// Which processes hold sockets and RDMA devices: `4711 socket:[12345]`, or `4711 -` for one that
    /// may not be looked into. Where not all fit, the last line is [`MORE_HOLDERS`](super::MORE_HOLDERS).
    Holders,
    /// What of a process's environment decides on transports, one setting a line. It is not recorded.
    Environment(u32),
    /// The records of the kernel's log whose text starts with this, as `/dev/kmsg` has them.
    KernelLog(String),
    /// A list of the kernel's reliable datagram sockets: the size of an item as four bytes, the lowest
    /// first, and the items.
    Rds(RdsList),
    /// The ports that send management datagrams, one a line: `umad0 mlx5_0 1 InfiniBand 4 5`.
    MadPorts,
    /// The exchanges of a port that [`Source::mads`](super::Source::mads) opened, as a capture
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
            Self::KernelLog(tag) => write!(out, "/dev/kmsg, lines with {tag}"),
            Self::Rds(list) => list.fmt(out),
            Self::MadPorts => out.write_str("/sys/class/infiniband_mad"),
            Self::Mads(umad) => write!(out, "/dev/infiniband/{umad}"),
        }
    }
}
