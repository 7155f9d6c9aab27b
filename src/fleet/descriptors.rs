//! Limit of open descriptors, for many connections. Each host takes up to eight descriptors.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of open descriptors of this process to the hard limit. Returns the
/// resulting limit; `None` means no limit.
#[expect(clippy::must_use_candidate, reason = "most callers only want the effect")]
pub fn allow_descriptors() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => maximum,
        Err(_) => current,
    }
}
