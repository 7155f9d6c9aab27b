//! Plays a recording at its original pace, with pause and single steps.
//!
//! `source` runs it in a thread; it passes snapshots to the screen through `latest_snapshot`.

use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use super::sample_builder::SampleBuilder;
use super::source::{Channels, SourceCommand, SourceResult};
use crate::capture::{CaptureError, HostSample, TopRecording};
use crate::clock::{self, Deadline};
use crate::fleet::DatedReport;
use crate::model::HostReport;
use crate::tui::{Past, Prepared, RecordingPosition, Sample, Snapshots};

const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Wait for orders while no sample is due.
const IDLE: Duration = Duration::from_secs(3_600);

/// Time limit for reading earlier samples after a jump.
const LOOK_BACK: Duration = Duration::from_millis(500);

/// At one sample per second, this covers the 300 s for which a change is a finding.
const MAX_BACK: usize = 300;

pub(super) struct Player {
    recording: TopRecording,
    /// Time that the first sample gets; the others follow at their recorded distance.
    begin: Instant,
    place: usize,
    is_paused: bool,
    samples: SampleBuilder,
    /// Place of the last sample in `samples`.
    last: Option<usize>,
    /// Sample that is shown, and its place.
    shown: Option<(usize, Prepared)>,
    snapshots: Snapshots,
    last_put: Option<RecordingPosition>,
    reading_time: Duration,
}

impl Player {
    pub(super) fn new(recording: TopRecording) -> Self {
        Self {
            recording,
            begin: clock::now(),
            place: 0,
            is_paused: false,
            samples: SampleBuilder::default(),
            last: None,
            shown: None,
            snapshots: Snapshots::default(),
            last_put: None,
            reading_time: Duration::ZERO,
        }
    }

    pub(super) fn run(mut self, channels: &Channels) -> SourceResult {
        if let Some(tail) = self.recording.tail() {
            channels.input_sender.complain(format!("the recording is incomplete: {tail}"));
        }
        loop {
            if let Err(error) = self.show(channels) {
                channels.input_sender.complain(error.to_string());
                self.stay(channels);
            }
            let due = self.pause().filter(|_| !self.is_paused).map(Deadline::after);
            match channels.orders.recv_timeout(due.map_or(IDLE, Deadline::remaining)) {
                Ok(order) => {
                    self.obey(&order);
                    // Several steps at once show only the last place.
                    channels.orders.try_iter().for_each(|order| self.obey(&order));
                }
                Err(RecvTimeoutError::Timeout) if due.is_some() => self.place += 1,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return SourceResult::default(),
            }
        }
    }

    fn obey(&mut self, order: &SourceCommand) {
        match order {
            SourceCommand::Step(by) => {
                self.is_paused = true;
                let by = isize::try_from(*by).unwrap_or_default();
                let last = self.recording.count().saturating_sub(1);
                self.place = self.place.saturating_add_signed(by).min(last);
            }
            SourceCommand::PlayOrPause => self.is_paused = !self.is_paused,
            // The state never sends these for a recording.
            SourceCommand::Record(_) | SourceCommand::StopRecording => {}
        }
    }

    /// Returns the pause until the next sample; `None` at the last one.
    fn pause(&self) -> Option<Duration> {
        let [this, next] = [self.place, self.place + 1].map(|place| self.recording.taken_ns(place));
        Some(Duration::from_nanos(next?.saturating_sub(this?)).min(MAX_PAUSE))
    }

    fn show(&mut self, channels: &Channels) -> Result<(), CaptureError> {
        let mut past = None;
        if self.shown.as_ref().is_none_or(|(place, _)| *place != self.place) {
            let sample;
            (sample, past) = self.look()?;
            self.shown = Some((self.place, Prepared::of(sample)));
        }
        self.put(past, channels);
        Ok(())
    }

    /// Pauses at the visible sample, because the requested one cannot be read.
    fn stay(&mut self, channels: &Channels) {
        self.is_paused = true;
        if let Some((place, _)) = &self.shown {
            self.place = *place;
            self.put(None, channels);
        }
    }

    /// Passes the sample on, unless it was passed on already. `past` is passed only once.
    fn put(&mut self, past: Option<Past>, channels: &Channels) {
        let Some((place, prepared)) = self.shown.clone() else { return };
        let (position, count) = (place + 1, self.recording.count());
        let position = RecordingPosition { position, count, is_paused: self.is_paused };
        if self.last_put.replace(position) != Some(position) {
            let mut prepared = prepared.at(position);
            if let Some(past) = past {
                prepared = prepared.after(past);
            }
            self.snapshots.release();
            channels.latest.put(self.snapshots.next(prepared));
        }
    }

    /// Returns the sample of the current place; after a jump, also the earlier samples.
    fn look(&mut self) -> Result<(Arc<Sample>, Option<Past>), CaptureError> {
        let place = self.place;
        // After an error, the next sample is read with a new start.
        let last = self.last.take();
        if last.is_some_and(|last| last + 1 == place) {
            return Ok((self.next(place)?, None));
        }
        let first = place.saturating_sub(self.starter());
        self.samples = SampleBuilder::default();
        let mut past = Past::default();
        // The first sample shows the last report of an unresponsive host.
        let answers = self.read(first, |sighting| sighting.report.clone())?;
        let sample = self.samples.next(answers, self.at(first), self.taken_ns(first));
        if first < place {
            past.push(&sample);
        }
        for place in first + 1..place {
            past.push(&*self.next(place)?);
        }
        Ok((self.next(place)?, Some(past)))
    }

