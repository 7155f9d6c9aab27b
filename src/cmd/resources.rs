//! `rdmactl resources`: who holds which queue pairs, connections and memory?

use crate::cli::{Global, ResourcesArgs};
use crate::model::{HostReport, Part};
use crate::query::{Resources, resource_rows};
use crate::term::Term;

use super::Outcome;
use super::listing::{self, Recipe};

/// Lists the objects of what the flags name.
pub(super) fn run(global: &Global, args: &ResourcesArgs, term: Term) -> anyhow::Result<Outcome> {
    let recipe = Recipe::<Resources> {
        parts: [Part::Resources].into(),
        // A key that is hidden would look like one that is not there.
        document: [Part::Keys].into(),
        nothing: "nobody holds any of these objects",
        ..Recipe::of(&|reports, _| resource_rows(reports))
    };
    let is_wanted = |word| args.kinds.is_empty() || args.kinds.iter().any(|kind| kind == word);
    listing::run(global, term, &recipe, |report: &mut HostReport| {
        if let Some(resources) = &mut report.resources {
            resources.retain(|resource| is_wanted(resource.object.word()));
        }
    })
}
