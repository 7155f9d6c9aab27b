//! Records of subnet administration (specification 15.2.4 and 15.2.5): a table of records in one
//! answer, which the kernel puts together from its segments (RMPP).

use super::MAD_BYTES;
use super::attribute::{Attribute, Short, attributes};
use super::header::{Class, Header, Method};
use super::subnet::{NodeDescription, NodeInfo, PortInfo};

attributes! {
    /// A link, from one end (15.2.5.14).
    LinkRecord("LinkRecord", 0x20, 6 bytes) {
        /// LID of the near port; of a switch the LID of its port 0.
        from_lid: u16 = 0, 0 / 16;
        /// Number of the near port.
        from_port: u8 = 2, 0 / 8;
        /// Number of the far port.
        to_port: u8 = 3, 0 / 8;
        /// LID of the far port.
        to_lid: u16 = 4, 0 / 16;
    }

    /// The part of an answer between the common header and the records (15.2.1.1).
    SaHeader("SA header", 0, 32 bytes) {
        /// Version of RMPP: 1, or 0 for an answer of one segment.
        rmpp_version: u8 = 0, 0 / 8;
        /// Type of the segment: 1 data, 2 acknowledgement, 3 stop, 4 abort.
        rmpp_type: u8 = 1, 0 / 8;
        /// Flags of the segment: 1 active, 2 first, 4 last.
        rmpp_flags: u8 = 2, 5 / 3;
        /// Status of RMPP; 0 is normal.
        rmpp_status: u8 = 3, 0 / 8;
        /// Number of the segment.
        segment: u32 = 4, 0 / 32;
        /// Bytes of all segments, in the first one; of its own, in the last one.
        payload_bytes: u32 = 8, 0 / 32;
        /// Key of the subnet manager.
        sm_key: u64 = 12, 0 / 64;
        /// Distance of two records in units of 8 bytes; 0 for a single record.
        record_words: u16 = 20, 0 / 16;
        /// Fields of a request that must match.
        component_mask: u64 = 24, 0 / 64;
    }
}

/// A node (15.2.5.2).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct NodeRecord {
    /// First LID of the port, or of port 0 of a switch.
    pub lid: u16,
    /// The node as this port sees it.
    pub info: NodeInfo,
    /// Name of the node.
    pub description: NodeDescription,
}

impl Attribute for NodeRecord {
    const NAME: &'static str = "NodeRecord";
    const ID: u16 = 0x11;
    const BYTES: usize = 4 + NodeInfo::BYTES + NodeDescription::BYTES;

    fn decode(bytes: &[u8]) -> Result<Self, Short> {
        let bytes = super::attribute::whole::<Self>(bytes)?;
        Ok(Self {
            lid: u16::from_be_bytes([bytes[0], bytes[1]]),
            info: NodeInfo::decode(&bytes[4..])?,
            description: NodeDescription::decode(&bytes[4 + NodeInfo::BYTES..])?,
        })
    }

    fn encode(&self, bytes: &mut [u8]) -> Result<(), Short> {
        super::attribute::whole::<Self>(bytes)?;
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
    /// The port.
    pub info: PortInfo,
}

impl Attribute for PortInfoRecord {
    const NAME: &'static str = "PortInfoRecord";
    const ID: u16 = 0x12;
    const BYTES: usize = 4 + PortInfo::BYTES;

    fn decode(bytes: &[u8]) -> Result<Self, Short> {
        let bytes = super::attribute::whole::<Self>(bytes)?;
        let lid = u16::from_be_bytes([bytes[0], bytes[1]]);
        Ok(Self { lid, port: bytes[2], info: PortInfo::decode(&bytes[4..])? })
    }

    fn encode(&self, bytes: &mut [u8]) -> Result<(), Short> {
        super::attribute::whole::<Self>(bytes)?;
        bytes[..2].copy_from_slice(&self.lid.to_be_bytes());
        bytes[2] = self.port;
        self.info.encode(&mut bytes[4..])
    }
}

/// Returns the request of all records of an attribute.
#[must_use]
pub fn table_request<A: Attribute>() -> [u8; MAD_BYTES] {
    let mut mad = [0; MAD_BYTES];
    let class = Class::SUBNET_ADMINISTRATION;
    Header::request(class, Method::GET_TABLE, A::ID, 0).encode(&mut mad);
    mad
}

/// An answer that is no table of the requested records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordTableError {
    /// The answer is shorter than its headers.
    #[error("an answer of subnet administration has 56 bytes at least, and {0} arrived")]
    Short(usize),
    /// Records would lie over each other.
    #[error("records of {needed} bytes lie {distance} bytes apart")]
    Distance {
        /// Bytes of a record.
        needed: usize,
        /// Distance of two records in bytes.
        distance: usize,
    },
}

