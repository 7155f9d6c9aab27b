//! Runs `rdmactl top`: hosts, ports, connections and problems, live on the full screen.
//!
//! `tui` decides what is drawn and which effects are requested. This module owns the terminal,
//! the threads and the files. Keys, signals and samples come from separate threads through one
//! channel; gathering and drawing do not wait for each other.

mod display;
mod effects;
mod frame_backend;
mod input;
mod last_frame;
mod latest_snapshot;
mod matrix;
mod new_file;
mod origin;
mod own_processes;
mod player;
mod recorder;
mod sample_builder;
mod sampler;
mod session;
mod settings;
mod source;
mod suspend;

use std::sync::mpsc;

use anyhow::Context as _;

use crate::cli::{Global, TopArgs};
use crate::sys::heap;
use crate::term::Term;
use crate::term::screen::{self, Screen, ScreenError};

use super::outcome::say_all;
use super::{Advice, Outcome};
use input::Input;
use origin::SampleOrigin;
use session::Session;

pub(super) fn run(global: &Global, args: &TopArgs, term: Term) -> anyhow::Result<Outcome> {
    let origin = SampleOrigin::of(global, args)?;
    let wanted = settings::wanted(global, args, &origin)?;
    let settings = settings::of(global, args, term, &origin);
    Screen::check().map_err(no_screen)?;
    // Called before the second thread starts, because each later thread would get its own heap.
    heap::share();
    let (sender, inputs) = mpsc::channel();
    // Signals are watched before full-screen mode, so that every exit restores the terminal.
    input::watch(&sender).context("cannot watch keys and signals")?;
    let panicked = sender.clone();
    screen::restore_on_panic(move || drop(panicked.send(Input::Panicked)));
    let session = Session::start(global, origin, settings, sender, inputs, term);
    let ended = session.map_err(no_screen)?.run(wanted);
    let printed = ended.frame.as_ref().map_or(Ok(()), |frame| term.write_stdout(frame));
    say_all(term, ended.notes());
    printed?;
    ended.into_outcome()
}

/// Returns the error; without a usable terminal, the fix names an alternative.
fn no_screen(error: impl Into<anyhow::Error>) -> anyhow::Error {
    let error = error.into();
    match error.downcast_ref() {
        Some(ScreenError::NoTerminal(_) | ScreenError::Dumb(_)) => Advice::error(
            format!("top needs a terminal: {error}"),
            "run it in a terminal, or print repeatedly with rdmactl ports --watch 1",
        ),
        _ => error,
    }
}
