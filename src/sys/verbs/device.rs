//! Devices: listing, opening, and what they say about themselves.
#![expect(unsafe_code, reason = "calls libibverbs")]

use std::any::Any;
use std::ffi::{CStr, c_int};
use std::fmt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::attr::{CompletionCounters, DeviceAttr, text};
use super::calls::{Calls, CompletionCounterCaps};
use super::error::{Operation, VerbsError};
use super::inline::{self, DeviceAnswer};
use crate::sys::device_file;
use crate::sys::errno::Errno;
use crate::sys::ffi;

/// A device that libibverbs has a driver for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceEntry {
    /// The kernel's name, as in `mlx5_0`.
    pub name: String,
    /// `node_type` as in `enum ibv_node_type`: 1 channel adapter, 4 iWARP card; -1 unknown.
    pub node_type: i32,
    /// `transport_type` as in `enum ibv_transport_type`: 0 InfiniBand and RoCE, 1 iWARP; -1 unknown.
    pub transport_type: i32,
    /// The node GUID, as a number in host byte order.
    pub guid: u64,
}

impl DeviceEntry {
    /// Whether connections must be made by `rdma_cm`, because queue pairs cannot be moved by hand.
    #[must_use]
    pub fn is_iwarp(&self) -> bool {
        self.transport_type == ffi::IBV_TRANSPORT_IWARP
    }
}

/// The devices that libibverbs lists at one moment.
///
/// The library looks through the whole machine for each list: whoever opens all devices takes one.
pub struct DeviceList {
    calls: &'static Calls,
    first: NonNull<*mut ffi::ibv_device>,
    count: usize,
}

impl DeviceList {
    /// Asks for the list. The first call loads libibverbs, which may write warnings to stderr by
    /// itself.
    pub fn get() -> Result<Self, VerbsError> {
        let calls = Calls::get()?;
        let mut count: c_int = 0;
        // SAFETY: the argument is an integer to fill in.
        let first = unsafe { (calls.ibv_get_device_list)(&raw mut count) };
        let Some(first) = NonNull::new(first) else {
            return Err(match Errno::last() {
                Errno::NO_SYSTEM_CALL => VerbsError::NoKernelSupport,
                errno => VerbsError::call(Operation::List, "", errno),
            });
        };
        Ok(Self { calls, first, count: usize::try_from(count).unwrap_or(0) })
    }

    /// The devices, in the library's order; empty when the kernel has support and no device.
    #[must_use]
    pub fn entries(&self) -> Vec<DeviceEntry> {
        self.iter().map(|device| device.describe()).collect()
    }

    /// Opens a device by the kernel's name.
    pub fn open(&self, name: &str) -> Result<Device, VerbsError> {
        let device =
            self.iter().find(|device| device.name() == name).ok_or_else(|| absent(name))?;
        let context =
            device.open().map_err(|errno| VerbsError::call(Operation::Open, name, errno))?;
        let handle = Handle { calls: self.calls, context, name: name.to_owned(), lender: None };
        Ok(Device(Arc::new(handle)))
    }

    fn iter(&self) -> impl Iterator<Item = Listed<'_>> {
        (0..self.count).map_while(|index| {
            // SAFETY: the list has `count` entries.
            let entry = unsafe { self.first.add(index) };
            // SAFETY: an entry within the list.
            let raw = NonNull::new(unsafe { entry.read() })?;
            Some(Listed { raw, list: self })
        })
    }
}

/// Returns why libibverbs does not list a device. The library leaves out a device whose file is
/// missing (`try_access_device`, libibverbs/init.c) and a device without a driver of the library.
fn absent(name: &str) -> VerbsError {
    let device = name.to_owned();
    // The kernel removes the verbs device first: it waits there for the processes that use the
    // device (`ib_uverbs_remove_one`, drivers/infiniband/core/uverbs_main.c).
    let Some(file) = device_file::verbs_file(name) else {
        return VerbsError::NoSuchDevice { device };
    };
    let file = format!("/dev/infiniband/{file}");
    if Path::new(&file).exists() {
        VerbsError::NoProvider { device }
    } else {
        VerbsError::NoFile { device, file }
    }
}

/// A device of a list that lives.
struct Listed<'list> {
    raw: NonNull<ffi::ibv_device>,
    list: &'list DeviceList,
}

impl Listed<'_> {
    fn name(&self) -> String {
        // SAFETY: the device is of a list that lives.
        let name = unsafe { (self.list.calls.ibv_get_device_name)(self.raw.as_ptr()) };
        if name.is_null() {
            return String::new();
        }
        // SAFETY: not null, so a C string that lives as long as the list.
        let name = unsafe { CStr::from_ptr(name) };
        name.to_string_lossy().into_owned()
    }

    fn fields(&self) -> &ffi::ibv_device {
        // SAFETY: the device is of a list that lives, and nobody writes to it.
        unsafe { self.raw.as_ref() }
    }

    fn describe(&self) -> DeviceEntry {
        // SAFETY: the device is of a list that lives.
        let guid = unsafe { (self.list.calls.ibv_get_device_guid)(self.raw.as_ptr()) };
        DeviceEntry {
            name: self.name(),
            node_type: self.fields().node_type,
            transport_type: self.fields().transport_type,
            guid: u64::from_be(guid),
        }
    }

    fn open(&self) -> Result<NonNull<ffi::ibv_context>, Errno> {
        // SAFETY: the device is of a list that lives.
        let context = unsafe { (self.list.calls.ibv_open_device)(self.raw.as_ptr()) };
        NonNull::new(context).ok_or_else(|| {
            let told = Errno::last();
            device_file::open_error(&text(&self.fields().dev_name), told)
        })
    }
}

