//! Queries remote hosts once, in parallel, and returns one report per host.
//!
//! Listings and captures use it. `LiveAgents` queries hosts repeatedly.

use std::collections::BTreeSet;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

use crate::capture::{Capture, CapturedHost};
use crate::cli::Global;
use crate::clock::{self, Deadline};
use crate::collect::host_report;
use crate::fleet::remote_command::Privilege;
use crate::fleet::{
    AgentStarter, CleanupFailure, Connector, HostReader, ReachedHost, Resolver, SshTimeouts,
    StartNotice, UploadPolicy, Watchdog, allow_descriptors, cancelled, fan_out,
};
use crate::hosts::Host;
use crate::model::{Fix, HostFailure, HostReport, Parts, Problem, Via};
use crate::render::Note;
use crate::source::{Recorded, Recording};

use super::outcome::{note, say};
use super::upload_notes::UploadNotes;
use super::{interrupt, launcher, terminal};

/// Returns the upload policy of listings, which can read hosts without an agent.
pub(super) fn upload(global: &Global) -> UploadPolicy {
    if global.upload { UploadPolicy::WhereMissing } else { UploadPolicy::Never }
}

/// Returns the connections and their watchdog, which a signal cancels.
pub(super) fn agent_starter(
    global: &Global,
    upload: UploadPolicy,
    hosts: &[Host],
) -> anyhow::Result<(AgentStarter, Watchdog)> {
    let watchdog = interrupt::start_watchdog()?;
    let term = terminal(global);
    let connector = Connector::new(watchdog.clone(), limits(global));
    let starter = new_starter(connector, global, upload, hosts, move |note| say(term, &note))?;
    Ok((starter, watchdog))
}

/// Returns the connections for a full-screen run, which request no passphrase. The caller cancels
/// the watchdog; `notify` gets the notes about connections.
pub(super) fn agent_starter_beside_screen(
    watchdog: &Watchdog,
    global: &Global,
    upload: UploadPolicy,
    hosts: &[Host],
    notify: impl Fn(Note) + Send + Sync + 'static,
) -> anyhow::Result<AgentStarter> {
    let connector = Connector::new(watchdog.clone(), limits(global)).without_prompts();
    new_starter(connector, global, upload, hosts, notify)
}

/// Returns the limits of one connection; a longer --timeout also gives the login more time.
fn limits(global: &Global) -> SshTimeouts {
    let usual = SshTimeouts::default();
    SshTimeouts { login: usual.login.max(global.timeout), ..usual }
}

fn new_starter(
    connector: Connector,
    global: &Global,
    upload: UploadPolicy,
    hosts: &[Host],
    notify: impl Fn(Note) + Send + Sync + 'static,
) -> anyhow::Result<AgentStarter> {
    allow_descriptors();
    let resolver = Resolver {
        user: global.login.clone(),
        config: global.ssh_config.clone(),
        options: global.ssh_option.clone(),
        ..Resolver::default()
    };
    let is_verbose = global.verbose > 0;
    let notes = UploadNotes::new(Box::new(notify));
    let notify = move |host: &Host, notice: &StartNotice| match notice {
        StartNotice::Uploading { bytes, why } => notes.add(host, *bytes, why),
        StartNotice::ByProgram { why } if is_verbose => {
            notes.tell(note(&format!("{host}: using the ssh program: {why}")));
        }
        StartNotice::ByProgram { .. } => {}
        StartNotice::Unchecked => notes.tell(note(&format!(
            "{host}: neither sha256sum nor busybox found; only the size of the upload was checked"
        ))),
    };
    let privilege = if global.sudo { Privilege::Sudo } else { Privilege::Login };
    let (timeout, notify) = (global.timeout, Box::new(notify));
    let launcher = launcher::of(global, hosts, connector.watchdog())?;
    let mut starter = AgentStarter::new(resolver, connector, upload, privilege, timeout, notify);
    starter.launcher = launcher;
    Ok(starter)
}

/// Report or recording of a host, with its source.
pub(super) struct ReadHost<T> {
    pub(super) what: T,
    pub(super) via: Via,
    /// Agent that could neither be ended nor killed.
    left: Option<CleanupFailure>,
}

