//! The agent at the far end of a pipe, as the operator sees it.

mod fate;
mod reader;

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use reader::Inbox;

use super::remote_command::NO_AGENT;
use super::{Nonce, Pipe, Session};
use crate::clock::Deadline;
use crate::model::ping::Life;
use crate::model::probe::{Step, StepError, StepResult};
use crate::model::{HostFailure, HostReport, Reason};
use crate::ping::{Liveness, Node, Ticket};
use crate::wire::{FrameWriter, GreetingError, PROTOCOL, ToAgent, ToWorker, read_greeting};

/// How often the operator says that it is there.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// An agent that has greeted.
pub struct Agent {
    pipe: Pipe,
    /// `None` for an agent on this host.
    session: Option<Session>,
    writer: Arc<Mutex<FrameWriter<UnixStream>>>,
    inbox: Arc<Inbox>,
    next_id: AtomicU64,
    over: Arc<AtomicBool>,
    /// What became of an agent that no longer answers: found out once, because finding out kills.
    fate: Mutex<Option<Life>>,
}

impl Agent {
    /// Waits for the greeting on a pipe in which an agent was started.
    ///
    /// The caller has set a deadline on the session: it ends this wait too.
    ///
    /// # Errors
    /// No agent is there, or another protocol, or something that is no agent.
    pub fn greet(
        pipe: Pipe,
        session: Option<Session>,
        nonce: Nonce,
        deadline: Deadline,
    ) -> Result<Self, HostFailure> {
        let stream = pipe.stream();
        let broken = |error: io::Error| HostFailure::new(Reason::Lost, error.to_string());
        let patience = deadline.remaining().max(Duration::from_millis(1));
        stream.set_read_timeout(Some(patience)).map_err(broken)?;
        let greeting = read_greeting(&mut &*stream, &nonce, NO_AGENT)
            .map_err(|error| no_greeting(&error, &pipe))?;
        if greeting.protocol != PROTOCOL {
            let detail = format!(
                "the rdmactl there is {} and speaks protocol {}; this one speaks {PROTOCOL}",
                greeting.version, greeting.protocol
            );
            return Err(HostFailure::new(Reason::AgentVersion, detail)
                .fix("install the same version there, or add --upload"));
        }
        stream.set_read_timeout(None).map_err(broken)?;
        let writer = FrameWriter::new(stream.try_clone().map_err(broken)?);
        let inbox = Inbox::start(stream.try_clone().map_err(broken)?).map_err(broken)?;
        Ok(Self {
            pipe,
            session,
            writer: Arc::new(Mutex::new(writer)),
            inbox,
            next_id: AtomicU64::new(1),
            over: Arc::new(AtomicBool::new(false)),
            fate: Mutex::new(None),
        })
    }

    /// The host's inventory.
    ///
    /// # Errors
    /// The agent gave none by the deadline, and why.
    pub fn report(&self, verbs: bool, deadline: Deadline) -> Result<HostReport, HostFailure> {
        self.send(&ToAgent::Report { verbs });
        self.inbox.report(deadline).ok_or_else(|| self.lost("its inventory"))
    }

    /// Starts the worker, and from then on tells the agent that the operator is there.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start_worker(&self) -> io::Result<()> {
        self.send(&ToAgent::StartWorker);
        let (writer, over) = (Arc::clone(&self.writer), Arc::clone(&self.over));
        let beat = move || {
            while !over.load(Ordering::Relaxed) {
                let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
                if writer.write(&ToAgent::Alive).is_err() {
                    return;
                }
                drop(writer);
                thread::park_timeout(HEARTBEAT);
            }
        };
        thread::Builder::new().name("heartbeat".into()).stack_size(128 * 1024).spawn(beat)?;
        Ok(())
    }

    /// Says goodbye and makes sure that nothing stays; else the process that is left.
    ///
    /// # Errors
    /// `pid N` of an agent that could neither be asked nor killed.
    pub fn end(self, deadline: Deadline) -> Result<(), String> {
        self.over.store(true, Ordering::Relaxed);
        self.send(&ToAgent::Bye);
        if self.inbox.ended(deadline) {
            return Ok(());
        }
        self.bury()
    }

    /// Moves the deadline at which the whole connection is shut down.
    pub fn set_deadline(&self, deadline: Deadline) {
        if let Some(session) = &self.session {
            session.set_deadline(deadline);
        }
    }

    fn send(&self, message: &ToAgent) {
        // A stream that is closed shows at the reading end, with a reason.
        let _ = self.writer.lock().unwrap_or_else(PoisonError::into_inner).write(message);
    }

    /// Why something that was asked for did not come.
    fn lost(&self, what: &str) -> HostFailure {
        let Some(why) = self.inbox.broken() else {
            return HostFailure::new(Reason::Timeout, format!("the agent did not send {what}"))
                .fix("give it more time with --timeout");
        };
        let stderr = last_words(&self.pipe);
        HostFailure::new(Reason::Lost, format!("the agent ended before {what} came: {why}{stderr}"))
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
        self.send(&ToAgent::Worker(ToWorker { id, step }));
        Ticket(id)
    }

    fn tell(&self, step: Step) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.send(&ToAgent::Worker(ToWorker { id, step }));
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
        let mut fate = self.fate.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fate) = &*fate {
            return fate.clone();
        }
        let life = self.determine_life();
        if life != Life::Alive {
            *fate = Some(life.clone());
        }
        life
    }
}

fn no_greeting(error: &GreetingError, pipe: &Pipe) -> HostFailure {
    let said = last_words(pipe);
    match error {
        GreetingError::NoAgent => {
            HostFailure::new(Reason::NoAgent, "no rdmactl in the PATH of the login there")
                .fix("add --upload, or install rdmactl there")
        }
        GreetingError::Io(error) if error.kind() == io::ErrorKind::WouldBlock => {
            HostFailure::new(Reason::Timeout, format!("the agent did not greet in time{said}"))
                .fix("give it more time with --timeout")
        }
        other => HostFailure::new(Reason::Garbage, format!("{other}{said}")),
    }
}

/// The end of what the far side wrote to stderr, as the tail of a sentence.
fn last_words(pipe: &Pipe) -> String {
    let stderr = pipe.stderr();
    let text = String::from_utf8_lossy(&stderr);
    match text.trim().lines().next_back() {
        Some(line) => format!("; it said: {line}"),
        None => String::new(),
    }
}
