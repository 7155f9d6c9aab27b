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
pub mod policy;
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

use std::time::Duration;

use peak_alloc::PeakAlloc;
use rustix::time::{ClockId, clock_gettime};

/// The heap of the process, with its peak.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// CPU time that a target may use for an input of any length.
const TIME: Duration = Duration::from_secs(2);
/// CPU time that a target may use more for each byte of its input.
const TIME_PER_BYTE: Duration = Duration::from_millis(1);

/// Heap that a target may use for an input of this length, in bytes: a constant, and a part for
/// each byte.
fn heap_limit(name: &str, length: usize) -> usize {
    let (constant, per_byte) = match name {
        // Some copies of the input.
        "escape" | "greeting" | "host_certificate" | "known_hosts" | "sa" | "ssh_program"
        | "upload" => (2 << 20, 512),
        // Trees and tables of small values, and the output of a child process.
        "config" | "delta" | "filter" | "names" | "ssh_config" | "wire" => (8 << 20, 2 << 10),
        "report" => (16 << 20, 2 << 10),
        // A whole machine or subnet, or 65,536 hosts, which a few bytes can name.
        _ => (64 << 20, 4 << 10),
    };
    constant + per_byte * length
}

/// Runs one target over an input as [`run`], and checks that the length of the input bounds the
/// CPU time of the process. Only fuzzers check the time: a test must pass on any machine.
pub fn fuzz(name: &str, data: &[u8]) {
    let before = cpu_time();
    run(name, data);
    let used = cpu_time().saturating_sub(before);
    let length = u32::try_from(data.len()).expect("an input is short");
    assert!(used <= TIME + TIME_PER_BYTE * length, "{name}: {used:?} for {length} bytes");
}

fn cpu_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().expect("no CPU time is negative")
}

/// Runs one target over an input, and checks that the length of the input bounds the heap.
///
/// The heap is that of the process: nothing else may run in it.
pub fn run(name: &str, data: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("a target");
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    target(data);
    let used = HEAP.peak_usage().saturating_sub(before);
    let limit = heap_limit(name, data.len());
    assert!(used <= limit, "{name}: {used} bytes for {}, not {limit}", data.len());
}

/// A function that panics where something does not hold.
pub type Target = fn(&[u8]);

/// Each target by its name, which is that of its file and of its corpus.
pub const TARGETS: [(&str, Target); 35] = [
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
    ("policy", policy::run),
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
