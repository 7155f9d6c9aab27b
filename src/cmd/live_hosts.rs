//! Hosts whose agents stay between readings.

mod connecting;

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::clock::{self, Deadline, flag_time};
use crate::fleet::{Host, Observer, Reach, Watchdog, fan_out};
use crate::model::{HostFailure, HostReport, Parts, Reason, Via};
use crate::threads::at_once;

use super::fleet::{LEAVE, cancelled};
use connecting::{Arrival, Connecting};

/// How often agents hear in a long wait that the operator is there: they leave after 60 s of silence.
pub(super) const WORD: Duration = Duration::from_secs(20);

/// What a host that is there may take to answer, however short the interval is.
const LEAST_PATIENCE: Duration = Duration::from_secs(1);

/// The shortest and the longest pause before a host that failed is tried again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// Agents on many hosts. One that is lost is a row with its reason, and is looked for again after a
/// pause that grows.
///
/// Getting an agent may take all the time that a host is given, and holds up nobody: it is done
/// beside the readings (`Connecting`). Only agents that are there are waited for.
pub(super) struct LiveHosts {
    all: Arc<All>,
    /// First reports of hosts that were connected to.
    arrivals: Receiver<Arrival>,
    connecting: Arc<Connecting>,
}

/// What the threads that connect share with whoever reads.
struct All {
    hosts: Vec<LiveHost>,
    reach: Reach,
    watchdog: Watchdog,
    parts: Parts,
    fanout: usize,
    /// The flag that gives a slow host more time.
    patience_flag: &'static str,
}

/// What a reading has of one host.
pub(super) struct Dated {
    /// What it said, or why it said nothing.
    pub(super) report: HostReport,
    /// When it answered last; `None` for a host that never did.
    pub(super) answered: Option<Instant>,
}

/// One of them.
struct LiveHost {
    host: Host,
    slot: Mutex<Slot>,
    /// When it answered last.
    answered: Mutex<Option<Instant>>,
}

enum Slot {
    /// Nobody asked yet.
    New,
    /// There, how it came there, and when the answer to an open question is due.
    Here(Observer, Via, Option<Deadline>),
    /// Why there is none, when to look again, and how long to wait after that.
    Gone(HostFailure, Deadline, Duration),
    /// On the way there; why there was none before, and how long to wait if there is none again.
    Coming(Option<HostFailure>, Duration),
}

impl LiveHosts {
    pub(super) fn new(
        hosts: Vec<Host>,
        reach: Reach,
        watchdog: Watchdog,
        parts: Parts,
        fanout: usize,
        patience_flag: &'static str,
    ) -> Self {
        let live =
            |host| LiveHost { host, slot: Mutex::new(Slot::New), answered: Mutex::default() };
        let hosts = hosts.into_iter().map(live).collect();
        let all = Arc::new(All { hosts, reach, watchdog, parts, fanout, patience_flag });
        let (reports, arrivals) = mpsc::channel();
        let connecting = Arc::new(Connecting::new(Arc::clone(&all), reports));
        Self { all, arrivals, connecting }
    }

    /// One report of each host, in their order; the next reading is due after `every`.
    ///
    /// No host holds up the others for longer than that. What an agent answers later is of a later
    /// reading, and only one that takes as long as a host may take at all is given up: to connect again
    /// would burden a busy host, or a busy operator, even more. A host that nobody reached yet is said to
    /// be connecting. As long as that is all there is to say, the first that answers is waited for.
    pub(super) fn read(&self, every: Duration) -> anyhow::Result<Vec<Dated>> {
        let reading = every.max(LEAST_PATIENCE).min(self.all.reach.timeout);
        let patience = Deadline::after(reading);
        // What came since the last reading is asked again, to be of this one.
        while self.arrivals.try_recv().is_ok() {}
        let mut reports: Vec<Option<HostReport>> = vec![None; self.all.hosts.len()];
        let here: Vec<usize> =
            (0..reports.len()).filter(|&index| self.all.is_here(index)).collect();
        self.connect().context("cannot start a thread")?;
        let all = &*self.all;
        for &index in &here {
            all.ask(index, reading);
        }
        let answer = |index: &usize| all.answer(*index, patience, reading);
        fan_out(&here, all.fanout, &all.watchdog, answer, |place, report| {
            reports[here[place]] = Some(report);
        })
        .context("cannot start a thread")?;
        self.await_first(&mut reports, patience);
        let reports = reports.into_iter().enumerate();
        let report = |(index, report): (usize, Option<HostReport>)| {
            all.dated(index, report.unwrap_or_else(|| all.lack(index)))
        };
        Ok(reports.map(report).collect())
    }

