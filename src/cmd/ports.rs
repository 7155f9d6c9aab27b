//! `rdmactl ports`: what do the links do?

use crate::cli::Global;
use crate::model::Parts;
use crate::query::{Ports, device_rows};
use crate::term::Term;

use super::Outcome;
use super::listing::{self, Recipe};

/// Lists the ports of what the flags name.
pub(super) fn run(global: &Global, term: Term) -> anyhow::Result<Outcome> {
    let recipe = Recipe::<Ports> {
        parts: Parts { netdevs: true, ..Parts::default() },
        nothing: "no port",
        rows: device_rows,
    };
    listing::run(global, term, &recipe, |_| {})
}
