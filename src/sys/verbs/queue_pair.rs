//! Queue pairs: one connection or one datagram endpoint, with the buffer it sends from and
//! receives into.
#![expect(unsafe_code, reason = "calls libibverbs")]

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::buffer::Buffer;
use super::completion_queue::CompletionQueue;
use super::device::Device;
use super::domain::Domain;
use super::efa;
use super::error::{Operation, VerbsError};
use super::transition::{
    Change, ConnectedInit, DatagramInit, ReadyToReceive, ReadyToSend, UnreliableReady,
};
use crate::sys::errno::Errno;
use crate::sys::ffi;
use crate::sys::plain::Plain;

/// Marks a reliable connection (RC).
#[derive(Debug)]
pub enum Reliable {}

/// Marks an unreliable connection (UC).
#[derive(Debug)]
pub enum Unreliable {}

/// Marks unreliable datagrams (UD).
#[derive(Debug)]
pub enum Datagram {}

/// Marks the reliable datagrams of EFA (SRD).
#[derive(Debug)]
pub enum ReliableDatagram {}

/// A transport that a queue pair can have.
pub trait Transport: sealed::Sealed {}
impl Transport for Reliable {}
impl Transport for Unreliable {}
impl Transport for Datagram {}
impl Transport for ReliableDatagram {}

/// A transport whose requests each name a peer.
pub trait Addressed: Transport {}
impl Addressed for Datagram {}
impl Addressed for ReliableDatagram {}

/// A transport with one peer, which is not named again in each request.
pub trait Connected: Transport {}
impl Connected for Reliable {}
impl Connected for Unreliable {}

mod sealed {
    use crate::sys::ffi;

    pub trait Sealed {
        const TYPE: ffi::ibv_qp_type;
    }
    impl Sealed for super::Reliable {
        const TYPE: ffi::ibv_qp_type = ffi::IBV_QPT_RC;
    }
    impl Sealed for super::Unreliable {
        const TYPE: ffi::ibv_qp_type = ffi::IBV_QPT_UC;
    }
    impl Sealed for super::ReliableDatagram {
        const TYPE: ffi::ibv_qp_type = ffi::IBV_QPT_DRIVER;
    }
    impl Sealed for super::Datagram {
        const TYPE: ffi::ibv_qp_type = ffi::IBV_QPT_UD;
    }
}

/// Room that a queue pair is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Outstanding sends.
    pub sends: u32,
    /// Posted receives.
    pub receives: u32,
    /// Bytes that are copied into the request itself instead of read by the device.
    pub inline_bytes: u32,
}

/// What a queue pair is made of besides its capacity.
#[derive(Debug)]
pub struct Parts {
    /// Where its sends complete.
    pub send_queue: CompletionQueue,
    /// Where its receives complete; may be the same.
    pub receive_queue: CompletionQueue,
    /// The memory that its requests refer to.
    pub buffer: Buffer,
}

impl Parts {
    /// Whether all parts are on one device: a provider takes every object for one of its own.
    pub(in crate::sys) fn is_on(&self, device: &Device) -> bool {
        self.buffer.domain().device().is(device)
            && self.send_queue.device().is(device)
            && self.receive_queue.device().is(device)
    }
}

/// A queue pair with its buffer. One thread at a time uses it; it ends before its buffer.
pub struct QueuePair<T: Transport> {
    raw: NonNull<ffi::ibv_qp>,
    /// How it is ended: by libibverbs, or by who made it.
    maker: Maker,
    inline_bytes: u32,
    /// The port, 0 while it is not known.
    port: u8,
    parts: Parts,
    transport: PhantomData<T>,
}

/// Who makes and ends a queue pair.
pub(in crate::sys) enum Maker {
    /// `ibv_create_qp` and `ibv_destroy_qp`.
    Verbs,
    /// `efadv_create_driver_qp`, and `ibv_destroy_qp`.
    Efa(&'static efa::Calls),
    /// A connection manager's id.
    Cm(Box<dyn CmMaker>),
}

/// Makes and ends the queue pair of a connection manager's id.
///
/// # Safety
///
/// `create` must answer an initialised queue pair of that domain or fail; `destroy` must end it.
pub(in crate::sys) unsafe trait CmMaker: Send {
    /// `rdma_create_qp`.
    fn create(
        &self,
        domain: &Domain,
        init: &mut ffi::ibv_qp_init_attr,
    ) -> Result<NonNull<ffi::ibv_qp>, Errno>;

