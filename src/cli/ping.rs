//! The arguments of `rdmactl ping`.

mod mad;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

pub use self::mad::MadArgs;
use super::duration;
use crate::model::WantedGid;
use crate::model::ping::{Pair, Test};

const ITERS: u32 = 1_000;
const SIZE: u32 = 64;
/// [`Test::USUAL`] as it is typed.
const USUAL_TESTS: &str = "conn,lat,tcp-lat";

/// The arguments of `ping`.
#[expect(clippy::struct_excessive_bools, reason = "each flag is given or not by itself")]
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl ping n2\n  rdmactl ping n1 n2\n  rdmactl ping --matrix n[01-16]\n  rdmactl ping -H n1 n[2-9] --json\n  rdmactl ping --clients c[01-40] --servers oss[1-8]\n  rdmactl ping --matrix n[0001-1024] --peers 16 --budget 60s\n  rdmactl ping --mad --matrix n[01-16]\n  rdmactl ping --mad --lid 7\n  rdmactl ping --matrix n[01-16] --save today.json\n  rdmactl ping --diff yesterday.json today.json\n  rdmactl ping --from today.json --only failed -f csv\n  rdmactl ping --from today.json --format svg > today.svg\n  rdmactl ping --matrix n[0001-9999] --peers 8 --plan\n  rdmactl ping --simulate fabric.txt\n\nExit codes: 0 every pair works; 1 a pair failed, a pair was not tested without --budget, a host was not reached, an agent still runs on a host, or --diff found a broken pair; 2 usage error, or a file could not be read or written; 3 the --budget was too short to test any pair of a host."
)]
pub struct PingArgs {
    /// Target hosts; two or more SETs: test every pair
    ///
    /// One SET: rdmactl tests from this host to each host of the set. With -H, rdmactl tests from
    /// each host of -H to each host of the SETs. Two or more SETs without -H: rdmactl tests every
    /// pair of these hosts in both directions.
    #[arg(value_name = "SET", conflicts_with_all = ["clients", "servers"])]
    pub targets: Vec<String>,
    /// Test every pair of hosts, in both directions
    ///
    /// The hosts are SET, the hosts of -H and the sets given as arguments. -v prints the pairs as
    /// rows.
    #[arg(long, value_name = "SET", num_args = 0..=1, help_heading = "Pairs")]
    pub matrix: Option<Option<String>>,
    /// Test from these hosts to --servers, and back
    #[arg(
        long,
        value_name = "SET",
        requires = "servers",
        conflicts_with = "matrix",
        help_heading = "Pairs"
    )]
    pub clients: Option<String>,
    /// Test from --clients to these hosts, and back
    #[arg(long, value_name = "SET", requires = "clients", help_heading = "Pairs")]
    pub servers: Option<String>,
    /// Simulate the fabric in FILE; send nothing
    ///
    /// FILE describes hosts, leaf switches and faults. rdmactl simulates the observations of each
    /// pair and diagnoses them.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["targets", "matrix", "hosts", "hosts_file", "test", "mad", "size", "rails", "dev", "port", "gid_index", "mtu", "pkey", "sl", "tclass"], value_hint = clap::ValueHint::FilePath, help_heading = "Pairs")]
    pub simulate: Option<PathBuf>,
    /// Compare two runs written by --save
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], value_hint = clap::ValueHint::FilePath, help_heading = "Pairs")]
    pub diff: Option<Vec<PathBuf>>,

    /// List only pairs of this kind, as rows
    ///
    /// Findings and exit code still cover the whole run. In JSON, the list of pairs holds only
    /// these pairs.
    #[arg(long, value_enum, value_name = "KIND", conflicts_with_all = ["findings", "diff", "plan"], help_heading = "Pairs")]
    pub only: Option<OnlyPairs>,

    /// Print the findings and the last line, without the matrix
    #[arg(long, help_heading = "Pairs")]
    pub findings: bool,

    /// Test each host with at least K random peers
    ///
    /// If leaf switches are known, every pair of leaf switches is tested as well. Default: all
    /// peers.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=65_535), help_heading = "Number and order of pairs")]
    pub peers: Option<u32>,
    /// Read the leaf switch of each host from FILE
    ///
    /// FILE is Slurm's topology.conf, a file of rdmactl fabric --save, the output of ibnetdiscover,
    /// opensm-subnet.lst, or a list with one line per leaf switch: leaf NAME SET. Findings then name
    /// leaf switches and the paths between leaf switches. Default: leaf switches are not known.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["simulate", "diff"], value_hint = clap::ValueHint::FilePath, help_heading = "Number and order of pairs")]
    pub topology: Option<PathBuf>,
    /// Time limit of the tests; startup is extra
    ///
    /// No round starts after 80 % of the limit. Pairs that were not reached are reported as
    /// not_tested, not as failed.
    #[arg(long, value_name = "TIME", value_parser = duration::parse, help_heading = "Number and order of pairs")]
    pub budget: Option<Duration>,
    /// Order of the pairs
    ///
    /// Default: circle; random with --peers or --budget.
    #[arg(long, value_enum, value_name = "ORDER", help_heading = "Number and order of pairs")]
    pub schedule: Option<ScheduleName>,
    /// Random seed
    ///
    /// The report prints the seed, so that a run can be repeated with the same choices.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32), help_heading = "Number and order of pairs")]
    pub seed: Option<u32>,
    /// Print the plan and its cost; send nothing
    ///
    /// The plan lists agents, uploads, rounds, pairs, the estimated time, and the bytes that pass
    /// through this host.
    #[arg(long, help_heading = "Number and order of pairs")]
    pub plan: bool,

    /// Tests: conn, lat, bw, tcp-lat, tcp-bw, ud, uc, mad
    ///
    /// conn (connect and check messages) always runs, except with mad alone. bw and tcp-bw fill the
    /// links.
    #[arg(long, value_name = "TESTS", value_delimiter = ',', default_value = USUAL_TESTS, value_parser = Test::parse, help_heading = "Measurement of each pair")]
    pub test: Vec<Test>,
    /// Flags for management datagrams.
    #[command(flatten)]
    pub mads: MadArgs,
    /// Measure 100 round trips in at most 50 ms per pair
    #[arg(long, conflicts_with_all = ["full", "iters", "slot"], help_heading = "Measurement of each pair")]
    pub quick: bool,
    /// Measure 10000 round trips in at most 3 s per pair
    #[arg(long, conflicts_with_all = ["iters", "slot"], help_heading = "Measurement of each pair")]
    pub full: bool,
    /// Round trips per pair within --slot; default: 1000
    #[arg(short = 'c', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000), help_heading = "Measurement of each pair")]
    pub iters: Option<u32>,
    /// Time limit for the measurement of one pair
    ///
    /// The slot of a pair begins with its first measured round trip. The measurement ends after
    /// --iters round trips or at the end of the slot, whichever comes first. bw and tcp-bw have
    /// their own limit of 250 ms.
    #[arg(long, value_name = "TIME", default_value = "300ms", value_parser = duration::parse, help_heading = "Measurement of each pair")]
    pub slot: Duration,
    /// Message size of the measurement, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = SIZE, value_parser = clap::value_parser!(u32).range(16..=16_384), help_heading = "Measurement of each pair")]
    pub size: u32,

    /// Rails to test: all, first (the best one), or numbers
    ///
    /// The matrix prints the number of each rail. Separate numbers with commas: 0,2.
    #[arg(long, value_name = "all|first|N,…", default_value = "all", value_parser = RailsAsked::parse, help_heading = "Path of each pair")]
    pub rails: RailsAsked,
    /// Device to use on every host
    #[arg(long, value_name = "NAME", help_heading = "Path of each pair")]
    pub dev: Option<String>,
    /// Port number of the device
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=255), help_heading = "Path of each pair")]
    pub port: Option<u32>,
    /// GID index to use
    ///
    /// One index for every host, or one per host: n1=0,n2=3. Default: rdmactl selects the GIDs of
    /// each pair.
    #[arg(long, value_name = "N|HOST=N,…", help_heading = "Path of each pair")]
    pub gid_index: Option<WantedGid>,
    /// Path MTU in bytes
    ///
    /// Default: the smaller of the two active MTUs. A larger value is tested and reported as a
    /// mismatch.
    #[arg(long, value_name = "BYTES", value_parser = parse_mtu, help_heading = "Path of each pair")]
    pub mtu: Option<u32>,
    /// Partition key, such as 0x8001
    ///
    /// rdmactl looks up the index of the key on each host. Default: a partition that both ports
    /// share.
    #[arg(long, value_name = "KEY", value_parser = parse_pkey, help_heading = "Path of each pair")]
    pub pkey: Option<u16>,
    /// Service level
    ///
    /// On RoCE, the low three bits are the VLAN priority.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=15), help_heading = "Path of each pair")]
    pub sl: u8,
    /// Traffic class; on RoCE v2 four times the DSCP
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Path of each pair")]
    pub tclass: u8,
}

