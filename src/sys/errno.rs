//! A kernel or library error code under its symbolic name.

use std::borrow::Cow;
use std::fmt;
use std::io;

/// An errno value: compared and shown by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(i32);

/// Declares the codes this program meets, each once, for the constants and for the names.
macro_rules! codes {
    ($($name:ident = $code:ident,)*) => {
        impl Errno {
            $(
                #[doc = concat!("The code `", stringify!($code), "`.")]
                pub const $name: Self = Self(libc::$code);
            )*

            /// The codes with a name here.
            const NAMES: &[(i32, &str)] = &[$((libc::$code, stringify!($code)),)*];
        }
    };
}

codes! {
    NOT_PERMITTED = EPERM,
    NO_ENTRY = ENOENT,
    INTERRUPTED = EINTR,
    IO = EIO,
    NO_SUCH_ADDRESS = ENXIO,
    NO_SUCH_PROCESS = ESRCH,
    NO_SUCH_OPTION = ENOPROTOOPT,
    NOT_A_DIRECTORY = ENOTDIR,
    IS_A_DIRECTORY = EISDIR,
    NAME_TOO_LONG = ENAMETOOLONG,
    TOO_MANY_LINKS = ELOOP,
    READ_ONLY = EROFS,
    BROKEN_PIPE = EPIPE,
    BAD_DESCRIPTOR = EBADF,
    AGAIN = EAGAIN,
    NO_MEMORY = ENOMEM,
    ACCESS = EACCES,
    FAULT = EFAULT,
    BUSY = EBUSY,
    EXISTS = EEXIST,
    NO_DEVICE = ENODEV,
    INVALID = EINVAL,
    TOO_MANY_FILES_IN_SYSTEM = ENFILE,
    TOO_MANY_FILES = EMFILE,
    NO_SPACE = ENOSPC,
    RANGE = ERANGE,
    NO_SYSTEM_CALL = ENOSYS,
    NO_DATA = ENODATA,
    TIMER = ETIME,
    PROTOCOL = EPROTO,
    BAD_MESSAGE = EBADMSG,
    OVERFLOW = EOVERFLOW,
    MESSAGE_SIZE = EMSGSIZE,
    PROTOCOL_NOT_SUPPORTED = EPROTONOSUPPORT,
    NOT_SUPPORTED = EOPNOTSUPP,
    FAMILY_NOT_SUPPORTED = EAFNOSUPPORT,
    ADDRESS_IN_USE = EADDRINUSE,
    ADDRESS_NOT_AVAILABLE = EADDRNOTAVAIL,
    NETWORK_DOWN = ENETDOWN,
    NETWORK_UNREACHABLE = ENETUNREACH,
    ABORTED = ECONNABORTED,
    RESET = ECONNRESET,
    NO_BUFFERS = ENOBUFS,
    CONNECTED = EISCONN,
    NOT_CONNECTED = ENOTCONN,
    TIMED_OUT = ETIMEDOUT,
    REFUSED = ECONNREFUSED,
    HOST_DOWN = EHOSTDOWN,
    HOST_UNREACHABLE = EHOSTUNREACH,
    ALREADY = EALREADY,
    IN_PROGRESS = EINPROGRESS,
    STALE = ESTALE,
    CANCELED = ECANCELED,
}

impl Errno {
    /// Takes a code of either sign: verbs calls return positive ones, netlink negative ones.
    #[must_use]
    pub fn from_code(code: i32) -> Self {
        Self(code.saturating_abs())
    }

    /// The number, for those that put it into an exit code.
    #[must_use]
    pub fn code(self) -> i32 {
        self.0
    }

    /// The calling thread's last error.
    pub(in crate::sys) fn last() -> Self {
        Self(io::Error::last_os_error().raw_os_error().unwrap_or(0))
    }

    /// What a call that answers 0, a positive code, or -1 with errno has said.
    pub(in crate::sys) fn check(answer: i32) -> Result<(), Self> {
        match answer {
            0 => Ok(()),
            -1 => Err(Self::last()),
            code => Err(Self::from_code(code)),
        }
    }

    /// The symbolic name, as in `ETIMEDOUT`; `errno 200` for a code without one here.
    #[must_use]
    pub fn name(self) -> Cow<'static, str> {
        Self::NAMES.iter().find(|(code, _)| *code == self.0).map_or_else(
            || Cow::Owned(format!("errno {}", self.0)),
            |(_, name)| Cow::Borrowed(*name),
        )
    }

    /// The code of a symbolic name, in either form of [`Errno::name`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name.strip_prefix("errno ") {
            Some(number) => number.parse().ok().map(Self),
            None => {
                Self::NAMES.iter().find(|(_, known)| *known == name).map(|(code, _)| Self(*code))
            }
        }
    }

    /// The C library's sentence for it, as in `connection timed out`.
    #[must_use]
    pub fn text(self) -> String {
        let full = io::Error::from_raw_os_error(self.0).to_string();
        let text = full.split(" (os error").next().unwrap_or_default();
        let mut letters = text.chars();
        letters
            .next()
            .map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
    }

    /// The code that the C library has this sentence for, among those with a name here.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let mut known = Self::NAMES.iter().map(|(code, _)| Self(*code));
        known.find(|errno| errno.text().eq_ignore_ascii_case(text))
    }

    /// Whether the library, the driver or the device lacks the operation as such.
    #[must_use]
    pub fn is_unsupported(self) -> bool {
        self == Self::NOT_SUPPORTED || self == Self::NO_SYSTEM_CALL
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.name(), self.text())
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name())
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(errno: rustix::io::Errno) -> Self {
        Self(errno.raw_os_error())
    }
}

#[test]
fn a_code_is_shown_by_name_then_text() {
    assert_eq!(Errno::TIMED_OUT.to_string(), "ETIMEDOUT (connection timed out)");
    assert_eq!(Errno::from_code(-libc::EINVAL), Errno::INVALID);
}

#[test]
fn a_code_without_a_name_keeps_its_number() {
    assert_eq!(Errno::from_code(4000).name(), "errno 4000");
}

#[test]
fn a_name_leads_back_to_its_code() {
    for errno in [Errno::ACCESS, Errno::from_code(4000)] {
        assert_eq!(Errno::from_name(&errno.name()), Some(errno));
    }
    assert_eq!(Errno::from_name("EWHATEVER"), None);
    assert_eq!(Errno::from_text("Permission denied"), Some(Errno::ACCESS));
    assert_eq!(Errno::from_text("permission denied!"), None);
}
