//! Ethernet settings and counters of a network interface.
//! `collect` reads them from ethtool netlink and DCB; `query` shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Dcb;

/// Settings and state of an Ethernet interface, from ethtool netlink and DCB.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Ethernet {
    /// Connector type: `fibre`, `direct attach`, `twisted pair`.
    pub connector: Option<String>,
    /// Link speed in bits per second; `None` if the link is down or the speed is unknown.
    pub speed_bps: Option<u64>,
    /// Number of lanes of the link.
    pub lanes: Option<u32>,
    /// True if the ends negotiate the speed.
    pub autoneg: Option<bool>,
    /// Reason for a link that is down, in the words of the kernel: `no cable`, `autoneg: no
    /// partner detected`.
    #[serde(default, deserialize_with = "super::words::read_optional")]
    #[schemars(!default)]
    pub down_reason: Option<String>,
    /// Number of times that the link went down, as the driver counts.
    pub down_count: Option<u64>,
    /// Signal quality from 0 to 7; `None` if the PHY does not measure it.
    pub signal_quality: Option<u32>,
    /// Link-level flow control, which pauses all traffic regardless of its priority.
    pub pause: Option<Pause>,
    /// Forward error correction.
    pub fec: Option<Fec>,
    /// Plugged-in module.
    pub module: Option<Module>,
    /// IEEE 802.3 and RMON counters of the driver.
    pub counters: Vec<EthernetCounter>,
    /// Priorities and lossless traffic classes; `None` if the driver has no DCB.
    pub dcb: Option<Dcb>,
}

/// Link-level flow control (IEEE 802.3x).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pause {
    /// True if the ends negotiate flow control.
    pub autoneg: Option<bool>,
    /// True if this end pauses when it receives a pause frame.
    pub rx: Option<bool>,
    /// True if this end sends pause frames.
    pub tx: Option<bool>,
    /// Pause frames that were received.
    pub rx_frames: Option<u64>,
    /// Pause frames that were sent.
    pub tx_frames: Option<u64>,
}

/// Forward error correction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fec {
    /// Encoding in use: `RS`, `BaseR`, `LLRS`, `none`; `None` without a link.
    pub active: Option<String>,
    /// Configured encodings.
    pub configured: Vec<String>,
    /// True if the driver selects the encoding.
    pub auto: Option<bool>,
    /// Blocks with errors that were corrected.
    pub corrected_blocks: Option<u64>,
    /// Blocks with errors that could not be corrected.
    pub uncorrectable_blocks: Option<u64>,
}

/// Plugged-in module or cable end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Module {
    /// Module type from the first byte of its memory (SFF-8024): `QSFP28`; `None` unless rdmactl
    /// runs as root.
    pub identifier: Option<String>,
    /// Power mode: `low` or `high`.
    pub power_mode: Option<String>,
    /// Power policy, which selects the power mode: `high` or `auto`.
    pub power_policy: Option<String>,
}

/// IEEE 802.3 or RMON counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EthernetCounter {
    /// Name, derived from the standard: `frame_check_sequence_errors`.
    pub name: String,
    /// Value since the counter was cleared.
    pub value: u64,
}
