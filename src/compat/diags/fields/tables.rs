//! Tables of the printed fields: names, positions and formats. Used by `fields`.
//!
//! Positions are those of the specification, also of HDR and NDR FEC modes, which the originals
//! read from other positions. Bit 0 is the most significant bit of byte 0.

use super::Field;
use crate::compat::diags::ValueFormat;

const fn field(bit: usize, bits: usize, name: &'static str, show: ValueFormat) -> Field {
    Field { bit, bits, name, index: None, show }
}

/// Returns fields that follow each other. Their names end with their index.
pub(crate) const fn numbered<const COUNT: usize>(
    name: &'static str,
    bit: usize,
    bits: usize,
    show: ValueFormat,
) -> [Field; COUNT] {
    let mut fields = [field(bit, bits, name, show); COUNT];
    let mut index = 0;
    while index < COUNT {
        fields[index].bit += index * bits;
        fields[index].index = Some(index);
        index += 1;
    }
    fields
}

/// `PortInfo` up to the round trip time.
pub(crate) const PORT_INFO: &[Field] = &[
    field(0, 64, "Mkey", ValueFormat::Hex),
    field(64, 64, "GidPrefix", ValueFormat::Hex),
    field(128, 16, "Lid", ValueFormat::Unsigned),
    field(144, 16, "SMLid", ValueFormat::Unsigned),
    field(160, 32, "CapMask", ValueFormat::Capabilities),
    field(192, 16, "DiagCode", ValueFormat::Hex),
    field(208, 16, "MkeyLeasePeriod", ValueFormat::Unsigned),
    field(224, 8, "LocalPort", ValueFormat::Unsigned),
    field(232, 8, "LinkWidthEnabled", ValueFormat::WidthEnabled),
    field(240, 8, "LinkWidthSupported", ValueFormat::WidthSupported),
    field(248, 8, "LinkWidthActive", ValueFormat::Width),
    field(256, 4, "LinkSpeedSupported", ValueFormat::Speeds),
    field(260, 4, "LinkState", ValueFormat::State),
    field(264, 4, "PhysLinkState", ValueFormat::PhysicalState),
    field(268, 4, "LinkDownDefState", ValueFormat::DownDefault),
    field(272, 2, "ProtectBits", ValueFormat::Unsigned),
    field(277, 3, "LMC", ValueFormat::Unsigned),
    field(280, 4, "LinkSpeedActive", ValueFormat::Speed),
    field(284, 4, "LinkSpeedEnabled", ValueFormat::Speeds),
    field(288, 4, "NeighborMTU", ValueFormat::Mtu),
    field(292, 4, "SMSL", ValueFormat::Unsigned),
    field(296, 4, "VLCap", ValueFormat::VlCapability),
    field(300, 4, "InitType", ValueFormat::Hex),
    field(304, 8, "VLHighLimit", ValueFormat::Unsigned),
    field(312, 8, "VLArbHighCap", ValueFormat::Unsigned),
    field(320, 8, "VLArbLowCap", ValueFormat::Unsigned),
    field(328, 4, "InitReply", ValueFormat::Hex),
    field(332, 4, "MtuCap", ValueFormat::Mtu),
    field(336, 3, "VLStallCount", ValueFormat::Unsigned),
    field(339, 5, "HoqLife", ValueFormat::Unsigned),
    field(344, 4, "OperVLs", ValueFormat::OperationalVls),
    field(348, 1, "PartEnforceInb", ValueFormat::Unsigned),
    field(349, 1, "PartEnforceOutb", ValueFormat::Unsigned),
    field(350, 1, "FilterRawInb", ValueFormat::Unsigned),
    field(351, 1, "FilterRawOutb", ValueFormat::Unsigned),
    field(352, 16, "MkeyViolations", ValueFormat::Unsigned),
    field(368, 16, "PkeyViolations", ValueFormat::Unsigned),
    field(384, 16, "QkeyViolations", ValueFormat::Unsigned),
    field(400, 8, "GuidCap", ValueFormat::Unsigned),
    field(408, 1, "ClientReregister", ValueFormat::Unsigned),
    field(409, 2, "McastPkeyTrapSuppressionEnabled", ValueFormat::Unsigned),
    field(411, 5, "SubnetTimeout", ValueFormat::Unsigned),
    field(419, 5, "RespTimeVal", ValueFormat::Unsigned),
    field(424, 4, "LocalPhysErr", ValueFormat::Unsigned),
    field(428, 4, "OverrunErr", ValueFormat::Unsigned),
    field(432, 16, "MaxCreditHint", ValueFormat::Unsigned),
    field(456, 24, "RoundTrip", ValueFormat::Unsigned),
];

