//! Runs `rdmactl fabric`: lists nodes, links, routes, errors and problems of InfiniBand subnets.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::Path;

use anyhow::Context as _;

use crate::analyse::fabric::errors::{Thresholds, above};
use crate::analyse::fabric::routes::{self, FabricRoute};
use crate::analyse::fabric::{find_port, findings};
use crate::cli::{FabricArgs, FabricView, Format, Global, SweepVia};
use crate::collect::parse_node_names;
use crate::input::read_text;
use crate::model::{HostReport, Part, Parts};
use crate::query::{
    FabricErrors, FabricLinks, FabricManagers, FabricNodes, FabricPartitions, FabricProblems,
    FabricRoutes, FabricSubnets, FabricSwitches, HopRow, Listing, fabric_error_rows,
    fabric_link_rows, fabric_node_rows, fabric_problem_rows, fabric_switch_rows, hop_rows,
    manager_rows, partition_rows, subnet_rows, subnets,
};
use crate::render::{
    FabricDocument, fabric_dot, fabric_tree, notes, render_problems, to_json, to_json_lines,
};
use crate::source::set_mad_window;
use crate::term::Term;

use super::fabric_clear::{ListedCounters, refuse_clear};
use super::listing::{self, Recipe, Rows};
use super::outcome::{note, say, say_all};
use super::{Advice, Outcome, local};

pub(super) fn run(global: &Global, args: &FabricArgs, term: Term) -> anyhow::Result<Outcome> {
    check(global, args)?;
    let names = args.node_name_map.as_deref().map(read_names).transpose()?;
    if let Some(window) = args.window {
        set_mad_window(window.into());
    }
    let command = Fabric { global, args, term, names_by_guid: names.unwrap_or_default() };
    if matches!(global.output(), Format::Tree | Format::Dot) {
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
    let is_drawing = matches!(global.output(), Format::Tree | Format::Dot);
    if is_drawing && args.view != FabricView::Subnets {
        let fix = "omit the view, or use another format";
        return Err(Advice::error("--format tree and --format dot draw the whole subnet", fix));
    }
    if args.window.is_some() && (global.queries_hosts() || global.from.is_some()) {
        let fix = "omit --window";
        return Err(Advice::error("--window applies to sweeps from this host", fix));
    }
    if args.clear { refuse_clear(global, args) } else { Ok(()) }
}

struct Fabric<'args> {
    global: &'args Global,
    args: &'args FabricArgs,
    term: Term,
    names_by_guid: HashMap<u64, String>,
}

