//! Real RDMA messages between pairs of hosts, and what they prove.
//!
//! Two halves: [`worker`] is the far end, a process that owns queue pairs and does the steps it
//! is told; [`matrix`] is the operator's end, which plans the pairs, asks both workers for the
//! steps of each, and has `analyse` judge what came back. Between them stands [`Node`], so that
//! the matrix runs over SSH, over local processes, or over a made-up node.
//!
//! Thousands of hosts that are not there stand in a [`fabric`]: a [`simulation`] of a run has what
//! pairs show from it, and everything else from the same plan and the same judges.

mod acceptor;
mod address;
mod choose;
mod datagram;
mod device_presence;
mod end;
mod error;
mod exchange;
pub mod fabric;
mod halt;
pub mod mad;
pub mod mad_address;
pub mod matrix;
mod memory_limit;
mod message;
mod neighbour;
mod node;
mod own_firewall;
mod pair;
pub mod plan;
mod port_traffic;
pub mod simulation;
mod statistics;
mod stream;
mod tcp;
mod tcp_stream;
mod throughput;
pub mod worker;

pub use node::{Liveness, Node, Ticket};
