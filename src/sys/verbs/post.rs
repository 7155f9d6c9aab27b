//! Posting requests: the hot path, without allocation, lock or look-up.
#![expect(unsafe_code, reason = "hands requests to the device")]

use std::ptr;

use super::address::AddressHandle;
use super::buffer::Remote;
use super::error::{Operation, VerbsError};
use super::inline;
use super::queue_pair::{Addressed, Connected, QueuePair, Transport};
use crate::sys::errno::Errno;
use crate::sys::ffi;
use crate::sys::plain::Plain;

/// A request: a range of the queue pair's buffer, and the id that its completion will carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Comes back in the completion.
    pub id: u64,
    /// First byte of the range.
    pub offset: usize,
    /// Bytes of the range.
    pub length: usize,
}

/// Whether a send that succeeds makes a completion; one that fails always does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// It makes one.
    Always,
    /// It makes none. Every now and then one must, or the send queue fills up.
    OnFailure,
}

/// A queue pair to send a datagram to.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// The remote port, of the same protection domain as the sender.
    pub address: &'a AddressHandle,
    /// The queue pair there.
    pub qp_num: u32,
    /// The key that it demands.
    pub qkey: u32,
}

impl<T: Transport> QueuePair<T> {
    /// Posts a receive into a range of the buffer; on UD the first 40 bytes are for the GRH.
    #[inline]
    pub fn post_receive(&mut self, request: Request) -> Result<(), VerbsError> {
        let mut entry = self.buffer().entry(request.offset, request.length)?;
        let mut work = ffi::ibv_recv_wr {
            wr_id: request.id,
            next: ptr::null_mut(),
            sg_list: &raw mut entry,
            // mlx5 takes an entry of length 0 for one of 2 GiB.
            num_sge: i32::from(request.length != 0),
        };
        // SAFETY: the range lies in the registered buffer, which the queue pair does not outlive.
        let answer = unsafe { inline::post_recv(self.raw(), &mut work) };
        answer.map_err(|errno| self.error(Operation::PostReceive, errno))
    }

    /// Fills a send request, and hands it over after `finish` has completed it.
    #[inline]
    fn send(
        &mut self,
        request: Request,
        signal: Signal,
        finish: impl FnOnce(&mut ffi::ibv_send_wr),
    ) -> Result<(), VerbsError> {
        let mut entry = self.buffer().entry(request.offset, request.length)?;
        let mut work = ffi::ibv_send_wr::zeroed();
        work.wr_id = request.id;
        work.sg_list = &raw mut entry;
        // mlx5 takes an entry of length 0 for one of 2 GiB.
        work.num_sge = i32::from(request.length != 0);
        work.opcode = ffi::IBV_WR_SEND;
        if signal == Signal::Always {
            work.send_flags |= ffi::IBV_SEND_SIGNALED;
        }
        if entry.length <= self.inline_bytes() {
            work.send_flags |= ffi::IBV_SEND_INLINE;
        }
        finish(&mut work);
        // SAFETY: the range lies in the registered buffer, which the queue pair does not outlive;
        // the callers below complete what their transport needs.
        let answer = unsafe { inline::post_send(self.raw(), &mut work) };
        answer.map_err(|errno| self.error(Operation::PostSend, errno))
    }
}

impl<T: Connected> QueuePair<T> {
    /// Posts a send of a range of the buffer; ENOMEM when the send queue is full.
    #[inline]
    pub fn post_send(&mut self, request: Request, signal: Signal) -> Result<(), VerbsError> {
        self.send(request, signal, |_| {})
    }

    /// Posts an RDMA write of a range of the buffer to the peer's memory, whose process does not
    /// notice; ENOMEM when the send queue is full.
    #[inline]
    pub fn post_write(
        &mut self,
        request: Request,
        signal: Signal,
        to: Remote,
    ) -> Result<(), VerbsError> {
        self.send(request, signal, |work| {
            work.opcode = ffi::IBV_WR_RDMA_WRITE;
            work.wr.rdma = ffi::ibv_send_wr__bindgen_ty_2__bindgen_ty_1 {
                remote_addr: to.address,
                rkey: to.key,
            };
        })
    }
}

impl<T: Addressed> QueuePair<T> {
    /// Posts a datagram of a range of the buffer; ENOMEM when the send queue is full.
    #[inline]
    pub fn post_datagram(
        &mut self,
        request: Request,
        signal: Signal,
        to: &Destination<'_>,
    ) -> Result<(), VerbsError> {
        // A provider takes every address for one of its own.
        if !to.address.domain().is(self.domain()) {
            return Err(self.error(Operation::PostSend, Errno::INVALID));
        }
        self.send(request, signal, |work| {
            work.wr.ud = ffi::ibv_send_wr__bindgen_ty_2__bindgen_ty_3 {
                ah: to.address.raw(),
                remote_qpn: to.qp_num,
                remote_qkey: to.qkey,
            };
        })
    }
}
