//! Reads Ethernet interfaces by ethtool netlink: link, flow control, error correction, module,
//! counters, DCB. `collect` calls it.
//!
//! Numbers are those of `include/uapi/linux/ethtool_netlink.h` and `ethtool.h`, 5.10 to 7.3. A
//! kernel or driver that does not support a query returns EOPNOTSUPP or EINVAL; the values are
//! then `None`.

mod words;

use super::{Reader, dcb};
use crate::model::{Ethernet, EthernetCounter, Fec, HostReport, Module, NetdevKind, Pause, key};
use crate::source::{
    Answer, Attribute, Attributes, EthtoolCommand, EthtoolQuery, Messages, Question, ReadError,
    bytes_at,
};

/// Bytes of a `struct genlmsghdr` before the attributes.
const GENLMSGHDR: usize = 4;

/// Connectors that take a module: `PORT_FIBRE` and `PORT_DA`.
const TAKES_MODULE: [u64; 2] = [3, 5];

/// Reads the Ethernet settings of the interfaces in the report, except VLANs, which have none.
pub(super) fn read(reader: &mut Reader<'_>, report: &mut HostReport) {
    let Some(netdevs) = &mut report.netdevs else { return };
    netdevs.for_each(|netdev| {
        if netdev.kind == Some(NetdevKind::Ethernet) && netdev.vlan.is_none() {
            netdev.ethernet = read_interface(reader, &netdev.name);
        }
    });
}

/// Reads one interface; `None` if a directory tree or a capture has no ethtool netlink.
fn read_interface(reader: &mut Reader<'_>, netdev: &str) -> Option<Ethernet> {
    let info = reader.ask(&question(netdev, EthtoolCommand::LinkInfo));
    if let Err(error @ ReadError::NotRecorded) = info {
        // One problem stands for all queries of the interface.
        reader.report_unreadable(&key::netdev(netdev, "ethernet"), "ethtool netlink", &error, None);
        return None;
    }
    let mut ethernet = Ethernet::default();
    let info = message(reader, netdev, "connector", EthtoolCommand::LinkInfo, info);
    let connector = info.as_deref().and_then(decode_connector);
    ethernet.connector = connector.map(words::connector);
    let mut ask = |field: &str, command| {
        let answer = reader.ask(&question(netdev, command));
        message(reader, netdev, field, command, answer)
    };
    if let Some(answer) = ask("link_modes", EthtoolCommand::LinkModes) {
        decode_link_modes(&answer, &mut ethernet);
    }
    if let Some(answer) = ask("link_state", EthtoolCommand::LinkState) {
        decode_link_state(&answer, &mut ethernet);
    }
    ethernet.pause = ask("pause", EthtoolCommand::Pause).and_then(|answer| decode_pause(&answer));
    ethernet.fec = ask("fec", EthtoolCommand::Fec).and_then(|answer| decode_fec(&answer));
    ethernet.module =
        ask("module", EthtoolCommand::Module).and_then(|answer| decode_module(&answer));
    // Without root, even interfaces that take no module would return "permission denied".
    if connector.is_some_and(|connector| TAKES_MODULE.contains(&connector))
        && let Some(answer) = ask("module/identifier", EthtoolCommand::ModuleIdentifier)
        && let Some(identifier) = decode_identifier(&answer)
    {
        ethernet.module.get_or_insert_default().identifier = Some(words::module(identifier));
    }
    if let Some(answer) = ask("counters", EthtoolCommand::Counters) {
        ethernet.counters = decode_counters(&answer);
    }
    ethernet.dcb = dcb::read(reader, netdev);
    Some(ethernet)
}

fn question(netdev: &str, command: EthtoolCommand) -> Question {
    Question::Ethtool(EthtoolQuery { command, netdev: netdev.to_owned() })
}

/// Returns a reply if it is a whole message. Otherwise reports a problem, unless the kernel or
/// driver does not support the command.
fn message(
    reader: &mut Reader<'_>,
    netdev: &str,
    field: &str,
    command: EthtoolCommand,
    answer: Answer,
) -> Option<Vec<u8>> {
    let key = key::netdev(netdev, &format!("ethernet/{field}"));
    let source = question(netdev, command).to_string();
    match answer {
        Ok(answer) if attributes(&answer).is_some() && Messages::new(&answer).last_is_whole() => {
            return Some(answer);
        }
        Ok(_) => reader.report_malformed(&key, &source, "no complete message"),
        Err(error) if error.is_invalid() && command.is_optional() => {}
        Err(error) => reader.report_unreadable(&key, &source, &error, None),
    }
    None
}

