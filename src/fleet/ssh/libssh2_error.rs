//! Errors of libssh2: their kinds, and their conversion to a [`HostFailure`].

use ssh2::ErrorCode;

use crate::fleet::client_choice::BY_PROGRAM;
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

/// Returns the libssh2 error code; 0 for an SFTP error, which does not occur in this program.
fn code(error: &ssh2::Error) -> i32 {
    match error.code() {
        ErrorCode::Session(code) => code,
        ErrorCode::SFTP(_) => 0,
    }
}

/// True if the call must be repeated when the socket is ready.
pub(super) fn is_again(error: &ssh2::Error) -> bool {
    code(error) == EAGAIN
}

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

pub(super) fn thread_ended(step: &str, call: &str) -> HostFailure {
    let detail = format!("the SSH library failed during the {step}");
    HostFailure::new(Reason::Garbage, detail).fix(format!(
        "test the login: {call}; if it succeeds, use the ssh program: repeat the command with \
         {BY_PROGRAM}"
    ))
}

/// True if libssh2 and the host have no common algorithm, or the key exchange failed.
pub(super) fn is_no_algorithm(error: &ssh2::Error) -> bool {
    matches!(code(error), KEX | KEY_EXCHANGE)
}

pub(super) fn handshake(error: &ssh2::Error, call: &str) -> HostFailure {
    let detail = format!("SSH handshake failed: {}", error.message());
    let failure = HostFailure::new(Reason::Transport, detail);
    if is_no_algorithm(error) {
        return failure.fix(format!("compare the algorithms of both sides: {call} -vv"));
    }
    failure
}

pub(super) fn session(error: &ssh2::Error) -> HostFailure {
    if is_closed(error) {
        return HostFailure::new(Reason::Lost, "the host closed the SSH connection");
    }
    let detail = format!("SSH failed: {} (libssh2 error {})", error.message(), code(error));
    HostFailure::new(Reason::Transport, detail)
}

#[test]
fn a_failure_of_the_library_leads_to_the_ssh_program() {
    let failure = thread_ended("key exchange", "ssh -p 7 n1");
    assert_eq!(failure.detail, "the SSH library failed during the key exchange");
    let fix = "test the login: ssh -p 7 n1; if it succeeds, use the ssh program: repeat the \
               command with --ssh-option Compression=no";
    assert_eq!(failure.fix.as_deref(), Some(fix));
}
