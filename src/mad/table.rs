//! Decodes tables of subnet administration. A table is the records of one reply, which the kernel
//! joins from its segments (RMPP, specification 13.6 and 15.2.1).
//!
//! The header of a joined reply is that of the first segment. The kernel acknowledges and orders
//! segments, and requests lost segments again (`drivers/infiniband/core/mad_rmpp.c`). So this
//! module receives no segments. It rejects replies that cannot be a whole table.

use super::attribute::MadAttribute;
use super::header::Status;
use super::records::SaHeader;

/// Reason why a reply is not a table of the requested records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordTableError {
    /// The reply is shorter than its headers.
    #[error("an answer of subnet administration has 56 bytes at least, and {0} arrived")]
    Short(usize),
    /// Subnet administration rejected the request.
    #[error("subnet administration replied: {}", .0.text())]
    Refused(Status),
    /// The records are of another attribute.
    #[error("attribute {found:#06x} arrived, and {needed:#06x} was requested")]
    MadAttribute {
        /// Requested attribute ID.
        needed: u16,
        /// Attribute ID of the reply.
        found: u16,
    },
    /// The reply has another RMPP version.
    #[error("the answer has RMPP version {0}, and version 1 is known")]
    Version(u8),
    /// The reply has no data: the transfer ended, or the packet is no reply.
    #[error("the answer is an RMPP {} packet (status {status}: {}), and has no data", packet_type(*.kind), reason(*.status))]
    NoData {
        /// Type of the RMPP packet.
        kind: u8,
        /// RMPP status.
        status: u8,
    },
    /// The transfer failed.
    #[error("the transfer failed with RMPP status {status}: {}", reason(*.status))]
    Transfer {
        /// RMPP status.
        status: u8,
    },
    /// The payload length does not cover the header of subnet administration.
    #[error("a payload of {0} bytes has no room for the header of 20 bytes")]
    Payload(u32),
    /// The first segment announces more bytes than arrived.
    #[error("{announced} bytes of records were announced, and {found} arrived")]
    Cut {
        /// Bytes of records that the first segment announces.
        announced: usize,
        /// Bytes of records that arrived.
        found: usize,
    },
    /// The distance of records is smaller than a record, or larger than 1,024 bytes.
    #[error("records of {needed} bytes lie {distance} bytes apart")]
    Distance {
        /// Size of a record, in bytes.
        needed: usize,
        /// Distance of two records, in bytes.
        distance: usize,
    },
}

fn packet_type(kind: u8) -> String {
    match kind {
        2 => "acknowledgement".into(),
        3 => "stop".into(),
        4 => "abort".into(),
        other => format!("type {other}"),
    }
}

fn reason(status: u8) -> &'static str {
    match status {
        0 => "normal",
        1 => "resources exhausted",
        118 => "total time too long",
        119 => "last segment and payload length contradict",
        120 => "first segment and segment number contradict",
        121 => "invalid RMPP type",
        122 => "window too small",
        123 => "segment number too large",
        124 => "invalid status",
        125 => "unsupported version",
        126 => "too many retries",
        127 => "unspecified",
        128..=191 => "defined by the class",
        192..=254 => "defined by the vendor",
        _ => "reserved",
    }
}

/// Records of a reply, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordTable<A> {
    /// Whole records.
    pub records: Vec<A>,
    /// Number of bytes after the last whole record; 0 unless the reply was truncated or padded.
    pub left_bytes: usize,
}

impl<A: MadAttribute> RecordTable<A> {
    /// Maximum distance of two records, in bytes. The largest record has 108 bytes. Later
    /// versions of the specification can add fields.
    const LARGEST_DISTANCE: usize = 1024;

    /// Decodes a whole reply: headers, then records at the distance in the header.
    ///
    /// # Errors
    /// The reply is shorter than its headers or than the announced length, rejects the request,
    /// or has no data. Or its records have another type or an impossible distance.
    pub fn decode(answer: &[u8]) -> Result<Self, RecordTableError> {
        let short = RecordTableError::Short(answer.len());
        let (common, rest) = answer.split_first_chunk::<24>().ok_or(short)?;
        let header = SaHeader::decode(rest).map_err(|_short| short)?;
        let bytes = rest.get(SaHeader::BYTES..).ok_or(short)?;
        let status = Status(u16::from_be_bytes([common[4], common[5]]));
        if !status.is_ok() {
            return Err(RecordTableError::Refused(status));
        }
        let found = u16::from_be_bytes([common[16], common[17]]);
        if found != A::ID {
            return Err(RecordTableError::MadAttribute { needed: A::ID, found });
        }
        let bytes = payload(&header, bytes)?;
        let distance = usize::from(header.record_words) * 8;
        if distance == 0 && bytes.iter().all(|byte| *byte == 0) {
            // A table without records has no distance.
            return Ok(Self { records: Vec::new(), left_bytes: 0 });
        }
        if !(A::BYTES..=Self::LARGEST_DISTANCE).contains(&distance) {
            return Err(RecordTableError::Distance { needed: A::BYTES, distance });
        }
        let chunks = bytes.chunks_exact(distance);
        let left_bytes = chunks.remainder().len();
        let records = chunks.filter_map(|record| A::decode(record).ok()).collect();
        Ok(Self { records, left_bytes })
    }
}

/// Size of the RMPP data in a segment, in bytes. `SA_HEADER` is the part before the records.
const SEGMENT: usize = 220;
const SA_HEADER: usize = 20;

/// Returns the bytes of records without the padding of the last segment.
///
/// A length of 0 means unknown, so nothing is removed. The length in the first of many segments
/// covers all segments, but some subnet managers set less. So a long table is returned whole.
fn payload<'bytes>(
    header: &SaHeader,
    bytes: &'bytes [u8],
) -> Result<&'bytes [u8], RecordTableError> {
    const ACTIVE: u8 = 1;
    const DATA: u8 = 1;

    let is_active = header.rmpp_flags & ACTIVE != 0;
    if header.rmpp_version > 1 {
        return Err(RecordTableError::Version(header.rmpp_version));
    }
    // A reply of one segment can lack the RMPP header.
    if header.rmpp_type != DATA && (is_active || header.rmpp_type != 0) {
        let (kind, status) = (header.rmpp_type, header.rmpp_status);
        return Err(RecordTableError::NoData { kind, status });
    }
    if header.rmpp_status != 0 {
        return Err(RecordTableError::Transfer { status: header.rmpp_status });
    }
    if !is_active || header.payload_bytes == 0 {
        return Ok(bytes);
    }
    let length = usize::try_from(header.payload_bytes).unwrap_or(usize::MAX);
    let segments = length.div_ceil(SEGMENT);
    let announced = length.checked_sub(segments * SA_HEADER);
    let announced = announced.ok_or(RecordTableError::Payload(header.payload_bytes))?;
    if announced > bytes.len() {
        return Err(RecordTableError::Cut { announced, found: bytes.len() });
    }
    let is_single = bytes.len() <= SEGMENT - SA_HEADER;
    Ok(if is_single { &bytes[..announced] } else { bytes })
}

#[cfg(test)]
mod tests;
