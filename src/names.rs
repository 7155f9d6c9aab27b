//! Orders, folds, lists, quotes and replaces names of hosts and devices, and shortens expressions
//! for messages.
//!
//! The module does not look up names. Most other modules use it.

mod excerpt;
mod fold;
mod message;
mod natural;

pub use excerpt::{around, shortened};
pub use fold::fold;
pub use message::{in_shell, limited, listed, replace};
pub use natural::compare;
