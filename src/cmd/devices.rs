//! `rdmactl devices`: what do I have?

use crate::cli::Global;
use crate::model::Parts;
use crate::query::{Devices, device_rows};
use crate::term::Term;

use super::Outcome;
use super::listing::{self, Recipe};

/// Lists the devices of what the flags name.
pub(super) fn run(global: &Global, term: Term) -> anyhow::Result<Outcome> {
    let recipe = Recipe::<Devices> {
        parts: Parts { brief_gids: true, ..Parts::default() },
        nothing: "no port",
        rows: device_rows,
    };
    listing::run(global, term, &recipe, |_| {})
}
