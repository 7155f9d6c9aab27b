//! Capabilities of a process, by its file `status`.

/// Returns whether the effective set of a `/proc/PID/status` has a capability; `bit` is its number
/// in include/uapi/linux/capability.h. `None` if the text has no such set.
#[must_use]
pub fn has_capability(status: &str, bit: u32) -> Option<bool> {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(set.trim(), 16).ok().map(|set| set >> bit & 1 != 0)
}
