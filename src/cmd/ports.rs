//! Runs `rdmactl devices`, `rdmactl ports` and `rdmactl gids`: lists the ports of hosts with
//! their devices or addresses, or checks RoCE ports for lossless traffic.

use std::collections::HashSet;

use crate::analyse::check::port_states;
use crate::cli::{DevicesArgs, Format, Global, PortsArgs};
use crate::model::{Part, Subject};
use crate::query::{
    DeviceRow, Devices, Gids, Lossless, Ports, device_rows, gid_rows, lossless_rows,
};
use crate::render::render_problems;
use crate::term::Term;

use super::link_peers::LinkPeers;
use super::listing::{self, Recipe};
use super::{Advice, Outcome};

pub(super) fn devices(global: &Global, args: &DevicesArgs, term: Term) -> anyhow::Result<Outcome> {
    let peers = LinkPeers::read(&args.fabric)?;
    let recipe = Recipe::<Devices> {
        document: [Part::Details, Part::PciLinks, Part::Gids].into(),
        given: peers.parts(),
        footer: &down_ports,
        ..Recipe::of(&device_rows)
    };
    listing::run(&peers.add_columns(global), term, &recipe, |report| peers.fill(report))
}

pub(super) fn ports(global: &Global, args: &PortsArgs, term: Term) -> anyhow::Result<Outcome> {
    if args.lossless {
        if args.fabric.file.is_some() {
            let fix = "remove --fabric, or remove --lossless";
            return Err(Advice::error("--lossless checks RoCE ports, which no fabric has", fix));
        }
        if matches!(global.output(), Format::Json | Format::Ndjson) {
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
        footer: &down_ports,
        ..Recipe::of(&device_rows)
    };
    listing::run(&peers.add_columns(global), term, &recipe, |report| peers.fill(report))
}

pub(super) fn gids(global: &Global, term: Term) -> anyhow::Result<Outcome> {
    let recipe = Recipe::<Gids> {
        parts: [Part::Gids].into(),
        nothing: "every GID table is empty: no port has an address",
        ..Recipe::of(&gid_rows)
    };
    listing::run(global, term, &recipe, |_| {})
}

/// Formats the findings about the state of listed ports.
pub(super) fn down_ports(rows: &[DeviceRow<'_>], hosts_named: bool) -> String {
    let port = |row: &DeviceRow<'_>| {
        let subject = Subject::Port(row.device?.name.clone(), row.port?.number);
        Some((row.report.host.clone(), subject))
    };
    let listed: HashSet<(String, Subject)> = rows.iter().filter_map(port).collect();
    let mut hosts = HashSet::new();
    let reports = rows.iter().map(|row| row.report).filter(|report| hosts.insert(&report.host));
    let mut found = port_states(reports);
    for finding in &mut found {
        let subject = &finding.subject;
        finding.hosts.retain(|host| listed.contains(&(host.clone(), subject.clone())));
    }
    found.retain(|finding| !finding.hosts.is_empty());
    render_problems(&found, hosts_named, "rdmactl ports -w 'state!=ACTIVE'")
}
