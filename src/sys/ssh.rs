//! Makes a session of libssh2 that transfers through memory, not a socket. `fleet::ssh` uses it.
//!
//! `ssh2` has no binding for the two callbacks, `LIBSSH2_CALLBACK_SEND` and
//! `LIBSSH2_CALLBACK_RECV` of `libssh2.h`.
#![expect(unsafe_code, reason = "callbacks of a C library")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::slice;
use std::sync::Arc;

use libc::{c_int, c_void, size_t, ssize_t};
use libssh2_sys::{LIBSSH2_SESSION, libssh2_session_abstract};
use parking_lot::Mutex;

const LIBSSH2_CALLBACK_SEND: c_int = 5;
const LIBSSH2_CALLBACK_RECV: c_int = 6;

unsafe extern "C" {
    /// libssh2 1.11.1 has a successor of this function; libraries of older systems have not.
    fn libssh2_session_callback_set(
        session: *mut LIBSSH2_SESSION,
        kind: c_int,
        callback: *mut c_void,
    ) -> *mut c_void;
}

/// Transport of a session in place of its socket. No method may panic or wait.
pub(crate) trait SessionTransport: Send + 'static {
    /// Takes the bytes of one packet for the host.
    fn send(&mut self, bytes: &[u8]) -> TransferResult;

    /// Fills `room` with bytes from the host.
    fn receive(&mut self, room: &mut [u8]) -> TransferResult;
}

/// Result of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransferResult {
    /// Number of bytes that were transferred, at least 1.
    Bytes(usize),
    /// No byte can be transferred at this time.
    NotNow,
    /// No byte can be transferred anymore.
    Over,
}

/// Stream that libssh2 takes for the session's socket, and argument of its callbacks.
struct TransportStream<C> {
    socket: Arc<OwnedFd>,
    transport: Arc<Mutex<C>>,
}

impl<C> AsRawFd for TransportStream<C> {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// Makes a session that transfers through the transport. The socket only lends its number.
///
/// The session owns both. It must not get another stream, because its callbacks would then use a
/// freed one. Therefore the function is private to this crate.
///
/// # Errors
/// The library has no memory for a session.
pub(crate) fn session<C: SessionTransport>(
    socket: Arc<OwnedFd>,
    transport: Arc<Mutex<C>>,
) -> Result<ssh2::Session, ssh2::Error> {
    let mut session = ssh2::Session::new()?;
    let stream = Box::new(TransportStream { socket, transport });
    let place = &raw const *stream;
    session.set_tcp_stream(stream);
    {
        let mut session = session.raw();
        let session = &raw mut *session;
        // SAFETY: the session is alive and locked by the guard, and its abstract pointer lives as
        // long.
        let known = unsafe { libssh2_session_abstract(session) };
        // SAFETY: the session owns the box as its stream and drops it after
        // `libssh2_session_free`. So the box outlives every callback.
        unsafe { *known = place.cast_mut().cast() };
        for (kind, callback) in [
            (LIBSSH2_CALLBACK_SEND, send::<C> as *mut c_void),
            (LIBSSH2_CALLBACK_RECV, receive::<C> as *mut c_void),
        ] {
            // SAFETY: both callbacks have the types of `libssh2.h`, and cast the abstract pointer
            // to the type of the box.
            unsafe { libssh2_session_callback_set(session, kind, callback) };
        }
    }
    Ok(session)
}

/// Returns the stream that `session` stored.
///
/// # Safety
/// `place` must point to the pointer that `session` stored for a transport of type `C`, and its
/// session must be alive.
unsafe fn stream<'session, C>(place: *const *mut c_void) -> &'session TransportStream<C> {
    // SAFETY: the caller promises it; libssh2 passes its own abstract pointer.
    let stored = unsafe { *place };
    // SAFETY: the pointer is that of a box that lives as long as the session, and the box is only
    // read.
    unsafe { &*stored.cast::<TransportStream<C>>() }
}

/// Implements `LIBSSH2_SEND_FUNC`: returns the number of bytes taken, or a negative errno.
unsafe extern "C" fn send<C: SessionTransport>(
    socket: RawFd,
    bytes: *const c_void,
    length: size_t,
    flags: c_int,
    place: *mut *mut c_void,
) -> ssize_t {
    // SAFETY: libssh2 passes the pointer that `session` stored for this type of transport.
    let stream = unsafe { stream::<C>(place) };
    if socket != stream.as_raw_fd() {
        // SAFETY: these are libssh2's arguments for a send to the socket of an SSH agent.
        return retry_interrupted(|| unsafe {
            libc::send(socket, bytes, length, flags | libc::MSG_NOSIGNAL)
        });
    }
    // SAFETY: libssh2 keeps `length` bytes during this call.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), length) };
    callback_result(stream.transport.lock().send(bytes), below_zero(libc::EPIPE))
}

/// Implements `LIBSSH2_RECV_FUNC`: returns the number of bytes given, 0 at the end of the stream,
/// or a negative errno.
unsafe extern "C" fn receive<C: SessionTransport>(
    socket: RawFd,
    room: *mut c_void,
    length: size_t,
    flags: c_int,
    place: *mut *mut c_void,
) -> ssize_t {
    // SAFETY: as in `send`.
    let stream = unsafe { stream::<C>(place) };
    if socket != stream.as_raw_fd() {
        // SAFETY: as in `send`.
        return retry_interrupted(|| unsafe { libc::recv(socket, room, length, flags) });
    }
    // SAFETY: libssh2 lends `length` bytes during this call. It has initialized them, or accepts
    // bytes of any value.
    let room = unsafe { slice::from_raw_parts_mut(room.cast::<u8>(), length) };
    callback_result(stream.transport.lock().receive(room), 0)
}

/// Returns the result of a transfer in the form of a libssh2 callback.
fn callback_result(result: TransferResult, over: ssize_t) -> ssize_t {
    match result {
        TransferResult::Bytes(count) => count.try_into().unwrap_or(ssize_t::MAX),
        TransferResult::NotNow => below_zero(libc::EAGAIN),
        TransferResult::Over => over,
    }
}

/// Returns the result of a socket call as of a libssh2 callback. Repeats it after EINTR.
fn retry_interrupted(call: impl Fn() -> ssize_t) -> ssize_t {
    loop {
        let count = call();
        if count >= 0 {
            return count;
        }
        match io::Error::last_os_error().raw_os_error() {
            Some(libc::EINTR) => {}
            code => return below_zero(code.unwrap_or(libc::EIO)),
        }
    }
}

fn below_zero(code: c_int) -> ssize_t {
    ssize_t::try_from(code).map_or(-1, |code| -code)
}
