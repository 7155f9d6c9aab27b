//! Determines why an agent does not respond, and kills an agent that hangs.
//!
//! The causes are: the host is dead, the agent hangs, the agent ended, or the connection ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Agent;
use super::link::AgentLink;
use super::reader::UNRESPONSIVE_AFTER;
use crate::clock::{self, Deadline};
use crate::fleet::quote::last_line;
use crate::fleet::time_limit::MORE_TIME;
use crate::fleet::{Access, CleanupFailure, Exit, HostResult, remote_command};
use crate::model::ping::Life;
use crate::model::{HostFailure, Reason};
use crate::wire::{EXPIRED_STATUS, Loss, Process};

/// Time limit of a one-line command over an open session, and of the end of a killed child.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// Time limit of a one-line command on a host that was responsive when its agent was told to end.
/// On a host with loaded processors, a new channel with sudo takes more than [`CHECK_TIMEOUT`].
const LOADED_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit of the test command on an unresponsive host. The host may only be suspended: an
/// emulated host was suspended for 4 s, which is less than [`UNRESPONSIVE_AFTER`] and this limit
/// together. A virtual machine can be suspended while it migrates.
const SUSPENSION_TIMEOUT: Duration = Duration::from_secs(3);

/// Time in which the agent of a responding host must send a message. An agent that runs sends
/// several heartbeats in this time.
const RECOVERY_TIMEOUT: Duration = Duration::from_millis(750);

/// Time limit of a new connection to a host whose first connection ended.
const REOPEN_TIMEOUT: Duration = Duration::from_secs(3);

/// Time that a wrapper script may run after its agent ended.
const WRAPPER_TIMEOUT: Duration = Duration::from_millis(500);

const HOST_RESPONDS: &str = "the host responds";
/// Purpose of [`LIST_STOPPED`] in messages.
pub(in crate::fleet) const STOPPED: &str = "look for stopped or swapped-out processes";
/// Command that lists all processes with their state and the kernel function in which they wait.
pub(in crate::fleet) const LIST_STOPPED: &str = "ps -eo pid,stat,wchan:30,comm";

/// True if the lease of an agent with this exit expired. Applies only to an agent that has
/// greeted: before the greeting, a login shell may exit with this status.
pub(super) fn is_expiry(exit: &Exit) -> bool {
    exit.status == Some(EXPIRED_STATUS)
}

/// Returns the message about an agent whose lease expired.
pub(super) fn expired_agent() -> String {
    expired("the agent ended")
}

fn expired(what: &str) -> String {
    format!(
        "{what} because it received no message from this rdmactl in time: rdmactl was stopped, or \
         the network between this host and the agent was interrupted"
    )
}

/// Result of [`Agent::diagnose`].
pub(super) struct Diagnosis {
    pub(super) life: Life,
    /// Time at which the host was given up. A later message proves that it was only suspended.
    given_up: Option<Instant>,
}

/// Result of a command that looks for the process of the agent.
#[derive(Debug, PartialEq, Eq)]
enum AgentCheck {
    Running,
    Gone,
    /// The host did not run the command, for this reason.
    Unresponsive(String),
}

impl AgentCheck {
    /// Interprets the exit of [`remote_command::is_there`], or the reason why no exit arrived.
    fn of_search(exit: Result<Exit, String>) -> Self {
        Self::of_exit(exit, |code| match code {
            0 => Some(Self::Running),
            3 | 4 => Some(Self::Gone),
            _ => None,
        })
    }

    /// Interprets the exit of [`remote_command::kill`], or the reason why no exit arrived.
    fn of_kill(exit: Result<Exit, String>) -> Self {
        Self::of_exit(exit, |code| match code {
            code if remote_command::ENDED.contains(&code) => Some(Self::Gone),
            1 => Some(Self::Running),
            _ => None,
        })
    }

