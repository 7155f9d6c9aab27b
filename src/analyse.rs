//! What readings mean: pure functions from `model` to `model`, without I/O and without a clock.

pub mod congestion;
pub mod connections;
pub mod culprit;
pub mod duplicates;
pub mod errors;
pub mod fabric;
pub mod findings;
pub mod hidden_faults;
pub mod holding;
pub mod lossless;
pub mod mtu;
pub mod operations;
pub mod outliers;
mod peel;
pub mod qp_owner;
pub mod rate;
pub mod regression;
pub mod share;
pub mod standing;
pub mod traffic;
pub mod vanished;
pub mod verdict;
