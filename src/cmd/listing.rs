//! Runs a listing: reads the hosts of the flags, selects rows and columns, prints.
//!
//! Each listing command passes a [`Recipe`]. `listing_output` formats the rows.

use crate::analyse::rate::CounterSample;
use crate::analyse::removed_devices::{self, DeviceMove, RemovedDevices};
use crate::cli::{Format, Global};
use crate::clock;
use crate::model::{HostReport, Part, Parts};
use crate::names;
use crate::query::Listing;
use crate::render::{Note, ReportDocument, column_help, escape, notes, to_json, to_json_lines};
use crate::source::{ended_mads, stop_mads};
use crate::term::Term;

use super::listing_output::{Hosts, ListingOutput};
use super::local::{self, Reports};
use super::outcome::{note, say, say_all};
use super::watch::Watch;
use super::{Advice, Outcome, fleet, host_selection, interrupt, progress};

/// Differences between one listing and another.
pub(super) struct Recipe<'recipe, L: Listing> {
    /// Parts that every run needs, in addition to the parts of the columns.
    pub(super) parts: Parts,
    /// Parts that a document or a recording needs in addition.
    pub(super) document: Parts,
    /// Parts that do not come from the hosts and are not read there.
    pub(super) given: Parts,
    /// True if the rows of --watch compare two samples. With --count, one sample without output
    /// then comes before the samples that --count counts.
    pub(super) shows_changes: bool,
    /// True if the rows of a host depend on this host alone.
    pub(super) is_per_host: bool,
    /// Note for a listing without rows on hosts with devices.
    pub(super) nothing: &'static str,
    /// Makes rows from reports; the flag is true if hosts are named.
    pub(super) rows: &'recipe Rows<'recipe, L>,
    /// Returns the text below a table; the flag is true if hosts are named.
    pub(super) footer: &'recipe Footer<'recipe, L>,
    /// Takes note of the reports of a sample that is printed as documents, without rows.
    pub(super) note_document: &'recipe dyn Fn(&[HostReport]),
    /// Makes one document from all reports and their time.
    pub(super) json: &'recipe Json<'recipe>,
    /// Makes one document per host, each on its own line.
    pub(super) json_lines: &'recipe Json<'recipe>,
}

pub(super) type Rows<'recipe, L> =
    dyn for<'report> Fn(&'report [HostReport], bool) -> Vec<<L as Listing>::Row<'report>> + 'recipe;

pub(super) type Footer<'recipe, L> =
    dyn for<'report> Fn(&[<L as Listing>::Row<'report>], bool) -> String + 'recipe;

pub(super) type Json<'recipe> =
    dyn Fn(Option<u64>, &[HostReport]) -> serde_json::Result<String> + 'recipe;

impl<'recipe, L: Listing> Recipe<'recipe, L> {
    /// Returns a recipe without a footer, whose documents are the reports themselves.
    pub(super) fn of(rows: &'recipe Rows<'recipe, L>) -> Self {
        Self {
            parts: Parts::default(),
            document: Parts::default(),
            given: Parts::default(),
            shows_changes: false,
            is_per_host: true,
            nothing: "no port",
            rows,
            footer: &|_, _| String::new(),
            note_document: &|_| (),
            json: &|taken_ns, hosts| to_json(&ReportDocument::new(taken_ns, hosts)),
            json_lines: &|taken_ns, hosts| {
                let document = |host| ReportDocument::new(taken_ns, std::slice::from_ref(host));
                to_json_lines(hosts.iter().map(document))
            },
        }
    }
}

