use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Exchange;
use super::attributes::push_text;
use crate::source::Answer;

/// Message types of `include/uapi/linux/rtnetlink.h`.
const RTM_GETLINK: u16 = 18;

/// `IFLA_IFNAME` of `include/uapi/linux/if_link.h`.
const IFLA_IFNAME: u16 = 3;

/// Bytes of a `struct ifinfomsg`, all zero where the name says which interface is meant.
const IFINFOMSG: usize = 16;

/// One question to the kernel's network configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RouteQuery {
    /// What is asked.
    pub command: RouteCommand,
    /// Name of the interface.
    pub netdev: String,
}

/// The read commands of rtnetlink that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteCommand {
    /// The interface itself (`RTM_GETLINK`).
    Link,
}

impl fmt::Display for RouteQuery {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self.command {
            RouteCommand::Link => "settings",
        };
        write!(out, "rtnetlink, {words} of {}", self.netdev)
    }
}

/// Asks this machine's kernel.
pub(in crate::source) fn ask(query: &RouteQuery, patience: Duration) -> Answer {
    let mut payload = vec![0; IFINFOMSG];
    push_text(&mut payload, IFLA_IFNAME, &query.netdev);
    Exchange { protocol: None, kind: RTM_GETLINK, is_dump: false, payload }.run(patience)
}
