//! Registered memory, which the device reads and writes behind the compiler's back.
#![expect(unsafe_code, reason = "memory shared with a device")]

use std::alloc::{self, Layout};
use std::fmt;
use std::ptr::NonNull;

use super::domain::Domain;
use super::error::{Operation, VerbsError};
use crate::sys::errno::Errno;
use crate::sys::ffi;

/// A zeroed, page-aligned buffer registered with a device.
///
/// No reference into it is ever made: the device may change it at any time. Bytes go in and out by
/// copy; what a copy sees of a transfer that is still under way is unspecified.
pub struct Buffer {
    memory: NonNull<u8>,
    layout: Layout,
    region: NonNull<ffi::ibv_mr>,
    key: u32,
    domain: Domain,
}

// SAFETY: the memory and the region belong to this value alone, and libibverbs has no thread ties.
unsafe impl Send for Buffer {}

/// What the peer may do with registered memory, besides sending into posted receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access {
    /// The peer may read it by RDMA.
    pub remote_read: bool,
    /// The peer may write it by RDMA.
    pub remote_write: bool,
}

impl Access {
    /// The flags of `enum ibv_access_flags`, with local writing.
    pub(super) fn flags(self) -> ffi::ibv_access_flags {
        let mut flags = ffi::IBV_ACCESS_LOCAL_WRITE;
        if self.remote_read {
            flags |= ffi::IBV_ACCESS_REMOTE_READ;
        }
        if self.remote_write {
            flags |= ffi::IBV_ACCESS_REMOTE_WRITE;
        }
        flags
    }
}

/// Memory of a peer, as that peer names it: its adapter holds every write against what it has
/// registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote {
    /// Where it starts, in the peer's process.
    pub address: u64,
    /// The key that the peer's adapter demands.
    pub key: u32,
}

impl Buffer {
    /// Allocates and registers `size` bytes.
    ///
    /// ENOMEM most often means that the limit of locked memory is too low.
    pub fn new(domain: &Domain, size: usize, access: Access) -> Result<Self, VerbsError> {
        let device = domain.device();
        let failed = |errno| device.error(Operation::RegisterMemory, errno);
        let layout = Layout::from_size_align(size, page_size())
            .ok()
            .filter(|layout| layout.size() != 0)
            .ok_or_else(|| failed(Errno::INVALID))?;
        // SAFETY: the layout's size is not zero.
        let memory = unsafe { alloc::alloc_zeroed(layout) };
        let memory = NonNull::new(memory).ok_or_else(|| failed(Errno::NO_MEMORY))?;
        let flags = access.flags().cast_signed();
        let register = device.calls().ibv_reg_mr;
        // SAFETY: the domain lives, and the memory is ours for as long as the region.
        let region = unsafe { register(domain.raw(), memory.as_ptr().cast(), size, flags) };
        let Some(region) = NonNull::new(region) else {
            let errno = Errno::last();
            // SAFETY: allocated above with this layout, and no region knows it.
            unsafe { alloc::dealloc(memory.as_ptr(), layout) };
            return Err(failed(errno));
        };
        // SAFETY: the region is alive; its keys do not change.
        let key = unsafe { (*region.as_ptr()).lkey };
        Ok(Self { memory, layout, region, key, domain: domain.clone() })
    }

    /// Its bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// Its first byte as a peer must name it, to whom [`Access`] was given.
    #[must_use]
    pub fn remote(&self) -> Remote {
        // SAFETY: the region is alive; its keys do not change.
        let key = unsafe { (*self.region.as_ptr()).rkey };
        Remote { address: self.memory.as_ptr().expose_provenance() as u64, key }
    }

    /// Copies bytes in.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<(), VerbsError> {
        let to = self.at(offset, bytes.len())?;
        // SAFETY: the range lies within the buffer, and a borrowed slice cannot lie in it.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Copies bytes out.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<(), VerbsError> {
        let from = self.at(offset, bytes.len())?;
        // SAFETY: as in `write`. The compiler cannot keep an older value of memory whose address
        // a foreign function has: between two reads there is a call of the poll function.
        unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// The scatter/gather entry of a range, checked.
    #[inline]
    pub(super) fn entry(&self, offset: usize, length: usize) -> Result<ffi::ibv_sge, VerbsError> {
        let start = self.at(offset, length)?;
        let Ok(length) = u32::try_from(length) else {
            return Err(self.outside(offset, length));
        };
        Ok(ffi::ibv_sge { addr: start.expose_provenance() as u64, length, lkey: self.key })
    }

    /// The domain it is registered in.
    #[must_use]
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The first byte of a range, checked.
    #[inline]
    fn at(&self, offset: usize, length: usize) -> Result<*mut u8, VerbsError> {
        let end = offset.checked_add(length);
        if end.is_none_or(|end| end > self.size()) {
            return Err(self.outside(offset, length));
        }
        Ok(self.memory.as_ptr().wrapping_add(offset))
    }

    #[cold]
    fn outside(&self, offset: usize, length: usize) -> VerbsError {
        VerbsError::OutOfBuffer { offset, length, size: self.size() }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Buffer({} bytes)", self.size())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: registered by this value, ended once.
        let answer = unsafe { (self.domain.device().calls().ibv_dereg_mr)(self.region.as_ptr()) };
        if answer == 0 {
            // SAFETY: allocated with this layout; the device can no longer reach it.
            unsafe { alloc::dealloc(self.memory.as_ptr(), self.layout) };
        }
        // Else the device may still write there: the memory is given up, not given back.
    }
}

/// Bytes of a page: small buffers must not share pages, for the sake of `fork` on old kernels.
fn page_size() -> usize {
    // SAFETY: has no precondition.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(4096)
}
