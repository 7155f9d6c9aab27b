//! Operator's end of the connection to an agent: requests, replies, heartbeat, and the end.
//!
//! The host's end is the module `agent`. `agent_starter` starts the agents, and `ping` drives
//! their workers.

mod delta_receiver;
pub(super) mod diagnosis;
mod link;
mod outbox;
mod reader;

use std::io::{self, BufReader};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use diagnosis::Diagnosis;
use link::AgentLink;
use outbox::Outbox;
use parking_lot::Mutex;
use reader::Inbox;

use super::deadline_reader::DeadlineReader;
use super::quote::last_line;
use super::remote_command::{NO_AGENT, Privilege, STARTED};
use super::time_limit::MORE_TIME;
use super::{Access, CleanupFailure, HostResult, Nonce, Pipe, Watchdog, fault, local, sudo};
use crate::clock::{self, Deadline};
use crate::model::ping::Life;
use crate::model::probe::{Step, StepError, StepResult};
use crate::model::{Fix, HostFailure, HostReport, Part, Parts, Problem, Reason};
use crate::ping::{Liveness, Node, Ticket};
use crate::source::Recording;
use crate::wire::{Greeting, GreetingError, GreetingReader, PROTOCOL, Started, ToAgent, ToWorker};

/// Size of a read from an agent, in bytes. Most deltas fit in it; longer frames bypass it.
const READ: usize = 2048;

const HEARTBEAT: Duration = Duration::from_millis(500);

/// Time that a failed agent gets to end in response to [`ToAgent::Bye`].
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// Time to end an unresponsive agent: a request to end, a check, and the transfer of its report.
const ENDING: Duration = Duration::from_secs(4);

const INVENTORY: &str = "the inventory";

/// Minimum time that is reserved for the transfer of a report to the operator.
const TRANSFER_TIME: Duration = Duration::from_millis(500);

/// Host on which no agent greeted.
#[derive(Debug)]
pub struct NoGreeting {
    /// Reason of the failure.
    pub failure: HostFailure,
    /// Process that the shell of the host started, if it still runs.
    pub running: Option<Started>,
}

impl From<HostFailure> for NoGreeting {
    fn from(failure: HostFailure) -> Self {
        Self { failure, running: None }
    }
}

/// Agent that has greeted. [`Agent::end`] or [`Agent::give_up`] must end it.
pub struct Agent {
    greeting: Greeting,
    /// Process that the shell of the host reported before it ran the agent.
    started: Option<Started>,
    pipe: Pipe,
    link: AgentLink,
    /// Another connection to the host, opened after the first one ended.
    reopened: OnceLock<Arc<dyn Access>>,
    outbox: Arc<Outbox>,
    inbox: Arc<Inbox>,
    next_id: AtomicU64,
    over: Arc<AtomicBool>,
    /// Cause of the loss of the agent, determined once: this takes seconds and may kill the
    /// agent. If a host that was given up sends data again, the cause is determined again.
    diagnosis: Mutex<Option<Diagnosis>>,
}

impl Agent {
    /// Starts an agent on this host and waits for its greeting.
    ///
    /// # Errors
    /// The agent does not start, or does not greet by the deadline.
    pub fn start_local(
        command: Command,
        nonce: Nonce,
        watchdog: &Watchdog,
        deadline: Deadline,
    ) -> HostResult<Self> {
        let pipe = local::spawn(command)?;
        let guard = watchdog.guard(pipe.stream(), deadline).map_err(|error| lost(&error))?;
        Self::greet(pipe, AgentLink::Local(guard), nonce, deadline).map_err(|silent| silent.failure)
    }

    /// Waits for the greeting of an agent that was started on another host. The caller has set a
    /// deadline on the access, which also ends this wait.
    ///
    /// # Errors
    /// The host has no agent, the agent has another protocol version, or the program is no agent.
    pub fn await_greeting(
        access: &Arc<dyn Access>,
        pipe: Pipe,
        nonce: Nonce,
        privilege: Privilege,
        deadline: Deadline,
    ) -> Result<Self, NoGreeting> {
        Self::greet(pipe, AgentLink::Remote(Arc::clone(access), privilege), nonce, deadline)
    }

