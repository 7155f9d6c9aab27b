//! Attributes of a device, as libibverbs reports them.

use std::ffi::{c_char, c_int};

use crate::sys::ffi;

/// All attributes of a device, in the structures of `infiniband/verbs.h`. The structures hold no
/// pointers, so that they outlive the device.
#[derive(Debug, Clone)]
pub struct DeviceAttr {
    /// Attributes that every library and driver reports. With some drivers, `max_mr` and other
    /// limits overflow and can be negative.
    pub basic: ffi::ibv_device_attr,
    /// Attributes of the extended query; `None` if the library or the driver does not support
    /// this query. Fields that the driver does not support are 0.
    pub extended: Option<ffi::ibv_device_attr_ex>,
    /// Number of completion vectors: interrupts that completion queues can use.
    pub num_comp_vectors: c_int,
    /// Capabilities of completion counters; `None` if the library (before v65) or the driver does
    /// not support completion counters.
    pub completion_counters: Option<CompletionCounters>,
}

/// Capabilities of completion counters (`ibv_comp_cntr_caps`). A completion counter counts the
/// completions of a queue pair without a completion queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletionCounters {
    /// Maximum value of a counter.
    pub max_value: u64,
    /// Maximum number of counters.
    pub max_counters: u32,
    /// Operations of a queue pair that a counter can count, as a mask.
    pub supported_qp_attach_ops: u32,
}

impl DeviceAttr {
    /// Returns the firmware version in the driver's format.
    pub fn firmware(&self) -> String {
        text(&self.basic.fw_ver)
    }

    /// Returns the number of ports. A library before v33 reports at most 255 ports.
    pub fn port_count(&self) -> u32 {
        let wide = self.extended.as_ref().map_or(0, |attr| attr.phys_port_cnt_ex);
        if wide == 0 { u32::from(self.basic.phys_port_cnt) } else { wide }
    }
}

/// Converts the C string in a field. The string ends at a zero byte, or at the end of the field.
pub(super) fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> =
        field.iter().take_while(|byte| **byte != 0).map(|byte| byte.to_ne_bytes()[0]).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
