//! Compares two saved ping runs: `rdmactl ping --diff OLD NEW`.

use std::path::PathBuf;

use crate::analyse::regression;
use crate::capture::PingRun;
use crate::cli::{Format, Global};
use crate::cmd::{Advice, Outcome};
use crate::render::{PingDiffDocument, render_diff, to_json, to_json_lines};
use crate::term::Term;

/// Prints the differences of two files. A pair that works in the old run only is a problem.
pub(super) fn run(global: &Global, files: &[PathBuf], term: Term) -> anyhow::Result<Outcome> {
    let [old, new] = files else {
        let fix = "name two files: rdmactl ping --diff OLD NEW";
        return Err(Advice::error("--diff needs two files", fix));
    };
    let (old, new) = (PingRun::read(old)?.report, PingRun::read(new)?.report);
    let diff = regression::between(&old, &new);
    term.write_stdout(match global.output() {
        Format::Table => render_diff(&diff),
        Format::Json => to_json(&PingDiffDocument::new(&diff))?,
        Format::Ndjson => to_json_lines([PingDiffDocument::new(&diff)])?,
        _ => {
            let fix = "remove --format, or use --json";
            return Err(Advice::error("--diff prints a table or JSON", fix));
        }
    })?;
    Ok(if diff.broken.is_empty() { Outcome::Complete } else { Outcome::Problem })
}
