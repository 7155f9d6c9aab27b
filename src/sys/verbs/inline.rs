//! Implements the `static inline` functions of `infiniband/verbs.h`, which are in no library.
//! Each function follows rdma-core's header step by step.
#![expect(unsafe_code, reason = "calls function pointers in structs of libibverbs")]

use std::ffi::c_int;
use std::mem::offset_of;

use super::calls::Calls;
use crate::sys::errno::Errno;
use crate::sys::ffi;
use crate::sys::plain::Plain;

/// True if the context is part of a `verbs_context` (`verbs_get_ctx` of the header).
///
/// # Safety
/// `context` must be open.
unsafe fn is_extended(context: *mut ffi::ibv_context) -> bool {
    // SAFETY: the caller promises an open context.
    let mark = unsafe { (*context).abi_compat };
    // `__VERBS_ABI_IS_EXTENDED` of the header is `((uint8_t *)NULL) - 1`.
    mark.addr() == usize::MAX
}

/// Returns the function pointer at `offset` in the `verbs_context` of an extended context.
///
/// Follows `verbs_get_ctx_op` of the header. The `verbs_context` of an older library is shorter:
/// its first fields are missing. The field `sz` holds its size.
///
/// # Safety
/// `context` must be open, and `T` the type of the optional function at `offset`.
unsafe fn extended_op_at<T: Copy>(context: *mut ffi::ibv_context, offset: usize) -> Option<T> {
    // SAFETY: the caller promises an open context.
    if !unsafe { is_extended(context) } {
        return None;
    }
    // Computes addresses only: the first fields do not exist with an older library.
    let field_at =
        |field| context.wrapping_byte_sub(offset_of!(ffi::verbs_context, context) - field);
    let size_field = field_at(offset_of!(ffi::verbs_context, sz)).cast::<usize>();
    // SAFETY: an extended context has `sz` directly before it, in every release.
    let size = unsafe { size_field.read() };
    if size < size_of::<ffi::verbs_context>() - offset {
        return None;
    }
    let op = field_at(offset).cast::<Option<T>>();
    // SAFETY: `sz` proves that the field exists, and the caller promises its type.
    unsafe { op.read() }
}

/// Returns a function pointer of an extended context by its field name.
macro_rules! extended_op {
    ($context:expr, $field:ident: $signature:ty) => {{
        const OFFSET: usize = offset_of!(ffi::verbs_context, $field);
        // This line does not compile if the signature is not that of the field.
        const _: fn(&ffi::verbs_context) -> &Option<$signature> = |table| &table.$field;
        // SAFETY: the caller promises an open context; the line above proves the type.
        unsafe { extended_op_at::<$signature>($context, OFFSET) }
    }};
}

type QueryPort =
    unsafe extern "C" fn(*mut ffi::ibv_context, u8, *mut ffi::ibv_port_attr, usize) -> c_int;

type QueryDeviceEx = unsafe extern "C" fn(
    *mut ffi::ibv_context,
    *const ffi::ibv_query_device_ex_input,
    *mut ffi::ibv_device_attr_ex,
    usize,
) -> c_int;

/// Queries the attributes of a port (`ibv_query_port`).
///
/// # Safety
/// `context` must be open.
pub(super) unsafe fn query_port(
    calls: &Calls,
    context: *mut ffi::ibv_context,
    port: u8,
) -> Result<ffi::ibv_port_attr, Errno> {
    let mut attr = ffi::ibv_port_attr::zeroed();
    let status = if let Some(op) = extended_op!(context, query_port: QueryPort) {
        // SAFETY: the context is open, and the size is that of the structure.
        unsafe { op(context, port, &raw mut attr, size_of_val(&attr)) }
    } else {
        // SAFETY: the function writes the first part of the structure, as in the header.
        unsafe { (calls.ibv_query_port)(context, port, (&raw mut attr).cast()) }
    };
    Errno::check(status).map(|()| attr)
}

