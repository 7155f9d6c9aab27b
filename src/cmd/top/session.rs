use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use crossterm::event::{Event as TerminalEvent, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use rustix::process::{Signal, getpgrp, kill_process_group};

use super::input::{Input, Teller};
use super::last_frame::last_frame;
use super::matrix::Pinging;
use super::origin::Origin;
use super::pictures::Pictures;
use super::slot::Slot;
use super::stage::Stage;
use super::supply::Supply;
use crate::cli::Global;
use crate::clock::{self, Deadline};
use crate::term::screen;
use crate::tui::{Effect, Event, Settings, State};

/// How often ages grow where nothing else happens.
const TICK: Duration = Duration::from_secs(1);

/// How long after its own stop this process waits to be stopped: it is not where nobody could let it go on.
const STOP: Duration = Duration::from_millis(300);

/// All there is while the screen is held.
pub(super) struct Session<'global> {
    pub(super) global: &'global Global,
    pub(super) origin: Origin,
    pub(super) state: State,
    pub(super) stage: Stage,
    /// `None` while this process is stopped.
    pub(super) supply: Option<Supply>,
    pub(super) pinging: Option<Pinging>,
    pub(super) slot: Slot,
    pub(super) sender: Sender<Input>,
    pub(super) follows_mouse: bool,
    pub(super) left: Vec<String>,
}

/// What is left of it.
pub(super) struct Ended {
    /// The last frame, where it is wanted.
    pub(super) frame: Option<String>,
    /// Agents that could not be ended.
    pub(super) left: Vec<String>,
}

/// How it ends.
pub(super) struct Quit {
    pub(super) keep_frame: bool,
}

impl<'global> Session<'global> {
    /// Takes the screen, and begins to gather.
    ///
    /// # Errors
    /// One of them cannot be.
    pub(super) fn start(
        global: &'global Global,
        origin: Origin,
        settings: Settings,
        sender: Sender<Input>,
    ) -> anyhow::Result<Self> {
        let slot = Slot::new(sender.clone());
        let supply = origin.supply(global, Pictures::default(), slot.clone(), sender.clone())?;
        let now = clock::now();
        let mut state = State::new(settings, now);
        let screen = Stage::enter(now)?;
        state.update(now, Event::Resize(screen.size().width, screen.size().height));
        Ok(Self {
            global,
            origin,
            state,
            stage: screen,
            supply: Some(supply),
            pinging: None,
            slot,
            sender,
            follows_mouse: false,
            left: Vec::new(),
        })
    }

    /// Goes on until somebody wants no more, or the terminal is gone.
    ///
    /// # Errors
    /// Something of this program failed.
    pub(super) fn run(
        mut self,
        typed: Vec<KeyEvent>,
        inputs: &Receiver<Input>,
    ) -> anyhow::Result<Ended> {
        let quit = self.type_all(typed, inputs).and_then(|flow| match flow {
            ControlFlow::Continue(()) => self.serve(inputs),
            ControlFlow::Break(quit) => Ok(quit),
        });
        let frame = match &quit {
            Ok(Quit { keep_frame: true }) => self.stage.frame(&self.state).ok(),
            _ => None,
        };
        // Before agents are said goodbye to, which may take a while: Ctrl-C is a signal again.
        drop(self.stage);
        if let Some(pinging) = self.pinging {
            pinging.end();
        }
        self.left.extend(self.supply.map(Supply::end).unwrap_or_default().left);
        quit.map(|_| Ended { frame: frame.as_ref().map(last_frame), left: self.left })
    }

