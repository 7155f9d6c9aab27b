//! The command line: types only. The doc comments are the help, the man pages and the completions.
//!
//! What a command does is in `cmd`, in the file of its name.

mod agent;
mod capture;
mod compat;
mod connections;
mod counters;
mod devices;
mod duration;
pub mod flags;
mod gids;
mod global;
mod hosts;
mod launcher;
mod ping;
mod ports;
mod resources;
mod shell;
mod ssh_option;
mod top;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory as _, Parser, Subcommand};

pub use agent::AgentArgs;
pub use capture::CaptureArgs;
pub use compat::CompatArgs;
pub use connections::{ConnectionsArgs, FailOn, Only};
pub use counters::CountersArgs;
pub use devices::DevicesArgs;
pub use gids::GidsArgs;
pub use global::{ColorWhen, Format, Global};
pub use hosts::HostsArgs;
pub use launcher::{Launcher, join_launcher};
pub use ping::{PingArgs, RailsAsked, ScheduleName};
pub use ports::PortsArgs;
pub use resources::ResourcesArgs;
pub use shell::{CompletionsArgs, ManArgs, Shell};
pub use top::{ThemeName, TopArgs, ViewName};

const NAME: &str = "rdmactl";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// See, prove and mend RDMA on one host or a whole cluster.
///
/// Without a command: what this host has, in one screen.
#[derive(Debug, Parser)]
#[command(
    name = NAME,
    version = VERSION,
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

impl Cli {
    /// Takes a command line apart by the tree of commands, which is returned with what was found.
    ///
    /// clap copies the flags of all commands into each, which takes longer than all else that
    /// `devices` does: the tree has only those commands whose names are among the words, until an error
    /// is to be explained by all of them.
    ///
    /// # Errors
    /// A usage error, or help or the version was asked for.
    pub fn matches(words: &[OsString]) -> Result<(clap::Command, ArgMatches), clap::Error> {
        let mut tree = Self::command();
        let is_named =
            |command: &&clap::Command| words.iter().any(|word| word == command.get_name());
        let mut few = clap::Command::new(NAME)
            .version(VERSION)
            .disable_help_subcommand(true)
            .args(tree.get_arguments().cloned())
            .subcommands(tree.get_subcommands().filter(is_named).cloned());
        match few.try_get_matches_from_mut(words) {
            Ok(matches) => return Ok((few, matches)),
            Err(error) if error.kind() == ErrorKind::DisplayVersion => return Err(error),
            Err(_) => {}
        }
        tree.try_get_matches_from_mut(words).map(|matches| (tree, matches))
    }
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
    /// List who uses RDMA, and who fell back to TCP.
    Connections(ConnectionsArgs),
    /// Send RDMA messages between hosts, and say what is wrong where they do not pass.
    Ping(Box<PingArgs>),
    /// Show hosts, ports, connections and problems live, on the whole screen.
    Top(TopArgs),
    /// List the hosts that sets, groups and files name: expand, fold, count.
    Hosts(HostsArgs),
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

#[test]
fn a_few_commands_understand_what_all_would() {
    use clap::FromArgMatches as _;

    let parsed = |matches: &ArgMatches| format!("{:?}", Cli::from_arg_matches(matches).unwrap());
    for words in [
        &["rdmactl"][..],
        &["rdmactl", "-V"],
        &["rdmactl", "--version", "devices"],
        &["rdmactl", "devices", "--version"],
        &["rdmactl", "--help"],
        &["rdmactl", "ping", "--help"],
        &["rdmactl", "-H", "ping", "devices", "-vv"],
        &["rdmactl", "devices", "--root", "ports", "-o", "gids,+x"],
        &["rdmactl", "--root", "man"],
        &["rdmactl", "devcies"],
        &["rdmactl", "devices", "extra"],
        &["rdmactl", "devices", "ports"],
        &["rdmactl", "compat", "ibstat", "-l"],
        &["rdmactl", "help"],
        &["rdmactl", "devices", "--fanout", "0"],
        &["rdmactl", "ports", "--lossless", "--json", "--format", "json"],
    ] {
        let typed: Vec<OsString> = words.iter().map(OsString::from).collect();
        let all = Cli::command().try_get_matches_from(&typed);
        match (Cli::matches(&typed), all) {
            (Ok((_, few)), Ok(all)) => assert_eq!(parsed(&few), parsed(&all), "{words:?}"),
            (Err(few), Err(all)) => assert_eq!(few.to_string(), all.to_string(), "{words:?}"),
            (few, all) => panic!("{words:?}: {few:?} but {all:?}"),
        }
    }
}
