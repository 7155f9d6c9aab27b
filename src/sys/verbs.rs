//! Calls functions of libibverbs. The first call opens the library.
//!
//! `source` reads devices, ports and tables; `ping` exchanges messages over queue pairs. This is
//! no general verbs interface: each queue pair owns one buffer, sends from it and receives into
//! it. No safe call can make the device access other memory.
//!
//! Use this module only in a child process: libibverbs writes to stderr, and a call can hang.

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
