//! Names the error codes (errno) of the kernel and of C libraries.

use std::borrow::Cow;
use std::fmt;
use std::io;

/// Errno value. [`fmt::Display`] prints its symbolic name and its text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(i32);

/// Declares each known code once, as a constant and with its name.
macro_rules! codes {
    ($($name:ident = $code:ident,)*) => {
        impl Errno {
            $(
                #[doc = concat!("The code `", stringify!($code), "`.")]
                pub const $name: Self = Self(libc::$code);
            )*

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
    TOO_MANY_SYMLINKS = ELOOP,
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
    /// Returns the errno of a code of either sign: positive from verbs calls, negative from
    /// netlink.
    pub fn from_code(code: i32) -> Self {
        Self(code.saturating_abs())
    }

    /// Returns the number of the code, which is positive, for example for an exit code.
    pub fn code(self) -> i32 {
        self.0
    }

    /// Returns the `errno` variable of this thread.
    pub(in crate::sys) fn last() -> Self {
        Self(io::Error::last_os_error().raw_os_error().unwrap_or(0))
    }

    /// Converts the return value of a C call: 0 is success, with -1 the code is in `errno`, and
    /// any other value is the code itself.
    pub(in crate::sys) fn check(returned: i32) -> Result<(), Self> {
        match returned {
            0 => Ok(()),
            -1 => Err(Self::last()),
            code => Err(Self::from_code(code)),
        }
    }

    /// Returns the symbolic name: `ETIMEDOUT`, or `errno 200` for a code without a constant.
    pub fn name(self) -> Cow<'static, str> {
        let known = Self::NAMES.iter().find(|(code, _)| *code == self.0);
        known.map_or_else(|| format!("errno {}", self.0).into(), |(_, name)| (*name).into())
    }

    /// Returns the errno of a name in either form of [`Errno::name`]; `None` for any other text.
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(number) = name.strip_prefix("errno ") {
            return number.parse().ok().map(Self);
        }
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(code, _)| Self(*code))
    }

    /// Returns the text of the C library with a lower-case first letter: `connection timed out`.
    pub fn text(self) -> String {
        let full = io::Error::from_raw_os_error(self.0).to_string();
        let text = full.split(" (os error").next().unwrap_or_default();
        let mut letters = text.chars();
        letters
            .next()
            .map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
    }

    /// Returns the errno whose text in the C library is `text`, in upper or lower case; `None` if
    /// no code with a constant has this text.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut known = Self::NAMES.iter().map(|(code, _)| Self(*code));
        known.find(|errno| errno.text().eq_ignore_ascii_case(text))
    }

    /// True if the library, the driver or the device does not support the operation at all.
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
fn a_name_or_a_text_is_converted_back_to_its_code() {
    for errno in [Errno::ACCESS, Errno::from_code(4000)] {
        assert_eq!(Errno::from_name(&errno.name()), Some(errno));
    }
    assert_eq!(Errno::from_name("EWHATEVER"), None);
    assert_eq!(Errno::from_text("Permission denied"), Some(Errno::ACCESS));
    assert_eq!(Errno::from_text("permission denied!"), None);
}
