//! Lists and opens devices, and reads their attributes.
#![expect(unsafe_code, reason = "calls libibverbs")]

use std::any::Any;
use std::ffi::{CStr, c_int};
use std::fmt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::attr::{CompletionCounters, DeviceAttr, text};
use super::calls::Calls;
use super::error::{VerbsError, VerbsOperation};
use super::inline;
use crate::sys::descriptors::{self, FILES_OF_SEARCH};
use crate::sys::device_file;
use crate::sys::errno::Errno;
use crate::sys::ffi;
use crate::sys::plain::Plain as _;

/// A device for which libibverbs has a driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceEntry {
    /// Name in the kernel, for example `mlx5_0`.
    pub name: String,
    /// Value of `enum ibv_node_type`: 1 channel adapter, 4 iWARP adapter; -1 unknown.
    pub node_type: i32,
    /// Value of `enum ibv_transport_type`: 0 InfiniBand and RoCE, 1 iWARP; -1 unknown.
    pub transport_type: i32,
    /// Node GUID, in host byte order.
    pub guid: u64,
}

impl DeviceEntry {
    /// True for an iWARP device, which only `rdma_cm` can connect, not `ibv_modify_qp`.
    pub fn is_iwarp(&self) -> bool {
        self.transport_type == ffi::IBV_TRANSPORT_IWARP
    }
}

/// Devices that libibverbs lists at one moment.
///
/// The library searches the whole machine for a list: make one list for several devices.
#[derive(Debug)]
pub struct DeviceList {
    calls: &'static Calls,
    first: NonNull<*mut ffi::ibv_device>,
    count: usize,
}

impl DeviceList {
    /// Requests the list. The first call loads libibverbs, which can write warnings to stderr.
    pub fn get() -> Result<Self, VerbsError> {
        let calls = Calls::get()?;
        let mut count: c_int = 0;
        // SAFETY: the call fills in the integer.
        let first = unsafe { (calls.ibv_get_device_list)(&raw mut count) };
        let Some(first) = NonNull::new(first) else {
            let reported = Errno::last();
            return Err(match descriptors::shortage(FILES_OF_SEARCH).unwrap_or(reported) {
                Errno::NO_SYSTEM_CALL => VerbsError::NoKernelSupport,
                errno => VerbsError::call(VerbsOperation::List, "", errno),
            });
        };
        Ok(Self { calls, first, count: usize::try_from(count).unwrap_or(0) })
    }

    /// Returns the devices in the library's order; empty if RDMA is supported without a device.
    pub fn entries(&self) -> Vec<DeviceEntry> {
        self.iter().map(|device| device.describe()).collect()
    }

    /// Opens a device by its name in the kernel.
    pub fn open(&self, name: &str) -> Result<Device, VerbsError> {
        let device = self.iter().find(|device| device.name() == name);
        let context = device.ok_or_else(|| absent(name))?.open();
        let context =
            context.map_err(|errno| VerbsError::call(VerbsOperation::Open, name, errno))?;
        let handle = Handle { calls: self.calls, context, name: name.to_owned(), lender: None };
        Ok(Device(Arc::new(handle)))
    }

    fn iter(&self) -> impl Iterator<Item = Listed<'_>> {
        (0..self.count).map_while(|index| {
            // SAFETY: the list has `count` entries.
            let entry = unsafe { self.first.add(index) };
            // SAFETY: the entry is within the list.
            let raw = NonNull::new(unsafe { entry.read() })?;
            Some(Listed { raw, list: self })
        })
    }
}

/// Returns the reason why libibverbs does not list a device: its file is missing
/// (`try_access_device`, libibverbs/init.c), the library has no driver for the device, or the
/// process can open no more files.
fn absent(name: &str) -> VerbsError {
    if let Some(errno) = descriptors::shortage(FILES_OF_SEARCH) {
        return VerbsError::call(VerbsOperation::Open, name, errno);
    }
    let device = name.to_owned();
    // The kernel removes the verbs device before the RDMA device. In between it waits for users of
    // the device (`ib_uverbs_remove_one`, drivers/infiniband/core/uverbs_main.c).
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

/// A device of a list that is alive.
struct Listed<'list> {
    raw: NonNull<ffi::ibv_device>,
    list: &'list DeviceList,
}

