use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::duration;
use crate::model::WantedGid;
use crate::model::ping::Test;

const ITERS: u32 = 1_000;
const SIZE: u32 = 64;
/// [`Test::USUAL`] as it is typed.
const USUAL_TESTS: &str = "conn,lat,tcp-lat";

/// The arguments of `ping`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl ping n2\n  rdmactl ping --matrix n[01-16]\n  rdmactl ping -H n1 n[2-9] --json\n  rdmactl ping --clients c[01-40] --servers oss[1-8]\n  rdmactl ping --matrix n[0001-1024] --peers 16 --budget 60s\n  rdmactl ping --matrix n[01-16] --save today.json\n  rdmactl ping --diff yesterday.json today.json\n  rdmactl ping --from today.json --format svg > today.svg\n  rdmactl ping --matrix n[0001-9999] --peers 8 --plan\n  rdmactl ping --simulate fabric.txt\n\nExit codes: 0 every pair works; 1 a pair does not, or was not tried without a --budget, or a host was not reached, or an agent is left there (--diff: a pair broke); 2 wrong usage, or a file that cannot be read or written; 3 a host has no pair for which the --budget sufficed."
)]
pub struct PingArgs {
    /// The hosts to ping, from this one or from those that -H names
    #[arg(value_name = "HOST", conflicts_with_all = ["matrix", "clients", "servers"])]
    pub host: Option<String>,
    /// Ping every ordered pair of these hosts; -v or -o lists the pairs
    #[arg(long, value_name = "SET", conflicts_with_all = ["hosts", "hosts_file"], help_heading = "Which pairs")]
    pub matrix: Option<String>,
    /// Ping from each of these hosts to each of --servers, and back
    #[arg(long, value_name = "SET", requires = "servers", conflicts_with_all = ["matrix", "hosts", "hosts_file"], help_heading = "Which pairs")]
    pub clients: Option<String>,
    /// Ping each of these hosts from each of --clients, and back
    #[arg(long, value_name = "SET", requires = "clients", help_heading = "Which pairs")]
    pub servers: Option<String>,
    /// Send no message: make up what the fabric in FILE would show, and judge that
    #[arg(long, value_name = "FILE", conflicts_with_all = ["host", "matrix", "hosts", "hosts_file", "test", "size", "rails", "dev", "port", "gid_index", "mtu", "pkey", "sl", "tclass"], value_hint = clap::ValueHint::FilePath, help_heading = "Which pairs")]
    pub simulate: Option<PathBuf>,
    /// Send no message: tell what has changed between two runs kept with --save
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], value_hint = clap::ValueHint::FilePath, help_heading = "Which pairs")]
    pub diff: Option<Vec<PathBuf>>,

    /// Try each host with K others at least, chosen by chance; every two leaves, too, where these are known
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=65_535), help_heading = "How many pairs, and in which order")]
    pub peers: Option<u32>,
    /// Begin no round after four fifths of this time: what was not done by then is not tested, and no failure
    #[arg(long, value_name = "TIME", value_parser = duration::parse, help_heading = "How many pairs, and in which order")]
    pub budget: Option<Duration>,
    /// Which pairs run at the same time; without it circle, and random with --peers or --budget
    #[arg(
        long,
        value_enum,
        value_name = "ORDER",
        help_heading = "How many pairs, and in which order"
    )]
    pub schedule: Option<ScheduleName>,
    /// What chance begins with; the answer tells it, and the same number makes the same choice
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32), help_heading = "How many pairs, and in which order")]
    pub seed: Option<u32>,
    /// Send no message: tell rounds, pairs, about how long they take, and the bytes through this host
    #[arg(long, help_heading = "How many pairs, and in which order")]
    pub plan: bool,

    /// What to measure of each pair: conn, lat, bw, tcp-lat, tcp-bw, ud, uc; all begin with conn
    #[arg(long, value_name = "TESTS", value_delimiter = ',', default_value = USUAL_TESTS, value_parser = Test::parse, help_heading = "How much of each pair")]
    pub test: Vec<Test>,
    /// Measure little: 100 round trips in 50ms for each pair
    #[arg(long, conflicts_with_all = ["full", "iters", "slot"], help_heading = "How much of each pair")]
    pub quick: bool,
    /// Measure much: 10000 round trips in 3s for each pair
    #[arg(long, conflicts_with_all = ["iters", "slot"], help_heading = "How much of each pair")]
    pub full: bool,
    /// Round trips to measure for each pair
    #[arg(long, value_name = "N", default_value_t = ITERS, value_parser = clap::value_parser!(u32).range(1..=10_000_000), help_heading = "How much of each pair")]
    pub iters: u32,
    /// The longest that the measurement of one pair may take
    #[arg(long, value_name = "TIME", default_value = "300ms", value_parser = duration::parse, help_heading = "How much of each pair")]
    pub slot: Duration,
    /// Message size of the measurement, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = SIZE, value_parser = clap::value_parser!(u32).range(16..=16_384), help_heading = "How much of each pair")]
    pub size: u32,
    /// Which rails to use between hosts that have several: all that both have, or the best one
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "all",
        help_heading = "Which way between two hosts"
    )]
    pub rails: RailsAsked,
    /// The device to use on every host, by its name there
    #[arg(long, value_name = "NAME", help_heading = "Which way between two hosts")]
    pub dev: Option<String>,
    /// The port of the device
    #[arg(long, value_name = "N", help_heading = "Which way between two hosts")]
    pub port: Option<u32>,
    /// The index of the GID on every host, or on some as in n1=0,n2=3
    #[arg(long, value_name = "N|HOST=N,…", help_heading = "Which way between two hosts")]
    pub gid_index: Option<WantedGid>,
    /// The path MTU in bytes, even one that a port does not have
    #[arg(long, value_name = "BYTES", value_parser = parse_mtu, help_heading = "Which way between two hosts")]
    pub mtu: Option<u32>,
    /// The partition key, as in 0x8001; its index is looked up on each host
    #[arg(long, value_name = "KEY", value_parser = parse_pkey, help_heading = "Which way between two hosts")]
    pub pkey: Option<u16>,
    /// The service level; its low three bits are the VLAN priority on RoCE
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=15), help_heading = "Which way between two hosts")]
    pub sl: u8,
    /// The traffic class: on RoCE version 2 four times the DSCP
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        help_heading = "Which way between two hosts"
    )]
    pub tclass: u8,
}

