//! Range of IP addresses.
//! `collect::consumers` reads subnets from filter files of `BeeGFS`; `analyse::connections`
//! matches addresses.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Range of IP addresses with a common prefix: `10.9.0.0/24`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subnet {
    /// Address in the range.
    pub address: IpAddr,
    /// Length of the prefix, in bits.
    pub bits: u8,
}

impl Subnet {
    /// Returns true if the address is in the range.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (one, other, width) = match (self.address, address) {
            (IpAddr::V4(one), IpAddr::V4(other)) => {
                (u128::from(one.to_bits()), u128::from(other.to_bits()), 32)
            }
            (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits(), other.to_bits(), 128),
            _ => return false,
        };
        // A shift by the full width (/0) overflows; no bits remain to compare.
        let differing = (one ^ other).checked_shr(width - u32::from(self.bits).min(width));
        differing.unwrap_or(0) == 0
    }
}

#[test]
fn a_subnet_contains_the_addresses_with_its_prefix() {
    let contains = |address: &str, bits, other: &str| {
        Subnet { address: address.parse().unwrap(), bits }.contains(other.parse().unwrap())
    };
    assert!(contains("10.9.0.0", 24, "10.9.0.77"));
    assert!(!contains("10.9.0.0", 24, "10.9.1.77"));
    assert!(contains("10.9.0.1", 32, "10.9.0.1") && !contains("10.9.0.1", 32, "10.9.0.0"));
    assert!(contains("0.0.0.0", 0, "192.168.0.1") && contains("::", 0, "2001:db8::1"));
    assert!(contains("2001:db8::", 64, "2001:db8::7") && !contains("2001:db8::", 64, "10.9.0.1"));
    assert!(contains("10.9.0.1", 200, "10.9.0.1"), "more bits than there are");
}
