//! Main loop of `top`: takes inputs, updates the state, draws, and performs effects.
//!
//! `effects` and `suspend` add methods to [`Session`]; `origin` starts the source of samples.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use anyhow::anyhow;
use crossterm::event::{Event as TerminalEvent, KeyEventKind};

use super::display::Display;
use super::input::{Input, InputSender};
use super::last_frame::last_frame;
use super::latest_snapshot::LatestSnapshot;
use super::matrix::Pinging;
use super::origin::SampleOrigin;
use super::recorder::Recorder;
use super::source::{SampleSource, SourceState};
use crate::cli::Global;
use crate::clock::{self, Deadline};
use crate::cmd::Outcome;
use crate::cmd::outcome::{note, say_all};
use crate::render::Note;
use crate::term::Term;
use crate::tui::{Effect, Event, State, ViewSettings};

/// Interval at which ages are updated without other input.
const TICK: Duration = Duration::from_secs(1);

/// Time to wait, after a failed draw, for the input that names the reason.
const REASON_TIMEOUT: Duration = Duration::from_millis(300);

/// Time limit, at the end of `top`, for the recorders to finish their files.
const RECORDER_TIMEOUT: Duration = Duration::from_secs(2);

/// State, terminal and threads of a running `top`.
pub(super) struct Session<'global> {
    pub(super) global: &'global Global,
    pub(super) origin: SampleOrigin,
    pub(super) state: State,
    pub(super) display: Display,
    /// Source of samples. `None` while this process is suspended and the source had agents.
    pub(super) source: Option<SampleSource>,
    pub(super) pinging: Option<Pinging>,
    pub(super) latest: LatestSnapshot,
    pub(super) sender: Sender<Input>,
    pub(super) inputs: Receiver<Input>,
    pub(super) follows_mouse: bool,
    /// Recorders that write samples or finish a file.
    pub(super) recorders: Vec<Recorder>,
    /// Number of the recorder that gets samples.
    pub(super) active_recorder: Option<u64>,
    /// Number of recorders that were started; the number of the newest recorder.
    pub(super) recorders_so_far: u64,
    /// Agents of sources that may still run.
    pub(super) left: Vec<String>,
    /// Agents of pings that may still run.
    pub(super) left_by_ping: Vec<String>,
}

/// Result of `top` for the normal screen.
pub(super) struct SessionResult {
    /// Last frame, if the operator keeps it on the normal screen.
    pub(super) frame: Option<String>,
    /// Agents of sources that may still run.
    pub(super) left: Vec<String>,
    /// Agents of pings that may still run.
    pub(super) left_by_ping: Vec<String>,
    /// True if a recording did not finish within the time limit.
    pub(super) is_cut: bool,
    /// Error that ended the session.
    pub(super) error: Option<anyhow::Error>,
}

impl SessionResult {
    /// Returns a note for each agent that may still run, and for a cut recording.
    pub(super) fn notes(&self) -> Vec<Note> {
        let cut = "the disk is too slow: the end of the recording may be missing";
        let left = self.left.iter().chain(&self.left_by_ping).map(String::as_str);
        left.chain(self.is_cut.then_some(cut)).map(note).collect()
    }

    /// Returns the outcome. An agent that a ping left is a problem. An agent of a source, or a cut
    /// recording, makes the result incomplete.
    ///
    /// # Errors
    /// An error ended the session.
    pub(super) fn into_outcome(self) -> anyhow::Result<Outcome> {
        if let Some(error) = self.error {
            return Err(error);
        }
        Ok(if !self.left_by_ping.is_empty() {
            Outcome::Problem
        } else if !self.left.is_empty() || self.is_cut {
            Outcome::Incomplete
        } else {
            Outcome::Complete
        })
    }
}

/// Regular end of the session.
pub(super) struct Quit {
    /// True if the last frame stays on the normal screen.
    pub(super) keep_frame: bool,
}

