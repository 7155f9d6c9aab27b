//! The vocabulary of the program: plain serde types with units in their names, and no I/O.
//!
//! `collect` and `ping` fill them, `analyse` and `query` read them, `render` prints them.

mod failure;

pub use failure::{HostFailure, Reason};
