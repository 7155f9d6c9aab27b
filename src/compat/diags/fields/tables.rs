//! Tables of the printed fields: names, positions and formats. Used by `fields`.
//!
//! Positions are those of the specification: bit 0 is the most significant bit of byte 0. The
//! originals read HDR and NDR FEC modes from other positions; these tables have the positions of
//! the specification.

use super::Field;
use crate::compat::diags::Show;

const fn field(bit: usize, bits: usize, name: &'static str, show: Show) -> Field {
    Field { bit, bits, name, show }
}

/// `PortInfo` up to the round trip time.
pub(in crate::compat) const PORT_INFO: &[Field] = &[
    field(0, 64, "Mkey", Show::Hex),
    field(64, 64, "GidPrefix", Show::Hex),
    field(128, 16, "Lid", Show::Unsigned),
    field(144, 16, "SMLid", Show::Unsigned),
    field(160, 32, "CapMask", Show::Capabilities),
    field(192, 16, "DiagCode", Show::Hex),
    field(208, 16, "MkeyLeasePeriod", Show::Unsigned),
    field(224, 8, "LocalPort", Show::Unsigned),
    field(232, 8, "LinkWidthEnabled", Show::WidthEnabled),
    field(240, 8, "LinkWidthSupported", Show::WidthSupported),
    field(248, 8, "LinkWidthActive", Show::Width),
    field(256, 4, "LinkSpeedSupported", Show::Speeds),
    field(260, 4, "LinkState", Show::State),
    field(264, 4, "PhysLinkState", Show::PhysicalState),
    field(268, 4, "LinkDownDefState", Show::DownDefault),
    field(272, 2, "ProtectBits", Show::Unsigned),
    field(277, 3, "LMC", Show::Unsigned),
    field(280, 4, "LinkSpeedActive", Show::Speed),
    field(284, 4, "LinkSpeedEnabled", Show::Speeds),
    field(288, 4, "NeighborMTU", Show::Mtu),
    field(292, 4, "SMSL", Show::Unsigned),
    field(296, 4, "VLCap", Show::VlCapability),
    field(300, 4, "InitType", Show::Hex),
    field(304, 8, "VLHighLimit", Show::Unsigned),
    field(312, 8, "VLArbHighCap", Show::Unsigned),
    field(320, 8, "VLArbLowCap", Show::Unsigned),
    field(328, 4, "InitReply", Show::Hex),
    field(332, 4, "MtuCap", Show::Mtu),
    field(336, 3, "VLStallCount", Show::Unsigned),
    field(339, 5, "HoqLife", Show::Unsigned),
    field(344, 4, "OperVLs", Show::OperationalVls),
    field(348, 1, "PartEnforceInb", Show::Unsigned),
    field(349, 1, "PartEnforceOutb", Show::Unsigned),
    field(350, 1, "FilterRawInb", Show::Unsigned),
    field(351, 1, "FilterRawOutb", Show::Unsigned),
    field(352, 16, "MkeyViolations", Show::Unsigned),
    field(368, 16, "PkeyViolations", Show::Unsigned),
    field(384, 16, "QkeyViolations", Show::Unsigned),
    field(400, 8, "GuidCap", Show::Unsigned),
    field(408, 1, "ClientReregister", Show::Unsigned),
    field(409, 2, "McastPkeyTrapSuppressionEnabled", Show::Unsigned),
    field(411, 5, "SubnetTimeout", Show::Unsigned),
    field(419, 5, "RespTimeVal", Show::Unsigned),
    field(424, 4, "LocalPhysErr", Show::Unsigned),
    field(428, 4, "OverrunErr", Show::Unsigned),
    field(432, 16, "MaxCreditHint", Show::Unsigned),
    field(456, 24, "RoundTrip", Show::Unsigned),
];

/// `PortInfo`: second capability mask and extended speeds.
pub(in crate::compat) const PORT_INFO_EXTENDED_SPEEDS: &[Field] = &[
    field(480, 16, "CapabilityMask2", Show::Capabilities2),
    field(496, 4, "LinkSpeedExtActive", Show::ExtendedSpeed),
    field(500, 4, "LinkSpeedExtSupported", Show::ExtendedSpeeds),
    field(507, 5, "LinkSpeedExtEnabled", Show::ExtendedSpeedsEnabled),
];

