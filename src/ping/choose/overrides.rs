use crate::model::WantedGid;

/// What is used whatever two hosts would choose for each other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// The device, by its name on either host.
    pub device: Option<String>,
    /// The port of the device.
    pub port: Option<u32>,
    /// The index of the GID.
    pub gid_index: WantedGid,
    /// The partition: its key, of which the upper bit (membership) does not count.
    pub pkey: Option<u16>,
    /// Path MTU in bytes, even one that a port does not have.
    pub mtu: Option<u32>,
    /// Service level.
    pub service_level: u8,
    /// Traffic class.
    pub traffic_class: u8,
    /// Only the best rail of each pair.
    pub first_rail: bool,
    /// Numbers of the only rails that are tested; empty for all.
    pub rails: Vec<usize>,
}
