//! The lines of the kernel's log that one part of it has written.

use std::collections::VecDeque;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read};

use super::{Answer, ReadError};

/// The most lines that are kept, the latest ones.
const LINES: usize = 4096;
/// The longest record of `/dev/kmsg` (`PRINTK_MESSAGE_MAX` of `kernel/printk/internal.h`).
const RECORD: usize = 8192;

/// The records whose text starts with the tag, as `/dev/kmsg` has them: `6,339,5140900,-;text`.
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
            // The oldest records were overwritten while they were read, or this read was cut short.
            Err(Errno::PIPE | Errno::INTR) => {}
            Err(error) => return Err(ReadError::from(error)),
        }
    }
    Ok(kept.iter().flat_map(|line| line.iter().copied().chain([b'\n'])).collect())
}
