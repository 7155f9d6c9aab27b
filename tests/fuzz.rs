//! Runs the fuzz targets on their committed corpora and on mutations of the corpora, without a
//! fuzzer.
#![expect(clippy::expect_used, reason = "a test without its corpus fails")]

#[allow(
    missing_docs,
    dead_code,
    unreachable_pub,
    reason = "the library of the fuzz package, which has its own workspace"
)]
#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

use targets::{TARGETS, run};

/// Locks a mutex, so that only one test runs: each target measures the heap of the process.
fn alone() -> MutexGuard<'static, ()> {
    static RUNNING: Mutex<()> = Mutex::new(());
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let files = fs::read_dir(folder).expect("a corpus");
    files.map(|file| fs::read(file.expect("a seed").path()).expect("its bytes")).collect()
}

#[test]
fn the_committed_corpus_holds() {
    let _alone = alone();
    for (name, _) in TARGETS {
        let seeds = corpus(name);
        assert!(seeds.len() >= 3, "{name}");
        for seed in &seeds {
            run(name, seed);
        }
    }
}

/// Returns a mutated seed: bytes are changed or removed, and the tail may come from another seed.
fn apply(seeds: &[Vec<u8>], first: Index, other: Index, edits: &[(Index, u8)]) -> Vec<u8> {
    let mut bytes = first.get(seeds).clone();
    for (at, byte) in edits {
        if bytes.is_empty() {
            break;
        }
        let at = at.index(bytes.len());
        match byte % 4 {
            0 => drop(bytes.remove(at)),
            1 => bytes[at] ^= 1 << (byte >> 5),
            2 => bytes[at] = *byte,
            _ => {
                let tail = other.get(seeds);
                bytes.truncate(at);
                bytes.extend_from_slice(&tail[at.min(tail.len())..]);
            }
        }
    }
    bytes
}

/// Number of mutations of a corpus.
const MUTATIONS: u32 = 256;
/// Number of mutations for a target that reads a whole machine. An input of such a target takes a
/// hundred times as long.
const MUTATIONS_OF_MACHINES: u32 = 24;
const READ_MACHINES: [&str; 11] = [
    "capture",
    "compat",
    "connections",
    "dcb",
    "ethtool",
    "fabric",
    "netlink",
    "redact",
    "report",
    "sysfs",
    "verbs",
];

#[test]
fn mutated_corpus_inputs_pass_every_target() {
    let _alone = alone();
    for (name, _) in TARGETS {
        let reads_machines = READ_MACHINES.contains(&name);
        let cases = if reads_machines { MUTATIONS_OF_MACHINES } else { MUTATIONS };
        let seeds = corpus(name);
        let edits = prop::collection::vec((any::<Index>(), any::<u8>()), 1..12);
        let strategy = (any::<Index>(), any::<Index>(), edits)
            .prop_map(|(first, other, edits)| apply(&seeds, first, other, &edits));
        // proptest writes no failure file: a failed mutation becomes a seed of the corpus.
        let config = Config { cases, failure_persistence: None, ..Config::default() };
        TestRunner::new(config)
            .run(&strategy, |bytes| {
                run(name, &bytes);
                Ok(())
            })
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn seeds_of_reports_are_reports() {
    let _alone = alone();
    // A seed of an older report format is rejected at once and tests nothing.
    let seeds = corpus("report").into_iter();
    let readable = seeds.filter(|seed| {
        let line = seed.split(|byte| *byte == b'\n').next().unwrap_or_default();
        serde_json::from_slice::<rdmactl::model::HostReport>(line).is_ok()
    });
    assert!(readable.count() >= 7, "run fuzz/make_seeds.py");
}

#[test]
fn seeds_of_fabrics_are_subnets() {
    let _alone = alone();
    // The first two seeds are recordings of ibsim: three hosts on a switch, and two pods. The
    // third seed has tables of subnet administration.
    let seed = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/fabric").join(name);
        targets::fabric::nodes(&fs::read(path).expect("a seed"))
    };
    assert_eq!([seed("01"), seed("02"), seed("03")], [[4, 0, 4], [8, 0, 8], [0, 3, 3]]);
}

#[test]
fn every_target_is_built_by_the_fuzz_package() {
    let _alone = alone();
    let manifest = include_str!("../fuzz/Cargo.toml");
    let built: Vec<&str> =
        manifest.lines().filter_map(|line| line.strip_prefix("name = ")).skip(1).collect();
    let named: Vec<String> = TARGETS.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    assert_eq!(built, named);
}