/// `NodeInfo`.
pub(in crate::compat) const NODE_INFO: &[Field] = &[
    field(0, 8, "BaseVers", Show::Unsigned),
    field(8, 8, "ClassVers", Show::Unsigned),
    field(16, 8, "NodeType", Show::NodeType),
    field(24, 8, "NumPorts", Show::Unsigned),
    field(32, 64, "SystemGuid", Show::Hex),
    field(96, 64, "Guid", Show::Hex),
    field(160, 64, "PortGuid", Show::Hex),
    field(224, 16, "PartCap", Show::Unsigned),
    field(240, 16, "DevId", Show::Hex),
    field(256, 32, "Revision", Show::Hex),
    field(288, 8, "LocalPort", Show::Unsigned),
    field(296, 24, "VendorId", Show::Hex),
];

/// `SwitchInfo`.
pub(in crate::compat) const SWITCH_INFO: &[Field] = &[
    field(0, 16, "LinearFdbCap", Show::Unsigned),
    field(16, 16, "RandomFdbCap", Show::Unsigned),
    field(32, 16, "McastFdbCap", Show::Unsigned),
    field(48, 16, "LinearFdbTop", Show::Unsigned),
    field(64, 8, "DefPort", Show::Unsigned),
    field(72, 8, "DefMcastPrimPort", Show::Unsigned),
    field(80, 8, "DefMcastNotPrimPort", Show::Unsigned),
    field(88, 5, "LifeTime", Show::Unsigned),
    field(93, 1, "StateChange", Show::Unsigned),
    field(94, 2, "OptSLtoVLMapping", Show::Unsigned),
    field(96, 16, "LidsPerPort", Show::Unsigned),
    field(112, 16, "PartEnforceCap", Show::Unsigned),
    field(128, 1, "InboundPartEnf", Show::Unsigned),
    field(129, 1, "OutboundPartEnf", Show::Unsigned),
    field(130, 1, "FilterRawInbound", Show::Unsigned),
    field(131, 1, "FilterRawOutbound", Show::Unsigned),
    field(132, 1, "EnhancedPort0", Show::Unsigned),
    field(144, 16, "MulticastFDBTop", Show::Hex),
];

/// `PortCounters`.
pub(in crate::compat) const PORT_COUNTERS: &[Field] = &[
    field(8, 8, "PortSelect", Show::Unsigned),
    field(16, 16, "CounterSelect", Show::Hex),
    field(32, 16, "SymbolErrorCounter", Show::Unsigned),
    field(48, 8, "LinkErrorRecoveryCounter", Show::Unsigned),
    field(56, 8, "LinkDownedCounter", Show::Unsigned),
    field(64, 16, "PortRcvErrors", Show::Unsigned),
    field(80, 16, "PortRcvRemotePhysicalErrors", Show::Unsigned),
    field(96, 16, "PortRcvSwitchRelayErrors", Show::Unsigned),
    field(112, 16, "PortXmitDiscards", Show::Unsigned),
    field(128, 8, "PortXmitConstraintErrors", Show::Unsigned),
    field(136, 8, "PortRcvConstraintErrors", Show::Unsigned),
    field(144, 8, "CounterSelect2", Show::Hex),
    field(152, 4, "LocalLinkIntegrityErrors", Show::Unsigned),
    field(156, 4, "ExcessiveBufferOverrunErrors", Show::Unsigned),
    field(160, 16, "QP1Dropped", Show::Unsigned),
    field(176, 16, "VL15Dropped", Show::Unsigned),
    field(192, 32, "PortXmitData", Show::Unsigned),
    field(224, 32, "PortRcvData", Show::Unsigned),
    field(256, 32, "PortXmitPkts", Show::Unsigned),
    field(288, 32, "PortRcvPkts", Show::Unsigned),
    field(320, 32, "PortXmitWait", Show::Unsigned),
];

/// `PortCountersExtended`: selection, data and packets.
pub(in crate::compat) const EXTENDED: &[Field] = &[
    field(8, 8, "PortSelect", Show::Unsigned),
    field(16, 16, "CounterSelect", Show::Hex),
    field(64, 64, "PortXmitData", Show::Unsigned),
    field(128, 64, "PortRcvData", Show::Unsigned),
    field(192, 64, "PortXmitPkts", Show::Unsigned),
    field(256, 64, "PortRcvPkts", Show::Unsigned),
];

