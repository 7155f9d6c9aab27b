//! Runs `rdmactl ports`: lists the ports of hosts, or checks RoCE ports for lossless traffic.

use crate::cli::{Format, Global, PortsArgs};
use crate::model::Part;
use crate::query::{Lossless, Ports, device_rows, lossless_rows};
use crate::term::Term;

use super::link_peers::LinkPeers;
use super::listing::{self, Recipe};
use super::{Advice, Outcome, down_ports};

/// Lists the ports of the hosts that the flags name.
///
/// # Errors
/// The flags contradict each other; for example, `--lossless` does not support JSON.
pub(super) fn run(global: &Global, args: &PortsArgs, term: Term) -> anyhow::Result<Outcome> {
    let is_document = matches!(global.output(), Format::Json | Format::Ndjson);
    if args.lossless {
        if args.fabric.file.is_some() {
            let fix = "remove --fabric, or remove --lossless";
            return Err(Advice::error("--lossless checks RoCE ports, which no fabric has", fix));
        }
        if is_document {
            let fix = "use --format csv, or remove --lossless";
            return Err(Advice::error("--lossless prints rows only, not JSON", fix));
        }
        let recipe = Recipe::<Lossless> {
            parts: [Part::Details, Part::Ethernet].into(),
            ..Recipe::of(&lossless_rows)
        };
        // The type of a module, which only root may read, does not matter for lossless traffic.
        return listing::run(global, term, &recipe, |report| {
            report.problems.retain(|problem| !problem.key.ends_with("/ethernet/module/identifier"));
        });
    }
    let peers = LinkPeers::read(&args.fabric)?;
    let recipe = Recipe::<Ports> {
        parts: [Part::Netdevs].into(),
        document: [Part::Details, Part::Gids, Part::Ethernet].into(),
        given: peers.parts(),
        footer: &down_ports::below,
        ..Recipe::of(&device_rows)
    };
    listing::run(&peers.add_columns(global), term, &recipe, |report| peers.fill(report))
}
