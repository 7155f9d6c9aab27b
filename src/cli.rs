//! The command line: types only. The doc comments are the help, the man pages and the completions.
//!
//! What a command does is in `cmd`, in the file of its name.

mod agent;
mod capture;
mod compat;
mod counters;
mod devices;
mod duration;
pub mod flags;
mod gids;
mod global;
mod ping;
mod ports;
mod resources;
mod shell;

use clap::{Parser, Subcommand};

pub use agent::AgentArgs;
pub use capture::CaptureArgs;
pub use compat::CompatArgs;
pub use counters::CountersArgs;
pub use devices::DevicesArgs;
pub use gids::GidsArgs;
pub use global::{ColorWhen, Format, Global};
pub use ping::PingArgs;
pub use ports::PortsArgs;
pub use resources::ResourcesArgs;
pub use shell::{CompletionsArgs, ManArgs, Shell};

/// See, prove and mend RDMA on one host or a whole cluster.
///
/// Without a command: what this host has, in one screen.
#[derive(Debug, Parser)]
#[command(
    name = "rdmactl",
    version,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 all was read; 1 a problem was found; 2 wrong usage, or nothing \
                  could be read; 3 a part could not be read."
)]
pub struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub global: Global,
    /// The command; without one, a summary of this host.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the RDMA devices and their ports.
    Devices(DevicesArgs),
    /// List the ports with all that is known of their links.
    Ports(PortsArgs),
    /// List the GID tables: by which addresses a port can be reached.
    Gids(GidsArgs),
    /// List what the ports have counted: traffic, errors, congestion.
    Counters(CountersArgs),
    /// List who holds queue pairs, connections, memory regions and other objects.
    Resources(ResourcesArgs),
    /// Send RDMA messages between hosts, and say what is wrong where they do not pass.
    Ping(PingArgs),
    /// Record what hosts answer, to be read again with --from.
    Capture(CaptureArgs),
    /// Print what ibstat and other older tools print, byte for byte.
    Compat(CompatArgs),
    /// Print the completion script of a shell.
    Completions(CompletionsArgs),
    /// Write the man pages into a directory.
    Man(ManArgs),
    /// The remote end of rdmactl; it is started by rdmactl itself.
    #[command(hide = true)]
    Agent(AgentArgs),
}