impl<'global> Session<'global> {
    /// Starts the source of samples, then enters full-screen mode.
    pub(super) fn start(
        global: &'global Global,
        origin: SampleOrigin,
        settings: ViewSettings,
        sender: Sender<Input>,
        inputs: Receiver<Input>,
        term: Term,
    ) -> anyhow::Result<Self> {
        let latest = LatestSnapshot::new(sender.clone());
        // The source starts first, so that its error appears on the normal screen.
        let source =
            origin.source(global, SourceState::default(), latest.clone(), sender.clone())?;
        let now = clock::now();
        let display = match Display::enter(now) {
            Ok(display) => display,
            Err(error) => {
                say_all(term, source.end().left.iter().map(|left| note(left)));
                return Err(error.into());
            }
        };
        let mut session = Self {
            global,
            origin,
            state: State::new(settings, now),
            display,
            source: Some(source),
            pinging: None,
            latest,
            sender,
            inputs,
            follows_mouse: false,
            recorders: Vec::new(),
            active_recorder: None,
            recorders_so_far: 0,
            left: Vec::new(),
            left_by_ping: Vec::new(),
        };
        let size = session.display.size();
        session.state.update(now, Event::Resize(size.width, size.height));
        Ok(session)
    }

    /// Handles the events `first`, then all inputs, until the operator exits or the terminal is
    /// closed. Then ends the agents and the recorders.
    pub(super) fn run(mut self, first: Vec<Event>) -> SessionResult {
        let ControlFlow::Break(quit) = self.serve(first);
        let frame = match &quit {
            Ok(Quit { keep_frame: true }) => self.display.frame(&self.state).ok(),
            _ => None,
        };
        // Restores the terminal first, so that Ctrl-C is a signal while the agents end.
        drop(self.display);
        self.left_by_ping.extend(self.pinging.map(Pinging::end).unwrap_or_default());
        self.left.extend(self.source.map(SampleSource::end).unwrap_or_default().left);
        let deadline = Deadline::after(RECORDER_TIMEOUT);
        let mut is_cut = false;
        for recorder in self.recorders {
            is_cut |= !recorder.finish(deadline);
        }
        SessionResult {
            frame: frame.as_ref().map(last_frame),
            left: self.left,
            left_by_ping: self.left_by_ping,
            is_cut,
            error: quit.err(),
        }
    }

