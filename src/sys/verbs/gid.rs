//! Copies entries of a GID table from the structs of libibverbs. `sys::verbs` uses it.
#![expect(unsafe_code, reason = "a GID is a C union")]

use serde::{Deserialize, Serialize};

use crate::sys::ffi;

/// Used entry of a port's GID table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GidEntry {
    /// Port, from 1.
    pub port: u32,
    /// Index in the table.
    pub index: u32,
    /// GID, in network byte order.
    pub gid: [u8; 16],
    /// Protocol of packets with this GID.
    pub kind: GidKind,
    /// Interface index of the network device; `None` on InfiniBand and iWARP.
    pub ndev_ifindex: Option<u32>,
}

/// Protocol of packets with a GID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GidKind {
    /// InfiniBand, and also iWARP, which has no GID type.
    InfiniBand,
    /// `RoCE` version 1: Ethertype 0x8915, not routable.
    RoceV1,
    /// `RoCE` version 2: UDP port 4791.
    RoceV2,
    /// Any other GID type, with its number.
    Other(u32),
}

impl GidEntry {
    pub(super) fn copy(entry: &ffi::ibv_gid_entry) -> Self {
        Self {
            port: entry.port_num,
            index: entry.gid_index,
            gid: bytes(entry.gid),
            kind: match entry.gid_type {
                ffi::IBV_GID_TYPE_IB => GidKind::InfiniBand,
                ffi::IBV_GID_TYPE_ROCE_V1 => GidKind::RoceV1,
                ffi::IBV_GID_TYPE_ROCE_V2 => GidKind::RoceV2,
                other => GidKind::Other(other),
            },
            ndev_ifindex: (entry.ndev_ifindex != 0).then_some(entry.ndev_ifindex),
        }
    }
}

/// Returns the bytes of a GID.
pub(super) fn bytes(gid: ffi::ibv_gid) -> [u8; 16] {
    // SAFETY: both members of the union are 16 bytes of plain numbers.
    unsafe { gid.raw }
}
