//! Names of hosts and devices as people count and write them: their order, and many as one
//! expression; and the parts of long expressions that errors repeat.
//!
//! It knows nothing of what the names are of.

mod excerpt;
mod fold;
mod natural;
mod replace;
mod shell;

pub use excerpt::{around, shortened};
pub use fold::fold;
pub use natural::compare;
pub use replace::replace;
pub use shell::in_shell;
