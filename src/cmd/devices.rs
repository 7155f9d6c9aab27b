//! `rdmactl devices`: what do I have?

use crate::cli::Global;
use crate::model::Part;
use crate::query::{Devices, device_rows};
use crate::term::Term;

use super::Outcome;
use super::listing::{self, Recipe};

/// Lists the devices of what the flags name.
pub(super) fn run(global: &Global, term: Term) -> anyhow::Result<Outcome> {
    let recipe = Recipe::<Devices> {
        document: [Part::Details, Part::PciLinks, Part::Gids].into(),
        ..Recipe::of(&device_rows)
    };
    listing::run(global, term, &recipe, |_| {})
}
