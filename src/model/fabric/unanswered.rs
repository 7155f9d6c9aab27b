//! Request of a sweep that got no response.
//! `collect` records it; `query` and `analyse` report it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Request that got no response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnansweredRequest {
    /// Directed route: the output port of each hop, from the first node on. Empty for a request
    /// by LID.
    pub route: Vec<u8>,
    /// LID of the request; 0 for a request along a directed route.
    pub lid: u16,
    /// Requested attribute.
    pub attribute: String,
    /// Reason for the missing response.
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
