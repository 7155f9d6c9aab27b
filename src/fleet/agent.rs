//! The agent at the far end of a pipe, as the operator sees it.

pub(super) mod fate;
mod followed;
mod outbox;
mod reader;
mod timed;
mod way;

use std::io::{self, BufReader};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use fate::Fate;
use outbox::Outbox;
use reader::Inbox;
use timed::Timed;
use way::Way;

use super::last_words::last_words;
use super::remote_command::{NO_AGENT, Privilege, STARTED};
use super::ssh::fault;
use super::time_limit::MORE_TIME;
use super::{Access, Leftover, Nonce, Pipe, Watchdog, local, sudo};
use crate::clock::{self, Deadline};
use crate::model::ping::Life;
use crate::model::probe::{Step, StepError, StepResult};
use crate::model::{Fix, HostFailure, HostReport, Part, Parts, Problem, Reason};
use crate::ping::{Liveness, Node, Ticket};
use crate::source::Recording;
use crate::wire::{Greeting, GreetingError, GreetingReader, PROTOCOL, Started, ToAgent, ToWorker};

/// How much of what an agent says is fetched at once, in bytes: what most answers need that tell only what
/// changed. Longer frames are read where they are kept.
const READ: usize = 2048;

/// How often the operator says that it is there.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// How long an agent that failed may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// Time to end an agent that did not respond: goodbye, a look at it, and the way back.
const ENDING: Duration = Duration::from_secs(4);

/// The report of a host, as a message names it.
const INVENTORY: &str = "the inventory";

/// The least time that an answer gets on its way here.
const WAY_BACK: Duration = Duration::from_millis(500);

/// A host on which no agent greeted.
#[derive(Debug)]
pub struct Silent {
    /// Why.
    pub failure: HostFailure,
    /// Process that the shell of the host started instead, if it still runs.
    pub running: Option<Started>,
}

impl From<HostFailure> for Silent {
    fn from(failure: HostFailure) -> Self {
        Self { failure, running: None }
    }
}

/// An agent that has greeted.
///
/// It is to be ended by [`Agent::end`] or [`Agent::give_up`], which say what stays on its host.
pub struct Agent {
    greeting: Greeting,
    /// The process that the shell of the host reported before it ran the agent.
    started: Option<Started>,
    pipe: Pipe,
    way: Way,
    /// Another connection to the host, opened when the first one was over.
    reopened: OnceLock<Arc<dyn Access>>,
    outbox: Arc<Outbox>,
    inbox: Arc<Inbox>,
    next_id: AtomicU64,
    over: Arc<AtomicBool>,
    /// What became of an agent that no longer answers: found out once, because finding out takes seconds and
    /// may kill. A host that was given up and is heard again is judged anew.
    fate: Mutex<Option<Fate>>,
}

impl Agent {
    /// Starts an agent on this host and waits for its greeting.
    ///
    /// # Errors
    /// It does not start or does not greet by the deadline.
    pub fn here(
        command: Command,
        nonce: Nonce,
        watchdog: &Watchdog,
        deadline: Deadline,
    ) -> Result<Self, HostFailure> {
        let pipe = local::spawn(command)?;
        let guard = watchdog.guard(pipe.stream(), deadline).map_err(|error| lost(&error))?;
        Self::greet(pipe, Way::Here(guard), nonce, deadline).map_err(|silent| silent.failure)
    }

    /// Waits for the greeting of an agent that was started on another host.
    ///
    /// The caller has set a deadline on the access: it ends this wait too.
    ///
    /// # Errors
    /// No agent is there, or another protocol, or something that is no agent.
    pub fn there(
        access: &Arc<dyn Access>,
        pipe: Pipe,
        nonce: Nonce,
        privilege: Privilege,
        deadline: Deadline,
    ) -> Result<Self, Silent> {
        Self::greet(pipe, Way::There(Arc::clone(access), privilege), nonce, deadline)
    }

