//! Attributes of a device, as libibverbs reports them.

use std::ffi::{c_char, c_int};

use crate::sys::ffi;

/// All attributes of a device: the structures of `infiniband/verbs.h`, which have no pointers.
#[derive(Debug, Clone)]
pub struct DeviceAttr {
    /// Attributes of every library and driver. Some drivers overflow `max_mr` and other limits.
    pub basic: ffi::ibv_device_attr,
    /// Attributes of the extended query; `None` if the library or the driver does not support
    /// this query. A field that the driver does not support is zero.
    pub extended: Option<ffi::ibv_device_attr_ex>,
    /// Number of interrupt vectors for completions.
    pub num_comp_vectors: c_int,
    /// Completion counters; `None` with a library before v65 or a driver without them.
    pub completion_counters: Option<CompletionCounters>,
}

/// Capabilities of completion counters (`ibv_comp_cntr_caps`), which need no completion queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletionCounters {
    /// Maximum value of a counter.
    pub max_value: u64,
    /// Maximum number of counters.
    pub max_counters: u32,
    /// Operations that a counter can count, as a mask.
    pub supported_qp_attach_ops: u32,
}

impl DeviceAttr {
    /// Returns the firmware version in the driver's format.
    pub fn firmware(&self) -> String {
        text(&self.basic.fw_ver)
    }

    /// Returns the number of ports; more than 255 only with a library from v33.
    pub fn port_count(&self) -> u32 {
        let wide = self.extended.as_ref().map_or(0, |attr| attr.phys_port_cnt_ex);
        if wide == 0 { u32::from(self.basic.phys_port_cnt) } else { wide }
    }
}

/// Converts a C string, which ends at a zero byte or at the end of its field.
pub(super) fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> =
        field.iter().take_while(|byte| **byte != 0).map(|byte| byte.to_ne_bytes()[0]).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
