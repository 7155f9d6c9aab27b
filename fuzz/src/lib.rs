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
pub mod host_certificate;
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
pub mod ssh_program;
mod subnet;
pub mod subnet_files;
pub mod sysfs;
pub mod upload;
pub mod verbs;
pub mod wire;

use peak_alloc::PeakAlloc;

/// The heap of the process, with its peak.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Heap that a target may use for an input of any length, in bytes.
const BASE: usize = 64 << 20;
/// Heap that a target may use more for each byte of its input.
const PER_BYTE: usize = 4 << 10;

/// Runs one target over an input, and checks that the input's length bounds the heap.
pub fn run(name: &str, data: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("a target");
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    target(data);
    let used = HEAP.peak_usage().saturating_sub(before);
    assert!(used <= BASE + PER_BYTE * data.len(), "{name}: {used} bytes for {}", data.len());
}

/// A function that panics where something does not hold.
pub type Target = fn(&[u8]);

/// Each target by its name, which is that of its file and of its corpus.
pub const TARGETS: [(&str, Target); 34] = [
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
    ("host_certificate", host_certificate::run),
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
    ("ssh_program", ssh_program::run),
    ("subnet_files", subnet_files::run),
    ("sysfs", sysfs::run),
    ("upload", upload::run),
    ("verbs", verbs::run),
    ("wire", wire::run),
];