    /// `rdma_destroy_qp`, called once.
    fn destroy(&self);
}

// SAFETY: libibverbs has no thread ties, and all parts may move to another thread.
unsafe impl<T: Transport> Send for QueuePair<T> {}

impl<T: Transport> QueuePair<T> {
    /// Makes a queue pair in the domain of the buffer, in state RESET.
    ///
    /// An error for which [`VerbsError::is_unsupported`] holds means that the device lacks the
    /// transport, as iWARP cards lack datagrams.
    pub fn new(parts: Parts, capacity: Capacity) -> Result<Self, VerbsError> {
        Self::made_by(Maker::Verbs, parts, capacity)
    }

    pub(in crate::sys) fn made_by(
        maker: Maker,
        parts: Parts,
        capacity: Capacity,
    ) -> Result<Self, VerbsError> {
        let domain = parts.buffer.domain();
        let device = domain.device();
        let failed = |errno| device.error(Operation::CreateQueuePair, errno);
        if !parts.is_on(device) {
            return Err(failed(Errno::INVALID));
        }
        let mut init = ffi::ibv_qp_init_attr::zeroed();
        init.send_cq = parts.send_queue.raw();
        init.recv_cq = parts.receive_queue.raw();
        init.cap = ffi::ibv_qp_cap {
            max_send_wr: capacity.sends,
            max_recv_wr: capacity.receives,
            max_send_sge: 1,
            max_recv_sge: 1,
            max_inline_data: capacity.inline_bytes,
        };
        init.qp_type = T::TYPE;
        let raw = match &maker {
            Maker::Verbs => {
                let create = device.calls().ibv_create_qp;
                // SAFETY: domain and queues live and are of one device.
                let raw = unsafe { create(domain.raw(), &raw mut init) };
                NonNull::new(raw).ok_or_else(Errno::last)
            }
            Maker::Efa(calls) => calls.create(domain, &mut init),
            Maker::Cm(id) => id.create(domain, &mut init),
        };
        let raw = raw.map_err(failed)?;
        // The library has written back what it has really made.
        let inline_bytes = init.cap.max_inline_data;
        Ok(Self { raw, maker, inline_bytes, port: 0, parts, transport: PhantomData })
    }

    /// Its number, which peers send to.
    #[must_use]
    pub fn number(&self) -> u32 {
        // SAFETY: the queue pair is alive; its number does not change.
        unsafe { (*self.raw()).qp_num }
    }

    /// The queue where its sends complete.
    #[must_use]
    pub fn send_queue(&self) -> &CompletionQueue {
        &self.parts.send_queue
    }

    /// The queue where its receives complete.
    #[must_use]
    pub fn receive_queue(&self) -> &CompletionQueue {
        &self.parts.receive_queue
    }

    /// Its buffer, for reading.
    #[must_use]
    pub fn buffer(&self) -> &Buffer {
        &self.parts.buffer
    }

    /// Copies bytes into its buffer.
    // No `&mut Buffer` is given out: it could be swapped for one of another domain.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<(), VerbsError> {
        self.parts.buffer.write(offset, bytes)
    }

    /// The most bytes that are copied into a send request itself.
    #[must_use]
    pub fn inline_bytes(&self) -> u32 {
        self.inline_bytes
    }

    /// Moves it back to RESET, which forgets what was posted.
    pub fn to_reset(&mut self) -> Result<(), VerbsError> {
        self.change(Operation::ToReset, Change::to(ffi::IBV_QPS_RESET))
    }

    /// Moves it to ERR, which flushes what was posted into the completion queues.
    pub fn to_error(&mut self) -> Result<(), VerbsError> {
        self.change(Operation::ToError, Change::to(ffi::IBV_QPS_ERR))
    }

