//! Hosts whose agents keep running between the samples of `--watch`, `check --sample` and `top`.
//!
//! `connect_threads` starts the agents. This module requests the samples, and retries failed
//! hosts. It computes no rates.

mod connect_threads;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use connect_threads::{ConnectThreads, FirstReport};
use parking_lot::Mutex;

use super::{AgentStarter, HostReader, Watchdog, cancelled, fan_out};
use crate::clock::{self, Deadline, flag_time};
use crate::hosts::Host;
use crate::model::{HostFailure, HostReport, Parts, Reason, Via};

/// Minimum time in which a connected host may respond, if the limit of a sample is shorter.
const MIN_WAIT: Duration = Duration::from_secs(1);

/// Shortest and longest pause before the next attempt to connect to a failed host.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// Agents on many hosts. A lost agent is a row with the reason; after a growing pause, a new
/// attempt to connect follows.
///
/// Starting an agent may take the whole timeout of a host. Threads of `ConnectThreads` do it, so
/// that the samples of other hosts are not delayed. A sample waits only for connected agents.
pub struct LiveAgents {
    all: Arc<SharedHosts>,
    arrivals: Receiver<FirstReport>,
    connecting: Arc<ConnectThreads>,
}

struct SharedHosts {
    hosts: Vec<LiveAgent>,
    starter: AgentStarter,
    watchdog: Watchdog,
    parts: Parts,
    fanout: usize,
    interval_flag: &'static str,
}

/// Report of one host in a sample, with its age.
pub struct DatedReport {
    /// The report; it holds a failure if the host gave none.
    pub report: HostReport,
    /// Time of the last response; `None` for a host that never responded.
    pub answered: Option<Instant>,
}

struct LiveAgent {
    host: Host,
    state: Mutex<AgentState>,
    last_response: Mutex<Option<Instant>>,
}

enum AgentState {
    New,
    /// Connected: the agent, its transport, and the deadline of the open request.
    Connected(HostReader, Via, Option<Deadline>),
    /// Failed: the reason, the time of the next attempt, and the pause after that attempt.
    Failed(HostFailure, Deadline, Duration),
    /// Connecting: the previous failure, and the pause if this attempt fails, too.
    Connecting(Option<HostFailure>, Duration),
}

impl LiveAgents {
    /// Interval of keepalive messages to idle agents. An agent without messages ends after 60 s.
    pub const KEEPALIVE: Duration = Duration::from_secs(20);

    /// Returns the hosts, to which [`read`](Self::read) and [`settle`](Self::settle) connect.
    /// `interval_flag` is the flag that sets the interval, for fixes.
    pub fn new(
        hosts: Vec<Host>,
        starter: AgentStarter,
        watchdog: Watchdog,
        parts: Parts,
        fanout: usize,
        interval_flag: &'static str,
    ) -> Self {
        let hosts = hosts.into_iter().map(|host| {
            let (state, last_response) = (Mutex::new(AgentState::New), Mutex::default());
            LiveAgent { host, state, last_response }
        });
        let hosts = hosts.collect();
        let all = Arc::new(SharedHosts { hosts, starter, watchdog, parts, fanout, interval_flag });
        let (reports, arrivals) = mpsc::channel();
        let connecting = Arc::new(ConnectThreads::new(Arc::clone(&all), reports));
        Self { all, arrivals, connecting }
    }

