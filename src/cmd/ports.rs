//! `rdmactl ports`: what do the links do?

use crate::cli::{Format, Global, PortsArgs};
use crate::model::Parts;
use crate::query::{Lossless, Ports, device_rows, lossless_rows};
use crate::term::Term;

use super::listing::{self, Recipe};
use super::{Advice, Outcome};

/// Lists the ports of what the flags name.
///
/// # Errors
/// A judgement is asked for as a document, which holds facts only.
pub(super) fn run(global: &Global, args: &PortsArgs, term: Term) -> anyhow::Result<Outcome> {
    let is_document = matches!(global.output(), Format::Json | Format::Ndjson);
    // A document has everything, as the capture has.
    let parts = Parts { netdevs: true, ethernet: is_document, ..Parts::default() };
    let nothing = "no port";
    if args.lossless {
        if is_document {
            let fix = "ask for --format csv, or leave out --lossless";
            return Err(Advice::error("--lossless has rows, and no JSON", fix));
        }
        let parts = Parts { ethernet: true, ..parts };
        let recipe = Recipe::<Lossless> { parts, nothing, rows: lossless_rows };
        // A module's type, which only root may read, says nothing of losing.
        return listing::run(global, term, &recipe, |report| {
            report.problems.retain(|problem| !problem.key.ends_with("/ethernet/module/identifier"));
        });
    }
    listing::run(global, term, &Recipe::<Ports> { parts, nothing, rows: device_rows }, |_| {})
}