/// Rails to test between two hosts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RailsAsked {
    /// The best rail that both hosts have.
    First,
    /// Every rail that both hosts have.
    #[default]
    All,
    /// The rails with these numbers.
    Numbers(Vec<usize>),
}

impl RailsAsked {
    /// Parses `all`, `first`, or numbers such as `0,2`.
    ///
    /// # Errors
    /// The text is none of them.
    pub fn parse(text: &str) -> Result<Self, String> {
        let numbers = || text.split(',').map(|number| number.parse::<u8>().ok().map(usize::from));
        match text {
            "all" => Ok(Self::All),
            "first" => Ok(Self::First),
            _ => numbers()
                .collect::<Option<_>>()
                .map(Self::Numbers)
                .ok_or_else(|| "write all, first, or rail numbers such as 0,2 (0 to 255)".into()),
        }
    }

    /// Returns the requested numbers; none for all rails or the best one.
    pub fn numbers(&self) -> &[usize] {
        if let Self::Numbers(numbers) = self { numbers } else { &[] }
    }
}

#[test]
fn rails_are_words_or_numbers() {
    assert_eq!(RailsAsked::parse("0,2"), Ok(RailsAsked::Numbers(vec![0, 2])));
    assert_eq!(RailsAsked::parse("first"), Ok(RailsAsked::First));
    assert_eq!(RailsAsked::All.numbers(), [0; 0]);
    for bad in ["", "none", "-1", "0,,2", "256", "1-2"] {
        assert!(RailsAsked::parse(bad).is_err(), "{bad}");
    }
}

