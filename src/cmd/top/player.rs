use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use super::input::Input;
use super::pictures::Pictures;
use super::supply::{Ended, Order, Ways};
use crate::capture::{CaptureError, Recording, Sighting};
use crate::clock::{self, Deadline};
use crate::cmd::live_hosts::Dated;
use crate::model::HostReport;
use crate::tui::Prepared;

/// Between two moments nobody waits for longer, however long it was.
const LONGEST: Duration = Duration::from_secs(5);

/// How long a wait is in which nothing is due.
const IDLE: Duration = Duration::from_secs(3_600);

/// Plays a recording: each moment as long after the one before as it was.
pub(super) struct Player {
    recording: Recording,
    place: usize,
    pictures: Pictures,
    /// What was taken in by `pictures` last.
    shown: Option<usize>,
}

impl Player {
    pub(super) fn new(recording: Recording) -> Self {
        Self { recording, place: 0, pictures: Pictures::default(), shown: None }
    }

    /// Goes on until nobody gives orders any more.
    pub(super) fn run(mut self, ways: &Ways) -> Ended {
        if let Some(tail) = self.recording.tail() {
            ways.teller.complain(format!("the recording ends early: {tail}"));
        }
        let mut is_playing = true;
        loop {
            if let Err(error) = self.show(ways) {
                ways.teller.complain(error.to_string());
                is_playing = false;
            }
            let due = self.pause().filter(|_| is_playing).map(Deadline::after);
            match ways.orders.recv_timeout(due.map_or(IDLE, Deadline::remaining)) {
                Ok(Order::Step(by)) => {
                    is_playing = false;
                    self.step(by);
                }
                Ok(Order::Pause(pauses)) => is_playing = !pauses,
                Err(RecvTimeoutError::Timeout) if due.is_some() => self.place += 1,
                // The state has no recording of a recording asked for.
                Ok(Order::Record(_) | Order::StopRecording) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ended::default(),
            }
        }
    }

    /// How long after this moment the next one was; `None` at the last one.
    fn pause(&self) -> Option<Duration> {
        let [this, next] = [self.place, self.place + 1].map(|place| self.recording.taken_ns(place));
        Some(Duration::from_nanos(next?.saturating_sub(this?)).min(LONGEST))
    }

    fn step(&mut self, by: i32) {
        let by = isize::try_from(by).unwrap_or_default();
        let last = self.recording.count().saturating_sub(1);
        self.place = self.place.saturating_add_signed(by).min(last);
    }

    fn show(&mut self, ways: &Ways) -> Result<(), CaptureError> {
        let place = self.place;
        if self.shown == Some(place) {
            return Ok(());
        }
        let at = clock::now();
        // Rates are made of two moments, and of a silent host the last answer is what is shown.
        let before = place.saturating_sub(1);
        if self.shown.take() != Some(before) || place == 0 {
            self.pictures = Pictures::default();
            let answers = self.read(before, at, |sighting| sighting.report.clone())?;
            self.pictures.next(answers, at, 0);
        }
        let taken_ns = self.recording.taken_ns(place).unwrap_or_default();
        let told = self.read(place, at, |sighting| match &sighting.failure {
            Some(failure) => HostReport::failed(&*sighting.report.host, failure.clone()),
            None => sighting.report.clone(),
        })?;
        ways.teller.send(Input::Position(place + 1, self.recording.count()));
        ways.slot.put(Prepared::of(self.pictures.next(told, at, taken_ns)));
        self.shown = Some(place);
        Ok(())
    }

    /// What the hosts said, as if it was at this moment.
    fn read(
        &mut self,
        place: usize,
        at: Instant,
        report: impl Fn(&Sighting) -> HostReport,
    ) -> Result<Vec<Dated>, CaptureError> {
        let taken_ns = self.recording.taken_ns(place).unwrap_or_default();
        let answered = |answered_ns: u64| {
            let ago = Duration::from_nanos(taken_ns.saturating_sub(answered_ns));
            at.checked_sub(ago).unwrap_or(at)
        };
        let dated = |sighting: &Sighting| Dated {
            report: report(sighting),
            answered: sighting.answered_ns.map(answered),
        };
        Ok(self.recording.at(place)?.iter().map(dated).collect())
    }
}
