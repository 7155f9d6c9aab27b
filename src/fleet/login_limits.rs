//! Timeouts and retries of a login. Both SSH clients use them.

use std::time::Duration;

/// Timeouts of the steps of a new connection. The deadline of the host also limits each step.
#[derive(Debug, Clone, Copy)]
pub struct SshTimeouts {
    /// Timeout of one TCP connection. `ConnectTimeout` of the configuration replaces it.
    pub connect: Duration,
    /// Timeout from the TCP connection to the end of authentication.
    pub login: Duration,
}

impl Default for SshTimeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), login: Duration::from_secs(10) }
    }
}

/// Number of further logins to an sshd that closes before its banner, beyond its `MaxStartups`.
pub(super) const RETRIES: u32 = 2;

/// Returns a random pause of 0.2 s to 1 s, so that logins refused together do not repeat
/// together.
pub(super) fn jitter() -> Duration {
    Duration::from_millis(200 + u64::from(getrandom::u32().unwrap_or(0) % 800))
}
