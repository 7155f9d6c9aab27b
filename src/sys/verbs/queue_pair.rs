//! Wraps queue pairs: a connection or datagram endpoint with its own buffer.
#![expect(unsafe_code, reason = "calls libibverbs")]

use std::fmt::Debug;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::buffer::Buffer;
use super::completion_queue::CompletionQueue;
use super::device::Device;
use super::domain::Domain;
use super::efa;
use super::error::{VerbsError, VerbsOperation};
use super::transition::{
    Change, ConnectedInit, DatagramInit, ReadyToReceive, ReadyToSend, UnreliableReady,
};
use crate::sys::errno::Errno;
use crate::sys::ffi;
use crate::sys::plain::Plain;

/// Declares the transports with their numbers in `enum ibv_qp_type`.
macro_rules! transports {
    ($(#[doc = $doc:literal] $name:ident = $code:ident;)*) => {$(
        #[doc = $doc]
        #[derive(Debug)]
        pub enum $name {}
        impl sealed::Sealed for $name {
            const TYPE: ffi::ibv_qp_type = ffi::$code;
        }
        impl Transport for $name {}
    )*};
}

transports! {
    /// Type parameter for a reliable connection (RC).
    Reliable = IBV_QPT_RC;
    /// Type parameter for an unreliable connection (UC).
    Unreliable = IBV_QPT_UC;
    /// Type parameter for unreliable datagrams (UD).
    Datagram = IBV_QPT_UD;
    /// Type parameter for the reliable datagrams of EFA (SRD).
    ReliableDatagram = IBV_QPT_DRIVER;
}

mod sealed {
    pub trait Sealed {
        const TYPE: crate::sys::ffi::ibv_qp_type;
    }
}

/// Transport of a queue pair.
pub trait Transport: sealed::Sealed {}

/// Transport with a destination in each request.
pub trait Addressed: Transport {}
impl Addressed for Datagram {}
impl Addressed for ReliableDatagram {}

/// Transport with one peer, which requests do not name.
pub trait Connected: Transport {}
impl Connected for Reliable {}
impl Connected for Unreliable {}

/// Requested capacity of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Maximum number of outstanding sends.
    pub sends: u32,
    /// Maximum number of posted receives.
    pub receives: u32,
    /// Maximum number of bytes copied into a send request, which the device need not read.
    pub inline_bytes: u32,
}

/// Objects that a queue pair uses.
#[derive(Debug)]
pub struct Parts {
    /// Completion queue of sends.
    pub send_queue: CompletionQueue,
    /// Completion queue of receives; it can be the queue of the sends.
    pub receive_queue: CompletionQueue,
    /// Memory that the requests refer to.
    pub buffer: Buffer,
}

impl Parts {
    /// True if all parts are on `device`. A provider casts objects to its own type without a check.
    pub(in crate::sys) fn is_on(&self, device: &Device) -> bool {
        self.buffer.domain().device().is(device)
            && self.send_queue.device().is(device)
            && self.receive_queue.device().is(device)
    }
}

/// A queue pair with its buffer. One thread at a time uses it. It is destroyed before its buffer.
#[derive(Debug)]
pub struct QueuePair<T: Transport> {
    raw: NonNull<ffi::ibv_qp>,
    maker: Maker,
    inline_bytes: u32,
    /// Port, from 1; 0 before the queue pair is in INIT.
    port: u8,
    parts: Parts,
    transport: PhantomData<T>,
}

/// Functions that make and destroy a queue pair.
#[derive(Debug)]
pub(in crate::sys) enum Maker {
    /// `ibv_create_qp` and `ibv_destroy_qp`.
    Verbs,
    /// `efadv_create_driver_qp`, and `ibv_destroy_qp`.
    Efa(&'static efa::Calls),
    /// Id of a connection manager.
    Cm(Box<dyn CmMaker>),
}

/// Makes and destroys the queue pair of a connection manager's id.
///
/// # Safety
/// `create` must return an initialized queue pair of that domain, or fail. `destroy` must destroy
/// it.
pub(in crate::sys) unsafe trait CmMaker: Debug + Send {
    /// Makes the queue pair (`rdma_create_qp`).
    fn create(
        &self,
        domain: &Domain,
        init: &mut ffi::ibv_qp_init_attr,
    ) -> Result<NonNull<ffi::ibv_qp>, Errno>;