    fn serve(&mut self, inputs: &Receiver<Input>) -> anyhow::Result<Quit> {
        let mut tick = Deadline::after(TICK);
        loop {
            let now = clock::now();
            if self.stage.draw(&self.state, now).is_err() {
                return Ok(GONE);
            }
            let until = self.stage.due().map_or(tick.instant(), |due| due.min(tick.instant()));
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

    /// Does what these keys do.
    fn type_all(&mut self, keys: Vec<KeyEvent>, inputs: &Receiver<Input>) -> Flow {
        for key in keys {
            let flow = self.update(Event::Key(key), true, inputs)?;
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn take(&mut self, input: Input, inputs: &Receiver<Input>) -> Flow {
        match input {
            Input::Terminal(TerminalEvent::Key(key)) if key.kind != KeyEventKind::Release => {
                self.update(Event::Key(key), true, inputs)
            }
            Input::Terminal(TerminalEvent::Mouse(mouse)) => {
                self.update(Event::Mouse(mouse), true, inputs)
            }
            // Whatever it is, it does not press Enter.
            Input::Terminal(TerminalEvent::Paste(text)) => {
                let text = text.chars().filter(|letter| !letter.is_control()).collect();
                self.update(Event::Paste(text), true, inputs)
            }
            // Its size is told by the signal.
            Input::Terminal(_) => Ok(ControlFlow::Continue(())),
            Input::Resized => self.measure(inputs),
            Input::Continued => match self.stage.reclaim() {
                Ok(()) => self.measure(inputs),
                Err(_) => Ok(ControlFlow::Break(GONE)),
            },
            Input::Fresh => match self.slot.take() {
                Some(picture) => self.update(Event::Prepared(picture), false, inputs),
                None => Ok(ControlFlow::Continue(())),
            },
            Input::Position(place, count) => {
                self.update(Event::Position(place, count), false, inputs)
            }
            Input::Matrix(report) => self.update(Event::Matrix(report), false, inputs),
            Input::Recording(records) => self.update(Event::Recording(records), false, inputs),
            Input::Told(notice) => self.update(Event::Told(notice), false, inputs),
            Input::Signal | Input::Hangup => Ok(ControlFlow::Break(GONE)),
            Input::Panicked => Err(anyhow!("a thread of rdmactl failed, as it says above")),
        }
    }

    fn measure(&mut self, inputs: &Receiver<Input>) -> Flow {
        let size = self.stage.measure();
        self.update(Event::Resize(size.width, size.height), true, inputs)
    }

    fn update(&mut self, event: Event, is_input: bool, inputs: &Receiver<Input>) -> Flow {
        let now = clock::now();
        let effects = self.state.update(now, event);
        self.stage.touch(now, is_input);
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

    /// Gives the terminal to the shell until it lets this process go on. Agents are said goodbye to: nobody
    /// knows for how long.
    fn suspend(&mut self, inputs: &Receiver<Input>) -> Flow {
        screen::give_back();
        if let Some(pinging) = self.pinging.take() {
            pinging.end();
        }
        let mut pictures = Pictures::default();
        if self.origin.has_agents() {
            let ended = self.supply.take().map(Supply::end).unwrap_or_default();
            self.left.extend(ended.left);
            pictures = ended.pictures;
        }
        // All of the job, as the terminal itself would: the shell waits for whoever started this.
        kill_process_group(getpgrp(), Signal::TSTP).context("cannot stop")?;
        let is_gone = waits_in_vain(inputs);
        if is_gone || self.stage.reclaim().is_err() {
            return Ok(ControlFlow::Break(GONE));
        }
        if self.stage.screen().follow_mouse(self.follows_mouse).is_err() {
            return Ok(ControlFlow::Break(GONE));
        }
        if self.supply.is_none() {
            let (slot, sender) = (self.slot.clone(), self.sender.clone());
            self.supply = Some(self.origin.supply(self.global, pictures, slot, sender)?);
        }
        self.measure(inputs)
    }

    /// Says something in the last line.
    pub(super) fn teller(&self) -> Teller {
        Teller(self.sender.clone())
    }
}

/// Waits until a stopped process goes on; whether it is to end instead. Keys were for the shell.
fn waits_in_vain(inputs: &Receiver<Input>) -> bool {
    let deadline = Deadline::after(STOP);
    loop {
        match inputs.recv_timeout(deadline.remaining()) {
            Ok(Input::Continued) | Err(RecvTimeoutError::Timeout) => return false,
            Ok(Input::Signal | Input::Hangup | Input::Panicked)
            | Err(RecvTimeoutError::Disconnected) => return true,
            Ok(_) => {}
        }
    }
}

/// The key of a letter.
pub(super) fn letter(letter: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE)
}

type Flow = anyhow::Result<ControlFlow<Quit>>;

const GONE: Quit = Quit { keep_frame: false };
