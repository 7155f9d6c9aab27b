use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::duration;

const ITERS: u32 = 1_000;
const SIZE: u32 = 64;

/// The arguments of `ping`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl ping n2\n  rdmactl ping --matrix n[01-16]\n  rdmactl ping -H n1 n2 --json\n  rdmactl ping --simulate fabric.txt\n\nExit codes: 0 every pair works; 1 a pair does not, or a host was not reached; 2 wrong usage."
)]
pub struct PingArgs {
    /// The host to ping, from this one or from the one that -H names
    #[arg(value_name = "HOST", conflicts_with = "matrix")]
    pub host: Option<String>,
    /// Ping every ordered pair of these hosts; -v or -o lists the pairs
    #[arg(long, value_name = "SET", conflicts_with_all = ["hosts", "hosts_file"])]
    pub matrix: Option<String>,
    /// Send no message: make up what the fabric in FILE would show, and judge that
    #[arg(long, value_name = "FILE", conflicts_with_all = ["host", "matrix", "hosts", "hosts_file", "iters", "slot", "size"], value_hint = clap::ValueHint::FilePath)]
    pub simulate: Option<PathBuf>,
    /// Round trips to measure for each pair
    #[arg(long, value_name = "N", default_value_t = ITERS, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub iters: u32,
    /// The longest that the measurement of one pair may take
    #[arg(long, value_name = "TIME", default_value = "300ms", value_parser = duration::parse)]
    pub slot: Duration,
    /// Message size of the measurement, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = SIZE, value_parser = clap::value_parser!(u32).range(16..=16_384))]
    pub size: u32,
}

impl Default for PingArgs {
    /// What `rdmactl ping` without flags does; of no host.
    fn default() -> Self {
        let slot = Duration::from_millis(300);
        Self { host: None, matrix: None, simulate: None, iters: ITERS, slot, size: SIZE }
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