/// `PortInfo`: second capability mask and extended speeds.
pub(crate) const PORT_INFO_EXTENDED_SPEEDS: &[Field] = &[
    field(480, 16, "CapabilityMask2", ValueFormat::Capabilities2),
    field(496, 4, "LinkSpeedExtActive", ValueFormat::ExtendedSpeed),
    field(500, 4, "LinkSpeedExtSupported", ValueFormat::ExtendedSpeeds),
    field(507, 5, "LinkSpeedExtEnabled", ValueFormat::ExtendedSpeedsEnabled),
];

pub(crate) const NODE_INFO: &[Field] = &[
    field(0, 8, "BaseVers", ValueFormat::Unsigned),
    field(8, 8, "ClassVers", ValueFormat::Unsigned),
    field(16, 8, "NodeType", ValueFormat::NodeType),
    field(24, 8, "NumPorts", ValueFormat::Unsigned),
    field(32, 64, "SystemGuid", ValueFormat::Hex),
    field(96, 64, "Guid", ValueFormat::Hex),
    field(160, 64, "PortGuid", ValueFormat::Hex),
    field(224, 16, "PartCap", ValueFormat::Unsigned),
    field(240, 16, "DevId", ValueFormat::Hex),
    field(256, 32, "Revision", ValueFormat::Hex),
    field(288, 8, "LocalPort", ValueFormat::Unsigned),
    field(296, 24, "VendorId", ValueFormat::Hex),
];

pub(crate) const SWITCH_INFO: &[Field] = &[
    field(0, 16, "LinearFdbCap", ValueFormat::Unsigned),
    field(16, 16, "RandomFdbCap", ValueFormat::Unsigned),
    field(32, 16, "McastFdbCap", ValueFormat::Unsigned),
    field(48, 16, "LinearFdbTop", ValueFormat::Unsigned),
    field(64, 8, "DefPort", ValueFormat::Unsigned),
    field(72, 8, "DefMcastPrimPort", ValueFormat::Unsigned),
    field(80, 8, "DefMcastNotPrimPort", ValueFormat::Unsigned),
    field(88, 5, "LifeTime", ValueFormat::Unsigned),
    field(93, 1, "StateChange", ValueFormat::Unsigned),
    field(94, 2, "OptSLtoVLMapping", ValueFormat::Unsigned),
    field(96, 16, "LidsPerPort", ValueFormat::Unsigned),
    field(112, 16, "PartEnforceCap", ValueFormat::Unsigned),
    field(128, 1, "InboundPartEnf", ValueFormat::Unsigned),
    field(129, 1, "OutboundPartEnf", ValueFormat::Unsigned),
    field(130, 1, "FilterRawInbound", ValueFormat::Unsigned),
    field(131, 1, "FilterRawOutbound", ValueFormat::Unsigned),
    field(132, 1, "EnhancedPort0", ValueFormat::Unsigned),
    field(144, 16, "MulticastFDBTop", ValueFormat::Hex),
];

