//! Encodes and decodes vendor MADs of `ibping`: a request, and a reply with the name of the host.
//! `ping` uses it.
//!
//! A vendor MAD of classes 0x30 to 0x4f has an RMPP header at byte 24 and a reserved byte. The
//! OUI follows at byte 37, then 216 bytes of data (specification 16.5). The layout of the data is
//! that of `ibping` in infiniband-diags.

use super::{Class, Header, MAD_BYTES, Method, Status};

/// OUI of the class: `OpenIB`.
pub const PING_OUI: [u8; 3] = [0x00, 0x14, 0x05];

/// Offsets of the OUI and of the data.
const OUI: usize = 37;
const DATA: usize = 40;
/// Attribute modifier of a request whose reply has the method Send; `ibping` ignores it.
const WANTS_SEND: u32 = 1;

/// Method of the reply to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PingReplyBy {
    /// `GetResp`, which the kernel matches with the request; the method of `ibping`.
    #[default]
    Response,
    /// Send, which the kernel does not match with a request.
    ///
    /// On RoCE with IPv4 GIDs the kernel drops responses, because it compares the destination of
    /// the reply with the destination of the request.
    Send,
}

/// Returns a request.
pub fn ping_request(transaction: u32, reply_by: PingReplyBy) -> [u8; MAD_BYTES] {
    let modifier = if reply_by == PingReplyBy::Send { WANTS_SEND } else { 0 };
    let header = Header::request(Class::PING, Method::GET, 0, modifier);
    let mut mad = Header { transaction: transaction.into(), ..header }.to_mad();
    mad[OUI..DATA].copy_from_slice(&PING_OUI);
    mad
}

/// Returns the reply to a request; `None` if the bytes are no request of this class and OUI.
///
/// The reply has all 64 bits of the transaction ID of the request, because the kernel of the
/// requester finds its agent by the upper half. A name that is too long is truncated.
pub fn ping_reply(request: &[u8], host: &str) -> Option<[u8; MAD_BYTES]> {
    let header = Header::decode(request).ok().filter(|header| is_ping(header, request))?;
    if header.is_response || header.method != Method::GET {
        return None;
    }
    let mut mad = *request.first_chunk::<MAD_BYTES>()?;
    let (method, is_response) = match header.modifier {
        WANTS_SEND => (Method::SEND, false),
        _ => (Method::GET, true),
    };
    Header { method, is_response, ..header }.encode(&mut mad);
    let data = &mut mad[DATA..];
    data.fill(0);
    // A zero byte ends the name.
    let length = (0..data.len()).rev().find(|&length| host.is_char_boundary(length)).unwrap_or(0);
    let name = host.as_bytes().get(..length).unwrap_or(host.as_bytes());
    data[..name.len()].copy_from_slice(name);
    Some(mad)
}

/// Returns the name of the replying host, or the status of a refusal. Returns `None` if the bytes
/// are no reply to the request with this transaction ID. Replaces invalid UTF-8.
///
/// If no process serves the class, the Linux kernel returns the request as a response. Its status
/// is that of an unsupported attribute (`generate_unmatched_resp`,
/// drivers/infiniband/core/mad.c).
pub fn ping_replied(mad: &[u8], transaction: u32) -> Option<Result<String, Status>> {
    let header = Header::decode(mad).ok().filter(|header| is_ping(header, mad))?;
    let is_reply = header.is_response || header.method == Method::SEND;
    if !is_reply || header.low_transaction() != transaction {
        return None;
    }
    if !header.status.is_ok() {
        return Some(Err(header.status));
    }
    let data = &mad[DATA..MAD_BYTES];
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    Some(Ok(String::from_utf8_lossy(&data[..end]).into_owned()))
}

