//! Reads the messages of an agent and keeps replies until they are fetched.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::super::memory_budget::MemoryShare;
use super::delta_receiver::{DeltaError, DeltaReceiver, parse};
use crate::clock::{self, Deadline};
use crate::fleet::deadline_reader::DeadlineReader;
use crate::model::probe::{StepError, StepResult};
use crate::model::{HostFailure, HostReport, Reason};
use crate::source::Recording;
use crate::wire::limits::{RECORDING, REPORT};
use crate::wire::{BASE_LIMIT, FrameReader, FromAgent, Loss, Process, REPORT_LIMIT, WireError};

/// Time without a message until an agent with a worker is checked.
pub(super) const UNRESPONSIVE_AFTER: Duration = Duration::from_secs(2);

/// Interval at which a waiting thread checks that the agent still sends.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Minimum time limit of a read, so that data that arrived before the deadline is still read.
const MIN: Duration = Duration::from_millis(5);

type Reader = FrameReader<BufReader<DeadlineReader>>;

/// Data that has arrived from an agent. The thread that waits for a message also reads it. An
/// agent with a worker sends unrequested messages, too, so that a separate thread reads them.
pub(super) struct Inbox {
    /// `None` after a separate thread has taken it.
    reader: Mutex<Option<Reader>>,
    state: Mutex<InboxState>,
    changed: Condvar,
    delta_receiver: Mutex<Option<DeltaReceiver>>,
    share: Mutex<MemoryShare>,
}

enum ReportText {
    Whole(String),
    /// Changes since the report with this number.
    Change(u64, String),
}

pub(super) struct InboxState {
    listens: bool,
    replies: HashMap<u64, Result<StepResult, StepError>>,
    awaited: HashSet<u64>,
    report: Option<ReportText>,
    recording: Option<String>,
    /// Pieces of a report or recording so far.
    text: String,
    text_share: MemoryShare,
    pub(super) process: Option<Process>,
    pub(super) last_message: Instant,
    pub(super) loss: Option<Loss>,
    pub(super) broken: Option<HostFailure>,
    /// True if the agent reported its number of frames, and all of them arrived.
    ended: bool,
    frames: u64,
    /// True after the first heartbeat. From then on the agent sends heartbeats regularly.
    beats: bool,
}

impl Inbox {
    pub(super) fn new(stream: BufReader<DeadlineReader>) -> Self {
        let state = InboxState {
            listens: false,
            replies: HashMap::new(),
            awaited: HashSet::new(),
            report: None,
            recording: None,
            text: String::new(),
            text_share: MemoryShare::default(),
            process: None,
            last_message: clock::now(),
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
            delta_receiver: Mutex::default(),
            share: Mutex::default(),
        }
    }

    /// Starts a thread that reads until the stream ends.
    pub(super) fn listen(self: &Arc<Self>) -> io::Result<()> {
        let Some(mut reader) = self.reader.lock().take() else { return Ok(()) };
        self.lock().listens = true;
        reader.stream_mut().get_mut().without_deadline()?;
        let inbox = Arc::clone(self);
        let listen = move || while inbox.take(reader.read()) {};
        let thread = thread::Builder::new().name("agent reader".into()).stack_size(256 * 1024);
        thread.spawn(listen).map(drop)
    }

    /// Handles a message. Returns true if more messages may follow.
    fn take(&self, message: Result<Option<FromAgent>, WireError>) -> bool {
        let mut state = self.lock();
        match message {
            Ok(Some(message)) => state.take(message),
            Ok(None) if state.ended => {}
            Ok(None) => state.broken = Some(HostFailure::new(Reason::Lost, "its output ended")),
            Err(error) => {
                state.broken = Some(HostFailure::new(reason_of(&error), error.to_string()));
            }
        }
        let goes_on = !state.is_over();
        drop(state);
        self.changed.notify_all();
        goes_on
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock()
    }

    /// Waits until `check` returns a value. `None` at the deadline, or if no more data arrives.
    pub(super) fn wait<T>(
        &self,
        deadline: Deadline,
        mut check: impl FnMut(&mut InboxState) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.lock();
        let deadline =
            if state.listens { deadline } else { Deadline::after(deadline.remaining().max(MIN)) };
        loop {
            if let Some(found) = check(&mut state) {
                return Some(found);
            }
            let left = deadline.remaining();
            if left.is_zero() || state.is_over() {
                return None;
            }
            if state.listens {
                self.changed.wait_for(&mut state, left.min(CHECK_INTERVAL));
            } else {
                MutexGuard::unlocked(&mut state, || self.read_by(deadline));
            }
        }
    }

