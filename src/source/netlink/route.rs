//! Queries rtnetlink. `live` sends the queries; `collect` decodes the replies.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Exchange;
use super::attributes::push_text;
use crate::source::Answer;

/// Message types of `include/uapi/linux/rtnetlink.h`.
const RTM_GETLINK: u16 = 18;
const RTM_GETDCB: u16 = 78;

/// Commands of `include/uapi/linux/dcbnl.h`.
const DCB_CMD_IEEE_GET: u8 = 21;
const DCB_CMD_GDCBX: u8 = 22;
const DCB_ATTR_IFNAME: u16 = 1;

/// `IFLA_IFNAME` of `include/uapi/linux/if_link.h`.
const IFLA_IFNAME: u16 = 3;

/// Bytes of a `struct ifinfomsg`, all zero if an attribute names the interface.
const IFINFOMSG: usize = 16;

/// Query to the kernel's network configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RouteQuery {
    /// Command of the query.
    pub command: RouteCommand,
    /// Name of the interface.
    pub netdev: String,
}

/// Read commands of rtnetlink that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteCommand {
    /// Settings of the interface (`RTM_GETLINK`).
    Link,
    /// Priorities, flow control and traffic classes (`RTM_GETDCB`, IEEE).
    Dcb,
    /// DCBX mode: host or firmware as the agent, IEEE or CEE as the version (`RTM_GETDCB`).
    Dcbx,
}

impl fmt::Display for RouteQuery {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self.command {
            RouteCommand::Link => "settings",
            RouteCommand::Dcb => "DCB",
            RouteCommand::Dcbx => "DCBX mode",
        };
        write!(out, "rtnetlink, {words} of {}", self.netdev)
    }
}

pub(in crate::source) fn ask(query: &RouteQuery, timeout: Duration) -> Answer {
    // A struct dcbmsg has family, command and two reserved bytes.
    let (kind, mut payload, name) = match query.command {
        RouteCommand::Link => (RTM_GETLINK, vec![0; IFINFOMSG], IFLA_IFNAME),
        RouteCommand::Dcb => (RTM_GETDCB, vec![0, DCB_CMD_IEEE_GET, 0, 0], DCB_ATTR_IFNAME),
        RouteCommand::Dcbx => (RTM_GETDCB, vec![0, DCB_CMD_GDCBX, 0, 0], DCB_ATTR_IFNAME),
    };
    push_text(&mut payload, name, &query.netdev);
    Exchange { protocol: None, kind, is_dump: false, payload }.run(timeout)
}
