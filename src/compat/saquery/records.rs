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
pub(super) struct Line(&'static str, usize, usize, Cell);

pub(super) fn print(title: &str, record: &[u8], lines: &[Line]) -> String {
    let line = |Line(label, bit, bits, cell): &Line| {
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
pub(super) const NODE: &[Line] = &[
    Line("lid.....................", 0, 16, Cell::Decimal),
    Line("reserved................", 16, 16, Cell::Hex),
    Line("base_version............", 32, 8, Cell::Hex),
    Line("class_version...........", 40, 8, Cell::Hex),
    Line("node_type...............", 48, 8, Cell::NodeType),
    Line("num_ports...............", 56, 8, Cell::Decimal),
    Line("sys_guid................", 64, 64, Cell::Guid),
    Line("node_guid...............", 128, 64, Cell::Guid),
    Line("port_guid...............", 192, 64, Cell::Guid),
    Line("partition_cap...........", 256, 16, Cell::Hex),
    Line("device_id...............", 272, 16, Cell::Hex),
    Line("revision................", 288, 32, Cell::Hex),
    Line("port_num................", 320, 8, Cell::Decimal),
    Line("vendor_id...............", 328, 24, Cell::Hex),
];

/// Short form of a `PortInfoRecord`.
pub(super) const PORT: &[Line] = &[
    Line("EndPortLid..............", 0, 16, Cell::Decimal),
    Line("PortNum.................", 16, 8, Cell::Decimal),
    Line("base_lid................", 160, 16, Cell::Decimal),
    Line("master_sm_base_lid......", 176, 16, Cell::Decimal),
    Line("capability_mask.........", 192, 32, Cell::Hex),
];

/// Key of a `PortInfoRecord`.
pub(super) const PORT_KEY: &[Line] = &[
    Line("EndPortLid..............", 0, 16, Cell::Decimal),
    Line("PortNum.................", 16, 8, Cell::Decimal),
    Line("Options.................", 24, 8, Cell::LowHex),
];

pub(super) const LINK: &[Line] = &[
    Line("FromLID....................", 0, 16, Cell::Decimal),
    Line("FromPort...................", 16, 8, Cell::Decimal),
    Line("ToPort.....................", 24, 8, Cell::Decimal),
    Line("ToLID......................", 32, 16, Cell::Decimal),
];

pub(super) const PATH: &[Line] = &[
    Line("service_id..............", 0, 64, Cell::Guid),
    Line("dgid....................", 64, 0, Cell::Gid),
    Line("sgid....................", 192, 0, Cell::Gid),
    Line("dlid....................", 320, 16, Cell::Decimal),
    Line("slid....................", 336, 16, Cell::Decimal),
    Line("hop_flow_raw............", 352, 32, Cell::Hex),
    Line("tclass..................", 384, 8, Cell::Hex),
    Line("num_path_revers.........", 392, 8, Cell::Hex),
    Line("pkey....................", 400, 16, Cell::Hex),
    Line("qos_class...............", 416, 12, Cell::Hex),
    Line("sl......................", 428, 4, Cell::Hex),
    Line("mtu.....................", 432, 8, Cell::Hex),
    Line("rate....................", 440, 8, Cell::Hex),
    Line("pkt_life................", 448, 8, Cell::Hex),
    Line("preference..............", 456, 8, Cell::Hex),
    Line("resv2...................", 464, 48, Cell::Padded(12)),
];

/// `SMInfoRecord` after its first two lines.
pub(super) const MANAGER: &[Line] = &[
    Line("LID...................", 0, 16, Cell::Decimal),
    Line("SMInfo dump:", 0, 0, Cell::Nothing),
    Line("GUID..................", 32, 64, Cell::Guid),
    Line("SM_Key................", 96, 64, Cell::Guid),
    Line("ActCount..............", 160, 32, Cell::Decimal),
    Line("Priority..............", 192, 4, Cell::Decimal),
    Line("SMState...............", 196, 4, Cell::Decimal),
];

pub(super) const SWITCH: &[Line] = &[
    Line("LinearFDBCap............................", 32, 16, Cell::Hex),
    Line("RandomFDBCap............................", 48, 16, Cell::Hex),
    Line("MulticastFDBCap.........................", 64, 16, Cell::Hex),
    Line("LinearFDBTop............................", 80, 16, Cell::Hex),
    Line("DefaultPort.............................", 96, 8, Cell::Decimal),
    Line("DefaultMulticastPrimaryPort.............", 104, 8, Cell::Decimal),
    Line("DefaultMulticastNotPrimaryPort..........", 112, 8, Cell::Decimal),
    Line("LifeTimeValue/PortStateChange/OpSL2VL...", 120, 8, Cell::Hex),
    Line("LIDsPerPort.............................", 128, 16, Cell::Hex),
    Line("PartitionEnforcementCap.................", 144, 16, Cell::Hex),
    Line("flags...................................", 160, 8, Cell::Hex),
];

/// `SwitchInfoRecord` of a subnet administration with the highest multicast LID.
pub(super) const SWITCH_TOP: &[Line] =
    &[Line("MulticastFDBTop.........................", 176, 16, Cell::Hex)];

pub(super) const GROUP: &[Line] = &[
    Line("MGID....................", 0, 0, Cell::Gid),
    Line("Mlid....................", 288, 16, Cell::Hex),
    Line("Mtu.....................", 304, 8, Cell::Hex),
    Line("pkey....................", 320, 16, Cell::Hex),
    Line("Rate....................", 336, 8, Cell::Hex),
    Line("SL......................", 352, 4, Cell::Hex),
];

/// `MCMemberRecord` of a member, without the name of the node.
pub(super) const MEMBER: &[Line] = &[
    Line("MGID....................", 0, 0, Cell::Gid),
    Line("Mlid....................", 288, 16, Cell::Hex),
    Line("PortGid.................", 128, 0, Cell::Gid),
    Line("ScopeState..............", 384, 8, Cell::Hex),
    // The original reads the lowest bit; the specification has the highest bit.
    Line("ProxyJoin...............", 399, 1, Cell::Hex),
];

pub(super) const CLASS_PORT_INFO: &[Line] = &[
    Line("Base version.............", 0, 8, Cell::Decimal),
    Line("Class version............", 8, 8, Cell::Decimal),
    Line("Capability mask..........", 16, 16, Cell::Padded(4)),
    Line("Capability mask 2........", 32, 27, Cell::Padded(8)),
    Line("Response time value......", 59, 5, Cell::Padded(2)),
    Line("Redirect GID.............", 64, 0, Cell::Gid),
    Line("Redirect TC/SL/FL........", 192, 32, Cell::Padded(8)),
    Line("Redirect LID.............", 224, 16, Cell::Decimal),
    Line("Redirect PKey............", 240, 16, Cell::Padded(4)),
    Line("Redirect QP..............", 256, 32, Cell::Padded(8)),
    Line("Redirect QKey............", 288, 32, Cell::Padded(8)),
    Line("Trap GID.................", 320, 0, Cell::Gid),
    Line("Trap TC/SL/FL............", 448, 32, Cell::Padded(8)),
    Line("Trap LID.................", 480, 16, Cell::Decimal),
    Line("Trap PKey................", 496, 16, Cell::Padded(4)),
    Line("Trap HL/QP...............", 512, 32, Cell::Padded(8)),
    Line("Trap QKey................", 544, 32, Cell::Padded(8)),
];
