//! Other hosts: their names, the SSH connections to them, and the agents on them.
//!
//! - [`HostSet`] names the hosts.
//! - [`mod@fan_out`] serves the hosts on a bounded number of threads.
//! - A [`Resolver`] reads the SSH configuration of each host.
//! - A [`Connector`] opens a [`Session`] to a host.
//! - A [`Pipe`] is one command of a session. The rest of the program sees it as a socket.
//!
//! The messages in a pipe belong to `wire`. A host that fails is a
//! [`HostFailure`](crate::model::HostFailure) and never ends the run.

mod access;
mod agent;
mod algorithms;
mod budget;
mod choice;
mod connector;
mod descriptors;
mod fan_out;
pub mod host_lists;
mod host_set;
mod jumps;
pub mod known_hosts;
mod last_words;
mod launcher;
mod leftover;
mod local;
mod named_hosts;
mod nonce;
mod observer;
mod pipe;
mod poll;
mod programs;
mod reach;
pub mod remote_command;
mod session;
mod shell;
mod site;
mod ssh;
mod ssh_program;
mod sudo;
mod target;
mod time_limit;
mod timed;
mod unlock;
mod upload;
mod watchdog;

pub use access::Access;
pub use agent::{Agent, Silent};
pub use algorithms::Algorithms;
pub use connector::Connector;
pub use descriptors::allow_descriptors;
pub use fan_out::fan_out;
pub use host_set::{
    Found, GroupName, Host, HostSet, HostSetError, Line, LineError, Lookup, LookupError, Within,
};
pub use launcher::{Exec, Launcher, Slurm, TemplateError};
pub use leftover::Leftover;
pub use local::spawn as spawn_local;
pub use named_hosts::{NamedHost, named_hosts};
pub use nonce::Nonce;
pub use observer::Observer;
pub use pipe::{Exit, Output, Pipe};
pub use reach::{Notice, Reach, Reached, Tell, UploadPolicy};
pub use session::Session;
pub use shell::Shell;
pub use site::{Site, SitePlaces};
pub use ssh::{Limits, cancelled};
pub use ssh_program::SshCall;
pub use target::{
    AddressFamily, Classes, Here, HostKeyPolicy, Resolver, Route, SshConfig, Target, Transport,
};
pub use upload::{Program, Uploaded};
pub use watchdog::{Guard, Watchdog};
