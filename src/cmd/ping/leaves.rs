//! Finds the leaf switches of the hosts of a run, from the file of `--topology`.

use std::path::Path;

use super::selection::{self, RunHost, file_name};
use crate::cli::PingArgs;
use crate::cmd::outcome::say;
use crate::cmd::{Advice, local};
use crate::model::ping::Topology;
use crate::model::{Fabric, HostReport, Via};
use crate::names;
use crate::render::{Note, escape};
use crate::term::Term;
use crate::topology::{LeafSwitches, RunTopology, UNKNOWN};

const FIX_OF_NAMES: &str =
    "use the names of the host set in the file, for example: leaf leaf1 n[01-16]";

/// Returns the topology of the hosts. A note lists the hosts that the file lacks.
pub(super) fn topology(
    args: &PingArgs,
    hosts: &[RunHost],
    term: Term,
) -> anyhow::Result<Option<Topology>> {
    let Some(file) = &args.topology else { return Ok(None) };
    let switches = match local::fabrics(file)? {
        Some(fabrics) => of_fabrics(&fabrics, hosts),
        None => read(file)?,
    };
    let RunTopology { topology, unknown } = switches.of_run(hosts.iter().map(RunHost::bare_name));
    if unknown.len() == hosts.len() {
        let what = format!("{} names no host of this run", file_name(file));
        return Err(Advice::error(what, FIX_OF_NAMES));
    }
    if !unknown.is_empty() {
        say(term, &note_of_unknown(file, unknown.iter().filter_map(|&host| hosts.get(host))));
    }
    Ok(Some(topology))
}

/// Returns the leaf switches of the subnet that has most of the hosts. Hosts are found by name,
/// because the plan is made before their GUIDs are read.
fn of_fabrics(fabrics: &[Fabric], run_hosts: &[RunHost]) -> LeafSwitches {
    let hosts: Vec<HostReport> =
        run_hosts.iter().map(|host| HostReport::empty(host.bare_name(), Via::None)).collect();
    let switches = fabrics.iter().map(|fabric| LeafSwitches::of_fabric(fabric, &hosts));
    switches.max_by_key(LeafSwitches::hosts).unwrap_or_default()
}

fn read(file: &Path) -> anyhow::Result<LeafSwitches> {
    let fix = "keep only the lines of leaf switches";
    let text = selection::text_of(file, LeafSwitches::MAX_BYTES, fix)?;
    LeafSwitches::parse(&text, &selection::expand)
        .map_err(|error| selection::error_at(file, error.line, &error.what, error.fix))
}

fn note_of_unknown<'a>(file: &Path, hosts: impl Iterator<Item = &'a RunHost>) -> Note {
    let names = names::fold(hosts.map(RunHost::bare_name));
    let text = format!(
        "{} has no leaf switch for {}; findings name it {UNKNOWN}",
        file_name(file),
        escape(&names),
    );
    Note { text, fix: Some("add the hosts to the file".into()) }
}