    fn greet(
        pipe: Pipe,
        link: AgentLink,
        nonce: Nonce,
        deadline: Deadline,
    ) -> Result<Self, NoGreeting> {
        let stream = pipe.stream();
        let broken = |error: io::Error| lost(&error);
        let output = DeadlineReader::new(stream.try_clone().map_err(broken)?, deadline);
        // The greeting is read byte by byte. The bytes after it belong to the frames.
        let mut output = BufReader::with_capacity(READ, output);
        let mut reader = GreetingReader::new(&nonce, NO_AGENT, STARTED);
        let greeting = reader.read(&mut output);
        let started = reader.started();
        let greeting = greeting.map_err(|error| {
            let failure = no_greeting(&error, &reader, &pipe, &link);
            let over = pipe.wait(Deadline::after(Duration::ZERO));
            let runs = failure.reason != Reason::NoAgent
                && over.is_err_and(|failure| failure.reason == Reason::Timeout);
            NoGreeting { failure, running: started.filter(|_| runs) }
        })?;
        if greeting.protocol != PROTOCOL {
            let detail = format!(
                "rdmactl {} on the host uses protocol {}; this rdmactl uses protocol {PROTOCOL}",
                greeting.version, greeting.protocol,
            );
            // The agent ends with its input, which is closed here.
            return Err(HostFailure::new(Reason::AgentVersion, detail).fix(SAME_VERSION).into());
        }
        let inbox = Arc::new(Inbox::new(output));
        let writing = stream.try_clone().map_err(broken)?;
        let outbox = Outbox::new(writing, Arc::clone(&inbox)).map_err(broken)?;
        Ok(Self {
            greeting,
            started,
            pipe,
            link,
            reopened: OnceLock::new(),
            outbox: Arc::new(outbox),
            inbox,
            next_id: AtomicU64::new(1),
            over: Arc::new(AtomicBool::new(false)),
            diagnosis: Mutex::new(None),
        })
    }

    /// Requests the inventory of the host and waits for it. The request has a time limit for
    /// reading. If reading a part hangs, only this part is missing in the report.
    ///
    /// # Errors
    /// The agent sent no report by the deadline. The failure has the reason.
    pub fn report(&self, parts: &Parts, deadline: Deadline) -> HostResult<HostReport> {
        self.request_since(None, parts, deadline.remaining(), deadline);
        self.last_report(parts, deadline)
    }

    /// Requests the inventory repeatedly, and waits for it. The agent may send a delta.
    ///
    /// # Errors
    /// As for [`Agent::report`], or the delta does not fit the last report.
    pub fn delta_report(&self, parts: &Parts, deadline: Deadline) -> HostResult<HostReport> {
        self.request_report(parts, deadline.remaining(), deadline);
        self.last_report(parts, deadline)
    }

    fn last_report(&self, parts: &Parts, due: Deadline) -> HostResult<HostReport> {
        self.wait_report(parts, due, due).unwrap_or_else(|| Err(self.no_answer(INVENTORY)))
    }

    /// Requests the inventory from an agent that is queried repeatedly. The agent may send a
    /// delta. The agent may read for `reading`. Its connection is cut some time after `due`.
    pub fn request_report(&self, parts: &Parts, reading: Duration, due: Deadline) {
        self.request_since(Some(self.inbox.enable_deltas()), parts, reading, due);
    }

    fn request_since(&self, base: Option<u64>, parts: &Parts, reading: Duration, due: Deadline) {
        // The connection is cut a little later, so that the agent can be ended properly.
        self.link.set_deadline(Some(Deadline::after(due.remaining() + ENDING)));
        let limit_ms = reading_ms(reading);
        self.outbox.send(&ToAgent::Report { parts: parts.clone(), limit_ms, base });
    }

    /// Waits for the requested report; `None` if it has not arrived by `deadline` and is not due.
    ///
    /// # Errors
    /// No report will arrive, or the delta does not fit the last report.
    pub fn wait_report(
        &self,
        parts: &Parts,
        deadline: Deadline,
        due: Deadline,
    ) -> Option<HostResult<HostReport>> {
        let Some(mut report) = self.inbox.report(deadline) else {
            let is_lost = due.is_over() || self.inbox.is_over();
            return is_lost.then(|| Err(self.no_answer(INVENTORY)));
        };
        let unread: Vec<Part> = parts.missing_in(&report.parts).collect();
        report.problems.extend(unread.into_iter().map(|part| self.cannot_read(part)));
        Some(Ok(report))
    }

    /// Returns the problem of a part that the agent does not know. The part would look absent.
    fn cannot_read(&self, part: Part) -> Problem {
        let version = &self.greeting.version;
        Problem {
            key: part.word().into(),
            source: "rdmactl agent".into(),
            errno: None,
            detail: format!("rdmactl {version} on the host cannot read this part"),
            fix: Some(Fix::of_operator(SAME_VERSION)),
            not_recorded: false,
        }
    }

    /// Removes the deadline of the connection until the next request.
    pub fn clear_deadline(&self) {
        self.link.set_deadline(None);
    }

