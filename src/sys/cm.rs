//! Makes connections with librdmacm: required by iWARP, possible on InfiniBand and `RoCE`.
//!
//! Each connection has its own event channel, and each wait has a deadline. The result is a
//! [`QueuePair`](super::verbs::QueuePair) in state RTS. librdmacm needs the kernel module
//! `rdma_ucm` and the device file `/dev/infiniband/rdma_cm`.

mod address;
mod calls;
mod channel;
mod connection;
mod endpoint;
mod error;
mod event;
mod id;
mod listener;
mod options;

pub use connection::CmConnection;
pub use endpoint::CmEndpoint;
pub use error::{CmError, CmStep};
pub use event::{CmEvent, EventKind, EventStatus};
pub use listener::Listener;
pub use options::{ConnectOptions, ConnectionProof};
