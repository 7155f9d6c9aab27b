//! SSH connections by the system's `ssh` program, for hosts that need what the built-in library
//! lacks.
//!
//! One process is the connection ([`Master`]); each command is a second, small one that hands its
//! pipe to the first. No process asks anybody for anything, and each ends with this program.

mod call;
mod complaint;
mod master;
mod process;
mod sockets;

pub use call::SshCall;
pub(super) use call::key;
pub(super) use master::Master;
pub(super) use process::{Opening, PROGRAM_LOGIN};
pub(super) use sockets::Sockets;
