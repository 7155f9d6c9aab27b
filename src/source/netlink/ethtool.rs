//! Queries ethtool by generic netlink. `live` sends the queries; `collect` decodes the replies.

use std::fmt;
use std::time::Duration;

use rustix::net::netlink;
use serde::{Deserialize, Serialize};

use super::attributes::{push_bytes, push_text, push_u32};
use super::{Attributes, Exchange, Messages};
use crate::source::{Answer, ReadError};
use crate::sys::Errno;

/// Generic netlink family that lists all families (`include/uapi/linux/genetlink.h`).
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

/// Bytes of a `struct genlmsghdr`: command, version, two reserved.
const GENLMSGHDR: usize = 4;

/// `NLA_F_NESTED`; without this flag the family rejects a nested attribute.
const NESTED: u16 = 0x8000;

const ETHTOOL_A_HEADER_DEV_NAME: u16 = 2;
const ETHTOOL_A_HEADER_FLAGS: u16 = 3;
/// Flag that requests sets of bits as bits, not as names.
const COMPACT_BITSETS: u32 = 1;
/// Flag that requests counters, too.
const STATS: u32 = 4;

/// Query to ethtool netlink.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EthtoolQuery {
    /// Command of the query.
    pub command: EthtoolCommand,
    /// Name of the interface.
    pub netdev: String,
}

commands! {
    /// Read commands of ethtool netlink that are used (`ETHTOOL_MSG_*_GET`), each with its number.
    pub enum EthtoolCommand {
        /// Connector.
        LinkInfo = (2, "connector"),
        /// Speed, lanes, negotiation.
        LinkModes = (4, "link modes"),
        /// State of the link, and the reason if it is down.
        LinkState = (6, "link state"),
        /// Link-level flow control; kernel 5.10 and later.
        Pause = (21, "pause"),
        /// Forward error correction; kernel 5.13 and later.
        Fec = (29, "FEC"),
        /// First byte of the module's memory; kernel 5.13 and later, and root only.
        ModuleIdentifier = (31, "module type"),
        /// Counters of IEEE 802.3 and RMON; kernel 5.13 and later.
        Counters = (32, "counters"),
        /// Power mode of the module; kernel 5.17 and later.
        Module = (34, "module power"),
    }
}

impl EthtoolCommand {
    /// True if kernels or drivers may not support the command. The other commands are as old as
    /// ethtool netlink.
    pub fn is_optional(self) -> bool {
        !matches!(self, Self::LinkInfo | Self::LinkModes | Self::LinkState)
    }
}

impl fmt::Display for EthtoolQuery {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ethtool netlink, {} of {}", self.command.words(), self.netdev)
    }
}

/// Returns the number that this machine's kernel assigned to the ethtool family.
///
/// All families are listed: a query for one name would make the kernel load a module for it.
pub(in crate::source) fn family(timeout: Duration) -> Result<u16, ReadError> {
    let (protocol, payload) = (Some(netlink::GENERIC), vec![CTRL_CMD_GETFAMILY, 1, 0, 0]);
    let list = Exchange { protocol, kind: GENL_ID_CTRL, is_dump: true, payload }.run(timeout)?;
    find_family(&list).ok_or(ReadError::Errno(Errno::NO_ENTRY))
}

fn find_family(list: &[u8]) -> Option<u16> {
    Messages::new(list).find_map(|message| {
        let attributes = Attributes::new(message.payload.get(GENLMSGHDR..)?);
        let name = attributes.get(CTRL_ATTR_FAMILY_NAME)?.text()?;
        let number = attributes.get(CTRL_ATTR_FAMILY_ID)?.number()?;
        u16::try_from(number).ok().filter(|_| name == "ethtool")
    })
}

pub(in crate::source) fn ask(query: &EthtoolQuery, family: u16, timeout: Duration) -> Answer {
    let (protocol, payload) = (Some(netlink::GENERIC), payload(query));
    Exchange { protocol, kind: family, is_dump: false, payload }.run(timeout)
}

fn payload(query: &EthtoolQuery) -> Vec<u8> {
    let mut header = Vec::new();
    push_text(&mut header, ETHTOOL_A_HEADER_DEV_NAME, &query.netdev);
    // Commands without counters of their own reject the counter flag (EINVAL, seen on 6.1).
    let has_counters = matches!(query.command, EthtoolCommand::Pause | EthtoolCommand::Fec);
    let flags = if has_counters { COMPACT_BITSETS | STATS } else { COMPACT_BITSETS };
    push_u32(&mut header, ETHTOOL_A_HEADER_FLAGS, flags);
    let mut payload = vec![query.command as u8, 1, 0, 0];
    // The header is attribute 1, except for the command of counters.
    let kind = if query.command == EthtoolCommand::Counters { 2 } else { 1 };
    push_bytes(&mut payload, kind | NESTED, &header);
    match query.command {
        EthtoolCommand::Counters => {
            let mut groups = Vec::new();
            // A bit set without a mask, with all of its four bits.
            push_bytes(&mut groups, 1, &[]);
            push_u32(&mut groups, 2, 4);
            push_u32(&mut groups, 4, 0b1111);
            push_bytes(&mut payload, 3 | NESTED, &groups);
        }
        EthtoolCommand::ModuleIdentifier => {
            let (offset, length, page, bank, address) = (2, 3, 4, 5, 6);
            push_u32(&mut payload, offset, 0);
            push_u32(&mut payload, length, 1);
            push_bytes(&mut payload, page, &[0]);
            push_bytes(&mut payload, bank, &[0]);
            // Bus address of the first memory of every module.
            push_bytes(&mut payload, address, &[0x50]);
        }
        _ => {}
    }
    payload
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_question_is_laid_out_as_the_kernel_wants_it() {
        let query = EthtoolQuery { command: EthtoolCommand::Pause, netdev: "eth0".into() };
        let expected = [
            &[21, 1, 0, 0][..],
            &[24, 0, 1, 0x80],
            &[9, 0, 2, 0, b'e', b't', b'h', b'0', 0, 0, 0, 0],
            &[8, 0, 3, 0, 5, 0, 0, 0],
        ];
        assert_eq!(payload(&query), expected.concat());
        let query = EthtoolQuery { command: EthtoolCommand::LinkState, ..query };
        assert!(payload(&query).ends_with(&[8, 0, 3, 0, 1, 0, 0, 0]));
    }

    #[test]
    fn this_kernel_lists_the_family_or_has_none() {
        match family(Duration::from_secs(2)) {
            Ok(number) => assert!(number > GENL_ID_CTRL),
            Err(error) => assert!(error.is_absent(), "{error}"),
        }
    }

    #[test]
    fn this_kernel_reports_the_link_state_of_the_loopback_interface() {
        let timeout = Duration::from_secs(2);
        let query = EthtoolQuery { command: EthtoolCommand::LinkState, netdev: "lo".into() };
        match family(timeout).and_then(|family| ask(&query, family, timeout)) {
            Ok(answer) => assert!(Messages::new(&answer).last_is_whole() && !answer.is_empty()),
            Err(error) => assert!(error.is_absent(), "{error}"),
        }
    }

    proptest! {
        #[test]
        fn no_list_of_families_can_crash_it(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = find_family(&bytes);
        }
    }
}
