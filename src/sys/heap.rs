//! How this process keeps its heap.
#![expect(unsafe_code, reason = "a call of the C library")]

/// From now on there is one heap for all threads, where the C library is one that has several.
///
/// Threads that come and go leave holes in each of many heaps: with a thousand hosts these are a fifth of
/// all memory. A lock that is waited for now and then costs less. What is freed is joined with its
/// neighbours at once: else whoever next asks for a large piece does that for all of it, and a key waits.
pub fn share() {
    #[cfg(target_env = "gnu")]
    for (number, value) in [(libc::M_ARENA_MAX, 1), (libc::M_MXFAST, 0)] {
        // SAFETY: it sets a number of the allocator's, which has a lock of its own. Where it fails, all
        // is as before.
        unsafe { libc::mallopt(number, value) };
    }
}
