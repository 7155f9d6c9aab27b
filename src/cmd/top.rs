//! `rdmactl top`: hosts, ports, connections and problems live, on the whole screen.
//!
//! `tui` says what is seen and what is to be done; here are the terminal, the threads and the files. Keys,
//! signals and pictures come from threads of their own through one channel; whoever makes pictures waits
//! for nobody who draws them, and the other way round.

mod canvas;
mod effects;
mod gatherer;
mod input;
mod last_frame;
mod matrix;
mod new_file;
mod origin;
mod pictures;
mod player;
mod recorder;
mod session;
mod settings;
mod slot;
mod stage;
mod supply;

use std::panic;
use std::sync::mpsc::{self, Sender};

use anyhow::Context as _;

use crate::cli::{Global, TopArgs};
use crate::render::{Note, escape};
use crate::sys::heap;
use crate::term::Term;
use crate::term::screen::{self, Screen, ScreenError};

use super::outcome::say;
use super::{Advice, Outcome};
use input::Input;
use origin::Origin;
use session::Session;

/// Shows what the flags name until somebody wants no more.
pub(super) fn run(global: &Global, args: &TopArgs, term: Term) -> anyhow::Result<Outcome> {
    let typed = settings::typed(global, args)?;
    let origin = Origin::of(global, args)?;
    let settings = settings::of(global, args, term, &origin);
    Screen::check().map_err(no_screen)?;
    // Before there is a second thread, which would get a heap of its own.
    heap::share();
    let (sender, inputs) = mpsc::channel();
    let session = Session::start(global, origin, settings, sender.clone())?;
    input::watch(&sender).context("cannot watch keys and signals")?;
    give_back_after_panics(sender);
    let ended = session.run(typed, &inputs).map_err(|error| match error.downcast() {
        Ok(error) => no_screen(error),
        Err(error) => error,
    })?;
    if let Some(frame) = ended.frame {
        term.answer(frame)?;
    }
    for left in &ended.left {
        say(term, &Note { text: format!("left on {}", escape(left)), fix: None });
    }
    Ok(if ended.left.is_empty() { Outcome::Complete } else { Outcome::Incomplete })
}

/// Why there is no screen, with what to do instead.
fn no_screen(error: ScreenError) -> anyhow::Error {
    match error {
        ScreenError::NoTerminal(_) | ScreenError::Dumb(_) => Advice::error(
            format!("top needs a terminal: {error}"),
            "run it in one, or print again and again with rdmactl ports --watch",
        ),
        ScreenError::Failed(_) => error.into(),
    }
}

/// What a panic says is to be read, and nothing is drawn over it.
fn give_back_after_panics(inputs: Sender<Input>) {
    let say = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        screen::give_back();
        let _ = inputs.send(Input::Panicked);
        say(panic);
    }));
}
