//! The flags that every command takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};

use super::launcher::LauncherParser;
use super::ssh_option::parse as ssh_option;
use super::{LauncherArg, duration};

/// Default time limit for one host.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// Default number of hosts to query at the same time.
pub const FANOUT: u16 = 64;

/// Word of `-o` that stands for the columns of `-v`.
pub const WIDE: &str = "wide";

/// The flags that every command takes.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Global {
    /// Query these hosts over SSH
    ///
    /// SET is a comma list with ranges and groups: n[01-16],gpu3 or @GROUP. Quote a set that
    /// contains brackets, ! or &. The flag can be repeated. Most commands also take sets as
    /// arguments. Without a set, rdmactl queries this host. With --from, rdmactl shows only these
    /// hosts of the file.
    #[arg(short = 'H', long, value_name = "SET", action = ArgAction::Append, global = true, conflicts_with = "root", help_heading = "Hosts and files")]
    pub hosts: Vec<String>,
    /// Query the hosts that a file lists
    ///
    /// rdmactl adds these hosts to the hosts of --hosts. KIND is list, openmpi, mpich, ansible,
    /// etchosts, genders or pbs. Without KIND, rdmactl detects the kind from the content. FILE - is
    /// standard input.
    #[arg(long, value_name = "[KIND:]FILE", global = true, conflicts_with_all = ["from", "root"], help_heading = "Hosts and files")]
    pub hosts_file: Option<String>,
    /// Query this host, even if a host set is configured
    ///
    /// rdmactl ignores the setting hosts of the configuration. See rdmactl config.
    #[arg(long, global = true, help_heading = "Hosts and files")]
    pub local: bool,
    /// Read a saved file instead of querying hosts
    ///
    /// FILE is a capture, a ping run or a recording of top. fabric also reads the output of
    /// ibnetdiscover and opensm-subnet.lst.
    #[arg(
        long,
        value_name = "FILE",
        global = true,
        conflicts_with = "root",
        help_heading = "Hosts and files"
    )]
    pub from: Option<PathBuf>,
    /// Read /sys and /proc below this directory
    ///
    /// DIR holds a copy of another machine's files. rdmactl does not use netlink and libibverbs.
    #[arg(long, value_name = "DIR", global = true, help_heading = "Hosts and files")]
    pub root: Option<PathBuf>,
    /// Save the raw data in a file for --from
    ///
    /// Listings save the raw data of every queried host. ping saves the result of the run.
    #[arg(long, value_name = "FILE", global = true, help_heading = "Hosts and files")]
    pub save: Option<PathBuf>,
    /// Program that starts the agents
    #[arg(long, value_name = "LAUNCHER", default_value = "ssh", value_parser = LauncherParser, global = true, help_heading = "Hosts and files")]
    pub launcher: LauncherArg,
    /// Time limit for one host
    ///
    /// A number of seconds, or a number with a unit: 10, 2.5s, 500ms, 2m.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration::parse, global = true, help_heading = "Hosts and files")]
    pub timeout: Duration,
    /// Number of hosts to query at the same time
    #[arg(long, value_name = "N", default_value_t = FANOUT, value_parser = clap::value_parser!(u16).range(1..=1024), global = true, help_heading = "Hosts and files")]
    pub fanout: u16,

    /// Log in as this user
    #[arg(short = 'l', long = "login", value_name = "USER", global = true, help_heading = "SSH")]
    pub login: Option<String>,
    /// Read this SSH configuration file
    ///
    /// rdmactl reads the file instead of ~/.ssh/config, like ssh -F.
    #[arg(
        short = 'F',
        long = "ssh-config",
        value_name = "FILE",
        global = true,
        help_heading = "SSH"
    )]
    pub ssh_config: Option<PathBuf>,
    /// Set an ssh_config option, like ssh -o
    ///
    /// The option overrides the configuration files. The flag can be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = ssh_option, action = ArgAction::Append, global = true, help_heading = "SSH")]
    pub ssh_option: Vec<String>,
    /// Run the agent on the hosts as root with sudo -n
    ///
    /// sudo on the hosts must not prompt for a password. docs/ssh.md shows the sudoers rule.
    #[arg(long, global = true, overrides_with = "no_sudo", help_heading = "SSH")]
    pub sudo: bool,
    /// Run the agent as the login user, even if sudo is configured
    #[arg(long, global = true, overrides_with = "sudo", help_heading = "SSH")]
    pub no_sudo: bool,
    /// Upload rdmactl to hosts that do not have it
    ///
    /// The uploaded copy deletes itself before it reads anything. ping uploads without this flag.
    #[arg(long, global = true, overrides_with = "no_upload", help_heading = "SSH")]
    pub upload: bool,
    /// Never upload rdmactl to a host
    #[arg(long, global = true, overrides_with = "upload", help_heading = "SSH")]
    pub no_upload: bool,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Table, global = true, help_heading = "Output")]
    pub format: Format,
    /// Print JSON, like --format json
    #[arg(short, long, global = true, conflicts_with = "format", help_heading = "Output")]
    pub json: bool,
    /// Choose columns; -o help lists them
    ///
    /// ID,… replaces the default columns; +ID,… adds columns to the default columns. -o wide shows
    /// the columns of -v; -o help lists all columns.
    #[arg(short = 'o', long, value_name = "ID,…", value_delimiter = ',', action = ArgAction::Append, global = true, help_heading = "Output")]
    pub columns: Vec<String>,
    /// Print only the rows that match a filter
    ///
    /// EXPR compares columns with values: 'state!=active or rate<400G', 'verdict!=ok',
    /// 'netdev~eth'.
    #[arg(
        short = 'w',
        long = "where",
        value_name = "EXPR",
        global = true,
        help_heading = "Output"
    )]
    pub filter: Option<String>,
    /// Sort by a column; -COLUMN: largest first
    #[arg(
        short,
        long,
        value_name = "COLUMN",
        global = true,
        allow_hyphen_values = true,
        help_heading = "Output"
    )]
    pub sort: Option<String>,
    /// Repeat every SECS seconds
    ///
    /// Default: the configured interval, or 2 seconds. counters then shows the change in each
    /// interval, and ping shows the changes between two runs.
    #[arg(long, value_name = "SECS", num_args = 0..=1, require_equals = true, value_parser = duration::parse_interval, global = true, help_heading = "Output")]
    pub watch: Option<Option<Duration>>,
    /// End --watch after N samples
    ///
    /// Each of the N samples is complete: rdmactl first waits until every host is connected or has
    /// failed, and counters measures one interval before the first sample.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), global = true, help_heading = "Output")]
    pub count: Option<u32>,
    /// Omit the heading
    #[arg(short = 'n', long, global = true, help_heading = "Output")]
    pub no_header: bool,
    /// Print one row per host, even for equal hosts
    #[arg(long, global = true, help_heading = "Output")]
    pub no_fold: bool,
    /// Show more columns
    ///
    /// The columns include values that libibverbs reports. A table that is wider than the terminal
    /// is printed as blocks. ping prints its pairs as rows instead of a matrix.
    #[arg(short, long, action = ArgAction::Count, global = true, help_heading = "Output")]
    pub verbose: u8,
    /// Use of color.
    #[arg(long, help = "When to use color", value_enum, value_name = "WHEN", default_value_t = ColorWhen::Auto, global = true, help_heading = "Output")]
    pub color: ColorWhen,

    /// Values of the configuration, beside the flags.
    #[arg(skip)]
    pub configured: Configured,
}