/// Prints a listing, with `--watch` repeatedly. `keep` first removes data that is not selected.
pub(super) fn run<L: Listing>(
    global: &Global,
    term: Term,
    recipe: &Recipe<'_, L>,
    keep: impl Fn(&mut HostReport),
) -> anyhow::Result<Outcome> {
    if global.columns.iter().any(|word| word == "help") {
        term.write_stdout(column_help::<L>())?;
        return Ok(Outcome::Complete);
    }
    let mut view = ListingOutput::<L>::new(global, term)?;
    let parts = view.parts(&recipe.parts, &recipe.document)?.without(&recipe.given);
    let Some(every) = global.interval() else {
        if global.count.is_some() {
            let fix = "add --watch, or omit --count";
            return Err(Advice::error("--count needs --watch", fix));
        }
        return once(global, term, recipe, &view, &parts, &keep);
    };
    if global.output() == Format::Prom {
        let fix = "omit --watch; Prometheus computes rates itself";
        return Err(Advice::error("--watch contradicts --format prom", fix));
    }
    // With --count, the first sample of changes needs an earlier sample to compare with.
    let mut baselines = u32::from(recipe.shows_changes && global.count.is_some());
    let mut watch = Watch::start(global, every, parts, baselines)?;
    let (mut before, mut said): (Option<CounterSample>, Vec<Note>) = (None, Vec::new());
    let mut removed_devices = RemovedDevices::default();
    let (mut outcome, mut is_first) = (Outcome::Complete, true);
    while let Some(mut reports) = watch.next()? {
        let mut counted = CounterSample::of(&reports.hosts);
        let now_ns = reports.taken_ns.unwrap_or_else(clock::wall_ns);
        let mut moves = Vec::new();
        for (place, report) in reports.hosts.iter_mut().enumerate() {
            moves.extend(removed_devices.note(place, report, now_ns));
        }
        report_device_moves(term, &moves, reports.hosts_named);
        if baselines > 0 {
            (baselines, before) = (0, Some(counted));
            continue;
        }
        if let Some(before) = &before {
            before.add_rates(&mut reports.hosts);
        }
        reports.hosts.iter_mut().for_each(&keep);
        let is_apart = matches!(global.output(), Format::Table | Format::Plain);
        let is_table = global.output() == Format::Table && !global.no_header;
        let text = text(global, term, recipe, &view, &reports)?;
        let no_match = view.no_match().filter(|_| is_table && text.is_empty());
        let heading = match &no_match {
            // A sample without rows also gets a heading.
            Some(empty) => format!("{}  {}\n", clock::utc_time(now_ns), empty.text),
            None if is_table && !text.is_empty() => format!("{}\n", clock::utc_time(now_ns)),
            None => String::new(),
        };
        let gap = if is_apart && !is_first && !text.is_empty() { "\n" } else { "" };
        term.write_stdout(format!("{gap}{heading}{text}"))?;
        // A note that did not change is printed only once.
        let notes = notes(&reports.hosts, reports.hosts_named, global.verbose > 0);
        for note in notes.iter().filter(|note| !said.contains(note)) {
            say(term, note);
        }
        said = notes;
        if is_first && no_match.is_none() {
            say_all(term, view.no_match());
        }
        let this = Outcome::of_listing(&reports.hosts);
        outcome = if is_first { this } else { outcome.and(this) };
        if let Some(before) = before.take() {
            counted.keep_from(before);
        }
        (before, is_first) = (Some(counted), false);
        view.prepare_next();
    }
    for left in watch.end() {
        outcome = outcome.and(Outcome::Incomplete);
        say(term, &note(&left));
    }
    Ok(outcome)
}

fn report_device_moves(term: Term, moves: &[DeviceMove], hosts_named: bool) {
    for found in removed_devices::findings(moves) {
        let hosts = hosts_named.then(|| format!("{}: ", names::fold(&found.hosts)));
        let text = format!("{}{}: {}", hosts.unwrap_or_default(), found.subject, found.what);
        let fix = found.fix.map(|fix| escape(&fix).into_owned());
        say(term, &Note { fix, ..note(&text) });
    }
}

