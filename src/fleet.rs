//! Other hosts: their names, the SSH connections to them, and the agents at the far end.

mod host_set;
pub mod known_hosts;
mod local;
mod pipe;
mod poll;
mod ssh;
mod target;
mod watchdog;

pub use host_set::{Host, HostSet, HostSetError, fold};
pub use local::spawn as spawn_local;
pub use pipe::{Exit, Output, Pipe};
pub use ssh::{Connector, Limits, Session};
pub use target::{AddressFamily, HostKeyPolicy, Resolver, SshConfig, Target};
pub use watchdog::{Guard, Watchdog};
