//! Failures that more than one transport reports: timeouts, limits, host keys, this machine.
//!
//! A failure of one transport only is in the module of that transport.

use std::io;

use rustix::io::Errno;

use super::time_limit::MORE_TIME;
use crate::model::{HostFailure, Reason};

/// Result of work on one host.
pub type HostResult<T> = Result<T, HostFailure>;

/// Returns the failure of a step that did not end in time. `call` is an `ssh` call to test it.
pub(super) fn timeout(step: &str, call: &str) -> HostFailure {
    HostFailure::new(Reason::Timeout, format!("{step} timed out"))
        .fix(format!("test the login: {call}; or {MORE_TIME}"))
}

pub(super) const USE: &str = "use of the SSH connection";

pub(super) fn incomplete(bytes: usize) -> HostFailure {
    let detail = format!("the output did not end in time; {bytes} bytes arrived");
    HostFailure::new(Reason::Timeout, detail)
}

pub(super) fn too_big(limit: impl std::fmt::Display) -> HostFailure {
    HostFailure::new(Reason::TooBig, format!("the output is over the limit of {limit} bytes"))
}

pub(super) fn channel_refused() -> HostFailure {
    HostFailure::new(Reason::Refused, "sshd refused another session on the connection").fix(
        "raise MaxSessions in sshd_config on the host; show it: sudo sshd -T | grep -i maxsessions",
    )
}

pub(super) const REVOKED: &str =
    "do not connect; request the current fingerprint from the administrator of the host";

/// Command that prints the fingerprints of a host's keys, for its console.
pub(super) const SHOW_KEYS: &str =
    "for key in /etc/ssh/ssh_host_*_key.pub; do ssh-keygen -lf $key; done";

pub(super) fn changed_key(remove: &str, call: &str) -> String {
    format!(
        "if the host was reinstalled, verify the new fingerprint on its console: {SHOW_KEYS}; then remove the \
         old key: {remove}; and accept the new key: {call}; otherwise suspect a man-in-the-middle attack"
    )
}

pub(super) fn unknown_key(call: &str) -> String {
    format!(
        "compare the fingerprint with those on the host's console: {SHOW_KEYS}; if one is equal, accept the \
         key: {call}"
    )
}

/// Returns the failure of a host that was not done when a signal ended the run.
pub fn cancelled() -> HostFailure {
    HostFailure::new(Reason::Cancelled, "the run was canceled before this host was done")
}

/// Returns the failure of this machine to create a thread, a descriptor or a socket.
pub(super) fn local(error: impl Into<io::Error>) -> HostFailure {
    let error = error.into();
    let detail = format!("cannot open a socket or start a thread on this machine: {error}");
    let failure = HostFailure::new(Reason::Transport, detail);
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => {
            failure.fix("lower --fanout, or raise the limit of open files; show it: ulimit -Hn")
        }
        Some(Errno::AGAIN) => {
            failure.fix("lower --fanout, or raise the limit of processes; show it: ulimit -Hu")
        }
        _ => failure,
    }
}
