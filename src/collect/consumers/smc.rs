//! Reads SMC sockets: their mode (RDMA or TCP) and the reason of a fallback to TCP. `consumers`
//! calls it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Reader, c_text, has_module};
use crate::model::{Consumers, KnownFix, SmcMode, SmcSocket, SmcState};
use crate::source::{Attributes, Messages, Question, SocketQuery, bytes_at};

/// Bytes of a `struct smc_diag_msg` (`include/uapi/linux/smc_diag.h`): family, state, mode,
/// shutdown, the two ends as in `inet_diag`, user, inode as 64 bits.
const MESSAGE: usize = 4 + 48 + 4 + 8;
const LGRINFO: u16 = 2;
const FALLBACK: u16 = 5;

const MAX_SOCKETS: usize = 65_536;

/// Reads the sockets if `smc` and `smc_diag` are loaded: the query would load `smc_diag`.
pub(super) fn read(reader: &mut Reader<'_>, found: &mut Consumers) {
    let (key, query) = ("consumers/smc", Question::Sockets(SocketQuery::Smc));
    if !has_module(reader, key, "smc") {
        return;
    }
    if !has_module(reader, key, "smc_diag") {
        let detail =
            "the kernel lists SMC sockets only with the module smc_diag, which is not loaded";
        return reader.report_missing(key, &query.to_string(), detail, KnownFix::LoadSmcDiag);
    }
    let Some(answer) = reader.read(key, &query) else { return };
    if !Messages::new(&answer).last_is_whole() {
        return reader.report_malformed(key, &query.to_string(), "an incomplete message");
    }
    let all = Messages::new(&answer).filter_map(|message| decode(message.payload));
    let mut all: Vec<SmcSocket> = all.collect();
    reader.truncate(key, &query.to_string(), MAX_SOCKETS, &mut all);
    found.smc = Some(all);
}

fn decode(payload: &[u8]) -> Option<SmcSocket> {
    let (fixed, attributes) = (payload.get(..MESSAGE)?, Attributes::new(payload.get(MESSAGE..)?));
    let fallback = attributes.get(FALLBACK).map(|attribute| attribute.payload);
    let code = |at| bytes_at(fallback?, at).map(u32::from_ne_bytes).filter(|code| *code != 0);
    // struct smc_diag_lgrinfo begins with its link: a number, the device in 64 bytes, the port.
    let link = attributes.get(LGRINFO).map(|attribute| attribute.payload);
    let name = link.and_then(|link| link.get(1..65)).map(c_text);
    Some(SmcSocket {
        state: state(fixed[1]),
        mode: mode(fixed[2]),
        local: end(fixed, 4, 8)?,
        remote: end(fixed, 6, 24)?,
        inode: u64::from_ne_bytes(bytes_at(fixed, 56)?),
        reason: code(0),
        peer_diagnosis: code(4),
        port: link.and_then(|link| link.get(65)).map(|port| u32::from(*port)),
        device: name.filter(|name| !name.is_empty()),
    })
}

/// Returns the state of a code of `enum smc_state` (`net/smc/smc.h`).
fn state(code: u8) -> SmcState {
    match code {
        1 => SmcState::Active,
        2 => SmcState::Init,
        7 => SmcState::Closed,
        10 => SmcState::Listen,
        20..=27 => SmcState::Closing,
        _ => SmcState::Other,
    }
}

/// Returns the mode of `SMC_DIAG_MODE_SMCR` and the codes after it.
fn mode(code: u8) -> SmcMode {
    match code {
        0 => SmcMode::SmcR,
        1 => SmcMode::Tcp,
        2 => SmcMode::SmcD,
        _ => SmcMode::Other,
    }
}

/// No field holds the address family: in an IPv4 address, the last three words are zero.
fn end(fixed: &[u8], port: usize, address: usize) -> Option<SocketAddr> {
    let port = u16::from_be_bytes(bytes_at(fixed, port)?);
    let ip = match bytes_at::<16>(fixed, address)? {
        [a, b, c, d, rest @ ..] if rest == [0; 12] => Ipv4Addr::new(a, b, c, d).into(),
        bytes => IpAddr::from(Ipv6Addr::from(bytes)).to_canonical(),
    };
    Some(SocketAddr::new(ip, port))
}
