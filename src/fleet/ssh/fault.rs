//! Failures of SSH connections: conversion of libssh2 errors and system errors to a
//! [`HostFailure`].
//!
//! The SSH code and the launchers use it.

use std::io;

use rustix::io::Errno;
use ssh2::ErrorCode;

use crate::fleet::Target;
use crate::fleet::client_choice::BY_PROGRAM;
use crate::fleet::time_limit::MORE_TIME;
use crate::model::{HostFailure, Reason};

// Error codes of libssh2.h. The ssh2 crate does not export their names.
const KEX: i32 = -5;
const SOCKET_SEND: i32 = -7;
const KEY_EXCHANGE: i32 = -8;
const DISCONNECTED: i32 = -13;
const CHANNEL_FAILURE: i32 = -21;
const REQUEST_DENIED: i32 = -22;
const CHANNEL_CLOSED: i32 = -26;
const CHANNEL_EOF_SENT: i32 = -27;
const EAGAIN: i32 = -37;
const SOCKET_RECV: i32 = -43;

/// Returns the libssh2 error code. Returns 0 for an SFTP error, which does not occur in this
/// program.
pub(super) fn code(error: &ssh2::Error) -> i32 {
    match error.code() {
        ErrorCode::Session(code) => code,
        ErrorCode::SFTP(_) => 0,
    }
}

/// True if the call must be repeated when the socket is ready.
pub(super) fn is_again(error: &ssh2::Error) -> bool {
    code(error) == EAGAIN
}

/// True if the host closed the connection.
pub(super) fn is_closed(error: &ssh2::Error) -> bool {
    matches!(code(error), DISCONNECTED | SOCKET_RECV | SOCKET_SEND)
}

/// True if only this channel is closed.
pub(super) fn is_channel_closed(error: &ssh2::Error) -> bool {
    matches!(code(error), CHANNEL_CLOSED | CHANNEL_EOF_SENT)
}

/// True if the host refused a channel or a command on a channel.
pub(super) fn is_channel_refused(error: &ssh2::Error) -> bool {
    matches!(code(error), CHANNEL_FAILURE | REQUEST_DENIED)
}

/// Returns the failure of a host that opened a channel and started no command on it.
pub(super) fn exec_refused() -> HostFailure {
    HostFailure::new(Reason::Refused, "sshd did not run the command for this user")
        .fix("on the host, check ForceCommand and the login shell: sudo sshd -T | grep -i forcecommand; getent passwd USER")
}

/// Returns the failure of a host whose `MaxSessions` is reached.
pub(in crate::fleet) fn channel_refused() -> HostFailure {
    HostFailure::new(Reason::Refused, "sshd refused another session on the connection").fix(
        "raise MaxSessions in sshd_config on the host; show it: sudo sshd -T | grep -i maxsessions",
    )
}

/// Returns the failure of a step that did not end in time. `call` is the `ssh` call to test it
/// with.
pub(in crate::fleet) fn timeout(step: &str, call: &str) -> HostFailure {
    HostFailure::new(Reason::Timeout, format!("{step} timed out"))
        .fix(format!("test the login: {call}; or {MORE_TIME}"))
}

/// Returns the failure of a step in which the thread of the built-in SSH ended.
pub(super) fn library(step: &str, call: &str) -> HostFailure {
    let detail = format!("the SSH library failed during the {step}");
    HostFailure::new(Reason::Garbage, detail).fix(format!(
        "test the login: {call}; if it succeeds, use the ssh program: repeat the command with \
         {BY_PROGRAM}"
    ))
}

/// Name of the step after the login.
pub(in crate::fleet) const USE: &str = "use of the SSH connection";

/// Returns the failure of a command whose output did not end in time.
pub(in crate::fleet) fn incomplete(bytes: usize) -> HostFailure {
    let detail = format!("the output did not end in time; {bytes} bytes arrived");
    HostFailure::new(Reason::Timeout, detail)
}

/// Returns the failure of a command that prints too much.
pub(in crate::fleet) fn too_big(limit: impl std::fmt::Display) -> HostFailure {
    let detail = format!("the output is over the limit of {limit} bytes");
    HostFailure::new(Reason::TooBig, detail)
}

/// Fix for a revoked host key.
pub(in crate::fleet) const REVOKED: &str =
    "do not connect; request the current fingerprint from the administrator of the host";

/// Command that prints the fingerprints of a host's keys, for its console.
pub(in crate::fleet) const SHOW_KEYS: &str =
    "for key in /etc/ssh/ssh_host_*_key.pub; do ssh-keygen -lf $key; done";

/// Returns how to verify a changed key, and how to replace it then.
pub(in crate::fleet) fn changed_key(remove: &str, call: &str) -> String {
    format!(
        "if the host was reinstalled, verify the new fingerprint on its console: {SHOW_KEYS}; then remove the \
         old key: {remove}; and accept the new key: {call}; otherwise suspect a man-in-the-middle attack"
    )
}

/// Returns how to verify the key of an unknown host, and how to accept it then.
pub(in crate::fleet) fn unknown_key(call: &str) -> String {
    format!(
        "compare the fingerprint with those on the host's console: {SHOW_KEYS}; if one is equal, accept the \
         key: {call}"
    )
}

/// Returns the failure of a host that was not done when a signal ended the run.
#[must_use]
pub fn cancelled() -> HostFailure {
    HostFailure::new(Reason::Cancelled, "the run was canceled before this host was done")
}

/// Returns the failure of this machine to create a thread, a descriptor or a socket.
pub(in crate::fleet) fn local(error: &io::Error) -> HostFailure {
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

/// True if libssh2 and the host have no common algorithm, or the key exchange failed.
pub(super) fn is_no_algorithm(error: &ssh2::Error) -> bool {
    matches!(code(error), KEX | KEY_EXCHANGE)
}

/// Returns the failure of an SSH handshake.
pub(super) fn handshake(error: &ssh2::Error, call: &str) -> HostFailure {
    let detail = format!("SSH handshake failed: {}", error.message());
    let failure = HostFailure::new(Reason::Transport, detail);
    if is_no_algorithm(error) {
        return failure.fix(format!("compare the algorithms of both sides: {call} -vv"));
    }
    failure
}

/// Returns the failure of a login during which sshd closed the connection after its SSH banner.
pub(super) fn closed(reason: Reason, when: &str, target: &Target) -> HostFailure {
    let detail = format!("sshd closed the connection {when}");
    HostFailure::new(reason, detail).fix(format!(
        "test the login: {}; on {}, check the log of sshd: journalctl -u ssh -u sshd",
        target.manual_command(),
        target.host
    ))
}

/// Returns the failure of a session after the login.
pub(super) fn session(error: &ssh2::Error) -> HostFailure {
    if is_closed(error) {
        return HostFailure::new(Reason::Lost, "the host closed the SSH connection");
    }
    let detail = format!("SSH failed: {} (libssh2 error {})", error.message(), code(error));
    HostFailure::new(Reason::Transport, detail)
}

#[test]
fn a_failure_of_the_library_leads_to_the_ssh_program() {
    let failure = library("key exchange", "ssh -p 7 n1");
    assert_eq!(failure.detail, "the SSH library failed during the key exchange");
    let fix = "test the login: ssh -p 7 n1; if it succeeds, use the ssh program: repeat the \
               command with --ssh-option Compression=no";
    assert_eq!(failure.fix.as_deref(), Some(fix));
}
