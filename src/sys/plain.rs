//! C structures that start as zeros.
#![expect(unsafe_code, reason = "which C structures may be all zeros is said here")]

use std::mem::MaybeUninit;

use super::ffi;

/// A C structure for which all bytes zero is a valid value.
///
/// # Safety
///
/// Every field must be valid as zero bytes: integers, raw pointers, optional functions, and
/// structures and unions of these; no reference, no Rust enum, no bare function pointer.
pub(super) unsafe trait Plain: Sized {
    /// The value of which every byte is zero.
    fn zeroed() -> Self {
        let zeros = MaybeUninit::zeroed();
        // SAFETY: the implementor promises that zero bytes are a valid value.
        unsafe { zeros.assume_init() }
    }
}

/// Promises [`Plain`] for structures of the generated file.
macro_rules! plain {
    ($($name:ident)*) => {$(
        // SAFETY: a `repr(C)` structure of integers, raw pointers and unions of these; see `ffi`.
        unsafe impl Plain for ffi::$name {}
    )*};
}

plain! {
    ibv_ah_attr ibv_device_attr ibv_device_attr_ex ibv_gid ibv_gid_entry ibv_port_attr
    ib_user_mad_hdr ib_user_mad_reg_req ibv_qp_attr ibv_qp_init_attr ibv_recv_wr ibv_send_wr ibv_wc
    rdma_conn_param
}
