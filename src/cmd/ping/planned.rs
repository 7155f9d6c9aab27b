//! Implements `rdmactl ping --plan`: prints pairs, time and traffic of a run without sending a
//! message.

use crate::cli::{Format, Global, PingArgs};
use crate::cmd::{Advice, Outcome};
use crate::model::ping::{PlannedRun, Topology};
use crate::ping::plan::Plan;
use crate::render::{PingPlanDocument, render_plan, to_json, to_json_lines};
use crate::term::Term;

use super::selection::{self, milliseconds as ms};
use super::{leaves, simulated};

pub(super) fn run(global: &Global, args: &PingArgs, term: Term) -> anyhow::Result<Outcome> {
    let plan = if let Some(file) = &args.simulate {
        let fabric = simulated::read(global, args, file)?;
        let plan = simulated::plan(args, &fabric)?;
        let file = Some(file.display().to_string());
        planned(args, &plan, fabric.rails(), fabric.topology(), file)
    } else {
        let (hosts, pairs) = selection::hosts_and_pairs(global, args)?;
        let topology = leaves::topology(args, &hosts, term)?;
        let plan = selection::plan(args, pairs, topology.as_ref(), selection::any_seed()?)?;
        let from = selection::single_set_source(global, args)?;
        let agents = hosts.len() as u64;
        let is_remote = hosts.iter().any(|host| host.host().is_some());
        let own_bytes = std::fs::metadata("/proc/self/exe").ok().map(|file| file.len());
        let upload_bytes = own_bytes.filter(|_| is_remote && !global.no_upload);
        let plan = planned(args, &plan, 1, topology.as_ref(), None);
        PlannedRun { from, agents, upload_bytes, ..plan }
    };
    term.write_stdout(match global.output() {
        Format::Table => render_plan(&plan),
        Format::Json => to_json(&PingPlanDocument::new(&plan))?,
        Format::Ndjson => to_json_lines([PingPlanDocument::new(&plan)])?,
        _ => {
            let fix = "remove --format, or use --json";
            return Err(Advice::error("--plan prints a table or JSON", fix));
        }
    })?;
    Ok(Outcome::Complete)
}

fn planned(
    args: &PingArgs,
    plan: &Plan,
    rails: usize,
    topology: Option<&Topology>,
    simulated: Option<String>,
) -> PlannedRun {
    let load = selection::load(args, rails);
    let estimate = plan.estimate(load);
    let tally = plan.tally_of(plan.rounds_within(args.budget, load), rails, topology);
    let coverage = plan.coverage(rails, &tally);
    // With a time limit, only the rounds within the limit cost traffic.
    let part = |whole: u64| {
        let tested = u128::from(whole) * u128::from(coverage.tested);
        let part = tested.checked_div(u128::from(coverage.planned)).unwrap_or(0);
        u64::try_from(part).unwrap_or(u64::MAX)
    };
    let time_ms = ms(estimate.time);
    let (round_trips, slot) = args.measurement();
    let fills_links = args.test.iter().any(|test| test.fills_links());
    PlannedRun {
        hosts: plan.pairs.hosts as u64,
        from: None,
        rails: rails as u64,
        agents: 0,
        upload_bytes: None,
        tests: args.test.iter().map(|test| test.word().to_owned()).collect(),
        round_trips: round_trips.into(),
        slot_ms: ms(slot),
        pair_bytes: u64::from(round_trips).saturating_mul(2 * u64::from(args.size)),
        stream_ms: if fills_links { ms(selection::STREAM_SLOT) } else { 0 },
        time_ms: args.budget.map_or(time_ms, |budget| time_ms.min(ms(budget))),
        relay_bytes: part(estimate.relay_bytes),
        relay_messages: part(estimate.relay_messages),
        memory_bytes: estimate.memory_bytes,
        simulated,
        coverage,
    }
}
