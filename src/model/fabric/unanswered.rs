//! A request of a sweep that was not answered.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request along a route that was not answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnansweredRequest {
    /// The ports to leave by, from the first node on; empty for a request by LID.
    pub route: Vec<u8>,
    /// LID of the request; 0 for a request along the route.
    pub lid: u16,
    /// Attribute that was requested.
    pub attribute: String,
    /// Why there is no answer.
    pub detail: String,
}

impl fmt::Display for UnansweredRequest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lid != 0 {
            return write!(out, "LID {}", self.lid);
        }
        out.write_str("directed route 0")?;
        self.route.iter().try_for_each(|port| write!(out, ",{port}"))
    }
}
