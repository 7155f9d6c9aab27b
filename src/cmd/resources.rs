//! `rdmactl resources`: who holds which queue pairs, connections and memory?

use crate::cli::{Global, ResourcesArgs, WordOrSet};
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
        nothing: "no process and no kernel module holds these objects",
        ..Recipe::of(&|reports, _| resource_rows(reports))
    };
    let kinds: Vec<&str> = args.words.iter().filter_map(WordOrSet::word).collect();
    let is_requested = |word| kinds.is_empty() || kinds.contains(&word);
    listing::run(global, term, &recipe, |report: &mut HostReport| {
        if let Some(resources) = &mut report.resources {
            resources.retain(|resource| is_requested(resource.object.word()));
        }
    })
}