    /// Sends a heartbeat. An agent that receives nothing for a minute ends.
    pub fn send_heartbeat(&self) {
        self.outbox.send(&ToAgent::Alive);
    }

    /// Requests the raw replies from which the inventory is made, and waits for them.
    ///
    /// # Errors
    /// As for [`Agent::report`].
    pub fn record(&self, parts: &Parts, deadline: Deadline) -> HostResult<Recording> {
        let limit_ms = reading_ms(deadline.remaining());
        self.outbox.send(&ToAgent::Record { parts: parts.clone(), limit_ms });
        self.inbox.recording(deadline).ok_or_else(|| self.no_answer("the recording"))
    }

    /// Starts the worker, and a thread that sends heartbeats. From now on the connection has no
    /// deadline, because a run may take any time. Instead, an agent is killed if it sends no
    /// heartbeat while its host responds.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn start_worker(&self) -> HostResult<()> {
        self.inbox.listen().map_err(fault::local)?;
        self.link.set_deadline(None);
        self.outbox.send(&ToAgent::StartWorker);
        let (outbox, over) = (Arc::clone(&self.outbox), Arc::clone(&self.over));
        let beat = move || {
            while !over.load(Ordering::Relaxed) && outbox.send(&ToAgent::Alive) {
                thread::park_timeout(HEARTBEAT);
            }
        };
        let thread = thread::Builder::new().name("heartbeat".into()).stack_size(128 * 1024);
        thread.spawn(beat).map(drop).map_err(fault::local)
    }

    /// Ends the agent and makes sure that its process is gone.
    ///
    /// # Errors
    /// The agent could neither be ended nor killed.
    pub fn end(self, deadline: Deadline) -> Result<(), CleanupFailure> {
        self.over.store(true, Ordering::Relaxed);
        let kill_timeout = self.kill_timeout();
        self.link.set_deadline(Some(Deadline::after(
            deadline.remaining() + kill_timeout + TRANSFER_TIME,
        )));
        self.outbox.send(&ToAgent::Bye);
        if self.inbox.ended(deadline) && self.wrapper_ends() {
            return Ok(());
        }
        self.ensure_ended(kill_timeout)
    }

    /// Ends an agent that failed. Adds what stays on the host to the failure.
    pub fn give_up(self, failure: HostFailure) -> HostFailure {
        match self.end(Deadline::after(END_TIMEOUT)) {
            Ok(()) => failure,
            Err(left) => left.add_to(failure),
        }
    }

    fn no_answer(&self, what: &str) -> HostFailure {
        let Some(broken) = self.inbox.broken() else { return self.too_late(what) };
        let why = &broken.detail;
        if broken.reason != Reason::Lost {
            let stderr = self.pipe.exit_and_last_line();
            let detail = format!("the agent did not send {what}: {why}{stderr}");
            return HostFailure { detail, ..broken };
        }
        let ending = self.pipe.ending();
        let stderr = last_line(&self.pipe.stderr());
        let detail = match ending {
            Ok(exit) if diagnosis::is_expiry(&exit) => {
                return HostFailure::new(Reason::Expired, diagnosis::expired_agent());
            }
            Ok(exit) => {
                let detail =
                    format!("the agent ended before {what} arrived: {why}; {exit}{stderr}");
                return self.link.failure_of(&exit, detail);
            }
            // The connection ended, and the output with it.
            Err(failure) if failure.reason == Reason::Lost => format!(
                "the connection over {} ended before {what} arrived: {}{stderr}",
                self.link.service(),
                failure.detail
            ),
            Err(_) => format!("the agent did not send {what}: {why}{stderr}"),
        };
        HostFailure::new(Reason::Lost, detail)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Node for Agent {
    fn start(&self, step: Step) -> Ticket {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.inbox.expect(id);
        self.outbox.send(&ToAgent::Worker(Box::new(ToWorker { id, step })));
        Ticket(id)
    }

    fn send(&self, step: Step) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.outbox.send(&ToAgent::Worker(Box::new(ToWorker { id, step })));
    }

    fn finish(&self, ticket: Ticket, deadline: Deadline) -> Option<Result<StepResult, StepError>> {
        self.inbox.reply(ticket.0, deadline)
    }

    fn known_life(&self) -> Liveness {
        if !self.inbox.needs_check() {
            return Liveness::Alive;
        }
        match self.life() {
            Life::Alive => Liveness::Alive,
            gone => Liveness::Gone(gone),
        }
    }

    fn life(&self) -> Life {
        let since = clock::now();
        let mut known = self.diagnosis.lock();
        if let Some(diagnosis) = &*known
            && !self.is_back(diagnosis)
        {
            return diagnosis.life.clone();
        }
        let diagnosis = self.diagnose(since);
        let life = diagnosis.life.clone();
        *known = (life != Life::Alive).then_some(diagnosis);
        life
    }

    fn restart_worker(&self) -> bool {
        let mut known = self.diagnosis.lock();
        if self.inbox.forget_expired_worker() {
            *known = None;
            self.outbox.send(&ToAgent::StartWorker);
        }
        known.is_none()
    }
}