/// Queries the attributes of a device (`ibv_query_device_ex`). The extended attributes are `None`
/// if the extended query does not exist; a field that the driver does not support is zero.
///
/// # Safety
/// `context` must be open.
pub(super) unsafe fn query_device(
    calls: &Calls,
    context: *mut ffi::ibv_context,
) -> Result<(ffi::ibv_device_attr, Option<ffi::ibv_device_attr_ex>), Errno> {
    if let Some(op) = extended_op!(context, query_device_ex: QueryDeviceEx) {
        let mut attr = ffi::ibv_device_attr_ex::zeroed();
        // SAFETY: the context is open, the input may be null, and the size is that of the
        // structure.
        let status = unsafe { op(context, std::ptr::null(), &raw mut attr, size_of_val(&attr)) };
        match Errno::check(status) {
            Ok(()) => return Ok((attr.orig_attr, Some(attr))),
            Err(errno) if errno.is_unsupported() => {}
            Err(errno) => return Err(errno),
        }
    }
    let mut attr = ffi::ibv_device_attr::zeroed();
    // SAFETY: the context is open.
    let status = unsafe { (calls.ibv_query_device)(context, &raw mut attr) };
    Errno::check(status).map(|()| (attr, None))
}

/// Posts a send request (`ibv_post_send`).
///
/// # Safety
/// `qp` must be alive, and `request` complete for its transport. The memory that `request` names
/// must be registered until the request completes.
#[inline]
pub(super) unsafe fn post_send(
    qp: *mut ffi::ibv_qp,
    request: &mut ffi::ibv_send_wr,
) -> Result<(), Errno> {
    // SAFETY: the caller promises a queue pair that is alive.
    let context = unsafe { (*qp).context };
    // SAFETY: a queue pair has the open context in which it was made.
    let op = unsafe { (*context).ops.post_send };
    let mut bad_request = std::ptr::null_mut();
    let Some(op) = op else { return Err(Errno::NOT_SUPPORTED) };
    // SAFETY: the caller promises a complete request and registered memory.
    let status = unsafe { op(qp, request, &raw mut bad_request) };
    Errno::check(status)
}

/// Posts a receive request (`ibv_post_recv`).
///
/// # Safety
/// `qp` must be alive. The memory that `request` names must be registered until the request
/// completes.
#[inline]
pub(super) unsafe fn post_recv(
    qp: *mut ffi::ibv_qp,
    request: &mut ffi::ibv_recv_wr,
) -> Result<(), Errno> {
    // SAFETY: the caller promises a queue pair that is alive.
    let context = unsafe { (*qp).context };
    // SAFETY: a queue pair has the open context in which it was made.
    let op = unsafe { (*context).ops.post_recv };
    let mut bad_request = std::ptr::null_mut();
    let Some(op) = op else { return Err(Errno::NOT_SUPPORTED) };
    // SAFETY: the caller promises registered memory.
    let status = unsafe { op(qp, request, &raw mut bad_request) };
    Errno::check(status)
}

/// Writes completions to the start of `completions`, and returns their number (`ibv_poll_cq`).
///
/// # Safety
/// `cq` must be alive.
#[inline]
pub(super) unsafe fn poll_cq(
    cq: *mut ffi::ibv_cq,
    completions: &mut [ffi::ibv_wc],
) -> Result<usize, Errno> {
    // SAFETY: the caller promises a completion queue that is alive.
    let context = unsafe { (*cq).context };
    // SAFETY: a completion queue has the open context in which it was made.
    let op = unsafe { (*context).ops.poll_cq };
    let Some(op) = op else { return Err(Errno::NOT_SUPPORTED) };
    let most = c_int::try_from(completions.len()).unwrap_or(c_int::MAX);
    // SAFETY: the queue is alive, and `completions` has at least `most` elements.
    let polled = unsafe { op(cq, most, completions.as_mut_ptr()) };
    // A provider returns any negative number for an error, no errno.
    usize::try_from(polled).map(|count| count.min(completions.len())).or(Err(Errno::IO))
}

/// Requests an event for the next completion of any kind (`ibv_req_notify_cq`).
///
/// # Safety
/// `cq` must be alive.
#[inline]
pub(super) unsafe fn req_notify_cq(cq: *mut ffi::ibv_cq) -> Result<(), Errno> {
    // SAFETY: the caller promises a completion queue that is alive.
    let context = unsafe { (*cq).context };
    // SAFETY: a completion queue has the open context in which it was made.
    let op = unsafe { (*context).ops.req_notify_cq };
    let Some(op) = op else { return Err(Errno::NOT_SUPPORTED) };
    // SAFETY: the queue is alive.
    let status = unsafe { op(cq, 0) };
    Errno::check(status)
}
