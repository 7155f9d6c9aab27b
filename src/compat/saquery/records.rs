//! Format of the records that `saquery` prints: lines with a label and a value.
//!
//! Sends no request. Used by `saquery`.

use std::net::Ipv6Addr;

use crate::compat::word::word;
use crate::mad::read_bits;

const NODE_TYPES: [&str; 4] = ["UNKNOWN", "Channel Adapter", "Switch", "Router"];

#[derive(Debug, Clone, Copy)]
pub(super) enum Cell {
    Decimal,
    /// Upper-case hexadecimal number without leading zeros.
    Hex,
    /// Lower-case hexadecimal number without leading zeros.
    LowHex,
    /// Upper-case hexadecimal number with a fixed number of digits.
    Padded(usize),
    /// GUID or key.
    Guid,
    Gid,
    NodeType,
    /// A heading.
    Nothing,
}

/// A line: label, first bit of the value, width of the value in bits, format.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordLine(&'static str, usize, usize, Cell);

pub(super) fn print(title: &str, record: &[u8], lines: &[RecordLine]) -> String {
    let line = |RecordLine(label, bit, bits, cell): &RecordLine| {
        let number = || read_bits(record, *bit, *bits);
        let shown = match cell {
            Cell::Decimal => number().to_string(),
            Cell::Hex => format!("0x{:X}", number()),
            Cell::LowHex => format!("0x{:x}", number()),
            Cell::Padded(digits) => format!("0x{:0digits$X}", number()),
            Cell::Guid => format!("0x{:016x}", number()),
            Cell::Gid => gid(record, bit / 8),
            Cell::Nothing => String::new(),
            Cell::NodeType => word(number(), &NODE_TYPES, "UNKNOWN").to_owned(),
        };
        format!("\t\t{label}{shown}\n")
    };
    format!("{title}\n") + &lines.iter().map(line).collect::<String>()
}

pub(super) fn gid(record: &[u8], at: usize) -> String {
    let bytes = record.get(at..at + 16).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    Ipv6Addr::from(bytes.unwrap_or_default()).to_string()
}

/// `NodeRecord` without the description.
pub(super) const NODE: &[RecordLine] = &[
    RecordLine("lid.....................", 0, 16, Cell::Decimal),
    RecordLine("reserved................", 16, 16, Cell::Hex),
    RecordLine("base_version............", 32, 8, Cell::Hex),
    RecordLine("class_version...........", 40, 8, Cell::Hex),
    RecordLine("node_type...............", 48, 8, Cell::NodeType),
    RecordLine("num_ports...............", 56, 8, Cell::Decimal),
    RecordLine("sys_guid................", 64, 64, Cell::Guid),
    RecordLine("node_guid...............", 128, 64, Cell::Guid),
    RecordLine("port_guid...............", 192, 64, Cell::Guid),
    RecordLine("partition_cap...........", 256, 16, Cell::Hex),
    RecordLine("device_id...............", 272, 16, Cell::Hex),
    RecordLine("revision................", 288, 32, Cell::Hex),
    RecordLine("port_num................", 320, 8, Cell::Decimal),
    RecordLine("vendor_id...............", 328, 24, Cell::Hex),
];

/// Short form of a `PortInfoRecord`.
pub(super) const PORT: &[RecordLine] = &[
    RecordLine("EndPortLid..............", 0, 16, Cell::Decimal),
    RecordLine("PortNum.................", 16, 8, Cell::Decimal),
    RecordLine("base_lid................", 160, 16, Cell::Decimal),
    RecordLine("master_sm_base_lid......", 176, 16, Cell::Decimal),
    RecordLine("capability_mask.........", 192, 32, Cell::Hex),
];

/// Key of a `PortInfoRecord`.
pub(super) const PORT_KEY: &[RecordLine] = &[
    RecordLine("EndPortLid..............", 0, 16, Cell::Decimal),
    RecordLine("PortNum.................", 16, 8, Cell::Decimal),
    RecordLine("Options.................", 24, 8, Cell::LowHex),
];

pub(super) const LINK: &[RecordLine] = &[
    RecordLine("FromLID....................", 0, 16, Cell::Decimal),
    RecordLine("FromPort...................", 16, 8, Cell::Decimal),
    RecordLine("ToPort.....................", 24, 8, Cell::Decimal),
    RecordLine("ToLID......................", 32, 16, Cell::Decimal),
];

pub(super) const PATH: &[RecordLine] = &[
    RecordLine("service_id..............", 0, 64, Cell::Guid),
    RecordLine("dgid....................", 64, 0, Cell::Gid),
    RecordLine("sgid....................", 192, 0, Cell::Gid),
    RecordLine("dlid....................", 320, 16, Cell::Decimal),
    RecordLine("slid....................", 336, 16, Cell::Decimal),
    RecordLine("hop_flow_raw............", 352, 32, Cell::Hex),
    RecordLine("tclass..................", 384, 8, Cell::Hex),
    RecordLine("num_path_revers.........", 392, 8, Cell::Hex),
    RecordLine("pkey....................", 400, 16, Cell::Hex),
    RecordLine("qos_class...............", 416, 12, Cell::Hex),
    RecordLine("sl......................", 428, 4, Cell::Hex),
    RecordLine("mtu.....................", 432, 8, Cell::Hex),
    RecordLine("rate....................", 440, 8, Cell::Hex),
    RecordLine("pkt_life................", 448, 8, Cell::Hex),
    RecordLine("preference..............", 456, 8, Cell::Hex),
    RecordLine("resv2...................", 464, 48, Cell::Padded(12)),
];

