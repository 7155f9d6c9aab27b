use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The PCI Express link of a device, and the most that it could be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PciLink {
    /// The link as it runs.
    pub current: PciSpeed,
    /// The most that the card can; `None` on old kernels.
    pub card: Option<PciSpeed>,
    /// The most that everything from the slot up to the processor can: the link with the least
    /// bandwidth along the way; `None` where nothing there tells.
    pub slot: Option<PciSpeed>,
    /// Whether the link runs below what card and the bridge above it can both; `None` where one is
    /// unknown.
    pub is_degraded: Option<bool>,
    /// The physical function whose link this is, for a virtual function, which has none itself.
    pub physical_function: Option<String>,
}

/// Speed and width of a PCI Express link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PciSpeed {
    /// Transfers per second of a lane, in millions: 32000 is 32 GT/s.
    pub lane_mtps: u32,
    /// Lanes.
    pub lanes: u32,
    /// What that is in bits per second and direction, less the encoding of the link. Headers of
    /// packets take another tenth, about.
    pub rate_bps: u64,
}

impl PciSpeed {
    /// A link of that many lanes.
    #[must_use]
    pub fn new(lane_mtps: u32, lanes: u32) -> Self {
        // 8b/10b up to 5 GT/s, 128b/130b up to 32, then flits with error correction.
        let (payload, coded) = match lane_mtps {
            0..=5_000 => (8, 10),
            5_001..=32_000 => (128, 130),
            _ => (15, 16),
        };
        let raw_bps = u64::from(lane_mtps) * 1_000_000 * u64::from(lanes);
        Self { lane_mtps, lanes, rate_bps: raw_bps * payload / coded }
    }
}

/// `504.1 Gb/s (32 GT/s x16)`: the unit is that of the rates of ports.
impl fmt::Display for PciSpeed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = |number: u64, unit: u64| match (number / unit, number % unit * 10 / unit) {
            (whole, 0) => whole.to_string(),
            (whole, tenth) => format!("{whole}.{tenth}"),
        };
        let rate = tenths(self.rate_bps, 1_000_000_000);
        let lane = tenths(self.lane_mtps.into(), 1_000);
        write!(out, "{rate} Gb/s ({lane} GT/s x{})", self.lanes)
    }
}

/// Virtual functions of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VirtualFunctions {
    /// How many there are.
    pub enabled: u32,
    /// How many there can be.
    pub total: u32,
}

/// `4 of 16`
impl fmt::Display for VirtualFunctions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} of {}", self.enabled, self.total)
    }
}

/// An accelerator, and how near it is to a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gpu {
    /// PCI address.
    pub pci: String,
    /// Kernel driver.
    pub driver: Option<String>,
    /// The way between them; `None` where a NUMA node that decides it is unknown.
    pub path: Option<PciPath>,
}

/// What lies between two PCI functions, from near to far, in the words of `nvidia-smi topo`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PciPath {
    /// One PCI switch at most.
    Pix,
    /// Several switches, and no host bridge.
    Pxb,
    /// A host bridge.
    Phb,
    /// Several host bridges of one NUMA node.
    Node,
    /// The interconnect between NUMA nodes.
    Sys,
}

impl PciPath {
    /// The word of it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pix => "PIX",
            Self::Pxb => "PXB",
            Self::Phb => "PHB",
            Self::Node => "NODE",
            Self::Sys => "SYS",
        }
    }
}

#[test]
fn a_link_is_told_in_the_unit_of_ports() {
    for (speed, text) in [
        (PciSpeed::new(2_500, 1), "2 Gb/s (2.5 GT/s x1)"),
        (PciSpeed::new(8_000, 8), "63 Gb/s (8 GT/s x8)"),
        (PciSpeed::new(8_000, 16), "126 Gb/s (8 GT/s x16)"),
        (PciSpeed::new(32_000, 16), "504.1 Gb/s (32 GT/s x16)"),
        (PciSpeed::new(64_000, 16), "960 Gb/s (64 GT/s x16)"),
    ] {
        assert_eq!(speed.to_string(), text);
    }
}
