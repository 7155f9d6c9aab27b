//! Other hosts: their names, the SSH connections to them, and the agents at the far end.

mod host_set;

pub use host_set::{Host, HostSet, HostSetError, fold};