/// `SMInfoRecord` after its first two lines.
pub(super) const MANAGER: &[RecordLine] = &[
    RecordLine("LID...................", 0, 16, Cell::Decimal),
    RecordLine("SMInfo dump:", 0, 0, Cell::Nothing),
    RecordLine("GUID..................", 32, 64, Cell::Guid),
    RecordLine("SM_Key................", 96, 64, Cell::Guid),
    RecordLine("ActCount..............", 160, 32, Cell::Decimal),
    RecordLine("Priority..............", 192, 4, Cell::Decimal),
    RecordLine("SMState...............", 196, 4, Cell::Decimal),
];

pub(super) const SWITCH: &[RecordLine] = &[
    RecordLine("LinearFDBCap............................", 32, 16, Cell::Hex),
    RecordLine("RandomFDBCap............................", 48, 16, Cell::Hex),
    RecordLine("MulticastFDBCap.........................", 64, 16, Cell::Hex),
    RecordLine("LinearFDBTop............................", 80, 16, Cell::Hex),
    RecordLine("DefaultPort.............................", 96, 8, Cell::Decimal),
    RecordLine("DefaultMulticastPrimaryPort.............", 104, 8, Cell::Decimal),
    RecordLine("DefaultMulticastNotPrimaryPort..........", 112, 8, Cell::Decimal),
    RecordLine("LifeTimeValue/PortStateChange/OpSL2VL...", 120, 8, Cell::Hex),
    RecordLine("LIDsPerPort.............................", 128, 16, Cell::Hex),
    RecordLine("PartitionEnforcementCap.................", 144, 16, Cell::Hex),
    RecordLine("flags...................................", 160, 8, Cell::Hex),
];

/// `SwitchInfoRecord` of a subnet administration with the highest multicast LID.
pub(super) const SWITCH_TOP: &[RecordLine] =
    &[RecordLine("MulticastFDBTop.........................", 176, 16, Cell::Hex)];

pub(super) const GROUP: &[RecordLine] = &[
    RecordLine("MGID....................", 0, 0, Cell::Gid),
    RecordLine("Mlid....................", 288, 16, Cell::Hex),
    RecordLine("Mtu.....................", 304, 8, Cell::Hex),
    RecordLine("pkey....................", 320, 16, Cell::Hex),
    RecordLine("Rate....................", 336, 8, Cell::Hex),
    RecordLine("SL......................", 352, 4, Cell::Hex),
];

/// `MCMemberRecord` of a member, without the name of the node.
pub(super) const MEMBER: &[RecordLine] = &[
    RecordLine("MGID....................", 0, 0, Cell::Gid),
    RecordLine("Mlid....................", 288, 16, Cell::Hex),
    RecordLine("PortGid.................", 128, 0, Cell::Gid),
    RecordLine("ScopeState..............", 384, 8, Cell::Hex),
    // The original reads the lowest bit; the specification has the highest bit.
    RecordLine("ProxyJoin...............", 399, 1, Cell::Hex),
];

pub(super) const CLASS_PORT_INFO: &[RecordLine] = &[
    RecordLine("Base version.............", 0, 8, Cell::Decimal),
    RecordLine("Class version............", 8, 8, Cell::Decimal),
    RecordLine("Capability mask..........", 16, 16, Cell::Padded(4)),
    RecordLine("Capability mask 2........", 32, 27, Cell::Padded(8)),
    RecordLine("Response time value......", 59, 5, Cell::Padded(2)),
    RecordLine("Redirect GID.............", 64, 0, Cell::Gid),
    RecordLine("Redirect TC/SL/FL........", 192, 32, Cell::Padded(8)),
    RecordLine("Redirect LID.............", 224, 16, Cell::Decimal),
    RecordLine("Redirect PKey............", 240, 16, Cell::Padded(4)),
    RecordLine("Redirect QP..............", 256, 32, Cell::Padded(8)),
    RecordLine("Redirect QKey............", 288, 32, Cell::Padded(8)),
    RecordLine("Trap GID.................", 320, 0, Cell::Gid),
    RecordLine("Trap TC/SL/FL............", 448, 32, Cell::Padded(8)),
    RecordLine("Trap LID.................", 480, 16, Cell::Decimal),
    RecordLine("Trap PKey................", 496, 16, Cell::Padded(4)),
    RecordLine("Trap HL/QP...............", 512, 32, Cell::Padded(8)),
    RecordLine("Trap QKey................", 544, 32, Cell::Padded(8)),
];
