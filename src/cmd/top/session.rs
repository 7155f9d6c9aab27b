//! Main loop of `top`: takes inputs, updates the state, draws, and performs effects.
//!
//! `effects`, `suspend` and `matrix` add methods to [`Session`]; `origin` starts the source.

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
use crate::tui::{Effect, Event, State, ViewSettings};

/// Interval at which ages are updated without other input.
const TICK: Duration = Duration::from_secs(1);

/// Time to wait for the reason after the screen was closed.
const WHY: Duration = Duration::from_millis(300);

/// Time limit for the disk at the end.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Everything that exists while the screen is shown.
pub(super) struct Session<'global> {
    pub(super) global: &'global Global,
    pub(super) origin: SampleOrigin,
    pub(super) state: State,
    pub(super) display: Display,
    /// `None` while this process is suspended.
    pub(super) source: Option<SampleSource>,
    pub(super) pinging: Option<Pinging>,
    pub(super) latest: LatestSnapshot,
    pub(super) sender: Sender<Input>,
    pub(super) follows_mouse: bool,
    /// Recorders that write samples or finish a file.
    pub(super) recorders: Vec<Recorder>,
    /// Number of the active recorder.
    pub(super) recording: Option<u64>,
    /// Number of recorders so far.
    pub(super) recordings: u64,
    pub(super) left: Vec<String>,
    pub(super) left_by_ping: Vec<String>,
}

pub(super) struct SessionResult {
    /// Last frame, if it stays on the normal screen.
    pub(super) frame: Option<String>,
    /// Agents that could not be ended.
    pub(super) left: Vec<String>,
    /// Agents of a ping that could not be ended.
    pub(super) left_by_ping: Vec<String>,
    /// True if a recording did not finish within the time limit.
    pub(super) is_cut: bool,
}

impl SessionResult {
    /// Returns the exit status: an agent left by a ping is a problem, any other leftover makes
    /// the result incomplete.
    pub(super) fn outcome(&self) -> Outcome {
        if !self.left_by_ping.is_empty() {
            Outcome::Problem
        } else if !self.left.is_empty() || self.is_cut {
            Outcome::Incomplete
        } else {
            Outcome::Complete
        }
    }
}

/// Way in which the session ends.
pub(super) struct Quit {
    pub(super) keep_frame: bool,
}

