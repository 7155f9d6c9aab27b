//! Fuzz targets: each one parses its input and asserts properties of the result.
//!
//! `tests/fuzz.rs` replays the committed corpora through these functions. That test runs on each
//! toolchain and needs no fuzzer.

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

/// Allocator that counts the heap of the process and its peak.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// CPU time that a target may use for each input.
const TIME: Duration = Duration::from_secs(2);
/// Additional CPU time that a target may use for each byte of its input.
const TIME_PER_BYTE: Duration = Duration::from_millis(1);

/// Returns the heap that a target may use for an input of this length, in bytes: a constant, plus
/// an amount for each byte.
fn heap_limit(name: &str, length: usize) -> usize {
    let (constant, per_byte) = match name {
        // A few copies of the input.
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

/// Runs one target like [`run`], and checks that the length of the input bounds the CPU time of
/// the process. Only fuzzers check the CPU time: a test must pass on any machine.
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

/// Runs one target on an input, and checks that the length of the input bounds the heap.
///
/// The function measures the heap of the whole process, so no other thread may run.
pub fn run(name: &str, data: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("a target");
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    target(data);
    let used = HEAP.peak_usage().saturating_sub(before);
    let limit = heap_limit(name, data.len());
    assert!(used <= limit, "{name}: {used} bytes for {}, not {limit}", data.len());
}

/// Function that panics if a property of a result does not hold.
pub type Target = fn(&[u8]);

/// Fuzz targets by name. The file and the corpus of a target have the same name.
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