/// `PortCountersExtended`: unicast and multicast packets.
pub(in crate::compat) const EXTENDED_CASTS: &[Field] = &[
    field(320, 64, "PortUnicastXmitPkts", Show::Unsigned),
    field(384, 64, "PortUnicastRcvPkts", Show::Unsigned),
    field(448, 64, "PortMulticastXmitPkts", Show::Unsigned),
    field(512, 64, "PortMulticastRcvPkts", Show::Unsigned),
];

/// `PortCountersExtended`: errors.
pub(in crate::compat) const EXTENDED_ERRORS: &[Field] = &[
    field(32, 32, "CounterSelect2", Show::Hex),
    field(576, 64, "SymbolErrorCounter", Show::Unsigned),
    field(640, 64, "LinkErrorRecoveryCounter", Show::Unsigned),
    field(704, 64, "LinkDownedCounter", Show::Unsigned),
    field(768, 64, "PortRcvErrors", Show::Unsigned),
    field(832, 64, "PortRcvRemotePhysicalErrors", Show::Unsigned),
    field(896, 64, "PortRcvSwitchRelayErrors", Show::Unsigned),
    field(960, 64, "PortXmitDiscards", Show::Unsigned),
    field(1024, 64, "PortXmitConstraintErrors", Show::Unsigned),
    field(1088, 64, "PortRcvConstraintErrors", Show::Unsigned),
    field(1152, 64, "LocalLinkIntegrityErrors", Show::Unsigned),
    field(1216, 64, "ExcessiveBufferOverrunErrors", Show::Unsigned),
    field(1280, 64, "VL15Dropped", Show::Unsigned),
    field(1344, 64, "PortXmitWait", Show::Unsigned),
    field(1408, 64, "QP1Dropped", Show::Unsigned),
];

/// Port and counters of a request.
pub(in crate::compat) const SELECTION: &[Field] =
    &[field(8, 8, "PortSelect", Show::Unsigned), field(16, 16, "CounterSelect", Show::Hex)];

/// Transmitted data per service level (SL).
pub(in crate::compat) const TRANSMIT_DATA_SL: &[Field] = &[
    field(32, 32, "XmtDataSL0", Show::Unsigned),
    field(64, 32, "XmtDataSL1", Show::Unsigned),
    field(96, 32, "XmtDataSL2", Show::Unsigned),
    field(128, 32, "XmtDataSL3", Show::Unsigned),
    field(160, 32, "XmtDataSL4", Show::Unsigned),
    field(192, 32, "XmtDataSL5", Show::Unsigned),
    field(224, 32, "XmtDataSL6", Show::Unsigned),
    field(256, 32, "XmtDataSL7", Show::Unsigned),
    field(288, 32, "XmtDataSL8", Show::Unsigned),
    field(320, 32, "XmtDataSL9", Show::Unsigned),
    field(352, 32, "XmtDataSL10", Show::Unsigned),
    field(384, 32, "XmtDataSL11", Show::Unsigned),
    field(416, 32, "XmtDataSL12", Show::Unsigned),
    field(448, 32, "XmtDataSL13", Show::Unsigned),
    field(480, 32, "XmtDataSL14", Show::Unsigned),
    field(512, 32, "XmtDataSL15", Show::Unsigned),
];

/// Received data per service level (SL).
pub(in crate::compat) const RECEIVE_DATA_SL: &[Field] = &[
    field(32, 32, "RcvDataSL0", Show::Unsigned),
    field(64, 32, "RcvDataSL1", Show::Unsigned),
    field(96, 32, "RcvDataSL2", Show::Unsigned),
    field(128, 32, "RcvDataSL3", Show::Unsigned),
    field(160, 32, "RcvDataSL4", Show::Unsigned),
    field(192, 32, "RcvDataSL5", Show::Unsigned),
    field(224, 32, "RcvDataSL6", Show::Unsigned),
    field(256, 32, "RcvDataSL7", Show::Unsigned),
    field(288, 32, "RcvDataSL8", Show::Unsigned),
    field(320, 32, "RcvDataSL9", Show::Unsigned),
    field(352, 32, "RcvDataSL10", Show::Unsigned),
    field(384, 32, "RcvDataSL11", Show::Unsigned),
    field(416, 32, "RcvDataSL12", Show::Unsigned),
    field(448, 32, "RcvDataSL13", Show::Unsigned),
    field(480, 32, "RcvDataSL14", Show::Unsigned),
    field(512, 32, "RcvDataSL15", Show::Unsigned),
];

