//! Finds the leaf switches of the hosts of a run in the file of `--topology`: a saved fabric, or
//! a text file that `topology` parses.

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

/// Fixes for a file that lacks hosts of the run. They depend on the kind of the file.
struct Fixes {
    /// Fix for a file without any host of the run.
    of_all: String,
    /// Fix for a file with some hosts of the run.
    of_some: String,
}

impl Fixes {
    /// Returns the fixes for a saved fabric, in which the operator changes no line.
    fn of_fabric(file: &Path) -> anyhow::Result<Self> {
        let file = file.display().to_string();
        let list = format!("rdmactl fabric nodes --from {}", shlex::try_quote(&file)?);
        let fix = format!("compare the host names with the node descriptions: {list}");
        Ok(Self { of_all: fix.clone(), of_some: fix })
    }

    /// Returns the fixes for a text file.
    fn of_text() -> Self {
        let example = "leaf leaf1 n[01-16], or SwitchName=leaf1 Nodes=n[01-16]";
        Self {
            of_all: format!("use the names of the host set in the file, for example: {example}"),
            of_some: "add the hosts to the file".into(),
        }
    }
}

/// Returns the topology of the hosts; `None` without `--topology`. Prints a note that lists the
/// hosts without a leaf switch in the file.
pub(super) fn topology(
    args: &PingArgs,
    hosts: &[RunHost],
    term: Term,
) -> anyhow::Result<Option<Topology>> {
    let Some(file) = &args.topology else { return Ok(None) };
    let (switches, fixes) = match local::fabrics(file)? {
        Some(fabrics) => (of_fabrics(&fabrics, hosts), Fixes::of_fabric(file)?),
        None => (read(file)?, Fixes::of_text()),
    };
    let RunTopology { topology, unknown } = switches.of_run(hosts.iter().map(RunHost::bare_name));
    if unknown.len() == hosts.len() {
        let what = format!("{} names no host of this run", file_name(file));
        return Err(Advice::error(what, fixes.of_all));
    }
    if !unknown.is_empty() {
        let unknown_hosts = unknown.iter().filter_map(|&index| hosts.get(index));
        say(term, &note_of_unknown(file, unknown_hosts, &fixes.of_some));
    }
    Ok(Some(topology))
}

/// Returns the leaf switches of the subnet that has the most hosts of the run. Looks up hosts by
/// name, because rdmactl makes the plan before it reads their GUIDs.
fn of_fabrics(fabrics: &[Fabric], run_hosts: &[RunHost]) -> LeafSwitches {
    let hosts: Vec<HostReport> =
        run_hosts.iter().map(|host| HostReport::empty(host.bare_name(), Via::None)).collect();
    let switches = fabrics.iter().map(|fabric| LeafSwitches::of_fabric(fabric, &hosts));
    switches.max_by_key(LeafSwitches::hosts).unwrap_or_default()
}

/// Reads a text file with leaf switches.
fn read(file: &Path) -> anyhow::Result<LeafSwitches> {
    let fix = "keep only the lines of leaf switches";
    let text = selection::text_of(file, LeafSwitches::MAX_BYTES, fix)?;
    LeafSwitches::parse(&text, &selection::expand)
        .map_err(|error| selection::error_at(file, error.line, &error.what, error.fix))
}

fn note_of_unknown<'a>(file: &Path, hosts: impl Iterator<Item = &'a RunHost>, fix: &str) -> Note {
    let names = names::fold(hosts.map(RunHost::bare_name));
    let text = format!(
        "{} has no leaf switch for {}; findings name it {UNKNOWN}",
        file_name(file),
        escape(&names),
    );
    Note { text, fix: Some(escape(fix).into_owned()) }
}
