//! How this process keeps its heap.
#![expect(unsafe_code, reason = "a call of the C library")]

/// From now on there is one heap for all threads, where the C library is one that has several.
///
/// Threads that come and go leave holes in each of many heaps: with a thousand hosts these are a fifth of
/// all memory. A lock that is waited for now and then costs less.
pub fn share() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a number of the allocator's, which has a lock of its own. Where it fails, all is
    // as before.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}
