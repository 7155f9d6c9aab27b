use clap::{Args, ValueEnum};

use crate::model::{Connection, ConnectionVerdict, Transport};

/// The arguments of `connections`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Verdicts: ok RDMA works; idle none is needed now; tcp_configured somebody wrote so; tcp nothing says that it should be otherwise; rdma_available RDMA could be had; suspected it looks like a fallback; mixed both at once; degraded RDMA, and not all of it works; fallback_confirmed RDMA was wanted and TCP is used; down it does not work and does not fall back; unknown what would tell could not be read.\n\nExamples:\n  rdmactl connections\n  rdmactl connections -H n[1-4] --only fallback --fail-on fail\n  rdmactl connections --watch=2"
)]
pub struct ConnectionsArgs {
    /// Only connections of this kind
    #[arg(long, value_enum, value_name = "KIND")]
    pub only: Option<Only>,
    /// End with code 1 when a verdict is at least that bad
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = FailOn::Never)]
    pub fail_on: FailOn,
}

/// Kinds of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Only {
    /// Over TCP, or over both, now
    Tcp,
    /// Over RDMA alone, now
    Rdma,
    /// What is to be looked at: fallbacks, confirmed or suspected, both transports at once, what is degraded or down
    Fallback,
}

impl Only {
    /// Whether a connection is of this kind.
    #[must_use]
    pub fn admits(self, connection: &Connection) -> bool {
        let Connection { transport, verdict, .. } = connection;
        match self {
            Self::Tcp => matches!(transport, Transport::Tcp | Transport::Udp | Transport::Mixed),
            Self::Rdma => transport.is_rdma(),
            Self::Fallback => verdict.is_telling(),
        }
    }
}

/// From where on a verdict is a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum FailOn {
    /// None is
    Never,
    /// Confirmed fallbacks, and what is degraded or down
    Fail,
    /// Those, RDMA and TCP at once, and TCP where RDMA could be had
    Warn,
    /// Those, and suspected fallbacks
    Suspected,
}

impl FailOn {
    /// Whether a verdict is a problem.
    #[must_use]
    pub fn is_reached(self, verdict: ConnectionVerdict) -> bool {
        let level = match verdict {
            _ if verdict.is_fault() => Self::Fail,
            ConnectionVerdict::Mixed | ConnectionVerdict::RdmaAvailable => Self::Warn,
            ConnectionVerdict::Suspected => Self::Suspected,
            _ => return false,
        };
        self != Self::Never && level <= self
    }
}

#[test]
fn each_level_takes_in_those_before_it() {
    use ConnectionVerdict::{Down, FallbackConfirmed, Mixed, Ok, Suspected, Tcp};

    assert!(!FailOn::Never.is_reached(FallbackConfirmed));
    assert!(FailOn::Fail.is_reached(Down) && !FailOn::Fail.is_reached(Mixed));
    assert!(FailOn::Warn.is_reached(Mixed) && !FailOn::Warn.is_reached(Suspected));
    assert!(FailOn::Suspected.is_reached(Suspected) && FailOn::Suspected.is_reached(Down));
    assert!(!FailOn::Suspected.is_reached(Ok) && !FailOn::Suspected.is_reached(Tcp));
}
