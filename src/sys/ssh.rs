//! A session of libssh2 that has no socket: what it sends and receives goes through memory of ours.
//!
//! `ssh2` has no word for the library's two callbacks, `LIBSSH2_CALLBACK_SEND` and
//! `LIBSSH2_CALLBACK_RECV` of `libssh2.h`.
#![expect(unsafe_code, reason = "callbacks of a C library")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use libc::{c_int, c_void, size_t, ssize_t};
use libssh2_sys::{LIBSSH2_SESSION, libssh2_session_abstract};

const LIBSSH2_CALLBACK_SEND: c_int = 5;
const LIBSSH2_CALLBACK_RECV: c_int = 6;

unsafe extern "C" {
    /// Its successor of libssh2 1.11.1 is not in the libraries of older systems.
    fn libssh2_session_callback_set(
        session: *mut LIBSSH2_SESSION,
        kind: c_int,
        callback: *mut c_void,
    ) -> *mut c_void;
}

/// What a session has in place of its socket. Neither call may panic or wait.
pub(crate) trait Carrier: Send + 'static {
    /// Takes bytes for the host: those of one packet.
    fn send(&mut self, bytes: &[u8]) -> Carried;

    /// Gives bytes of the host.
    fn receive(&mut self, room: &mut [u8]) -> Carried;
}

/// What became of bytes on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carried {
    /// So many of them moved, one at least.
    Bytes(usize),
    /// None can move for now.
    NotNow,
    /// None will ever move again.
    Over,
}

/// What the library knows as the session's socket, and its callbacks as their argument.
struct Carriage<C> {
    socket: Arc<OwnedFd>,
    carrier: Arc<Mutex<C>>,
}

impl<C> AsRawFd for Carriage<C> {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl<C> Carriage<C> {
    fn carrier(&self) -> MutexGuard<'_, C> {
        self.carrier.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session whose bytes go by the carrier and never by the socket, which only lends it its number.
///
/// It keeps both, and must not be given another stream: the callbacks would lose what they point to. That
/// is why nobody outside of this crate has it.
///
/// # Errors
/// The library has no memory for one.
pub(crate) fn session<C: Carrier>(
    socket: Arc<OwnedFd>,
    carrier: Arc<Mutex<C>>,
) -> Result<ssh2::Session, ssh2::Error> {
    let mut session = ssh2::Session::new()?;
    let carriage = Box::new(Carriage { socket, carrier });
    let place = &raw const *carriage;
    session.set_tcp_stream(carriage);
    {
        let mut session = session.raw();
        let session = &raw mut *session;
        // SAFETY: the session is a live one, locked by the guard, and has this place as long as it lives.
        let known = unsafe { libssh2_session_abstract(session) };
        // SAFETY: the place is that of a box which the session owns as its stream and drops after
        // `libssh2_session_free`, so that it outlives every callback.
        unsafe { *known = place.cast_mut().cast() };
        for (kind, callback) in [
            (LIBSSH2_CALLBACK_SEND, send::<C> as *mut c_void),
            (LIBSSH2_CALLBACK_RECV, receive::<C> as *mut c_void),
        ] {
            // SAFETY: both callbacks have the types of `libssh2.h`, and know the place by the type of the box.
            unsafe { libssh2_session_callback_set(session, kind, callback) };
        }
    }
    Ok(session)
}

/// What `session` stored.
///
/// # Safety
/// The place must hold what `session` stored for a carrier of this type, and its session must live.
unsafe fn carriage<'session, C>(place: *const *mut c_void) -> &'session Carriage<C> {
    // SAFETY: whoever calls says so; the library lends its own place.
    let stored = unsafe { *place };
    // SAFETY: it is the place of a box that lives as long as the session, and is only read.
    unsafe { &*stored.cast::<Carriage<C>>() }
}

/// `LIBSSH2_SEND_FUNC`: how many bytes were taken, or an errno below zero.
unsafe extern "C" fn send<C: Carrier>(
    socket: RawFd,
    bytes: *const c_void,
    length: size_t,
    flags: c_int,
    place: *mut *mut c_void,
) -> ssize_t {
    // SAFETY: the library gives back what `session` stored for this kind of carrier.
    let carriage = unsafe { carriage::<C>(place) };
    if socket != carriage.as_raw_fd() {
        // SAFETY: the library's own arguments for a call of this kind, of an agent's socket.
        return answer(|| unsafe { libc::send(socket, bytes, length, flags | libc::MSG_NOSIGNAL) });
    }
    // SAFETY: so many bytes of the library's are there while this call lasts.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), length) };
    told(carriage.carrier().send(bytes), below_zero(libc::EPIPE))
}

/// `LIBSSH2_RECV_FUNC`: how many bytes were given, 0 at their end, or an errno below zero.
unsafe extern "C" fn receive<C: Carrier>(
    socket: RawFd,
    room: *mut c_void,
    length: size_t,
    flags: c_int,
    place: *mut *mut c_void,
) -> ssize_t {
    // SAFETY: as in `send`.
    let carriage = unsafe { carriage::<C>(place) };
    if socket != carriage.as_raw_fd() {
        // SAFETY: as in `send`.
        return answer(|| unsafe { libc::recv(socket, room, length, flags) });
    }
    // SAFETY: the library lends so many bytes while this call lasts, and has put something into them
    // before or takes them for numbers of any value.
    let room = unsafe { slice::from_raw_parts_mut(room.cast::<u8>(), length) };
    told(carriage.carrier().receive(room), 0)
}

/// What became of bytes, as the library wants to hear it.
fn told(carried: Carried, over: ssize_t) -> ssize_t {
    match carried {
        Carried::Bytes(count) => count.try_into().unwrap_or(ssize_t::MAX),
        Carried::NotNow => below_zero(libc::EAGAIN),
        Carried::Over => over,
    }
}

/// What a call on a real socket answered, in the library's own way.
fn answer(call: impl Fn() -> ssize_t) -> ssize_t {
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
