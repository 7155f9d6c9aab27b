//! Runs `rdmactl gids`: lists the GID tables of ports.

use crate::cli::Global;
use crate::model::Part;
use crate::query::{Gids, gid_rows};
use crate::term::Term;

use super::Outcome;
use super::listing::{self, Recipe};

/// Lists the GID tables of the hosts that the flags name.
pub(super) fn run(global: &Global, term: Term) -> anyhow::Result<Outcome> {
    let recipe = Recipe::<Gids> {
        parts: [Part::Gids].into(),
        nothing: "every GID table is empty: no port has an address",
        ..Recipe::of(&gid_rows)
    };
    listing::run(global, term, &recipe, |_| {})
}
