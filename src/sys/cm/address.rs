//! Converts socket addresses to C structures for librdmacm. `cm` uses it.

use std::net::SocketAddr;

use rustix::net::AddressFamily;

/// Socket address as a C structure. librdmacm gets a pointer to it.
pub(super) enum CAddress {
    V4(libc::sockaddr_in),
    V6(libc::sockaddr_in6),
}

impl From<SocketAddr> for CAddress {
    fn from(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => Self::V4(libc::sockaddr_in {
                sin_family: AddressFamily::INET.as_raw(),
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(v6) => Self::V6(libc::sockaddr_in6 {
                sin6_family: AddressFamily::INET6.as_raw(),
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            }),
        }
    }
}

impl CAddress {
    /// Returns a pointer to the address. The pointer is valid while `self` exists and does not
    /// move. librdmacm finds the type of the structure by its family field.
    pub(super) fn as_mut_ptr(&mut self) -> *mut libc::sockaddr {
        match self {
            Self::V4(v4) => (&raw mut *v4).cast(),
            Self::V6(v6) => (&raw mut *v6).cast(),
        }
    }
}
