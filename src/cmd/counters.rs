//! Runs `rdmactl counters`: lists traffic and error counters of ports, devices or the whole
//! subnet.

use crate::analyse::errors::is_error;
use crate::cli::{CountersArgs, Format, Global};
use crate::model::{Counter, CounterChange, Part};
use crate::query::{Counters, FabricCounters, counter_rows, fabric_counter_rows};
use crate::term::Term;

use super::Outcome;
use super::listing::{self, Recipe};

pub(super) fn run(global: &Global, args: &CountersArgs, term: Term) -> anyhow::Result<Outcome> {
    if args.fabric {
        return of_fabric(global, args, term);
    }
    let recipe = Recipe::<Counters> {
        parts: [Part::Counters].into(),
        shows_changes: true,
        nothing: if args.all {
            "the drivers have no counters"
        } else if args.errors {
            "no counter of errors has a value above 0, or the drivers have none; --all lists zeros"
        } else {
            "no counter has a value above 0, or the drivers have no counters; --all lists zeros"
        },
        ..Recipe::of(&counter_rows)
    };
    listing::run(global, term, &recipe, |report| {
        for device in &mut report.devices {
            let of_ports = device.ports.iter_mut().map(|port| &mut port.counters);
            for counters in of_ports.chain([&mut device.counters]).flatten() {
                keep_selected(global, args, counters);
            }
        }
    })
}

fn of_fabric(global: &Global, args: &CountersArgs, term: Term) -> anyhow::Result<Outcome> {
    let recipe = Recipe::<FabricCounters> {
        parts: [Part::Fabric, Part::FabricCounters].into(),
        shows_changes: true,
        is_per_host: false,
        nothing: "no counter has a value above 0; --all lists zeros",
        ..Recipe::of(&|reports, _| fabric_counter_rows(reports))
    };
    listing::run(global, term, &recipe, |report| {
        let nodes = report.fabrics.iter_mut().flatten().flat_map(|fabric| &mut fabric.nodes);
        let ports = nodes.flat_map(|node| &mut node.ports);
        for counters in ports.filter_map(|port| port.counters.as_mut()) {
            keep_selected(global, args, counters);
        }
    })
}

fn keep_selected(global: &Global, args: &CountersArgs, counters: &mut Vec<Counter>) {
    if args.errors {
        counters.retain(|counter| is_error(&counter.name));
    }
    // Without the row, a program would assume that the driver lacks the counter.
    let is_for_programs = matches!(global.output(), Format::Json | Format::Ndjson | Format::Prom);
    if !args.all && !is_for_programs {
        counters.retain(needs_attention);
    }
}

/// Returns true if the counter has a value above 0, cannot be read, or was reset between two
/// samples. A reload of its driver resets a counter.
fn needs_attention(counter: &Counter) -> bool {
    let was_reset = counter.rate.is_some_and(|rate| rate.change == CounterChange::Reset);
    counter.value != Some(0) || was_reset
}

#[test]
fn a_counter_that_is_0_again_is_shown() {
    let counter = |value: Option<u64>, change: Option<&str>| -> Counter {
        let rate = change.map(|change| serde_json::json!({ "change": change, "interval_ns": 1 }));
        let json = serde_json::json!({
            "name": "sent_pkts", "group": "hardware", "value": value, "unit": "events",
            "saturated": false, "read_ns": 1, "rate": rate
        });
        serde_json::from_value(json).expect("a counter")
    };
    assert!(needs_attention(&counter(Some(0), Some("reset"))));
    assert!(needs_attention(&counter(None, None)));
    assert!(needs_attention(&counter(Some(1), Some("counted"))));
    assert!(!needs_attention(&counter(Some(0), Some("counted"))));
    assert!(!needs_attention(&counter(Some(0), None)));
}