fn parse_mtu(text: &str) -> Result<u32, String> {
    let mtu = text.parse().ok();
    mtu.filter(|mtu| [256, 512, 1_024, 2_048, 4_096].contains(mtu))
        .ok_or_else(|| "the path MTU is 256, 512, 1024, 2048 or 4096".into())
}

/// Parses a decimal number, or a hexadecimal one after `0x`.
fn parse_u16(text: &str) -> Option<u16> {
    match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn parse_pkey(text: &str) -> Result<u16, String> {
    parse_u16(text)
        .filter(|key| key & 0x7fff != 0)
        .ok_or_else(|| "the partition key is a number of 16 bits, such as 0x8001".into())
}

#[test]
fn a_partition_key_is_hexadecimal_or_decimal_and_never_none() {
    assert_eq!((parse_pkey("0x8001"), parse_pkey("32769")), (Ok(0x8001), Ok(0x8001)));
    for bad in ["0x8000", "0", "0x18001", "-1", "key"] {
        assert!(parse_pkey(bad).is_err(), "{bad}");
    }
    assert!(parse_mtu("1500").is_err() && parse_mtu("1024").is_ok());
}

/// Kinds of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnlyPairs {
    /// Pairs that failed: every verdict but ok, n/a.transport and not_tested
    Failed,
}

impl OnlyPairs {
    /// Returns true for a pair of this kind.
    pub fn admits(self, pair: &Pair) -> bool {
        match self {
            Self::Failed => pair.verdict.code.is_failure(),
        }
    }
}

/// Order of the pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScheduleName {
    /// Rounds of disjoint pairs in both directions, in the order of the hosts
    Circle,
    /// In round k, each host sends to the k-th host after it
    Shift,
    /// One round: each host of the first half with one host of the second half
    Bisection,
    /// Like circle, with the hosts in random order
    Random,
}

impl PingArgs {
    /// Returns the arguments with the tests that --mad selects.
    pub fn with_tests(&self) -> Self {
        let test = if self.mads.mad { vec![Test::Mad] } else { self.test.clone() };
        Self { test, ..self.clone() }
    }

    /// Returns the number of round trips per pair, and their time limit.
    pub fn measurement(&self) -> (u32, Duration) {
        match (self.quick, self.full) {
            (true, _) => (100, Duration::from_millis(50)),
            (_, true) => (10_000, Duration::from_secs(3)),
            _ => (self.iters.unwrap_or(ITERS), self.slot),
        }
    }
}

impl Default for PingArgs {
    /// Returns the arguments of `rdmactl ping` without flags and hosts.
    fn default() -> Self {
        Self {
            targets: Vec::new(),
            matrix: None,
            clients: None,
            servers: None,
            simulate: None,
            diff: None,
            only: None,
            findings: false,
            peers: None,
            topology: None,
            budget: None,
            schedule: None,
            seed: None,
            plan: false,
            quick: false,
            full: false,
            test: Test::USUAL.to_vec(),
            mads: MadArgs::default(),
            iters: None,
            slot: Duration::from_millis(300),
            size: SIZE,
            rails: RailsAsked::All,
            dev: None,
            port: None,
            gid_index: None,
            mtu: None,
            pkey: None,
            sl: 0,
            tclass: 0,
        }
    }
}

#[test]
fn the_usual_measurement_is_that_of_a_command_line_without_flags() {
    use clap::FromArgMatches as _;

    let words: Vec<_> = ["rdmactl", "ping"].map(Into::into).into();
    let (_, matches) = crate::cli::Cli::matches(&words).unwrap();
    let cli = crate::cli::Cli::from_arg_matches(&matches).unwrap();
    let Some(crate::cli::Command::Ping(typed)) = cli.command else { panic!("no ping") };
    assert_eq!(format!("{typed:?}"), format!("{:?}", PingArgs::default()));
}
