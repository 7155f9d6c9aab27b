//! The arguments of `rdmactl connections`.

use clap::{Args, ValueEnum};

use super::{FabricFile, HostSets};
use crate::model::{Connection, ConnectionVerdict, Transport};

/// The arguments of `connections`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Verdicts:\n  ok: RDMA is in use\n  idle: no connection is needed now, or one is being established\n  tcp_configured: TCP is in use, and the configuration requests TCP\n  tcp: TCP is in use, and nothing requests RDMA\n  rdma_available: TCP is in use, and the server offers RDMA\n  suspected: probably a fallback to TCP\n  mixed: RDMA and TCP are in use\n  degraded: RDMA is in use, but a part of it fails\n  fallback_confirmed: RDMA was requested, but TCP is in use\n  down: the connection does not work and does not fall back\n  unknown: data that the verdict needs could not be read\n\nExamples:\n  rdmactl connections\n  rdmactl connections -H n[1-4] --only fallback --fail-on fail\n  rdmactl connections --watch=2"
)]
pub struct ConnectionsArgs {
    #[command(flatten)]
    /// Host sets given as arguments.
    pub hosts: HostSets,
    #[command(flatten)]
    /// Saved fabric.
    pub fabric: FabricFile,
    /// List only connections of this kind
    #[arg(long, value_enum, value_name = "KIND")]
    pub only: Option<Only>,
    /// Exit with 1 if a verdict reaches this level
    ///
    /// Only listed connections count: --only and -w select them. rdma_available needs the data of
    /// the server, so query the server, too.
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = FailOn::Never)]
    pub fail_on: FailOn,
}

/// Kinds of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Only {
    /// Connections that use TCP, or TCP and RDMA
    Tcp,
    /// Connections that use only RDMA
    Rdma,
    /// Connections that need attention: fallbacks (confirmed, suspected), mixed, degraded, down
    Fallback,
}

impl Only {
    /// Returns true for a connection of this kind.
    pub fn admits(self, connection: &Connection) -> bool {
        let Connection { transport, verdict, .. } = connection;
        match self {
            Self::Tcp => matches!(transport, Transport::Tcp | Transport::Udp | Transport::Mixed),
            Self::Rdma => transport.is_rdma(),
            Self::Fallback => verdict.needs_attention(),
        }
    }
}

/// Level from which a verdict is a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum FailOn {
    /// No verdict
    Never,
    /// Only fallback_confirmed
    #[value(name = "fallback_confirmed")]
    FallbackConfirmed,
    /// fallback_confirmed, degraded and down
    Fail,
    /// The verdicts of fail, and mixed, rdma_available
    Warn,
    /// The verdicts of warn, and suspected
    Suspected,
    /// The verdicts that --only fallback lists: the verdicts of fail, and mixed, suspected
    Fallback,
}

impl FailOn {
    /// Returns true if a verdict is a problem at this level.
    pub fn is_reached(self, verdict: ConnectionVerdict) -> bool {
        match self {
            Self::Never => return false,
            Self::Fallback => return verdict.needs_attention(),
            Self::FallbackConfirmed => return verdict == ConnectionVerdict::FallbackConfirmed,
            Self::Fail | Self::Warn | Self::Suspected => {}
        }
        let level = match verdict {
            _ if verdict.is_fault() => Self::Fail,
            ConnectionVerdict::Mixed | ConnectionVerdict::RdmaAvailable => Self::Warn,
            ConnectionVerdict::Suspected => Self::Suspected,
            _ => return false,
        };
        level <= self
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

#[test]
fn the_level_fallback_is_the_kind_fallback() {
    use ConnectionVerdict::{Degraded, Down, FallbackConfirmed, Mixed, Suspected};

    let reached =
        ConnectionVerdict::ALL.into_iter().filter(|one| FailOn::Fallback.is_reached(*one));
    let listed = [Suspected, Mixed, Degraded, FallbackConfirmed, Down];
    assert_eq!(reached.collect::<Vec<_>>(), listed);
    assert!(
        ConnectionVerdict::ALL
            .into_iter()
            .all(|one| one.needs_attention() == listed.contains(&one))
    );
}
