//! `rdmactl capture`: the raw answers of one host or many in a file.

use anyhow::Context as _;

use crate::cli::{CaptureArgs, Global};
use crate::model::Parts;
use crate::render::notes;
use crate::term::Term;

use super::outcome::say;
use super::{Advice, Outcome, asked, fleet, local};

/// Records what the flags name to a file or to stdout.
pub(super) fn run(global: &Global, args: &CaptureArgs, term: Term) -> anyhow::Result<Outcome> {
    if global.save.is_none() && term.is_answer_terminal() {
        let fix = "name a file: rdmactl capture --save FILE";
        return Err(Advice::error("a capture is not written to a terminal", fix));
    }
    let (mut capture, reports) = if let Some(path) = &global.from {
        (local::read_capture(global, path)?, Vec::new())
    } else if let Some(hosts) = asked::hosts(global)? {
        let (reports, capture) = fleet::record_hosts(global, hosts, &Parts::all())?;
        (capture, reports)
    } else {
        let (report, capture) = local::record(global, &Parts::all())?;
        (capture, vec![report])
    };
    if args.redact {
        capture = capture.redacted().context("cannot read random numbers")?;
    }
    if let Some(path) = &global.save {
        local::save(&capture, path)?;
    } else {
        let mut text = Vec::new();
        capture.write(&mut text)?;
        term.answer(text)?;
    }
    // A copy is complete; a recording lacks what its hosts did not say.
    for note in notes(&reports, global.queries_hosts(), global.verbose > 0) {
        say(term, &note);
    }
    Ok(Outcome::of_listing(&reports))
}
