//! Tests sizes and offsets of C structures. C compiled with the headers of rdma-core v17 (2018),
//! v28, v44 and v64 (2026) has equal values, on `x86_64` and aarch64.

use std::mem::{offset_of, size_of};

use super::ffi::{self, verbs_context};

#[test]
fn structures_have_the_sizes_of_the_binary_interface() {
    let sizes = [
        ("ibv_context", size_of::<ffi::ibv_context>(), 328),
        ("ibv_qp", size_of::<ffi::ibv_qp>(), 160),
        ("ibv_cq", size_of::<ffi::ibv_cq>(), 128),
        ("ibv_mr", size_of::<ffi::ibv_mr>(), 48),
        ("ibv_device_attr", size_of::<ffi::ibv_device_attr>(), 232),
        ("ibv_qp_attr", size_of::<ffi::ibv_qp_attr>(), 144),
        ("ibv_qp_init_attr", size_of::<ffi::ibv_qp_init_attr>(), 64),
        ("ibv_send_wr", size_of::<ffi::ibv_send_wr>(), 128),
        ("ibv_recv_wr", size_of::<ffi::ibv_recv_wr>(), 32),
        ("ibv_wc", size_of::<ffi::ibv_wc>(), 48),
        ("ibv_ah_attr", size_of::<ffi::ibv_ah_attr>(), 32),
        ("rdma_cm_id", size_of::<ffi::rdma_cm_id>(), 416),
        ("rdma_cm_event", size_of::<ffi::rdma_cm_event>(), 80),
        ("rdma_conn_param", size_of::<ffi::rdma_conn_param>(), 24),
        ("ib_user_mad_hdr", size_of::<ffi::ib_user_mad_hdr>(), 64),
    ];
    for (name, ours, measured) in sizes {
        // The mutex inside these structures is 8 bytes larger on aarch64.
        let held = matches!(name, "ibv_context" | "ibv_qp" | "ibv_cq");
        let more = if held && cfg!(target_arch = "aarch64") { 8 } else { 0 };
        assert_eq!(ours, measured + more, "{name}");
    }
}

#[test]
fn operations_lie_where_providers_put_them() {
    let ops = offset_of!(ffi::ibv_context, ops);
    assert_eq!(ops + offset_of!(ffi::ibv_context_ops, poll_cq), 96);
    assert_eq!(ops + offset_of!(ffi::ibv_context_ops, post_send), 208);
    // The table around a context grows at its start, so the distance from its end is fixed.
    let from_end = |offset| size_of::<verbs_context>() - size_of::<ffi::ibv_context>() - offset;
    assert_eq!(from_end(offset_of!(verbs_context, query_port)), 648 - 328);
    assert_eq!(from_end(offset_of!(verbs_context, query_device_ex)), 432 - 328);
    assert_eq!(from_end(offset_of!(verbs_context, sz)), 8);
}