pub(crate) const PORT_COUNTERS: &[Field] = &[
    field(8, 8, "PortSelect", ValueFormat::Unsigned),
    field(16, 16, "CounterSelect", ValueFormat::Hex),
    field(32, 16, "SymbolErrorCounter", ValueFormat::Unsigned),
    field(48, 8, "LinkErrorRecoveryCounter", ValueFormat::Unsigned),
    field(56, 8, "LinkDownedCounter", ValueFormat::Unsigned),
    field(64, 16, "PortRcvErrors", ValueFormat::Unsigned),
    field(80, 16, "PortRcvRemotePhysicalErrors", ValueFormat::Unsigned),
    field(96, 16, "PortRcvSwitchRelayErrors", ValueFormat::Unsigned),
    field(112, 16, "PortXmitDiscards", ValueFormat::Unsigned),
    field(128, 8, "PortXmitConstraintErrors", ValueFormat::Unsigned),
    field(136, 8, "PortRcvConstraintErrors", ValueFormat::Unsigned),
    field(144, 8, "CounterSelect2", ValueFormat::Hex),
    field(152, 4, "LocalLinkIntegrityErrors", ValueFormat::Unsigned),
    field(156, 4, "ExcessiveBufferOverrunErrors", ValueFormat::Unsigned),
    field(160, 16, "QP1Dropped", ValueFormat::Unsigned),
    field(176, 16, "VL15Dropped", ValueFormat::Unsigned),
    field(192, 32, "PortXmitData", ValueFormat::Unsigned),
    field(224, 32, "PortRcvData", ValueFormat::Unsigned),
    field(256, 32, "PortXmitPkts", ValueFormat::Unsigned),
    field(288, 32, "PortRcvPkts", ValueFormat::Unsigned),
    field(320, 32, "PortXmitWait", ValueFormat::Unsigned),
];

/// `PortCountersExtended`: selection, data and packets.
pub(crate) const EXTENDED: &[Field] = &[
    field(8, 8, "PortSelect", ValueFormat::Unsigned),
    field(16, 16, "CounterSelect", ValueFormat::Hex),
    field(64, 64, "PortXmitData", ValueFormat::Unsigned),
    field(128, 64, "PortRcvData", ValueFormat::Unsigned),
    field(192, 64, "PortXmitPkts", ValueFormat::Unsigned),
    field(256, 64, "PortRcvPkts", ValueFormat::Unsigned),
];

/// `PortCountersExtended`: unicast and multicast packets.
pub(crate) const EXTENDED_CASTS: &[Field] = &[
    field(320, 64, "PortUnicastXmitPkts", ValueFormat::Unsigned),
    field(384, 64, "PortUnicastRcvPkts", ValueFormat::Unsigned),
    field(448, 64, "PortMulticastXmitPkts", ValueFormat::Unsigned),
    field(512, 64, "PortMulticastRcvPkts", ValueFormat::Unsigned),
];

/// `PortCountersExtended`: errors.
pub(crate) const EXTENDED_ERRORS: &[Field] = &[
    field(32, 32, "CounterSelect2", ValueFormat::Hex),
    field(576, 64, "SymbolErrorCounter", ValueFormat::Unsigned),
    field(640, 64, "LinkErrorRecoveryCounter", ValueFormat::Unsigned),
    field(704, 64, "LinkDownedCounter", ValueFormat::Unsigned),
    field(768, 64, "PortRcvErrors", ValueFormat::Unsigned),
    field(832, 64, "PortRcvRemotePhysicalErrors", ValueFormat::Unsigned),
    field(896, 64, "PortRcvSwitchRelayErrors", ValueFormat::Unsigned),
    field(960, 64, "PortXmitDiscards", ValueFormat::Unsigned),
    field(1024, 64, "PortXmitConstraintErrors", ValueFormat::Unsigned),
    field(1088, 64, "PortRcvConstraintErrors", ValueFormat::Unsigned),
    field(1152, 64, "LocalLinkIntegrityErrors", ValueFormat::Unsigned),
    field(1216, 64, "ExcessiveBufferOverrunErrors", ValueFormat::Unsigned),
    field(1280, 64, "VL15Dropped", ValueFormat::Unsigned),
    field(1344, 64, "PortXmitWait", ValueFormat::Unsigned),
    field(1408, 64, "QP1Dropped", ValueFormat::Unsigned),
];

/// Port and counters of a request.
pub(crate) const SELECTION: &[Field] = &[
    field(8, 8, "PortSelect", ValueFormat::Unsigned),
    field(16, 16, "CounterSelect", ValueFormat::Hex),
];

pub(crate) const TRANSMIT_DISCARDS: &[Field] = &[
    field(32, 16, "PortInactiveDiscards", ValueFormat::Unsigned),
    field(48, 16, "PortNeighborMTUDiscards", ValueFormat::Unsigned),
    field(64, 16, "PortSwLifetimeLimitDiscards", ValueFormat::Unsigned),
    field(80, 16, "PortSwHOQLifetimeLimitDiscards", ValueFormat::Unsigned),
];

