use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::supply::{Baton, Ended, Order, Ways};
use crate::cli::Global;
use crate::clock::{self, Deadline};
use crate::cmd::live_hosts::{Dated, LiveHosts, WORD};
use crate::cmd::local;
use crate::model::{HostReport, Parts};
use crate::tui::Prepared;

/// How far the threads of a thousand hosts stand behind the one that draws, as `nice` counts.
const YIELD: i32 = 5;

/// Asks hosts again and again, and makes pictures of what they say.
pub(super) struct Gatherer {
    pub(super) subject: Subject,
    /// From the beginning of one reading to that of the next; `None` to read once.
    pub(super) every: Option<Duration>,
    /// What went before.
    pub(super) baton: Baton,
}

/// Who is asked.
pub(super) enum Subject {
    /// This host, another root, or a capture.
    Local(Box<Global>, Parts),
    /// Other hosts.
    Hosts(LiveHosts),
}

impl Gatherer {
    /// Goes on until nobody gives orders any more.
    pub(super) fn run(mut self, ways: &Ways) -> Ended {
        // Whoever types is served first; every thread that is started from here has it from this one.
        // Where it fails, all are alike.
        let _ = rustix::process::nice(YIELD);
        loop {
            let due = self.every.map(Deadline::after);
            self.baton.scenes.release();
            match self.read() {
                Ok((read, taken_ns)) => {
                    let picture = self.baton.pictures.next(read, clock::now(), taken_ns);
                    if let Some(recording) = &self.baton.recording {
                        recording.put(Arc::clone(&picture));
                    }
                    ways.slot.put(self.baton.scenes.next(Prepared::of(picture)));
                }
                Err(error) => ways.teller.complain(format!("{error:#}")),
            }
            if !self.rest(due, ways) {
                break;
            }
        }
        let left = match self.subject {
            Subject::Local(..) => Vec::new(),
            Subject::Hosts(hosts) => hosts.end(),
        };
        Ended { baton: self.baton, left }
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
            Subject::Hosts(hosts) => {
                let read = hosts.read(self.every.unwrap_or_default())?;
                Ok((read, clock::wall_ns()))
            }
        }
    }

    /// Waits until the next reading is due, and does what is asked meanwhile; whether there is a next one.
    fn rest(&mut self, due: Option<Deadline>, ways: &Ways) -> bool {
        loop {
            let wait = due.map_or(WORD, |due| due.remaining().min(WORD));
            match ways.orders.recv_timeout(wait) {
                Ok(Order::Record(feed)) => {
                    // The first moment is what is on the screen.
                    if let Some(last) = self.baton.pictures.last() {
                        feed.put(Arc::clone(last));
                    }
                    self.baton.recording = Some(feed);
                }
                Ok(Order::StopRecording) => self.baton.recording = None,
                // The state asks for none where there is no recording.
                Ok(Order::Step(_) | Order::PlayOrPause) => {}
                Err(RecvTimeoutError::Timeout) if due.is_some_and(Deadline::is_over) => {
                    return true;
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Subject::Hosts(hosts) = &self.subject {
                        hosts.tend();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}
