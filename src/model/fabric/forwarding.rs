//! Linear forwarding table of a switch, and its form in JSON.
//! `collect` reads the table; `analyse` follows routes with it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Linear forwarding table: the port for each LID, from LID 0 on; 255 for a LID without a route.
///
/// In JSON, the table is a string with two hexadecimal digits per LID.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ForwardingTable(pub Vec<u8>);

impl ForwardingTable {
    /// Port of a LID without a route.
    pub const NO_PORT: u8 = 255;

    /// Returns the port for a LID; `None` if the table has no route.
    pub fn port(&self, lid: u16) -> Option<u8> {
        self.0.get(usize::from(lid)).copied().filter(|port| *port != Self::NO_PORT)
    }
}

impl Serialize for ForwardingTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(self.0.len() * 2);
        for byte in &self.0 {
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for ForwardingTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let pair = |pair: &[u8]| {
            let [high, low] = pair else { return None };
            u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
        };
        let ports: Option<Vec<u8>> = text.as_bytes().chunks(2).map(pair).collect();
        ports.map(Self).ok_or_else(|| serde::de::Error::custom("a table of hexadecimal digits"))
    }
}

impl JsonSchema for ForwardingTable {
    fn schema_name() -> Cow<'static, str> {
        "ForwardingTable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forwarding_table_survives_json() {
        let table = ForwardingTable(vec![255, 0, 17]);
        let json = serde_json::to_string(&table).unwrap();
        assert_eq!(json, "\"ff0011\"");
        assert_eq!(serde_json::from_str::<ForwardingTable>(&json).unwrap(), table);
        assert_eq!((table.port(0), table.port(2), table.port(3)), (None, Some(17), None));
        for bad in ["\"f\"", "\"0g\"", "\"0é\""] {
            assert!(serde_json::from_str::<ForwardingTable>(bad).is_err(), "{bad}");
        }
    }
}