impl Listed<'_> {
    fn name(&self) -> String {
        // SAFETY: the device belongs to a list that is alive.
        let name = unsafe { (self.list.calls.ibv_get_device_name)(self.raw.as_ptr()) };
        if name.is_null() {
            return String::new();
        }
        // SAFETY: the name is not null, so it is a C string that lives as long as the list.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }

    fn fields(&self) -> &ffi::ibv_device {
        // SAFETY: the device belongs to a list that is alive, and no code writes to the device.
        unsafe { self.raw.as_ref() }
    }

    fn describe(&self) -> DeviceEntry {
        // SAFETY: the device belongs to a list that is alive.
        let guid = unsafe { (self.list.calls.ibv_get_device_guid)(self.raw.as_ptr()) };
        DeviceEntry {
            name: self.name(),
            node_type: self.fields().node_type,
            transport_type: self.fields().transport_type,
            guid: u64::from_be(guid),
        }
    }

    fn open(&self) -> Result<NonNull<ffi::ibv_context>, Errno> {
        // SAFETY: the device belongs to a list that is alive.
        let context = unsafe { (self.list.calls.ibv_open_device)(self.raw.as_ptr()) };
        let told = Errno::last();
        let error = || device_file::open_error(&text(&self.fields().dev_name), told);
        NonNull::new(context).ok_or_else(error)
    }
}

impl Drop for DeviceList {
    fn drop(&mut self) {
        // SAFETY: the list came from the library and is freed once. Open devices outlive it.
        unsafe { (self.calls.ibv_free_device_list)(self.first.as_ptr()) }
    }
}

/// An open device. It is closed after the last clone and the last object made on it.
#[derive(Clone)]
pub struct Device(Arc<Handle>);

struct Handle {
    calls: &'static Calls,
    context: NonNull<ffi::ibv_context>,
    name: String,
    /// Owner that keeps the context open; `None` if this handle closes the context.
    lender: Option<Arc<dyn Any + Send + Sync>>,
}

// SAFETY: libibverbs allows calls on one context from any thread (Documentation/libibverbs.md of
// rdma-core).
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Device {
    /// Opens a device by its name in the kernel.
    pub fn open(name: &str) -> Result<Self, VerbsError> {
        DeviceList::get()?.open(name)
    }

    /// Wraps a context that `lender` keeps open.
    ///
    /// # Safety
    /// `context` must be open as long as `lender` lives.
    pub(in crate::sys) unsafe fn lent(
        context: NonNull<ffi::ibv_context>,
        lender: Arc<dyn Any + Send + Sync>,
    ) -> Result<Self, VerbsError> {
        let calls = Calls::get()?;
        // SAFETY: an open context has the device from which it was opened.
        let device = unsafe { (*context.as_ptr()).device };
        // SAFETY: as above.
        let name = unsafe { (calls.ibv_get_device_name)(device) };
        // SAFETY: the name is part of the device, which lives while the context is open.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        Ok(Self(Arc::new(Handle { calls, context, name, lender: Some(lender) })))
    }

    /// Returns the name in the kernel.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Queries the attributes and limits of the device.
    pub fn attr(&self) -> Result<DeviceAttr, VerbsError> {
        // SAFETY: the context is open.
        let (basic, extended) = unsafe { inline::query_device(self.calls(), self.context()) }
            .map_err(|errno| self.error(VerbsOperation::QueryDevice, errno))?;
        // SAFETY: as above; the number was set when the device was opened.
        let num_comp_vectors = unsafe { (*self.context()).num_comp_vectors };
        let completion_counters = self.completion_counters();
        Ok(DeviceAttr { basic, extended, num_comp_vectors, completion_counters })
    }

    fn completion_counters(&self) -> Option<CompletionCounters> {
        let query = self.calls()._ibv_query_comp_cntr_caps?;
        let mut caps = ffi::ibv_comp_cntr_caps::zeroed();
        // SAFETY: the context is open, and the size is that of the structure that the call fills
        // in.
        let answer = unsafe { query(self.context(), &raw mut caps, size_of_val(&caps)) };
        // The counters are optional: a failure of this query must not hide the other attributes.
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

    /// True if the device has an unspecified transport, which EFA adapters have.
    pub(super) fn may_be_efa(&self) -> bool {
        // SAFETY: an open context has the device from which it was opened.
        let device = unsafe { (*self.context()).device };
        // SAFETY: the device lives while the context is open, and no code writes to the device.
        let kind = unsafe { (*device).transport_type };
        kind == ffi::IBV_TRANSPORT_UNSPECIFIED
    }

    /// True if both have one open context. Only then can objects of one be used with the other.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.0.context == other.0.context
    }

    pub(super) fn error(&self, operation: VerbsOperation, errno: Errno) -> VerbsError {
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
            // SAFETY: this handle opened the context, and closes it once. Every object made on it
            // held a clone.
            let _ = unsafe { (self.calls.ibv_close_device)(self.context.as_ptr()) };
        }
    }
}
