//! Implements `rdmactl fabric errors --clear`: sets the listed error counters to zero.

use std::collections::BTreeMap;

use crate::cli::{FabricArgs, FabricView, Format, Global};
use crate::collect::{NotCleared, PortToClear, clear_counters};
use crate::query::FabricErrorRow;
use crate::term::Term;

use super::outcome::{note, say};
use super::{Advice, Outcome, interrupt, local};

/// Refuses `--clear` for counters that this host cannot clear.
pub(super) fn refuse_clear(global: &Global, args: &FabricArgs) -> anyhow::Result<()> {
    let here = "on a host of the subnet: rdmactl fabric errors --clear";
    let (what, fix) = if args.view != FabricView::Errors {
        ("--clear has no effect on this view", "write rdmactl fabric errors --clear")
    } else if global.queries_hosts() {
        ("--clear works from this host only, without -H", here)
    } else if global.from.is_some() || global.root.is_some() {
        ("--clear needs a subnet, and a file cannot be cleared", here)
    } else if global.interval().is_some() {
        ("--clear contradicts --watch", "omit --watch")
    } else if matches!(global.output(), Format::Json | Format::Ndjson) {
        ("--clear lists counters as rows, and JSON has no rows", "use --format csv")
    } else {
        return Ok(());
    };
    Err(Advice::error(what, fix))
}

/// Listed counters by device and port of this host that lead to the subnet.
#[derive(Debug, Default)]
pub(super) struct ListedCounters(BTreeMap<(String, u32), PortsByLidAndNumber>);

type PortsByLidAndNumber = BTreeMap<(u16, u8), ListedPort>;

#[derive(Debug)]
struct ListedPort {
    node: String,
    counters: Vec<String>,
}

impl ListedCounters {
    pub(super) fn of(rows: &[FabricErrorRow<'_>]) -> Self {
        let mut listed = Self::default();
        for row in rows {
            let Some((fabric, (end, error))) = row.place.fabric.zip(row.item) else { continue };
            let Some(node) = fabric.nodes.get(end.node) else { continue };
            let Some(lid) = node.lid_of(end.port) else { continue };
            let ports = listed.0.entry((fabric.device.clone(), fabric.port)).or_default();
            let new = || ListedPort { node: node.title(), counters: Vec::new() };
            let port = ports.entry((lid, end.port)).or_insert_with(new);
            port.counters.push(error.counter.name.clone());
        }
        listed
    }

    /// Sets the counters to zero; returns an outcome if some counters keep their values.
    pub(super) fn clear(self, global: &Global, term: Term) -> anyhow::Result<Option<Outcome>> {
        // After a signal, the program reports which counters it has cleared.
        interrupt::remote_work();
        let mut is_incomplete = false;
        for ((device, number), ports) in self.0 {
            let all: Vec<PortToClear> = ports
                .iter()
                .map(|(&(lid, port), listed)| PortToClear {
                    lid,
                    port,
                    counters: listed.counters.clone(),
                })
                .collect();
            let (live, ..) = local::live(global)?;
            let kept = clear_counters(&live, &device, number, &all).map_err(|error| {
                Advice::error(
                    format!("{device}/{number}: cannot clear counters: {error}"),
                    "run rdmactl as root",
                )
            })?;
            let listed: usize = ports.values().map(|port| port.counters.len()).sum();
            let failed: usize = kept.iter().map(|one| one.counters.len()).sum();
            for one in &kept {
                say(term, &note(&not_cleared(&ports, one)));
            }
            let cleared = listed - failed;
            say(term, &note(&format!("cleared {cleared} of {listed} listed counters")));
            is_incomplete |= failed > 0;
        }
        Ok(is_incomplete.then_some(Outcome::Incomplete))
    }
}

fn not_cleared(ports: &PortsByLidAndNumber, kept: &NotCleared) -> String {
    let node = ports.get(&(kept.lid, kept.port)).map_or("", |port| &port.node);
    format!("{node} port {}: not cleared: {}: {}", kept.port, kept.counters.join(", "), kept.why)
}