/// Which rails of a pair are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum RailsAsked {
    /// The best one
    First,
    /// All that both hosts have
    #[default]
    All,
}

fn parse_mtu(text: &str) -> Result<u32, String> {
    let mtu = text.parse().ok();
    mtu.filter(|mtu| [256, 512, 1_024, 2_048, 4_096].contains(mtu))
        .ok_or_else(|| "a path MTU is 256, 512, 1024, 2048 or 4096".into())
}

fn parse_pkey(text: &str) -> Result<u16, String> {
    let digits = text.strip_prefix("0x");
    let key = digits.map_or_else(|| text.parse::<u16>(), |digits| u16::from_str_radix(digits, 16));
    key.ok()
        .filter(|key| key & 0x7fff != 0)
        .ok_or_else(|| "a partition key is a number of 16 bits, as in 0x8001".into())
}

#[test]
fn a_partition_key_is_hexadecimal_or_decimal_and_never_none() {
    assert_eq!((parse_pkey("0x8001"), parse_pkey("32769")), (Ok(0x8001), Ok(0x8001)));
    for bad in ["0x8000", "0", "0x18001", "-1", "key"] {
        assert!(parse_pkey(bad).is_err(), "{bad}");
    }
    assert!(parse_mtu("1500").is_err() && parse_mtu("1024").is_ok());
}

/// Which pairs run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScheduleName {
    /// Disjoint pairs, both ways, in the hosts' order
    Circle,
    /// Every host asks the next one, then the one after that, and so on
    Shift,
    /// One round: each host of the first half with one of the second
    Bisection,
    /// As circle, in an order of chance
    Random,
}

impl PingArgs {
    /// Round trips of each pair, and the longest that they may take.
    #[must_use]
    pub fn measurement(&self) -> (u32, Duration) {
        match (self.quick, self.full) {
            (true, _) => (100, Duration::from_millis(50)),
            (_, true) => (10_000, Duration::from_secs(3)),
            _ => (self.iters, self.slot),
        }
    }
}

impl Default for PingArgs {
    /// What `rdmactl ping` without flags does; of no host.
    fn default() -> Self {
        let (host, matrix, clients, servers, simulate) = Default::default();
        let (diff, peers, budget, schedule, seed) = Default::default();
        let (plan, quick, full) = Default::default();
        let test = Test::USUAL.to_vec();
        let (dev, port, gid_index, mtu, pkey) = Default::default();
        let (iters, slot, size) = (ITERS, Duration::from_millis(300), SIZE);
        Self {
            host,
            matrix,
            clients,
            servers,
            simulate,
            diff,
            peers,
            budget,
            schedule,
            seed,
            plan,
            quick,
            full,
            test,
            iters,
            slot,
            size,
            rails: RailsAsked::All,
            dev,
            port,
            gid_index,
            mtu,
            pkey,
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
