//! What the loop is told, and the threads that do nothing else.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;
use std::{io, thread};

use crossterm::event::Event;
use signal_hook::consts::{SIGCONT, SIGWINCH};
use signal_hook::iterator::Signals;

use super::matrix::Saved;
use crate::cmd::interrupt;
use crate::model::ping::PingReport;
use crate::term::screen;
use crate::tui::Notice;

/// How long the loop may take from a signal until it has given the terminal back.
const PATIENCE: Duration = Duration::from_secs(1);

/// Something that the loop has to know.
pub(super) enum Input {
    /// A key, the mouse, or what was pasted.
    Terminal(Event),
    /// The terminal has another size.
    Resized,
    /// This process was stopped, and goes on.
    Continued,
    /// A signal asks for the end.
    Signal,
    /// The terminal is gone.
    Hangup,
    /// A thread failed, and the screen is given back.
    Panicked,
    /// There is a picture that nobody took yet.
    Fresh,
    /// A ping has made a matrix.
    Matrix(Arc<PingReport>),
    /// A ping has come to its end, whatever it made.
    PingEnded,
    /// A matrix was read from a file.
    Opened(Saved),
    /// The recorder of this number has come to its end.
    RecordingEnded(u64),
    /// Somebody has something to say.
    Told(Notice),
}

/// Says something to the operator, from any thread.
#[derive(Clone)]
pub(super) struct Teller(pub(super) Sender<Input>);

impl Teller {
    /// How things are.
    pub(super) fn say(&self, text: impl Into<String>) {
        self.tell(text.into(), false);
    }

    /// That something failed.
    pub(super) fn complain(&self, text: impl Into<String>) {
        self.tell(text.into(), true);
    }

    fn tell(&self, text: String, is_bad: bool) {
        self.send(Input::Told(Notice { text, is_bad }));
    }

    /// Anything else.
    pub(super) fn send(&self, input: Input) {
        // Nobody listens any more at the end of the run.
        let _ = self.0.send(input);
    }
}

/// Tells of keys, signals and the end of the terminal from here on.
///
/// # Errors
/// The system gives no pipe or no thread.
pub(super) fn watch(inputs: &Sender<Input>) -> io::Result<()> {
    let ending = inputs.clone();
    interrupt::end_on_signals(move || {
        // Nobody listens only where all has ended already; so below.
        let _ = ending.send(Input::Signal);
        // Without a thread it takes a second signal.
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
    // crossterm reads an end that it does not tell of.
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

/// Ends all where the loop does not: it may be held up by a terminal that takes nothing.
fn end_in_vain() {
    if !screen::await_given_back(PATIENCE) {
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
