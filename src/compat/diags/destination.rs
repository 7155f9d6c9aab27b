//! Destinations of requests: a LID, or a directed route in the notation of the originals.
//!
//! Sends nothing: `session` resolves GUIDs. Used by every tool with an address.

use std::fmt;

use crate::compat::number::parse_decimal;
use crate::mad::{DirectedPath, LONGEST_PATH};

/// The default is the directed route to the local node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PortId {
    /// LID; 0 for a directed route.
    pub(crate) lid: u16,
    /// First number of a parsed route. It has no meaning, but the originals print it.
    first: u8,
    /// Outgoing port of each hop.
    pub(crate) hops: Vec<u8>,
    /// Number that the originals print as the LID of both ends of a route.
    ends: u16,
}

impl PortId {
    pub(crate) fn lid(lid: u16) -> Self {
        Self { lid, ..Self::default() }
    }

    /// Parses a directed route: `0,1,23`. `None` if it is empty or too long.
    pub(crate) fn parse_route(text: &str) -> Option<Self> {
        let mut parts = text.split(',').collect::<Vec<_>>();
        // A trailing comma adds no hop.
        if parts.len() > 1 && parts.last().is_some_and(|part| part.is_empty()) {
            parts.pop();
        }
        if text.is_empty() || parts.len() > LONGEST_PATH + 1 {
            return None;
        }
        let byte = |part: &&str| u8::try_from(parse_decimal(part) & 0xff).unwrap_or(0);
        let numbers: Vec<u8> = parts.iter().map(byte).collect();
        let (first, hops) = numbers.split_first()?;
        Some(Self { lid: 0, first: *first, hops: hops.to_vec(), ends: 0xffff })
    }

    /// Returns the route for requests; `None` if it is too long.
    pub(crate) fn path(&self) -> Option<DirectedPath> {
        self.hops.iter().try_fold(DirectedPath::own(), |path, port| path.through(*port).ok())
    }
}

/// Formats like `portid2str` of libibmad.
impl fmt::Display for PortId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lid > 0 {
            return write!(out, "Lid {}", self.lid);
        }
        write!(out, "DR path slid {}; dlid {}; {}", self.ends, self.ends, self.first)?;
        self.hops.iter().try_for_each(|hop| write!(out, ",{hop}"))
    }
}

#[test]
fn routes_are_read_and_written_as_libibmad_does() {
    let route = PortId::parse_route("0,1,23").unwrap();
    assert_eq!(route.to_string(), "DR path slid 65535; dlid 65535; 0,1,23");
    assert_eq!(route.hops, [1, 23]);
    assert_eq!(
        PortId { hops: vec![1], ..PortId::default() }.to_string(),
        "DR path slid 0; dlid 0; 0,1"
    );
    assert_eq!(PortId::lid(7).to_string(), "Lid 7");
    assert_eq!(PortId::parse_route(""), None);
    assert_eq!(PortId::parse_route(&"1,".repeat(70)), None);
}
