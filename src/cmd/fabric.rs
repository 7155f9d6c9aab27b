//! Runs `rdmactl fabric`: lists nodes, links, routes, errors and problems of InfiniBand subnets.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use anyhow::Context as _;

use crate::analyse::fabric::errors::Thresholds;
use crate::analyse::fabric::findings;
use crate::cli::{FabricArgs, FabricView, Format, Global, SweepVia};
use crate::collect::parse_node_names;
use crate::input::read_text;
use crate::model::{HostReport, Part, Parts};
use crate::query::{
    FabricErrors, FabricLinks, FabricManagers, FabricNodes, FabricPartitions, FabricProblems,
    FabricRoutes, FabricSubnets, FabricSwitches, HopRow, Listing, fabric_error_rows,
    fabric_link_rows, fabric_node_rows, fabric_problem_rows, fabric_switch_rows, manager_rows,
    partition_rows, subnet_rows, subnets,
};
use crate::render::{
    FabricDocument, fabric_dot, fabric_tree, notes, render_problems, to_json, to_json_lines,
};
use crate::source::set_mad_window;
use crate::term::Term;

use super::fabric_clear::refuse_clear;
use super::fabric_samples::{FoundErrors, RouteSearch};
use super::listing::{self, Recipe, Rows};
use super::outcome::{self, note, say, say_all};
use super::{Advice, Outcome, local};

pub(super) fn run(global: &Global, args: &FabricArgs, term: Term) -> anyhow::Result<Outcome> {
    check(global, args)?;
    let names = args.node_name_map.as_deref().map(read_names).transpose()?;
    if let Some(window) = args.window {
        set_mad_window(window.into());
    }
    let command = FabricCommand { global, args, term, names_by_guid: names.unwrap_or_default() };
    if is_drawing(global) {
        return command.draw();
    }
    match args.view {
        FabricView::Subnets => command.subnets(),
        FabricView::Nodes => command.list::<FabricNodes>(&|reports, _| fabric_node_rows(reports)),
        FabricView::Links => command.list::<FabricLinks>(&|reports, _| fabric_link_rows(reports)),
        FabricView::Switches => {
            command.list::<FabricSwitches>(&|reports, _| fabric_switch_rows(reports))
        }
        FabricView::Routes => command.routes(),
        FabricView::Partitions => {
            command.list::<FabricPartitions>(&|reports, _| partition_rows(reports))
        }
        FabricView::Sm => command.list::<FabricManagers>(&|reports, _| manager_rows(reports)),
        FabricView::Problems => {
            command.list::<FabricProblems>(&|reports, _| fabric_problem_rows(reports))
        }
        FabricView::Errors => command.errors(),
    }
}

/// Refuses arguments that do not apply to the view or to the source of the reports.
fn check(global: &Global, args: &FabricArgs) -> anyhow::Result<()> {
    if args.view == FabricView::Routes {
        if args.ends.len() != 2 {
            let fix = "write rdmactl fabric routes A B; list the nodes: rdmactl fabric nodes";
            return Err(Advice::error("a route has two ends", fix));
        }
    } else if let Some(word) = args.ends.first() {
        let fix = format!("name a host with -H: -H {}", shlex::try_quote(word)?);
        return Err(Advice::error(format!("this view takes no {word}"), fix));
    }
    if args.thresholds.is_some() && args.view != FabricView::Errors {
        let fix = "write rdmactl fabric errors --thresholds FILE, or remove it";
        return Err(Advice::error("--thresholds has no effect on this view", fix));
    }
    let needed = match args.view {
        FabricView::Errors => Some("counters"),
        FabricView::Partitions => Some("partition tables"),
        FabricView::Routes => Some("forwarding tables"),
        FabricView::Sm => Some("subnet managers"),
        _ => None,
    };
    if let Some((needed, file)) = needed.zip(global.from.as_deref())
        && local::imported(file)?.is_some()
    {
        let what = format!("{}: a file of this kind has no {needed}", file.display());
        return Err(Advice::error(what, "save a sweep: rdmactl fabric --save FILE"));
    }
    if is_drawing(global) && args.view != FabricView::Subnets {
        let fix = "omit the view, or use another format";
        return Err(Advice::error("--format tree and --format dot draw the whole subnet", fix));
    }
    if args.window.is_some() && (global.queries_hosts() || global.from.is_some()) {
        let fix = "omit --window";
        return Err(Advice::error("--window applies to sweeps from this host", fix));
    }
    if args.clear { refuse_clear(global, args) } else { Ok(()) }
}

