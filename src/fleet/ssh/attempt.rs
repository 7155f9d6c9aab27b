//! One attempt to log in: its current step, and the reason why it ended.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::fleet::client_choice::LoginFailure;
use crate::fleet::target::Target;
use crate::model::{HostFailure, Reason};

/// Number of further logins to a host that closes the connection after its SSH banner. After a
/// refused key no login follows, because some hosts block clients that fail often.
const RETRIES_AFTER_BANNER: u32 = 1;

/// Current step of a login. The waiting thread reads it after a timeout.
#[derive(Debug, Clone)]
pub(in crate::fleet) struct LoginStage(Arc<Mutex<&'static str>>);

impl Default for LoginStage {
    fn default() -> Self {
        Self(Arc::new(Mutex::new("name lookup")))
    }
}

impl LoginStage {
    pub(super) fn at(&self, step: &'static str) {
        *self.0.lock() = step;
    }

    pub(super) fn name(&self) -> &'static str {
        *self.0.lock()
    }
}

pub(super) enum AttemptError {
    Closed { refusal: LoginFailure, retries: u32 },
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

pub(super) fn closed_during_login(reason: Reason, when: &str, target: &Target) -> HostFailure {
    let detail = format!("sshd closed the connection {when}");
    HostFailure::new(reason, detail).fix(format!(
        "test the login: {}; on {}, check the log of sshd: journalctl -u ssh -u sshd",
        target.manual_command(),
        target.host
    ))
}