/// Values of the configuration that must stay apart from the values of flags. `cmd/configure.rs`
/// writes all other values into the fields of the flags.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Configured {
    /// Origin of the host sets, if they come from the configuration.
    pub hosts_origin: Option<String>,
    /// Columns of the listing. [`Global::column_words`] combines them with `-o` and `-v`.
    pub columns: Vec<String>,
    /// Interval of `--watch` without a value.
    pub interval: Option<Duration>,
}

/// Interval of `--watch` without a value, if no interval is configured.
const WATCH_INTERVAL: Duration = Duration::from_secs(2);

impl Global {
    /// Returns the interval of --watch, if the flag is given.
    pub fn interval(&self) -> Option<Duration> {
        self.watch.map(|every| every.or(self.configured.interval).unwrap_or(WATCH_INTERVAL))
    }

    /// Returns the column words of the configuration, then the column words of `-o`.
    ///
    /// A list without a plus replaces the default columns. A list of `-o` without a plus also
    /// replaces the configured columns. `-v` replaces configured columns without a plus. A plus
    /// before the first word of a list counts for all words of the list.
    pub fn column_words(&self) -> Vec<String> {
        let adds = |words: &[String]| words.first().is_none_or(|word| word.starts_with('+'));
        let configured = &self.configured.columns;
        let mut words = Vec::new();
        if adds(&self.columns) && (self.verbose == 0 || adds(configured)) {
            words.extend(spread_plus(configured));
        }
        words.extend(spread_plus(&self.columns));
        words
    }

