//! Builds requests of subnet management, by LID or along a directed route (specification 14.2.1).

use super::{Class, Header, MAD_BYTES, MadAttribute, Method};

/// Maximum number of hops of a directed route.
pub const LONGEST_PATH: usize = 63;

/// Offset of the attribute in a subnet management MAD.
const DATA: usize = 64;
/// Offset of the outgoing ports in a directed route. Entry 0 is not used.
const INITIAL_PATH: usize = 128;

/// Outgoing ports of a directed route, starting at the local port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct DirectedPath(Vec<u8>);

/// Error for a directed route that does not fit into a MAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a directed route has at most {LONGEST_PATH} hops")]
pub struct PathError;

impl DirectedPath {
    /// Returns the route to the local node.
    pub fn own() -> Self {
        Self::default()
    }

    /// Returns the route that continues through this port of the last node.
    ///
    /// # Errors
    /// The route already has [`LONGEST_PATH`] hops.
    pub fn through(&self, port: u8) -> Result<Self, PathError> {
        if self.0.len() == LONGEST_PATH {
            return Err(PathError);
        }
        Ok(Self([self.0.as_slice(), &[port]].concat()))
    }

    /// Returns the ports, the local port first.
    pub fn ports(&self) -> &[u8] {
        &self.0
    }
}

/// Formats `0,1,23`, the argument of `-D` in infiniband-diags.
impl std::fmt::Display for DirectedPath {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("0")?;
        self.0.iter().try_for_each(|port| write!(out, ",{port}"))
    }
}

/// Returns the request for an attribute by LID.
pub fn smp<A: MadAttribute>(modifier: u32) -> [u8; MAD_BYTES] {
    smp_by_id(A::ID, modifier)
}

/// Returns the request for an attribute without a codec by LID.
pub fn smp_by_id(attribute: u16, modifier: u32) -> [u8; MAD_BYTES] {
    Header::request(Class::SUBNET_LID, Method::GET, attribute, modifier).to_mad()
}

/// Returns the request for an attribute along a directed route.
pub fn directed_smp<A: MadAttribute>(path: &DirectedPath, modifier: u32) -> [u8; MAD_BYTES] {
    directed_smp_by_id(path, A::ID, modifier)
}

/// Returns the request for an attribute without a codec along a directed route.
pub fn directed_smp_by_id(path: &DirectedPath, attribute: u16, modifier: u32) -> [u8; MAD_BYTES] {
    // The hop pointer starts at 0, in the upper byte.
    let hops = u16::try_from(path.0.len()).unwrap_or(0);
    let header = Header::request(Class::SUBNET_DIRECTED, Method::GET, attribute, modifier);
    let mut mad = Header { class_specific: hops, ..header }.to_mad();
    // Both LIDs are the permissive LID: the list of ports alone routes the packet.
    mad[32..36].fill(0xff);
    let first = INITIAL_PATH + 1;
    mad[first..first + path.0.len()].copy_from_slice(&path.0);
    mad
}

/// Returns the bytes of the attribute in a subnet management MAD; `None` if the MAD is too short.
pub fn smp_data(mad: &[u8]) -> Option<&[u8]> {
    mad.get(DATA..DATA + 64)
}

/// Decodes the attribute of a subnet management MAD; `None` if the MAD is too short.
pub fn smp_attribute<A: MadAttribute>(mad: &[u8]) -> Option<A> {
    A::decode(smp_data(mad)?).ok()
}

#[cfg(test)]
mod tests {
    use super::super::NodeInfo;
    use super::*;

    #[test]
    fn a_directed_request_lists_its_ports() {
        let path = DirectedPath::own().through(1).unwrap().through(23).unwrap();
        assert_eq!(path.to_string(), "0,1,23");
        let mad = directed_smp::<NodeInfo>(&path, 0);
        let header = Header::decode(&mad).unwrap();
        assert_eq!((header.class, header.attribute), (Class::SUBNET_DIRECTED, 0x11));
        assert_eq!(header.class_specific, 2, "hop pointer 0, hop count 2");
        assert_eq!(mad[32..36], [0xff; 4]);
        assert_eq!(mad[128..132], [0, 1, 23, 0]);
        assert_eq!(smp_data(&mad).map(<[u8]>::len), Some(64));
        assert_eq!(smp_data(&mad[..127]), None);
    }

    #[test]
    fn a_route_has_an_end() {
        let mut path = DirectedPath::own();
        for _ in 0..LONGEST_PATH {
            path = path.through(1).unwrap();
        }
        assert_eq!(path.through(1), Err(PathError));
        let mad = directed_smp::<NodeInfo>(&path, 0);
        assert_eq!(mad[128 + LONGEST_PATH], 1);
        assert_eq!(Header::decode(&mad).unwrap().class_specific, 63);
    }

    #[test]
    fn a_request_by_lid_has_a_modifier() {
        let header = Header::decode(&smp::<NodeInfo>(7)).unwrap();
        assert_eq!((header.class, header.modifier), (Class::SUBNET_LID, 7));
    }
}
