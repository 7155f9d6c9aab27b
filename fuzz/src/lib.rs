//! What each fuzz target does with its bytes, and what must hold of the outcome.
//!
//! The program's own tests replay the committed corpus through the same functions
//! (`tests/fuzz.rs`), so that they hold on any toolchain, without a fuzzer.

pub mod capture;
pub mod escape;
pub mod filter;
pub mod greeting;
pub mod host_set;
pub mod known_hosts;
mod machine;
pub mod netlink;
mod shown;
pub mod ssh_config;
pub mod sysfs;
pub mod wire;

/// A function that panics where something does not hold.
pub type Target = fn(&[u8]);

/// Each target by its name, which is that of its file and of its corpus.
pub const TARGETS: [(&str, Target); 10] = [
    ("capture", capture::run),
    ("escape", escape::run),
    ("filter", filter::run),
    ("greeting", greeting::run),
    ("host_set", host_set::run),
    ("known_hosts", known_hosts::run),
    ("netlink", netlink::run),
    ("ssh_config", ssh_config::run),
    ("sysfs", sysfs::run),
    ("wire", wire::run),
];
