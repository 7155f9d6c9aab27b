//! Sends real RDMA messages between pairs of hosts and collects the evidence.
//!
//! [`worker`] is the process on a host: it owns queue pairs and runs the requested steps.
//! [`matrix`] runs on the operator's side: it plans the pairs, requests the steps of each pair
//! from both workers, and lets `analyse` judge the results. [`Node`] is the interface between
//! them, so that the matrix works over SSH, with local processes and with simulated hosts.
//!
//! A [`fabric`] simulates thousands of hosts. A [`simulation`] takes the results of pairs from
//! the fabric, and uses the same plan and the same analysis as a real run.

mod acceptor;
mod address;
mod choose;
mod datagram;
mod device_presence;
mod driver;
mod end;
mod error;
mod exchange;
pub mod fabric;
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
mod random;
pub mod simulation;
mod statistics;
mod stop_flag;
mod stream;
mod tcp;
mod tcp_stream;
mod throughput;
pub mod worker;

pub use choose::MadAddressee;
pub use node::{Liveness, Node, Ticket};
