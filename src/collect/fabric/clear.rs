//! Sets error counters of ports to zero. `fabric errors --clear` uses this module, and it is the
//! only code that changes something in a subnet.
//!
//! A request names the counters of one attribute of one port by select bits. Other counters keep
//! their values.

use super::super::reader::Reader;
use super::ports::{self, SweepPort};
use super::requests::Requests;
use crate::mad::{
    ERROR_COUNTERS, MAD_BYTES, PortCounters, PortReceiveErrorDetails, PortTransmitDiscardDetails,
    performance_clear,
};
use crate::model::{HostReport, Via};
use crate::source::{Mads, Question, ReadError, Source, parse_mad_ports};

/// Counters of `PortCounters` in the order of the bits of `CounterSelect2`.
const PORT_COUNTERS_2: [&str; 1] = ["PortXmitWait"];

/// Counters of `PortRcvErrorDetails` in the order of its select bits (16.1.4.1).
const RECEIVE_ERRORS: [&str; 6] = [
    "PortLocalPhysicalErrors",
    "PortMalformedPktErrors",
    "PortBufferOverrunErrors",
    "PortDLIDMappingErrors",
    "PortVLMappingErrors",
    "PortLoopingErrors",
];

/// Counters of `PortXmitDiscardDetails` in the order of its select bits (16.1.4.2).
const DISCARDS: [&str; 4] = [
    "PortInactiveDiscards",
    "PortNeighborMTUDiscards",
    "PortSwLifetimeLimitDiscards",
    "PortSwHOQLifetimeLimitDiscards",
];

/// Counters of one port to set to zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortToClear {
    /// LID of the node; for a switch the LID of port 0.
    pub lid: u16,
    /// Number of the port.
    pub port: u8,
    /// Names of the counters in the specification.
    pub counters: Vec<String>,
}

/// Counters that keep their values, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotCleared {
    /// LID of the node.
    pub lid: u16,
    /// Number of the port.
    pub port: u8,
    /// Names of the counters.
    pub counters: Vec<String>,
    /// Reason why they keep their values.
    pub why: String,
}

/// Sets counters to zero, from one port of this machine. Returns the counters that keep their
/// values.
///
/// # Errors
/// The port of the machine does not exist or cannot be opened.
pub fn clear_counters(
    source: &dyn Source,
    device: &str,
    port: u32,
    to_clear: &[PortToClear],
) -> Result<Vec<NotCleared>, ReadError> {
    let known = parse_mad_ports(&source.ask(&Question::MadPorts)?);
    let mut reader = Reader::new(source);
    let report = HostReport::empty("", Via::Local);
    let opened = ports::open(&mut reader, &report, known).unwrap_or_default();
    let is_own = |one: &SweepPort<'_>| one.facts.device == device && one.facts.port == port;
    let own = opened.into_iter().find(is_own);
    clear(&mut own.ok_or(ReadError::NotRecorded)?.mads, to_clear)
}

fn clear(mads: &mut dyn Mads, ports: &[PortToClear]) -> Result<Vec<NotCleared>, ReadError> {
    let mut requests = Requests::new(mads);
    let mut kept = Vec::new();
    for port in ports {
        let mut unknown = port.counters.clone();
        for (mad, counters) in requests_of(port.port, &mut unknown) {
            requests.ask(Some(port.lid), mad, (port, counters))?;
        }
        if !unknown.is_empty() {
            kept.push(not_cleared(port, unknown, "rdmactl has no request that clears it"));
        }
    }
    while let Some(((port, counters), answer)) = requests.next()? {
        if let Err(error) = answer {
            kept.push(not_cleared(port, counters, &error.to_string()));
        }
    }
    for (port, counters) in requests.into_unanswered() {
        kept.push(not_cleared(port, counters, "interrupted"));
    }
    Ok(kept)
}

