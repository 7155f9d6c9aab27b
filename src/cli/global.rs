use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};

use super::launcher::LauncherParser;
use super::ssh_option::parse as ssh_option;
use super::{Launcher, duration};

/// What every command takes.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Global {
    /// Ask these hosts over SSH, as in n[01-16],gpu3 or @GROUP; without it, this host
    #[arg(short = 'H', long, value_name = "SET", global = true, conflicts_with_all = ["from", "root"], help_heading = "Where to look")]
    pub hosts: Option<String>,
    /// Ask also the hosts of this file; KIND is list, openmpi, mpich, ansible, etchosts, genders or pbs, else its content tells
    #[arg(long, value_name = "[KIND:]FILE", global = true, conflicts_with_all = ["from", "root"], help_heading = "Where to look")]
    pub hosts_file: Option<String>,
    /// Read a file that rdmactl wrote, instead of a host
    #[arg(
        long,
        value_name = "FILE",
        global = true,
        conflicts_with = "root",
        help_heading = "Where to look"
    )]
    pub from: Option<PathBuf>,
    /// Read /sys and /proc below this directory
    #[arg(long, value_name = "DIR", global = true, help_heading = "Where to look")]
    pub root: Option<PathBuf>,
    /// Also keep the raw answers, or what ping found, in this file, to be read again with --from
    #[arg(long, value_name = "FILE", global = true, help_heading = "Where to look")]
    pub save: Option<PathBuf>,
    /// What starts the agents
    #[arg(long, value_name = "LAUNCHER", default_value = "ssh", value_parser = LauncherParser, global = true, help_heading = "Where to look")]
    pub launcher: Launcher,
    /// How long to wait for one host: 10, 2.5s, 500ms, 2m
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration::parse, global = true, help_heading = "Where to look")]
    pub timeout: Duration,
    /// How many hosts to ask at once
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024), global = true, help_heading = "Where to look")]
    pub fanout: u16,

    /// Log in as this user
    #[arg(short = 'l', long = "login", value_name = "USER", global = true, help_heading = "SSH")]
    pub login: Option<String>,
    /// Read this file instead of ~/.ssh/config
    #[arg(
        short = 'F',
        long = "ssh-config",
        value_name = "CONFIG",
        global = true,
        help_heading = "SSH"
    )]
    pub ssh_config: Option<PathBuf>,
    /// An option as after ssh -o, before all that its files say
    #[arg(long, value_name = "KEY=VALUE", value_parser = ssh_option, action = ArgAction::Append, global = true, help_heading = "SSH")]
    pub ssh_option: Vec<String>,
    /// Read as root by sudo -n there, which must not need a password
    #[arg(long, global = true, help_heading = "SSH")]
    pub sudo: bool,
    /// Send this program to hosts that have none; it removes itself
    #[arg(long, global = true, overrides_with = "no_upload", help_heading = "SSH")]
    pub upload: bool,
    /// Never send this program to a host
    #[arg(long, global = true, overrides_with = "upload", help_heading = "SSH")]
    pub no_upload: bool,

    /// Form of the answer
    #[arg(short, long, value_enum, default_value_t = Format::Table, global = true, help_heading = "Output")]
    pub format: Format,
    /// The same as --format json
    #[arg(long, global = true, conflicts_with = "format", help_heading = "Output")]
    pub json: bool,
    /// Columns to show: id,… replaces the usual ones, +id,… adds; help lists all
    #[arg(short = 'o', long, value_name = "ID,…", value_delimiter = ',', action = ArgAction::Append, global = true, help_heading = "Output")]
    pub columns: Vec<String>,
    /// Only rows for which this holds: of ports 'state!=active or rate<400G', of ping 'verdict!=ok'
    #[arg(
        short = 'w',
        long = "where",
        value_name = "EXPR",
        global = true,
        help_heading = "Output"
    )]
    pub filter: Option<String>,
    /// Rows in the order of this column; -COLUMN for the largest first
    #[arg(
        short,
        long,
        value_name = "COLUMN",
        global = true,
        allow_hyphen_values = true,
        help_heading = "Output"
    )]
    pub sort: Option<String>,
    /// Do it again every SECS seconds (2): counters tell what was counted in between, ping what has changed
    #[arg(long, value_name = "SECS", num_args = 0..=1, require_equals = true, default_missing_value = "2", value_parser = duration::parse_interval, global = true, help_heading = "Output")]
    pub watch: Option<Duration>,
    /// With --watch: end after so many times
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), global = true, help_heading = "Output")]
    pub count: Option<u32>,
    /// Leave out the heading
    #[arg(short = 'n', long, global = true, help_heading = "Output")]
    pub no_header: bool,
    /// A row for each host, also where hosts are equal
    #[arg(long, global = true, help_heading = "Output")]
    pub no_fold: bool,
    /// Show more columns, in blocks where the terminal is too narrow, also from libibverbs; of a ping matrix its pairs
    #[arg(short, long, action = ArgAction::Count, global = true, help_heading = "Output")]
    pub verbose: u8,
    /// When to colour
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ColorWhen::Auto, global = true, help_heading = "Output")]
    pub color: ColorWhen,
}

impl Global {
    /// Whether other hosts are named.
    #[must_use]
    pub fn names_hosts(&self) -> bool {
        self.hosts.is_some() || self.hosts_file.is_some()
    }

    /// Whether other hosts are asked: those that are named, or those of the job.
    #[must_use]
    pub fn asks_hosts(&self) -> bool {
        self.names_hosts() || self.launcher == Launcher::Slurm
    }

    /// The form of the answer, by either flag.
    #[must_use]
    pub fn output(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

/// Forms of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Table,
    /// One line a row, cells parted by tabs
    Plain,
    /// Comma-separated values, numbers in their base units
    Csv,
    /// Metrics for Prometheus, as the textfile collector of node-exporter reads them
    Prom,
    /// For programs
    Json,
    /// For programs, one line a host; of ping one line an event
    Ndjson,
    /// A heat map of ping as a page for browsers
    Html,
    /// The same as a picture
    Svg,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
