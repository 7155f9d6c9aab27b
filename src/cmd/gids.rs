//! `rdmactl gids`: which addresses can a port be reached by?

use crate::cli::Global;
use crate::model::Part;
use crate::query::{Gids, gid_rows};
use crate::term::Term;

use super::Outcome;
use super::listing::{self, Recipe};

/// Lists the GID tables of what the flags name.
pub(super) fn run(global: &Global, term: Term) -> anyhow::Result<Outcome> {
    let recipe = Recipe::<Gids> {
        parts: [Part::Gids].into(),
        nothing: "every GID table is empty: no port has an address",
        ..Recipe::of(&gid_rows)
    };
    listing::run(global, term, &recipe, |_| {})
}
