//! Declares records of subnet administration (specification 15.2.5) and the header of their
//! tables, and builds the request for a table. `table` decodes the reply.

use super::MAD_BYTES;
use super::attribute::{MadAttribute, Short, attributes, whole};
use super::header::{Class, Header, Method};
use super::subnet::{NodeDescription, NodeInfo, PortInfo};

attributes! {
    /// A link, from one end (15.2.5.14).
    LinkRecord("LinkRecord", 0x20, 6 bytes) {
        /// LID of the near port; for a switch the LID of its port 0.
        from_lid: u16 = 0, 0 / 16;
        /// Number of the near port.
        from_port: u8 = 2, 0 / 8;
        /// Number of the far port.
        to_port: u8 = 3, 0 / 8;
        /// LID of the far port.
        to_lid: u16 = 4, 0 / 16;
    }

    /// Part of a reply between the common header and the records (15.2.1.1).
    SaHeader("SA header", 0, 32 bytes) {
        /// Version of RMPP: 1, or 0 for a reply of one segment.
        rmpp_version: u8 = 0, 0 / 8;
        /// Type of the segment: 1 data, 2 acknowledgement, 3 stop, 4 abort.
        rmpp_type: u8 = 1, 0 / 8;
        /// Flags of the segment: 1 active, 2 first, 4 last.
        rmpp_flags: u8 = 2, 5 / 3;
        /// Status of RMPP; 0 is normal.
        rmpp_status: u8 = 3, 0 / 8;
        /// Payload in bytes: of all segments in the first one, of one segment in the last one.
        payload_bytes: u32 = 8, 0 / 32;
        /// Distance of two records, in units of 8 bytes; 0 for a single record.
        record_words: u16 = 20, 0 / 16;
    }
}

/// A node (15.2.5.2).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct NodeRecord {
    /// First LID of the port, or of port 0 of a switch.
    pub lid: u16,
    /// Node attributes, as seen from this port.
    pub info: NodeInfo,
    /// Name of the node.
    pub description: NodeDescription,
}

impl MadAttribute for NodeRecord {
    const NAME: &'static str = "NodeRecord";
    const ID: u16 = 0x11;
    const BYTES: usize = 4 + NodeInfo::BYTES + NodeDescription::BYTES;

    fn decode(bytes: &[u8]) -> Result<Self, Short> {
        let bytes = whole::<Self>(bytes)?;
        Ok(Self {
            lid: u16::from_be_bytes([bytes[0], bytes[1]]),
            info: NodeInfo::decode(&bytes[4..])?,
            description: NodeDescription::decode(&bytes[4 + NodeInfo::BYTES..])?,
        })
    }

    fn encode(&self, bytes: &mut [u8]) -> Result<(), Short> {
        whole::<Self>(bytes)?;
        bytes[..2].copy_from_slice(&self.lid.to_be_bytes());
        self.info.encode(&mut bytes[4..])?;
        self.description.encode(&mut bytes[4 + NodeInfo::BYTES..])
    }
}

/// A port (15.2.5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PortInfoRecord {
    /// First LID of the port, or of port 0 of a switch.
    pub lid: u16,
    /// Number of the port.
    pub port: u8,
    /// Port attributes.
    pub info: PortInfo,
}

impl MadAttribute for PortInfoRecord {
    const NAME: &'static str = "PortInfoRecord";
    const ID: u16 = 0x12;
    const BYTES: usize = 4 + PortInfo::BYTES;

    fn decode(bytes: &[u8]) -> Result<Self, Short> {
        let bytes = whole::<Self>(bytes)?;
        let lid = u16::from_be_bytes([bytes[0], bytes[1]]);
        Ok(Self { lid, port: bytes[2], info: PortInfo::decode(&bytes[4..])? })
    }

    fn encode(&self, bytes: &mut [u8]) -> Result<(), Short> {
        whole::<Self>(bytes)?;
        bytes[..2].copy_from_slice(&self.lid.to_be_bytes());
        bytes[2] = self.port;
        self.info.encode(&mut bytes[4..])
    }
}

/// Returns the request for all records of an attribute.
pub fn table_request<A: MadAttribute>() -> [u8; MAD_BYTES] {
    Header::request(Class::SUBNET_ADMINISTRATION, Method::GET_TABLE, A::ID, 0).to_mad()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_node_record_with_text_is_read_back(
            lid: u16,
            bytes in proptest::collection::vec(any::<u8>(), 40),
            name in "[ -~]{0,64}",
        ) {
            let info = NodeInfo::decode(&bytes).unwrap();
            let record = NodeRecord { lid, info, description: NodeDescription(name) };
            let mut written = [0xff; NodeRecord::BYTES];
            record.encode(&mut written).unwrap();
            prop_assert_eq!(NodeRecord::decode(&written).unwrap(), record);
        }
    }

    #[test]
    fn a_request_names_the_record_and_the_class() {
        let mad = table_request::<LinkRecord>();
        let header = Header::decode(&mad).unwrap();
        assert_eq!((header.class, header.class_version), (Class::SUBNET_ADMINISTRATION, 2));
        assert_eq!((header.method, header.attribute), (Method::GET_TABLE, 0x20));
        assert_eq!(mad[24..], [0; 232], "no RMPP, no key and no condition");
    }
}
