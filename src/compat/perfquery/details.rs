//! Detail attributes of counters, one for each option of `perfquery`.
//!
//! Sends nothing. Used by `perfquery`.

use crate::compat::diags::{Field, tables};

/// A detail attribute.
pub(super) struct Detail {
    /// Letter of the option.
    pub(super) option: char,
    pub(super) name: &'static str,
    pub(super) attribute: u16,
    pub(super) fields: &'static [Field],
}

const fn detail(
    option: char,
    name: &'static str,
    attribute: u16,
    fields: &'static [Field],
) -> Detail {
    Detail { option, name, attribute, fields }
}

/// Detail attributes, in the order in which the original checks its options.
pub(super) const ALL: [Detail; 16] = [
    detail('X', "PortXmitDataSL", 0x36, tables::TRANSMIT_DATA_SL),
    detail('S', "PortRcvDataSL", 0x37, tables::RECEIVE_DATA_SL),
    detail('D', "PortXmitDiscardDetails", 0x16, tables::TRANSMIT_DISCARDS),
    detail('E', "PortRcvErrorDetails", 0x15, tables::RECEIVE_ERRORS),
    detail('\u{1}', "PortOpRcvCounters", 0x17, tables::OP_RECEIVE),
    detail('\u{2}', "PortFlowCtlCounters", 0x18, tables::FLOW_CONTROL),
    detail('\u{3}', "PortVLOpPackets", 0x19, tables::VL_OP_PACKETS),
    detail('\u{4}', "PortVLOpData", 0x1a, tables::VL_OP_DATA),
    detail('\u{5}', "PortVLXmitFlowCtlUpdateErrors", 0x1b, tables::VL_FLOW_CONTROL_ERRORS),
    detail('\u{6}', "PortVLXmitWaitCounters", 0x1c, tables::VL_TRANSMIT_WAIT),
    detail('\u{7}', "SwPortVLCongestion", 0x30, tables::SWITCH_VL_CONGESTION),
    detail('\u{8}', "PortRcvConCtrl", 0x31, tables::CONGESTION_RECEIVED),
    detail('\u{9}', "PortSLRcvFECN", 0x32, tables::SL_FECN),
    detail('\u{a}', "PortSLRcvBECN", 0x33, tables::SL_BECN),
    detail('\u{b}', "PortXmitConCtrl", 0x34, tables::CONGESTION_SENT),
    detail('\u{c}', "PortVLXmitTimeCong", 0x35, tables::VL_CONGESTION),
];

/// Attribute of `-c`.
pub(super) const SAMPLES_CONTROL: u16 = 0x10;
