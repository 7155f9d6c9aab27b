//! Opens C libraries when they are first needed, and looks up functions; never closes libraries.
#![expect(unsafe_code, reason = "dlopen and dlsym")]

use std::env;
use std::ffi::{CStr, CString, c_char, c_void};
use std::os::unix::ffi::OsStringExt;
use std::ptr::NonNull;

use thiserror::Error;

/// Reason why a library cannot be used on this machine, which is an ordinary result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoadError {
    /// The library is not installed.
    #[error("{soname} is not installed: {text}")]
    Missing {
        /// Name with which the library was opened.
        soname: String,
        /// Error text of the dynamic loader.
        text: String,
    },
    /// The library exists, but the dynamic loader cannot load it.
    #[error("{soname} cannot be loaded: {text}")]
    Broken {
        /// Name with which the library was opened.
        soname: String,
        /// Error text of the dynamic loader.
        text: String,
    },
    /// The library lacks a function that every release since 2018 has.
    #[error("{soname} has no function {symbol}: {text}")]
    Symbol {
        /// Name of the library.
        soname: String,
        /// Name of the function.
        symbol: String,
        /// Error text of the dynamic loader.
        text: String,
    },
}

impl LoadError {
    /// Classifies the dynamic loader's error text about `soname`.
    fn from_open(soname: String, text: String) -> Self {
        // Installing the package does not fix other errors, for example a missing symbol version.
        // Nor does it fix a library that exists but depends on a library that does not.
        if text.starts_with(&soname) && text.contains("cannot open shared object file: No such") {
            Self::Missing { soname, text }
        } else {
            Self::Broken { soname, text }
        }
    }
}

/// A library that stays open until the process ends.
#[derive(Clone, Copy)]
pub(super) struct Library {
    handle: NonNull<c_void>,
    soname: &'static CStr,
}

impl Library {
    /// Opens `soname`. For tests, a build with debug assertions opens the file that the
    /// environment variable `instead` names. Other builds ignore the variable: they can run with
    /// root rights, and a caller must not choose the library.
    pub(super) fn open(soname: &'static CStr, instead: &str) -> Result<Self, LoadError> {
        let path = env::var_os(instead).filter(|_| cfg!(debug_assertions));
        let path = path.and_then(|path| CString::new(path.into_vec()).ok());
        let path = path.as_deref().unwrap_or(soname);
        clear_error();
        // SAFETY: the name is a C string. The library's constructors run, as intended.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let handle = NonNull::new(handle).ok_or_else(|| {
            LoadError::from_open(path.to_string_lossy().into_owned(), last_error())
        })?;
        Ok(Self { handle, soname })
    }

    /// Returns the address of a function in its default version.
    pub(super) fn symbol(self, name: &CStr) -> Result<NonNull<c_void>, LoadError> {
        clear_error();
        // SAFETY: the handle is never closed, and the name is a C string.
        let address = unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) };
        NonNull::new(address).ok_or_else(|| LoadError::Symbol {
            soname: self.soname.to_string_lossy().into_owned(),
            symbol: name.to_string_lossy().into_owned(),
            text: last_error(),
        })
    }
}

fn clear_error() {
    let _ = error_pointer();
}

/// Returns the dynamic loader's text about this thread's last failure.
fn last_error() -> String {
    let text = error_pointer();
    if text.is_null() {
        return "no reason given".to_owned();
    }
    // SAFETY: the pointer is not null, so it is a C string that is valid until this thread's next
    // call of the loader.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Returns the raw text of this thread's last failure; null if there was none.
fn error_pointer() -> *const c_char {
    // SAFETY: `dlerror` has no precondition; the returned text belongs to the calling thread.
    unsafe { libc::dlerror() }
}

/// Declares the table of C functions of a library. The first `get` opens it and looks them up.
///
/// The variable after `or` is that of [`Library::open`]. Without a required function, the whole
/// library is unusable. A missing optional function is `None`.
macro_rules! functions {
    (
        $(#[$doc:meta])*
        $vis:vis struct $table:ident of $soname:literal or $instead:literal;
        required { $(fn $name:ident($($arg:ty),*) $(-> $out:ty)?;)* }
        optional { $(fn $may:ident($($may_arg:ty),*) $(-> $may_out:ty)?;)* }
    ) => {
        $(#[$doc])*
        #[allow(clippy::struct_field_names, reason = "the fields are the C functions by name")]
        $vis struct $table {
            $($vis $name: unsafe extern "C" fn($($arg),*) $(-> $out)?,)*
            $($vis $may: Option<unsafe extern "C" fn($($may_arg),*) $(-> $may_out)?>,)*
        }

        impl std::fmt::Debug for $table {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str($instead)
            }
        }

        impl $table {
            $vis fn get() -> Result<&'static Self, $crate::sys::LoadError> {
                static TABLE: std::sync::OnceLock<Result<$table, $crate::sys::LoadError>> =
                    std::sync::OnceLock::new();
                let open = || $crate::sys::dl::Library::open($soname, $instead);
                TABLE.get_or_init(|| open().and_then(Self::load)).as_ref().map_err(Clone::clone)
            }

            fn load(library: $crate::sys::dl::Library) -> Result<Self, $crate::sys::LoadError> {
                Ok(Self {
                    $($name: {
                        let address = library.symbol($crate::sys::dl::c_name!($name))?;
                        // SAFETY: the symbol of this name has this signature in the library's
                        // header, and a function pointer has the size of an address.
                        unsafe {
                            std::mem::transmute::<
                                std::ptr::NonNull<std::ffi::c_void>,
                                unsafe extern "C" fn($($arg),*) $(-> $out)?,
                            >(address)
                        }
                    },)*
                    $($may: {
                        let address = library.symbol($crate::sys::dl::c_name!($may)).ok();
                        // SAFETY: as above; the null pointer is `None` on both sides.
                        unsafe {
                            std::mem::transmute::<
                                Option<std::ptr::NonNull<std::ffi::c_void>>,
                                Option<unsafe extern "C" fn($($may_arg),*) $(-> $may_out)?>,
                            >(address)
                        }
                    },)*
                })
            }
        }
    };
}

/// Turns an identifier into a C string.
macro_rules! c_name {
    ($name:ident) => {
        const {
            match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("an identifier has no zero byte"),
            }
        }
    };
}

pub(super) use {c_name, functions};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_library_names_its_package() {
        let Err(error) = Library::open(c"libibverbs.so.1.absent", "RDMACTL_NO_SUCH_VARIABLE")
        else {
            panic!("no such library exists");
        };
        assert!(matches!(error, LoadError::Missing { .. }), "{error:?}");
    }

    #[test]
    fn a_version_conflict_is_not_called_missing() {
        let error = LoadError::from_open(
            "libibverbs.so.1".to_owned(),
            "/lib/libibverbs.so.1: version `IBVERBS_PRIVATE_34' not found".to_owned(),
        );
        assert!(matches!(error, LoadError::Broken { .. }));
    }

    #[test]
    fn an_absent_symbol_is_named() {
        let libc = Library::open(c"libc.so.6", "RDMACTL_NO_SUCH_VARIABLE").expect("libc is there");
        assert!(libc.symbol(c"getpid").is_ok());
        let error = libc.symbol(c"ibv_no_such_call").expect_err("no such call");
        assert!(error.to_string().contains("ibv_no_such_call"), "{error}");
    }
}
