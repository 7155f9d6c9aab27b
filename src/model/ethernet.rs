use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Dcb;

/// The settings and state of an Ethernet interface, as ethtool netlink and DCB tell them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Ethernet {
    /// What the cable goes into: `fibre`, `direct attach`, `twisted pair`.
    pub connector: Option<String>,
    /// Speed of the link in bits per second; `None` while it is down or unknown.
    pub speed_bps: Option<u64>,
    /// How many lanes carry it.
    pub lanes: Option<u32>,
    /// Whether the two ends agree on the speed by themselves.
    pub autoneg: Option<bool>,
    /// Why the link is down, in the kernel's words: `no cable`, `autoneg: no partner detected`.
    pub down_reason: Option<String>,
    /// How often the link went down, by the driver's count.
    pub down_count: Option<u64>,
    /// Signal quality from 0 to 7, where the PHY measures it.
    pub signal_quality: Option<u32>,
    /// Link-level flow control, which holds up all traffic alike.
    pub pause: Option<Pause>,
    /// Forward error correction.
    pub fec: Option<Fec>,
    /// The plugged-in module.
    pub module: Option<Module>,
    /// The counters of IEEE 802.3 and RMON that the driver has.
    pub counters: Vec<EthernetCounter>,
    /// Priorities, and which of them lose nothing; `None` where the driver has no DCB.
    pub dcb: Option<Dcb>,
}

/// Link-level flow control (IEEE 802.3x).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pause {
    /// Whether it is agreed on with the other end.
    pub autoneg: Option<bool>,
    /// Whether this end stops when it is asked to.
    pub rx: Option<bool>,
    /// Whether this end asks the other one to stop.
    pub tx: Option<bool>,
    /// How often it was asked to.
    pub rx_frames: Option<u64>,
    /// How often it asked.
    pub tx_frames: Option<u64>,
}

/// Forward error correction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fec {
    /// The one in use: `RS`, `BaseR`, `LLRS`, `none`; `None` without a link.
    pub active: Option<String>,
    /// Those that were chosen.
    pub configured: Vec<String>,
    /// Whether the driver chooses.
    pub auto: Option<bool>,
    /// Blocks that had errors and were mended.
    pub corrected_blocks: Option<u64>,
    /// Blocks that were lost.
    pub uncorrectable_blocks: Option<u64>,
}

/// A plugged-in module or cable end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Module {
    /// Its type by the first byte of its memory (SFF-8024): `QSFP28`; only root may read it.
    pub identifier: Option<String>,
    /// `low` or `high`.
    pub power_mode: Option<String>,
    /// Who decides on that: `high` or `auto`.
    pub power_policy: Option<String>,
}

/// A counter of IEEE 802.3 or RMON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EthernetCounter {
    /// Its name, after the standard's: `frame_check_sequence_errors`.
    pub name: String,
    /// How much since it was cleared.
    pub value: u64,
}
