//! `rdmactl devices`: what do I have?

use crate::cli::Global;
use crate::model::{Part, Parts};
use crate::query::{Devices, device_rows};
use crate::term::Term;

use super::Outcome;
use super::listing::{self, Recipe, report_json, report_json_lines};

/// Lists the devices of what the flags name.
pub(super) fn run(global: &Global, term: Term) -> anyhow::Result<Outcome> {
    let recipe = Recipe::<Devices> {
        parts: Parts::default(),
        document: [Part::Details, Part::PciLinks, Part::Gids].into(),
        nothing: "no port",
        rows: &device_rows,
        footer: &|_, _| String::new(),
        json: &report_json,
        json_lines: &report_json_lines,
    };
    listing::run(global, term, &recipe, |_| {})
}
