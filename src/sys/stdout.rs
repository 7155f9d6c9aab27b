//! Finds out if standard output was closed when the program started; `term` uses it.
//!
//! The Rust runtime opens `/dev/null` in place of a closed standard output before `main`
//! (library/std/src/sys/pal/unix, `sanitize_standard_fds`). Output would then be lost without an
//! error.
#![expect(unsafe_code, reason = "code that runs before main, and fcntl")]

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Entry of the dynamic loader, which calls `look` before `main` and the Rust runtime.
// SAFETY: the section holds pointers to functions of the C ABI, and this is one. glibc passes
// three arguments, which the C ABI lets a function ignore.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Records a closed standard output, with one atomic and one system call, without the runtime.
extern "C" fn look() {
    // SAFETY: F_GETFD takes a number and changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// True if standard output was closed when the program started.
pub fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

#[test]
fn the_output_of_a_test_is_open() {
    assert!(!was_closed());
}
