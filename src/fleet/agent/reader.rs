use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::super::budget::Share;
use super::followed::{FollowError, Followed, report_of};
use super::timed::Timed;
use crate::clock::{self, Deadline};
use crate::model::probe::{StepError, StepResult};
use crate::model::{HostFailure, HostReport, Reason};
use crate::source::Recording;
use crate::wire::limits::RECORDING;
use crate::wire::{BASE_LIMIT, FrameReader, FromAgent, Loss, Process, REPORT_LIMIT, WireError};

/// How long an agent with a worker may be silent before it is looked into.
pub(super) const SILENCE: Duration = Duration::from_secs(2);

/// How often a waiting thread looks whether the agent has gone silent.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// What reading takes of that which came in time, and which nobody was there to read.
const LEAST: Duration = Duration::from_millis(5);

/// What an agent says is read from here.
type Reader = FrameReader<BufReader<Timed>>;

/// What has come from an agent.
///
/// Whoever waits for something reads it. An agent with a worker also speaks unasked, and has a thread of its
/// own that listens.
pub(super) struct Inbox {
    /// `None` once a thread of its own reads.
    reader: Mutex<Option<Reader>>,
    state: Mutex<State>,
    changed: Condvar,
    /// The last answer of an agent that is asked again and again.
    followed: Mutex<Option<Followed>>,
    /// The memory of the last report.
    share: Mutex<Share>,
}

/// The JSON of an answer.
enum ReportText {
    Whole(String),
    /// What changed since the answer of this number.
    Change(u64, String),
}

pub(super) struct State {
    /// Whether a thread of its own reads.
    listens: bool,
    replies: HashMap<u64, Result<StepResult, StepError>>,
    awaited: HashSet<u64>,
    report: Option<ReportText>,
    /// The JSON of a recording.
    recording: Option<String>,
    /// The pieces so far of a report or a recording.
    text: String,
    /// The memory of the pieces.
    text_share: Share,
    pub(super) process: Option<Process>,
    pub(super) heard: Instant,
    pub(super) loss: Option<Loss>,
    /// Why nothing more comes.
    pub(super) broken: Option<HostFailure>,
    /// The agent said how many frames it sent, and all came.
    ended: bool,
    frames: u64,
    /// Whether the agent sends heartbeats: it does from its first one on.
    beats: bool,
}

impl Inbox {
    pub(super) fn new(stream: BufReader<Timed>) -> Self {
        let state = State {
            listens: false,
            replies: HashMap::new(),
            awaited: HashSet::new(),
            report: None,
            recording: None,
            text: String::new(),
            text_share: Share::default(),
            process: None,
            heard: clock::now(),
            loss: None,
            broken: None,
            ended: false,
            frames: 0,
            beats: false,
        };
        Self {
            reader: Mutex::new(Some(FrameReader::new(stream))),
            state: Mutex::new(state),
            changed: Condvar::new(),
            followed: Mutex::default(),
            share: Mutex::default(),
        }
    }

