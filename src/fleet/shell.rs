//! Reads a host without rdmactl through its POSIX shell: files, directories, links, device files.
//!
//! The shell only reads paths. `collect` decides the paths: it runs repeatedly over the replies
//! so far, until it requests no further path. Data that needs code on the host (netlink,
//! libibverbs, other processes) is reported as a problem. [`HostReader`](super::HostReader) uses
//! this module.

mod batch;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::deadline_reader::DeadlineReader;
use super::memory_budget::MemoryShare;
use super::quote::last_line;
use super::remote_command::{self, Privilege, STARTED};
use super::time_limit::{KILL, MORE_TIME};
use super::{Access, CleanupFailure, HostResult, Nonce, Pipe, fault, sudo};
use crate::clock::Deadline;
use crate::collect::host_report;
use crate::model::{HostFailure, HostReport, Parts, Reason, Via};
use crate::source::{Answer, Entry, Question, ReadError, Recording, Source};
use crate::wire::{REPORT_LIMIT, Started};
use batch::{Batch, QuestionKind};

/// Limit of the memory for the replies of one shell, in bytes: four recordings of an agent.
const MAX_MEMORY: usize = 4 * REPORT_LIMIT;

/// Estimated memory of a question and an answer without its bytes.
const ENTRY_BYTES: usize = 384;

/// Limit of the rounds of one report. It is more than the directory levels that any path has.
const MAX_ROUNDS: usize = 64;
const NOISE_LIMIT: u64 = 64 * 1024;

/// Shell on a host that serves requests.
pub struct Shell {
    access: Arc<dyn Access>,
    privilege: Privilege,
    state: Mutex<State>,
}

struct State {
    pipe: Pipe,
    stream: BufReader<DeadlineReader>,
    nonce: String,
    /// Process of the shell; `None` before its greeting.
    process: Option<Started>,
    /// True if the last request got no reply in time.
    is_hung: bool,
    /// Boot time of the host by its own clock, in nanoseconds since 1970 UTC.
    started_ns: Option<u64>,
    /// Questions of the last report. The next report most likely has the same ones.
    asked: Vec<Question>,
}

/// Answers so far, and the questions that have no answer yet.
struct Known {
    answers: HashMap<Question, (Answer, Option<u64>)>,
    unknown: RefCell<BTreeSet<Question>>,
    taken_ns: Option<u64>,
}

impl Source for Known {
    fn ask(&self, question: &Question) -> Answer {
        if QuestionKind::of(question).is_none() {
            return Err(ReadError::NeedsProgram);
        }
        if let Some((answer, _)) = self.answers.get(question) {
            return answer.clone();
        }
        self.unknown.borrow_mut().insert(question.clone());
        Err(ReadError::NotRecorded)
    }

    fn taken_ns(&self) -> Option<u64> {
        self.taken_ns
    }

    fn answered_ns(&self, question: &Question) -> Option<u64> {
        self.answers.get(question)?.1
    }
}

impl Shell {
    /// Starts a shell on a host.
    ///
    /// # Errors
    /// The login does not start a POSIX shell.
    pub fn start(
        access: &Arc<dyn Access>,
        nonce: Nonce,
        privilege: Privilege,
        deadline: Deadline,
    ) -> HostResult<Self> {
        let pipe = access.exec(&remote_command::shell_reader(nonce, privilege), deadline)?;
        let stream = pipe.stream().try_clone().map_err(|error| lost(&error, &pipe))?;
        let mut state = State {
            pipe,
            stream: BufReader::new(DeadlineReader::new(stream, deadline)),
            nonce: nonce.to_string(),
            process: None,
            is_hung: false,
            started_ns: None,
            asked: Vec::new(),
        };
        state
            .greet(deadline)
            .map_err(|failure| sudo::refusal(&state.pipe.stderr()).unwrap_or(failure))?;
        state.set_clock(deadline)?;
        Ok(Self { access: Arc::clone(access), privilege, state: Mutex::new(state) })
    }