    fn change(&mut self, operation: Operation, mut change: Change) -> Result<(), VerbsError> {
        let modify = self.device().calls().ibv_modify_qp;
        let mask = change.mask.cast_signed();
        // SAFETY: the queue pair is alive, and the mask names fields that are set.
        let answer = unsafe { modify(self.raw(), &raw mut change.attr, mask) };
        Errno::check(answer).map_err(|errno| self.error(operation, errno))
    }

    pub(super) fn raw(&self) -> *mut ffi::ibv_qp {
        self.raw.as_ptr()
    }

    pub(super) fn domain(&self) -> &Domain {
        self.parts.buffer.domain()
    }

    fn device(&self) -> &Device {
        self.domain().device()
    }

    #[cold]
    pub(super) fn error(&self, operation: Operation, errno: Errno) -> VerbsError {
        match self.port {
            0 => self.device().error(operation, errno),
            port => self.device().port_error(operation, port, errno),
        }
    }
}

impl<T: Connected> QueuePair<T> {
    /// Moves it from RESET to INIT: receives can be posted.
    pub fn to_init(&mut self, init: ConnectedInit) -> Result<(), VerbsError> {
        self.port = init.port;
        self.change(Operation::ToInit, init.into())
    }
}

impl QueuePair<Unreliable> {
    /// Moves it from INIT to RTR; on `RoCE` it takes as long as on RC.
    pub fn to_receive(&mut self, ready: &UnreliableReady) -> Result<(), VerbsError> {
        self.change(Operation::ToReceive, ready.into())
    }

    /// Moves it from RTR to RTS.
    pub fn to_send(&mut self, send_psn: u32) -> Result<(), VerbsError> {
        self.change(Operation::ToSend, Change::to_send(send_psn))
    }
}

impl QueuePair<Reliable> {
    /// Moves it from INIT to RTR.
    ///
    /// On `RoCE` the kernel looks for the neighbour here: about one second for one that does not
    /// answer, and then ETIMEDOUT.
    pub fn to_receive(&mut self, ready: &ReadyToReceive) -> Result<(), VerbsError> {
        self.change(Operation::ToReceive, ready.into())
    }

    /// Moves it from RTR to RTS; EINVAL on iWARP, which needs a connection manager.
    pub fn to_send(&mut self, ready: ReadyToSend) -> Result<(), VerbsError> {
        self.change(Operation::ToSend, ready.into())
    }
}

impl QueuePair<ReliableDatagram> {
    /// Makes a queue pair on a card of EFA, in state RESET.
    ///
    /// [`VerbsError::Load`] where there is no libefa; an error for which
    /// [`VerbsError::is_unsupported`] holds on every other card.
    pub fn on_efa(parts: Parts, capacity: Capacity) -> Result<Self, VerbsError> {
        Self::made_by(Maker::Efa(efa::Calls::get()?), parts, capacity)
    }
}

impl<T: Addressed> QueuePair<T> {
    /// Moves it from RESET to INIT: receives can be posted.
    pub fn to_datagram_init(&mut self, init: DatagramInit) -> Result<(), VerbsError> {
        self.port = init.port;
        self.change(Operation::ToInit, init.into())
    }

    /// Moves it from INIT to RTR.
    pub fn to_receive(&mut self) -> Result<(), VerbsError> {
        self.change(Operation::ToReceive, Change::to(ffi::IBV_QPS_RTR))
    }

    /// Moves it from RTR to RTS.
    pub fn to_send(&mut self, send_psn: u32) -> Result<(), VerbsError> {
        self.change(Operation::ToSend, Change::to_send(send_psn))
    }
}

impl<T: Transport> fmt::Debug for QueuePair<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "QueuePair({} {})", self.device().name(), self.number())
    }
}

impl<T: Transport> Drop for QueuePair<T> {
    fn drop(&mut self) {
        match &self.maker {
            Maker::Verbs | Maker::Efa(_) => {
                // SAFETY: made by libibverbs, ended once, before its buffer and queues.
                let _ = unsafe { (self.device().calls().ibv_destroy_qp)(self.raw()) };
            }
            Maker::Cm(id) => id.destroy(),
        }
    }
}