/// Returns the attributes of a reply, which is one message.
fn attributes(answer: &[u8]) -> Option<Attributes<'_>> {
    let message = Messages::new(answer).next()?;
    Some(Attributes::new(message.payload.get(GENLMSGHDR..)?))
}

fn number(fields: &Attributes<'_>, kind: u16) -> Option<u64> {
    fields.get(kind)?.number()
}

/// Returns a number of 32 bits; `None` for all ones, which mean "unknown".
fn known(fields: &Attributes<'_>, kind: u16) -> Option<u32> {
    u32::try_from(number(fields, kind)?).ok().filter(|number| *number != u32::MAX)
}

fn flag(fields: &Attributes<'_>, kind: u16) -> Option<bool> {
    number(fields, kind).map(|number| number != 0)
}

fn decode_connector(answer: &[u8]) -> Option<u64> {
    number(&attributes(answer)?, 2)
}

fn decode_link_modes(answer: &[u8], ethernet: &mut Ethernet) {
    let Some(fields) = attributes(answer) else { return };
    ethernet.autoneg = flag(&fields, 2);
    let megabits = known(&fields, 5).filter(|speed| *speed > 0);
    ethernet.speed_bps = megabits.map(|speed| u64::from(speed) * 1_000_000);
    ethernet.lanes = known(&fields, 9).filter(|lanes| *lanes > 0);
}

fn decode_link_state(answer: &[u8], ethernet: &mut Ethernet) {
    let Some(fields) = attributes(answer) else { return };
    ethernet.signal_quality = known(&fields, 3);
    let state = number(&fields, 5);
    ethernet.down_reason = state.map(|state| words::down(state, number(&fields, 6)));
    ethernet.down_count = number(&fields, 7);
}

fn decode_pause(answer: &[u8]) -> Option<Pause> {
    let fields = attributes(answer)?;
    let frames = |kind| number(&fields.get(5)?.nest(), kind);
    Some(Pause {
        autoneg: flag(&fields, 2),
        rx: flag(&fields, 3),
        tx: flag(&fields, 4),
        tx_frames: frames(2),
        rx_frames: frames(3),
    })
}

fn decode_fec(answer: &[u8]) -> Option<Fec> {
    let fields = attributes(answer)?;
    // The sum of all lanes comes first, then the count of each lane.
    let blocks =
        |kind| bytes_at(fields.get(5)?.nest().get(kind)?.payload, 0).map(u64::from_ne_bytes);
    let active = known(&fields, 4).filter(|bit| *bit != 0);
    Some(Fec {
        active: active.map(words::fec),
        configured: fields.get(2).into_iter().flat_map(set_bits).map(words::fec).collect(),
        auto: flag(&fields, 3),
        corrected_blocks: blocks(2),
        uncorrectable_blocks: blocks(3),
    })
}

/// Returns the numbers of the bits in a compact bit set.
fn set_bits(set: Attribute<'_>) -> Vec<u32> {
    let Some(value) = set.nest().get(4) else { return Vec::new() };
    // The set consists of words of 32 bits, in the byte order of this machine.
    let of_word = |(index, word): (u32, &[u8])| {
        let bits = word.try_into().map_or(0, u32::from_ne_bytes);
        (0..32).filter(move |bit| bits >> bit & 1 != 0).map(move |bit| index * 32 + bit)
    };
    (0..).zip(value.payload.chunks(4)).flat_map(of_word).collect()
}

/// Decodes the module; `None` if the reply has none of its attributes: no module is plugged in.
fn decode_module(answer: &[u8]) -> Option<Module> {
    let fields = attributes(answer)?;
    let (policy, mode) = (number(&fields, 2), number(&fields, 3));
    (policy.is_some() || mode.is_some()).then(|| Module {
        identifier: None,
        power_policy: policy.map(words::power_policy),
        power_mode: mode.map(words::power_mode),
    })
}

fn decode_identifier(answer: &[u8]) -> Option<u8> {
    attributes(answer)?.get(7)?.payload.first().copied()
}

fn decode_counters(answer: &[u8]) -> Vec<EthernetCounter> {
    let Some(fields) = attributes(answer) else { return Vec::new() };
    let mut counters = Vec::new();
    for group in fields.filter(|attribute| attribute.kind == 4) {
        let Some(id) = number(&group.nest(), 2) else { continue };
        for counter in group.nest().filter(|attribute| attribute.kind == 4) {
            // The only attribute with 8 bytes has the counter's number as its type; padding may
            // precede it.
            let value = counter.nest().find(|value| value.payload.len() == 8);
            let counter = value.and_then(|value| {
                let name = words::counter(id, value.kind)?.to_owned();
                Some(EthernetCounter { name, value: value.number()? })
            });
            counters.extend(counter);
        }
    }
    counters
}

#[cfg(test)]
mod tests;