/// Prints one listing. On a terminal, an unresponsive host does not delay the rows of others.
fn once<L: Listing>(
    global: &Global,
    term: Term,
    recipe: &Recipe<'_, L>,
    view: &ListingOutput<'_, L>,
    parts: &Parts,
    keep: &impl Fn(&mut HostReport),
) -> anyhow::Result<Outcome> {
    let mut outcome: Option<Outcome> = None;
    let mut show = |mut reports: Reports| -> anyhow::Result<()> {
        reports.hosts.iter_mut().for_each(keep);
        let text = text(global, term, recipe, view, &reports)?;
        let gap = if outcome.is_some() && !text.is_empty() { "\n" } else { "" };
        term.write_stdout(format!("{gap}{text}"))?;
        say_all(term, notes(&reports.hosts, reports.hosts_named, global.verbose > 0));
        let this = Outcome::of_listing(&reports.hosts);
        outcome = Some(this.after(outcome));
        reports.saved
    };
    let is_in_batches = recipe.is_per_host && view.can_be_in_batches();
    let hosts = if is_in_batches { host_selection::hosts(global)? } else { None };
    match hosts {
        None => show(read_with_progress(global, term, parts)?)?,
        Some(hosts) => {
            let taken_ns = Some(clock::wall_ns());
            fleet::report_in_batches(global, &hosts, parts, |hosts, waiting| {
                if !hosts.is_empty() {
                    show(Reports { hosts, hosts_named: true, taken_ns, saved: Ok(()) })?;
                }
                if !waiting.is_empty() {
                    let names = names::fold(waiting.iter().map(ToString::to_string));
                    say(term, &note(&format!("still waiting for {names}")));
                }
                Ok(())
            })?;
        }
    }
    say_all(term, view.no_match());
    Ok(outcome.unwrap_or(Outcome::Complete))
}

fn text<L: Listing>(
    global: &Global,
    term: Term,
    recipe: &Recipe<'_, L>,
    view: &ListingOutput<'_, L>,
    reports: &Reports,
) -> anyhow::Result<String> {
    let Reports { hosts, hosts_named, taken_ns, .. } = reports;
    let format = global.output();
    Ok(match format {
        Format::Json | Format::Ndjson => {
            (recipe.note_document)(hosts);
            let document = if format == Format::Json { recipe.json } else { recipe.json_lines };
            document(*taken_ns, hosts)?
        }
        // Html, Svg, Tree and Dot are refused earlier for listings.
        _ => {
            let rows = (recipe.rows)(hosts, *hosts_named);
            if rows.is_empty() && hosts.iter().any(has_something) {
                let nothing =
                    if hosts.iter().all(is_whole) { recipe.nothing } else { NOTHING_READ };
                say(term, &note(nothing));
            }
            let footer = |rows: &[L::Row<'_>]| (recipe.footer)(rows, *hosts_named);
            view.print_with(rows, Hosts::of(reports), &footer)?
        }
    })
}

/// Reads the hosts of the flags, and shows the progress of a subnet sweep from this host.
pub(super) fn read_with_progress(
    global: &Global,
    term: Term,
    parts: &Parts,
) -> anyhow::Result<Reports> {
    // With -H the fan-out ends on a signal; a sweep from this host prints what it found.
    let is_sweep = parts.has(Part::Fabric) && !global.queries_hosts() && global.from.is_none();
    if is_sweep {
        interrupt::end_on_signals(stop_mads)?;
    }
    let line = || {
        let requests = ended_mads();
        (requests > 0).then(|| format!("reading the subnet: {requests} requests"))
    };
    let reports = progress::show(term, line, || read(global, parts));
    if is_sweep {
        interrupt::local_work();
    }
    reports
}

pub(super) fn read(global: &Global, parts: &Parts) -> anyhow::Result<Reports> {
    let Some(hosts) = host_selection::hosts(global)? else { return local::read(global, parts) };
    let taken_ns = Some(clock::wall_ns());
    let (hosts, saved) = if let Some(path) = &global.save {
        let (reports, capture) = fleet::record_hosts(global, hosts, parts)?;
        (reports, local::save(&capture, path))
    } else {
        (fleet::report_hosts(global, hosts, parts)?, Ok(()))
    };
    Ok(Reports { hosts, hosts_named: true, taken_ns, saved })
}

const NOTHING_READ: &str = "no entry in the readable data; some data could not be read";

fn is_whole(host: &HostReport) -> bool {
    let parts = ["connections", "consumers", "resources", "fabric"];
    host.failure.is_none() && !parts.iter().any(|part| host.problems.affects(part))
}

/// Returns true if the host has devices or consumers. A host without devices gets its own note.
fn has_something(host: &HostReport) -> bool {
    !host.devices.is_empty() || host.consumers.is_some()
}