pub(crate) const RECEIVE_ERRORS: &[Field] = &[
    field(32, 16, "PortLocalPhysicalErrors", ValueFormat::Unsigned),
    field(48, 16, "PortMalformedPktErrors", ValueFormat::Unsigned),
    field(64, 16, "PortBufferOverrunErrors", ValueFormat::Unsigned),
    field(80, 16, "PortDLIDMappingErrors", ValueFormat::Unsigned),
    field(96, 16, "PortVLMappingErrors", ValueFormat::Unsigned),
    field(112, 16, "PortLoopingErrors", ValueFormat::Unsigned),
];

/// Received packets and data per operation.
pub(crate) const OP_RECEIVE: &[Field] = &[
    field(32, 32, "PortOpRcvPkts", ValueFormat::Unsigned),
    field(64, 32, "PortOpRcvData", ValueFormat::Unsigned),
];

pub(crate) const FLOW_CONTROL: &[Field] = &[
    field(32, 32, "PortXmitFlowPkts", ValueFormat::Unsigned),
    field(64, 32, "PortRcvFlowPkts", ValueFormat::Unsigned),
];

pub(crate) const CONGESTION_RECEIVED: &[Field] = &[
    field(32, 32, "PortPktRcvFECN", ValueFormat::Unsigned),
    field(64, 32, "PortPktRcvBECN", ValueFormat::Unsigned),
];

/// Time of congestion of the port.
pub(crate) const CONGESTION_SENT: &[Field] =
    &[field(32, 32, "PortXmitTimeCong", ValueFormat::Unsigned)];

pub(crate) const SAMPLES_CONTROL: [&[Field]; 3] = [
    &[
        field(0, 8, "OpCode", ValueFormat::Hex),
        field(8, 8, "PortSelect", ValueFormat::Unsigned),
        field(16, 8, "Tick", ValueFormat::Hex),
        field(29, 3, "CounterWidth", ValueFormat::Unsigned),
        field(34, 3, "CounterMask0", ValueFormat::Hex),
        field(37, 27, "CounterMasks1to9", ValueFormat::Hex),
        field(65, 15, "CounterMasks10to14", ValueFormat::Hex),
        field(80, 8, "SampleMechanisms", ValueFormat::Unsigned),
        field(94, 2, "SampleStatus", ValueFormat::Unsigned),
        field(96, 64, "OptionMask", ValueFormat::Hex),
        field(160, 64, "VendorMask", ValueFormat::Hex),
        field(224, 32, "SampleStart", ValueFormat::Unsigned),
        field(256, 32, "SampleInterval", ValueFormat::Unsigned),
        field(288, 16, "Tag", ValueFormat::Hex),
    ],
    &numbered::<15>("CounterSelect", 304, 16, ValueFormat::Hex),
    &[field(576, 64, "SamplesOnlyOptionMask", ValueFormat::Hex)],
];

pub(crate) const MELLANOX_PORT_INFO: &[Field] = &[
    field(24, 8, "StateChangeEnable", ValueFormat::Hex),
    field(56, 8, "LinkSpeedSupported", ValueFormat::Hex),
    field(88, 8, "LinkSpeedEnabled", ValueFormat::Hex),
    field(120, 8, "LinkSpeedActive", ValueFormat::Hex),
];

pub(crate) const PORT_INFO_EXTENDED: &[Field] = &[
    field(0, 32, "CapMask", ValueFormat::Hex),
    field(32, 16, "FECModeActive", ValueFormat::Unsigned),
    field(48, 16, "FDRFECModeSupported", ValueFormat::Hex),
    field(64, 16, "FDRFECModeEnabled", ValueFormat::Hex),
    field(80, 16, "EDRFECModeSupported", ValueFormat::Hex),
    field(96, 16, "EDRFECModeEnabled", ValueFormat::Hex),
    field(112, 16, "HDRFECModeSupported", ValueFormat::Hex),
    field(128, 16, "HDRFECModeEnabled", ValueFormat::Hex),
    field(144, 16, "NDRFECModeSupported", ValueFormat::Hex),
    field(160, 16, "NDRFECModeEnabled", ValueFormat::Hex),
];
