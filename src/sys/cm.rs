//! Connections by librdmacm: the only way on iWARP, and another way to the same queue pair
//! elsewhere.
//!
//! Each connection has an event channel of its own, every wait has a deadline, and what comes out
//! is a [`QueuePair`](super::verbs::QueuePair) like one that was moved by hand. librdmacm needs
//! the module `rdma_ucm` and the device file `/dev/infiniband/rdma_cm`.

mod address;
mod calls;
mod channel;
mod connection;
mod endpoint;
mod error;
mod event;
mod id;
mod listener;

pub use connection::Connection;
pub use endpoint::{ConnectOptions, Endpoint, Proof};
pub use error::{CmError, Step};
pub use event::{Event, EventKind, EventStatus};
pub use listener::Listener;
