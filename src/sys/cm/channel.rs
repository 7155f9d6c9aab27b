//! Receives events of librdmacm on channels that never block.
#![expect(unsafe_code, reason = "calls librdmacm")]

use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};

use parking_lot::Mutex;

use super::calls::Calls;
use super::error::{CmError, CmStep};
use super::event::{CmEvent, EventKind};
use crate::clock::Deadline;
use crate::sys::device_file;
use crate::sys::errno::Errno;
use crate::sys::ffi;
use crate::sys::readable;

/// Event channel of one id.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) calls: &'static Calls,
    raw: NonNull<ffi::rdma_event_channel>,
}

/// An event after it was taken and acknowledged.
pub(super) struct Taken {
    pub(super) event: CmEvent,
    /// Id of a peer's request, which no value owns yet. Null for every other event.
    pub(super) request: *mut ffi::rdma_cm_id,
    /// Private data of the peer: of its request, or of its reply to our request. On InfiniBand
    /// and RoCE, zeros follow the bytes that the peer sent.
    pub(super) private_data: Vec<u8>,
}

impl Channel {
    pub(super) fn new() -> Result<Self, CmError> {
        let calls = Calls::get()?;
        let failed = |errno| CmError::Call {
            step: CmStep::Start,
            object: "of the kernel".to_owned(),
            errno,
        };
        // SAFETY: the function has no precondition.
        let raw = unsafe { (calls.rdma_create_event_channel)() };
        let raw = NonNull::new(raw)
            .ok_or_else(|| failed(device_file::open_error("rdma_cm", Errno::last())))?;
        let channel = Self { calls, raw };
        readable::never_block(channel.fd()).map_err(failed)?;
        Ok(channel)
    }

    pub(super) fn raw(&self) -> *mut ffi::rdma_event_channel {
        self.raw.as_ptr()
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is alive, and its descriptor does not change.
        let fd = unsafe { (*self.raw()).fd };
        // SAFETY: the descriptor is open as long as the channel, and so for the borrow.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }

    /// Waits for the next event; returns `None` if the deadline passes first.
    ///
    /// Holds `lock` while it takes the event, because that can change the id's queue pair.
    pub(super) fn next(
        &self,
        deadline: Deadline,
        lock: &Mutex<()>,
    ) -> Result<Option<Taken>, Errno> {
        loop {
            if !readable::until(self.fd(), deadline)? {
                return Ok(None);
            }
            let guard = lock.lock();
            let taken = self.take()?;
            drop(guard);
            if let Some(taken) = taken {
                return Ok(Some(taken));
            }
        }
    }

    /// Takes and acknowledges an event that has arrived; `None` if none has. Destroying an id
    /// waits for the acknowledgement of its events.
    fn take(&self) -> Result<Option<Taken>, Errno> {
        let mut raw = ptr::null_mut();
        // SAFETY: the channel is alive and does not block; the call fills in the pointer.
        let answer = unsafe { (self.calls.rdma_get_cm_event)(self.raw(), &raw mut raw) };
        match Errno::check(answer) {
            Err(Errno::AGAIN) => return Ok(None),
            answer => answer?,
        }
        // SAFETY: a taken event is readable until it is acknowledged.
        let fields = unsafe { raw.read() };
        let kind = EventKind::from_code(fields.event);
        let event = CmEvent::new(kind, fields.status);
        let private_data = match kind {
            EventKind::ConnectRequest | EventKind::Established => {
                // SAFETY: these events carry the parameters of a reliable connection.
                private_data(unsafe { &fields.param.conn })
            }
            _ => Vec::new(),
        };
        // SAFETY: the event was taken above and is acknowledged once.
        let _ = unsafe { (self.calls.rdma_ack_cm_event)(raw) };
        let request = if kind == EventKind::ConnectRequest { fields.id } else { ptr::null_mut() };
        Ok(Some(Taken { event, request, private_data }))
    }
}

/// Copies the private data of an event that is not yet acknowledged.
fn private_data(of_peer: &ffi::rdma_conn_param) -> Vec<u8> {
    let length = usize::from(of_peer.private_data_len);
    if of_peer.private_data.is_null() || length == 0 {
        return Vec::new();
    }
    // SAFETY: librdmacm keeps the bytes within the event, which is not yet acknowledged.
    unsafe { std::slice::from_raw_parts(of_peer.private_data.cast::<u8>(), length) }.to_vec()
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: this value made the channel, and destroys it once, after its id.
        unsafe { (self.calls.rdma_destroy_event_channel)(self.raw()) }
    }
}
