use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::pictures::Pictures;
use super::recorder::Recorder;
use super::supply::{Ended, Order, Ways};
use crate::cli::Global;
use crate::clock::{self, Deadline};
use crate::cmd::live_hosts::{Dated, LiveHosts};
use crate::cmd::local;
use crate::model::{HostReport, Parts};
use crate::tui::Prepared;

/// How often agents hear in a long wait that the operator is there: they leave after 60 s of silence.
const WORD: Duration = Duration::from_secs(20);

/// What a host that is there may hold up a reading once, however short the interval is.
const LEAST_PATIENCE: Duration = Duration::from_secs(1);

/// Asks hosts again and again, and makes pictures of what they say.
pub(super) struct Gatherer {
    pub(super) subject: Subject,
    /// From the beginning of one reading to that of the next; `None` to read once.
    pub(super) every: Option<Duration>,
    /// What went before.
    pub(super) pictures: Pictures,
}

/// Who is asked.
pub(super) enum Subject {
    /// This host, another root, or a capture.
    Local(Box<Global>, Parts),
    /// Other hosts; how long one of them may take.
    Hosts(LiveHosts, Duration),
}

impl Gatherer {
    /// Goes on until nobody gives orders any more.
    pub(super) fn run(mut self, ways: &Ways) -> Ended {
        let mut recorder: Option<Recorder> = None;
        loop {
            let due = self.every.map(Deadline::after);
            match self.read() {
                Ok((read, taken_ns)) => {
                    let picture = self.pictures.next(read, clock::now(), taken_ns);
                    if let Some(recorder) = &recorder {
                        recorder.put(Arc::clone(&picture));
                    }
                    ways.slot.put(Prepared::of(picture));
                }
                Err(error) => ways.teller.complain(format!("{error:#}")),
            }
            if !self.rest(due, ways, &mut recorder) {
                break;
            }
        }
        if let Some(recorder) = recorder {
            recorder.finish();
        }
        let left = match self.subject {
            Subject::Local(..) => Vec::new(),
            Subject::Hosts(hosts, _) => hosts.end(),
        };
        Ended { pictures: self.pictures, left }
    }

    /// What hosts say, and when that was.
    fn read(&self) -> anyhow::Result<(Vec<Dated>, u64)> {
        match &self.subject {
            Subject::Local(global, parts) => {
                let reports = local::read(global, parts)?;
                let now = clock::now();
                let dated = |report: HostReport| {
                    let answered = report.failure.is_none().then_some(now);
                    Dated { report, answered }
                };
                let taken_ns = reports.taken_ns.unwrap_or_else(clock::wall_ns);
                Ok((reports.hosts.into_iter().map(dated).collect(), taken_ns))
            }
            Subject::Hosts(hosts, timeout) => {
                let every = self.every.unwrap_or_default();
                let patience = every.max(LEAST_PATIENCE).min(*timeout);
                let read = hosts.read(patience)?;
                Ok((read, clock::wall_ns()))
            }
        }
    }

    /// Waits until the next reading is due, and does what is asked meanwhile; whether there is a next one.
    fn rest(&self, due: Option<Deadline>, ways: &Ways, recorder: &mut Option<Recorder>) -> bool {
        loop {
            let wait = due.map_or(WORD, |due| due.remaining().min(WORD));
            match ways.orders.recv_timeout(wait) {
                Ok(Order::Record(path)) => {
                    *recorder = Recorder::start(&path, &ways.teller);
                    // The first moment is what is on the screen.
                    if let (Some(recorder), Some(last)) = (&recorder, self.pictures.last()) {
                        recorder.put(Arc::clone(last));
                    }
                }
                Ok(Order::StopRecording) => *recorder = None,
                // The state asks for none where there is no recording.
                Ok(Order::Step(_) | Order::Pause(_)) => {}
                Err(RecvTimeoutError::Timeout) if due.is_some_and(Deadline::is_over) => {
                    return true;
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Subject::Hosts(hosts, _) = &self.subject {
                        hosts.tend();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}