    /// From now on a thread reads, which ends with the stream.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn listen(self: &Arc<Self>) -> io::Result<()> {
        let Some(mut reader) = self.reader().take() else { return Ok(()) };
        self.lock().listens = true;
        reader.stream_mut().get_mut().without_deadline()?;
        let inbox = Arc::clone(self);
        let listen = move || while inbox.take(reader.read()) {};
        let thread = thread::Builder::new().name("agent reader".into()).stack_size(256 * 1024);
        thread.spawn(listen).map(drop)
    }

    fn reader(&self) -> MutexGuard<'_, Option<Reader>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what was read; whether there may be more.
    fn take(&self, message: Result<Option<FromAgent>, WireError>) -> bool {
        let mut state = self.lock();
        match message {
            Ok(Some(message)) => state.take(message),
            Ok(None) if state.ended => {}
            Ok(None) => {
                state.broken = Some(HostFailure::new(Reason::Lost, "its output ended"));
            }
            Err(error) => {
                state.broken = Some(HostFailure::new(reason_of(&error), error.to_string()));
            }
        }
        let goes_on = !state.is_over();
        drop(state);
        self.changed.notify_all();
        goes_on
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `look` finds something; `None` at the deadline or when nothing more comes.
    pub(super) fn wait<T>(
        &self,
        deadline: Deadline,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.lock();
        let deadline =
            if state.listens { deadline } else { Deadline::after(deadline.remaining().max(LEAST)) };
        loop {
            if let Some(found) = look(&mut state) {
                return Some(found);
            }
            let left = deadline.remaining();
            if left.is_zero() || state.is_over() {
                return None;
            }
            state = if state.listens {
                let waited = self.changed.wait_timeout(state, left.min(LOOK_AGAIN));
                waited.unwrap_or_else(PoisonError::into_inner).0
            } else {
                drop(state);
                self.read_by(deadline);
                self.lock()
            };
        }
    }

    /// Takes in what comes next, if it comes by then.
    fn read_by(&self, deadline: Deadline) {
        let mut reader = self.reader();
        let Some(reader) = reader.as_mut() else { return };
        reader.stream_mut().get_mut().set_deadline(deadline);
        match reader.read() {
            Err(WireError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {}
            message => drop(self.take(message)),
        }
    }

    pub(super) fn report(&self, deadline: Deadline) -> Option<HostReport> {
        let text = self.wait(deadline, |state| state.report.take())?;
        let followed = &mut *self.followed();
        let share = &mut *self.share.lock().unwrap_or_else(PoisonError::into_inner);
        let made = match (text, followed) {
            (ReportText::Whole(text), Some(followed)) => followed.take_whole(text, share),
            (ReportText::Whole(text), None) => {
                // The report outlives this agent.
                report_of(&text, share).inspect(|_| share.keep())
            }
            (ReportText::Change(base, text), Some(followed)) => {
                followed.take_change(base, &text, share)
            }
            (ReportText::Change(..), None) => Err(FollowError::NotAsked),
        };
        // The pieces are gone.
        let _ = self.lock().text_share.resize(0);
        made.map_err(|error| self.break_with(error.failure("report"))).ok()
    }

    /// Keeps the answers from now on, to have only their changes sent; which one it has.
    pub(super) fn follow(&self) -> u64 {
        self.followed().get_or_insert_default().base()
    }

    fn followed(&self) -> MutexGuard<'_, Option<Followed>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn recording(&self, deadline: Deadline) -> Option<Recording> {
        let text = self.wait(deadline, |state| state.recording.take())?;
        let share = &mut *self.share.lock().unwrap_or_else(PoisonError::into_inner);
        // A recording outlives its agent, too.
        let made = recording_of(&text, share).inspect(|_| share.keep());
        let _ = self.lock().text_share.resize(0);
        made.map_err(|error| self.break_with(error.failure("recording"))).ok()
    }

    /// Notes why no report or recording can be made of a text.
    fn break_with(&self, failure: HostFailure) {
        self.lock().broken = Some(failure);
    }

    pub(super) fn reply(
        &self,
        id: u64,
        deadline: Deadline,
    ) -> Option<Result<StepResult, StepError>> {
        let found = self.wait(deadline, |state| match state.replies.remove(&id) {
            Some(reply) => Some(Some(reply)),
            None => (state.loss.is_some() || state.is_silent()).then_some(None),
        });
        self.lock().awaited.remove(&id);
        found.flatten()
    }

    /// Says that the answer to a question will be fetched.
    pub(super) fn expect(&self, id: u64) {
        self.lock().awaited.insert(id);
    }

    pub(super) fn ended(&self, deadline: Deadline) -> bool {
        self.wait(deadline, |state| state.ended.then_some(())).is_some()
    }

    /// Whether nothing more comes.
    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over()
    }

    pub(super) fn broken(&self) -> Option<HostFailure> {
        self.lock().broken.clone()
    }

    /// Returns whether the agent ended its worker because the operator was silent. The loss is
    /// forgotten: the caller starts another worker.
    pub(super) fn forget_expired_worker(&self) -> bool {
        self.lock().loss.take_if(|loss| *loss == Loss::Expired).is_some()
    }

    /// Takes the agent for lost.
    pub(super) fn give_up(&self, why: String) {
        self.lock().broken.get_or_insert(HostFailure::new(Reason::Lost, why));
        self.changed.notify_all();
    }

    /// How long nothing has come, while this process itself ran.
    pub(super) fn silence(&self) -> Duration {
        clock::silence_since(self.lock().heard)
    }

    /// Whether there is a reason to look into whether the agent lives.
    pub(super) fn is_suspect(&self) -> bool {
        let state = self.lock();
        state.loss.is_some() || state.broken.is_some() || state.is_silent()
    }
}

