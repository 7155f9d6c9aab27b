//! Reads from rtnetlink the VLAN ID of an interface. `sysfs` calls it.

use super::Reader;
use crate::model::key;
use crate::source::{Attributes, Messages, Question, RouteCommand, RouteQuery};

/// Bytes of a `struct ifinfomsg` before the attributes.
const IFINFOMSG: usize = 16;

/// Attributes of `include/uapi/linux/if_link.h`.
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_VLAN_ID: u16 = 1;

/// Reads the VLAN ID of an interface. `/proc/net/vlan` shows it only to root.
pub(super) fn read_vlan_id(reader: &mut Reader<'_>, netdev: &str) -> Option<u16> {
    let key = key::netdev(netdev, "vlan/id");
    let query = RouteQuery { command: RouteCommand::Link, netdev: netdev.to_owned() };
    let question = Question::Route(query);
    let answer = reader.answer(&key, &question)?;
    let id = decode_vlan_id(&answer);
    if id.is_none() {
        reader.malformed(&key, &question.to_string(), "a link without a VLAN id");
    }
    id
}

fn decode_vlan_id(answer: &[u8]) -> Option<u16> {
    let message = Messages::new(answer).next()?;
    let attributes = Attributes::new(message.payload.get(IFINFOMSG..)?);
    let data = attributes.get(IFLA_LINKINFO)?.nest().get(IFLA_INFO_DATA)?;
    u16::try_from(data.nest().get(IFLA_VLAN_ID)?.number()?).ok()
}
