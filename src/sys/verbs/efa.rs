//! Makes queue pairs for the reliable datagrams of EFA (SRD), which only libefa can make.
#![expect(unsafe_code, reason = "calls libefa")]

use std::ptr::NonNull;

use super::domain::Domain;
use crate::sys::dl;
use crate::sys::errno::Errno;
use crate::sys::ffi::{ibv_pd, ibv_qp, ibv_qp_init_attr};

/// `EFADV_QP_DRIVER_TYPE_SRD` of `infiniband/efadv.h`.
const SRD: u32 = 0;

dl::functions! {
    /// Functions of libefa that this program calls.
    pub(in crate::sys) struct Calls of c"libefa.so.1" or "RDMACTL_LIBEFA";
    required {
        fn efadv_create_driver_qp(*mut ibv_pd, *mut ibv_qp_init_attr, u32) -> *mut ibv_qp;
    }
    optional {}
}

impl Calls {
    /// Makes a queue pair of reliable datagrams. Fails with EOPNOTSUPP if the adapter is no EFA.
    pub(super) fn create(
        &self,
        domain: &Domain,
        init: &mut ibv_qp_init_attr,
    ) -> Result<NonNull<ibv_qp>, Errno> {
        if !domain.device().may_be_efa() {
            return Err(Errno::NOT_SUPPORTED);
        }
        let create = self.efadv_create_driver_qp;
        // SAFETY: the domain is alive, and its device has no standard transport. libefa checks
        // that the device has its own driver. The attributes are complete.
        let raw = unsafe { create(domain.raw(), init, SRD) };
        NonNull::new(raw).ok_or_else(Errno::last)
    }
}