    fn greet(pipe: Pipe, way: Way, nonce: Nonce, deadline: Deadline) -> Result<Self, Silent> {
        let stream = pipe.stream();
        let broken = |error: io::Error| lost(&error);
        let output = Timed::new(stream.try_clone().map_err(broken)?, deadline);
        // The greeting is read byte by byte, and what follows it belongs to the frames.
        let mut output = BufReader::with_capacity(READ, output);
        let mut reader = GreetingReader::new(&nonce, NO_AGENT, STARTED);
        let greeting = reader.read(&mut output);
        let started = reader.started();
        let greeting = greeting.map_err(|error| {
            let failure = no_greeting(&error, &reader, &pipe, &way);
            let over = pipe.wait(Deadline::after(Duration::ZERO));
            let runs = failure.reason != Reason::NoAgent
                && over.is_err_and(|failure| failure.reason == Reason::Timeout);
            Silent { failure, running: started.filter(|_| runs) }
        })?;
        if greeting.protocol != PROTOCOL {
            let detail = format!(
                "rdmactl {} on the host uses protocol {}; this rdmactl uses protocol {PROTOCOL}",
                greeting.version, greeting.protocol,
            );
            // It ends with its input.
            return Err(HostFailure::new(Reason::AgentVersion, detail).fix(SAME_VERSION).into());
        }
        let inbox = Arc::new(Inbox::new(output));
        let writing = stream.try_clone().map_err(broken)?;
        let outbox = Outbox::new(writing, Arc::clone(&inbox)).map_err(broken)?;
        Ok(Self {
            greeting,
            started,
            pipe,
            way,
            reopened: OnceLock::new(),
            outbox: Arc::new(outbox),
            inbox,
            next_id: AtomicU64::new(1),
            over: Arc::new(AtomicBool::new(false)),
            fate: Mutex::new(None),
        })
    }

    /// The host's inventory.
    ///
    /// The agent is told how long it may read, so that what hangs there costs its part of the
    /// report and not all of it.
    ///
    /// # Errors
    /// The agent gave none by the deadline, and why.
    pub fn report(&self, parts: &Parts, deadline: Deadline) -> Result<HostReport, HostFailure> {
        self.ask_since(None, parts, deadline.remaining(), deadline);
        self.last_answer(parts, deadline)
    }

    /// The host's inventory, of an agent that will be asked for it again and again: it sends what changed.
    ///
    /// # Errors
    /// As for [`Agent::report`]; and what it sent makes no report of its last one.
    pub fn follow(&self, parts: &Parts, deadline: Deadline) -> Result<HostReport, HostFailure> {
        self.ask(parts, deadline.remaining(), deadline);
        self.last_answer(parts, deadline)
    }

    fn last_answer(&self, parts: &Parts, due: Deadline) -> Result<HostReport, HostFailure> {
        self.answer(parts, due, due).unwrap_or_else(|| Err(self.no_answer(INVENTORY)))
    }

    /// Asks an agent for the host's inventory that is asked for it again and again: it sends what changed.
    ///
    /// It may read for this time; it is cut off some time after the answer is due.
    pub fn ask(&self, parts: &Parts, reading: Duration, due: Deadline) {
        self.ask_since(Some(self.inbox.follow()), parts, reading, due);
    }

    fn ask_since(&self, base: Option<u64>, parts: &Parts, reading: Duration, due: Deadline) {
        // It may be cut off a little later, so that it can be ended in good order.
        self.way.set_deadline(Some(Deadline::after(due.remaining() + ENDING)));
        let limit_ms = reading_ms(reading);
        self.outbox.send(&ToAgent::Report { parts: parts.clone(), limit_ms, base });
    }

    /// The answer to what was asked; `None` for one that has not come by the deadline, and is not due yet.
    ///
    /// # Errors
    /// None will come, and why; or what came makes no report of the last one.
    #[must_use]
    pub fn answer(
        &self,
        parts: &Parts,
        deadline: Deadline,
        due: Deadline,
    ) -> Option<Result<HostReport, HostFailure>> {
        let Some(mut report) = self.inbox.report(deadline) else {
            let is_lost = due.is_over() || self.inbox.is_over();
            return is_lost.then(|| Err(self.no_answer(INVENTORY)));
        };
        let unread: Vec<Part> = parts.missing_in(&report.parts).collect();
        report.problems.extend(unread.into_iter().map(|part| self.cannot_read(part)));
        Some(Ok(report))
    }

    /// Reports a part that the version of the agent does not know: it must not look absent.
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