/// Transmit discards.
pub(in crate::compat) const TRANSMIT_DISCARDS: &[Field] = &[
    field(32, 16, "PortInactiveDiscards", Show::Unsigned),
    field(48, 16, "PortNeighborMTUDiscards", Show::Unsigned),
    field(64, 16, "PortSwLifetimeLimitDiscards", Show::Unsigned),
    field(80, 16, "PortSwHOQLifetimeLimitDiscards", Show::Unsigned),
];

/// Receive errors.
pub(in crate::compat) const RECEIVE_ERRORS: &[Field] = &[
    field(32, 16, "PortLocalPhysicalErrors", Show::Unsigned),
    field(48, 16, "PortMalformedPktErrors", Show::Unsigned),
    field(64, 16, "PortBufferOverrunErrors", Show::Unsigned),
    field(80, 16, "PortDLIDMappingErrors", Show::Unsigned),
    field(96, 16, "PortVLMappingErrors", Show::Unsigned),
    field(112, 16, "PortLoopingErrors", Show::Unsigned),
];

/// Received packets and data per operation.
pub(in crate::compat) const OP_RECEIVE: &[Field] = &[
    field(32, 32, "PortOpRcvPkts", Show::Unsigned),
    field(64, 32, "PortOpRcvData", Show::Unsigned),
];

/// Flow control.
pub(in crate::compat) const FLOW_CONTROL: &[Field] = &[
    field(32, 32, "PortXmitFlowPkts", Show::Unsigned),
    field(64, 32, "PortRcvFlowPkts", Show::Unsigned),
];

/// Packets per operation and virtual lane (VL).
pub(in crate::compat) const VL_OP_PACKETS: &[Field] = &[
    field(32, 16, "PortVLOpPackets0", Show::Unsigned),
    field(48, 16, "PortVLOpPackets1", Show::Unsigned),
    field(64, 16, "PortVLOpPackets2", Show::Unsigned),
    field(80, 16, "PortVLOpPackets3", Show::Unsigned),
    field(96, 16, "PortVLOpPackets4", Show::Unsigned),
    field(112, 16, "PortVLOpPackets5", Show::Unsigned),
    field(128, 16, "PortVLOpPackets6", Show::Unsigned),
    field(144, 16, "PortVLOpPackets7", Show::Unsigned),
    field(160, 16, "PortVLOpPackets8", Show::Unsigned),
    field(176, 16, "PortVLOpPackets9", Show::Unsigned),
    field(192, 16, "PortVLOpPackets10", Show::Unsigned),
    field(208, 16, "PortVLOpPackets11", Show::Unsigned),
    field(224, 16, "PortVLOpPackets12", Show::Unsigned),
    field(240, 16, "PortVLOpPackets13", Show::Unsigned),
    field(256, 16, "PortVLOpPackets14", Show::Unsigned),
    field(272, 16, "PortVLOpPackets15", Show::Unsigned),
];

/// Data per operation and virtual lane (VL).
pub(in crate::compat) const VL_OP_DATA: &[Field] = &[
    field(32, 32, "PortVLOpData0", Show::Unsigned),
    field(64, 32, "PortVLOpData1", Show::Unsigned),
    field(96, 32, "PortVLOpData2", Show::Unsigned),
    field(128, 32, "PortVLOpData3", Show::Unsigned),
    field(160, 32, "PortVLOpData4", Show::Unsigned),
    field(192, 32, "PortVLOpData5", Show::Unsigned),
    field(224, 32, "PortVLOpData6", Show::Unsigned),
    field(256, 32, "PortVLOpData7", Show::Unsigned),
    field(288, 32, "PortVLOpData8", Show::Unsigned),
    field(320, 32, "PortVLOpData9", Show::Unsigned),
    field(352, 32, "PortVLOpData10", Show::Unsigned),
    field(384, 32, "PortVLOpData11", Show::Unsigned),
    field(416, 32, "PortVLOpData12", Show::Unsigned),
    field(448, 32, "PortVLOpData13", Show::Unsigned),
    field(480, 32, "PortVLOpData14", Show::Unsigned),
    field(512, 32, "PortVLOpData15", Show::Unsigned),
];

