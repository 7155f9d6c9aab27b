//! Reads the attributes and tables of ports.
#![expect(unsafe_code, reason = "calls libibverbs")]

use serde::{Deserialize, Serialize};

use super::device::Device;
use super::error::{VerbsError, VerbsOperation};
use super::inline;
use crate::sys::errno::Errno;
use crate::sys::ffi;
use crate::sys::plain::Plain;

/// Attributes of a port.
#[derive(Debug, Clone)]
pub struct PortAttr {
    /// Structure of `infiniband/verbs.h`, which has no pointers.
    pub attr: ffi::ibv_port_attr,
    /// Rate of the link, in units of 100 Mb/s; `None` before v62 or without driver support.
    pub speed_100mbps: Option<u64>,
}

impl PortAttr {
    /// True if the port can transfer data.
    pub fn is_active(&self) -> bool {
        self.attr.state == ffi::IBV_PORT_ACTIVE
    }

    /// True if the link is Ethernet. Every address then needs a GID.
    pub fn is_ethernet(&self) -> bool {
        u32::from(self.attr.link_layer) == ffi::IBV_LINK_LAYER_ETHERNET
    }

    /// True if the port accepts only packets with a global route header.
    pub fn needs_grh(&self) -> bool {
        u32::from(self.attr.flags) & ffi::IB_UVERBS_QPF_GRH_REQUIRED != 0
    }

    /// Returns the MTU in use; `None` for a code that is not in the specification.
    pub fn active_mtu(&self) -> Option<Mtu> {
        Mtu::from_code(self.attr.active_mtu)
    }
}

/// A path MTU, in bytes of payload per packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u32)]
pub enum Mtu {
    /// 256 bytes.
    B256 = ffi::IBV_MTU_256,
    /// 512 bytes.
    B512 = ffi::IBV_MTU_512,
    /// 1024 bytes.
    B1024 = ffi::IBV_MTU_1024,
    /// 2048 bytes.
    B2048 = ffi::IBV_MTU_2048,
    /// 4096 bytes.
    B4096 = ffi::IBV_MTU_4096,
}

impl Mtu {
    const ALL: [Self; 5] = [Self::B256, Self::B512, Self::B1024, Self::B2048, Self::B4096];

    /// Returns the MTU of a code of the specification; `None` for another code.
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|mtu| mtu.code() == code)
    }

    /// Returns the MTU of this number of bytes; `None` if no MTU has it.
    pub fn from_bytes(bytes: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|mtu| mtu.bytes() == bytes)
    }

    /// Returns the bytes of payload per packet.
    pub fn bytes(self) -> u32 {
        256 << (self.code() - ffi::IBV_MTU_256)
    }

    pub(super) fn code(self) -> ffi::ibv_mtu {
        self as ffi::ibv_mtu
    }
}

impl Device {
    /// Queries the attributes of a port. Ports start at 1.
    pub fn port(&self, port: u8) -> Result<PortAttr, VerbsError> {
        // SAFETY: the context is open.
        let attr = unsafe { inline::query_port(self.calls(), self.context(), port) }
            .map_err(|errno| self.port_error(VerbsOperation::QueryPort, port, errno))?;
        Ok(PortAttr { attr, speed_100mbps: self.port_speed(port) })
    }

    fn port_speed(&self, port: u8) -> Option<u64> {
        let query = self.calls().ibv_query_port_speed?;
        let mut speed = 0;
        // SAFETY: the context is open, and the call fills in the last argument.
        let answer = unsafe { query(self.context(), u32::from(port), &raw mut speed) };
        // The rate is optional: a failure of this query must not hide the port.
        (answer == 0).then_some(speed)
    }

    /// Reads one GID of a port; all bytes are zero if the entry is empty.
    pub fn gid(&self, port: u8, index: u16) -> Result<[u8; 16], VerbsError> {
        let mut gid = ffi::ibv_gid::zeroed();
        let query = self.calls().ibv_query_gid;
        // SAFETY: the context is open, and the call fills in the last argument.
        let answer = unsafe { query(self.context(), port, i32::from(index), &raw mut gid) };
        Errno::check(answer)
            .map_err(|errno| self.port_error(VerbsOperation::QueryGid, port, errno))?;
        // SAFETY: both members of the union are 16 bytes of plain numbers.
        Ok(unsafe { gid.raw })
    }

    /// Reads one `P_Key` of a port, in host byte order; bit 15 means full membership.
    pub fn pkey(&self, port: u8, index: u16) -> Result<u16, VerbsError> {
        let mut pkey = 0;
        let query = self.calls().ibv_query_pkey;
        // SAFETY: the context is open, and the call fills in the last argument.
        let answer = unsafe { query(self.context(), port, i32::from(index), &raw mut pkey) };
        Errno::check(answer)
            .map_err(|errno| self.port_error(VerbsOperation::QueryPkey, port, errno))?;
        Ok(u16::from_be(pkey))
    }

    pub(super) fn port_error(
        &self,
        operation: VerbsOperation,
        port: u8,
        errno: Errno,
    ) -> VerbsError {
        VerbsError::call(operation, format_args!("{}/{port}", self.name()), errno)
    }
}

#[test]
fn an_mtu_has_a_code_and_bytes() {
    for (mtu, code, bytes) in [
        (Mtu::B256, 1, 256),
        (Mtu::B512, 2, 512),
        (Mtu::B1024, 3, 1024),
        (Mtu::B2048, 4, 2048),
        (Mtu::B4096, 5, 4096),
    ] {
        assert_eq!((Mtu::from_code(code), mtu.bytes()), (Some(mtu), bytes));
        assert_eq!(Mtu::from_bytes(bytes), Some(mtu));
        assert_eq!(mtu.code(), code);
    }
    assert_eq!(Mtu::from_code(0), None);
}