/// The records of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordTable<A> {
    /// The records that are whole.
    pub records: Vec<A>,
    /// Bytes behind the last whole record: 0, unless the answer was cut.
    pub left_bytes: usize,
}

impl<A: Attribute> RecordTable<A> {
    /// Bytes before the header of subnet administration, and before the records.
    const HEADER: usize = 24;
    const RECORDS: usize = Self::HEADER + SaHeader::BYTES;

    /// Decodes a whole answer: headers, then records at the distance that the header tells.
    ///
    /// # Errors
    /// The answer is shorter than its headers, or its records would lie over each other.
    pub fn decode(answer: &[u8]) -> Result<Self, RecordTableError> {
        let short = RecordTableError::Short(answer.len());
        let header = answer.get(Self::HEADER..).ok_or(short)?;
        let header = SaHeader::decode(header).map_err(|_short| short)?;
        let bytes = answer.get(Self::RECORDS..).ok_or(short)?;
        let distance = usize::from(header.record_words) * 8;
        if distance == 0 {
            // A table without records has no distance, and neither has a single record.
            return Ok(Self { records: Vec::new(), left_bytes: 0 });
        }
        if distance < A::BYTES {
            return Err(RecordTableError::Distance { needed: A::BYTES, distance });
        }
        let chunks = bytes.chunks_exact(distance);
        let left_bytes = chunks.remainder().len();
        let records = chunks.filter_map(|record| A::decode(record).ok()).collect();
        Ok(Self { records, left_bytes })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answer(record_words: u16, records: &[NodeRecord]) -> Vec<u8> {
        let mut bytes = vec![0; 56];
        let header = SaHeader { record_words, ..SaHeader::default() };
        header.encode(&mut bytes[24..]).unwrap();
        for record in records {
            let mut place = vec![0; usize::from(record_words) * 8];
            record.encode(&mut place).unwrap();
            bytes.extend(place);
        }
        bytes
    }

    fn record(lid: u16) -> NodeRecord {
        let info = NodeInfo { node_type: 1, ports: 1, node_guid: 7, ..NodeInfo::default() };
        NodeRecord { lid, info, description: NodeDescription(format!("node{lid}")) }
    }

    #[test]
    fn every_record_of_a_table_is_read() {
        let records = [record(1), record(2), record(0xffff)];
        // 108 bytes, in 14 words of 8.
        let table = RecordTable::<NodeRecord>::decode(&answer(14, &records)).unwrap();
        assert_eq!((table.records.as_slice(), table.left_bytes), (records.as_slice(), 0));
        let empty = RecordTable::<NodeRecord>::decode(&answer(0, &[])).unwrap();
        assert!(empty.records.is_empty());
    }

    #[test]
    fn a_table_that_was_cut_says_so() {
        let mut bytes = answer(14, &[record(1), record(2)]);
        bytes.truncate(bytes.len() - 1);
        let table = RecordTable::<NodeRecord>::decode(&bytes).unwrap();
        assert_eq!((table.records.len(), table.left_bytes), (1, 111));
    }

    #[test]
    fn an_answer_that_is_no_table_is_refused() {
        let error = RecordTable::<NodeRecord>::decode(&[0; 55]).unwrap_err();
        assert_eq!(error, RecordTableError::Short(55));
        let mut bytes = answer(14, &[record(1)]);
        bytes[24 + 21] = 13;
        let error = RecordTable::<NodeRecord>::decode(&bytes).unwrap_err();
        assert_eq!(error.to_string(), "records of 108 bytes lie 104 bytes apart");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = RecordTable::<NodeRecord>::decode(&bytes);
            let _ = RecordTable::<PortInfoRecord>::decode(&bytes);
            let _ = RecordTable::<LinkRecord>::decode(&bytes);
        }

        #[test]
        fn records_are_read_back(bytes in proptest::collection::vec(any::<u8>(), 112)) {
            let mut written = bytes.clone();
            PortInfoRecord::decode(&bytes).unwrap().encode(&mut written).unwrap();
            prop_assert_eq!(&written, &bytes);
            LinkRecord::decode(&bytes).unwrap().encode(&mut written).unwrap();
            prop_assert_eq!(&written, &bytes);
            let node = NodeRecord::decode(&bytes).unwrap();
            node.encode(&mut written).unwrap();
            prop_assert_eq!(NodeRecord::decode(&written).unwrap().info, node.info);
        }
    }
}