/// Flow control update errors per virtual lane (VL).
pub(in crate::compat) const VL_FLOW_CONTROL_ERRORS: &[Field] = &[
    field(32, 2, "PortVLXmitFlowCtlUpdateErrors0", Show::Unsigned),
    field(34, 2, "PortVLXmitFlowCtlUpdateErrors1", Show::Unsigned),
    field(36, 2, "PortVLXmitFlowCtlUpdateErrors2", Show::Unsigned),
    field(38, 2, "PortVLXmitFlowCtlUpdateErrors3", Show::Unsigned),
    field(40, 2, "PortVLXmitFlowCtlUpdateErrors4", Show::Unsigned),
    field(42, 2, "PortVLXmitFlowCtlUpdateErrors5", Show::Unsigned),
    field(44, 2, "PortVLXmitFlowCtlUpdateErrors6", Show::Unsigned),
    field(46, 2, "PortVLXmitFlowCtlUpdateErrors7", Show::Unsigned),
    field(48, 2, "PortVLXmitFlowCtlUpdateErrors8", Show::Unsigned),
    field(50, 2, "PortVLXmitFlowCtlUpdateErrors9", Show::Unsigned),
    field(52, 2, "PortVLXmitFlowCtlUpdateErrors10", Show::Unsigned),
    field(54, 2, "PortVLXmitFlowCtlUpdateErrors11", Show::Unsigned),
    field(56, 2, "PortVLXmitFlowCtlUpdateErrors12", Show::Unsigned),
    field(58, 2, "PortVLXmitFlowCtlUpdateErrors13", Show::Unsigned),
    field(60, 2, "PortVLXmitFlowCtlUpdateErrors14", Show::Unsigned),
    field(62, 2, "PortVLXmitFlowCtlUpdateErrors15", Show::Unsigned),
];

/// Transmit wait per virtual lane (VL).
pub(in crate::compat) const VL_TRANSMIT_WAIT: &[Field] = &[
    field(32, 16, "PortVLXmitWait0", Show::Unsigned),
    field(48, 16, "PortVLXmitWait1", Show::Unsigned),
    field(64, 16, "PortVLXmitWait2", Show::Unsigned),
    field(80, 16, "PortVLXmitWait3", Show::Unsigned),
    field(96, 16, "PortVLXmitWait4", Show::Unsigned),
    field(112, 16, "PortVLXmitWait5", Show::Unsigned),
    field(128, 16, "PortVLXmitWait6", Show::Unsigned),
    field(144, 16, "PortVLXmitWait7", Show::Unsigned),
    field(160, 16, "PortVLXmitWait8", Show::Unsigned),
    field(176, 16, "PortVLXmitWait9", Show::Unsigned),
    field(192, 16, "PortVLXmitWait10", Show::Unsigned),
    field(208, 16, "PortVLXmitWait11", Show::Unsigned),
    field(224, 16, "PortVLXmitWait12", Show::Unsigned),
    field(240, 16, "PortVLXmitWait13", Show::Unsigned),
    field(256, 16, "PortVLXmitWait14", Show::Unsigned),
    field(272, 16, "PortVLXmitWait15", Show::Unsigned),
];