fn is_ping(header: &Header, mad: &[u8]) -> bool {
    header.class == Class::PING && mad.get(OUI..DATA) == Some(&PING_OUI)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a request of `ibping` from infiniband-diags 44.0.
    fn of_ibping() -> [u8; MAD_BYTES] {
        let mut mad = [0; MAD_BYTES];
        mad[..4].copy_from_slice(&[1, 0x32, 1, 1]);
        mad[8..16].copy_from_slice(&[0, 1, 0, 2, 0x12, 0x34, 0x56, 0x78]);
        mad[37..40].copy_from_slice(&[0, 0x14, 5]);
        mad
    }

    #[test]
    fn a_request_is_that_of_ibping() {
        let request = ping_request(0x1234_5678, PingReplyBy::Response);
        let mut theirs = of_ibping();
        theirs[8..12].fill(0);
        assert_eq!(request, theirs);
    }

    #[test]
    fn a_reply_has_the_transaction_of_the_request_and_the_name_of_the_host() {
        let request = of_ibping();
        let reply = ping_reply(&request, "n2.example").unwrap();
        assert_eq!((reply[3], &reply[8..16]), (0x81, &request[8..16]));
        assert_eq!(&reply[37..51], b"\0\x14\x05n2.example\0");
        assert_eq!(ping_replied(&reply, 0x1234_5678), Some(Ok("n2.example".into())));
        assert_eq!(ping_replied(&reply, 0x1234_5679), None, "another transaction");
        assert_eq!(ping_replied(&request, 0x1234_5678), None, "a request is no reply");
    }

    #[test]
    fn a_reply_has_the_method_that_was_requested() {
        let reply = |by| ping_reply(&ping_request(7, by), "n2").unwrap();
        assert_eq!(reply(PingReplyBy::Response)[3], 0x81);
        let sent = reply(PingReplyBy::Send);
        assert_eq!(sent[3], 3);
        assert_eq!(ping_replied(&sent, 7), Some(Ok("n2".into())));
        assert_eq!(ping_reply(&sent, "n3"), None, "no reply to a reply");
        assert_eq!(ping_reply(&reply(PingReplyBy::Response), "n3"), None);
    }

    #[test]
    fn a_request_that_the_kernel_returns_is_a_refusal() {
        let mut mad = of_ibping();
        (mad[3], mad[5]) = (0x81, 0x0c);
        let status = ping_replied(&mad, 0x1234_5678).unwrap().unwrap_err();
        assert_eq!(status.text(), "unsupported attribute");
    }

    #[test]
    fn a_long_name_is_cut_and_ends() {
        let name = |host: &str| ping_replied(&ping_reply(&of_ibping(), host)?, 0x1234_5678)?.ok();
        assert_eq!(name(&"n".repeat(500)), Some("n".repeat(215)));
        // 108 letters of two bytes need 216 bytes, but the last byte must be zero.
        assert_eq!(name(&"é".repeat(300)), Some("é".repeat(107)));
        assert_eq!(name(""), Some(String::new()));
    }

    #[test]
    fn other_mads_get_no_reply() {
        assert_eq!(ping_reply(&[], "n2"), None);
        assert_eq!(ping_reply(&of_ibping()[..255], "n2"), None);
        for (at, byte) in [(1, 0x33), (39, 6), (3, 2), (3, 0x81), (0, 0x80)] {
            let mut other = of_ibping();
            other[at] = byte;
            assert_eq!(ping_reply(&other, "n2"), None, "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn a_name_is_read_back(host in "[a-z0-9.-]{0,215}", transaction: u32) {
            let request = ping_request(transaction, PingReplyBy::Response);
            let reply = ping_reply(&request, &host).unwrap();
            prop_assert_eq!(ping_replied(&reply, transaction), Some(Ok(host)));
        }

        #[test]
        fn no_bytes_panic(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..300),
            host in any::<String>(),
            is_ping: bool,
        ) {
            if is_ping && bytes.len() > DATA {
                bytes[..4].copy_from_slice(&[1, 0x32, 1, 1]);
                bytes[OUI..DATA].copy_from_slice(&PING_OUI);
            }
            let _ = (ping_reply(&bytes, &host), ping_replied(&bytes, 0));
        }
    }
}