type HostReply<T> = Result<ReadHost<T>, HostFailure>;

enum QueryEvent<T> {
    /// The host with this index responded or failed.
    Answered(usize, HostReply<T>),
    /// No host responded for [`QUIET`], and some hosts are outstanding.
    Quiet,
}

/// Time without a response after which [`report_in_batches`] passes on the reports it has.
const QUIET: Duration = Duration::from_secs(1);

/// Queries every host, and returns one report for each, in the same order.
///
/// # Errors
/// No host can be queried. A failed host is no error: its report holds the failure.
pub(super) fn report_hosts(
    global: &Global,
    hosts: Vec<Host>,
    parts: &Parts,
) -> anyhow::Result<Vec<HostReport>> {
    let ask = |reader: &HostReader, deadline| reader.report(parts, deadline);
    let asked = ask_hosts(global, hosts, ask)?;
    Ok(asked.into_iter().map(|(host, result)| report(&host, result)).collect())
}

/// Queries every host. When no host responds for [`QUIET`], `show` gets the new reports and the
/// outstanding hosts. At the end it gets the remaining reports, and no outstanding host.
///
/// # Errors
/// As for [`report_hosts`], or the first error of `show`, which ends the run.
pub(super) fn report_in_batches(
    global: &Global,
    hosts: &[Host],
    parts: &Parts,
    mut show: impl FnMut(Vec<HostReport>, &[&Host]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let ask = |reader: &HostReader, deadline| reader.report(parts, deadline);
    let mut outstanding: BTreeSet<usize> = (0..hosts.len()).collect();
    let mut batch: Vec<(usize, HostReport)> = Vec::new();
    let in_order = |batch: &mut Vec<(usize, HostReport)>| {
        batch.sort_by_key(|(index, _)| *index);
        batch.drain(..).map(|(_, report)| report).collect()
    };
    query_hosts(global, hosts, ask, |event| {
        match event {
            QueryEvent::Answered(index, answer) => {
                outstanding.remove(&index);
                batch.push((index, report(&hosts[index], answer)));
            }
            QueryEvent::Quiet if !batch.is_empty() => {
                let waiting: Vec<&Host> = outstanding.iter().map(|index| &hosts[*index]).collect();
                show(in_order(&mut batch), &waiting)?;
            }
            QueryEvent::Quiet => {}
        }
        Ok(())
    })?;
    batch.extend(outstanding.into_iter().map(|at| (at, report(&hosts[at], Err(cancelled())))));
    show(in_order(&mut batch), &[])
}

fn report(host: &Host, result: HostReply<HostReport>) -> HostReport {
    match result {
        Ok(ReadHost { what, via, left }) => {
            HostReport { host: host.to_string(), via, ..with_cleanup_failure(what, left) }
        }
        Err(failure) => HostReport::failed(host.to_string(), failure),
    }
}

/// Records the raw data of every host; returns the recordings and the reports derived from them.
pub(super) fn record_hosts(
    global: &Global,
    hosts: Vec<Host>,
    parts: &Parts,
) -> anyhow::Result<(Vec<HostReport>, Capture)> {
    let taken_ns = clock::wall_ns();
    let record = |reader: &HostReader, deadline| reader.record(parts, deadline);
    let asked = ask_hosts(global, hosts, record)?;
    let (mut reports, mut captured) = (Vec::new(), Vec::new());
    for (host, result) in asked {
        let name = host.to_string();
        match result {
            Ok(ReadHost { what: Recording { taken_ns, left_out, entries }, via, left }) => {
                let head = CapturedHost { left_out, ..CapturedHost::new(&*name, via, taken_ns) };
                let source = Recorded::new(entries.iter().cloned(), taken_ns);
                let mut report = host_report(&source, parts, name, via);
                report.problems.extend(head.incomplete());
                reports.push(with_cleanup_failure(report, left));
                captured.push((head, entries));
            }
            Err(failure) => {
                captured.push((CapturedHost::failed(&*name, failure.clone()), Vec::new()));
                reports.push(HostReport::failed(name, failure));
            }
        }
    }
    Ok((reports, Capture { taken_ns, hosts: captured }))
}

/// Queries every host, and returns each host with its result, in the same order.
fn ask_hosts<T: Send>(
    global: &Global,
    hosts: Vec<Host>,
    ask: impl Fn(&HostReader, Deadline) -> Result<T, HostFailure> + Sync,
) -> anyhow::Result<Vec<(Host, HostReply<T>)>> {
    let mut answers: Vec<Option<HostReply<T>>> = hosts.iter().map(|_| None).collect();
    query_hosts(global, &hosts, ask, |event| {
        if let QueryEvent::Answered(index, answer) = event {
            answers[index] = Some(answer);
        }
        Ok(())
    })?;
    let answers = answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(cancelled())));
    Ok(hosts.into_iter().zip(answers).collect())
}

