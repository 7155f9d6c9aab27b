use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a host gave no answer, in one word that scripts can match.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The name has no address.
    Unresolved,
    /// No route, or nothing there: the TCP connection could not be made.
    Unreachable,
    /// The host refused the TCP connection or closed it before speaking SSH.
    Refused,
    /// A step did not end by its deadline.
    Timeout,
    /// The host's key is in no `known_hosts` file.
    HostkeyUnknown,
    /// The host shows another key than the one on record.
    HostkeyChanged,
    /// The host's key is marked as revoked.
    HostkeyRevoked,
    /// The host refused the user.
    Auth,
    /// No rdmactl agent on the host, and none was uploaded.
    NoAgent,
    /// The agent on the host speaks another protocol.
    AgentVersion,
    /// The host's answer is not the protocol.
    Garbage,
    /// The host's answer is over the limit.
    TooBig,
    /// The host's SSH service answers, and the agent that was started there does not run.
    Hung,
    /// The agent ended before its answer did.
    Lost,
    /// The run was stopped before the host was done.
    Cancelled,
    /// No answer yet, in a run that goes on: the connection is still being made.
    Connecting,
    /// The transport itself failed in a way that has no better word.
    Transport,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 17] = [
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
        Self::Garbage,
        Self::TooBig,
        Self::Hung,
        Self::Lost,
        Self::Cancelled,
        Self::Connecting,
        Self::Transport,
    ];

    /// The word of this reason, as JSON and tables show it.
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

/// Why one host gave no answer: what happened there, and what to type to mend it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{detail}")]
pub struct HostFailure {
    /// The one-word class.
    pub reason: Reason,
    /// What happened, where, and why, in one sentence without the host's name.
    pub detail: String,
    /// What to do about it; `None` when the detail says it all.
    pub fix: Option<String>,
}

impl HostFailure {
    /// A failure with a remedy still to be named by [`HostFailure::fix`].
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into(), fix: None }
    }

    /// The same failure with its remedy.
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
