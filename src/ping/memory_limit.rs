//! Finds out if the kernel limits the memory that this process may lock. `error` uses this module
//! to explain a failed verbs call.

use std::fs;

use rustix::process::{Resource, getrlimit};

use crate::source::has_capability;

/// Bit of `CAP_IPC_LOCK` (include/uapi/linux/capability.h).
const IPC_LOCK: u32 = 14;

/// Words of `/proc/self/uid_map` outside of user namespaces. `CAP_IPC_LOCK` in a user namespace
/// does not lift the limit.
const WHOLE_MAP: [&str; 3] = ["0", "0", "4294967295"];

/// Returns true if a limit applies: the limit is finite, and the process lacks `CAP_IPC_LOCK`
/// (`ib_umem_get`, drivers/infiniband/core/umem.c). Without a readable `/proc/self/status`, a
/// finite limit applies.
pub(super) fn applies() -> bool {
    let is_finite = getrlimit(Resource::Memlock).current.is_some();
    let is_exempt = || {
        fs::read_to_string("/proc/self/status").is_ok_and(|status| may_lock_all(&status))
            && !is_in_namespace()
    };
    is_finite && !is_exempt()
}

fn may_lock_all(status: &str) -> bool {
    has_capability(status, IPC_LOCK) == Some(true)
}

fn is_in_namespace() -> bool {
    fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !map.split_whitespace().eq(WHOLE_MAP))
}

#[test]
fn the_capability_is_bit_14() {
    assert!(may_lock_all("Name:\tx\nCapEff:\t000001ffffffffff\n"));
    assert!(may_lock_all("CapEff:\t0000000000004000\n"));
    assert!(!may_lock_all("CapEff:\t0000000000003fff\n"));
    assert!(!may_lock_all("CapPrm:\t0000000000004000\n"));
}
