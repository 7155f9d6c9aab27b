//! What RDMA netlink says: the interface of each port, and who holds which queue pairs, regions
//! and connections.
//!
//! Attribute numbers are those of `enum rdma_nldev_attr` in `include/uapi/rdma/rdma_netlink.h`; they
//! are the same in all kernels from 5.10 to 7.3, and new ones are only added.

mod attr;
mod resource;

pub(super) use resource::decode_resources;