/// Switch congestion per virtual lane (VL).
pub(in crate::compat) const SWITCH_VL_CONGESTION: &[Field] = &[
    field(32, 16, "SWPortVLCongestion0", Show::Unsigned),
    field(48, 16, "SWPortVLCongestion1", Show::Unsigned),
    field(64, 16, "SWPortVLCongestion2", Show::Unsigned),
    field(80, 16, "SWPortVLCongestion3", Show::Unsigned),
    field(96, 16, "SWPortVLCongestion4", Show::Unsigned),
    field(112, 16, "SWPortVLCongestion5", Show::Unsigned),
    field(128, 16, "SWPortVLCongestion6", Show::Unsigned),
    field(144, 16, "SWPortVLCongestion7", Show::Unsigned),
    field(160, 16, "SWPortVLCongestion8", Show::Unsigned),
    field(176, 16, "SWPortVLCongestion9", Show::Unsigned),
    field(192, 16, "SWPortVLCongestion10", Show::Unsigned),
    field(208, 16, "SWPortVLCongestion11", Show::Unsigned),
    field(224, 16, "SWPortVLCongestion12", Show::Unsigned),
    field(240, 16, "SWPortVLCongestion13", Show::Unsigned),
    field(256, 16, "SWPortVLCongestion14", Show::Unsigned),
    field(272, 16, "SWPortVLCongestion15", Show::Unsigned),
];

/// Received congestion notifications.
pub(in crate::compat) const CONGESTION_RECEIVED: &[Field] = &[
    field(32, 32, "PortPktRcvFECN", Show::Unsigned),
    field(64, 32, "PortPktRcvBECN", Show::Unsigned),
];

/// Received FECN per service level (SL).
pub(in crate::compat) const SL_FECN: &[Field] = &[
    field(32, 32, "PortSLRcvFECN0", Show::Unsigned),
    field(64, 32, "PortSLRcvFECN1", Show::Unsigned),
    field(96, 32, "PortSLRcvFECN2", Show::Unsigned),
    field(128, 32, "PortSLRcvFECN3", Show::Unsigned),
    field(160, 32, "PortSLRcvFECN4", Show::Unsigned),
    field(192, 32, "PortSLRcvFECN5", Show::Unsigned),
    field(224, 32, "PortSLRcvFECN6", Show::Unsigned),
    field(256, 32, "PortSLRcvFECN7", Show::Unsigned),
    field(288, 32, "PortSLRcvFECN8", Show::Unsigned),
    field(320, 32, "PortSLRcvFECN9", Show::Unsigned),
    field(352, 32, "PortSLRcvFECN10", Show::Unsigned),
    field(384, 32, "PortSLRcvFECN11", Show::Unsigned),
    field(416, 32, "PortSLRcvFECN12", Show::Unsigned),
    field(448, 32, "PortSLRcvFECN13", Show::Unsigned),
    field(480, 32, "PortSLRcvFECN14", Show::Unsigned),
    field(512, 32, "PortSLRcvFECN15", Show::Unsigned),
];

/// Received BECN per service level (SL).
pub(in crate::compat) const SL_BECN: &[Field] = &[
    field(32, 32, "PortSLRcvBECN0", Show::Unsigned),
    field(64, 32, "PortSLRcvBECN1", Show::Unsigned),
    field(96, 32, "PortSLRcvBECN2", Show::Unsigned),
    field(128, 32, "PortSLRcvBECN3", Show::Unsigned),
    field(160, 32, "PortSLRcvBECN4", Show::Unsigned),
    field(192, 32, "PortSLRcvBECN5", Show::Unsigned),
    field(224, 32, "PortSLRcvBECN6", Show::Unsigned),
    field(256, 32, "PortSLRcvBECN7", Show::Unsigned),
    field(288, 32, "PortSLRcvBECN8", Show::Unsigned),
    field(320, 32, "PortSLRcvBECN9", Show::Unsigned),
    field(352, 32, "PortSLRcvBECN10", Show::Unsigned),
    field(384, 32, "PortSLRcvBECN11", Show::Unsigned),
    field(416, 32, "PortSLRcvBECN12", Show::Unsigned),
    field(448, 32, "PortSLRcvBECN13", Show::Unsigned),
    field(480, 32, "PortSLRcvBECN14", Show::Unsigned),
    field(512, 32, "PortSLRcvBECN15", Show::Unsigned),
];

/// Time of congestion of the port.
pub(in crate::compat) const CONGESTION_SENT: &[Field] =
    &[field(32, 32, "PortXmitTimeCong", Show::Unsigned)];

