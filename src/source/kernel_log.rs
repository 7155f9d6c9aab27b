//! Reads the lines of the kernel log that start with a tag. `live` calls it.

use std::collections::VecDeque;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read};

use super::Answer;

/// Limit of lines; the latest ones are kept. `collect` uses one line less, so that it can report
/// that the log has more.
const LINES: usize = 4097;
/// Limit of a record in bytes (`PRINTK_MESSAGE_MAX` of `kernel/printk/internal.h`).
const RECORD: usize = 8192;

/// Returns the records whose text starts with `tag`, in the form `6,339,5140900,-;text`.
pub(super) fn read_tagged(tag: &str) -> Answer {
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
                let at = first.iter().position(|byte| *byte == b';');
                if at.is_some_and(|at| first[at + 1..].starts_with(tag.as_bytes())) {
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
