//! A run over a fabric that stands in a file.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;

use super::party::{self, file_name};
use crate::cli::{Format, Global, PingArgs};
use crate::cmd::Advice;
use crate::fleet::HostSet;
use crate::model::ping::PingReport;
use crate::ping::fabric::Fabric;
use crate::ping::plan::Plan;
use crate::ping::simulation::Simulation;

/// The most bytes of a file with a made-up fabric: people write them.
const MOST_OF_FABRIC: u64 = 4 << 20;

/// What chance begins with where nobody says so: what is made up is the same each time.
const SEED: u32 = 1;

/// What a fabric that stands in a file would show.
pub(super) fn run(global: &Global, args: &PingArgs, file: &Path) -> anyhow::Result<PingReport> {
    let fabric = read(global, args, file)?;
    let plan = plan(args, &fabric)?;
    let rounds = match args.budget {
        None => plan.rounds(),
        Some(time) => plan.rounds_within(time, party::load(args, fabric.rails())),
    };
    let is_whole = matches!(global.output(), Format::Json | Format::Html | Format::Svg);
    let with_cells = is_whole || global.save.is_some() || global.watch.is_some();
    let (fabric, plan, file) = (&fabric, &plan, &*file.display().to_string());
    Ok(Simulation { fabric, file, plan, rounds, with_cells }.run())
}

/// The plan for a fabric.
pub(super) fn plan(args: &PingArgs, fabric: &Fabric) -> anyhow::Result<Plan> {
    let pairs = party::pairs_among(args, fabric.hosts())?;
    party::plan(args, pairs, fabric.topology(), SEED)
}

/// Reads the file.
pub(super) fn read(global: &Global, args: &PingArgs, file: &Path) -> anyhow::Result<Fabric> {
    if global.names_hosts() {
        return Err(Advice::error(
            "--simulate contradicts a host set",
            "name the hosts on the hosts line of the fabric file",
        ));
    }
    let name = file_name(file);
    let mut text = String::new();
    let read =
        File::open(file).and_then(|open| open.take(MOST_OF_FABRIC + 1).read_to_string(&mut text));
    read.with_context(|| format!("cannot read {name}"))?;
    if text.len() as u64 > MOST_OF_FABRIC {
        return Err(Advice::error(
            format!("{name} is larger than {MOST_OF_FABRIC} bytes"),
            "use host sets in faults: fault host n[001-100] slow 1.2",
        ));
    }
    let expand = |set: &str| {
        let hosts = HostSet::parse(set).map_err(|error| error.to_string())?;
        Ok(hosts.iter().map(ToString::to_string).collect())
    };
    let parse = if args.plan { Fabric::parse_to_plan } else { Fabric::parse };
    parse(&text, &expand).map_err(|error| {
        let line = error.line.map_or(String::new(), |line| format!(":{line}"));
        Advice::error(format!("{name}{line}: {}", error.what), error.fix)
    })
}
