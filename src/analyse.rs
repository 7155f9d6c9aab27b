//! What readings mean: pure functions from `model` to `model`, without I/O and without a clock.

pub mod congestion;
pub mod connections;
pub mod culprit;
pub mod findings;
pub mod lossless;
pub mod rate;
pub mod traffic;
pub mod verdict;
