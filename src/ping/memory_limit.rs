//! Tells whether the kernel limits the memory that this process may lock.

use std::fs;

use rustix::process::{Resource, getrlimit};

/// Bit of `CAP_IPC_LOCK` (include/uapi/linux/capability.h).
const IPC_LOCK: u32 = 14;

/// The map of user ids outside of a user namespace. In one, a capability lifts no limit of the
/// host.
const WHOLE_MAP: [&str; 3] = ["0", "0", "4294967295"];

/// Returns true if a limit applies: it is finite, and the process lacks `CAP_IPC_LOCK`
/// (`ib_umem_get`, drivers/infiniband/core/umem.c). What cannot be read counts as limited.
pub(super) fn applies() -> bool {
    getrlimit(Resource::Memlock).current.is_some()
        && !fs::read_to_string("/proc/self/status")
            .is_ok_and(|status| has_capability(&status) && !is_in_namespace())
}

fn has_capability(status: &str) -> bool {
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .is_some_and(|set| set & (1 << IPC_LOCK) != 0)
}

fn is_in_namespace() -> bool {
    fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !map.split_whitespace().eq(WHOLE_MAP))
}

#[test]
fn the_capability_is_bit_14() {
    assert!(has_capability("Name:\tx\nCapEff:\t000001ffffffffff\n"));
    assert!(has_capability("CapEff:\t0000000000004000\n"));
    assert!(!has_capability("CapEff:\t0000000000003fff\n"));
    assert!(!has_capability("CapPrm:\t0000000000004000\n"));
}
