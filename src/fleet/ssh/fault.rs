//! From what the SSH library says to one of our reasons.

use std::io;

use ssh2::ErrorCode;

use crate::model::{HostFailure, Reason};

// libssh2.h; the ssh2 crate keeps their names to itself.
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

/// libssh2's number; 0 for an error of its SFTP part, which nothing here uses.
pub(super) fn code(error: &ssh2::Error) -> i32 {
    match error.code() {
        ErrorCode::Session(code) => code,
        ErrorCode::SFTP(_) => 0,
    }
}

/// Whether the call must be repeated when the socket is ready.
pub(super) fn is_again(error: &ssh2::Error) -> bool {
    code(error) == EAGAIN
}

/// Whether the host closed the connection.
pub(super) fn is_closed(error: &ssh2::Error) -> bool {
    matches!(code(error), DISCONNECTED | SOCKET_RECV | SOCKET_SEND)
}

/// Whether only this channel is closed.
pub(super) fn is_channel_closed(error: &ssh2::Error) -> bool {
    matches!(code(error), CHANNEL_CLOSED | CHANNEL_EOF_SENT)
}

/// Whether the host refused a channel or a command on it.
pub(super) fn is_channel_refused(error: &ssh2::Error) -> bool {
    matches!(code(error), CHANNEL_FAILURE | REQUEST_DENIED)
}

/// The host opened a channel and started no command on it.
pub(super) fn exec_refused() -> HostFailure {
    HostFailure::new(Reason::Refused, "runs no command for this user")
        .fix("see ForceCommand and the account's shell there")
}

/// The host's `MaxSessions` is reached.
pub(in crate::fleet) fn channel_refused() -> HostFailure {
    HostFailure::new(Reason::Refused, "opens no further channel")
        .fix("raise MaxSessions in sshd_config there")
}

/// A step that did not end in time.
pub(in crate::fleet) fn timeout(step: &str) -> HostFailure {
    HostFailure::new(Reason::Timeout, format!("timed out: {step}"))
        .fix("see whether the host hangs, or give it longer with --timeout")
}

/// The run was ended by a signal.
pub(in crate::fleet) fn cancelled() -> HostFailure {
    HostFailure::new(Reason::Cancelled, "the run was stopped before this host was done")
}

/// Our own machine gave no thread, descriptor or socket.
pub(in crate::fleet) fn local(error: &io::Error) -> HostFailure {
    let failure = HostFailure::new(Reason::Transport, format!("this machine: {error}"));
    // EMFILE and ENFILE
    if matches!(error.raw_os_error(), Some(24 | 23)) {
        return failure.fix("raise `ulimit -n`, or lower --fanout");
    }
    failure
}

/// Whether the library and the host found no way to make keys.
pub(super) fn is_no_algorithm(error: &ssh2::Error) -> bool {
    matches!(code(error), KEX | KEY_EXCHANGE)
}

/// The key exchange ended without keys.
pub(super) fn handshake(error: &ssh2::Error) -> HostFailure {
    let failure =
        HostFailure::new(Reason::Transport, format!("SSH handshake: {}", error.message()));
    if is_no_algorithm(error) {
        return failure
            .fix("try `ssh -v`: the host may offer only algorithms that OpenSSL here lacks");
    }
    failure
}

/// Anything after the login.
pub(super) fn session(error: &ssh2::Error) -> HostFailure {
    if is_closed(error) {
        return HostFailure::new(Reason::Lost, "the host closed the SSH connection");
    }
    let detail = format!("SSH: {} ({})", error.message(), code(error));
    HostFailure::new(Reason::Transport, detail)
}
