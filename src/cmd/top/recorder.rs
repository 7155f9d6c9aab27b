use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::input::{Input, Teller};
use super::new_file::create_new;
use crate::capture::{RecordingWriter, SightingRef};
use crate::tui::Picture;

/// How many pictures may wait for the disk.
const WAITING: usize = 8;

/// Writes pictures into a file, beside whoever makes them.
pub(super) struct Recorder {
    pictures: SyncSender<Arc<Picture>>,
    thread: JoinHandle<()>,
    teller: Teller,
}

impl Recorder {
    /// Begins a file, which must not be there yet; `None` when it cannot be, which is said.
    pub(super) fn start(path: &Path, teller: &Teller) -> Option<Self> {
        let (pictures, taken) = mpsc::sync_channel(WAITING);
        let name = path.display().to_string();
        let told = teller.clone();
        let serve = move |file| {
            match write(file, &taken) {
                Ok(moments) => told.say(format!("{moments} moments are in {name}")),
                Err(error) => told.complain(format!("the recording {name} has ended: {error}")),
            }
            told.send(Input::Recording(false));
        };
        let started = create_new(path).and_then(|file| {
            thread::Builder::new().name("recorder".into()).spawn(move || serve(file))
        });
        let path = path.display();
        match started {
            Ok(thread) => {
                teller.say(format!("recording into {path}"));
                teller.send(Input::Recording(true));
                Some(Self { pictures, thread, teller: teller.clone() })
            }
            Err(error) => {
                teller.complain(format!("cannot record into {path}: {error}"));
                teller.send(Input::Recording(false));
                None
            }
        }
    }

    /// Has a picture written. One that finds no place is left out, which is said: nothing waits for a disk.
    pub(super) fn put(&self, picture: Arc<Picture>) {
        if let Err(TrySendError::Full(_)) = self.pictures.try_send(picture) {
            self.teller.complain("the disk is too slow: a moment is missing in the recording");
        }
    }

    /// Waits until all that was put is written.
    pub(super) fn finish(self) {
        drop(self.pictures);
        // What it panicked of has been said by the panic.
        let _ = self.thread.join();
    }
}

/// Writes until no further picture comes; how many there were.
fn write(file: File, pictures: &Receiver<Arc<Picture>>) -> io::Result<u64> {
    let Ok(first) = pictures.recv() else { return Ok(0) };
    let clock = Clock { at: first.at, wall_ns: first.taken_ns };
    let hosts = first.reports.iter().map(|report| report.host.as_str());
    let mut writer = RecordingWriter::new(BufWriter::new(file), hosts)?;
    writer.write(first.taken_ns, &sightings(&first, clock), None)?;
    let (mut last, mut count) = (first, 1);
    for picture in pictures {
        let before = sightings(&last, clock);
        writer.write(picture.taken_ns, &sightings(&picture, clock), Some(&before))?;
        (last, count) = (picture, count + 1);
    }
    Ok(count)
}

fn sightings(picture: &Picture, clock: Clock) -> Vec<SightingRef<'_>> {
    let hosts = picture.reports.iter().zip(&picture.seen);
    let sightings = hosts.map(|(report, seen)| SightingRef {
        report,
        answered_ns: seen.answered.map(|answered| clock.wall_ns(answered)),
        failure: seen.failure.as_ref(),
    });
    sightings.collect()
}

/// Makes times of the wall's clock of those of the other one: of the same always the same.
#[derive(Clone, Copy)]
struct Clock {
    at: Instant,
    wall_ns: u64,
}

impl Clock {
    fn wall_ns(self, moment: Instant) -> u64 {
        let ns = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        let (since, until) =
            (moment.saturating_duration_since(self.at), self.at.saturating_duration_since(moment));
        self.wall_ns.saturating_add(ns(since)).saturating_sub(ns(until))
    }
}
