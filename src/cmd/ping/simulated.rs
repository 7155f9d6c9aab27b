//! Runs `ping --simulate`: tests the pairs of a fabric that a file describes, without any host.

use std::path::Path;

use super::selection;
use crate::cli::{Format, Global, PingArgs};
use crate::cmd::Advice;
use crate::model::ping::PingReport;
use crate::ping::fabric::SimulatedFabric;
use crate::ping::plan::Plan;
use crate::ping::simulation::Simulation;

const MAX_FILE_BYTES: u64 = 4 << 20;

/// Default random seed, so that a simulation gives the same result each time.
const SEED: u32 = 1;

/// Simulates a run and returns its report.
pub(super) fn run(global: &Global, args: &PingArgs, file: &Path) -> anyhow::Result<PingReport> {
    let fabric = read(global, args, file)?;
    let plan = plan(args, &fabric)?;
    let rounds = plan.rounds_within(args.budget, selection::load(args, fabric.rails()));
    let shows_cells = matches!(global.output(), Format::Json | Format::Html | Format::Svg);
    let with_cells = shows_cells || global.save.is_some() || global.watch.is_some();
    let (fabric, plan, file) = (&fabric, &plan, file.display().to_string());
    Ok(Simulation { fabric, file: &file, plan, rounds, with_cells }.run())
}

/// Plans a run over the hosts of a fabric.
pub(super) fn plan(args: &PingArgs, fabric: &SimulatedFabric) -> anyhow::Result<Plan> {
    let pairs = selection::pairs_among(args, fabric.hosts())?;
    selection::plan(args, pairs, fabric.topology(), SEED)
}

/// Reads the fabric of a file. A fabric that is only planned for may have more hosts.
pub(super) fn read(
    global: &Global,
    args: &PingArgs,
    file: &Path,
) -> anyhow::Result<SimulatedFabric> {
    if global.names_hosts() {
        return Err(Advice::error(
            "--simulate contradicts a host set",
            "name the hosts on the hosts line of the fabric file",
        ));
    }
    let fix = "use host sets in faults: fault host n[001-100] slow 1.2";
    let text = selection::text_of(file, MAX_FILE_BYTES, fix)?;
    let parse = if args.plan { SimulatedFabric::parse_to_plan } else { SimulatedFabric::parse };
    parse(&text, &selection::expand)
        .map_err(|error| selection::error_at(file, error.line, &error.what, error.fix))
}
