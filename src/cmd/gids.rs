//! `rdmactl gids`: which addresses can a port be reached by?

use crate::cli::Global;
use crate::model::{Part, Parts};
use crate::query::{Gids, gid_rows};
use crate::term::Term;

use super::Outcome;
use super::listing::{self, Recipe, report_json, report_json_lines};

/// Lists the GID tables of what the flags name.
pub(super) fn run(global: &Global, term: Term) -> anyhow::Result<Outcome> {
    let recipe = Recipe::<Gids> {
        parts: [Part::Gids].into(),
        document: Parts::default(),
        nothing: "every GID table is empty: no port has an address",
        rows: &gid_rows,
        footer: &|_, _| String::new(),
        json: &report_json,
        json_lines: &report_json_lines,
    };
    listing::run(global, term, &recipe, |_| {})
}
