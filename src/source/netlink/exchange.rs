//! Sends a request by a netlink socket and receives the reply. All netlink families use it.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto,
    socket_with,
};

use super::message::{HEADER, Messages, bytes_at};
use crate::source::{Answer, ReadError};
use crate::sys::Errno;

/// Limit of a reply in bytes: 64 devices of 10,000 queue pairs, or 50,000 sockets, need less.
const LIMIT: usize = 32 * 1024 * 1024;

/// Time limit of one datagram; the kernel replies at once unless a driver hangs.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Shortest time limit of a datagram. A limit of 0 would mean to wait forever.
const MIN: Duration = Duration::from_millis(1);

/// Number of attempts at a dump that changes during the read.
const ATTEMPTS: u32 = 3;

/// Message types and flags of `include/uapi/linux/netlink.h`.
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_DUMP: u16 = 0x300;

pub(in crate::source) struct Exchange {
    /// Protocol of the netlink family; `None` for rtnetlink, which has number 0.
    pub(in crate::source) protocol: Option<Protocol>,
    /// `nlmsg_type` of the request.
    pub(in crate::source) kind: u16,
    pub(in crate::source) is_dump: bool,
    /// Bytes behind the header.
    pub(in crate::source) payload: Vec<u8>,
}

impl Exchange {
    /// Sends the request to the kernel. Returns the data messages of the reply. If a dump changed in
    /// every attempt, the last message has the flag of an interrupted dump.
    pub(in crate::source) fn run(&self, timeout: Duration) -> Answer {
        let mut answer = Vec::new();
        for _ in 0..ATTEMPTS {
            answer.clear();
            if self.attempt(&mut answer, timeout.clamp(MIN, TIMEOUT))? {
                break;
            }
        }
        Ok(answer)
    }

    /// Returns true if the reply is complete: no object came or went during the listing.
    fn attempt(&self, answer: &mut Vec<u8>, timeout: Duration) -> Result<bool, ReadError> {
        let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC, self.protocol)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(timeout))?;
        let kernel = SocketAddrNetlink::new(0, 0);
        sendto(&socket, &self.request()?, SendFlags::empty(), &kernel)?;
        listen(&socket, answer, timeout)
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

/// Reads datagrams until the one that ends the reply. Returns true if the reply is complete.
fn listen(socket: &OwnedFd, answer: &mut Vec<u8>, timeout: Duration) -> Result<bool, ReadError> {
    // Dumps come in pages. The length of a single reply grows with the number of counters.
    let mut buffer = vec![0_u8; 256 * 1024];
    let mut is_complete = true;
    loop {
        let (_, length) = match recv(socket, &mut buffer[..], RecvFlags::TRUNC) {
            Err(rustix::io::Errno::AGAIN) => {
                let seconds = timeout.as_secs_f32();
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
            is_complete &= !message.is_interrupted();
            match message.kind {
                // Both carry a negative errno or 0: a dump reports its failure by NLMSG_DONE.
                NLMSG_ERROR | NLMSG_DONE => {
                    check_errno(message.payload)?;
                    if !is_complete {
                        answer.extend_from_slice(message.whole);
                    }
                    return Ok(is_complete);
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

/// Sequence number of every request: a socket sends only one.
const SEQUENCE: u32 = 1;

fn check_errno(payload: &[u8]) -> Result<(), ReadError> {
    match bytes_at(payload, 0).map(i32::from_ne_bytes) {
        // Kernels may omit the code of a successful dump.
        None | Some(0) => Ok(()),
        Some(code) => Err(ReadError::Errno(Errno::from_code(code))),
    }
}