const SAME_VERSION: &str =
    concat!("install rdmactl ", env!("CARGO_PKG_VERSION"), " on the host, or add --upload");

/// Returns the failure of the login shell, of the start of the agent, or of a foreign program.
fn no_greeting(
    error: &GreetingError,
    reader: &GreetingReader<'_>,
    pipe: &Pipe,
    link: &AgentLink,
) -> HostFailure {
    // A local process needs no shell.
    let is_started = reader.started().is_some() || matches!(link, AgentLink::Local(_));
    let (service, host, output) = (link.service(), link.host(), reader.output());
    let last_line_said = || last_line(&pipe.stderr());
    match error {
        GreetingError::NoAgent => {
            let detail = "no rdmactl in the PATH of the host, in /usr/local/bin or /opt/rdmactl/bin (RDMACTL_PATH)";
            let fix = "upload rdmactl for this run: add --upload; or install it";
            HostFailure::new(Reason::NoAgent, detail).fix(format!("{fix} on {host}"))
        }
        // The process still runs. Only its output so far is known.
        GreetingError::Io(error) if error.kind() == io::ErrorKind::WouldBlock && is_started => {
            let said = last_line_said();
            let detail = format!(
                "rdmactl agent was started on {host} and sent no greeting in time{output}{said}"
            );
            HostFailure::new(Reason::Timeout, detail).fix(MORE_TIME)
        }
        GreetingError::Io(error) if error.kind() == io::ErrorKind::WouldBlock => {
            let said = last_line_said();
            let detail = format!(
                "{service} accepted the command, but the login shell did not run it in time{output}{said}; the \
                 login shell may still run on {host}"
            );
            let fix = link.manual_command(
                "this command must end at once and print nothing, else repair the login files or the forced \
                 command (command=, ForceCommand) of the account",
                "true",
            );
            HostFailure::new(Reason::Timeout, detail).fix(format!("{fix}; or {MORE_TIME}"))
        }
        GreetingError::Noise => {
            let said = last_line_said();
            let fix = link.manual_command("remove the output of the login files; show it", "true");
            HostFailure::new(Reason::Garbage, format!("{error}{output}{said}")).fix(fix)
        }
        GreetingError::Ended | GreetingError::Io(_) => {
            let ending = pipe.ending();
            let stderr = pipe.stderr();
            let refused = is_started.then(|| sudo::refusal(&stderr)).flatten();
            if let Some(failure) = refused.or_else(|| pipe.failure()) {
                return failure;
            }
            let said = last_line(&stderr);
            let exit = ending.as_ref().map_or_else(|_| String::new(), |exit| format!("; {exit}"));
            if is_started {
                let detail = format!(
                    "{service} ran /bin/sh on {host}, which ended before the greeting of rdmactl agent{exit}{output}{said}"
                );
                return match ending {
                    Ok(exit) => link.failure_of(&exit, detail),
                    Err(_) => HostFailure::new(Reason::AgentFailed, detail),
                };
            }
            let detail = format!(
                "{service} accepted the command, but the login shell ended before it ran /bin/sh{exit}{output}{said}"
            );
            let fix = link.manual_command(
                "this command must print ok, else repair the login shell (getent passwd), its login files or the \
                 forced command (command=, ForceCommand) of the account",
                "echo ok",
            );
            HostFailure::new(Reason::Shell, detail).fix(fix)
        }
    }
}

fn lost(error: &io::Error) -> HostFailure {
    HostFailure::new(Reason::Lost, format!("cannot use the pipe of the agent: {error}"))
}

fn reading_ms(left: Duration) -> u32 {
    u32::try_from(reading_time(left).as_millis()).unwrap_or(u32::MAX)
}

/// Returns the time limit of reading on the host. It reserves a part of `left` for the reply.
fn reading_time(left: Duration) -> Duration {
    left.saturating_sub(TRANSFER_TIME.max(left / 5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_gets_a_fifth_of_the_time_and_half_a_second_at_least() {
        let ms = Duration::from_millis;
        assert_eq!(reading_time(ms(10_000)), ms(8_000));
        assert_eq!(reading_time(ms(1_000)), ms(500));
        assert_eq!(reading_time(ms(300)), ms(0));
    }
}