/// Queries every host, and calls `each` on this thread for every event. After a cancel, some
/// hosts have no result.
///
/// # Errors
/// No host can be queried, or the first error of `each`, which cancels the run.
fn query_hosts<T: Send>(
    global: &Global,
    hosts: &[Host],
    ask: impl Fn(&HostReader, Deadline) -> Result<T, HostFailure> + Sync,
    mut each: impl FnMut(QueryEvent<T>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (starter, watchdog) = agent_starter(global, upload(global), hosts)?;
    let ask = |host: &Host| match ask_host(&starter, host, &ask) {
        // In a canceled run, rdmactl closed the connection itself.
        Err(_) if watchdog.is_cancelled() => Err(cancelled()),
        answer => answer,
    };
    let fanout = usize::from(global.fanout);
    let (send, answers) = mpsc::channel();
    thread::scope(|scope| {
        let (watchdog, starter) = (&watchdog, &starter);
        let run = move || {
            // The receiver takes results until the sender is dropped.
            let asked = fan_out(hosts, fanout, watchdog, ask, |index, answer| {
                let _ = send.send((index, answer));
            });
            // All agents have ended, so the following analysis must not delay a signal.
            starter.end();
            interrupt::local_work();
            asked
        };
        let run = thread::Builder::new().name("hosts".into()).spawn_scoped(scope, run);
        let run = run.context("cannot start a thread")?;
        let mut result = Ok(());
        loop {
            let event = match answers.recv_timeout(QUIET) {
                Ok((index, answer)) => QueryEvent::Answered(index, answer),
                Err(RecvTimeoutError::Timeout) => QueryEvent::Quiet,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if result.is_ok() {
                result = each(event).inspect_err(|_| watchdog.cancel());
            }
        }
        match run.join() {
            Ok(ended) => ended.context("cannot start a thread").and(result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn ask_host<T>(
    starter: &AgentStarter,
    host: &Host,
    ask: impl Fn(&HostReader, Deadline) -> Result<T, HostFailure>,
) -> HostReply<T> {
    let ReachedHost { what: reader, via, deadline } = starter.host_reader(host)?;
    match ask(&reader, deadline) {
        Ok(what) => {
            let left = reader.end(Deadline::after(HostReader::END_TIMEOUT)).err();
            Ok(ReadHost { what, via, left })
        }
        Err(failure) => Err(starter.suggest_time(reader.give_up(failure), starter.timeout)),
    }
}

fn with_cleanup_failure(mut report: HostReport, left: Option<CleanupFailure>) -> HostReport {
    report.problems.extend(left.map(|CleanupFailure { detail, fix }| Problem {
        key: "agent".into(),
        source: "rdmactl agent".into(),
        errno: None,
        detail,
        fix: Some(Fix::of_operator(fix)),
        not_recorded: false,
    }));
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_stays_is_a_problem_of_its_host() {
        let whole = HostReport::empty("n1", Via::Agent);
        assert!(!with_cleanup_failure(whole.clone(), None).is_incomplete());
        let detail = "agent still running on n1 (pid 42)".to_owned();
        let left = CleanupFailure { detail, fix: "end it: ssh n1 kill 42".into() };
        let report = with_cleanup_failure(whole, Some(left));
        assert!(report.is_incomplete());
        let notes = crate::render::notes(&[HostReport { rdma_core: None, ..report }], true, false);
        assert_eq!(notes[0].text, "n1: agent: agent still running on n1 (pid 42)");
        assert_eq!(notes[0].fix.as_deref(), Some("end it: ssh n1 kill 42"));
    }
}