impl fmt::Debug for DeviceList {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "DeviceList({} devices)", self.count)
    }
}

impl Drop for DeviceList {
    fn drop(&mut self) {
        // SAFETY: the list came from the library and is freed once. Open devices outlive it.
        unsafe { (self.calls.ibv_free_device_list)(self.first.as_ptr()) }
    }
}

/// An open device. Clones share it; it is closed with the last of them and of what was made on it.
#[derive(Clone)]
pub struct Device(Arc<Handle>);

struct Handle {
    calls: &'static Calls,
    context: NonNull<ffi::ibv_context>,
    name: String,
    /// Who closes the context: this handle when `None`, else what is kept alive here.
    lender: Option<Arc<dyn Any + Send + Sync>>,
}

// SAFETY: libibverbs allows calls on one context from any thread (its Documentation/libibverbs.md).
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Device {
    /// Opens a device by the kernel's name.
    pub fn open(name: &str) -> Result<Self, VerbsError> {
        DeviceList::get()?.open(name)
    }

    /// Takes a context that `lender` keeps open.
    ///
    /// # Safety
    ///
    /// `context` must be open for as long as `lender` lives.
    pub(in crate::sys) unsafe fn lent(
        context: NonNull<ffi::ibv_context>,
        lender: Arc<dyn Any + Send + Sync>,
    ) -> Result<Self, VerbsError> {
        let calls = Calls::get()?;
        // SAFETY: an open context has the device it was opened from.
        let device = unsafe { (*context.as_ptr()).device };
        // SAFETY: as above.
        let name = unsafe { (calls.ibv_get_device_name)(device) };
        // SAFETY: the name is part of the device, which is kept while the context is open.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        Ok(Self(Arc::new(Handle { calls, context, name, lender: Some(lender) })))
    }

    /// The kernel's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What the device says about itself and its limits.
    pub fn attr(&self) -> Result<DeviceAttr, VerbsError> {
        // SAFETY: the context is open.
        let answer = unsafe { inline::query_device(self.calls(), self.context()) }
            .map_err(|errno| self.error(Operation::QueryDevice, errno))?;
        // SAFETY: as above; the number is set when the device is opened.
        let vectors = unsafe { (*self.context()).num_comp_vectors };
        let attr = match answer {
            DeviceAnswer::Extended(attr) => DeviceAttr::extended(&attr, vectors),
            DeviceAnswer::Legacy(attr) => DeviceAttr::legacy(&attr, vectors),
        };
        Ok(DeviceAttr { completion_counters: self.completion_counters(), ..attr })
    }

    fn completion_counters(&self) -> Option<CompletionCounters> {
        let query = self.calls()._ibv_query_comp_cntr_caps?;
        let mut caps = CompletionCounterCaps::default();
        // SAFETY: the context is open, and the size is that of the structure to fill in.
        let answer = unsafe { query(self.context(), &raw mut caps, size_of_val(&caps)) };
        // An extra, as the rate of a port is: whatever keeps it away is no reason to lose the rest.
        (answer == 0).then_some(CompletionCounters {
            max_value: caps.max_value,
            max_counters: caps.max_counters,
            supported_qp_attach_ops: caps.supported_qp_attach_ops,
        })
    }

    pub(super) fn calls(&self) -> &'static Calls {
        self.0.calls
    }

    pub(super) fn context(&self) -> *mut ffi::ibv_context {
        self.0.context.as_ptr()
    }

    /// Whether it is neither InfiniBand nor iWARP nor any other transport that verbs have a word
    /// for, as EFA's cards are not.
    pub(super) fn may_be_efa(&self) -> bool {
        // SAFETY: an open context has the device it was opened from.
        let device = unsafe { (*self.context()).device };
        // SAFETY: the device is kept while the context is open, and nobody writes to it.
        let kind = unsafe { (*device).transport_type };
        kind == ffi::IBV_TRANSPORT_UNSPECIFIED
    }

    /// Whether both are the same open context, so that objects of one may be used with the other.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.0.context == other.0.context
    }

    pub(super) fn error(&self, operation: Operation, errno: Errno) -> VerbsError {
        VerbsError::call(operation, self.name(), errno)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Device({})", self.name())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.lender.is_none() {
            // SAFETY: opened by this handle, closed once; all that was made on it held a clone.
            let _ = unsafe { (self.calls.ibv_close_device)(self.context.as_ptr()) };
        }
    }
}
