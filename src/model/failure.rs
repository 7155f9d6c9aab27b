//! Failure of a whole host, with a reason for scripts and a fix.
//! `fleet` and `ping` create failures; `render` prints them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reason why a host returned no data, as a word for scripts.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The host name has no address.
    Unresolved,
    /// The TCP connection could not be made: no route, or no reply from the address.
    Unreachable,
    /// The host refused the TCP connection, or closed it before the SSH handshake.
    Refused,
    /// A step missed its deadline.
    Timeout,
    /// No `known_hosts` file has the host key.
    HostkeyUnknown,
    /// The host key differs from the recorded host key.
    HostkeyChanged,
    /// The host key is marked as revoked.
    HostkeyRevoked,
    /// The host rejected the login of the user.
    Auth,
    /// The host has no rdmactl agent, and none was uploaded.
    NoAgent,
    /// The agent on the host uses another version of the protocol.
    AgentVersion,
    /// The login shell of the host did not run the command: the shell ended first, or a forced
    /// command ran instead.
    Shell,
    /// The agent ended with an error before it sent a response.
    AgentFailed,
    /// The agent was killed before it sent a response.
    Killed,
    /// The response of the host does not follow the protocol.
    Garbage,
    /// The response of the host exceeds the size limit.
    TooBig,
    /// The SSH service of the host responds, but the started agent does not run.
    Hung,
    /// The connection to the host ended before the response was complete.
    Lost,
    /// The run was canceled before the host was done.
    Cancelled,
    /// The connection to the host is still being made, in a run that continues.
    Connecting,
    /// The transport failed for a reason without a more specific word.
    Transport,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 20] = [
        Self::Unresolved,
        Self::Unreachable,
        Self::Refused,
        Self::Timeout,
        Self::HostkeyUnknown,
        Self::HostkeyChanged,
        Self::HostkeyRevoked,
        Self::Auth,
        Self::NoAgent,
        Self::AgentVersion,
        Self::Shell,
        Self::AgentFailed,
        Self::Killed,
        Self::Garbage,
        Self::TooBig,
        Self::Hung,
        Self::Lost,
        Self::Cancelled,
        Self::Connecting,
        Self::Transport,
    ];

    /// Returns the word of the reason, as JSON and tables show it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Unresolved => "unresolved",
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::HostkeyUnknown => "hostkey_unknown",
            Self::HostkeyChanged => "hostkey_changed",
            Self::HostkeyRevoked => "hostkey_revoked",
            Self::Auth => "auth",
            Self::NoAgent => "no_agent",
            Self::AgentVersion => "agent_version",
            Self::Shell => "shell",
            Self::AgentFailed => "agent_failed",
            Self::Killed => "killed",
            Self::Garbage => "garbage",
            Self::TooBig => "too_big",
            Self::Hung => "hung",
            Self::Lost => "lost",
            Self::Cancelled => "cancelled",
            Self::Connecting => "connecting",
            Self::Transport => "transport",
        }
    }
}

/// Failure of a host: the reason, the observation and the fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{detail}")]
pub struct HostFailure {
    /// Reason, for scripts.
    pub reason: Reason,
    /// Observation and its cause in one sentence, without the name of the host.
    pub detail: String,
    /// Command or setting that repairs it; `None` if the detail is enough.
    pub fix: Option<String>,
}

impl HostFailure {
    /// Returns a failure without a fix. [`HostFailure::fix`] adds the fix.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into(), fix: None }
    }

    /// Returns the failure with a fix.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

#[test]
fn every_reason_is_in_the_list() {
    let schema = schemars::schema_for!(Reason).to_value();
    let count = schema["oneOf"].as_array().map(Vec::len);
    assert_eq!(count, Some(Reason::ALL.len()), "{schema}");
}