/// True if the output is a drawing of the subnet, not a listing.
fn is_drawing(global: &Global) -> bool {
    matches!(global.output(), Format::Tree | Format::Dot)
}

/// Arguments of one run.
struct FabricCommand<'args> {
    global: &'args Global,
    args: &'args FabricArgs,
    term: Term,
    names_by_guid: HashMap<u64, String>,
}

impl FabricCommand<'_> {
    /// Returns the parts of a report that the view needs; with `--save`, the parts of every view.
    fn parts(&self) -> Parts {
        let of_view: &[Part] = match self.args.view {
            // A drawing has no findings, which need the routes.
            FabricView::Subnets if is_drawing(self.global) => &[],
            FabricView::Subnets | FabricView::Routes | FabricView::Problems => {
                &[Part::FabricRoutes]
            }
            FabricView::Partitions => &[Part::FabricPartitions],
            FabricView::Errors
            | FabricView::Nodes
            | FabricView::Links
            | FabricView::Switches
            | FabricView::Sm => &[],
        };
        let via = self.args.via.map(|via| match via {
            SweepVia::Sa => Part::FabricSa,
            SweepVia::Smp => Part::FabricSmp,
        });
        let mut parts: Parts = [Part::Fabric].into_iter().chain(via).collect();
        // A saved file must serve every view.
        let of_views: &[Part] = &[Part::FabricRoutes, Part::FabricPartitions, Part::FabricCounters];
        parts.extend(if self.global.save.is_some() { of_views } else { of_view }.iter().copied());
        parts
    }

    /// Prepares a report for output.
    fn prepare(&self, report: &mut HostReport) {
        if self.global.verbose > 0 {
            self.note_rejected_tables(report);
        }
        self.apply_name_map(report);
    }

    /// Prints why a sweep rejected the tables of subnet administration.
    fn note_rejected_tables(&self, report: &HostReport) {
        for fabric in report.fabrics.iter().flatten().filter(|fabric| !fabric.nodes.is_empty()) {
            for why in &fabric.rejected_tables {
                let text = format!(
                    "{}/{}: swept by directed routes, because of the tables of subnet \
                     administration: {why}",
                    fabric.device, fabric.port
                );
                say(self.term, &note(&text));
            }
        }
    }

    /// Replaces node names by the names of `--node-name-map`.
    fn apply_name_map(&self, report: &mut HostReport) {
        let nodes = report.fabrics.iter_mut().flatten().flat_map(|fabric| &mut fabric.nodes);
        for node in nodes {
            if let Some(name) = self.names_by_guid.get(&node.guid.0) {
                node.name = Some(name.clone());
            }
        }
    }

    fn list<L: Listing>(&self, rows: &Rows<'_, L>) -> anyhow::Result<Outcome> {
        self.list_with(&self.recipe(rows))
    }

    fn list_with<L: Listing>(&self, recipe: &Recipe<'_, L>) -> anyhow::Result<Outcome> {
        listing::run(self.global, self.term, recipe, |report| self.prepare(report))
    }

    /// Returns the recipe that all views share, with documents of whole subnets.
    fn recipe<'rows, L: Listing>(&self, rows: &'rows Rows<'rows, L>) -> Recipe<'rows, L> {
        Recipe {
            parts: self.parts(),
            is_per_host: false,
            nothing: "no row: the subnet has nothing of this kind",
            json: &|taken_ns, hosts| to_json(&FabricDocument::new(taken_ns, hosts, &findings)),
            json_lines: &|taken_ns, hosts| {
                let hosts = hosts.iter().map(std::slice::from_ref);
                to_json_lines(hosts.map(|host| FabricDocument::new(taken_ns, host, &findings)))
            },
            ..Recipe::of(rows)
        }
    }

    /// Lists one row per subnet. The text below the table lists the findings of all subnets.
    fn subnets(&self) -> anyhow::Result<Outcome> {
        self.list_with(&Recipe::<FabricSubnets> {
            footer: &|rows, _| {
                let found = rows.iter().filter_map(|row| row.item.as_deref()).flatten();
                let found: Vec<_> = found.cloned().collect();
                render_problems(&found, false, "rdmactl fabric problems")
            },
            ..self.recipe(&|reports, _| subnet_rows(reports))
        })
    }

    /// Lists the error counters above their thresholds, and clears them with `--clear`. A listed
    /// counter is a problem.
    fn errors(&self) -> anyhow::Result<Outcome> {
        let thresholds =
            self.args.thresholds.as_deref().map(read_thresholds).transpose()?.unwrap_or_default();
        // `FabricErrors` and `FabricCounters` send different requests. Only the requests of
        // `FabricCounters` have a reply in every capture.
        let needs_all = thresholds.name_traffic() || self.global.from.is_some();
        let mut parts = self.parts();
        parts.extend([if needs_all { Part::FabricCounters } else { Part::FabricErrors }]);
        let found = FoundErrors::default();
        let outcome = self.list_with(&Recipe::<FabricErrors> {
            parts,
            nothing: "no error counter is above its threshold",
            footer: &|rows, _| {
                found.note_rows(rows);
                String::new()
            },
            note_document: &|hosts| found.note_reports(hosts, &thresholds),
            ..self.recipe(&|reports, _| fabric_error_rows(reports, &thresholds))
        })?;
        let outcome = found.outcome(outcome);
        if !self.args.clear {
            return Ok(outcome);
        }
        Ok(found.into_listed().clear(self.global, self.term)?.unwrap_or(outcome))
    }

    /// Lists the routes between two nodes. A route that ends early is a problem.
    fn routes(&self) -> anyhow::Result<Outcome> {
        // `check` has refused any other number of ends.
        let [from, to] = &self.args.ends[..] else { return Ok(Outcome::Nothing) };
        let search = RefCell::new(RouteSearch::new(from, to));
        let outcome = self.list_with(&Recipe::<FabricRoutes> {
            nothing: "no route",
            note_document: &|hosts| {
                let hosts_named = self.global.queries_hosts() || hosts.len() > 1;
                self.sample_routes(&search, hosts, hosts_named);
            },
            ..self.recipe(&|reports, hosts_named| self.sample_routes(&search, reports, hosts_named))
        })?;
        Ok(search.into_inner().outcome(outcome))
    }

    /// Adds a sample to a search. Returns its hops, and prints an error if no subnet has both
    /// nodes.
    fn sample_routes<'report>(
        &self,
        search: &RefCell<RouteSearch<'_>>,
        reports: &'report [HostReport],
        hosts_named: bool,
    ) -> Vec<HopRow<'report>> {
        let (rows, missing) = search.borrow_mut().sample(reports, hosts_named);
        if let Some(missing) = missing {
            let error = Advice::error(missing, "list the nodes: rdmactl fabric nodes");
            outcome::report(self.term, &error);
        }
        rows
    }

    /// Draws each subnet as a tree or as a graph.
    fn draw(&self) -> anyhow::Result<Outcome> {
        let mut reports = listing::read_with_progress(self.global, self.term, &self.parts())?;
        reports.hosts.iter_mut().for_each(|report| self.prepare(report));
        for place in subnets(&reports.hosts) {
            let Some(fabric) = place.fabric else { continue };
            let is_tree = self.global.output() == Format::Tree;
            let text = if is_tree { fabric_tree(fabric) } else { fabric_dot(fabric) };
            self.term.write_stdout(text)?;
        }
        say_all(self.term, notes(&reports.hosts, reports.hosts_named, false));
        reports.saved?;
        Ok(Outcome::of_listing(&reports.hosts))
    }
}

/// Maximum size of a file of names or thresholds; enough for 100,000 names of 64 characters.
const MAX_TEXT_BYTES: u64 = 16 << 20;

fn read_thresholds(path: &Path) -> anyhow::Result<Thresholds> {
    let text = read_text(path, MAX_TEXT_BYTES)
        .with_context(|| format!("cannot read the thresholds in {}", path.display()))?;
    Thresholds::parse(&text).map_err(|error| {
        let what = format!("{}: {error}", path.display());
        Advice::error(what, "write lines such as SymbolErrorCounter=10")
    })
}

fn read_names(path: &Path) -> anyhow::Result<HashMap<u64, String>> {
    let text = read_text(path, MAX_TEXT_BYTES)
        .with_context(|| format!("cannot read the node names in {}", path.display()))?;
    parse_node_names(&text).map_err(|error| {
        let what = format!("{}: {error}", path.display());
        Advice::error(what, "write lines such as 0x0002c90200000001 \"leaf001\"")
    })
}
