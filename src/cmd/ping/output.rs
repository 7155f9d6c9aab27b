//! Prints the results of a ping run in the requested format, and decides the exit status.

use std::borrow::Cow;

use crate::cli::{Format, Global, OnlyPairs, PingArgs};
use crate::cmd::listing_output::{Hosts, ListingOutput};
use crate::cmd::outcome::{note, say, say_all};
use crate::cmd::{Advice, Outcome, connection_flags};
use crate::model::ping::{PingDiff, PingReport};
use crate::query::{self, pair_rows};
use crate::render::{
    Note, PingDiffDocument, PingDocument, render_change, render_findings, render_html,
    render_matrix, render_origin, render_svg, to_json, to_json_lines,
};
use crate::term::Term;

use super::stream::Stream;

pub(super) struct ReportOutput<'a> {
    pub(super) global: &'a Global,
    pub(super) term: Term,
    only_findings: bool,
    /// Kind of pairs that are printed; `None` for all.
    pub(super) only: Option<OnlyPairs>,
    pub(super) view: ListingOutput<'a, query::Pairs>,
}

impl<'a> ReportOutput<'a> {
    pub(super) fn new(global: &'a Global, args: &PingArgs, term: Term) -> anyhow::Result<Self> {
        let (only_findings, only) = (args.findings, args.only);
        let view = ListingOutput::new(global, term)?;
        if global.watch.is_none() && global.count.is_some() {
            let fix = "add --watch, or remove --count";
            return Err(Advice::error("--count is for --watch", fix));
        }
        if global.watch.is_some() && global.output() == Format::Prom {
            let fix = "remove --watch; run rdmactl at the interval at which Prometheus scrapes";
            return Err(Advice::error("--watch contradicts --format prom", fix));
        }
        if global.watch.is_some() && matches!(global.output(), Format::Html | Format::Svg) {
            let fix = "remove --watch, or write rows: --format csv";
            return Err(Advice::error("--watch contradicts --format html and svg", fix));
        }
        if only_findings && global.output() != Format::Table {
            let fix = "remove --findings; JSON has the list findings";
            return Err(Advice::error("--findings is for tables", fix));
        }
        if only.is_some() && matches!(global.output(), Format::Html | Format::Svg) {
            let fix = "remove --only, or write rows: --format csv";
            return Err(Advice::error("a heat map shows every pair", fix));
        }
        Ok(Self { global, term, only_findings, only, view })
    }

    pub(super) fn prints_changes(&self) -> bool {
        matches!(self.global.output(), Format::Table | Format::Json) && !self.is_of_rows()
    }

    fn is_of_rows(&self) -> bool {
        self.only.is_some() || self.view.is_of_rows()
    }

    fn rows(&self, report: &PingReport) -> anyhow::Result<String> {
        let mut rows = pair_rows(report);
        rows.retain(|row| self.only.is_none_or(|only| only.admits(row.pair)));
        self.view.print(rows, Hosts::Pinged(&report.hosts))
    }

    fn with_requested_pairs<'r>(&self, report: &'r PingReport) -> Cow<'r, PingReport> {
        let Some(only) = self.only else { return Cow::Borrowed(report) };
        let mut chosen = report.clone();
        chosen.pairs.retain(|pair| only.admits(pair));
        Cow::Owned(chosen)
    }

    /// Prints the whole report. Events that the stream printed before are not printed again.
    pub(super) fn print(&self, report: &PingReport, stream: &Stream) -> anyhow::Result<()> {
        let form = self.global.output();
        self.term.write_stdout(match form {
            Format::Json if report.cells.is_some() => {
                to_json_lines([PingDocument::new(&self.with_requested_pairs(report))])?
            }
            Format::Json => to_json(&PingDocument::new(&self.with_requested_pairs(report)))?,
            Format::Ndjson => return Ok(stream.end(report)?),
            Format::Html => heat_map(render_html(report))?,
            Format::Svg => heat_map(render_svg(report))?,
            Format::Plain | Format::Csv | Format::Prom => self.rows(report)?,
            // Tree and Dot are refused earlier.
            Format::Table | Format::Tree | Format::Dot => {
                let pairs = if self.only_findings {
                    String::new()
                } else if is_matrix(report) && !self.is_of_rows() {
                    render_matrix(report, !self.global.no_header)
                } else {
                    self.rows(report)?
                };
                let gap = if self.only_findings { "" } else { "\n" };
                let findings = connection_flags::in_fixes(&render_findings(report));
                format!("{}{pairs}{gap}{findings}", render_origin(report))
            }
        })?;
        if matches!(form, Format::Plain | Format::Csv | Format::Prom) {
            let text = render_origin(report).trim_end().to_owned();
            if !text.is_empty() {
                say(self.term, &Note { text, fix: None });
            }
        }
        // Tables and JSON hold these agents.
        if !matches!(form, Format::Table | Format::Json) {
            self.say_left_behind(report);
        }
        if let Some(note) = self.view.no_match() {
            let fix = "list failed pairs with --only failed; -o help lists the columns of -w";
            say(self.term, &Note { fix: Some(fix.into()), ..note });
        }
        Ok(())
    }

    pub(super) fn print_change(
        &self,
        change: &PingDiff,
        report: &PingReport,
    ) -> anyhow::Result<()> {
        self.term.write_stdout(match self.global.output() {
            Format::Json => to_json(&PingDiffDocument::new(change))?,
            _ => format!("\n{}{}", render_origin(report), render_change(change)),
        })?;
        self.say_left_behind(report);
        Ok(())
    }

    /// Prints the agents that may still run.
    pub(super) fn say_left_behind(&self, report: &PingReport) {
        say_all(self.term, report.left_behind.iter().map(|left| note(left)));
    }
}

fn heat_map(made: Result<String, String>) -> anyhow::Result<String> {
    made.map_err(|why| Advice::error(why, "list the pairs with --format csv, or test fewer hosts"))
}

/// Returns true if pairs have more than one source, or if the run is simulated.
fn is_matrix(report: &PingReport) -> bool {
    let mut sources = report.pairs.iter().map(|pair| pair.source);
    let first = sources.next();
    report.simulated.is_some() || sources.any(|source| Some(source) != first)
}

/// An untested pair is a problem, except with a time limit. A slow pair is no problem.
pub(super) fn outcome(report: &PingReport) -> Outcome {
    let budget = report.coverage.as_ref().filter(|coverage| coverage.budget_ms.is_some());
    let is_untested = report.summary.not_tested > 0 && budget.is_none();
    let is_bad = report.summary.failed > 0
        || is_untested
        || report.hosts.iter().any(|host| host.failure.is_some())
        || !report.left_behind.is_empty();
    if is_bad {
        Outcome::Problem
    } else if budget.is_some_and(|coverage| coverage.least_peers == 0) {
        Outcome::Incomplete
    } else {
        Outcome::Complete
    }
}
