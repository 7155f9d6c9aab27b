//! Reads the DCB settings of an interface: priorities, flow control, traffic classes. `ethtool`
//! calls it.
//!
//! Layouts are those of `include/uapi/linux/dcbnl.h`. A driver without DCB returns EOPNOTSUPP.

use super::Reader;
use crate::model::{Dcb, DcbApp, DcbBuffers, DcbSelector, Ets, Pfc, key};
use crate::source::{Attributes, Messages, Question, RouteCommand, RouteQuery, bytes_at};

/// Bytes of a `struct dcbmsg` before the attributes.
const DCBMSG: usize = 4;

const DCB_ATTR_IEEE: u16 = 13;
const DCB_ATTR_DCBX: u16 = 14;

const IEEE_ETS: u16 = 1;
const IEEE_PFC: u16 = 2;
const IEEE_APP_TABLE: u16 = 3;
const IEEE_PEER_PFC: u16 = 5;
const DCB_BUFFER: u16 = 10;
const IEEE_APP_TRUST_TABLE: u16 = 11;

/// Reads the DCB settings of an interface; `None` if the driver has none.
pub(super) fn read(reader: &mut Reader<'_>, netdev: &str) -> Option<Dcb> {
    let key = key::netdev(netdev, "ethernet/dcb");
    let question = |command| Question::Route(RouteQuery { command, netdev: netdev.to_owned() });
    let settings = question(RouteCommand::Dcb);
    let answer = reader.read(&key, &settings)?;
    let Some(mut dcb) = decode_ieee(&answer) else {
        reader.report_malformed(&key, &settings.to_string(), "a reply with an unknown layout");
        return None;
    };
    let mode = reader.read(&format!("{key}/dcbx"), &question(RouteCommand::Dcbx));
    dcb.dcbx = mode.as_deref().and_then(decode_dcbx);
    Some(dcb)
}

fn attributes(answer: &[u8]) -> Option<Attributes<'_>> {
    let message = Messages::new(answer).next()?;
    Some(Attributes::new(message.payload.get(DCBMSG..)?))
}

/// Decodes a reply; `None` if any layout is unknown, because half a configuration would mislead.
fn decode_ieee(answer: &[u8]) -> Option<Dcb> {
    if !Messages::new(answer).last_is_whole() {
        return None;
    }
    let ieee = attributes(answer)?.get(DCB_ATTR_IEEE)?.nest();
    let mut dcb = Dcb::default();
    for attribute in ieee {
        match attribute.kind {
            IEEE_ETS => dcb.ets = Some(decode_ets(attribute.payload)?),
            IEEE_PFC => dcb.pfc = Some(decode_pfc(attribute.payload)?),
            IEEE_PEER_PFC => dcb.peer_pfc = Some(decode_pfc(attribute.payload)?),
            IEEE_APP_TABLE => {
                let apps = attribute.nest().map(|app| decode_app(app.payload));
                dcb.apps = apps.collect::<Option<Vec<_>>>()?;
            }
            IEEE_APP_TRUST_TABLE => {
                let selector = |code: u64| u8::try_from(code).map(DcbSelector::from_code).ok();
                let trusted = attribute.nest().map(|one| selector(one.number()?));
                let trusted = trusted.collect::<Option<Vec<_>>>()?;
                dcb.trust = Some(trusted.iter().map(|one| one.word().to_owned()).collect());
            }
            DCB_BUFFER => dcb.buffers = Some(decode_buffers(attribute.payload)?),
            _ => {}
        }
    }
    Some(dcb)
}

/// Decodes `struct ieee_ets`: willing, classes, cbs, then eight bytes each of transmit share,
/// receive share, algorithm and class. The recommended values after them are ignored.
fn decode_ets(bytes: &[u8]) -> Option<Ets> {
    let word = |algorithm: u8| {
        match algorithm {
            0 => "strict",
            1 => "cbs",
            2 => "ets",
            255 => "vendor",
            _ => "unknown",
        }
        .to_owned()
    };
    Some(Ets {
        willing: *bytes.first()? != 0,
        classes: *bytes.get(1)?,
        bandwidth_percent: bytes_at(bytes, 3)?,
        algorithm: bytes_at::<8>(bytes, 19)?.map(word),
        priority_class: bytes_at(bytes, 27)?,
    })
}

/// Decodes `struct ieee_pfc`: capability, enabled, bypass, delay at 4, counts at 8 and 72.
fn decode_pfc(bytes: &[u8]) -> Option<Pfc> {
    let counts = |at: usize| {
        let mut counts = [0; 8];
        for (index, value) in counts.iter_mut().enumerate() {
            *value = u64::from_ne_bytes(bytes_at(bytes, at + index * 8)?);
        }
        Some(counts)
    };
    let enabled = *bytes.get(1)?;
    Some(Pfc {
        capability: *bytes.first()?,
        enabled: (0..8).filter(|priority| enabled >> priority & 1 != 0).collect(),
        delay_bits: u16::from_ne_bytes(bytes_at(bytes, 4)?),
        requests: counts(8)?,
        indications: counts(72)?,
    })
}

/// Decodes `struct dcb_app`: selector, priority, protocol.
fn decode_app(bytes: &[u8]) -> Option<DcbApp> {
    Some(DcbApp {
        selector: DcbSelector::from_code(*bytes.first()?),
        priority: *bytes.get(1)?,
        protocol: u16::from_ne_bytes(bytes_at(bytes, 2)?),
    })
}

/// Decodes `struct dcbnl_buffer`.
fn decode_buffers(bytes: &[u8]) -> Option<DcbBuffers> {
    let number = |at| bytes_at(bytes, at).map(u32::from_ne_bytes);
    let mut size_bytes = [0; 8];
    for (index, size) in size_bytes.iter_mut().enumerate() {
        *size = number(8 + index * 4)?;
    }
    Some(DcbBuffers { priority_buffer: bytes_at(bytes, 0)?, size_bytes, total_bytes: number(40)? })
}

/// Returns the words of the `DCB_CAP_DCBX_*` bits that are set.
fn decode_dcbx(answer: &[u8]) -> Option<Vec<String>> {
    const WORDS: [&str; 5] = ["host", "lld_managed", "cee", "ieee", "static"];
    let mode = attributes(answer)?.get(DCB_ATTR_DCBX)?.number()?;
    let is_set = |(bit, _): &(u32, &&str)| mode >> bit & 1 != 0;
    Some((0..).zip(&WORDS).filter(is_set).map(|(_, word)| (*word).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn structures_that_are_too_short_are_refused() {
        assert_eq!(decode_ets(&[0; 34]), None);
        assert_eq!(decode_pfc(&[0; 135]), None);
        assert_eq!(decode_app(&[5, 3, 26]), None);
        assert_eq!(decode_buffers(&[0; 43]), None);
    }

    #[test]
    fn flow_control_is_on_for_the_priorities_of_its_bits() {
        let mut bytes = [0; 136];
        bytes[..2].copy_from_slice(&[8, 0b0000_1001]);
        bytes[32..40].copy_from_slice(&77_u64.to_ne_bytes());
        let pfc = decode_pfc(&bytes).unwrap();
        assert_eq!((pfc.capability, pfc.enabled, pfc.requests[3]), (8, vec![0, 3], 77));
    }

    proptest! {
        #[test]
        fn no_bytes_can_hang_or_crash_it(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = (decode_ieee(&bytes), decode_dcbx(&bytes), decode_ets(&bytes));
            let _ = (decode_pfc(&bytes), decode_app(&bytes), decode_buffers(&bytes));
        }
    }
}
