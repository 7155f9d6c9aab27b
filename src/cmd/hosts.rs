//! Runs `rdmactl hosts`: prints the hosts of sets and files. Contacts no host.

use crate::cli::{Format, Global, HostsArgs};
use crate::hosts::{Host, HostSet, Site};
use crate::render::{HostEntry, HostsDocument, hosts_csv, to_json, to_json_lines};
use crate::term::Term;

use super::{Advice, Outcome, host_selection};

/// Prints the hosts; an empty list is a valid result.
pub(super) fn run(global: &Global, args: &HostsArgs, term: Term) -> anyhow::Result<Outcome> {
    let form = global.output();
    if (args.fold || args.size) && !matches!(form, Format::Table | Format::Plain) {
        let flag = if args.fold { "--fold" } else { "--size" };
        let fix = "omit one of the flags; --json also holds the folded set and its size";
        return Err(Advice::error(format!("{flag} contradicts --format and --json"), fix));
    }
    let site = Site::local();
    let mut sets = host_selection::flags(global, &site)?.into_iter().collect::<Vec<_>>();
    for set in &args.sets {
        sets.push(host_selection::set_of(set, &site)?);
    }
    if sets.is_empty() {
        let fix =
            "write for example: rdmactl hosts 'n[01-16]'; @job is the current Slurm or PBS job";
        return Err(Advice::error("hosts needs a host set", fix));
    }
    let all: HostSet = sets.into_iter().flatten().collect();
    term.write_stdout(if args.size {
        format!("{}\n", all.len())
    } else if args.fold {
        format!("{}\n", all.fold())
    } else {
        let entries = || all.iter().map(entry);
        match form {
            Format::Json => to_json(&HostsDocument::new(all.fold(), entries().collect()))?,
            Format::Ndjson => {
                let alone = |host: HostEntry| HostsDocument::new(host.host.clone(), vec![host]);
                to_json_lines(entries().map(alone))?
            }
            Format::Csv => hosts_csv(&entries().collect::<Vec<_>>())?,
            Format::Prom => {
                let fix = "for a metric per host: rdmactl devices -H SET -f prom";
                return Err(Advice::error("hosts does not support --format prom", fix));
            }
            // Html, Svg, Tree and Dot are refused earlier for this command.
            _ => all.iter().flat_map(|host| [host.to_string(), "\n".into()]).collect::<String>(),
        }
    })?;
    Ok(Outcome::Complete)
}

fn entry(host: &Host) -> HostEntry {
    let Host { user, name, port } = host.clone();
    HostEntry { host: host.to_string(), user, name, port }
}