    /// Waits until every host is connected or has failed, or a host's time limit is over.
    ///
    /// # Errors
    /// The system starts no thread.
    pub(super) fn settle(&self) -> anyhow::Result<()> {
        let deadline = Deadline::after(self.all.reach.timeout);
        self.connect().context("cannot start a thread")?;
        let mut reports = vec![None; self.all.hosts.len()];
        let is_coming = |index: usize| self.all.is_awaited(index);
        while (0..reports.len()).any(is_coming) && !deadline.is_over() {
            if self.all.watchdog.is_cancelled() {
                break;
            }
            self.await_first(&mut reports, Deadline::after(deadline.remaining().min(WORD)));
            self.tend();
        }
        Ok(())
    }

    /// Waits for hosts that nobody reached before.
    fn await_first(&self, reports: &mut [Option<HostReport>], patience: Deadline) {
        loop {
            let is_told = |index: usize| reports[index].is_some() || !self.all.is_awaited(index);
            let told = (0..reports.len()).filter(|&index| is_told(index)).count();
            let is_over = patience.is_over() && told > 0;
            if told == reports.len() || is_over || self.all.watchdog.is_cancelled() {
                return;
            }
            // Past it, each arrival may be the first; a cancelled run ends all connections, which
            // are arrivals, too.
            let wait = if patience.is_over() { PAUSES[1] } else { patience.remaining() };
            if let Ok(Arrival { index, report }) = self.arrivals.recv_timeout(wait) {
                reports[index].get_or_insert(report);
            }
        }
    }

    /// Has all hosts connected to whose time it is.
    fn connect(&self) -> std::io::Result<()> {
        for (index, live) in self.all.hosts.iter().enumerate() {
            let slot = &mut *lock(&live.slot);
            let (failure, pause) = match slot {
                Slot::New => (None, PAUSES[0]),
                Slot::Gone(failure, at, pause) if at.is_over() => (Some(failure.clone()), *pause),
                _ => continue,
            };
            self.connecting.add(index)?;
            *slot = Slot::Coming(failure, pause);
        }
        Ok(())
    }

    /// Tells every agent that somebody is there, while nothing is asked, and looks for those whose
    /// pause is over.
    pub(super) fn tend(&self) {
        for live in &self.all.hosts {
            if let Slot::Here(agent, ..) = &*lock(&live.slot) {
                agent.say_alive();
            }
        }
        // Without a thread the next reading tries it again, and says so.
        let _ = self.connect();
    }

    /// Ends all agents at once; which could not be ended.
    pub(super) fn end(self) -> Vec<String> {
        self.connecting.stop();
        let mut left = self.all.end();
        // A host that is still on its way has nothing to give any more.
        self.all.watchdog.cancel();
        self.connecting.wait(Deadline::after(LEAVE));
        left.extend(self.all.end());
        self.all.reach.end();
        left
    }
}

impl All {
    fn is_here(&self, index: usize) -> bool {
        matches!(*lock(&self.hosts[index].slot), Slot::Here(..))
    }

    /// Whether nothing at all is known of a host yet.
    fn is_awaited(&self, index: usize) -> bool {
        matches!(*lock(&self.hosts[index].slot), Slot::New | Slot::Coming(None, _))
    }