/// Time of congestion per virtual lane (VL).
pub(in crate::compat) const VL_CONGESTION: &[Field] = &[
    field(32, 32, "PortVLXmitTimeCong0", Show::Unsigned),
    field(64, 32, "PortVLXmitTimeCong1", Show::Unsigned),
    field(96, 32, "PortVLXmitTimeCong2", Show::Unsigned),
    field(128, 32, "PortVLXmitTimeCong3", Show::Unsigned),
    field(160, 32, "PortVLXmitTimeCong4", Show::Unsigned),
    field(192, 32, "PortVLXmitTimeCong5", Show::Unsigned),
    field(224, 32, "PortVLXmitTimeCong6", Show::Unsigned),
    field(256, 32, "PortVLXmitTimeCong7", Show::Unsigned),
    field(288, 32, "PortVLXmitTimeCong8", Show::Unsigned),
    field(320, 32, "PortVLXmitTimeCong9", Show::Unsigned),
    field(352, 32, "PortVLXmitTimeCong10", Show::Unsigned),
    field(384, 32, "PortVLXmitTimeCong11", Show::Unsigned),
    field(416, 32, "PortVLXmitTimeCong12", Show::Unsigned),
    field(448, 32, "PortVLXmitTimeCong13", Show::Unsigned),
    field(480, 32, "PortVLXmitTimeCong14", Show::Unsigned),
];

/// Control of port samples.
pub(in crate::compat) const SAMPLES_CONTROL: &[Field] = &[
    field(0, 8, "OpCode", Show::Hex),
    field(8, 8, "PortSelect", Show::Unsigned),
    field(16, 8, "Tick", Show::Hex),
    field(29, 3, "CounterWidth", Show::Unsigned),
    field(34, 3, "CounterMask0", Show::Hex),
    field(37, 27, "CounterMasks1to9", Show::Hex),
    field(65, 15, "CounterMasks10to14", Show::Hex),
    field(80, 8, "SampleMechanisms", Show::Unsigned),
    field(94, 2, "SampleStatus", Show::Unsigned),
    field(96, 64, "OptionMask", Show::Hex),
    field(160, 64, "VendorMask", Show::Hex),
    field(224, 32, "SampleStart", Show::Unsigned),
    field(256, 32, "SampleInterval", Show::Unsigned),
    field(288, 16, "Tag", Show::Hex),
    field(304, 16, "CounterSelect0", Show::Hex),
    field(320, 16, "CounterSelect1", Show::Hex),
    field(336, 16, "CounterSelect2", Show::Hex),
    field(352, 16, "CounterSelect3", Show::Hex),
    field(368, 16, "CounterSelect4", Show::Hex),
    field(384, 16, "CounterSelect5", Show::Hex),
    field(400, 16, "CounterSelect6", Show::Hex),
    field(416, 16, "CounterSelect7", Show::Hex),
    field(432, 16, "CounterSelect8", Show::Hex),
    field(448, 16, "CounterSelect9", Show::Hex),
    field(464, 16, "CounterSelect10", Show::Hex),
    field(480, 16, "CounterSelect11", Show::Hex),
    field(496, 16, "CounterSelect12", Show::Hex),
    field(512, 16, "CounterSelect13", Show::Hex),
    field(528, 16, "CounterSelect14", Show::Hex),
    field(576, 64, "SamplesOnlyOptionMask", Show::Hex),
];

/// Port information of Mellanox devices.
pub(in crate::compat) const MELLANOX_PORT_INFO: &[Field] = &[
    field(24, 8, "StateChangeEnable", Show::Hex),
    field(56, 8, "LinkSpeedSupported", Show::Hex),
    field(88, 8, "LinkSpeedEnabled", Show::Hex),
    field(120, 8, "LinkSpeedActive", Show::Hex),
];

/// Extended port information.
pub(in crate::compat) const PORT_INFO_EXTENDED: &[Field] = &[
    field(0, 32, "CapMask", Show::Hex),
    field(32, 16, "FECModeActive", Show::Unsigned),
    field(48, 16, "FDRFECModeSupported", Show::Hex),
    field(64, 16, "FDRFECModeEnabled", Show::Hex),
    field(80, 16, "EDRFECModeSupported", Show::Hex),
    field(96, 16, "EDRFECModeEnabled", Show::Hex),
    field(112, 16, "HDRFECModeSupported", Show::Hex),
    field(128, 16, "HDRFECModeEnabled", Show::Hex),
    field(144, 16, "NDRFECModeSupported", Show::Hex),
    field(160, 16, "NDRFECModeEnabled", Show::Hex),
];