    /// Draws and handles inputs until the end of the session. Never returns `Continue`.
    fn serve(&mut self, first: Vec<Event>) -> ControlFlow<anyhow::Result<Quit>, Infallible> {
        for event in first {
            self.update(event, true)?;
        }
        let mut tick = Deadline::after(TICK);
        loop {
            let now = clock::now();
            if self.display.draw_if_due(&self.state, now).is_err() {
                return ControlFlow::Break(reason_of_failed_draw(&self.inputs));
            }
            let until = self.display.due.map_or(tick.instant(), |due| due.min(tick.instant()));
            match self.inputs.recv_timeout(until.saturating_duration_since(now)) {
                Ok(input) => self.take(input)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return ControlFlow::Break(Ok(TERMINAL_CLOSED));
                }
            }
            if tick.is_over() {
                tick = Deadline::after(TICK);
                self.update(Event::Tick, false)?;
            }
        }
    }

    /// Handles one input.
    pub(super) fn take(&mut self, input: Input) -> Flow {
        match input {
            Input::Terminal(TerminalEvent::Key(key)) if key.kind != KeyEventKind::Release => {
                self.update(Event::Key(key), true)
            }
            Input::Terminal(TerminalEvent::Mouse(mouse)) => self.update(Event::Mouse(mouse), true),
            // Control characters are removed, so that pasted text never presses Enter.
            Input::Terminal(TerminalEvent::Paste(text)) => {
                let text = text.chars().filter(|letter| !letter.is_control()).collect();
                self.update(Event::Paste(text), true)
            }
            Input::RecordingEnded(number) if self.active_recorder == Some(number) => {
                self.active_recorder = None;
                self.update(Event::RecordingEnded, false)
            }
            // SIGWINCH reports resizes. A stopped recorder may end while the next recorder writes.
            Input::Terminal(_) | Input::RecordingEnded(_) => ControlFlow::Continue(()),
            Input::Resized => self.measure(),
            Input::Continued => self.reclaim(),
            Input::Fresh => match self.latest.take() {
                Some(snapshot) => self.update(Event::Snapshot(snapshot), false),
                None => ControlFlow::Continue(()),
            },
            Input::PingEnded => {
                self.left_by_ping.extend(self.pinging.take().map(Pinging::end).unwrap_or_default());
                self.update(Event::PingEnded, false)
            }
            Input::Event(event) => self.update(event, false),
            Input::Signal | Input::Hangup => ControlFlow::Break(Ok(TERMINAL_CLOSED)),
            Input::Panicked => ControlFlow::Break(Err(thread_panicked())),
        }
    }

    /// Enters full-screen mode again, after a suspend.
    pub(super) fn reclaim(&mut self) -> Flow {
        let reclaimed = self.display.reclaim().is_ok()
            && self.display.screen().report_mouse(self.follows_mouse).is_ok();
        if reclaimed { self.measure() } else { ControlFlow::Break(Ok(TERMINAL_CLOSED)) }
    }

    /// Adapts the state to the size of the terminal.
    fn measure(&mut self) -> Flow {
        let size = self.display.measure();
        self.update(Event::Resize(size.width, size.height), true)
    }

    /// Passes an event to the state and performs the effects that the state requests. `is_input` is
    /// true for input of the operator, after which the frame is due sooner.
    fn update(&mut self, event: Event, is_input: bool) -> Flow {
        let now = clock::now();
        let effects = self.state.update(now, event);
        self.display.touch(now, is_input);
        effects.into_iter().try_for_each(|effect| match effect {
            Effect::Suspend => self.suspend(),
            effect => self.carry_out(effect),
        })
    }

    pub(super) fn input_sender(&self) -> InputSender {
        InputSender(self.sender.clone())
    }
}

/// Returns the reason why drawing failed: a thread panicked, or the terminal is closed.
fn reason_of_failed_draw(inputs: &Receiver<Input>) -> anyhow::Result<Quit> {
    let deadline = Deadline::after(REASON_TIMEOUT);
    loop {
        match inputs.recv_timeout(deadline.remaining()) {
            Ok(Input::Panicked) => return Err(thread_panicked()),
            Ok(Input::Signal | Input::Hangup) | Err(_) => return Ok(TERMINAL_CLOSED),
            Ok(_) => {}
        }
    }
}

fn thread_panicked() -> anyhow::Error {
    anyhow!("a thread of rdmactl failed; see the message above")
}

/// Result of handling an input: continue, or break with the end of the session or with an error.
pub(super) type Flow = ControlFlow<anyhow::Result<Quit>>;

/// End by a signal, or because the terminal is closed.
const TERMINAL_CLOSED: Quit = Quit { keep_frame: false };

#[test]
fn an_error_does_not_hide_the_agents_that_may_still_run() {
    let agent = |host: &str| format!("agent still running on {host} (pid 7)");
    let ended = |error: Option<anyhow::Error>| SessionResult {
        frame: None,
        left: vec![agent("n1")],
        left_by_ping: vec![agent("n2")],
        is_cut: false,
        error,
    };
    for error in [None, Some(thread_panicked())] {
        let is_error = error.is_some();
        let result = ended(error);
        let texts: Vec<String> = result.notes().into_iter().map(|note| note.text).collect();
        assert_eq!(texts, ["n1", "n2"].map(agent));
        assert_eq!(result.into_outcome().is_err(), is_error);
    }
}
