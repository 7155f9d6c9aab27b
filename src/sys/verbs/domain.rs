//! Wraps protection domains. Only objects of one domain can be used together.
#![expect(unsafe_code, reason = "calls libibverbs")]

use std::ptr::NonNull;
use std::sync::Arc;

use super::device::Device;
use super::error::{VerbsError, VerbsOperation};
use crate::sys::errno::Errno;
use crate::sys::ffi;

/// A protection domain. It is destroyed after the last clone and the last object made in it.
#[derive(Debug, Clone)]
pub struct Domain(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    raw: NonNull<ffi::ibv_pd>,
    device: Device,
}

// SAFETY: libibverbs allows calls on one protection domain from any thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Domain {
    /// Makes a protection domain on a device.
    pub fn new(device: &Device) -> Result<Self, VerbsError> {
        // SAFETY: the context is open.
        let raw = unsafe { (device.calls().ibv_alloc_pd)(device.context()) };
        let raw = NonNull::new(raw)
            .ok_or_else(|| device.error(VerbsOperation::AllocateDomain, Errno::last()))?;
        Ok(Self(Arc::new(Handle { raw, device: device.clone() })))
    }

    /// Returns the device of the domain.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    pub(in crate::sys) fn raw(&self) -> *mut ffi::ibv_pd {
        self.0.raw.as_ptr()
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: this handle made the domain, and destroys it once. Every object made in it held
        // a clone.
        let _ = unsafe { (self.device.calls().ibv_dealloc_pd)(self.raw.as_ptr()) };
    }
}