    /// Returns the first word of `-o` that has a plus although the first word of the list has none.
    /// A list that mixes both forms is a usage error.
    pub fn late_plus(&self) -> Option<&str> {
        let is_mixed = self.columns.first().is_some_and(|word| !word.starts_with('+'));
        let late = self.columns.iter().find(|word| word.starts_with('+'));
        late.filter(|_| is_mixed).map(String::as_str)
    }

    /// True if the command line names hosts.
    pub fn names_hosts(&self) -> bool {
        !self.hosts.is_empty() || self.hosts_file.is_some()
    }

    /// True if other hosts are queried: the named hosts, or the hosts of the Slurm job.
    pub fn queries_hosts(&self) -> bool {
        self.from.is_none() && (self.names_hosts() || self.launcher == LauncherArg::Slurm)
    }

    /// Returns the output format, chosen with --format or --json.
    pub fn output(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    /// Replaces the column word `wide` by `-v`. Other columns are then added to those of `-v`.
    pub(super) fn expand_wide(&mut self) {
        let before = self.columns.len();
        self.columns.retain(|word| word.strip_prefix('+').unwrap_or(word) != WIDE);
        if self.columns.len() < before {
            self.verbose = self.verbose.max(1);
            for word in self.columns.iter_mut().filter(|word| !word.starts_with('+')) {
                word.insert(0, '+');
            }
        }
    }
}

/// Puts a plus before each word of a list whose first word has one.
fn spread_plus(words: &[String]) -> impl Iterator<Item = String> {
    let adds = words.first().is_some_and(|word| word.starts_with('+'));
    let spread = move |word: &String| {
        if adds && !word.starts_with('+') { format!("+{word}") } else { word.clone() }
    };
    words.iter().map(spread)
}

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns for people
    Table,
    /// One row per line, cells separated by tabs
    Plain,
    /// Comma-separated values, numbers in base units
    Csv,
    /// Prometheus metrics for the textfile collector of node_exporter
    Prom,
    /// One JSON document
    Json,
    /// One JSON document per host and line; ping prints one event per line
    Ndjson,
    /// HTML page: heat map of a ping run, or findings of check
    Html,
    /// Heat map of a ping run as an SVG image
    Svg,
    /// Switches of a fabric with their links, as text
    Tree,
    /// Graph of a fabric in the language of Graphviz
    Dot,
}

/// Use of color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[cfg(test)]
fn typed(flags: &[&str]) -> Global {
    use clap::Parser as _;

    super::Cli::try_parse_from(["rdmactl", "devices"].iter().chain(flags)).unwrap().global
}

#[test]
fn defaults_of_flags_are_the_constants() {
    let global = typed(&[]);
    assert_eq!((global.timeout, global.fanout), (TIMEOUT, FANOUT));
}

#[test]
fn configured_columns_give_way_to_flags() {
    let words = |flags: &[&str], configured: &[&str]| {
        let mut global = typed(flags);
        global.configured.columns = configured.iter().map(ToString::to_string).collect();
        global.column_words().join(",")
    };
    assert_eq!(words(&[], &["a", "b"]), "a,b");
    assert_eq!(words(&["-o", "c"], &["a", "b"]), "c");
    assert_eq!(words(&["-o", "+c"], &["a", "b"]), "a,b,+c");
    assert_eq!(words(&["-o", "+c,d"], &["a", "b"]), "a,b,+c,+d");
    assert_eq!(words(&[], &["+a", "b"]), "+a,+b");
    assert_eq!(words(&["-v"], &["a", "b"]), "");
    assert_eq!(words(&["-v"], &["+a"]), "+a");
    assert_eq!(words(&["-o", "c"], &["+a"]), "c");
}

#[test]
fn columns_beside_wide_are_added_to_those_of_v() {
    for columns in ["wide,lmc", "lmc,wide", "wide,+lmc"] {
        let mut global = typed(&["-o", columns]);
        global.expand_wide();
        assert_eq!((global.columns, global.verbose), (vec!["+lmc".to_owned()], 1), "{columns}");
    }
}

#[test]
fn interval_of_the_flag_overrides_the_configured_interval() {
    let interval = |flags: &[&str], configured: Option<u64>| {
        let mut global = typed(flags);
        global.configured.interval = configured.map(Duration::from_secs);
        global.interval().map(|interval| interval.as_secs())
    };
    assert_eq!(interval(&[], Some(5)), None);
    assert_eq!(interval(&["--watch"], None), Some(2));
    assert_eq!(interval(&["--watch"], Some(5)), Some(5));
    assert_eq!(interval(&["--watch=7"], Some(5)), Some(7));
}
