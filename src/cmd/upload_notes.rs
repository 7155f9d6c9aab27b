//! Announces uploads on stderr, with one line for all uploads that start within 300 ms.
//!
//! `fleet` adds each upload before its first byte is sent. A cluster of 500 hosts gives a few
//! lines instead of 500.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::outcome::note;
use crate::hosts::Host;
use crate::names;
use crate::render::Note;

/// Time in which uploads are collected for one line; it is short compared with an upload.
const COLLECTED: Duration = Duration::from_millis(300);

/// Uploads that were not announced yet. Dropping this value announces them.
pub(super) struct UploadNotes(Arc<Shared>);

struct Shared {
    pending: Mutex<Pending>,
    tell: Box<dyn Fn(Note) + Send + Sync>,
}

#[derive(Default)]
struct Pending {
    /// Hosts by size of the upload in bytes and by reason.
    hosts: BTreeMap<(usize, String), Vec<String>>,
    /// Ends the waiting thread when dropped; `None` if no thread waits.
    end: Option<Sender<()>>,
}

impl UploadNotes {
    pub(super) fn new(tell: Box<dyn Fn(Note) + Send + Sync>) -> Self {
        Self(Arc::new(Shared { pending: Mutex::default(), tell }))
    }

    pub(super) fn add(&self, host: &Host, bytes: usize, why: &str) {
        let mut pending = self.0.pending.lock();
        pending.hosts.entry((bytes, why.to_owned())).or_default().push(host.to_string());
        if pending.end.is_some() {
            return;
        }
        let (end, ended) = mpsc::channel::<()>();
        let shared = Arc::downgrade(&self.0);
        let wait = move || {
            let _ = ended.recv_timeout(COLLECTED);
            // At the end of the run, `drop` writes the lines without this thread.
            if let Some(shared) = shared.upgrade() {
                shared.write();
            }
        };
        let thread = thread::Builder::new().name("uploads".into()).stack_size(64 * 1024);
        pending.end = thread.spawn(wait).ok().map(|_| end);
        if pending.end.is_none() {
            drop(pending);
            self.0.write();
        }
    }

    pub(super) fn tell(&self, note: Note) {
        (self.0.tell)(note);
    }
}

impl Drop for UploadNotes {
    fn drop(&mut self) {
        self.0.write();
    }
}

impl Shared {
    fn write(&self) {
        let pending = std::mem::take(&mut *self.pending.lock());
        for ((bytes, why), hosts) in pending.hosts {
            // Truncated to tenths of a megabyte.
            let tenths = bytes / 100_000;
            let size = format!("{}.{} MB", tenths / 10, tenths % 10);
            let text = format!("uploading rdmactl ({size}) to {}: {why}", names::fold(hosts));
            (self.tell)(note(&text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uploads_with_one_reason_are_one_line() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&lines);
        let tell = move |note: Note| written.lock().push(note.text);
        let notes = UploadNotes::new(Box::new(tell));
        for number in 1..=3 {
            let host = Host::named(format!("n{number}"));
            notes.add(&host, 8_123_456, "no rdmactl in the PATH");
        }
        notes.add(&Host::named("m1"), 8_123_456, "its rdmactl is older");
        drop(notes);
        let lines = lines.lock();
        let expected = [
            "uploading rdmactl (8.1 MB) to m1: its rdmactl is older",
            "uploading rdmactl (8.1 MB) to n[1-3]: no rdmactl in the PATH",
        ];
        assert_eq!(*lines, expected);
    }
}
