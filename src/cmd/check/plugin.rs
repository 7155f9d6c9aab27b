//! Formats the result of `rdmactl check --plugin` for hosts that were not read and for errors.
//!
//! `render` formats the findings. `cmd/check.rs` uses the module in place of a listing.

use crate::cli::Plugin;
use crate::cmd::local::Reports;
use crate::cmd::outcome::short_words;
use crate::cmd::{Advice, Outcome, connection_flags};
use crate::model::{CheckReport, HostFailure, HostReport};
use crate::names;
use crate::render::{Note, escape, nagios, nhc, notes, without_bar};
use crate::term::{OutputError, Term};

/// Returns the text and the exit code of a plug-in.
///
/// A run without a finding is not OK for Nagios if a host was not read completely, or if a pair
/// was not tested. Node Health Check has no result "unknown", and drains a node with an error:
/// only a host that was not read is an error.
pub(super) fn text(
    plugin: Plugin,
    report: &CheckReport,
    reports: &Reports,
    outcome: Outcome,
) -> (String, u8) {
    let (text, code) = match plugin {
        Plugin::Nagios => nagios(report, reports.hosts_named),
        Plugin::Nhc => nhc(report, reports.hosts_named),
    };
    let is_unread =
        outcome == Outcome::Nothing || reports.hosts.iter().any(|it| it.failure.is_some());
    let is_known = outcome == Outcome::Complete || (plugin == Plugin::Nhc && !is_unread);
    if code > 0 || is_known {
        return (text, code);
    }
    let missing = escape(&missing(reports, outcome)).into_owned();
    let notes = notes(&reports.hosts, reports.hosts_named, false);
    let mut reasons = notes.iter().map(reason);
    match plugin {
        Plugin::Nagios => {
            let first = format!("RDMA UNKNOWN: {}", without_bar(&missing));
            let numbers = " | fail=0 warn=0 unknown=0\n";
            let lines = reasons.map(|reason| without_bar(&reason) + "\n");
            (first + numbers + &lines.collect::<String>(), 3)
        }
        Plugin::Nhc => {
            let reason = reasons.next().map(|reason| format!("; {reason}")).unwrap_or_default();
            (format!("ERROR: rdmactl check: {missing}{reason}\n"), 1)
        }
    }
}

/// Prints an error as the result of a plug-in. Monitoring systems read only stdout.
///
/// # Errors
/// Stdout cannot be written.
pub(super) fn print_error(
    plugin: Plugin,
    error: anyhow::Error,
    term: Term,
) -> anyhow::Result<Outcome> {
    if error.is::<OutputError>() {
        return Err(error);
    }
    let (text, code) = text_of_error(plugin, &error);
    term.write_stdout(text)?;
    Ok(Outcome::Original(code))
}

fn text_of_error(plugin: Plugin, error: &anyhow::Error) -> (String, u8) {
    let lines = format!("{error:#}");
    let what = lines.lines().map(|line| short_words(line.trim())).collect::<Vec<_>>().join(" ");
    let fix = error.chain().find_map(|cause| match cause.downcast_ref::<Advice>() {
        Some(advice) => Some(&advice.fix),
        None => cause.downcast_ref::<HostFailure>()?.fix.as_ref(),
    });
    let note = Note { text: what, fix: fix.cloned() };
    let line = escape(&reason(&note)).into_owned();
    match plugin {
        Plugin::Nagios => (format!("RDMA UNKNOWN: {}\n", without_bar(&line)), 3),
        Plugin::Nhc => (format!("ERROR: rdmactl check: {line}\n"), 1),
    }
}

/// Names the hosts that were not read, and the hosts with values that could not be read.
fn missing(reports: &Reports, outcome: Outcome) -> String {
    let is_unread = |report: &HostReport| outcome == Outcome::Nothing || report.failure.is_some();
    let named = |what: &str, is_named: &dyn Fn(&HostReport) -> bool| {
        let hosts = reports.hosts.iter().filter(|report| is_named(report));
        let names = names::fold(hosts.map(|report| &report.host));
        (!names.is_empty()).then(|| format!("{what}: {names}"))
    };
    let unread = named("not read", &is_unread);
    let partial = named("read in part", &|report| !is_unread(report) && report.is_incomplete());
    let clauses: Vec<String> = unread.into_iter().chain(partial).collect();
    if clauses.is_empty() {
        "the test of the pairs is not complete".to_owned()
    } else {
        clauses.join("; ")
    }
}

