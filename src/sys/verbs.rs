//! Calls verbs of libibverbs, which is opened when it is first needed.
//!
//! Two modules use it. The inventory (`source`) reads devices, ports and tables; the ping engine
//! (`ping`) owns one buffer per queue pair. This is no general verbs interface. A queue pair
//! sends from and receives into its own buffer only, so no safe call can make the device access
//! other memory.
//!
//! Call this module in a child process: libibverbs writes to stderr, and a call can hang.

mod address;
mod attr;
mod buffer;
mod calls;
mod completion;
mod completion_queue;
mod device;
mod domain;
mod efa;
mod error;
mod inline;
mod port;
mod post;
mod queue_pair;
mod transition;

pub use crate::sys::ffi::ibv_device_attr_ex;
pub use address::{AddressHandle, Grh, LocalRoute, Path, RemoteAddress};
pub use attr::{CompletionCounters, DeviceAttr};
pub use buffer::{AccessFlags, Buffer, Remote};
pub use completion::{Batch, Completion, CompletionStatus, Opcode};
pub use completion_queue::{CompletionQueue, Notify};
pub use device::{Device, DeviceEntry, DeviceList};
pub use domain::Domain;
pub use error::{VerbsError, VerbsOperation};
pub use port::{Mtu, PortAttr};
pub use post::{Destination, Signal, WorkRequest};
pub use queue_pair::{
    Addressed, Capacity, Connected, Datagram, Parts, QueuePair, Reliable, ReliableDatagram,
    Transport, Unreliable,
};
pub(in crate::sys) use queue_pair::{CmMaker, Maker};
pub use transition::{ConnectedInit, DatagramInit, ReadyToReceive, ReadyToSend, UnreliableReady};
