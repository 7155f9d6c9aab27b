//! Other hosts: the SSH connections to them, and the agents on them.
//!
//! - [`LiveAgents`] keeps the agents of many hosts between two samples.
//! - [`mod@fan_out`] serves the hosts on a bounded number of threads.
//! - A [`Resolver`] reads the SSH configuration of each host.
//! - A [`Connector`] opens a [`SshSession`] to a host.
//! - A [`Pipe`] is one command of a session. The rest of the program sees it as a socket.
//!
//! The messages in a pipe belong to `wire`. A host that fails is a
//! [`HostFailure`](crate::model::HostFailure) and never ends the run.

mod access;
mod agent;
mod agent_starter;
mod algorithms;
mod cleanup_failure;
mod client_choice;
mod connector;
mod credentials;
mod deadline_reader;
mod fan_out;
mod fault;
mod host_reader;
mod jump_hosts;
mod key_unlocker;
pub mod known_hosts;
mod launcher;
mod live_agents;
mod local;
mod login_limits;
mod memory_budget;
mod nonce;
mod pipe;
mod programs;
mod quote;
pub mod remote_command;
mod shell;
mod ssh;
mod ssh_config;
mod ssh_program;
mod sudo;
mod target;
mod time_limit;
mod upload;
mod watchdog;
mod worker_host;

pub use access::Access;
pub use agent::{Agent, NoGreeting};
pub use agent_starter::{AgentStarter, NoticeHandler, ReachedHost, StartNotice, UploadPolicy};
pub use algorithms::Algorithms;
pub use cleanup_failure::CleanupFailure;
pub use connector::{Connector, SshSession};
pub use credentials::Credentials;
pub use fan_out::{allow_descriptors, fan_out};
pub use fault::{HostResult, cancelled};
pub use host_reader::HostReader;
pub use launcher::{Exec, Launcher, Slurm, TemplateError};
pub use live_agents::{DatedReport, LiveAgents};
pub use local::spawn as spawn_local;
pub use login_limits::SshTimeouts;
pub use nonce::Nonce;
pub use pipe::{Exit, Output, Pipe};
pub use remote_command::Uploaded;
pub use shell::Shell;
pub use ssh_config::SshConfig;
pub use ssh_program::SshCall;
pub use target::{
    AddressFamily, HostKeyPolicy, Resolver, SshClient, SshConfigCache, SshRoute, Target,
};
pub use upload::Program;
pub use watchdog::{Guard, Watchdog};
pub use worker_host::WorkerHost;
