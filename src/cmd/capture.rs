//! `rdmactl capture`: the raw answers of a host in a file.

use crate::capture::Capture;
use crate::cli::Global;
use crate::model::Parts;
use crate::term::Term;

use super::{Outcome, local};

/// Records this host, or another root, to a file or to stdout.
pub(super) fn run(global: &Global, term: Term) -> anyhow::Result<Outcome> {
    let capture = match &global.from {
        Some(path) => Capture::read(path)?,
        None => local::record(global, Parts { verbs: true, resources: true, counters: true })?.1,
    };
    if let Some(path) = &global.save {
        local::save(&capture, path)?;
    } else {
        let mut text = Vec::new();
        capture.write(&mut text)?;
        term.answer(text)?;
    }
    Ok(Outcome::Complete)
}