    /// Returns one report of each host, in order.
    ///
    /// No host delays the others for longer than `limit`: the interval of repeated samples, or the
    /// timeout of a host. A later response counts for a later sample. An agent is given up only
    /// after the full timeout of its host: a new connection would put more load on a busy host or
    /// operator.
    ///
    /// A host without a first report is shown as connecting. As long as all hosts are connecting,
    /// `read` waits for the first report.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn read(&self, limit: Duration) -> io::Result<Vec<DatedReport>> {
        let reading = limit.max(MIN_WAIT).min(self.all.starter.timeout);
        let deadline = Deadline::after(reading);
        // Reports that arrived since the last sample are old: their hosts are queried again.
        while self.arrivals.try_recv().is_ok() {}
        let mut reports: Vec<Option<HostReport>> = vec![None; self.all.hosts.len()];
        let here: Vec<usize> =
            (0..reports.len()).filter(|&index| self.all.is_here(index)).collect();
        self.connect()?;
        let all = &*self.all;
        for &index in &here {
            all.request_report(index, reading);
        }
        let answer = |index: &usize| all.wait_report(*index, deadline, reading);
        fan_out(&here, all.fanout, &all.watchdog, answer, |place, report| {
            reports[here[place]] = Some(report);
        })?;
        self.await_first(&mut reports, deadline);
        let reports = reports.into_iter().enumerate();
        let report = |(index, report): (usize, Option<HostReport>)| {
            all.dated(index, report.unwrap_or_else(|| all.lack(index)))
        };
        Ok(reports.map(report).collect())
    }

    /// Waits until every host is connected or has failed, at most for the timeout of a host.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn settle(&self) -> io::Result<()> {
        let deadline = Deadline::after(self.all.starter.timeout);
        self.connect()?;
        let mut reports = vec![None; self.all.hosts.len()];
        let is_coming = |index: usize| self.all.is_awaited(index);
        while (0..reports.len()).any(is_coming) && !deadline.is_over() {
            if self.all.watchdog.is_cancelled() {
                break;
            }
            let keepalive = Deadline::after(deadline.remaining().min(Self::KEEPALIVE));
            self.await_first(&mut reports, keepalive);
            self.tend();
        }
        Ok(())
    }

    fn await_first(&self, reports: &mut [Option<HostReport>], deadline: Deadline) {
        loop {
            let is_told = |index: usize| reports[index].is_some() || !self.all.is_awaited(index);
            let told = (0..reports.len()).filter(|&index| is_told(index)).count();
            let is_over = deadline.is_over() && told > 0;
            if told == reports.len() || is_over || self.all.watchdog.is_cancelled() {
                return;
            }
            // After the deadline, the first arrival is enough. A canceled run ends all
            // connections, and each ended connection is an arrival.
            let wait = if deadline.is_over() { PAUSES[1] } else { deadline.remaining() };
            if let Ok(FirstReport { index, report }) = self.arrivals.recv_timeout(wait) {
                reports[index].get_or_insert(report);
            }
        }
    }

    /// Starts to connect to new hosts and to failed hosts whose pause is over.
    fn connect(&self) -> io::Result<()> {
        for (index, live) in self.all.hosts.iter().enumerate() {
            let state = &mut *live.state.lock();
            let (failure, pause) = match state {
                AgentState::New => (None, PAUSES[0]),
                AgentState::Failed(failure, at, pause) if at.is_over() => {
                    (Some(failure.clone()), *pause)
                }
                _ => continue,
            };
            self.connecting.add(index)?;
            *state = AgentState::Connecting(failure, pause);
        }
        Ok(())
    }

    /// Sends a keepalive message to all idle agents, and reconnects hosts whose pause is over.
    pub fn tend(&self) {
        for live in &self.all.hosts {
            if let AgentState::Connected(agent, ..) = &*live.state.lock() {
                agent.send_heartbeat();
            }
        }
        // If no thread starts, the next sample tries again and reports the error.
        let _ = self.connect();
    }

    /// Ends all agents at the same time; returns the processes that could not be ended.
    pub fn end(self) -> Vec<String> {
        self.connecting.stop();
        let mut left = self.all.end();
        // The first report of a host that is still connecting is not needed any more.
        self.all.watchdog.cancel();
        self.connecting.wait(Deadline::after(HostReader::END_TIMEOUT));
        left.extend(self.all.end());
        self.all.starter.end();
        left
    }
}

impl SharedHosts {
    fn is_here(&self, index: usize) -> bool {
        matches!(*self.hosts[index].state.lock(), AgentState::Connected(..))
    }

    fn is_awaited(&self, index: usize) -> bool {
        matches!(*self.hosts[index].state.lock(), AgentState::New | AgentState::Connecting(None, _))
    }

