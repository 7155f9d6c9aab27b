//! Names of hosts and devices as people count and write them: their order, and many as one
//! expression.
//!
//! It knows nothing of what the names are of.

mod fold;
mod natural;

pub use fold::fold;
pub use natural::compare;
