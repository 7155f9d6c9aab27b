//! Reads the lines of the kernel log that start with one of several tags. `live` calls it.

use std::collections::VecDeque;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read};

use super::Answer;

/// Limit of lines; the latest ones are kept. `collect` uses one line less, so that it can report
/// that the log has more.
const LINES: usize = 4097;
/// Limit of a record in bytes (`PRINTK_MESSAGE_MAX` of `kernel/printk/internal.h`).
const RECORD: usize = 8192;

/// Returns the records whose text starts with a line of `tags`, in the form
/// `6,339,5140900,-;text`.
pub(super) fn read_tagged(tags: &str) -> Answer {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let log = open("/dev/kmsg", flags, Mode::empty())?;
    let mut kept = VecDeque::new();
    let mut record = [0; RECORD];
    loop {
        match read(&log, &mut record) {
            Ok(0) | Err(Errno::AGAIN) => break,
            Ok(length) => {
                let first = record[..length].split(|byte| *byte == b'\n').next();
                let first = first.unwrap_or_default();
                if is_tagged(first, tags) {
                    if kept.len() == LINES {
                        kept.pop_front();
                    }
                    kept.push_back(first.to_vec());
                }
            }
            // The kernel overwrote the oldest records, or a signal interrupted the read.
            Err(Errno::PIPE | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(kept.iter().flat_map(|line| line.iter().copied().chain([b'\n'])).collect())
}

/// Returns true for a record whose text starts with one of the tags.
fn is_tagged(record: &[u8], tags: &str) -> bool {
    let Some(at) = record.iter().position(|byte| *byte == b';') else { return false };
    tags.lines().any(|tag| record[at + 1..].starts_with(tag.as_bytes()))
}

#[test]
fn a_record_starts_with_one_of_the_tags() {
    let tags = "mlx5_core \nNETDEV WATCHDOG: ";
    assert!(is_tagged(b"3,1,7,-;mlx5_core 0000:5d:00.0: x", tags));
    assert!(is_tagged(b"3,1,7,-;NETDEV WATCHDOG: eth0 (ice)", tags));
    for other in ["", "mlx5_core ", "3,1,7,-;mlx5_core", "3,1,7,-;x mlx5_core y", "3,1,7,-;"] {
        assert!(!is_tagged(other.as_bytes(), tags), "{other}");
    }
    assert!(!is_tagged(b"3,1,7,-;x", ""), "no tag");
}
