//! Orders, folds and replaces names of hosts and devices, and shortens long expressions for error
//! messages.
//!
//! The module does not interpret the names. Most other modules use it.

mod excerpt;
mod fold;
mod listed;
mod natural;
mod replace;
mod shell;

pub use excerpt::{around, shortened};
pub use fold::fold;
pub use listed::{limited, listed};
pub use natural::compare;
pub use replace::replace;
pub use shell::in_shell;
