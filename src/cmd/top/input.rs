//! Inputs of the main loop, and the threads that wait for keys, signals and hangups.
//!
//! `session` handles the inputs.

use std::sync::mpsc::Sender;
use std::time::Duration;
use std::{io, thread};

use crossterm::event::Event as TerminalEvent;
use signal_hook::consts::{SIGCONT, SIGWINCH};
use signal_hook::iterator::Signals;

use crate::cmd::interrupt;
use crate::term::screen;
use crate::tui::{Event, Notice};

/// Time limit from a signal until the loop has restored the terminal.
const TIMEOUT: Duration = Duration::from_secs(1);

pub(super) enum Input {
    Terminal(TerminalEvent),
    Resized,
    /// This process was stopped and resumed.
    Continued,
    Signal,
    Hangup,
    /// A thread panicked, and the terminal was restored.
    Panicked,
    /// A new snapshot is in [`LatestSnapshot`](super::latest_snapshot::LatestSnapshot).
    Fresh,
    /// A ping ended, with or without a matrix.
    PingEnded,
    /// The recorder with this number ended.
    RecordingEnded(u64),
    /// Event that only the state handles: a message or a matrix.
    Event(Event),
}

#[derive(Clone)]
pub(super) struct InputSender(pub(super) Sender<Input>);

impl InputSender {
    pub(super) fn say(&self, text: impl Into<String>) {
        self.tell(text.into(), false);
    }

    pub(super) fn complain(&self, text: impl Into<String>) {
        self.tell(text.into(), true);
    }

    fn tell(&self, text: String, is_bad: bool) {
        self.send(Input::Event(Event::Notice(Notice { text, is_bad })));
    }

    pub(super) fn send(&self, input: Input) {
        // At the end of the run, the receiver is gone.
        let _ = self.0.send(input);
    }
}

/// Starts the threads that send keys, signals and the hangup of the terminal.
pub(super) fn watch(inputs: &Sender<Input>) -> io::Result<()> {
    let ending = inputs.clone();
    interrupt::end_on_signals(move || {
        // The receiver is gone only when the run has ended; this also holds below.
        let _ = ending.send(Input::Signal);
        // Without a thread, a second signal is needed.
        let _ = thread::Builder::new().name("end".into()).spawn(end_in_vain);
    })?;
    let mut signals = Signals::new([SIGWINCH, SIGCONT])?;
    start("window", inputs, move |inputs| {
        for signal in signals.forever() {
            let input = if signal == SIGCONT { Input::Continued } else { Input::Resized };
            if inputs.send(input).is_err() {
                return;
            }
        }
    })?;
    // crossterm reads an end of file without reporting it.
    start("hangup", inputs, |inputs| {
        screen::await_hangup();
        let _ = inputs.send(Input::Hangup);
    })?;
    start("keys", inputs, |inputs| {
        while let Ok(event) = crossterm::event::read() {
            if inputs.send(Input::Terminal(event)).is_err() {
                return;
            }
        }
        let _ = inputs.send(Input::Hangup);
    })
}

/// Ends the process if the main loop does not, for example at a terminal that accepts no output.
fn end_in_vain() {
    if !screen::await_restored(TIMEOUT) {
        interrupt::end_at_once();
    }
}

fn start(
    name: &str,
    inputs: &Sender<Input>,
    serve: impl FnOnce(Sender<Input>) + Send + 'static,
) -> io::Result<()> {
    let inputs = inputs.clone();
    let thread = thread::Builder::new().name(name.into()).stack_size(256 * 1024);
    thread.spawn(move || serve(inputs)).map(drop)
}
