//! Hosts whose agents stay between readings.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

use crate::clock::Deadline;
use crate::fleet::{Agent, Host, Reach, Watchdog, fan_out};
use crate::model::{HostFailure, HostReport, Parts, Via};

use super::hosts::{LEAVE, cancelled};

/// The shortest and the longest pause before a host that failed is tried again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// Agents on many hosts. One that is lost is a row with its reason, and is looked for again after a
/// pause that grows.
pub(super) struct LiveHosts {
    hosts: Vec<(Host, Mutex<Slot>)>,
    reach: Reach,
    watchdog: Watchdog,
    fanout: usize,
}

enum Slot {
    /// Nobody asked yet.
    New,
    /// There, and how it came there.
    Here(Box<Agent>, Via),
    /// Why there is none, when to look again, and how long to wait after that.
    Gone(HostFailure, Deadline, Duration),
}

impl LiveHosts {
    pub(super) fn new(hosts: Vec<Host>, reach: Reach, watchdog: Watchdog, fanout: usize) -> Self {
        let hosts = hosts.into_iter().map(|host| (host, Mutex::new(Slot::New))).collect();
        Self { hosts, reach, watchdog, fanout }
    }

    /// Gives each host no more than so long from now on.
    pub(super) fn hurry(&mut self, timeout: Duration) {
        self.reach.timeout = self.reach.timeout.min(timeout);
    }

    /// One report of each host, in their order.
    pub(super) fn read(&self, parts: &Parts) -> anyhow::Result<Vec<HostReport>> {
        let mut reports: Vec<Option<HostReport>> = vec![None; self.hosts.len()];
        let ask = |(host, slot): &(Host, Mutex<Slot>)| self.ask(host, &mut lock(slot), parts);
        fan_out(&self.hosts, self.fanout, &self.watchdog, ask, |index, report| {
            reports[index] = Some(report);
        })
        .context("cannot start a thread")?;
        let skipped = |host: &Host| HostReport::failed(host.to_string(), cancelled());
        let all = self.hosts.iter().zip(reports);
        Ok(all.map(|((host, _), report)| report.unwrap_or_else(|| skipped(host))).collect())
    }

    fn ask(&self, host: &Host, slot: &mut Slot, parts: &Parts) -> HostReport {
        let name = host.to_string();
        let pause = match slot {
            Slot::New | Slot::Here(..) => PAUSES[0],
            Slot::Gone(failure, at, _) if !at.is_over() => {
                return HostReport::failed(name, failure.clone());
            }
            Slot::Gone(_, _, pause) => *pause,
        };
        let found = match std::mem::replace(slot, Slot::New) {
            Slot::Here(agent, via) => Ok((agent, via, Deadline::after(self.reach.timeout))),
            _ => self
                .reach
                .agent(host)
                .map(|greeted| (Box::new(greeted.agent), greeted.via, greeted.deadline)),
        };
        let asked = found.and_then(|(agent, via, deadline)| match agent.report(parts, deadline) {
            Ok(report) => {
                agent.rest();
                *slot = Slot::Here(agent, via);
                Ok(HostReport { host: name.clone(), via, ..report })
            }
            Err(failure) => Err(agent.give_up(failure)),
        });
        asked.unwrap_or_else(|failure| {
            // Whatever broke then was broken by us.
            let failure = if self.watchdog.is_cancelled() { cancelled() } else { failure };
            let longer = (pause * 2).min(PAUSES[1]);
            *slot = Slot::Gone(failure.clone(), Deadline::after(pause), longer);
            HostReport::failed(name, failure)
        })
    }

    /// Tells every agent that somebody is there, while nothing is asked.
    pub(super) fn say_alive(&self) {
        for (_, slot) in &self.hosts {
            if let Slot::Here(agent, _) = &*lock(slot) {
                agent.say_alive();
            }
        }
    }

    /// Ends all agents at once; which could not be ended.
    pub(super) fn end(self) -> Vec<String> {
        let deadline = Deadline::after(LEAVE);
        let left = Mutex::new(Vec::new());
        let end = |(host, slot): &(Host, Mutex<Slot>)| {
            if let Slot::Here(agent, _) = std::mem::replace(&mut *lock(slot), Slot::New)
                && let Err(process) = agent.end(deadline)
            {
                lock(&left).push(format!("{host}: {process}"));
            }
        };
        let end = &end;
        thread::scope(|scope| {
            for host in &self.hosts {
                if thread::Builder::new().spawn_scoped(scope, move || end(host)).is_err() {
                    // A system that gives no more threads gets the work done one by one.
                    end(host);
                }
            }
        });
        left.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
