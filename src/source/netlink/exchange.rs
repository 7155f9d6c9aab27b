use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto,
    socket_with,
};

use super::message::{HEADER, Messages, take};
use crate::source::{Answer, ReadError};
use crate::sys::Errno;

/// The most bytes of one answer: 64 devices with 10,000 queue pairs each need less, and so do 50,000
/// sockets.
const LIMIT: usize = 32 * 1024 * 1024;

/// How long one datagram may take; the kernel answers at once unless a driver hangs.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a datagram may take when nearly no time is left: no wait would be one for ever.
const MIN: Duration = Duration::from_millis(1);

/// How often a dump that changed under way is asked for again.
const ATTEMPTS: u32 = 3;

/// Message types and flags of `include/uapi/linux/netlink.h`.
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_DUMP: u16 = 0x300;

/// One request and what belongs to its answer.
pub(in crate::source) struct Exchange {
    /// The netlink family's protocol; rtnetlink is the one without a number.
    pub(in crate::source) protocol: Option<Protocol>,
    /// `nlmsg_type` of the request.
    pub(in crate::source) kind: u16,
    /// Whether all objects are asked for.
    pub(in crate::source) is_dump: bool,
    /// What follows the header.
    pub(in crate::source) payload: Vec<u8>,
}

/// How reading an answer ended.
enum End {
    Complete,
    /// Objects came or went while they were listed: some may be missing.
    Interrupted,
}

impl Exchange {
    /// Asks the kernel; the data messages of the answer, one behind the other. What changed under
    /// way every time is marked by the flag of its last message.
    pub(in crate::source) fn run(&self, patience: Duration) -> Answer {
        let mut answer = Vec::new();
        for _ in 0..ATTEMPTS {
            answer.clear();
            match self.attempt(&mut answer, patience.clamp(MIN, PATIENCE))? {
                End::Complete => break,
                End::Interrupted => {}
            }
        }
        Ok(answer)
    }

    fn attempt(&self, answer: &mut Vec<u8>, patience: Duration) -> Result<End, ReadError> {
        let kind = SocketType::RAW;
        let family = AddressFamily::NETLINK;
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC, self.protocol)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(patience))?;
        let kernel = SocketAddrNetlink::new(0, 0);
        sendto(&socket, &self.request()?, SendFlags::empty(), &kernel)?;
        listen(&socket, answer, patience)
    }

    fn request(&self) -> Result<Vec<u8>, ReadError> {
        let length =
            u32::try_from(HEADER + self.payload.len()).map_err(|_big| ReadError::TooBig)?;
        let how = if self.is_dump { NLM_F_DUMP } else { NLM_F_ACK };
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend_from_slice(&self.kind.to_ne_bytes());
        bytes.extend_from_slice(&(NLM_F_REQUEST | how).to_ne_bytes());
        bytes.extend_from_slice(&SEQUENCE.to_ne_bytes());
        bytes.extend_from_slice(&0_u32.to_ne_bytes());
        bytes.extend_from_slice(&self.payload);
        Ok(bytes)
    }
}

/// Reads datagrams until the one that ends the answer.
fn listen(socket: &OwnedFd, answer: &mut Vec<u8>, patience: Duration) -> Result<End, ReadError> {
    // Dumps come in pages; a single answer may be as long as a device has counters.
    let mut buffer = vec![0_u8; 256 * 1024];
    let mut end = End::Complete;
    loop {
        let (_, length) = match recv(socket, &mut buffer[..], RecvFlags::TRUNC) {
            Err(rustix::io::Errno::AGAIN) => {
                let seconds = patience.as_secs_f32();
                return Err(ReadError::Process(format!("no reply within {seconds} s")));
            }
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        let datagram = buffer.get(..length).ok_or(ReadError::TooBig)?;
        if datagram.is_empty() {
            return Err(ReadError::Process("the kernel closed the socket".into()));
        }
        let mut messages = Messages::new(datagram);
        for message in messages.by_ref() {
            if message.sequence != SEQUENCE {
                continue;
            }
            if message.is_interrupted() {
                end = End::Interrupted;
            }
            match message.kind {
                // Both carry a negative errno, or 0: a dump's failure comes with DONE.
                NLMSG_ERROR | NLMSG_DONE => {
                    verdict(message.payload)?;
                    if matches!(end, End::Interrupted) {
                        answer.extend_from_slice(message.whole);
                    }
                    return Ok(end);
                }
                _ => answer.extend_from_slice(message.whole),
            }
            if answer.len() > LIMIT {
                return Err(ReadError::TooBig);
            }
        }
        if !messages.rest().is_empty() {
            return Err(ReadError::Process("the kernel sent an incomplete message".into()));
        }
    }
}

/// One socket has one request: any number will do.
const SEQUENCE: u32 = 1;

fn verdict(payload: &[u8]) -> Result<(), ReadError> {
    match take(payload, 0).map(i32::from_ne_bytes) {
        // Kernels may leave out the code of a dump that went well.
        None | Some(0) => Ok(()),
        Some(code) => Err(ReadError::Errno(Errno::from_code(code))),
    }
}