    /// Destroys the queue pair (`rdma_destroy_qp`). Called once.
    fn destroy(&self);
}

// SAFETY: libibverbs does not tie objects to a thread, and all parts can move to another thread.
unsafe impl<T: Transport> Send for QueuePair<T> {}

impl<T: Transport> QueuePair<T> {
    /// Makes a queue pair in the domain of the buffer, in state RESET.
    ///
    /// [`VerbsError::is_unsupported`] is true for the error if the device does not have the
    /// transport. For example, iWARP adapters have no datagrams.
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
        let failed = |errno| device.error(VerbsOperation::CreateQueuePair, errno);
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
                // SAFETY: domain and queues are alive and on one device.
                let raw = unsafe { create(domain.raw(), &raw mut init) };
                NonNull::new(raw).ok_or_else(Errno::last)
            }
            Maker::Efa(calls) => calls.create(domain, &mut init),
            Maker::Cm(id) => id.create(domain, &mut init),
        };
        let raw = raw.map_err(failed)?;
        // The library has replaced the requested capacity with the actual one.
        let inline_bytes = init.cap.max_inline_data;
        Ok(Self { raw, maker, inline_bytes, port: 0, parts, transport: PhantomData })
    }

    /// Returns the number of the queue pair, which peers send to.
    pub fn number(&self) -> u32 {
        // SAFETY: the queue pair is alive; its number does not change.
        unsafe { (*self.raw()).qp_num }
    }

    /// Returns the completion queue of sends.
    pub fn send_queue(&self) -> &CompletionQueue {
        &self.parts.send_queue
    }

    /// Returns the completion queue of receives.
    pub fn receive_queue(&self) -> &CompletionQueue {
        &self.parts.receive_queue
    }

    /// Returns the buffer, for reading.
    pub fn buffer(&self) -> &Buffer {
        &self.parts.buffer
    }

    /// Copies bytes into the buffer.
    // Lends no `&mut Buffer`: a caller could swap it with a buffer of another domain.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<(), VerbsError> {
        self.parts.buffer.write(offset, bytes)
    }

    /// Returns the maximum number of bytes that are copied into a send request.
    pub fn inline_bytes(&self) -> u32 {
        self.inline_bytes
    }

    fn change(&mut self, operation: VerbsOperation, mut change: Change) -> Result<(), VerbsError> {
        let modify = self.device().calls().ibv_modify_qp;
        let mask = change.mask.cast_signed();
        // SAFETY: the queue pair is alive, and the mask names only fields that are set.
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
    pub(super) fn error(&self, operation: VerbsOperation, errno: Errno) -> VerbsError {
        match self.port {
            0 => self.device().error(operation, errno),
            port => self.device().port_error(operation, port, errno),
        }
    }
}

impl<T: Connected> QueuePair<T> {
    /// Moves the queue pair from RESET to INIT. Receives can then be posted.
    pub fn to_init(&mut self, init: ConnectedInit) -> Result<(), VerbsError> {
        self.port = init.port;
        self.change(VerbsOperation::ToInit, Change::to_connected_init(init))
    }
}

impl QueuePair<Unreliable> {
    /// Moves the queue pair from INIT to RTR. On `RoCE` the call takes as long as on RC.
    pub fn to_receive(&mut self, ready: &UnreliableReady) -> Result<(), VerbsError> {
        self.change(VerbsOperation::ToReceive, Change::to_unreliable_receive(ready))
    }

    /// Moves the queue pair from RTR to RTS.
    pub fn to_send(&mut self, send_psn: u32) -> Result<(), VerbsError> {
        self.change(VerbsOperation::ToSend, Change::to_send(send_psn))
    }
}

impl QueuePair<Reliable> {
    /// Moves the queue pair from INIT to RTR.
    ///
    /// On `RoCE` the kernel resolves the neighbor in this call. If the neighbor does not respond,
    /// the call fails with ETIMEDOUT after about one second.
    pub fn to_receive(&mut self, ready: &ReadyToReceive) -> Result<(), VerbsError> {
        self.change(VerbsOperation::ToReceive, Change::to_reliable_receive(ready))
    }

    /// Moves the queue pair from RTR to RTS. EINVAL on iWARP, which needs a connection manager.
    pub fn to_send(&mut self, ready: ReadyToSend) -> Result<(), VerbsError> {
        self.change(VerbsOperation::ToSend, Change::to_reliable_send(ready))
    }
}

impl QueuePair<ReliableDatagram> {
    /// Makes a queue pair on an EFA adapter, in state RESET.
    ///
    /// Fails with [`VerbsError::Load`] if libefa is not installed. On any other adapter,
    /// [`VerbsError::is_unsupported`] is true for the error.
    pub fn on_efa(parts: Parts, capacity: Capacity) -> Result<Self, VerbsError> {
        Self::made_by(Maker::Efa(efa::Calls::get()?), parts, capacity)
    }
}

impl<T: Addressed> QueuePair<T> {
    /// Moves the queue pair from RESET to INIT. Receives can then be posted.
    pub fn to_datagram_init(&mut self, init: DatagramInit) -> Result<(), VerbsError> {
        self.port = init.port;
        self.change(VerbsOperation::ToInit, Change::to_datagram_init(init))
    }

    /// Moves the queue pair from INIT to RTR.
    pub fn to_receive(&mut self) -> Result<(), VerbsError> {
        self.change(VerbsOperation::ToReceive, Change::to(ffi::IBV_QPS_RTR))
    }

    /// Moves the queue pair from RTR to RTS.
    pub fn to_send(&mut self, send_psn: u32) -> Result<(), VerbsError> {
        self.change(VerbsOperation::ToSend, Change::to_send(send_psn))
    }
}

impl<T: Transport> Drop for QueuePair<T> {
    fn drop(&mut self) {
        match &self.maker {
            Maker::Verbs | Maker::Efa(_) => {
                // SAFETY: libibverbs made the queue pair. It is destroyed once, before its buffer
                // and queues.
                let _ = unsafe { (self.device().calls().ibv_destroy_qp)(self.raw()) };
            }
            Maker::Cm(id) => id.destroy(),
        }
    }
}
