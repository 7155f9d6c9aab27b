//! Runs `rdmactl resources`: lists queue pairs, memory regions and other objects, with their
//! owners.

use std::borrow::Cow;

use crate::analyse::qp_owner::name_owners;
use crate::cli::{By, Format, Global, ResourcesArgs, WordOrSet};
use crate::model::{HostReport, Part};
use crate::query::{Processes, Resources, process_rows, resource_rows};
use crate::render::{ReportDocument, to_json, to_json_lines};
use crate::term::Term;

use super::listing::{self, Recipe};
use super::{Advice, Outcome};

const NOTHING: &str = "no process and no kernel module holds these objects";

pub(super) fn run(global: &Global, args: &ResourcesArgs, term: Term) -> anyhow::Result<Outcome> {
    let kinds: Vec<&str> = args.words.iter().filter_map(WordOrSet::word).collect();
    if args.by == Some(By::Process) {
        return by_process(global, &kinds, term);
    }
    let recipe = Recipe::<Resources> {
        parts: [Part::Resources].into(),
        // A document must distinguish a hidden memory key from a missing one.
        document: [Part::Keys].into(),
        nothing: NOTHING,
        rows: &|reports, _| {
            // Rows are filtered here, because connection identifiers describe queue pairs.
            let mut rows = resource_rows(reports);
            let is_listed = |kind| is_requested(&kinds, kind);
            rows.retain(|row| row.resource.is_none_or(|one| is_listed(one.object.word())));
            rows
        },
        json: &|taken_ns, hosts| to_json(&ReportDocument::new(taken_ns, &of_kinds(hosts, &kinds))),
        json_lines: &|taken_ns, hosts| {
            let hosts = of_kinds(hosts, &kinds);
            let document = |host| ReportDocument::new(taken_ns, std::slice::from_ref(host));
            to_json_lines(hosts.iter().map(document))
        },
        ..Recipe::of(&|reports, _| resource_rows(reports))
    };
    listing::run(global, term, &recipe, name_owners)
}

fn by_process(global: &Global, kinds: &[&str], term: Term) -> anyhow::Result<Outcome> {
    if let Some(kind) = kinds.first() {
        let fix = "remove the kinds; choose columns: rdmactl resources --by process -o process,qp";
        return Err(Advice::error(format!("--by process counts every kind, not only {kind}"), fix));
    }
    if matches!(global.output(), Format::Json | Format::Ndjson) {
        let fix = "print rows: -f csv; JSON of each object: rdmactl resources --json";
        return Err(Advice::error("--by process works on rows, and JSON has no rows", fix));
    }
    // The configured columns are columns of objects, not of processes.
    let mut global = global.clone();
    global.configured.columns.clear();
    let recipe = Recipe::<Processes> {
        parts: [Part::Resources].into(),
        nothing: NOTHING,
        ..Recipe::of(&|reports, _| process_rows(reports))
    };
    listing::run(&global, term, &recipe, name_owners)
}

fn is_requested(kinds: &[&str], word: &str) -> bool {
    kinds.is_empty() || kinds.contains(&word)
}

/// Returns the reports with only the objects of the requested kinds.
fn of_kinds<'report>(hosts: &'report [HostReport], kinds: &[&str]) -> Cow<'report, [HostReport]> {
    if kinds.is_empty() {
        return Cow::Borrowed(hosts);
    }
    let mut hosts = hosts.to_vec();
    for resources in hosts.iter_mut().filter_map(|host| host.resources.as_mut()) {
        resources.retain(|one| is_requested(kinds, one.object.word()));
    }
    Cow::Owned(hosts)
}
