//! Makes C structures that start as zero bytes, for `umad`, `verbs` and `cm`.
#![expect(unsafe_code, reason = "which C structures may be all zeros is said here")]

use std::mem::MaybeUninit;

use super::ffi;

/// A C structure that is valid if every byte is zero.
///
/// # Safety
/// Every field must be valid as zero bytes: an integer, a raw pointer, an optional function, or a
/// structure or union of these. A reference, a Rust enum or a bare function pointer is not.
pub(super) unsafe trait Plain: Sized {
    fn zeroed() -> Self {
        let zeros = MaybeUninit::zeroed();
        // SAFETY: the implementer promises that zero bytes are a valid value.
        unsafe { zeros.assume_init() }
    }
}

/// Implements [`Plain`] for generated structures.
macro_rules! plain {
    ($($name:ident)*) => {$(
        // SAFETY: a `repr(C)` structure of integers, raw pointers and unions of these; see `ffi`.
        unsafe impl Plain for ffi::$name {}
    )*};
}

plain! {
    ibv_ah_attr ibv_comp_cntr_caps ibv_device_attr ibv_device_attr_ex ibv_gid ibv_port_attr
    ib_user_mad_hdr ib_user_mad_reg_req ibv_qp_attr ibv_qp_init_attr ibv_recv_wr ibv_send_wr ibv_wc
    rdma_conn_param
}
