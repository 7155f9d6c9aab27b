//! Detail attributes of counters, one for each option of `perfquery`.
//!
//! Sends nothing. Used by `perfquery`.

use crate::compat::diags::tables::numbered;
use crate::compat::diags::{Field, ValueFormat, tables};

pub(super) struct Detail {
    pub(super) option: &'static str,
    pub(super) name: &'static str,
    pub(super) attribute: u16,
    pub(super) fields: &'static [Field],
}

const fn detail(
    option: &'static str,
    name: &'static str,
    attribute: u16,
    fields: &'static [Field],
) -> Detail {
    Detail { option, name, attribute, fields }
}

/// Returns a field for each virtual lane, or for each service level.
const fn sixteen(name: &'static str, bits: usize) -> [Field; 16] {
    numbered(name, 32, bits, ValueFormat::Unsigned)
}

/// Detail attributes, in the order in which the original checks its options.
pub(super) const ALL: [Detail; 16] = [
    detail("xmtsl", "PortXmitDataSL", 0x36, &sixteen("XmtDataSL", 32)),
    detail("rcvsl", "PortRcvDataSL", 0x37, &sixteen("RcvDataSL", 32)),
    detail("xmtdisc", "PortXmitDiscardDetails", 0x16, tables::TRANSMIT_DISCARDS),
    detail("rcverr", "PortRcvErrorDetails", 0x15, tables::RECEIVE_ERRORS),
    detail("oprcvcounters", "PortOpRcvCounters", 0x17, tables::OP_RECEIVE),
    detail("flowctlcounters", "PortFlowCtlCounters", 0x18, tables::FLOW_CONTROL),
    detail("vloppackets", "PortVLOpPackets", 0x19, &sixteen("PortVLOpPackets", 16)),
    detail("vlopdata", "PortVLOpData", 0x1a, &sixteen("PortVLOpData", 32)),
    detail(
        "vlxmitflowctlerrors",
        "PortVLXmitFlowCtlUpdateErrors",
        0x1b,
        &sixteen("PortVLXmitFlowCtlUpdateErrors", 2),
    ),
    detail("vlxmitcounters", "PortVLXmitWaitCounters", 0x1c, &sixteen("PortVLXmitWait", 16)),
    detail("swportvlcong", "SwPortVLCongestion", 0x30, &sixteen("SWPortVLCongestion", 16)),
    detail("rcvcc", "PortRcvConCtrl", 0x31, tables::CONGESTION_RECEIVED),
    detail("slrcvfecn", "PortSLRcvFECN", 0x32, &sixteen("PortSLRcvFECN", 32)),
    detail("slrcvbecn", "PortSLRcvBECN", 0x33, &sixteen("PortSLRcvBECN", 32)),
    detail("xmitcc", "PortXmitConCtrl", 0x34, tables::CONGESTION_SENT),
    // Virtual lanes 0 to 14.
    detail(
        "vlxmittimecc",
        "PortVLXmitTimeCong",
        0x35,
        &numbered::<15>("PortVLXmitTimeCong", 32, 32, ValueFormat::Unsigned),
    ),
];

/// Attribute of `-c`.
pub(super) const SAMPLES_CONTROL: u16 = 0x10;
