//! Registers memory with a device, which accesses it without the compiler seeing it.
#![expect(unsafe_code, reason = "memory shared with a device")]

use std::alloc::{self, Layout};
use std::ptr::NonNull;

use super::domain::Domain;
use super::error::{VerbsError, VerbsOperation};
use crate::sys::errno::Errno;
use crate::sys::ffi;

/// A zeroed, page-aligned buffer registered with a device.
///
/// The buffer never lends a reference, because the device can change the memory at any time.
/// Callers copy bytes in and out. A copy during a transfer has unspecified content.
#[derive(Debug)]
pub struct Buffer {
    memory: NonNull<u8>,
    layout: Layout,
    region: NonNull<ffi::ibv_mr>,
    key: u32,
    domain: Domain,
}

// SAFETY: this value alone owns the memory and the region, and libibverbs does not tie them to a
// thread.
unsafe impl Send for Buffer {}

/// Rights of the peer on registered memory. The peer can always send into posted receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccessFlags {
    /// True if the peer may read the memory with RDMA.
    pub remote_read: bool,
    /// True if the peer may write the memory with RDMA.
    pub remote_write: bool,
}

impl AccessFlags {
    /// Returns the flags of `enum ibv_access_flags`; local writes are always allowed.
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

/// Memory of a peer, by address and key. The peer's adapter checks every access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote {
    /// First byte, as an address in the peer's process.
    pub address: u64,
    /// Key that the peer's adapter requires.
    pub key: u32,
}

impl Buffer {
    /// Allocates and registers `size` bytes.
    ///
    /// The most frequent cause of ENOMEM is a low limit of locked memory.
    pub fn new(domain: &Domain, size: usize, access: AccessFlags) -> Result<Self, VerbsError> {
        let device = domain.device();
        let failed = |errno| device.error(VerbsOperation::RegisterMemory, errno);
        let layout = Layout::from_size_align(size, page_size())
            .ok()
            .filter(|layout| layout.size() != 0)
            .ok_or_else(|| failed(Errno::INVALID))?;
        // SAFETY: the layout's size is not zero.
        let memory = unsafe { alloc::alloc_zeroed(layout) };
        let memory = NonNull::new(memory).ok_or_else(|| failed(Errno::NO_MEMORY))?;
        let flags = access.flags().cast_signed();
        let register = device.calls().ibv_reg_mr;
        // SAFETY: the domain is alive, and this function owns the memory as long as the region
        // exists.
        let region = unsafe { register(domain.raw(), memory.as_ptr().cast(), size, flags) };
        let Some(region) = NonNull::new(region) else {
            let errno = Errno::last();
            // SAFETY: the memory was allocated above with this layout, and no region uses it.
            unsafe { alloc::dealloc(memory.as_ptr(), layout) };
            return Err(failed(errno));
        };
        // SAFETY: the region is alive; its keys do not change.
        let key = unsafe { (*region.as_ptr()).lkey };
        Ok(Self { memory, layout, region, key, domain: domain.clone() })
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// Returns the address and the key that a peer with [`AccessFlags`] uses.
    pub fn remote(&self) -> Remote {
        // SAFETY: the region is alive; its keys do not change.
        let key = unsafe { (*self.region.as_ptr()).rkey };
        Remote { address: self.memory.as_ptr().expose_provenance() as u64, key }
    }

    /// Copies bytes into the buffer.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<(), VerbsError> {
        let to = self.at(offset, bytes.len())?;
        // SAFETY: the range lies within the buffer, and a borrowed slice cannot overlap it.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Copies bytes out of the buffer.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<(), VerbsError> {
        let from = self.at(offset, bytes.len())?;
        // SAFETY: as in `write`. The compiler cannot reuse an older value of memory whose address
        // a foreign function has: between two reads the program calls the poll function.
        unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// Checks a range and returns its scatter/gather entry.
    #[inline]
    pub(super) fn entry(&self, offset: usize, length: usize) -> Result<ffi::ibv_sge, VerbsError> {
        let start = self.at(offset, length)?;
        let Ok(length) = u32::try_from(length) else {
            return Err(self.outside(offset, length));
        };
        Ok(ffi::ibv_sge { addr: start.expose_provenance() as u64, length, lkey: self.key })
    }

    /// Returns the domain in which the buffer is registered.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Checks a range and returns a pointer to its first byte.
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

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: this value registered the region, and deregisters it once.
        let answer = unsafe { (self.domain.device().calls().ibv_dereg_mr)(self.region.as_ptr()) };
        if answer == 0 {
            // SAFETY: the memory was allocated with this layout, and the device cannot access it
            // anymore.
            unsafe { alloc::dealloc(self.memory.as_ptr(), self.layout) };
        }
        // Otherwise the device can still write to the memory, so the memory is leaked.
    }
}

/// Returns the page size. Buffers share no page, because `fork` on old kernels breaks them.
fn page_size() -> usize {
    // SAFETY: the call has no precondition.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(4096)
}