    /// Returns the number of earlier samples to read after a jump; rates need at least one.
    fn starter(&self) -> usize {
        let count = LOOK_BACK.as_nanos().checked_div(self.reading_time.as_nanos());
        count.and_then(|count| usize::try_from(count).ok()).unwrap_or(MAX_BACK).clamp(1, MAX_BACK)
    }

    /// Returns the sample of a place, if the previous place was read before.
    fn next(&mut self, place: usize) -> Result<Arc<Sample>, CaptureError> {
        let began = clock::now();
        let told = self.read(place, |sighting| match &sighting.failure {
            Some(failure) => HostReport::failed(&*sighting.report.host, failure.clone()),
            None => sighting.report.clone(),
        })?;
        let sample = self.samples.next(told, self.at(place), self.taken_ns(place));
        self.reading_time = clock::now().saturating_duration_since(began);
        self.last = Some(place);
        Ok(sample)
    }

    fn read(
        &mut self,
        place: usize,
        report: impl Fn(&HostSample) -> HostReport,
    ) -> Result<Vec<DatedReport>, CaptureError> {
        let (at, taken_ns) = (self.at(place), self.taken_ns(place));
        let answered = |answered_ns: u64| {
            let ago = Duration::from_nanos(taken_ns.saturating_sub(answered_ns));
            at.checked_sub(ago).unwrap_or(at)
        };
        let dated = |sighting: &HostSample| DatedReport {
            report: report(sighting),
            answered: sighting.answered_ns.map(answered),
        };
        Ok(self.recording.at(place)?.iter().map(dated).collect())
    }

    /// Returns the recorded time of a place, in nanoseconds; 0 if it is unknown.
    fn taken_ns(&self, place: usize) -> u64 {
        self.recording.taken_ns(place).unwrap_or_default()
    }

    /// Returns the time of a place: the time of the first sample plus the recorded distance.
    fn at(&self, place: usize) -> Instant {
        let since = self.taken_ns(place).saturating_sub(self.taken_ns(0));
        self.begin.checked_add(Duration::from_nanos(since)).unwrap_or(self.begin)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc;

    use super::super::input::InputSender;
    use super::super::latest_snapshot::LatestSnapshot;
    use super::*;
    use crate::capture::{HostSampleRef, RecordingWriter};
    use crate::model::Via;

    const SECOND_NS: u64 = 1_000_000_000;

    /// Records one host, with a number of samples 10 s apart.
    fn player(path: &Path, moments: u64) -> Player {
        let file = std::fs::File::create(path).unwrap();
        let mut writer = RecordingWriter::new(file, ["n1"]).unwrap();
        let report = HostReport::empty("n1", Via::Agent);
        for moment in 0..moments {
            let taken_ns = (1_000 + moment * 10) * SECOND_NS;
            let told =
                HostSampleRef { report: &report, answered_ns: Some(taken_ns), failure: None };
            writer.write(taken_ns, &[told], None).unwrap();
        }
        Player::new(TopRecording::open(path).unwrap())
    }

    #[test]
    fn moments_are_as_far_apart_as_they_were_however_fast_they_are_played() {
        let folder = tempfile::tempdir().unwrap();
        let mut player = player(&folder.path().join("x.rec"), 5);
        let at = |player: &mut Player, place| player.next(place).unwrap().at;
        let first = at(&mut player, 0);
        assert_eq!(at(&mut player, 1) - first, Duration::from_secs(10));
        assert_eq!(at(&mut player, 4) - first, Duration::from_secs(40));
        assert_eq!(player.next(4).unwrap().seen[0].answered, Some(first + Duration::from_secs(40)));
    }

    #[test]
    fn unreadable_sample_keeps_the_position_and_pauses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.rec");
        let mut player = player(&path, 3);
        let (inputs, _told) = mpsc::channel();
        let (_orders, taken) = mpsc::channel();
        let latest = LatestSnapshot::new(inputs.clone());
        let channels =
            Channels { orders: taken, latest: latest.clone(), input_sender: InputSender(inputs) };
        player.show(&channels).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"report\":{", "\"report\":[")).unwrap();
        player.obey(&SourceCommand::Step(i32::MAX));
        assert!(player.show(&channels).is_err());
        player.stay(&channels);
        assert_eq!((player.place, player.is_paused), (0, true));
        player.obey(&SourceCommand::PlayOrPause);
        player.show(&channels).unwrap();
    }

    #[test]
    fn earlier_samples_are_returned_only_after_a_jump() {
        let folder = tempfile::tempdir().unwrap();
        let mut player = player(&folder.path().join("x.rec"), 5);
        for (place, is_told) in [(0, true), (1, false), (2, false), (1, true), (4, true), (3, true)]
        {
            player.place = place;
            assert_eq!(player.look().unwrap().1.is_some(), is_told, "{place}");
        }
        for (by, place) in [(-10, 0), (i32::MAX, 4), (-1, 3), (i32::MIN, 0)] {
            player.obey(&SourceCommand::Step(by));
            assert_eq!(player.place, place);
        }
        assert!(player.is_paused);
    }
}
