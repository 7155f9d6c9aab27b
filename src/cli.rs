//! Command line: clap types whose doc comments are the help, the man pages and the completions.
//!
//! Parses and checks words; runs nothing. Used by `cmd`, which runs the commands.
#![expect(clippy::doc_markdown, reason = "the help would show the backticks of doc comments")]

mod check;
mod commands;
mod connections;
mod duration;
pub mod exit_codes;
mod fabric;
pub mod flags;
mod global;
mod host_sets;
mod launcher;
mod ping;
pub mod short_help;
mod ssh_option;
mod top;
mod typed;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub use check::{CheckArgs, Level, Plugin};
pub use commands::{
    AgentArgs, By, CaptureArgs, CompatArgs, CompletionShell, CompletionsArgs, ConfigArgs,
    CountersArgs, DevicesArgs, FabricFile, GidsArgs, HostsArgs, ManArgs, PortsArgs, ResourcesArgs,
};
pub use connections::{ConnectionsArgs, FailOn, Only};
pub use duration::{parse as parse_time, parse_interval};
pub use fabric::{FabricArgs, FabricView, SweepVia};
pub use global::{ColorWhen, Configured, FANOUT, Format, Global, TIMEOUT, WIDE};
pub use host_sets::{HostSets, WordOrSet};
pub use launcher::LauncherArg;
pub use ping::{MadArgs, OnlyPairs, PingArgs, RailsAsked, ScheduleName};
pub use ssh_option::parse as parse_ssh_option;
pub use top::{ThemeName, TopArgs};
pub use typed::rewrite;

const NAME: &str = "rdmactl";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Inspect, test and diagnose RDMA on one host or a whole cluster.
///
/// Without a command, rdmactl prints a summary of this host or of the hosts of -H.
#[derive(Debug, Parser)]
#[command(
    name = NAME,
    version = VERSION,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 everything was read; 1 ping found a failed pair or host, a finding \
                  reached the level of check --fail-on, a verdict reached the level of connections \
                  --fail-on, or fabric found an error counter above its threshold or a broken \
                  route; 2 usage error, or nothing could be read; 3 a host or a value could not be \
                  read."
)]
pub struct Cli {
    /// The flags that every command takes.
    #[command(flatten)]
    pub global: Global,
    /// The command; without one, a summary of this host.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Cli {
    /// Parses a command line; returns the tree of commands and the matches.
    ///
    /// The tree has only the commands whose names are among the words, because clap needs more
    /// time for a whole tree than `devices` needs. The whole tree explains a usage error. A request
    /// for help is an error whose text is the name of the command (`rdmactl` or `rdmactl-ping`).
    ///
    /// # Errors
    /// The command line is wrong, or it requests help or the version.
    pub fn matches(words: &[OsString]) -> Result<(clap::Command, ArgMatches), clap::Error> {
        const NAME_OF_COMMAND: &str = "{name}";
        let mut tree = Self::command()
            .help_template(NAME_OF_COMMAND)
            .mut_subcommands(|command| command.help_template(NAME_OF_COMMAND));
        let is_named =
            |command: &&clap::Command| words.iter().any(|word| word == command.get_name());
        let mut few = clap::Command::new(NAME)
            .version(VERSION)
            .help_template(NAME_OF_COMMAND)
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

    /// Returns the command line: host sets as arguments become sets of -H, `-o wide` becomes -v.
    ///
    /// # Errors
    /// A value is invalid.
    pub fn from_matches(matches: &mut ArgMatches) -> Result<Self, clap::Error> {
        let mut cli = Self::from_arg_matches_mut(matches)?;
        if let Some(command) = &mut cli.command {
            cli.global.hosts.extend(command.take_host_sets());
        }
        cli.global.expand_wide();
        Ok(cli)
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List RDMA devices and their ports.
    Devices(DevicesArgs),
    /// List ports and the state of their links.
    Ports(PortsArgs),
    /// List the GID tables: the addresses of each port.
    Gids(GidsArgs),
    /// List port counters: traffic, errors, congestion.
    Counters(CountersArgs),
    /// List processes that hold queue pairs and memory.
    Resources(ResourcesArgs),
    /// List connections over RDMA, and those that fell back to TCP.
    Connections(ConnectionsArgs),
    /// Inspect InfiniBand subnets: nodes, links, routes, errors.
    Fabric(FabricArgs),
    /// Check hosts, clusters and subnets, and show what is wrong first.
    Check(CheckArgs),
    /// Test RDMA between hosts and diagnose failures.
    Ping(Box<PingArgs>),
    /// Show hosts, ports, connections and problems live.
    Top(TopArgs),
    /// Expand, fold and count host sets.
    Hosts(HostsArgs),
    /// Record the raw data of hosts in a file.
    Capture(CaptureArgs),
    /// List the settings with their values and origins.
    Config(ConfigArgs),
    /// Print the output of ibstat and other older tools.
    Compat(CompatArgs),
    /// Print the completion script of a shell.
    Completions(CompletionsArgs),
    /// Write the man pages to a directory.
    Man(ManArgs),
    /// Remote end of rdmactl; rdmactl starts it.
    #[command(hide = true)]
    Agent(AgentArgs),
}

impl Command {
    /// Moves the host sets out of a command whose sets are sets of -H.
    fn take_host_sets(&mut self) -> Vec<String> {
        let sets = match self {
            Self::Devices(args) => &mut args.hosts,
            Self::Ports(args) => &mut args.hosts,
            Self::Gids(args) => &mut args.hosts,
            Self::Counters(args) => &mut args.hosts,
            Self::Connections(args) => &mut args.hosts,
            Self::Check(args) => &mut args.hosts,
            Self::Capture(args) => &mut args.hosts,
            Self::Resources(args) => return WordOrSet::take_sets(&mut args.words),
            Self::Top(args) => return WordOrSet::take_sets(&mut args.words),
            _ => return Vec::new(),
        };
        std::mem::take(&mut sets.sets)
    }
}

#[test]
fn help_names_the_commands_whose_result_can_be_exit_code_1() {
    let help = Cli::command().get_after_help().map(ToString::to_string).unwrap_or_default();
    for command in ["check", "connections", "fabric", "ping"] {
        assert!(help.contains(command), "{command}: {help}");
    }
}

#[test]
fn partial_command_parser_agrees_with_the_full_parser() {
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
            (Err(few), Err(all)) if all.kind() == ErrorKind::DisplayHelp => {
                let name = few.to_string();
                let usage = format!("Usage: {}", name.trim().replace('-', " "));
                assert!(all.to_string().contains(&usage), "{words:?}: {usage}");
            }
            (Err(few), Err(all)) => assert_eq!(few.to_string(), all.to_string(), "{words:?}"),
            (few, all) => panic!("{words:?}: {few:?} but {all:?}"),
        }
    }
}
