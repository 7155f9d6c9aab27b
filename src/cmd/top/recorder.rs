//! Writes the samples of `top` to a recording in a thread, so that a slow disk delays nothing
//! else.

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError};
use std::thread;
use std::time::{Duration, Instant};

use super::input::{Input, InputSender};
use super::new_file;
use crate::capture::{HostSampleRef, RecordingWriter};
use crate::clock::Deadline;
use crate::tui::Sample;

const MAX_QUEUED: usize = 8;

/// Sender of samples to a recorder. Dropping it ends the file.
pub(super) struct SampleSender {
    samples: SyncSender<Arc<Sample>>,
    input_sender: InputSender,
}

/// Recording that is written or being finished, with a unique number.
pub(super) struct Recorder {
    pub(super) number: u64,
    done: Receiver<()>,
}

impl SampleSender {
    /// Queues a sample, or drops it with a message: gathering must not wait for a disk.
    pub(super) fn put(&self, sample: Arc<Sample>) {
        if let Err(TrySendError::Full(_)) = self.samples.try_send(sample) {
            self.input_sender.complain("the disk is too slow: one sample was not recorded");
        }
    }
}

impl Recorder {
    /// Starts a recorder. Messages report its file and its end: no caller waits for a disk.
    pub(super) fn start(
        number: u64,
        input_sender: &InputSender,
    ) -> io::Result<(SampleSender, Self)> {
        let (samples, taken) = mpsc::sync_channel(MAX_QUEUED);
        let (is_done, done) = mpsc::channel();
        let told = input_sender.clone();
        let serve = move || {
            // Dropped at the end of this thread, also after a panic; that signals the end.
            let _is_done: Sender<()> = is_done;
            record(&taken, &told);
            told.send(Input::RecordingEnded(number));
        };
        thread::Builder::new().name("recorder".into()).spawn(serve)?;
        Ok((SampleSender { samples, input_sender: input_sender.clone() }, Self { number, done }))
    }

    pub(super) fn is_done(&self) -> bool {
        self.done.try_recv() == Err(mpsc::TryRecvError::Disconnected)
    }

    /// Waits until the recorder has ended; returns false after the deadline.
    pub(super) fn finish(self, deadline: Deadline) -> bool {
        self.done.recv_timeout(deadline.remaining()) == Err(RecvTimeoutError::Disconnected)
    }
}

fn record(samples: &Receiver<Arc<Sample>>, input_sender: &InputSender) {
    let (file, path) = match new_file::create("rdmactl-top", "rec") {
        Ok(made) => made,
        Err(error) => {
            return input_sender
                .complain(format!("cannot create a recording in the current directory: {error}"));
        }
    };
    let name = path.display();
    input_sender.say(format!("recording to {name}"));
    match write(file, samples) {
        Ok(1) => input_sender.say(format!("saved 1 sample in {name}")),
        Ok(samples) => input_sender.say(format!("saved {samples} samples in {name}")),
        Err(error) => input_sender.complain(format!("the recording {name} ended: {error}")),
    }
}

/// Writes samples until the sender is dropped; returns their number.
fn write(file: File, samples: &Receiver<Arc<Sample>>) -> io::Result<u64> {
    let Ok(first) = samples.recv() else { return Ok(0) };
    let clock = Clock { at: first.at, wall_ns: first.taken_ns };
    let hosts = first.reports.iter().map(|report| report.host.as_str());
    let mut writer = RecordingWriter::new(BufWriter::new(file), hosts)?;
    writer.write(first.taken_ns, &sightings(&first, clock), None)?;
    let (mut last, mut count) = (first, 1);
    for sample in samples {
        let before = sightings(&last, clock);
        // The wall clock may have been set meanwhile, which would give wrong ages.
        let taken_ns = clock.wall_ns(sample.at);
        writer.write(taken_ns, &sightings(&sample, clock), Some(&before))?;
        (last, count) = (sample, count + 1);
    }
    Ok(count)
}

fn sightings(sample: &Sample, clock: Clock) -> Vec<HostSampleRef<'_>> {
    let hosts = sample.reports.iter().zip(&sample.seen);
    let sightings = hosts.map(|(report, seen)| HostSampleRef {
        report,
        answered_ns: seen.answered.map(|answered| clock.wall_ns(answered)),
        failure: seen.failure.as_ref(),
    });
    sightings.collect()
}

/// Converts monotonic times to wall-clock times; equal times stay equal.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::TopRecording;
    use crate::clock;
    use crate::model::{HostReport, Via};
    use crate::tui::LastResponse;

    fn sample(at: Instant, taken_ns: u64) -> Arc<Sample> {
        let reports = vec![HostReport::empty("n1", Via::Agent)];
        let seen = vec![LastResponse { answered: Some(at), failure: None }];
        Arc::new(Sample { at, taken_ns, reports, seen, connections: vec![Vec::new()] })
    }

    #[test]
    fn a_wall_clock_that_is_set_back_sets_back_no_recording() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.rec");
        let (samples, taken) = mpsc::channel();
        let (at, second) = (clock::now(), Duration::from_secs(1));
        samples.send(sample(at, 5_000_000_000)).unwrap();
        samples.send(sample(at + second, 1_000_000_000)).unwrap();
        drop(samples);
        assert_eq!(write(File::create(&path).unwrap(), &taken).unwrap(), 2);
        let mut recording = TopRecording::open(&path).unwrap();
        assert_eq!(recording.taken_ns(1), Some(6_000_000_000));
        assert_eq!(recording.at(1).unwrap()[0].answered_ns, Some(6_000_000_000));
    }
}
