//! Hosts of a ping: an agent on each, which has sent its inventory and runs a worker.
//!
//! `cmd::ping` connects to the hosts and ends their agents.

use std::time::{Duration, Instant};

use super::{Agent, AgentStarter, HostReader, HostResult, time_limit};
use crate::clock::{self, Deadline};
use crate::hosts::Host;
use crate::model::{HostReport, Parts};

const LEAVE: Duration = Duration::from_millis(2_500);

/// Host with a running worker.
pub struct WorkerHost {
    /// Agent, which relays the steps of the worker.
    pub agent: Agent,
    /// Time at which the agent completed its handshake.
    pub hello: Instant,
    /// Report of the host, under the name that the user typed.
    pub inventory: HostReport,
}

impl WorkerHost {
    /// Starts the agent of a host, or of this machine, reads its inventory, and starts its worker.
    ///
    /// # Errors
    /// The failure has the reason why the host cannot take part, and a fix.
    pub fn connect(
        starter: &AgentStarter,
        host: Option<&Host>,
        name: String,
        parts: &Parts,
    ) -> HostResult<Self> {
        let began = clock::now();
        let found = starter.agent(host).map_err(|failure| {
            let failure = starter.suggest_time(failure, began.elapsed());
            time_limit::not_started(failure, &name, starter.timeout, began.elapsed())
        })?;
        let (agent, hello) = (found.what, clock::now());
        let report = agent.report(parts, found.deadline);
        match report.and_then(|report| agent.start_worker().map(|()| report)) {
            Ok(report) => Ok(Self { agent, hello, inventory: HostReport { host: name, ..report } }),
            Err(failure) => Err(starter.suggest_time(agent.give_up(failure), began.elapsed())),
        }
    }

    /// Ends all agents at the same time; returns the processes that could not be ended.
    pub fn end_all(hosts: impl IntoIterator<Item = Self>) -> Vec<String> {
        let agents = hosts.into_iter().map(|host| host.agent.into());
        HostReader::end_all(agents.collect(), Deadline::after(LEAVE))
    }
}