    fn read_by(&self, deadline: Deadline) {
        let mut reader = self.reader.lock();
        let Some(reader) = reader.as_mut() else { return };
        reader.stream_mut().get_mut().set_deadline(deadline);
        match reader.read() {
            Err(WireError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {}
            message => drop(self.take(message)),
        }
    }

    pub(super) fn report(&self, deadline: Deadline) -> Option<HostReport> {
        let text = self.wait(deadline, |state| state.report.take())?;
        let delta_receiver = &mut *self.delta_receiver.lock();
        let share = &mut *self.share.lock();
        let made = match (text, delta_receiver) {
            (ReportText::Whole(text), Some(receiver)) => receiver.take_whole(text, share),
            // The report outlives the agent.
            (ReportText::Whole(text), None) => {
                parse(&text, &REPORT, share).inspect(|_| share.keep())
            }
            (ReportText::Change(base, text), Some(receiver)) => {
                receiver.take_change(base, &text, share)
            }
            (ReportText::Change(..), None) => Err(DeltaError::NotAsked),
        };
        // The memory of the pieces is free again.
        let _ = self.lock().text_share.resize(0);
        made.map_err(|error| self.lock().broken = Some(error.failure("report"))).ok()
    }

    /// Keeps reports from now on, for deltas. Returns the number of the kept report.
    pub(super) fn enable_deltas(&self) -> u64 {
        self.delta_receiver.lock().get_or_insert_default().base()
    }

    pub(super) fn recording(&self, deadline: Deadline) -> Option<Recording> {
        let text = self.wait(deadline, |state| state.recording.take())?;
        let share = &mut *self.share.lock();
        // The recording outlives the agent.
        let made = parse(&text, &RECORDING, share).inspect(|_| share.keep());
        let _ = self.lock().text_share.resize(0);
        made.map_err(|error| self.lock().broken = Some(error.failure("recording"))).ok()
    }

    pub(super) fn reply(
        &self,
        id: u64,
        deadline: Deadline,
    ) -> Option<Result<StepResult, StepError>> {
        let found = self.wait(deadline, |state| match state.replies.remove(&id) {
            Some(reply) => Some(Some(reply)),
            None => (state.loss.is_some() || state.is_unresponsive()).then_some(None),
        });
        self.lock().awaited.remove(&id);
        found.flatten()
    }

    /// Registers a request, so that its reply is kept.
    pub(super) fn expect(&self, id: u64) {
        self.lock().awaited.insert(id);
    }

    pub(super) fn ended(&self, deadline: Deadline) -> bool {
        self.wait(deadline, |state| state.ended.then_some(())).is_some()
    }

    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over()
    }

    pub(super) fn broken(&self) -> Option<HostFailure> {
        self.lock().broken.clone()
    }

    /// Returns true if the agent ended its worker because the operator sent nothing, and runs. The
    /// loss is then forgotten, and the caller must start another worker.
    pub(super) fn forget_expired_worker(&self) -> bool {
        let state = &mut *self.lock();
        state.broken.is_none() && state.loss.take_if(|loss| *loss == Loss::Expired).is_some()
    }

    pub(super) fn give_up(&self, why: String) {
        self.lock().broken.get_or_insert(HostFailure::new(Reason::Lost, why));
        self.changed.notify_all();
    }

    /// Returns the time since the last message in which this process ran.
    pub(super) fn idle_time(&self) -> Duration {
        clock::awake_time_since(self.lock().last_message)
    }

    pub(super) fn needs_check(&self) -> bool {
        let state = self.lock();
        state.loss.is_some() || state.broken.is_some() || state.is_unresponsive()
    }
}

impl InboxState {
    fn is_over(&self) -> bool {
        self.broken.is_some() || self.ended
    }

    fn is_unresponsive(&self) -> bool {
        self.beats && clock::awake_time_since(self.last_message) > UNRESPONSIVE_AFTER
    }

    /// Adds a piece, up to a limit. Returns the whole text after the last piece.
    fn take_part(&mut self, what: &str, text: &str, is_last: bool, limit: usize) -> Option<String> {
        let length = self.text.len() + text.len();
        if length > limit {
            let why = format!("the {what} is over the limit of {limit} bytes");
            self.broken = Some(HostFailure::new(Reason::TooBig, why));
            return None;
        }
        // A growing text allocates up to twice its length.
        if let Err(error) = self.text_share.resize(2 * length) {
            self.broken = Some(error.into());
            return None;
        }
        self.text.push_str(text);
        is_last.then(|| std::mem::take(&mut self.text))
    }

    fn take(&mut self, message: FromAgent) {
        self.last_message = clock::now();
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
                // A reply that no thread waits for is not kept.
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

fn reason_of(error: &WireError) -> Reason {
    match error {
        WireError::Io(_) | WireError::Truncated => Reason::Lost,
        WireError::TooBig(_) | WireError::OverLimit(_) => Reason::TooBig,
        WireError::Malformed(_) => Reason::Garbage,
    }
}
