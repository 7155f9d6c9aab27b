//! Failure of a whole host, with a reason for scripts and a fix.
//! `fleet` and `ping` create failures; `render` prints them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

json_words! {
    /// Reason why a host returned no data, as a word for scripts.
    #[derive(Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    pub enum Reason {
        /// The host name has no address.
        Unresolved = "unresolved",
        /// The TCP connection could not be made: no route, or no reply from the address.
        Unreachable = "unreachable",
        /// The host refused the TCP connection, or closed it before the SSH handshake.
        Refused = "refused",
        /// A step missed its deadline.
        Timeout = "timeout",
        /// No `known_hosts` file has the host key.
        HostkeyUnknown = "hostkey_unknown",
        /// The host key differs from the recorded host key.
        HostkeyChanged = "hostkey_changed",
        /// The host key is marked as revoked.
        HostkeyRevoked = "hostkey_revoked",
        /// The host rejected the login of the user.
        Auth = "auth",
        /// The host has no rdmactl agent, and none was uploaded.
        NoAgent = "no_agent",
        /// The agent on the host uses another version of the protocol.
        AgentVersion = "agent_version",
        /// The login shell of the host did not run the command: the shell ended first, or a forced
        /// command ran instead.
        Shell = "shell",
        /// The agent ended with an error before it sent a response.
        AgentFailed = "agent_failed",
        /// The agent was killed before it sent a response.
        Killed = "killed",
        /// The agent ended because it received no message from rdmactl: rdmactl was stopped, or
        /// the network was interrupted.
        Expired = "expired",
        /// The response of the host does not follow the protocol.
        Garbage = "garbage",
        /// The response of the host exceeds the size limit.
        TooBig = "too_big",
        /// The SSH service of the host responds, but the started agent does not run.
        Hung = "hung",
        /// The connection to the host ended before the response was complete.
        Lost = "lost",
        /// The run was canceled before the host was done.
        Cancelled = "cancelled",
        /// The connection to the host is still being made, in a run that continues.
        Connecting = "connecting",
        /// The transport failed for a reason without a more specific word.
        Transport = "transport",
    }
    /// Returns the word of the reason, as JSON and tables show it.
    pub fn word(self);
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
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}
