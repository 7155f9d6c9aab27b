//! Wraps completion queues. A caller polls a queue, or waits for it through a channel.
#![expect(unsafe_code, reason = "calls libibverbs")]

use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::completion::Batch;
use super::device::Device;
use super::error::{VerbsError, VerbsOperation};
use super::inline;
use crate::clock::Deadline;
use crate::sys::errno::Errno;
use crate::sys::ffi;
use crate::sys::readable;

/// A completion queue. It is destroyed after its last clone and its last queue pair.
#[derive(Debug, Clone)]
pub struct CompletionQueue(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    raw: NonNull<ffi::ibv_cq>,
    channel: Option<Channel>,
    device: Device,
}

// SAFETY: libibverbs allows calls on one completion queue from any thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// Kind of access to a completion queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notify {
    /// The queue can only be polled.
    Never,
    /// The queue has its own channel for [`CompletionQueue::arm`] and [`CompletionQueue::wait`].
    Channel,
}

impl CompletionQueue {
    /// Makes a queue for at least `depth` completions.
    pub fn new(device: &Device, depth: u32, notify: Notify) -> Result<Self, VerbsError> {
        let failed = |errno| device.error(VerbsOperation::CreateCompletionQueue, errno);
        let Ok(depth) = i32::try_from(depth) else { return Err(failed(Errno::INVALID)) };
        let channel = (notify == Notify::Channel).then(|| Channel::new(device)).transpose()?;
        let raw_channel = channel.as_ref().map_or(ptr::null_mut(), |channel| channel.raw.as_ptr());
        let create = device.calls().ibv_create_cq;
        // SAFETY: context and channel are alive, and vector 0 always exists.
        let raw = unsafe { create(device.context(), depth, ptr::null_mut(), raw_channel, 0) };
        let raw = NonNull::new(raw).ok_or_else(|| failed(Errno::last()))?;
        Ok(Self(Arc::new(Handle { raw, channel, device: device.clone() })))
    }

    /// Fetches completions without waiting, and returns their number.
    #[inline]
    pub fn poll(&self, batch: &mut Batch) -> Result<usize, VerbsError> {
        batch.used = 0;
        // SAFETY: the queue is alive.
        let answer = unsafe { inline::poll_cq(self.raw(), &mut batch.raw) };
        batch.used = answer.map_err(|errno| self.0.device.error(VerbsOperation::Poll, errno))?;
        Ok(batch.used)
    }

    /// Requests one event at the next completion.
    ///
    /// Poll once more after this call and before [`wait`](Self::wait). A completion that arrives
    /// before this call causes no event.
    #[inline]
    pub fn arm(&self) -> Result<(), VerbsError> {
        // SAFETY: the queue is alive.
        let answer = unsafe { inline::req_notify_cq(self.raw()) };
        answer.map_err(|errno| self.0.device.error(VerbsOperation::Arm, errno))
    }

    /// Waits for the event; false if the deadline passes. EINVAL if the queue has no channel.
    pub fn wait(&self, deadline: Deadline) -> Result<bool, VerbsError> {
        let failed = |errno| self.0.device.error(VerbsOperation::Wait, errno);
        let channel = self.0.channel.as_ref().ok_or_else(|| failed(Errno::INVALID))?;
        loop {
            if !readable::until(channel.fd(), deadline).map_err(failed)? {
                return Ok(false);
            }
            if self.take_event(channel).map_err(failed)? {
                return Ok(true);
            }
        }
    }

    /// Returns the channel's descriptor, for a poll loop; `None` without a channel.
    ///
    /// If the descriptor is readable, [`wait`](Self::wait) takes the event without waiting.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.channel.as_ref().map(Channel::fd)
    }

    /// Takes and acknowledges one event; false if none has arrived.
    fn take_event(&self, channel: &Channel) -> Result<bool, Errno> {
        let calls = self.0.device.calls();
        let mut queue = ptr::null_mut();
        let mut context = ptr::null_mut();
        let raw = channel.raw.as_ptr();
        // SAFETY: the channel is alive and does not block; the call fills in the other pointers.
        let answer = unsafe { (calls.ibv_get_cq_event)(raw, &raw mut queue, &raw mut context) };
        match Errno::check(answer) {
            Err(Errno::AGAIN) => return Ok(false),
            answer => answer?,
        }
        // Destroying the queue waits for the acknowledgement of every event that was taken.
        // SAFETY: the channel serves only this queue, so the event belongs to the queue.
        unsafe { (calls.ibv_ack_cq_events)(queue, 1) };
        Ok(true)
    }

    pub(super) fn raw(&self) -> *mut ffi::ibv_cq {
        self.0.raw.as_ptr()
    }

    pub(super) fn device(&self) -> &Device {
        &self.0.device
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: this handle made the queue, and destroys it once. Its queue pairs held a clone,
        // so they are gone.
        let _ = unsafe { (self.device.calls().ibv_destroy_cq)(self.raw.as_ptr()) };
    }
}

/// Completion channel of one queue. It never blocks, and is dropped after the queue.
#[derive(Debug)]
struct Channel {
    raw: NonNull<ffi::ibv_comp_channel>,
    device: Device,
}

impl Channel {
    fn new(device: &Device) -> Result<Self, VerbsError> {
        let failed = |errno| device.error(VerbsOperation::CreateChannel, errno);
        // SAFETY: the context is open.
        let raw = unsafe { (device.calls().ibv_create_comp_channel)(device.context()) };
        let raw = NonNull::new(raw).ok_or_else(|| failed(Errno::last()))?;
        let channel = Self { raw, device: device.clone() };
        readable::never_block(channel.fd()).map_err(failed)?;
        Ok(channel)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is alive, and its descriptor does not change.
        let fd = unsafe { (*self.raw.as_ptr()).fd };
        // SAFETY: the descriptor is open as long as the channel, and the borrow does not outlive
        // the channel.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: this value made the channel, and destroys it once, after its only queue.
        let _ = unsafe { (self.device.calls().ibv_destroy_comp_channel)(self.raw.as_ptr()) };
    }
}
