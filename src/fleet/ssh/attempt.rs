//! One attempt to log in: its current step, and the reason why it ended. The login and the
//! authentication use it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fleet::client_choice::LoginFailure;
use crate::fleet::target::Target;
use crate::model::{HostFailure, Reason};

/// Number of further logins to a host that closes the connection after its SSH banner, before it
/// refuses a key. After a refused key no login follows, because some hosts block clients that
/// fail often.
const RETRIES_AFTER_BANNER: u32 = 1;

/// Current step of a login. The waiting thread reads it after a timeout.
#[derive(Debug, Clone, Default)]
pub(in crate::fleet) struct LoginStage(Arc<AtomicUsize>);

const LOGIN_STAGES: [&str; 5] = [
    "name lookup",
    "TCP connection",
    "SSH handshake",
    "query of the local ssh-agent",
    "SSH authentication",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Resolve,
    Connect,
    Handshake,
    Agent,
    Authenticate,
}

impl LoginStage {
    pub(super) fn at(&self, step: Step) {
        self.0.store(step as usize, Ordering::Relaxed);
    }

    pub(super) fn name(&self) -> &'static str {
        LOGIN_STAGES[self.0.load(Ordering::Relaxed).min(LOGIN_STAGES.len() - 1)]
    }
}

pub(super) enum AttemptError {
    /// The host closed the connection before it refused anything. At most `retries` logins
    /// follow.
    Closed {
        refusal: LoginFailure,
        retries: u32,
    },
    Final(LoginFailure),
}

impl AttemptError {
    pub(super) fn closed_after_banner(refusal: LoginFailure) -> Self {
        Self::Closed { refusal, retries: RETRIES_AFTER_BANNER }
    }
}

impl From<HostFailure> for AttemptError {
    fn from(failure: HostFailure) -> Self {
        Self::Final(failure.into())
    }
}

/// Returns the failure of a login during which sshd closed the connection after its SSH banner.
pub(super) fn closed_during_login(reason: Reason, when: &str, target: &Target) -> HostFailure {
    let detail = format!("sshd closed the connection {when}");
    HostFailure::new(reason, detail).fix(format!(
        "test the login: {}; on {}, check the log of sshd: journalctl -u ssh -u sshd",
        target.manual_command(),
        target.host
    ))
}
