//! Resolves the host sets of a command line to hosts. Contacts no host.

use std::path::Path;

use anyhow::Context as _;

use crate::cli::{self, Global};
use crate::hosts::{Host, HostSet, Lookup as _, ResolvedLineError, Site};

use super::{Advice, launcher};

/// Returns the named hosts, or the hosts of the launcher; `None` for this host.
pub(super) fn hosts(global: &Global) -> anyhow::Result<Option<Vec<Host>>> {
    // A capture file is read on this host; the named hosts are selected from the file.
    if global.from.is_some() {
        return Ok(None);
    }
    if let hosts @ Some(_) = named(global)? {
        return Ok(hosts);
    }
    match global.launcher {
        cli::LauncherArg::Ssh => Ok(None),
        cli::LauncherArg::Slurm => {
            launcher::job()?;
            of_set("@job").map(Some)
        }
        cli::LauncherArg::Exec(_) => {
            let fix = "name the hosts, for example: -H 'pod[1-4]'";
            Err(Advice::error("--launcher exec needs hosts", fix))
        }
    }
}

/// Returns the hosts of `-H` and `--hosts-file`: at least one, and not too many.
pub(super) fn named(global: &Global) -> anyhow::Result<Option<Vec<Host>>> {
    flags(global, &Site::local())?.map(some).transpose()
}

/// Returns the set of `-H` and `--hosts-file`, which may be empty or too large.
pub(super) fn flags(global: &Global, site: &Site) -> anyhow::Result<Option<HostSet>> {
    if !global.names_hosts() {
        return Ok(None);
    }
    let mut sets = Vec::new();
    for set in &global.hosts {
        refuse_device(set)?;
        let found = set_of(set, site);
        sets.push(match &global.configured.hosts_origin {
            Some(origin) => found.with_context(|| format!("hosts of {origin}"))?,
            None => found?,
        });
    }
    if let Some(file) = &global.hosts_file {
        sets.push(file_of(file, site)?);
    }
    Ok(Some(sets.into_iter().flatten().collect()))
}

/// Refuses the name of an RDMA device or network interface of this host.
fn refuse_device(word: &str) -> anyhow::Result<()> {
    let is_plain =
        word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
    let kinds =
        [("infiniband", "an RDMA device", "device"), ("net", "a network interface", "netdev")];
    for (class, noun, column) in kinds.into_iter().filter(|_| is_plain && !word.is_empty()) {
        if Path::new("/sys/class").join(class).join(word).exists() {
            let what = format!("{word} is {noun} of this host, not a host");
            let fix = format!("show it: rdmactl ports -w '{column}=={word}'");
            return Err(Advice::error(what, fix));
        }
    }
    Ok(())
}

/// Returns the hosts of an expression that names at least one host, and not too many.
pub(super) fn of_set(expression: &str) -> anyhow::Result<Vec<Host>> {
    some(set_of(expression, &Site::local())?)
}

pub(super) fn set_of(expression: &str, site: &Site) -> anyhow::Result<HostSet> {
    HostSet::find(expression, site).map_err(|error| {
        let fix = "write a host set such as n[01-16,20],gpu3; all forms: rdmactl help hosts";
        Advice::error(format!("invalid host set:\n{error}"), fix)
    })
}

fn file_of(file: &str, site: &Site) -> anyhow::Result<HostSet> {
    let found = site.file(file).map_err(|error| match error.fix {
        Some(fix) => Advice::error(error.message, fix),
        None => anyhow::Error::msg(error.message),
    })?;
    HostSet::of_lines(found, site).map_err(|ResolvedLineError { place, error }| {
        let path = file.rsplit(':').next().unwrap_or(file);
        let fix =
            format!("correct the line, or name the kind of the file: --hosts-file KIND:{path}");
        Advice::error(format!("invalid host set in {place}:\n{error}"), fix)
    })
}

fn some(set: HostSet) -> anyhow::Result<Vec<Host>> {
    if set.is_empty() {
        let fix = "name at least one host; print a set: rdmactl hosts SET";
        return Err(Advice::error("the host set is empty", fix));
    }
    if set.len() > HostSet::MAX_HOSTS {
        let what = format!("{} hosts are over the limit of 65,536 hosts", set.len());
        return Err(Advice::error(what, "split the hosts into several runs"));
    }
    Ok(set.into_iter().collect())
}