    /// Leaves the agent alone until the next question: no deadline ends its connection.
    pub fn rest(&self) {
        self.way.set_deadline(None);
    }

    /// Sends a heartbeat: an agent that receives nothing for a minute ends.
    pub fn say_alive(&self) {
        self.outbox.send(&ToAgent::Alive);
    }

    /// The raw answers from which the host's inventory is made.
    ///
    /// # Errors
    /// As for [`Agent::report`].
    pub fn record(&self, parts: &Parts, deadline: Deadline) -> Result<Recording, HostFailure> {
        let limit_ms = reading_ms(deadline.remaining());
        self.outbox.send(&ToAgent::Record { parts: parts.clone(), limit_ms });
        self.inbox.recording(deadline).ok_or_else(|| self.no_answer("the recording"))
    }

    /// Starts the worker, and from then on tells the agent that the operator is there.
    ///
    /// From then on no deadline ends the connection, for a run may take any time: the agent's own
    /// heartbeat does, because one that stays silent on a host that answers is killed.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start_worker(&self) -> Result<(), HostFailure> {
        let no_thread = |error: io::Error| fault::local(&error);
        self.inbox.listen().map_err(no_thread)?;
        self.way.set_deadline(None);
        self.outbox.send(&ToAgent::StartWorker);
        let (outbox, over) = (Arc::clone(&self.outbox), Arc::clone(&self.over));
        let beat = move || {
            while !over.load(Ordering::Relaxed) && outbox.send(&ToAgent::Alive) {
                thread::park_timeout(HEARTBEAT);
            }
        };
        let thread = thread::Builder::new().name("heartbeat".into()).stack_size(128 * 1024);
        thread.spawn(beat).map(drop).map_err(no_thread)
    }

    /// Says goodbye and makes sure that the agent is gone.
    ///
    /// # Errors
    /// The agent could neither be ended nor killed.
    pub fn end(self, deadline: Deadline) -> Result<(), Leftover> {
        self.over.store(true, Ordering::Relaxed);
        self.way.set_deadline(Some(Deadline::after(deadline.remaining() + fate::LOOK + WAY_BACK)));
        self.outbox.send(&ToAgent::Bye);
        if self.inbox.ended(deadline) && self.wrapper_ends() {
            return Ok(());
        }
        self.bury()
    }

    /// Ends an agent that failed; the failure also says what is left of it.
    #[must_use]
    pub fn give_up(self, failure: HostFailure) -> HostFailure {
        match self.end(Deadline::after(GOODBYE)) {
            Ok(()) => failure,
            Err(left) => left.add_to(failure),
        }
    }

    /// Why something that was asked for did not come.
    fn no_answer(&self, what: &str) -> HostFailure {
        let Some(broken) = self.inbox.broken() else {
            return self.too_late(what);
        };
        let why = &broken.detail;
        if broken.reason != Reason::Lost {
            let stderr = self.pipe.last_words();
            let detail = format!("the agent did not send {what}: {why}{stderr}");
            return HostFailure { detail, ..broken };
        }
        let ending = self.pipe.ending();
        let stderr = last_words(&self.pipe.stderr());
        match ending {
            Ok(exit) => {
                let detail =
                    format!("the agent ended before {what} arrived: {why}; {exit}{stderr}");
                self.way.ended(&exit, detail)
            }
            // The end of the output is the end of the connection.
            Err(failure) if failure.reason == Reason::Lost => {
                let service = self.way.service();
                let detail = format!(
                    "the connection over {service} ended before {what} arrived: {}{stderr}",
                    failure.detail
                );
                HostFailure::new(Reason::Lost, detail)
            }
            Err(_) => {
                let detail = format!("the agent did not send {what}: {why}{stderr}");
                HostFailure::new(Reason::Lost, detail)
            }
        }
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

    fn tell(&self, step: Step) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.outbox.send(&ToAgent::Worker(Box::new(ToWorker { id, step })));
    }

    fn finish(&self, ticket: Ticket, deadline: Deadline) -> Option<Result<StepResult, StepError>> {
        self.inbox.reply(ticket.0, deadline)
    }

    fn known_life(&self) -> Liveness {
        if self.inbox.is_suspect() {
            match self.life() {
                Life::Alive => Liveness::Alive,
                gone => Liveness::Gone(gone),
            }
        } else {
            Liveness::Alive
        }
    }

    fn life(&self) -> Life {
        let since = clock::now();
        let mut known = self.fate.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fate) = &*known
            && !self.is_back(fate)
        {
            return fate.life.clone();
        }
        let fate = self.determine_fate(since);
        let life = fate.life.clone();
        *known = (life != Life::Alive).then_some(fate);
        life
    }

    fn restart_worker(&self) -> bool {
        let mut known = self.fate.lock().unwrap_or_else(PoisonError::into_inner);
        if self.inbox.forget_expired_worker() {
            *known = None;
            self.outbox.send(&ToAgent::StartWorker);
        }
        known.is_none()
    }
}

