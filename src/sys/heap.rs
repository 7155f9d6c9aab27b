//! Configures the heap of this process; `top` and `watch` use it.
#![expect(unsafe_code, reason = "a call of the C library")]

/// Makes all threads share one heap, if the C library is glibc, which otherwise has several.
///
/// Threads that start and end leave holes in each of many heaps: with a thousand hosts the holes
/// are a fifth of all memory. Waiting for a lock now and then costs less. Freed memory is joined
/// with its neighbors at once. Otherwise the next large allocation joins all of it, and the
/// handling of a key press waits for that.
pub fn share() {
    #[cfg(target_env = "gnu")]
    for (number, value) in [(libc::M_ARENA_MAX, 1), (libc::M_MXFAST, 0)] {
        // SAFETY: the call sets a parameter of the allocator, which has its own lock. If the call
        // fails, nothing changes.
        unsafe { libc::mallopt(number, value) };
    }
}