/// Returns the requests for counters of a port, each with its counters. Counters that no request
/// can clear stay in the list.
fn requests_of(port: u8, counters: &mut Vec<String>) -> Vec<([u8; MAD_BYTES], Vec<String>)> {
    let mut take = |names: &[&str]| {
        let (taken, rest): (Vec<String>, Vec<String>) =
            counters.drain(..).partition(|counter| names.contains(&counter.as_str()));
        *counters = rest;
        let bits = taken.iter().filter_map(|counter| names.iter().position(|name| name == counter));
        (bits.fold(0, |mask: u16, bit| mask | 1 << bit), taken)
    };
    let (select, mut first) = take(&ERROR_COUNTERS);
    let (select_2, second) = take(&PORT_COUNTERS_2);
    first.extend(second);
    let (errors_select, errors) = take(&RECEIVE_ERRORS);
    let (discards_select, discards) = take(&DISCARDS);
    let select_2 = u8::try_from(select_2).unwrap_or(0);
    let counters = PortCounters { port, select, select_2, ..PortCounters::default() };
    let error_details =
        PortReceiveErrorDetails { port, select: errors_select, ..Default::default() };
    let discard_details =
        PortTransmitDiscardDetails { port, select: discards_select, ..Default::default() };
    let all = [
        (performance_clear(&counters), first),
        (performance_clear(&error_details), errors),
        (performance_clear(&discard_details), discards),
    ];
    all.into_iter().filter(|(_, counters)| !counters.is_empty()).collect()
}

fn not_cleared(port: &PortToClear, counters: Vec<String>, why: &str) -> NotCleared {
    NotCleared { lid: port.lid, port: port.port, counters, why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::fabric::fake_mads::FakeMads;
    use crate::mad::{Class, Header, MadAttribute, Method, performance_attribute};
    use crate::source::{MadAnswer, MadError};

    /// Replies to requests of LID 3 only.
    fn reply(lid: Option<u16>, mad: [u8; MAD_BYTES]) -> MadAnswer {
        if lid == Some(3) { Ok(mad.to_vec()) } else { Err(MadError::NoReply) }
    }

    fn port(lid: u16, port: u8, counters: &[&str]) -> PortToClear {
        PortToClear { lid, port, counters: counters.iter().map(|name| (*name).into()).collect() }
    }

    #[test]
    fn only_the_named_counters_are_selected() {
        let mut mads = FakeMads::new(reply);
        let named = ["LinkDownedCounter", "PortXmitWait", "PortMalformedPktErrors", "VL15Dropped"];
        assert_eq!(clear(&mut mads, &[port(3, 7, &named)]).unwrap(), []);
        let [(_, first), (_, second)] = mads.asked[..] else { panic!("{:?}", mads.asked) };
        let header = Header::decode(&first).unwrap();
        assert_eq!((header.class, header.method), (Class::PERFORMANCE, Method::SET));
        let counters: PortCounters = performance_attribute(&first).unwrap();
        let (select, select_2) = (1 << 2 | 1 << 11, 1);
        let expected = PortCounters { port: 7, select, select_2, ..PortCounters::default() };
        assert_eq!(counters, expected);
        assert_eq!(Header::decode(&second).unwrap().attribute, PortReceiveErrorDetails::ID);
        let details: PortReceiveErrorDetails = performance_attribute(&second).unwrap();
        assert_eq!((details.port, details.select), (7, 1 << 1));
    }

    #[test]
    fn a_signal_leaves_the_counters_as_they_are() {
        let mut stopped = FakeMads::stopped_after(0, reply);
        let kept = clear(&mut stopped, &[port(3, 1, &["PortRcvErrors"])]).unwrap();
        let [one] = &kept[..] else { panic!("{kept:?}") };
        assert_eq!((one.port, &*one.why), (1, "interrupted"));
    }

    #[test]
    fn counters_that_keep_their_values_are_returned() {
        let mut mads = FakeMads::new(reply);
        let ports = [port(9, 1, &["PortRcvErrors"]), port(3, 2, &["QP1Dropped"])];
        let kept = clear(&mut mads, &ports).unwrap();
        let text = |kept: &NotCleared| format!("{} {:?}: {}", kept.lid, kept.counters, kept.why);
        assert_eq!(
            kept.iter().map(text).collect::<Vec<_>>(),
            [
                "3 [\"QP1Dropped\"]: rdmactl has no request that clears it",
                "9 [\"PortRcvErrors\"]: no reply"
            ]
        );
    }
}