    fn of_exit(exit: Result<Exit, String>, of_command: impl FnOnce(i32) -> Option<Self>) -> Self {
        match exit {
            // Another code: the launcher did not reach the host, the connection ended, or the
            // shell of the host could not start the command.
            Ok(exit) => exit
                .status
                .and_then(of_command)
                .unwrap_or_else(|| Self::Unresponsive(exit.to_string())),
            Err(why) => Self::Unresponsive(why),
        }
    }
}

impl Agent {
    /// Waits for a message that arrives after `since`, or for proof that none will arrive.
    pub(super) fn diagnose(&self, since: Instant) -> Diagnosis {
        let (is_broken, check) = loop {
            let timeout = UNRESPONSIVE_AFTER.saturating_sub(self.inbox.idle_time());
            if let Some(life) = self.reported_life(since, timeout) {
                return Diagnosis { life, given_up: None };
            }
            if !self.is_unresponsive() {
                continue;
            }
            let check = self.check(SUSPENSION_TIMEOUT);
            let timeout = match check {
                AgentCheck::Unresponsive(_) => Duration::ZERO,
                AgentCheck::Running | AgentCheck::Gone => RECOVERY_TIMEOUT,
            };
            if let Some(life) = self.reported_life(since, timeout) {
                return Diagnosis { life, given_up: None };
            }
            if self.is_unresponsive() {
                break (self.inbox.broken().is_some(), check);
            }
        };
        if matches!(check, AgentCheck::Running) {
            // An agent that resumes later must not disturb requests to other agents.
            let _ = self.kill(CHECK_TIMEOUT);
        }
        let service = self.link.service();
        let given_up = matches!(check, AgentCheck::Unresponsive(_)).then(clock::now);
        let life = match (is_broken, check) {
            (false, AgentCheck::Running) => {
                let seconds = UNRESPONSIVE_AFTER.as_secs();
                Life::Hung(format!("agent unresponsive for {seconds} s; {service} still responds"))
            }
            (true, AgentCheck::Running) | (_, AgentCheck::Gone) => self.how_it_ended(),
            (_, AgentCheck::Unresponsive(why)) => Life::Dead(format!(
                "the agent does not respond, and a test command over {service} failed: {why}"
            )),
        };
        Diagnosis { life, given_up }
    }

    /// Returns how an agent ended whose process is gone, or whose output ended.
    fn how_it_ended(&self) -> Life {
        match self.pipe.ending() {
            Ok(exit) if is_expiry(&exit) => Life::Expired(expired_agent()),
            Ok(exit) => self.ended("the agent", &exit, self.link.reason_of(&exit)),
            Err(failure) if failure.reason == Reason::Lost => Life::Disconnected(format!(
                "the connection of the agent over {} ended ({}), and with it the agent; {HOST_RESPONDS}",
                self.link.service(),
                failure.detail
            )),
            // The output of the agent ended for an unknown reason.
            Err(_) => {
                let said = last_line(&self.pipe.stderr());
                Life::Failed(format!("the agent ended unexpectedly{said}; {HOST_RESPONDS}"))
            }
        }
    }

    /// Returns the end of `who`, with the exit status and the last line on stderr.
    fn ended(&self, who: &str, exit: &Exit, reason: Reason) -> Life {
        let said = last_line(&self.pipe.stderr());
        if reason == Reason::Lost {
            let service = self.link.service();
            return Life::Disconnected(format!(
                "{service} ended, and with it the agent; {exit}{said}; {HOST_RESPONDS}"
            ));
        }
        let detail = format!("{who} ended unexpectedly; {exit}{said}; {HOST_RESPONDS}");
        if reason == Reason::Killed { Life::Killed(detail) } else { Life::Failed(detail) }
    }

    /// Waits for a wrapper script or sudo of the agent. Returns false if it still runs.
    pub(super) fn wrapper_ends(&self) -> bool {
        let AgentLink::Remote(access, _) = &self.link else { return true };
        let (Some(leader), Some(agent)) = (self.leader(), self.inbox.lock().process) else {
            return true;
        };
        leader.pid == agent.pid
            || access.ends_processes()
            || self.pipe.wait(Deadline::after(WRAPPER_TIMEOUT)).is_ok()
    }

