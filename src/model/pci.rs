//! PCI Express links, virtual functions and accelerators.
//! `collect` reads them from sysfs; `query` shows the results.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// PCI Express link of a device, in use and at most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PciLink {
    /// Link in use.
    pub current: PciSpeed,
    /// Maximum of the card; `None` on old kernels.
    pub card: Option<PciSpeed>,
    /// Maximum of the path from the slot up to the CPU: the link with the least bandwidth. `None`
    /// if no link of the path reports its maximum.
    pub slot: Option<PciSpeed>,
    /// True if the link is slower than both the card and the bridge above it support; `None` if
    /// one of them is unknown.
    pub is_degraded: Option<bool>,
    /// Physical function that has the link; `None` unless the device is a virtual function, which
    /// has no link.
    pub physical_function: Option<String>,
}

/// Speed and width of a PCI Express link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PciSpeed {
    /// Megatransfers per second of one lane: 32000 is 32 GT/s.
    pub lane_mtps: u32,
    /// Number of lanes.
    pub lanes: u32,
    /// Bits per second in each direction, without the encoding of the link. Packet headers use
    /// about another tenth.
    pub rate_bps: u64,
}

impl PciSpeed {
    /// Returns the speed of a link with that number of lanes.
    pub fn new(lane_mtps: u32, lanes: u32) -> Self {
        // 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, then flits with error correction.
        let (payload, coded) = match lane_mtps {
            0..=5_000 => (8, 10),
            5_001..=32_000 => (128, 130),
            _ => (15, 16),
        };
        let raw_bps = u64::from(lane_mtps) * 1_000_000 * u64::from(lanes);
        Self { lane_mtps, lanes, rate_bps: raw_bps * payload / coded }
    }
}

/// Formats `504.1 Gb/s (32 GT/s x16)`, in the unit of port rates.
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
    /// Number of enabled virtual functions.
    pub enabled: u32,
    /// Maximum number of virtual functions.
    pub total: u32,
}

/// Formats `4 of 16`.
impl fmt::Display for VirtualFunctions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} of {}", self.enabled, self.total)
    }
}

/// Accelerator and its distance from a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gpu {
    /// PCI address.
    pub pci: String,
    /// Kernel driver.
    pub driver: Option<String>,
    /// Path between accelerator and device; `None` if it depends on an unknown NUMA node.
    pub path: Option<PciPath>,
}

words! {
    /// Path between two PCI functions, from near to far, in the words of `nvidia-smi topo`.
    #[derive(PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum PciPath {
        /// At most one PCI switch.
        Pix = "PIX",
        /// Several PCI switches, and no host bridge.
        Pxb = "PXB",
        /// One host bridge.
        Phb = "PHB",
        /// Several host bridges of one NUMA node.
        Node = "NODE",
        /// The interconnect between NUMA nodes.
        Sys = "SYS",
    }
    /// Returns the word of `nvidia-smi topo`.
    pub fn word(self);
}

#[test]
fn the_speed_of_a_link_has_the_unit_of_ports() {
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