    /// The report of a host that gave none to this reading.
    fn lack(&self, index: usize) -> HostReport {
        let live = &self.hosts[index];
        let failure = match &*lock(&live.slot) {
            _ if self.watchdog.is_cancelled() => cancelled(),
            Slot::Gone(failure, ..) | Slot::Coming(Some(failure), _) => failure.clone(),
            Slot::New | Slot::Here(..) | Slot::Coming(None, _) => {
                HostFailure::new(Reason::Connecting, "still connecting")
            }
        };
        HostReport::failed(live.host.to_string(), failure)
    }

    /// The report, with when its host answered last.
    fn dated(&self, index: usize, report: HostReport) -> Dated {
        let answered = &mut *lock(&self.hosts[index].answered);
        if report.failure.is_none() {
            *answered = Some(clock::now());
        }
        Dated { report, answered: *answered }
    }

    /// Asks an agent that is there, unless it has a question to answer still.
    fn ask(&self, index: usize, reading: Duration) {
        if let Slot::Here(agent, _, due @ None) = &mut *lock(&self.hosts[index].slot) {
            let by = Deadline::after(self.reach.timeout.max(reading));
            agent.ask(&self.parts, reading, by);
            *due = Some(by);
        }
    }

    /// The answer of an agent that was asked.
    fn answer(&self, index: usize, patience: Deadline, reading: Duration) -> HostReport {
        let live = &self.hosts[index];
        let host = live.host.to_string();
        let slot = &mut *lock(&live.slot);
        let Slot::Here(agent, via, asked) = slot else {
            return HostReport::failed(host, cancelled());
        };
        let due = asked.unwrap_or(patience);
        let Some(answer) = agent.answer(&self.parts, patience, due) else {
            let failure =
                HostFailure::new(Reason::Timeout, "no response yet").fix(self.longer(reading));
            return HostReport::failed(host, failure);
        };
        match answer {
            Ok(report) => {
                agent.rest();
                *asked = None;
                HostReport { host, via: *via, ..report }
            }
            Err(failure) => {
                let Slot::Here(agent, ..) = std::mem::replace(slot, Slot::New) else {
                    return HostReport::failed(host, failure);
                };
                let (next, report) = self.gone(host, agent.give_up(failure), PAUSES[0]);
                *slot = next;
                report
            }
        }
    }

    /// Returns the fix of a host that did not respond within the time of one sample: twice that time.
    fn longer(&self, reading: Duration) -> String {
        let longer = flag_time(reading.saturating_mul(2));
        if reading < self.reach.timeout {
            format!("increase the interval: {}={longer}", self.patience_flag)
        } else {
            format!("raise the time limit: --timeout {longer}")
        }
    }

    /// Has an agent that came report for the first time; what its slot then holds.
    fn first(
        &self,
        host: String,
        agent: Observer,
        via: Via,
        deadline: Deadline,
        pause: Duration,
    ) -> (Slot, HostReport) {
        match agent.follow(&self.parts, deadline) {
            Ok(report) => {
                agent.rest();
                (Slot::Here(agent, via, None), HostReport { host, via, ..report })
            }
            Err(failure) => self.gone(host, agent.give_up(failure), pause),
        }
    }

    /// What becomes of a host that failed.
    fn gone(&self, host: String, failure: HostFailure, pause: Duration) -> (Slot, HostReport) {
        // A cancelled run broke the connection itself.
        let failure = if self.watchdog.is_cancelled() { cancelled() } else { failure };
        let failure = self.reach.suggest_time(failure, self.reach.timeout);
        let longer = (pause * 2).min(PAUSES[1]);
        let slot = Slot::Gone(failure.clone(), Deadline::after(pause), longer);
        (slot, HostReport::failed(host, failure))
    }

    /// Ends the agents that are there.
    fn end(&self) -> Vec<String> {
        let deadline = Deadline::after(LEAVE);
        let is_here = |live: &&LiveHost| matches!(*lock(&live.slot), Slot::Here(..));
        let left = Mutex::new(Vec::new());
        at_once(self.hosts.iter().filter(is_here).collect(), |live| {
            if let Slot::Here(agent, ..) = std::mem::replace(&mut *lock(&live.slot), Slot::New)
                && let Err(process) = agent.end(deadline)
            {
                lock(&left).push(process.to_string());
            }
        });
        left.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