    /// Returns the leader of the process group that the host started.
    fn leader(&self) -> Option<Process> {
        self.started?.leader()
    }

    /// Returns the process that the agent reported, else the process that the host reported at
    /// the start.
    fn process(&self) -> Option<Process> {
        self.inbox.lock().process.or_else(|| self.started?.process())
    }

    /// True if the agent sent nothing for too long, or will send nothing more.
    fn is_unresponsive(&self) -> bool {
        self.inbox.broken().is_some() || self.inbox.idle_time() >= UNRESPONSIVE_AFTER
    }

    /// True if a host that was given up has sent data again.
    pub(super) fn is_back(&self, diagnosis: &Diagnosis) -> bool {
        diagnosis.given_up.is_some_and(|given_up| self.inbox.lock().last_message > given_up)
    }

    /// Returns the state that the agent reports for itself or its worker after `since`.
    fn reported_life(&self, since: Instant, timeout: Duration) -> Option<Life> {
        let lost = self.inbox.wait(Deadline::after(timeout), |state| match state.loss {
            Some(loss) => Some(Some(loss)),
            None => (state.last_message > since).then_some(None),
        });
        Some(match lost? {
            None => Life::Alive,
            Some(Loss::Hung) => {
                Life::Hung("the worker of the agent is unresponsive; its supervisor runs".into())
            }
            Some(Loss::Expired) => Life::Expired(expired("the agent ended its queue pairs")),
            Some(Loss::Ended { status, signal }) => {
                let signal = signal.map(|number| number.to_string());
                let exit = Exit { status, signal };
                let reason = if exit.is_kill() { Reason::Killed } else { Reason::AgentFailed };
                self.ended("the worker of the agent", &exit, reason)
            }
        })
    }

    /// Returns the failure of an agent that did not send `what`. Kills it if the host responds.
    pub(super) fn too_late(&self, what: &str) -> HostFailure {
        match self.check(CHECK_TIMEOUT) {
            AgentCheck::Running => {
                let _ = self.kill(CHECK_TIMEOUT);
                let detail = format!("the agent did not send {what} in time; {HOST_RESPONDS}");
                let fix = self.link.manual_command(STOPPED, LIST_STOPPED);
                HostFailure::new(Reason::Hung, detail).fix(format!("{fix}; or {MORE_TIME}"))
            }
            AgentCheck::Gone | AgentCheck::Unresponsive(_) => {
                let detail = format!("the agent did not send {what} in time");
                let fix = self.link.manual_command("check that the host responds", "uptime");
                HostFailure::new(Reason::Timeout, detail).fix(format!("{fix}; or {MORE_TIME}"))
            }
        }
    }

    /// Returns the time limit of the command that kills the agent: a host that is unresponsive now
    /// may be dead.
    pub(super) fn kill_timeout(&self) -> Duration {
        if self.is_unresponsive() { CHECK_TIMEOUT } else { LOADED_TIMEOUT }
    }

    /// Kills the agent if it still runs. Fails if the agent may still run after `timeout`.
    pub(super) fn ensure_ended(&self, timeout: Duration) -> Result<(), CleanupFailure> {
        let access = match &self.link {
            AgentLink::Local(_) => None,
            // The connection is cut. The end of its input ends the agent.
            AgentLink::Remote(access, _) if access.is_cancelled() => return Ok(()),
            AgentLink::Remote(access, privilege) => Some((&**access, *privilege)),
        };
        let pid = self.process().map(|process| process.pid);
        // Without a process id, only the end of the command is known.
        if pid.is_none() && self.pipe.wait(Deadline::after(Duration::ZERO)).is_ok() {
            return Ok(());
        }
        match self.kill(timeout) {
            AgentCheck::Gone => Ok(()),
            AgentCheck::Running => Err(CleanupFailure::agent(access, pid, None)),
            AgentCheck::Unresponsive(why) => Err(CleanupFailure::agent(access, pid, Some(&why))),
        }
    }

