//! Encodes and decodes management datagrams (MADs): headers and attributes. `source`, `collect`,
//! `ping` and `compat` use it.
//!
//! This module opens no device and sends nothing. A decoder accepts every value, so unknown codes
//! stay numbers. It rejects only bytes that are too short.
//!
//! Layouts: InfiniBand Architecture Specification, volume 1, chapters 13 to 16. A test compares
//! the position of every field with libibmad.

mod attribute;
mod bits;
mod class_port_info;
mod header;
mod performance;
mod ping;
mod records;
mod smp;
mod subnet;
mod table;

pub use attribute::{FieldValue, MadAttribute, Short};
pub use bits::read as read_bits;
pub use class_port_info::ClassPortInfo;
pub use header::{Class, Header, HeaderError, Method, Status};
pub use performance::{
    ERROR_COUNTERS, PortCounters, PortCountersExtended, PortReceiveErrorDetails,
    PortTransmitDiscardDetails, performance_attribute, performance_clear, performance_request,
};
pub use ping::{PING_OUI, PingReplyBy, ping_replied, ping_reply, ping_request};
pub use records::{LinkRecord, NodeRecord, PortInfoRecord, SaHeader, table_request};
pub use smp::{
    DirectedPath, LONGEST_PATH, PathError, directed_smp, directed_smp_by_id, smp, smp_attribute,
    smp_by_id, smp_data,
};
pub use subnet::{
    ForwardingBlock, NodeDescription, NodeInfo, PartitionBlock, PortInfo, SmInfo, SwitchInfo,
};
pub use table::{RecordTable, RecordTableError};

#[cfg(test)]
mod tests;

/// Size of a MAD, in bytes. Omni-Path has MADs of 2,048 bytes, which these codecs do not decode.
pub const MAD_BYTES: usize = 256;
