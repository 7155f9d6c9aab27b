//! Reads the capabilities of a process from its file `status`. `collect` and `ping` use it.

/// Returns true if the effective set of a `/proc/PID/status` has a capability; `None` if the text
/// has no such set. `bit` is the capability's number in include/uapi/linux/capability.h.
pub fn has_capability(status: &str, bit: u32) -> Option<bool> {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(set.trim(), 16).ok().map(|set| set >> bit & 1 != 0)
}
