//! Runs `rdmactl devices`: lists the RDMA devices of hosts.

use crate::cli::{DevicesArgs, Global};
use crate::model::Part;
use crate::query::{Devices, device_rows};
use crate::term::Term;

use super::link_peers::LinkPeers;
use super::listing::{self, Recipe};
use super::{Outcome, down_ports};

/// Lists the devices of the hosts that the flags name.
pub(super) fn run(global: &Global, args: &DevicesArgs, term: Term) -> anyhow::Result<Outcome> {
    let peers = LinkPeers::read(&args.fabric)?;
    let recipe = Recipe::<Devices> {
        document: [Part::Details, Part::PciLinks, Part::Gids].into(),
        given: peers.parts(),
        footer: &down_ports::below,
        ..Recipe::of(&device_rows)
    };
    listing::run(&peers.add_columns(global), term, &recipe, |report| peers.fill(report))
}