impl Fabric<'_> {
    /// Returns the parts of a report that the view needs; with `--save`, the parts of every view.
    fn parts(&self) -> Parts {
        let of_view: &[Part] = match self.args.view {
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

    /// Sets the names of the name map. With `-v`, prints why the sweep rejected tables.
    fn rename(&self, report: &mut HostReport) {
        for fabric in report.fabrics.iter().flatten().filter(|fabric| !fabric.nodes.is_empty()) {
            for why in fabric.rejected_tables.iter().filter(|_| self.global.verbose > 0) {
                let text = format!(
                    "{}/{}: swept by directed routes, because of the tables of subnet \
                     administration: {why}",
                    fabric.device, fabric.port
                );
                say(self.term, &note(&text));
            }
        }
        let nodes = report.fabrics.iter_mut().flatten().flat_map(|fabric| &mut fabric.nodes);
        for node in nodes {
            if let Some(name) = self.names_by_guid.get(&node.guid.0) {
                node.name = Some(name.clone());
            }
        }
    }

    fn list<L: Listing>(&self, rows: &Rows<'_, L>) -> anyhow::Result<Outcome> {
        self.list_with(&Recipe { parts: self.parts(), ..self.recipe(rows) })
    }

    fn list_with<L: Listing>(&self, recipe: &Recipe<'_, L>) -> anyhow::Result<Outcome> {
        listing::run(self.global, self.term, recipe, |report| self.rename(report))
    }

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

    fn errors(&self) -> anyhow::Result<Outcome> {
        let thresholds = match &self.args.thresholds {
            None => Thresholds::default(),
            Some(path) => {
                let place = || format!("cannot read the thresholds in {}", path.display());
                let text = read_text(path, MAX_TEXT_BYTES).with_context(place)?;
                Thresholds::parse(&text).map_err(|error| {
                    let what = format!("{}: {error}", path.display());
                    Advice::error(what, "write lines such as SymbolErrorCounter=10")
                })?
            }
        };
        // A capture has no replies to the different requests for error counters alone.
        let needs_all = thresholds.name_traffic() || self.global.from.is_some();
        let mut parts = self.parts();
        parts.extend([if needs_all { Part::FabricCounters } else { Part::FabricErrors }]);
        let is_document = matches!(self.global.output(), Format::Json | Format::Ndjson);
        let has_errors = Cell::new(false);
        let listed = RefCell::new(ListedCounters::default());
        let outcome = listing::run(
            self.global,
            self.term,
            &Recipe::<FabricErrors> {
                parts,
                nothing: "no error counter is above its threshold",
                footer: &|rows, _| {
                    has_errors.set(rows.iter().any(|row| row.item.is_some()));
                    listed.replace(ListedCounters::of(rows));
                    String::new()
                },
                ..self.recipe(&|reports, _| fabric_error_rows(reports, &thresholds))
            },
            |report| {
                self.rename(report);
                // JSON has no rows and no filter, so the reports are checked here.
                let mut fabrics = report.fabrics.iter().flatten().filter(|_| is_document);
                if fabrics.any(|fabric| above(fabric, &thresholds).next().is_some()) {
                    has_errors.set(true);
                }
            },
        )?;
        let outcome = if has_errors.get() { Outcome::Problem } else { outcome };
        if !self.args.clear {
            return Ok(outcome);
        }
        Ok(listed.into_inner().clear(self.global, self.term)?.unwrap_or(outcome))
    }

    /// Lists the routes between two nodes; a route that ends early is a problem.
    fn routes(&self) -> anyhow::Result<Outcome> {
        let [from, to] = &self.args.ends[..] else { return Ok(Outcome::Nothing) };
        let failed = Cell::new(false);
        let problem = RefCell::new(None);
        let outcome = self.list_with(&Recipe::<FabricRoutes> {
            nothing: "no route",
            ..self.recipe(&|reports, _| {
                let mut rows: Vec<HopRow<'_>> = Vec::new();
                let mut missing = None;
                for place in subnets(reports) {
                    let Some(fabric) = place.fabric else { continue };
                    match (find_port(fabric, from), find_port(fabric, to)) {
                        (Ok(from), Ok(to)) => {
                            let routes = routes::routes(fabric, from, to);
                            let is_broken = |route: &FabricRoute| route.failure.is_some();
                            let has_none = routes.is_empty() || routes.iter().any(is_broken);
                            failed.set(failed.get() || has_none);
                            rows.extend(hop_rows(place, &routes));
                        }
                        (Err(error), _) | (_, Err(error)) => missing = Some(error),
                    }
                }
                if rows.is_empty() {
                    problem.replace(missing);
                }
                rows
            })
        })?;
        match problem.into_inner() {
            Some(error) => {
                Err(Advice::error(error.to_string(), "list the nodes: rdmactl fabric nodes"))
            }
            None if failed.get() => Ok(Outcome::Problem),
            None => Ok(outcome),
        }
    }

    fn draw(&self) -> anyhow::Result<Outcome> {
        let mut reports =
            listing::read_with_progress(self.global, self.term, &[Part::Fabric].into())?;
        reports.hosts.iter_mut().for_each(|report| self.rename(report));
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

fn read_names(path: &Path) -> anyhow::Result<HashMap<u64, String>> {
    let text = read_text(path, MAX_TEXT_BYTES)
        .with_context(|| format!("cannot read the node names in {}", path.display()))?;
    parse_node_names(&text).map_err(|error| {
        let what = format!("{}: {error}", path.display());
        Advice::error(what, "write lines such as 0x0002c90200000001 \"leaf001\"")
    })
}
