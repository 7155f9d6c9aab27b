//! Main loop of `top`: takes inputs, updates the state, draws, and performs effects.
//!
//! `effects`, `suspend` and `matrix` add methods to [`Session`]; `origin` starts the source.

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
use crate::tui::{Effect, Event, State, ViewSettings};

/// Interval at which ages are updated without other input.
const TICK: Duration = Duration::from_secs(1);

/// Time to wait for the reason after the screen was closed.
const WHY: Duration = Duration::from_millis(300);

/// Time limit for the disk at the end.
const TIMEOUT: Duration = Duration::from_secs(2);

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
    pub(super) inputs: Receiver<Input>,
    pub(super) follows_mouse: bool,
    /// Recorders that write samples or finish a file.
    pub(super) recorders: Vec<Recorder>,
    pub(super) active_recorder: Option<u64>,
    pub(super) recorders_so_far: u64,
    pub(super) left: Vec<String>,
    pub(super) left_by_ping: Vec<String>,
}

pub(super) struct SessionResult {
    /// Last frame, if it stays on the normal screen.
    pub(super) frame: Option<String>,
    pub(super) left: Vec<String>,
    pub(super) left_by_ping: Vec<String>,
    /// True if a recording did not finish within the time limit.
    pub(super) is_cut: bool,
}

impl SessionResult {
    /// An agent left by a ping is a problem; any other leftover makes the result incomplete.
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

pub(super) struct Quit {
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

    /// Handles `wanted`, then all inputs, until the operator exits or the terminal is closed.
    pub(super) fn run(mut self, wanted: Vec<Event>) -> anyhow::Result<SessionResult> {
        let ControlFlow::Break(quit) = self.serve(wanted);
        let frame = match &quit {
            Ok(Quit { keep_frame: true }) => self.display.frame(&self.state).ok(),
            _ => None,
        };
        // Restored before the agents end, which may take a while: Ctrl-C is a signal again.
        drop(self.display);
        self.left_by_ping.extend(self.pinging.map(Pinging::end).unwrap_or_default());
        self.left.extend(self.source.map(SampleSource::end).unwrap_or_default().left);
        let deadline = Deadline::after(TIMEOUT);
        let mut is_cut = false;
        for recorder in self.recorders {
            is_cut |= !recorder.finish(deadline);
        }
        quit.map(|_| SessionResult {
            frame: frame.as_ref().map(last_frame),
            left: self.left,
            left_by_ping: self.left_by_ping,
            is_cut,
        })
    }

    fn serve(&mut self, wanted: Vec<Event>) -> ControlFlow<anyhow::Result<Quit>, Infallible> {
        for event in wanted {
            self.update(event, true)?;
        }
        let mut tick = Deadline::after(TICK);
        loop {
            let now = clock::now();
            if self.display.draw_if_due(&self.state, now).is_err() {
                return ControlFlow::Break(why_gone(&self.inputs));
            }
            let until = self.display.due.map_or(tick.instant(), |due| due.min(tick.instant()));
            match self.inputs.recv_timeout(until.saturating_duration_since(now)) {
                Ok(input) => self.take(input)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return ControlFlow::Break(Ok(GONE)),
            }
            if tick.is_over() {
                tick = Deadline::after(TICK);
                self.update(Event::Tick, false)?;
            }
        }
    }

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
            // Resizes come from the signal. A stopped recorder may end during the next one.
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
            Input::Signal | Input::Hangup => ControlFlow::Break(Ok(GONE)),
            Input::Panicked => ControlFlow::Break(Err(failed())),
        }
    }

    /// Enters full-screen mode again, after a suspend.
    pub(super) fn reclaim(&mut self) -> Flow {
        let reclaimed = self.display.reclaim().is_ok()
            && self.display.screen().report_mouse(self.follows_mouse).is_ok();
        if reclaimed { self.measure() } else { ControlFlow::Break(Ok(GONE)) }
    }

    fn measure(&mut self) -> Flow {
        let size = self.display.measure();
        self.update(Event::Resize(size.width, size.height), true)
    }

    fn update(&mut self, event: Event, is_input: bool) -> Flow {
        let now = clock::now();
        let effects = self.state.update(now, event);
        self.display.touch(now, is_input);
        effects.into_iter().try_for_each(|effect| match effect {
            Effect::Suspend => self.suspend(),
            effect => self.carry_out(effect),
        })
    }

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

/// Breaks with the way in which the session ends, or with the error that ends it.
pub(super) type Flow = ControlFlow<anyhow::Result<Quit>>;

const GONE: Quit = Quit { keep_frame: false };