/// Formats a note as one line.
fn reason(note: &Note) -> String {
    match &note.fix {
        Some(fix) => format!("{}; fix: {}", note.text, connection_flags::in_fix(fix)),
        None => note.text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HostResults, Problem, Reason, Via};

    fn report() -> CheckReport {
        CheckReport {
            findings: Vec::new(),
            hosts: vec![HostResults::default()],
            accepted: Vec::new(),
            usual: Vec::new(),
        }
    }

    fn read(hosts: Vec<HostReport>) -> Reports {
        Reports { hosts, hosts_named: true, taken_ns: None, saved: Ok(()) }
    }

    fn unread_and_partial() -> Reports {
        let failure = HostFailure::new(Reason::Refused, "connection refused").fix("start sshd | x");
        let reason = "EACCES (permission denied)";
        let problem =
            Problem::of_device_file("mlx5_0", "/dev/infiniband/uverbs0", "EACCES", reason);
        let partial = HostReport {
            problems: [problem].into_iter().collect(),
            ..HostReport::empty("n2", Via::Agent)
        };
        read(vec![HostReport::failed("n1", failure), partial])
    }

    #[test]
    fn a_host_that_was_not_read_is_not_ok() {
        let reports = unread_and_partial();
        let text = |plugin, outcome| text(plugin, &report(), &reports, outcome);
        let (output, code) = text(Plugin::Nagios, Outcome::Incomplete);
        let lines: Vec<&str> = output.lines().collect();
        let first = "RDMA UNKNOWN: not read: n1; read in part: n2 | fail=0 warn=0 unknown=0";
        assert_eq!((lines[0], code), (first, 3));
        assert_eq!(lines[1], "n1: connection refused; fix: start sshd / x");
        assert!(lines[2].contains("n2: ") && lines[2].contains("uverbs0"), "{output}");
        let (output, code) = text(Plugin::Nhc, Outcome::Incomplete);
        let line = "ERROR: rdmactl check: not read: n1; read in part: n2; n1: connection refused; \
                    fix: start sshd | x\n";
        assert_eq!((output.as_str(), code), (line, 1));
        let (output, code) = text(Plugin::Nagios, Outcome::Nothing);
        assert!(output.starts_with("RDMA UNKNOWN: not read: n[1-2] |") && code == 3, "{output}");
        assert_eq!(text(Plugin::Nagios, Outcome::Complete).1, 0);
        assert_eq!(text(Plugin::Nhc, Outcome::Complete), ("OK: rdmactl check\n".into(), 0));
    }

    #[test]
    fn pairs_that_were_not_tested_are_not_ok() {
        let reports = read(vec![HostReport::empty("n1", Via::Agent)]);
        let text = |plugin| text(plugin, &report(), &reports, Outcome::Incomplete);
        let line =
            "RDMA UNKNOWN: the test of the pairs is not complete | fail=0 warn=0 unknown=0\n";
        assert_eq!(text(Plugin::Nagios), (line.into(), 3));
        assert_eq!(text(Plugin::Nhc), ("OK: rdmactl check\n".into(), 0), "no host is drained");
    }

    #[test]
    fn an_error_is_a_result_on_stdout() {
        let error = Advice::error("cannot read a|b\n  ^ no host", "name a file");
        let (text, code) = text_of_error(Plugin::Nagios, &error);
        let expected = "RDMA UNKNOWN: cannot read a/b ^ no host; fix: name a file\n";
        assert_eq!((text.as_str(), code), (expected, 3));
        let error = anyhow::anyhow!("cannot start a thread\u{1b}").context("the read");
        let (text, code) = text_of_error(Plugin::Nhc, &error);
        let expected = "ERROR: rdmactl check: the read: cannot start a thread\\x1b\n";
        assert_eq!((text.as_str(), code), (expected, 1));
        let closed = print_error(Plugin::Nhc, OutputError::Closed.into(), Term::default());
        assert!(closed.unwrap_err().is::<OutputError>());
    }
}
