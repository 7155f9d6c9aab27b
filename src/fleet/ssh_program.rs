//! SSH connections by the system's `ssh` program, for features that the built-in SSH lacks.
//!
//! One `ssh` process is the connection ([`Master`]). Each command is a second, small `ssh`
//! process, which passes its pipe to the first. No process prompts or outlives this program.

mod call;
mod failure;
mod master;
mod new_master;
mod process;
mod socket_directory;

pub use call::SshCall;
pub(super) use call::key;
pub(super) use master::Master;
pub(super) use new_master::{NewMaster, PROGRAM_LOGIN};
pub(super) use socket_directory::SocketDirectory;
