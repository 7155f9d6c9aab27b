//! Runs `rdmactl ping`: tests RDMA between hosts.
//!
//! `real` and `simulated` produce the report, `output` prints it.

mod diff;
mod leaves;
mod notes;
mod output;
mod planned;
mod progress;
mod real;
mod selection;
mod simulated;
mod stream;
mod watcher;

use std::path::Path;

use anyhow::Context as _;

use crate::analyse::regression;
use crate::capture::{PingRun, replace_file};
use crate::cli::{Format, Global, PingArgs};
use crate::clock::Deadline;
use crate::fleet::Watchdog;
use crate::model::ping::PingReport;
use crate::query;
use crate::render::{PingDocument, column_help};
use crate::term::Term;

use self::output::ReportOutput;
use self::real::RealRun;
pub(super) use self::real::{AllPairs, all_pairs};
use self::stream::Stream;
use self::watcher::Listener;
use super::outcome::say_all;
use super::{Advice, Outcome, interrupt};

pub(super) fn run(global: &Global, args: &PingArgs, term: Term) -> anyhow::Result<Outcome> {
    if global.columns.iter().any(|word| word == "help") {
        term.write_stdout(column_help::<query::Pairs>())?;
        return Ok(Outcome::Complete);
    }
    if let Some(files) = &args.diff {
        return diff::run(global, files, term);
    }
    if let Some(number) = args.targets.iter().find(|set| global.no_header && is_number(set)) {
        let what = format!("-n omits the heading, and {number} would be the name of a host");
        let fix = format!("the number of round trips is -c {number}");
        return Err(Advice::error(what, fix));
    }
    refuse_long_interval(args)?;
    let args = &args.with_tests();
    let mut output = ReportOutput::new(global, args, term)?;
    if args.plan {
        return planned::run(global, args, term);
    }
    let subject = RunSource::of(global, args, term)?;
    match global.interval() {
        Some(every) => subject.watch(&mut output, every),
        None => subject.once(&output),
    }
}

/// Refuses an interval at which only one request fits into the time limit.
fn refuse_long_interval(args: &PingArgs) -> anyhow::Result<()> {
    let (rounds, slot) = args.measurement();
    let Some(interval) = args.mads.interval.filter(|&interval| rounds > 1 && interval >= slot)
    else {
        return Ok(());
    };
    let what = format!("--interval {interval:?} is not shorter than --slot {slot:?}");
    let needed = interval.saturating_mul(rounds.min(10)).as_secs() + 1;
    Err(Advice::error(what, format!("set a longer time limit: --slot {needed}s")))
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|letter| letter.is_ascii_digit())
}

enum RunSource<'a> {
    Real(Box<RealRun>),
    Simulated(&'a Path, &'a PingArgs),
    Saved(&'a Path),
}

impl<'a> RunSource<'a> {
    fn of(global: &'a Global, args: &'a PingArgs, term: Term) -> anyhow::Result<Self> {
        if global.from.is_some() && global.names_hosts() {
            let fix = "select pairs with a filter expression: -w 'source==n1 or target==n1'";
            return Err(Advice::error("--hosts cannot select hosts of a recorded ping run", fix));
        }
        Ok(match (&global.from, &args.simulate) {
            (Some(run), _) => Self::Saved(run),
            (None, Some(file)) => Self::Simulated(file, args),
            (None, None) => Self::Real(Box::new(RealRun::new(global, args, term)?)),
        })
    }

    /// Runs the test once. With `--format ndjson`, events are printed as they happen.
    fn run(&self, output: &ReportOutput<'_>, stream: &Stream) -> anyhow::Result<PingReport> {
        Ok(match self {
            Self::Real(real) => {
                let is_stream = output.global.output() == Format::Ndjson;
                let stream = is_stream.then_some(stream);
                let listener = Listener { stream, ends_by_signal: true, ..Listener::default() };
                let report = listener.progress.show(output.term, || real.run(&listener))?;
                say_all(output.term, notes::cut_short(&real.args, &report));
                say_all(output.term, notes::interrupted(&report));
                report
            }
            Self::Simulated(file, args) => simulated::run(output.global, args, file)?,
            Self::Saved(path) => PingRun::read(path)?.report,
        })
    }

    fn stream(&self, output: &ReportOutput<'_>) -> Stream {
        Stream::new(output.term, output.only, self.watchdog().cloned())
    }

    fn watchdog(&self) -> Option<&Watchdog> {
        if let Self::Real(real) = self { Some(&real.watchdog) } else { None }
    }

    fn once(&self, output: &ReportOutput<'_>) -> anyhow::Result<Outcome> {
        let stream = self.stream(output);
        let report = self.run(output, &stream)?;
        if let Self::Real(real) = self {
            // A signal may end the program while it prints.
            real.end();
        }
        // The run is saved even if stdout accepts no output.
        let printed = output.print(&report, &stream);
        if let Some(path) = &output.global.save {
            save(&report, path)?;
        }
        printed?;
        Ok(output::outcome(&report))
    }

    /// Repeats the run at an interval, and prints the changes.
    fn watch(
        &self,
        output: &mut ReportOutput<'_>,
        every: std::time::Duration,
    ) -> anyhow::Result<Outcome> {
        let watchdog = if let Some(watchdog) = self.watchdog() {
            watchdog.clone()
        } else {
            let watchdog = interrupt::start_watchdog()?;
            // No host takes part.
            interrupt::local_work();
            watchdog
        };
        let stream = self.stream(output);
        let mut before: Option<PingReport> = None;
        let mut outcome = Outcome::Complete;
        let mut left = output.global.count;
        while left != Some(0) {
            left = left.map(|left| left - 1);
            let due = Deadline::after(every);
            let report = self.run(output, &stream)?;
            if before.is_some() && watchdog.is_cancelled() {
                // A canceled run has fewer results than the previous one, so it is not printed.
                output.say_left_behind(&report);
                break;
            }
            match &before {
                Some(before) if output.prints_changes() => {
                    let change = regression::between(before, &report);
                    output.print_change(&change, &report)?;
                }
                _ => output.print(&report, &stream)?,
            }
            output.view.prepare_next();
            outcome = outcome.and(output::outcome(&report));
            before = Some(report);
            if left == Some(0) || watchdog.wait_cancelled(due.remaining()) {
                break;
            }
        }
        Ok(outcome)
    }
}

fn save(report: &PingReport, path: &Path) -> anyhow::Result<()> {
    let write = |out: &mut dyn std::io::Write| {
        serde_json::to_writer(&mut *out, &PingDocument::new(report))?;
        out.write_all(b"\n")
    };
    replace_file(path, &write).with_context(|| format!("cannot write {}", path.display()))
}
