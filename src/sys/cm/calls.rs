//! Declares the functions of librdmacm.
#![expect(unsafe_code, reason = "addresses become typed functions")]

use std::ffi::{c_int, c_void};

use libc::sockaddr;

use crate::sys::dl;
use crate::sys::ffi::{
    __be16, ibv_pd, ibv_qp_init_attr, rdma_cm_event, rdma_cm_id, rdma_conn_param,
    rdma_event_channel, rdma_port_space,
};

dl::functions! {
    /// Functions of librdmacm that this program calls.
    pub(super) struct Calls of c"librdmacm.so.1" or "RDMACTL_LIBRDMACM";
    required {
        fn rdma_create_event_channel() -> *mut rdma_event_channel;
        fn rdma_destroy_event_channel(*mut rdma_event_channel);
        fn rdma_create_id(
            *mut rdma_event_channel, *mut *mut rdma_cm_id, *mut c_void, rdma_port_space
        ) -> c_int;
        fn rdma_destroy_id(*mut rdma_cm_id) -> c_int;
        fn rdma_migrate_id(*mut rdma_cm_id, *mut rdma_event_channel) -> c_int;
        fn rdma_bind_addr(*mut rdma_cm_id, *mut sockaddr) -> c_int;
        fn rdma_listen(*mut rdma_cm_id, c_int) -> c_int;
        fn rdma_get_src_port(*mut rdma_cm_id) -> __be16;
        fn rdma_resolve_addr(*mut rdma_cm_id, *mut sockaddr, *mut sockaddr, c_int) -> c_int;
        fn rdma_resolve_route(*mut rdma_cm_id, c_int) -> c_int;
        fn rdma_create_qp(*mut rdma_cm_id, *mut ibv_pd, *mut ibv_qp_init_attr) -> c_int;
        fn rdma_destroy_qp(*mut rdma_cm_id);
        fn rdma_connect(*mut rdma_cm_id, *mut rdma_conn_param) -> c_int;
        fn rdma_accept(*mut rdma_cm_id, *mut rdma_conn_param) -> c_int;
        fn rdma_disconnect(*mut rdma_cm_id) -> c_int;
        fn rdma_get_cm_event(*mut rdma_event_channel, *mut *mut rdma_cm_event) -> c_int;
        fn rdma_ack_cm_event(*mut rdma_cm_event) -> c_int;
    }
    optional {}
}
