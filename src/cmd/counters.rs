//! `rdmactl counters`: what went through, and what went wrong on the way?

use crate::cli::{CountersArgs, Format, Global};
use crate::model::{Counter, Part, Parts};
use crate::query::{Counters, counter_rows};
use crate::term::Term;

use super::Outcome;
use super::listing::{self, Recipe};

/// Lists the counters of what the flags name.
pub(super) fn run(global: &Global, args: &CountersArgs, term: Term) -> anyhow::Result<Outcome> {
    let recipe = Recipe::<Counters> {
        parts: [Part::Counters].into(),
        document: Parts::default(),
        nothing: if args.all {
            "the drivers have no counters"
        } else {
            "no counter has counted anything, or the drivers have none; --all lists zeros"
        },
        rows: counter_rows,
    };
    listing::run(global, term, &recipe, |report| {
        // For programs a counter that is not there would look like one that the driver has not.
        if args.all || matches!(global.output(), Format::Json | Format::Ndjson | Format::Prom) {
            return;
        }
        let has_counted = |counter: &Counter| counter.value != Some(0);
        for device in &mut report.devices {
            let of_ports = device.ports.iter_mut().map(|port| &mut port.counters);
            for counters in of_ports.chain([&mut device.counters]).flatten() {
                counters.retain(has_counted);
            }
        }
    })
}
