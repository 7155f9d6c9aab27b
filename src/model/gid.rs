//! GIDs and GUIDs.
//! `collect` parses them; all modules show and compare them.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Non-empty entry of the GID table of a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gid {
    /// Index in the table. The index differs between hosts and changes with the addresses, so it
    /// must not be hard-coded.
    pub index: u32,
    /// Value of 128 bits.
    pub value: GidValue,
    /// Kind of the packets that the GID sends. `None` if the kernel does not report the kind, and
    /// on iWARP, EFA and usNIC, which have no kinds.
    pub kind: Option<GidKind>,
    /// Network interface with this address; `None` on InfiniBand, and on iWARP before Linux 6.6.
    pub netdev: Option<String>,
}

words! {
    /// Kind of the packets that a GID sends.
    #[derive(PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum GidKind {
        /// InfiniBand or Omni-Path.
        Ib = "IB",
        /// RoCE v1: Ethernet frames, not routable.
        RoceV1 = "RoCE v1",
        /// RoCE v2: UDP port 4791.
        RoceV2 = "RoCE v2",
    }
    /// Returns the word of the KIND column.
    pub fn word(self);
}

/// Global identifier, in the form of an IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GidValue(pub Ipv6Addr);

impl GidValue {
    /// Returns true if all 128 bits are zero, as in an empty entry.
    pub fn is_empty(self) -> bool {
        self.0.is_unspecified()
    }

    /// Returns the IP address of the GID. A GID stores an IPv4 address as `::ffff:a.b.c.d`.
    pub fn ip(self) -> IpAddr {
        self.0.to_ipv4_mapped().map_or(IpAddr::V6(self.0), IpAddr::V4)
    }

    /// Returns the upper half of the GID (IBA 4.1.1), which is equal for all ports of a subnet.
    pub fn subnet_prefix(self) -> u64 {
        u64::try_from(self.0.to_bits() >> 64).unwrap_or(0)
    }

    /// Returns true if the GID is valid on one link only (`fe80::/10`).
    pub fn is_link_local(self) -> bool {
        self.0.is_unicast_link_local()
    }
}

impl fmt::Display for GidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl JsonSchema for GidValue {
    fn schema_name() -> Cow<'static, str> {
        "GidValue".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "ipv6" })
    }
}

/// EUI-64 in the notation of the kernel: `5054:00ff:fe12:3456`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guid(pub u64);

impl Guid {
    /// Parses four groups of four hexadecimal digits; returns `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let groups: Vec<&str> = text.split(':').collect();
        // `from_str_radix` accepts a sign.
        let is_group = |group: &&str| group.len() == 4 && !group.starts_with('+');
        let is_guid = groups.len() == 4 && groups.iter().all(is_group);
        u64::from_str_radix(&groups.concat(), 16).ok().filter(|_| is_guid).map(Self)
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = [48, 32, 16, 0].map(|shift| format!("{:04x}", (self.0 >> shift) & 0xffff));
        f.write_str(&groups.join(":"))
    }
}

impl Serialize for Guid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Guid {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not a GUID"))
    }
}

impl JsonSchema for Guid {
    fn schema_name() -> Cow<'static, str> {
        "Guid".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9a-f]{4}(:[0-9a-f]{4}){3}$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_keeps_its_spelling() {
        let guid = Guid::parse("5054:00ff:fe12:3456").unwrap();
        assert_eq!(guid, Guid(0x5054_00ff_fe12_3456));
        assert_eq!(guid.to_string(), "5054:00ff:fe12:3456");
    }

    #[test]
    fn other_shapes_are_no_guid() {
        for text in ["", "5054", "5054:00ff:fe12", "5054:00ff:fe12:34567", "5054:00ff:fe12:+456"] {
            assert_eq!(Guid::parse(text), None, "{text}");
        }
    }

    #[test]
    fn an_ipv4_address_is_seen_through_its_gid() {
        let gid = GidValue("::ffff:10.9.0.1".parse().unwrap());
        assert_eq!(gid.ip(), "10.9.0.1".parse::<IpAddr>().unwrap());
        assert!(!gid.is_link_local());
    }
}
