//! Choices of the user that replace the choices of a pair of hosts.

use crate::model::{Device, Port, WantedGid};

/// Values to use instead of the choices of the hosts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// Name of the device on both hosts.
    pub device: Option<String>,
    /// Port number of the device.
    pub port: Option<u32>,
    /// Index of the GID.
    pub gid_index: WantedGid,
    /// P_Key of the partition. Its upper bit (membership) is ignored.
    pub pkey: Option<u16>,
    /// Path MTU in bytes, even one that a port does not support.
    pub mtu: Option<u32>,
    /// Service level.
    pub service_level: u8,
    /// Traffic class.
    pub traffic_class: u8,
    /// True if only the best rail of each pair is tested.
    pub first_rail: bool,
    /// Numbers of the only rails that are tested; empty for all.
    pub rails: Vec<usize>,
}

impl Overrides {
    /// True if a port has the requested device name and port number.
    pub(super) fn has_port(&self, device: &Device, port: &Port) -> bool {
        self.device.as_ref().is_none_or(|name| *name == device.name)
            && self.port.is_none_or(|number| number == port.number)
    }
}
