//! What each fuzz target does with its bytes, and what must hold of the outcome.
//!
//! The program's own tests replay the committed corpus through the same functions
//! (`tests/fuzz.rs`), so that they hold on any toolchain, without a fuzzer.

mod answers;
pub mod capture;
mod changes;
pub mod compat;
pub mod config;
pub mod connections;
pub mod dcb;
pub mod delta;
pub mod escape;
pub mod ethtool;
pub mod fabric;
pub mod filter;
pub mod greeting;
pub mod groups;
pub mod host_set;
pub mod hosts_file;
pub mod known_hosts;
mod machine;
pub mod mad;
pub mod mad_record;
mod made_up;
mod messages;
pub mod names;
pub mod netlink;
pub mod ping;
pub mod ping_run;
pub mod recording;
pub mod redact;
pub mod report;
pub mod sa;
mod shown;
pub mod simulated_fabric;
pub mod ssh_config;
mod subnet;
pub mod subnet_files;
pub mod sysfs;
pub mod upload;
pub mod verbs;
pub mod wire;

/// A function that panics where something does not hold.
pub type Target = fn(&[u8]);

/// Each target by its name, which is that of its file and of its corpus.
pub const TARGETS: [(&str, Target); 32] = [
    ("capture", capture::run),
    ("compat", compat::run),
    ("config", config::run),
    ("connections", connections::run),
    ("dcb", dcb::run),
    ("delta", delta::run),
    ("escape", escape::run),
    ("ethtool", ethtool::run),
    ("fabric", fabric::run),
    ("filter", filter::run),
    ("greeting", greeting::run),
    ("groups", groups::run),
    ("host_set", host_set::run),
    ("hosts_file", hosts_file::run),
    ("known_hosts", known_hosts::run),
    ("mad", mad::run),
    ("mad_record", mad_record::run),
    ("names", names::run),
    ("netlink", netlink::run),
    ("ping", ping::run),
    ("ping_run", ping_run::run),
    ("recording", recording::run),
    ("redact", redact::run),
    ("report", report::run),
    ("sa", sa::run),
    ("simulated_fabric", simulated_fabric::run),
    ("ssh_config", ssh_config::run),
    ("subnet_files", subnet_files::run),
    ("sysfs", sysfs::run),
    ("upload", upload::run),
    ("verbs", verbs::run),
    ("wire", wire::run),
];
