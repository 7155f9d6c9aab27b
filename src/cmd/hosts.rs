//! Reports of remote hosts.

use std::time::Duration;

use anyhow::Context as _;

use crate::cli::Global;
use crate::clock::Deadline;
use crate::collect::Parts;
use crate::fleet::remote_command::Privilege;
use crate::fleet::{
    Connector, Host, HostSet, Limits, Reach, Resolver, UploadPolicy, Watchdog, allow_descriptors,
    fan_out,
};
use crate::model::{HostFailure, HostReport, Reason};

use super::Advice;

/// The way to other hosts that the flags describe, with the watchdog over all its connections.
pub(super) fn reach(global: &Global, upload: UploadPolicy) -> anyhow::Result<(Reach, Watchdog)> {
    allow_descriptors();
    let watchdog = Watchdog::start().context("cannot start a thread")?;
    let resolver =
        Resolver { user: global.login.clone(), config: global.ssh_config.clone(), program: None };
    let connector = Connector::new(watchdog.clone(), Limits::default());
    let reach = Reach::new(resolver, connector, upload, Privilege::Login, global.timeout);
    Ok((reach, watchdog))
}

/// The hosts that an expression names.
///
/// # Errors
/// The expression is wrong: the error points at the place.
pub(super) fn host_set(expression: &str) -> anyhow::Result<Vec<Host>> {
    let set = HostSet::parse(expression).map_err(|error| {
        Advice::error(format!("no host set:\n{error}"), "write host sets as in n[01-16,20],gpu3")
    })?;
    if set.is_empty() {
        return Err(Advice::error("the host set is empty", "name at least one host"));
    }
    Ok(set.iter().cloned().collect())
}

/// Asks every host of the set, and gives one report for each, in the order of the set.
///
/// # Errors
/// The set cannot be read. A host that gives no answer is a report with its failure.
pub(super) fn report_hosts(
    global: &Global,
    hosts: &str,
    parts: Parts,
) -> anyhow::Result<Vec<HostReport>> {
    let hosts = host_set(hosts)?;
    let upload = if global.upload { UploadPolicy::WhereMissing } else { UploadPolicy::Never };
    let (reach, watchdog) = reach(global, upload)?;
    let mut reports: Vec<Option<HostReport>> = vec![None; hosts.len()];
    let ask = |host: &Host| report(&reach, host, parts);
    let fanout = usize::from(global.fanout);
    fan_out(&hosts, fanout, &watchdog, ask, |index, report| reports[index] = Some(report))
        .context("cannot start a thread")?;
    let skipped = |host: &Host| {
        HostReport::failed(
            host.to_string(),
            HostFailure::new(Reason::Cancelled, "the run was ended before this host's turn"),
        )
    };
    let all = hosts.iter().zip(reports);
    Ok(all.map(|(host, report)| report.unwrap_or_else(|| skipped(host))).collect())
}

fn report(reach: &Reach, host: &Host, parts: Parts) -> HostReport {
    let asked = reach.agent(host).and_then(|(agent, via)| {
        let deadline = Deadline::after(reach.timeout);
        let report = agent.report(parts.verbs, deadline)?;
        // An agent that does not leave in time ends by itself when its input does.
        let _ = agent.end(Deadline::after(Duration::from_secs(1)));
        Ok((report, via))
    });
    match asked {
        Ok((report, via)) => HostReport { host: host.to_string(), via, ..report },
        Err(failure) => HostReport::failed(host.to_string(), failure),
    }
}
