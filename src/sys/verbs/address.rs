//! Describes the destination of packets: address vectors, and address handles for datagrams.
#![expect(unsafe_code, reason = "calls libibverbs")]

use std::ptr::NonNull;

use super::domain::Domain;
use super::error::{VerbsError, VerbsOperation};
use crate::sys::errno::Errno;
use crate::sys::ffi;
use crate::sys::plain::Plain;

/// Path from a local port to a remote port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// Local port, from 1.
    pub port: u8,
    /// Service level; on `RoCE` its low three bits become the priority of the VLAN tag.
    pub service_level: u8,
    /// Address of the remote port.
    pub target: RemoteAddress,
}

/// Address of a remote port, by the kind of network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteAddress {
    /// InfiniBand within the subnet.
    Lid(LocalRoute),
    /// InfiniBand through a router, or with a port that requires a GRH.
    LidWithGrh(LocalRoute, Grh),
    /// `RoCE`: no LID, and a GRH in every packet.
    Grh(Grh),
}

/// InfiniBand addresses of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalRoute {
    /// LID of the remote port or of the router.
    pub lid: u16,
    /// Low bits of the local LID, for a port with several LIDs.
    pub source_path_bits: u8,
}

/// Global route header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grh {
    /// GID of the remote port, in network byte order.
    pub remote: [u8; 16],
    /// Index of the local GID; the type of this GID selects the version of `RoCE`.
    pub local_index: u8,
    /// Maximum number of hops. With 1, no router forwards the datagram.
    pub hop_limit: u8,
    /// Traffic class; on `RoCE` version 2 its upper six bits are the DSCP.
    pub traffic_class: u8,
    /// Flow label; `RoCE` version 2 computes the UDP source port from it.
    pub flow_label: u32,
}

impl Path {
    pub(super) fn attr(&self) -> ffi::ibv_ah_attr {
        let mut attr = ffi::ibv_ah_attr::zeroed();
        attr.port_num = self.port;
        attr.sl = self.service_level;
        let (local, global) = match self.target {
            RemoteAddress::Lid(local) => (Some(local), None),
            RemoteAddress::LidWithGrh(local, grh) => (Some(local), Some(grh)),
            RemoteAddress::Grh(grh) => (None, Some(grh)),
        };
        if let Some(local) = local {
            attr.dlid = local.lid;
            attr.src_path_bits = local.source_path_bits;
        }
        if let Some(grh) = global {
            attr.is_global = 1;
            attr.grh = ffi::ibv_global_route {
                dgid: ffi::ibv_gid { raw: grh.remote },
                flow_label: grh.flow_label & 0xf_ffff,
                sgid_index: grh.local_index,
                hop_limit: grh.hop_limit,
                traffic_class: grh.traffic_class,
            };
        }
        attr
    }
}

/// Address of a remote port for datagrams.
///
/// Keep it until all datagrams to the address have completed. Otherwise they can be lost.
#[derive(Debug)]
pub struct AddressHandle {
    raw: NonNull<ffi::ibv_ah>,
    domain: Domain,
}

// SAFETY: libibverbs allows calls on one address handle from any thread.
unsafe impl Send for AddressHandle {}
// SAFETY: as above.
unsafe impl Sync for AddressHandle {}

impl AddressHandle {
    /// Makes an address handle.
    ///
    /// On `RoCE` the kernel resolves the neighbor in this call. If the neighbor does not respond,
    /// the call fails with ETIMEDOUT after about one second.
    pub fn new(domain: &Domain, path: &Path) -> Result<Self, VerbsError> {
        let device = domain.device();
        let mut attr = path.attr();
        // SAFETY: the domain is alive, and the attributes are complete.
        let raw = unsafe { (device.calls().ibv_create_ah)(domain.raw(), &raw mut attr) };
        let raw = NonNull::new(raw).ok_or_else(|| {
            device.port_error(VerbsOperation::CreateAddress, path.port, Errno::last())
        })?;
        Ok(Self { raw, domain: domain.clone() })
    }

    #[inline]
    pub(super) fn raw(&self) -> *mut ffi::ibv_ah {
        self.raw.as_ptr()
    }

    #[inline]
    pub(super) fn domain(&self) -> &Domain {
        &self.domain
    }
}

impl Drop for AddressHandle {
    fn drop(&mut self) {
        // SAFETY: this value made the handle, and destroys it once.
        let _ = unsafe { (self.domain.device().calls().ibv_destroy_ah)(self.raw.as_ptr()) };
    }
}

#[test]
fn a_lid_alone_is_not_global() {
    let target = RemoteAddress::Lid(LocalRoute { lid: 7, source_path_bits: 1 });
    let attr = Path { port: 1, service_level: 3, target }.attr();
    assert_eq!((attr.is_global, attr.dlid, attr.sl, attr.src_path_bits), (0, 7, 3, 1));
}

#[test]
fn roce_is_global_and_has_no_lid() {
    let grh = Grh {
        remote: [9; 16],
        local_index: 1,
        hop_limit: 64,
        traffic_class: 104,
        flow_label: 0xfff_ffff,
    };
    let attr = Path { port: 1, service_level: 0, target: RemoteAddress::Grh(grh) }.attr();
    assert_eq!((attr.is_global, attr.dlid, attr.grh.flow_label), (1, 0, 0xf_ffff));
    // SAFETY: both members of the union are 16 bytes of plain numbers.
    assert_eq!(unsafe { attr.grh.dgid.raw }, [9; 16]);
}