impl State {
    fn is_over(&self) -> bool {
        self.broken.is_some() || self.ended
    }

    fn is_silent(&self) -> bool {
        self.beats && clock::silence_since(self.heard) > SILENCE
    }

    /// Adds a piece, up to a limit; the text of all of them when it was the last one.
    fn take_part(&mut self, what: &str, text: &str, is_last: bool, limit: usize) -> Option<String> {
        let length = self.text.len() + text.len();
        if length > limit {
            let why = format!("the {what} is over the limit of {limit} bytes");
            self.broken = Some(HostFailure::new(Reason::TooBig, why));
            return None;
        }
        // A text that grows has room for up to twice its length.
        if let Err(error) = self.text_share.resize(2 * length) {
            self.broken = Some(error.into());
            return None;
        }
        self.text.push_str(text);
        is_last.then(|| std::mem::take(&mut self.text))
    }

    fn take(&mut self, message: FromAgent) {
        self.heard = clock::now();
        let is_first = self.frames == 0;
        self.frames += 1;
        if is_first != matches!(message, FromAgent::Hello(_)) {
            let why = "the process id of the agent must come once, in the first frame";
            self.broken = Some(HostFailure::new(Reason::Garbage, why));
            return;
        }
        match message {
            FromAgent::Hello(process) => self.process = Some(process),
            FromAgent::ReportPart { text, is_last } => {
                let text = self.take_part("report", &text, is_last, REPORT_LIMIT);
                self.report = text.map(ReportText::Whole);
            }
            FromAgent::DeltaPart { base, text, is_last } => {
                let text = self.take_part("report", &text, is_last, BASE_LIMIT);
                self.report = text.map(|text| ReportText::Change(base, text));
            }
            FromAgent::RecordPart { text, is_last } => {
                self.recording = self.take_part("recording", &text, is_last, REPORT_LIMIT);
            }
            FromAgent::Worker(reply) => {
                // An answer that nobody waits for, or no longer, takes no room.
                if self.awaited.remove(&reply.id) {
                    self.replies.insert(reply.id, reply.result);
                }
            }
            FromAgent::Alive => self.beats = true,
            FromAgent::WorkerLost(loss) => self.loss = Some(loss),
            FromAgent::End { frames } if frames == self.frames - 1 => self.ended = true,
            FromAgent::End { frames } => {
                let came = self.frames - 1;
                let why = format!("only {came} of its {frames} frames arrived");
                self.broken = Some(HostFailure::new(Reason::Garbage, why));
            }
        }
    }
}

/// A stream that broke is a loss; one that holds something else is garbage.
fn reason_of(error: &WireError) -> Reason {
    match error {
        WireError::Io(_) | WireError::Truncated => Reason::Lost,
        WireError::TooBig(_) | WireError::OverLimit(_) => Reason::TooBig,
        WireError::Malformed(_) => Reason::Garbage,
    }
}

/// Makes a recording of its JSON, whose memory the share then has.
fn recording_of(text: &str, share: &mut Share) -> Result<Recording, FollowError> {
    share.resize(RECORDING.check(text.as_bytes())?)?;
    Ok(serde_json::from_str(text)?)
}
