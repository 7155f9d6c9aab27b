//! Queries RDMA netlink. `live` sends the queries; `collect` decodes the replies.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use rustix::net::netlink;
use serde::{Deserialize, Serialize};

use super::Exchange;
use super::attributes::push_u32;
use crate::source::{Answer, ReadError};
use crate::sys::Errno;

/// `RDMA_NL_NLDEV` of `include/uapi/rdma/rdma_netlink.h`, in the upper bits of a message's type.
const NLDEV: u16 = 5 << 10;
pub(super) const DEV_INDEX: u16 = 1;
const PORT_INDEX: u16 = 3;
const STAT_MODE: u16 = 74;
const STAT_RES: u16 = 75;
/// List of queue pairs, and value of `STAT_RES` for queue pairs.
pub(super) const RES_QP: u16 = 19;
/// Value of `STAT_MODE`. The kernel returns the mode whatever the value is.
const MANUAL: u32 = 2;

/// Query to the kernel's RDMA netlink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RdmaQuery {
    /// Command of the query.
    pub command: RdmaCommand,
    /// Kernel's index of the device; `None` for all devices.
    pub device: Option<u32>,
    /// Number of the port; `None` if the query is not about one port.
    pub port: Option<u32>,
}

commands! {
    /// Read commands of RDMA netlink (`enum rdma_nldev_command`), each with its number.
    pub enum RdmaCommand {
        /// All devices.
        Devices = (1, "devices"),
        /// Ports of a device.
        Ports = (5, "ports"),
        /// Settings of the whole RDMA core.
        System = (6, "settings"),
        /// Number of objects of each device.
        Summary = (9, "summary"),
        /// Queue pairs of a device.
        QueuePairs = (10, "queue pairs"),
        /// Connection identifiers of a device.
        CmIds = (11, "connections"),
        /// Completion queues of a device.
        CompletionQueues = (12, "completion queues"),
        /// Memory regions of a device.
        MemoryRegions = (13, "memory regions"),
        /// Protection domains of a device.
        ProtectionDomains = (14, "protection domains"),
        /// Hardware counters of a port, with the optional ones that sysfs lacks.
        Counters = (17, "counters"),
        /// Mode in which queue pairs of a port are bound to counters. It is the command of the
        /// counters with another object.
        CounterMode = (0x111, "counter mode"),
        /// User contexts of a device; kernel 6.1 and later.
        Contexts = (22, "contexts"),
        /// Shared receive queues of a device; kernel 6.1 and later.
        SharedReceiveQueues = (23, "shared receive queues"),
    }
}

impl RdmaCommand {
    /// True if only kernels from 6.1 support the command.
    pub fn is_since_6_1(self) -> bool {
        matches!(self, Self::Contexts | Self::SharedReceiveQueues)
    }

    fn is_dump(self) -> bool {
        !matches!(self, Self::System | Self::Counters | Self::CounterMode)
    }
}

impl fmt::Display for RdmaQuery {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RDMA netlink, {}", self.command.words())?;
        if let Some(device) = self.device {
            write!(out, " of device {device}")?;
        }
        self.port.map_or(Ok(()), |port| write!(out, ", port {port}"))
    }
}

/// Directory that exists while the RDMA core is loaded, also if it is built into the kernel: the
/// module has a parameter (`force_mr` in `drivers/infiniband/core/rw.c`).
pub const CORE_MODULE: &str = "/sys/module/ib_core";

pub(in crate::source) fn ask(query: RdmaQuery, timeout: Duration) -> Answer {
    // Opening the socket would load ib_core (MODULE_ALIAS_NET_PF_PROTO); reading loads nothing.
    if !Path::new(CORE_MODULE).is_dir() && !Path::new("/sys/class/infiniband").is_dir() {
        return Err(ReadError::Errno(Errno::NO_ENTRY));
    }
    let mut payload = Vec::new();
    if let Some(device) = query.device {
        push_u32(&mut payload, DEV_INDEX, device);
    }
    if let Some(port) = query.port {
        push_u32(&mut payload, PORT_INDEX, port);
    }
    if query.command == RdmaCommand::CounterMode {
        push_u32(&mut payload, STAT_MODE, MANUAL);
        push_u32(&mut payload, STAT_RES, RES_QP.into());
    }
    // The upper byte of a number only distinguishes variants of a command.
    let kind = NLDEV | query.command as u16 & 0xff;
    let (protocol, is_dump) = (Some(netlink::RDMA), query.command.is_dump());
    Exchange { protocol, kind, is_dump, payload }.run(timeout)
}