    fn lack(&self, index: usize) -> HostReport {
        let live = &self.hosts[index];
        let failure = match &*live.state.lock() {
            _ if self.watchdog.is_cancelled() => cancelled(),
            AgentState::Failed(failure, ..) | AgentState::Connecting(Some(failure), _) => {
                failure.clone()
            }
            AgentState::New | AgentState::Connected(..) | AgentState::Connecting(None, _) => {
                HostFailure::new(Reason::Connecting, "still connecting")
            }
        };
        HostReport::failed(live.host.to_string(), failure)
    }

    fn dated(&self, index: usize, report: HostReport) -> DatedReport {
        let answered = &mut *self.hosts[index].last_response.lock();
        if report.failure.is_none() {
            *answered = Some(clock::now());
        }
        DatedReport { report, answered: *answered }
    }

    /// Requests a sample from a connected agent, unless an earlier request is open.
    fn request_report(&self, index: usize, reading: Duration) {
        if let AgentState::Connected(agent, _, due @ None) = &mut *self.hosts[index].state.lock() {
            let by = Deadline::after(self.starter.timeout.max(reading));
            agent.request_report(&self.parts, reading, by);
            *due = Some(by);
        }
    }

    fn wait_report(&self, index: usize, deadline: Deadline, reading: Duration) -> HostReport {
        let live = &self.hosts[index];
        let host = live.host.to_string();
        let state = &mut *live.state.lock();
        let AgentState::Connected(agent, via, asked) = state else {
            return HostReport::failed(host, cancelled());
        };
        let due = asked.unwrap_or(deadline);
        let Some(answer) = agent.wait_report(&self.parts, deadline, due) else {
            let failure =
                HostFailure::new(Reason::Timeout, "no response yet").fix(self.longer(reading));
            return HostReport::failed(host, failure);
        };
        match answer {
            Ok(report) => {
                agent.clear_deadline();
                *asked = None;
                HostReport { host, via: *via, ..report }
            }
            Err(failure) => {
                let AgentState::Connected(agent, ..) = std::mem::replace(state, AgentState::New)
                else {
                    return HostReport::failed(host, failure);
                };
                let (next, report) = self.gone(host, agent.give_up(failure), PAUSES[0]);
                *state = next;
                report
            }
        }
    }

    /// Returns the fix of a host that did not respond within `reading`: twice that time.
    fn longer(&self, reading: Duration) -> String {
        let longer = flag_time(reading.saturating_mul(2));
        if reading < self.starter.timeout {
            format!("increase the interval: {}={longer}", self.interval_flag)
        } else {
            format!("raise the time limit: --timeout {longer}")
        }
    }

    /// Requests the first report from a new agent; returns the state of the host and the report.
    fn first(
        &self,
        host: String,
        agent: HostReader,
        via: Via,
        deadline: Deadline,
        pause: Duration,
    ) -> (AgentState, HostReport) {
        match agent.delta_report(&self.parts, deadline) {
            Ok(report) => {
                agent.clear_deadline();
                (AgentState::Connected(agent, via, None), HostReport { host, via, ..report })
            }
            Err(failure) => self.gone(host, agent.give_up(failure), pause),
        }
    }

    fn gone(
        &self,
        host: String,
        failure: HostFailure,
        pause: Duration,
    ) -> (AgentState, HostReport) {
        // In a canceled run, rdmactl closed the connection itself.
        let failure = if self.watchdog.is_cancelled() { cancelled() } else { failure };
        let failure = self.starter.suggest_time(failure, self.starter.timeout);
        let longer = (pause * 2).min(PAUSES[1]);
        let state = AgentState::Failed(failure.clone(), Deadline::after(pause), longer);
        (state, HostReport::failed(host, failure))
    }

    /// Ends the connected agents; returns the processes that could not be ended.
    fn end(&self) -> Vec<String> {
        let here = (0..self.hosts.len()).filter(|&index| self.is_here(index));
        let agents = here.filter_map(|index| {
            match std::mem::replace(&mut *self.hosts[index].state.lock(), AgentState::New) {
                AgentState::Connected(agent, ..) => Some(agent),
                _ => None,
            }
        });
        HostReader::end_all(agents.collect(), Deadline::after(HostReader::END_TIMEOUT))
    }
}
