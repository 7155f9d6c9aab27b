//! The arguments of `rdmactl check`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use super::{HostSets, duration};
use crate::model::Severity;

/// The arguments of `check`.
#[expect(clippy::struct_excessive_bools, reason = "each flag is given or not by itself")]
#[derive(Debug, Clone, Args)]
#[command(
    visible_alias = "doctor",
    after_help = "Results of a check on a host: pass, info (may be intended), warn, fail, skip (does not apply), unknown (could not be read).\n\nExamples:\n  rdmactl check\n  rdmactl check -H n[1-4]\n  rdmactl check -H n[1-4] --only 'port.*,connection.*'\n  rdmactl check --fabric\n  rdmactl check -H n[1-4] --active\n  rdmactl check -H n[1-4] --sample 10\n  rdmactl check --from monday.ndjson\n  rdmactl check --explain port.down\n  rdmactl check n[1-64] --learn site.toml; rdmactl check n[1-64] --policy site.toml\n  rdmactl check n[1-64] -f html > ticket.html\n\nExit codes: 0 no finding reached the level of --fail-on; 1 a finding reached it; 2 usage error, or nothing could be read; 3 a host or a value could not be read, or --active did not test a pair."
)]
pub struct CheckArgs {
    #[command(flatten)]
    /// Host sets given as arguments.
    pub hosts: HostSets,
    /// Also sweep the InfiniBand subnets, and check them
    #[arg(long)]
    pub fabric: bool,
    /// Also test RDMA between every two hosts of -H, like ping --matrix
    ///
    /// The test loads the network, so it is never the default. It uploads rdmactl to hosts that lack
    /// it, unless --no-upload forbids it.
    #[arg(long)]
    pub active: bool,
    /// Read the hosts twice, SECS seconds apart; report error counters that rose
    #[arg(long, value_name = "SECS", value_parser = duration::parse_interval)]
    pub sample: Option<Duration>,
    /// Run only these checks: port.down, 'port.*'
    #[arg(long, value_name = "CHECKS", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Do not run these checks
    #[arg(long, value_name = "CHECKS", value_delimiter = ',')]
    pub skip: Vec<String>,
    /// Show only findings of this severity or worse
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = Level::Info, hide_default_value = true)]
    pub severity: Level,
    /// Exit with 1 if a finding reaches this level
    ///
    /// Default: fail.
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = Level::Fail, hide_default_value = true)]
    pub fail_on: Level,
    /// Policy of the site: accepted findings, expected values, severities, thresholds
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub policy: Option<PathBuf>,
    /// Write a new policy file with the values that most hosts have
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub learn: Option<PathBuf>,
    /// Do not report findings of an earlier run, which wrote this file with -f json
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub baseline: Option<PathBuf>,
    /// Print the text of a plug-in for a monitoring system, and exit with its code
    #[arg(long, value_enum, value_name = "SYSTEM")]
    pub plugin: Option<Plugin>,
    /// Print the JSON Schema of a policy
    #[arg(long, conflicts_with_all = ["list", "explain"])]
    pub policy_schema: bool,
    /// List the checks
    #[arg(long, conflicts_with = "explain")]
    pub list: bool,
    /// Explain a check: rule, origin, consequence, remedy
    #[arg(long, value_name = "CHECK")]
    pub explain: Option<String>,
}

/// Monitoring system whose plug-in interface `check` follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Plugin {
    /// Nagios, Icinga: exit 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN
    Nagios,
    /// LBNL Node Health Check: OK or ERROR, exit 0 or 1
    Nhc,
}

/// Level of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Level {
    /// No finding
    Never,
    /// The item does not work
    Fail,
    /// fail, and: the item works, but not as it should
    Warn,
    /// warn, and: the state could not be read
    Unknown,
    /// All findings; info may be intended
    Info,
}

impl Level {
    /// Returns true if a finding of this severity reaches the level.
    #[must_use]
    pub fn is_reached(self, severity: Severity) -> bool {
        let level = match severity {
            Severity::Fail => Self::Fail,
            Severity::Warn => Self::Warn,
            Severity::Unknown => Self::Unknown,
            Severity::Info | Severity::Past => Self::Info,
        };
        level <= self
    }
}

#[test]
fn a_level_includes_all_worse_severities() {
    assert!(Level::Warn.is_reached(Severity::Fail) && Level::Warn.is_reached(Severity::Warn));
    assert!(!Level::Warn.is_reached(Severity::Unknown) && Level::Info.is_reached(Severity::Info));
    assert!(!Level::Never.is_reached(Severity::Fail));
}
