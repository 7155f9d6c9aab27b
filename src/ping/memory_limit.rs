//! Finds out if the kernel limits the memory that this process may lock. `error` uses this module
//! to explain a failed verbs call.

use std::fs;

use rustix::process::{Resource, getrlimit};

use crate::source::has_capability;
use crate::user_namespace;

/// Bit of `CAP_IPC_LOCK` (include/uapi/linux/capability.h).
const IPC_LOCK: u32 = 14;

/// Returns true if a limit applies: the limit is finite, and the process lacks `CAP_IPC_LOCK`
/// (`ib_umem_get`, drivers/infiniband/core/umem.c). Without a readable `/proc/self/status`, a
/// finite limit applies.
pub(super) fn applies() -> bool {
    let is_finite = getrlimit(Resource::Memlock).current.is_some();
    // `CAP_IPC_LOCK` in a user namespace does not lift the limit.
    let is_exempt = || {
        fs::read_to_string("/proc/self/status").is_ok_and(|status| may_lock_all(&status))
            && !user_namespace::is_current()
    };
    is_finite && !is_exempt()
}

fn may_lock_all(status: &str) -> bool {
    has_capability(status, IPC_LOCK) == Some(true)
}

#[test]
fn the_capability_is_bit_14() {
    assert!(may_lock_all("Name:\tx\nCapEff:\t000001ffffffffff\n"));
    assert!(may_lock_all("CapEff:\t0000000000004000\n"));
    assert!(!may_lock_all("CapEff:\t0000000000003fff\n"));
    assert!(!may_lock_all("CapPrm:\t0000000000004000\n"));
}