    /// Looks for the process of the agent.
    fn check(&self, timeout: Duration) -> AgentCheck {
        match &self.link {
            AgentLink::Local(_) if self.pipe.wait(Deadline::after(Duration::ZERO)).is_ok() => {
                AgentCheck::Gone
            }
            AgentLink::Local(_) => AgentCheck::Running,
            AgentLink::Remote(access, privilege) => {
                let seek = |process| remote_command::is_there(process, *privilege);
                AgentCheck::of_search(self.run_there(access, timeout, seek))
            }
        }
    }

    /// Kills the agent if it still runs. Returns the result of the check afterwards.
    fn kill(&self, timeout: Duration) -> AgentCheck {
        match &self.link {
            // The agent is a child process, so its process id belongs to no other process.
            AgentLink::Local(_) => {
                self.pipe.kill();
                let gone = self.pipe.wait(Deadline::after(timeout));
                gone.map_or(AgentCheck::Running, |_exit| AgentCheck::Gone)
            }
            AgentLink::Remote(access, privilege) => {
                let kill = |process| remote_command::kill(process, self.leader(), *privilege);
                AgentCheck::of_kill(self.run_there(access, timeout, kill))
            }
        }
    }

    /// Runs a command for the agent's process over a new channel, or over a new connection if
    /// the first connection ended. Returns the exit of the command, or the reason why no exit
    /// arrived.
    fn run_there(
        &self,
        access: &Arc<dyn Access>,
        timeout: Duration,
        command: impl FnOnce(Process) -> String,
    ) -> Result<Exit, String> {
        let command = command(self.process().ok_or("the agent sent no process id")?);
        let exit = match self.reopened.get() {
            Some(access) => access.run(&command, Deadline::after(timeout)),
            None => match access.run(&command, Deadline::after(timeout)) {
                Err(failure) if failure.reason == Reason::Lost => {
                    self.run_over_new_connection(access, &command, failure)
                }
                exit => exit,
            },
        };
        exit.map_err(|failure| failure.detail)
    }

    /// Runs a command over a second connection, which is kept for later commands. `failure` is
    /// the result if no second connection is possible.
    fn run_over_new_connection(
        &self,
        access: &Arc<dyn Access>,
        command: &str,
        failure: HostFailure,
    ) -> HostResult<Exit> {
        let deadline = Deadline::after(REOPEN_TIMEOUT);
        let reopened = access.reopen(deadline).unwrap_or(Err(failure))?;
        // The deadline of the login would end later commands.
        reopened.set_deadline(None);
        let reopened = self.reopened.get_or_init(|| reopened);
        reopened.run(command, Deadline::after(deadline.remaining().max(CHECK_TIMEOUT)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_exit_status_of_the_host_shows_whether_the_agent_runs() {
        let unresponsive = |why: &str| AgentCheck::Unresponsive(why.into());
        let ended = |status| Ok(Exit { status, signal: None });
        let killed = Ok(Exit { status: None, signal: Some("KILL".into()) });
        for (exit, search, kill) in [
            (ended(Some(0)), AgentCheck::Running, AgentCheck::Gone),
            (ended(Some(3)), AgentCheck::Gone, AgentCheck::Gone),
            (ended(Some(4)), AgentCheck::Gone, AgentCheck::Gone),
            (ended(Some(1)), unresponsive("exit status 1"), AgentCheck::Running),
            (ended(Some(255)), unresponsive("exit status 255"), unresponsive("exit status 255")),
            (ended(None), unresponsive("exit status unknown"), unresponsive("exit status unknown")),
            (killed, unresponsive("killed by signal KILL"), unresponsive("killed by signal KILL")),
            (Err("timed out".to_owned()), unresponsive("timed out"), unresponsive("timed out")),
        ] {
            assert_eq!(AgentCheck::of_search(exit.clone()), search, "{exit:?}");
            assert_eq!(AgentCheck::of_kill(exit.clone()), kill, "{exit:?}");
        }
    }
}