    /// Kills the shell and its commands if the last request got no reply: a command that hangs in
    /// a read would go on with the next file. Otherwise the shell ends with its input.
    ///
    /// # Errors
    /// The shell may still run.
    pub fn end(self) -> Result<(), CleanupFailure> {
        let State { process, is_hung, .. } = self.state.into_inner();
        let Some(started) = process.filter(|_| is_hung && !self.access.is_cancelled()) else {
            return Ok(());
        };
        let killed = match started.process() {
            Some(process) => {
                let kill = remote_command::kill(process, started.leader(), self.privilege);
                self.access.run(&kill, Deadline::after(KILL))
            }
            None => Err(HostFailure::new(Reason::AgentFailed, "the host has no /proc")),
        };
        let doubt = match killed {
            Ok(exit) if exit.status.is_some_and(|code| remote_command::ENDED.contains(&code)) => {
                return Ok(());
            }
            Ok(exit) => exit.to_string(),
            Err(failure) => failure.detail,
        };
        Err(CleanupFailure::shell(&*self.access, self.privilege, started.pid, &doubt))
    }

    /// Returns the host's inventory, as far as files contain it.
    ///
    /// # Errors
    /// The shell did not reply by the deadline. The failure has the reason.
    pub fn report(&self, parts: &Parts, deadline: Deadline) -> HostResult<HostReport> {
        Ok(self.read(parts, deadline)?.1)
    }

    /// Returns the raw answers that make up the host's inventory.
    ///
    /// # Errors
    /// As for [`Shell::report`].
    pub fn record(&self, parts: &Parts, deadline: Deadline) -> HostResult<Recording> {
        let (known, _) = self.read(parts, deadline)?;
        let entry = |(question, (answer, at_ns))| Entry { question, answer, at_ns };
        let mut entries: Vec<Entry> = known.answers.into_iter().map(entry).collect();
        entries.sort_by(|one, other| one.question.cmp(&other.question));
        Ok(Recording { taken_ns: known.taken_ns, left_out: 0, entries })
    }

    /// Removes the deadline of the connection until the next request.
    pub fn clear_deadline(&self) {
        self.access.set_deadline(None);
    }

    fn read(&self, parts: &Parts, deadline: Deadline) -> HostResult<(Known, HostReport)> {
        let mut state = self.state.lock();
        let unknown: BTreeSet<Question> = std::mem::take(&mut state.asked).into_iter().collect();
        let (_, taken_ns) = state.answer("", deadline)?;
        let mut known = Known { answers: HashMap::new(), unknown: RefCell::new(unknown), taken_ns };
        let (mut rounds, mut bytes) = (0, 0);
        // The budget covers all shells that are read at the same time.
        let mut share = MemoryShare::default();
        let report = loop {
            let questions = known.unknown.take();
            for batch in batch::batches(&questions) {
                let entries = state.ask(&batch, deadline)?;
                let lengths = entries.iter().map(|entry| entry.answer.as_ref().map_or(0, Vec::len));
                bytes += entries.len() * ENTRY_BYTES + lengths.sum::<usize>();
                if bytes > MAX_MEMORY {
                    return Err(fault::too_big(MAX_MEMORY));
                }
                share.resize(bytes)?;
                for Entry { question, answer, at_ns } in entries {
                    known.answers.insert(question, (answer, at_ns));
                }
            }
            let report = host_report(&known, parts, "", Via::Shell);
            rounds += 1;
            if rounds == MAX_ROUNDS || known.unknown.borrow().is_empty() {
                break report;
            }
        };
        state.asked = known.answers.keys().cloned().collect();
        Ok((known, report))
    }
}

impl State {
    fn greet(&mut self, deadline: Deadline) -> HostResult<()> {
        let hello = remote_command::shell_line("sh", &self.nonce);
        let mut said = 0;
        loop {
            let line =
                self.line(deadline, NOISE_LIMIT).map_err(|failure| match failure.reason {
                    Reason::Lost => HostFailure { reason: Reason::Shell, ..failure },
                    _ => failure,
                })?;
            if line == hello.as_bytes() {
                return Ok(());
            }
            let text = String::from_utf8_lossy(&line);
            // The shell prints two such lines. Only the second one has all words.
            self.process = Started::of_line(&text, STARTED, &self.nonce).or(self.process);
            said += line.len() as u64;
            if said > NOISE_LIMIT {
                let detail = "more than 64 KiB of output came before the shell started";
                return Err(HostFailure::new(Reason::Garbage, detail)
                    .fix("remove the output of the login files (.bashrc, .profile) on the host"));
            }
        }
    }