/// What to do about an agent of another version.
const SAME_VERSION: &str =
    concat!("install rdmactl ", env!("CARGO_PKG_VERSION"), " on the host, or add --upload");

/// Returns which step failed: the login shell, the start of the agent, or a program that is no
/// agent.
fn no_greeting(
    error: &GreetingError,
    reader: &GreetingReader<'_>,
    pipe: &Pipe,
    way: &Way,
) -> HostFailure {
    // A process of this machine needs no shell.
    let is_started = reader.started().is_some() || matches!(way, Way::Here(_));
    let (service, output) = (way.service(), reader.output());
    match error {
        GreetingError::NoAgent => {
            let detail = "no rdmactl in the PATH of the host, in /usr/local/bin or /opt/rdmactl/bin (RDMACTL_PATH)";
            let fix = "upload rdmactl for this run: add --upload; or install it";
            HostFailure::new(Reason::NoAgent, detail).fix(format!("{fix} on {}", way.host()))
        }
        // It still runs: its output so far is all that is known.
        GreetingError::Io(error) if error.kind() == io::ErrorKind::WouldBlock && is_started => {
            let said = last_words(&pipe.stderr());
            let detail = format!(
                "rdmactl agent was started on {} and sent no greeting in time{output}{said}",
                way.host()
            );
            HostFailure::new(Reason::Timeout, detail).fix(MORE_TIME)
        }
        GreetingError::Io(error) if error.kind() == io::ErrorKind::WouldBlock => {
            let said = last_words(&pipe.stderr());
            let host = way.host();
            let detail = format!(
                "{service} accepted the command, but the login shell did not run it in time{output}{said}; the \
                 login shell may still run on {host}"
            );
            let fix = way.by_hand(
                "this command must end at once and print nothing, else repair the login files or the forced \
                 command (command=, ForceCommand) of the account",
                "true",
            );
            HostFailure::new(Reason::Timeout, detail).fix(format!("{fix}; or {MORE_TIME}"))
        }
        GreetingError::Noise => {
            let said = last_words(&pipe.stderr());
            let fix = way.by_hand("remove the output of the login files; show it", "true");
            HostFailure::new(Reason::Garbage, format!("{error}{output}{said}")).fix(fix)
        }
        GreetingError::Ended | GreetingError::Io(_) => {
            let ending = pipe.ending();
            let stderr = pipe.stderr();
            let refused = is_started.then(|| sudo::refusal(&stderr)).flatten();
            if let Some(failure) = refused.or_else(|| pipe.failure()) {
                return failure;
            }
            let said = last_words(&stderr);
            let exit = ending.as_ref().map_or_else(|_| String::new(), |exit| format!("; {exit}"));
            if is_started {
                let detail = format!(
                    "{service} ran /bin/sh on {}, which ended before the greeting of rdmactl agent{exit}{output}{said}",
                    way.host()
                );
                return match ending {
                    Ok(exit) => way.ended(&exit, detail),
                    Err(_) => HostFailure::new(Reason::AgentFailed, detail),
                };
            }
            let detail = format!(
                "{service} accepted the command, but the login shell ended before it ran /bin/sh{exit}{output}{said}"
            );
            let fix = way.by_hand(
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

/// How many milliseconds an agent may read until its answer must be here.
fn reading_ms(left: Duration) -> u32 {
    u32::try_from(reading_time(left).as_millis()).unwrap_or(u32::MAX)
}

/// How long an agent may read of what is left until its answer must be here.
fn reading_time(left: Duration) -> Duration {
    left.saturating_sub(WAY_BACK.max(left / 5))
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
