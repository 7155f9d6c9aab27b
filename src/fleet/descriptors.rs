//! Room for many connections: each host takes up to eight descriptors.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises this process's limit of open descriptors to what the system allows it, and tells how
/// many that are; `None` when there is no limit.
#[expect(clippy::must_use_candidate, reason = "most callers only want the effect")]
pub fn allow_descriptors() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => maximum,
        Err(_) => current,
    }
}