    /// Computes the boot time from `date` and the uptime. `date` has whole seconds; the uptime
    /// has hundredths, which is precise enough for rates.
    fn set_clock(&mut self, deadline: Deadline) -> HostResult<()> {
        let (text, since_start) = self.answer("T", deadline)?;
        let now =
            batch::nanoseconds(String::from_utf8_lossy(&text).lines().next().unwrap_or_default());
        self.started_ns = now.zip(since_start).map(|(now, since)| now.saturating_sub(since));
        Ok(())
    }

    fn ask(&mut self, batch: &Batch<'_>, deadline: Deadline) -> HostResult<Vec<Entry>> {
        let (text, at_ns) = self.answer(&batch.text(), deadline)?;
        let answers = batch.answers(&text, &remote_command::shell_line("errors", &self.nonce));
        let entry = |(question, answer)| Entry { question, answer, at_ns };
        Ok(answers.into_iter().map(entry).collect())
    }

    /// Sends a request. Returns all lines of the reply, and the time of its end in nanoseconds.
    /// The time is by the host's clock, or since the boot before [`State::set_clock`].
    fn answer(&mut self, question: &str, deadline: Deadline) -> HostResult<(Vec<u8>, Option<u64>)> {
        let stream = self.pipe.stream();
        // A socket rejects a timeout of zero.
        let timeout = deadline.remaining().max(Duration::from_millis(1));
        let sent = stream
            .set_write_timeout(Some(timeout))
            .and_then(|()| (&*stream).write_all(format!("{question}\n").as_bytes()));
        sent.map_err(|error| lost(&error, &self.pipe))?;
        let end = format!("{} ", remote_command::shell_line("end", &self.nonce).trim_end());
        let mut text = Vec::new();
        loop {
            let room = (REPORT_LIMIT - text.len()) as u64;
            let line = self.line(deadline, room).inspect_err(|failure| {
                self.is_hung = failure.reason == Reason::Timeout;
            })?;
            if let Some(since_start) = line.strip_prefix(end.as_bytes()) {
                let since_start = batch::nanoseconds(&String::from_utf8_lossy(since_start));
                let at_ns = since_start.zip(self.started_ns.or(Some(0)));
                return Ok((text, at_ns.and_then(|(since, start)| start.checked_add(since))));
            }
            if line.len() as u64 >= room {
                return Err(fault::too_big(REPORT_LIMIT));
            }
            text.extend(line);
        }
    }

    fn line(&mut self, deadline: Deadline, limit: u64) -> HostResult<Vec<u8>> {
        self.stream.get_mut().set_deadline(deadline);
        let mut line = Vec::new();
        match (&mut self.stream).take(limit).read_until(b'\n', &mut line) {
            Ok(0) => {
                let how = self.pipe.exit_and_last_line();
                Err(HostFailure::new(Reason::Lost, format!("the shell on the host ended{how}")))
            }
            Ok(_) => Ok(line),
            Err(error) => Err(lost(&error, &self.pipe)),
        }
    }
}

fn lost(error: &io::Error, pipe: &Pipe) -> HostFailure {
    if error.kind() == io::ErrorKind::WouldBlock {
        let said = last_line(&pipe.stderr());
        let detail = format!("the shell on the host did not respond in time{said}");
        let fix = format!("{MORE_TIME}; or upload rdmactl: --upload");
        return HostFailure::new(Reason::Timeout, detail).fix(fix);
    }
    HostFailure::new(Reason::Lost, format!("the connection to the shell broke: {error}"))
}

#[test]
fn a_host_that_sends_byte_by_byte_does_not_move_the_deadline() {
    let (pipe, mut far, _shared) =
        Pipe::pair(Arc::new(super::pipe::Waker::new().unwrap())).unwrap();
    let deadline = Deadline::after(Duration::from_millis(100));
    let stream = DeadlineReader::new(pipe.stream().try_clone().unwrap(), deadline);
    let stream = BufReader::new(stream);
    let nonce = String::new();
    let mut state = State {
        pipe,
        stream,
        nonce,
        process: None,
        is_hung: false,
        started_ns: None,
        asked: Vec::new(),
    };
    let host = std::thread::spawn(move || {
        while far.write_all(b"x").is_ok() {
            crate::sys::poll::wait(&mut [], Some(Duration::from_millis(5))).unwrap();
        }
    });
    let failure = state.line(deadline, 1 << 20).unwrap_err();
    assert_eq!(failure.reason, Reason::Timeout, "{failure:?}");
    drop(state);
    host.join().unwrap();
}
