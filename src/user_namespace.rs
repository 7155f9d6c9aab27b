//! Finds out if this process is in a user namespace, as in a rootless container.

use std::fs;

/// Words of `/proc/self/uid_map` outside of user namespaces (`user_namespaces(7)`).
const WHOLE_MAP: [&str; 3] = ["0", "0", "4294967295"];

/// Returns true in a user namespace other than that of the host. Without `/proc`, returns false.
pub(crate) fn is_current() -> bool {
    fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !map.split_whitespace().eq(WHOLE_MAP))
}
