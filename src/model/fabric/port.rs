//! Port of a node of a subnet, and the words of its codes.
//!
//! Codes are the codes of `PortInfo` (specification 14.2.5.6). Speeds of all generations share
//! one code, the code of `active_speed` in verbs. `collect` fills the ports; `analyse` and
//! `query` read them.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FabricEnd, SubnetManager};
use crate::model::{Counter, Guid};

/// Port of a node, with the codes of `PortInfo` (specification 14.2.5.6).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FabricPort {
    /// Number of the port.
    pub number: u8,
    /// GUID of the port; `None` for a port of a switch, which has no GUID.
    pub guid: Option<Guid>,
    /// First LID; 0 without a LID. Only port 0 of a switch has a LID.
    pub lid: u16,
    /// Number of low LID bits that select a path.
    pub lmc: u8,
    /// Logical state: 1 down, 2 init, 3 armed, 4 active; 0 if it is unknown.
    pub state: u8,
    /// Physical state: 2 polling, 3 disabled, 5 link up; 0 if it is unknown.
    pub physical_state: u8,
    /// Link width in use: 1 1X, 2 4X, 4 8X, 8 12X, 16 2X.
    pub width_active: u8,
    /// Link widths that the port supports, as the sum of their codes.
    pub width_supported: u8,
    /// Link widths that are enabled, as the sum of their codes.
    pub width_enabled: u8,
    /// Link speed in use: 1 SDR, 2 DDR, 4 QDR, 8 FDR10, 16 FDR, 32 EDR, 64 HDR, 128 NDR, 256 XDR.
    pub speed_active: u16,
    /// Link speeds that the port supports, as the sum of their codes.
    pub speed_supported: u16,
    /// Link speeds that are enabled, as the sum of their codes.
    pub speed_enabled: u16,
    /// MTU in use, as a code: 1 is 256 bytes, 5 is 4,096.
    pub mtu: u8,
    /// Largest MTU, as a code.
    pub mtu_supported: u8,
    /// Virtual lanes that the port supports, as a code: 1 VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14.
    pub vl_capability: u8,
    /// Capabilities of the port (`PortInfo:CapabilityMask`). Only port 0 of a switch has
    /// capabilities.
    pub capabilities: u32,
    /// More capabilities of the port (`PortInfo:CapabilityMask2`), as for `capabilities`.
    pub capabilities_2: u16,
    /// Other end of the link; `None` if the port has no link or the other end did not respond.
    pub peer: Option<FabricEnd>,
    /// Subnet manager of the port; `None` if the port has none, or if it did not respond.
    pub subnet_manager: Option<SubnetManager>,
    /// Partition keys; `None` unless they were requested and reported.
    pub p_keys: Option<Vec<u16>>,
    /// Performance counters, by the names of the specification; `None` unless they were requested
    /// and reported. If only errors were requested, a port without errors has `None`.
    pub counters: Option<Vec<Counter>>,
}

impl FabricPort {
    /// Logical state of a port without a link.
    pub const DOWN: u8 = 1;
    /// Logical state of a port that no subnet manager has configured.
    pub const INIT: u8 = 2;
    /// Logical state of a port that carries traffic.
    pub const ACTIVE: u8 = 4;
    /// Physical state of a port with a link.
    pub const LINK_UP: u8 = 5;
    /// Largest LID of a port. Higher LIDs belong to multicast groups; 0xffff is no LID.
    pub const LARGEST_LID: u16 = 0xbfff;
    /// Capability bit: the port has a subnet manager.
    pub const IS_SM: u32 = 1 << 1;

    /// Returns the rate of the link in bits per second; `None` for an unknown width or speed.
    pub fn rate_bps(&self) -> Option<u64> {
        Some(lanes(self.width_active)? * lane_bps(self.speed_active)?)
    }

    /// Returns width and speed of the link, for example `4X HDR`; a number for an unknown code.
    pub fn link(&self) -> String {
        format!("{} {}", width_word(self.width_active), speed_word(self.speed_active))
    }

    /// Returns the word of the logical state; a number for an unknown code.
    pub fn state_word(&self) -> Cow<'static, str> {
        word_of_state(&["unknown", "down", "init", "armed", "active"], self.state)
    }

    /// Returns the word of the physical state; a number for an unknown code.
    pub fn physical_state_word(&self) -> Cow<'static, str> {
        let words = [
            "unknown",
            "sleep",
            "polling",
            "disabled",
            "training",
            "link_up",
            "error_recovery",
            "test",
        ];
        word_of_state(&words, self.physical_state)
    }

    /// Returns the MTU in use in bytes; `None` for an unknown code.
    pub fn mtu_bytes(&self) -> Option<u32> {
        (1..=5).contains(&self.mtu).then(|| 128 << self.mtu)
    }
}

fn word_of_state(words: &[&'static str], code: u8) -> Cow<'static, str> {
    let word = words.get(usize::from(code)).copied();
    word.map_or_else(|| format!("state {code}").into(), Cow::from)
}

/// Returns the number of lanes for a width code; `None` for an unknown code.
pub fn lanes(width: u8) -> Option<u64> {
    let codes = [(1, 1), (2, 4), (4, 8), (8, 12), (16, 2)];
    codes.into_iter().find(|(code, _)| *code == width).map(|(_, lanes)| lanes)
}

/// Returns the nominal rate of one lane in bits per second, as the kernel rounds it.
pub fn lane_bps(speed: u16) -> Option<u64> {
    Some(match speed {
        1 => 2_500_000_000,
        2 => 5_000_000_000,
        4 | 8 => 10_000_000_000,
        16 => 14_000_000_000,
        32 => 25_000_000_000,
        64 => 50_000_000_000,
        128 => 100_000_000_000,
        256 => 200_000_000_000,
        _ => return None,
    })
}

/// Returns the word of a width code, for example `4X`; a number for an unknown code.
pub fn width_word(width: u8) -> String {
    lanes(width).map_or_else(|| format!("width {width}"), |lanes| format!("{lanes}X"))
}

/// Returns the word of a speed code, for example `HDR`; a number for an unknown code.
pub fn speed_word(speed: u16) -> String {
    let words = ["SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"];
    let position = speed.is_power_of_two().then(|| speed.trailing_zeros() as usize);
    let word = position.and_then(|position| words.get(position));
    word.map_or_else(|| format!("speed {speed}"), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_follows_from_width_and_speed() {
        let port = |width_active, speed_active| FabricPort {
            width_active,
            speed_active,
            ..FabricPort::default()
        };
        assert_eq!(port(2, 64).rate_bps(), Some(200_000_000_000));
        assert_eq!(port(1, 1).rate_bps(), Some(2_500_000_000));
        assert_eq!(port(2, 64).link(), "4X HDR");
        assert_eq!(port(3, 512).link(), "width 3 speed 512");
        assert_eq!(port(3, 512).rate_bps(), None);
    }
}