impl<'global> Session<'global> {
    /// Starts the source of samples, then enters full-screen mode.
    ///
    /// # Errors
    /// The source or the screen cannot be started.
    pub(super) fn start(
        global: &'global Global,
        origin: SampleOrigin,
        settings: ViewSettings,
        sender: Sender<Input>,
    ) -> anyhow::Result<Self> {
        let latest = LatestSnapshot::new(sender.clone());
        // The source starts first, so that its error appears on the normal screen.
        let source =
            origin.source(global, SourceState::default(), latest.clone(), sender.clone())?;
        let now = clock::now();
        let display = match Display::enter(now) {
            Ok(display) => display,
            Err(error) => {
                source.end();
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
            follows_mouse: false,
            recorders: Vec::new(),
            recording: None,
            recordings: 0,
            left: Vec::new(),
            left_by_ping: Vec::new(),
        };
        let size = session.display.size();
        session.state.update(now, Event::Resize(size.width, size.height));
        Ok(session)
    }

    /// Handles the events in `wanted`, then all inputs, until the operator exits or the terminal
    /// is closed.
    ///
    /// # Errors
    /// A thread of this program failed.
    pub(super) fn run(
        mut self,
        wanted: Vec<Event>,
        inputs: &Receiver<Input>,
    ) -> anyhow::Result<SessionResult> {
        let quit = self.update_all(wanted, inputs).and_then(|flow| match flow {
            ControlFlow::Continue(()) => self.serve(inputs),
            ControlFlow::Break(quit) => Ok(quit),
        });
        let frame = match &quit {
            Ok(Quit { keep_frame: true }) => self.display.frame(&self.state).ok(),
            _ => None,
        };
        // Restored before the agents end, which may take a while: Ctrl-C is a signal again.
        drop(self.display);
        self.left_by_ping.extend(self.pinging.map(Pinging::end).unwrap_or_default());
        self.left.extend(self.source.map(SampleSource::end).unwrap_or_default().left);
        let deadline = Deadline::after(TIMEOUT);
        let cut =
            self.recorders.into_iter().filter_map(|one| (!one.finish(deadline)).then_some(()));
        let is_cut = cut.count() > 0;
        quit.map(|_| SessionResult {
            frame: frame.as_ref().map(last_frame),
            left: self.left,
            left_by_ping: self.left_by_ping,
            is_cut,
        })
    }

    fn serve(&mut self, inputs: &Receiver<Input>) -> anyhow::Result<Quit> {
        let mut tick = Deadline::after(TICK);
        loop {
            let now = clock::now();
            if self.display.draw(&self.state, now).is_err() {
                return why_gone(inputs);
            }
            let until = self.display.due.map_or(tick.instant(), |due| due.min(tick.instant()));
            match inputs.recv_timeout(until.saturating_duration_since(now)) {
                Ok(input) => {
                    if let ControlFlow::Break(quit) = self.take(input, inputs)? {
                        return Ok(quit);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(GONE),
            }
            if tick.is_over() {
                tick = Deadline::after(TICK);
                if let ControlFlow::Break(quit) = self.update(Event::Tick, false, inputs)? {
                    return Ok(quit);
                }
            }
        }
    }

    /// Handles events in order; stops early if one of them ends the session.
    fn update_all(&mut self, events: Vec<Event>, inputs: &Receiver<Input>) -> Flow {
        for event in events {
            let flow = self.update(event, true, inputs)?;
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    pub(super) fn take(&mut self, input: Input, inputs: &Receiver<Input>) -> Flow {
        match input {
            Input::Terminal(TerminalEvent::Key(key)) if key.kind != KeyEventKind::Release => {
                self.update(Event::Key(key), true, inputs)
            }
            Input::Terminal(TerminalEvent::Mouse(mouse)) => {
                self.update(Event::Mouse(mouse), true, inputs)
            }
            // Control characters are removed, so that pasted text never presses Enter.
            Input::Terminal(TerminalEvent::Paste(text)) => {
                let text = text.chars().filter(|letter| !letter.is_control()).collect();
                self.update(Event::Paste(text), true, inputs)
            }
            Input::RecordingEnded(number) if self.recording == Some(number) => {
                self.recording = None;
                self.update(Event::RecordingEnded, false, inputs)
            }
            // Resizes come from the signal. A stopped recorder may end while the next one is
            // active.
            Input::Terminal(_) | Input::RecordingEnded(_) => Ok(ControlFlow::Continue(())),
            Input::Resized => self.measure(inputs),
            Input::Continued => self.reclaim(inputs),
            Input::Fresh => match self.latest.take() {
                Some(snapshot) => self.update(Event::Snapshot(snapshot), false, inputs),
                None => Ok(ControlFlow::Continue(())),
            },
            Input::PingEnded => {
                self.left_by_ping.extend(self.pinging.take().map(Pinging::end).unwrap_or_default());
                self.update(Event::PingEnded, false, inputs)
            }
            Input::Event(event) => self.update(event, false, inputs),
            Input::Signal | Input::Hangup => Ok(ControlFlow::Break(GONE)),
            Input::Panicked => Err(failed()),
        }
    }

    /// Enters full-screen mode again, after a suspend.
    pub(super) fn reclaim(&mut self, inputs: &Receiver<Input>) -> Flow {
        let reclaimed = self.display.reclaim().is_ok()
            && self.display.screen().report_mouse(self.follows_mouse).is_ok();
        if reclaimed { self.measure(inputs) } else { Ok(ControlFlow::Break(GONE)) }
    }

    fn measure(&mut self, inputs: &Receiver<Input>) -> Flow {
        let size = self.display.measure();
        self.update(Event::Resize(size.width, size.height), true, inputs)
    }

    fn update(&mut self, event: Event, is_input: bool, inputs: &Receiver<Input>) -> Flow {
        let now = clock::now();
        let effects = self.state.update(now, event);
        self.display.touch(now, is_input);
        for effect in effects {
            let flow = match effect {
                Effect::Suspend => self.suspend(inputs)?,
                effect => self.carry_out(effect),
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns a sender of messages for the last line.
    pub(super) fn teller(&self) -> InputSender {
        InputSender(self.sender.clone())
    }
}

/// Returns the reason why drawing failed: a thread panicked, or the terminal is closed.
fn why_gone(inputs: &Receiver<Input>) -> anyhow::Result<Quit> {
    let deadline = Deadline::after(WHY);
    loop {
        match inputs.recv_timeout(deadline.remaining()) {
            Ok(Input::Panicked) => return Err(failed()),
            Ok(Input::Signal | Input::Hangup) | Err(_) => return Ok(GONE),
            Ok(_) => {}
        }
    }
}

fn failed() -> anyhow::Error {
    anyhow!("a thread of rdmactl failed; see the message above")
}

pub(super) type Flow = anyhow::Result<ControlFlow<Quit>>;

const GONE: Quit = Quit { keep_frame: false };
