//! `rdmactl capture`: the raw answers of a host in a file.

use crate::capture::Capture;
use crate::cli::Global;
use crate::model::Parts;
use crate::render::notes;
use crate::term::Term;

use super::outcome::say;
use super::{Outcome, local};

/// Records this host, or another root, to a file or to stdout.
pub(super) fn run(global: &Global, term: Term) -> anyhow::Result<Outcome> {
    let (capture, report) = if let Some(path) = &global.from {
        (Capture::read(path)?, None)
    } else {
        let (report, capture) = local::record(global, Parts::ALL)?;
        (capture, Some(report))
    };
    if let Some(path) = &global.save {
        local::save(&capture, path)?;
    } else {
        let mut text = Vec::new();
        capture.write(&mut text)?;
        term.answer(text)?;
    }
    // A copy is complete; a recording lacks what its host did not say.
    let recorded = report.as_slice();
    for note in notes(recorded, false) {
        say(term, &note);
    }
    Ok(Outcome::of_listing(recorded))
}
