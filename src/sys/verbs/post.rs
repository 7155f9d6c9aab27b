//! Posts requests. This is the hot path: it does not allocate, lock or look up.
#![expect(unsafe_code, reason = "hands requests to the device")]

use std::ptr;

use super::address::AddressHandle;
use super::buffer::Remote;
use super::error::{VerbsError, VerbsOperation};
use super::inline;
use super::queue_pair::{Addressed, Connected, QueuePair, Transport};
use crate::sys::errno::Errno;
use crate::sys::ffi;
use crate::sys::plain::Plain;

/// A request: a range of the queue pair's buffer, and an id for its completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkRequest {
    /// Id that the completion returns.
    pub id: u64,
    /// First byte of the range, from the start of the buffer.
    pub offset: usize,
    /// Length of the range, in bytes.
    pub length: usize,
}

/// Condition for a completion of a send. A failed send always has a completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// A successful send has a completion.
    Always,
    /// A successful send has no completion. The queue fills up unless some are `Always`.
    OnFailure,
}

/// Queue pair that a datagram is sent to.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// Address of the remote port, made in the protection domain of the sender.
    pub address: &'a AddressHandle,
    /// Number of the remote queue pair.
    pub qp_num: u32,
    /// Q_Key that the remote queue pair requires.
    pub qkey: u32,
}

impl<T: Transport> QueuePair<T> {
    /// Posts a receive into a range of the buffer. On UD the GRH takes the first 40 bytes.
    #[inline]
    pub fn post_receive(&mut self, request: WorkRequest) -> Result<(), VerbsError> {
        let mut entry = self.buffer().entry(request.offset, request.length)?;
        let mut work = ffi::ibv_recv_wr {
            wr_id: request.id,
            next: ptr::null_mut(),
            sg_list: &raw mut entry,
            // mlx5 reads an entry of length 0 as 2 GiB.
            num_sge: i32::from(request.length != 0),
        };
        // SAFETY: the range lies in the registered buffer, and the buffer outlives the queue
        // pair.
        let answer = unsafe { inline::post_recv(self.raw(), &mut work) };
        answer.map_err(|errno| self.error(VerbsOperation::PostReceive, errno))
    }

    /// Fills in a send request, lets `finish` complete it, and posts it.
    #[inline]
    fn send(
        &mut self,
        request: WorkRequest,
        signal: Signal,
        finish: impl FnOnce(&mut ffi::ibv_send_wr),
    ) -> Result<(), VerbsError> {
        let mut entry = self.buffer().entry(request.offset, request.length)?;
        let mut work = ffi::ibv_send_wr::zeroed();
        work.wr_id = request.id;
        work.sg_list = &raw mut entry;
        // mlx5 reads an entry of length 0 as 2 GiB.
        work.num_sge = i32::from(request.length != 0);
        work.opcode = ffi::IBV_WR_SEND;
        if signal == Signal::Always {
            work.send_flags |= ffi::IBV_SEND_SIGNALED;
        }
        if entry.length <= self.inline_bytes() {
            work.send_flags |= ffi::IBV_SEND_INLINE;
        }
        finish(&mut work);
        // SAFETY: the range lies in the registered buffer, and the buffer outlives the queue
        // pair. The callers below set all fields that their transport needs.
        let answer = unsafe { inline::post_send(self.raw(), &mut work) };
        answer.map_err(|errno| self.error(VerbsOperation::PostSend, errno))
    }
}

impl<T: Connected> QueuePair<T> {
    /// Posts a send of a range of the buffer. Fails with ENOMEM if the send queue is full.
    #[inline]
    pub fn post_send(&mut self, request: WorkRequest, signal: Signal) -> Result<(), VerbsError> {
        self.send(request, signal, |_| {})
    }

    /// Posts an RDMA write of a range of the buffer to the peer's memory. The peer's process gets
    /// no completion. Fails with ENOMEM if the send queue is full.
    #[inline]
    pub fn post_write(
        &mut self,
        request: WorkRequest,
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
    /// Posts a datagram with a range of the buffer. Fails with ENOMEM if the send queue is full.
    #[inline]
    pub fn post_datagram(
        &mut self,
        request: WorkRequest,
        signal: Signal,
        to: &Destination<'_>,
    ) -> Result<(), VerbsError> {
        // A provider casts every address to its own type without a check.
        if !to.address.domain().is(self.domain()) {
            return Err(self.error(VerbsOperation::PostSend, Errno::INVALID));
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
