//! Declares the functions of libibverbs that are exported symbols.
#![expect(unsafe_code, reason = "addresses become typed functions")]

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::sys::dl;
use crate::sys::ffi::{
    __be16, __be64, _compat_ibv_port_attr, ibv_ah, ibv_ah_attr, ibv_comp_channel,
    ibv_comp_cntr_caps, ibv_context, ibv_cq, ibv_device, ibv_device_attr, ibv_gid, ibv_mr, ibv_pd,
    ibv_qp, ibv_qp_attr, ibv_qp_init_attr,
};

dl::functions! {
    /// Functions of libibverbs that this program calls, in their default symbol versions.
    pub(in crate::sys) struct Calls of c"libibverbs.so.1" or "RDMACTL_LIBIBVERBS";
    required {
        fn ibv_get_device_list(*mut c_int) -> *mut *mut ibv_device;
        fn ibv_free_device_list(*mut *mut ibv_device);
        fn ibv_get_device_name(*mut ibv_device) -> *const c_char;
        fn ibv_get_device_guid(*mut ibv_device) -> __be64;
        fn ibv_open_device(*mut ibv_device) -> *mut ibv_context;
        fn ibv_close_device(*mut ibv_context) -> c_int;
        fn ibv_query_device(*mut ibv_context, *mut ibv_device_attr) -> c_int;
        fn ibv_query_port(*mut ibv_context, u8, *mut _compat_ibv_port_attr) -> c_int;
        fn ibv_query_gid(*mut ibv_context, u8, c_int, *mut ibv_gid) -> c_int;
        fn ibv_query_pkey(*mut ibv_context, u8, c_int, *mut __be16) -> c_int;
        fn ibv_alloc_pd(*mut ibv_context) -> *mut ibv_pd;
        fn ibv_dealloc_pd(*mut ibv_pd) -> c_int;
        fn ibv_reg_mr(*mut ibv_pd, *mut c_void, usize, c_int) -> *mut ibv_mr;
        fn ibv_dereg_mr(*mut ibv_mr) -> c_int;
        fn ibv_create_comp_channel(*mut ibv_context) -> *mut ibv_comp_channel;
        fn ibv_destroy_comp_channel(*mut ibv_comp_channel) -> c_int;
        fn ibv_create_cq(
            *mut ibv_context, c_int, *mut c_void, *mut ibv_comp_channel, c_int
        ) -> *mut ibv_cq;
        fn ibv_destroy_cq(*mut ibv_cq) -> c_int;
        fn ibv_get_cq_event(*mut ibv_comp_channel, *mut *mut ibv_cq, *mut *mut c_void) -> c_int;
        fn ibv_ack_cq_events(*mut ibv_cq, c_uint);
        fn ibv_create_qp(*mut ibv_pd, *mut ibv_qp_init_attr) -> *mut ibv_qp;
        fn ibv_modify_qp(*mut ibv_qp, *mut ibv_qp_attr, c_int) -> c_int;
        fn ibv_destroy_qp(*mut ibv_qp) -> c_int;
        fn ibv_create_ah(*mut ibv_pd, *mut ibv_ah_attr) -> *mut ibv_ah;
        fn ibv_destroy_ah(*mut ibv_ah) -> c_int;
    }
    optional {
        fn ibv_query_port_speed(*mut ibv_context, u32, *mut u64) -> c_int;
        fn _ibv_query_comp_cntr_caps(*mut ibv_context, *mut ibv_comp_cntr_caps, usize) -> c_int;
    }
}
