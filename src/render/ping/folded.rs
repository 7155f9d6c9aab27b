//! Combines findings of hosts that differ only in the name of the host.
//!
//! JSON keeps the finding of each host.

use std::fmt::Write as _;

use super::super::groups::groups;
use super::super::notes::{LONGEST_SET, with_fix, without_addresses};
use super::{escape, how_often, write_check};
use crate::model::ping::{Code, Finding, PingReport, name_rails};
use crate::model::probe::Stage;
use crate::names;

#[derive(PartialEq, Eq, Hash)]
struct FoldKey<'report> {
    code: Code,
    stage: Option<&'static str>,
    rails: &'report [usize],
    /// Fraction of the peers with which the host fails; `None` for all peers.
    how_often: Option<String>,
    was_reached: bool,
    check: Option<&'report str>,
    /// Detail and fix without the names.
    text: String,
}

impl<'report> FoldKey<'report> {
    /// Returns the key of a finding; `None` for a finding without a host.
    fn of(report: &'report PingReport, finding: &'report Finding) -> Option<Self> {
        let host = finding.host?;
        let Finding { code, stage, ref rails, .. } = *finding;
        let stage = stage.map(Stage::phrase);
        let was_reached = report.was_reached(host);
        let text = with_fix(&finding.detail, finding.hint.as_deref());
        let text = unnamed(report, finding, &text);
        // The texts of hosts that are not reached differ in their addresses, too.
        let text = if was_reached { text } else { without_addresses(&text) };
        let how_often = (finding.failed != finding.of).then(|| how_often(report, finding));
        let check = finding.check.as_deref();
        Some(Self { code, stage, rails, how_often, was_reached, check, text })
    }
}

/// Returns the text with `#source` and `#target` for the names of both ends of the pair. For a
/// host that was not reached, only its own name is replaced: the text has no other end.
fn unnamed(report: &PingReport, finding: &Finding, text: &str) -> String {
    let without = |text: &str, host: usize, by: &str| match report.hosts.get(host) {
        Some(host) => names::replace(text, &host.name, by),
        None => text.to_owned(),
    };
    match finding.host {
        Some(host) if !report.was_reached(host) => without(text, host, "#"),
        _ => without(&without(text, finding.source, "#source"), finding.target, "#target"),
    }
}

/// Groups the findings that are combined, in the order of the first finding of each group.
pub(super) fn fold<'report>(
    report: &'report PingReport,
    findings: &[&'report Finding],
) -> Vec<Vec<&'report Finding>> {
    groups(findings.iter().map(|&finding| (FoldKey::of(report, finding), finding)))
}

/// Writes several findings as one, with the text of the first.
pub(super) fn write(text: &mut String, report: &PingReport, alike: &[&Finding]) {
    let Some((first, rest)) = alike.split_first() else { return };
    let hosts = alike.iter().filter_map(|finding| report.hosts.get(finding.host?));
    let set = escape(&names::fold(hosts.map(|host| &host.name))).into_owned();
    let of_first = how_often(report, first);
    let is_common = rest.iter().all(|finding| how_often(report, finding) == of_first);
    let often = if is_common { of_first } else { "with all of its peers".to_owned() };
    let stage = first.stage.map_or(String::new(), |stage| format!(", {}", stage.phrase()));
    let (code, rails) = (first.code.word(), name_rails(&first.rails));
    let count = alike.len();
    let _ = writeln!(text, "! {set}{rails}: {code} ({count} hosts, each {often}{stage})");
    let name = |host: usize| report.hosts.get(host).map_or("?", |host| host.name.as_str());
    let own = name(first.host.unwrap_or(first.source));
    let is_of_pair = first.host.is_some_and(|host| report.was_reached(host));
    let has_one_text = |detail: fn(&Finding) -> &str| {
        let of = |finding: &Finding| {
            let own = name(finding.host.unwrap_or(finding.source));
            names::replace(detail(finding), own, "#")
        };
        rest.iter().all(|finding| of(finding) == of(first))
    };
    let detail = escape(&first.detail);
    let detail = if is_of_pair {
        format!("{} -> {}: {detail}", escape(name(first.source)), escape(name(first.target)))
    } else if set.len() <= LONGEST_SET && has_one_text(|finding| &finding.detail) {
        names::replace(&detail, &escape(own), &set)
    } else {
        format!("{}: {detail}", escape(own))
    };
    let _ = writeln!(text, "    {detail}");
    if let Some(hint) = &first.hint {
        let is_common = rest.iter().all(|finding| finding.hint.as_ref() == Some(hint));
        let lead = if is_common { String::new() } else { format!("on each host, as for {own}: ") };
        let _ = writeln!(text, "    fix: {}", escape(&(lead + hint)));
    }
    write_check(text, report, alike);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ping::{Side, Verdict};
    use crate::model::{HostFailure, Reason};

    /// Renders a finding for each host; `text` makes detail and fix from the name of the host.
    fn told(hosts: &[&str], was_reached: bool, text: fn(&str) -> (String, String)) -> String {
        let list = |host: &&str| {
            let failure = (!was_reached).then(|| HostFailure::new(Reason::Unresolved, "x"));
            serde_json::json!({ "name": host, "kernel": null, "failure": failure })
        };
        let mut report: PingReport = serde_json::from_value(serde_json::json!({
            "hosts": hosts.iter().map(list).collect::<Vec<_>>(), "pairs": [], "findings": [],
            "elapsed_ms": 1, "left_behind": []
        }))
        .unwrap();
        report.findings = (0..hosts.len())
            .map(|host| {
                let (detail, hint) = text(hosts[host]);
                let verdict = Verdict {
                    code: Code::Unreached,
                    stage: Some(Stage::Agent),
                    side: Side::Target,
                    error: None,
                    detail,
                    hint: Some(hint),
                };
                let of_pair = Finding::of_verdict(host, (host + 1) % hosts.len(), &verdict);
                Finding { host: Some(host), host_pairs_failed: 2, host_pairs: 2, ..of_pair }
            })
            .collect();
        super::super::render_findings(&report)
    }

    fn unresolved(host: &str) -> (String, String) {
        (format!("no address for {host}: unknown"), format!("check the name: getent hosts {host}"))
    }

    #[test]
    fn hosts_that_fail_alike_are_one_finding() {
        let text = told(&["n1", "n2", "n3"], false, unresolved);
        let expected = "! n[1-3]: peer.unreached (3 hosts, each with 2 of 2 hosts, while starting \
            the agent)\n    no address for n[1-3]: unknown\n    \
            fix: on each host, as for n1: check the name: getent hosts n1\n";
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(text.matches("\n!").count(), 0, "{text}");
    }

    #[test]
    fn hosts_that_fail_in_other_words_are_not_one_finding() {
        let text = told(&["n1", "n2", "n3"], false, |host| {
            let other = if host == "n2" { "refused" } else { "timeout" };
            (other.into(), "look".into())
        });
        assert!(text.starts_with("! n[1,3]: ") && text.contains("\n! n2: "), "{text}");
        assert!(text.contains("    timeout\n    fix: look\n"), "{text}");
    }

    #[test]
    fn only_the_address_of_the_first_host_is_shown() {
        let text = told(&["n1", "n2"], false, |host| {
            let number = host.trim_start_matches('n');
            (format!("10.0.0.{number}:22: refused"), format!("look at {host}"))
        });
        assert!(text.contains("! n[1-2]: ") && text.contains("    n1: 10.0.0.1:22: refused\n"));
    }

    #[test]
    fn hosts_that_differ_in_the_address_at_the_end_of_the_detail_are_one_finding() {
        let text = told(&["n1", "n2", "n3"], false, |host| {
            let number = host.trim_start_matches('n');
            (format!("jump host gw cannot reach 10.0.0.{number}:22"), "look at gw".into())
        });
        let detail = "    n1: jump host gw cannot reach 10.0.0.1:22\n    fix: look at gw\n";
        assert!(text.starts_with("! n[1-3]: ") && text.contains(detail), "{text}");
        assert_eq!(text.matches("\n!").count(), 0, "{text}");
    }

    #[test]
    fn a_finding_with_a_peer_shows_its_first_pair() {
        let text = told(&["n1", "n2"], true, |host| (format!("{host} hangs"), "look".into()));
        assert!(text.starts_with("! n[1-2]: ") && text.contains("    n1 -> n2: n1 hangs\n"));
    }

    /// Renders findings that a check explains: of hosts, or of pairs of two hosts.
    fn with_check(hosts: &[&str], check: &str, is_of_host: bool) -> String {
        let list =
            |host: &&str| serde_json::json!({ "name": host, "kernel": null, "failure": null });
        let finding = |source: usize| {
            serde_json::json!({
                "host": is_of_host.then_some(source), "source": source,
                "target": (source + 1) % hosts.len(), "code": "local.link_down", "stage": null,
                "detail": "down", "hint": "look", "check": check, "failed": 1, "of": 1,
            })
        };
        let report: PingReport = serde_json::from_value(serde_json::json!({
            "hosts": hosts.iter().map(list).collect::<Vec<_>>(), "pairs": [],
            "findings": (0..hosts.len() - 1).map(finding).collect::<Vec<_>>(),
            "elapsed_ms": 1, "left_behind": []
        }))
        .unwrap();
        super::super::render_findings(&report)
    }

    #[test]
    fn a_finding_names_the_command_that_shows_its_cause() {
        let text = with_check(&["n1", "n2"], "port.down", true);
        let see = "    fix: look\n    see: rdmactl check -H n1 --only port.down\n";
        assert!(text.contains(see), "{text}");
        let text = with_check(&["n1", "n2"], "port.down", false);
        let see = "    see: rdmactl check -H 'n[1-2]' --only port.down\n";
        assert!(text.contains(see), "either host of a pair: {text}");
        let text = with_check(&["n1", "n2"], "mac.duplicate", true);
        let see = "    see: rdmactl check -H 'n[1-2]' --only mac.duplicate\n";
        assert!(text.contains(see), "the check compares hosts: {text}");
        let text = with_check(&["n1", "n2", "n3"], "port.down", true);
        let see = "    see: rdmactl check -H 'n[1-2]' --only port.down\n";
        assert!(text.contains(see) && text.matches("see:").count() == 1, "both hosts: {text}");
    }

    #[test]
    fn a_check_of_a_file_is_no_command() {
        let text = with_check(&["n1", "n2"], "port.down; reboot", true);
        assert!(!text.contains("see:") && !text.contains("reboot"), "{text}");
        let text = with_check(&["n1;reboot", "n2"], "port.down", true);
        assert!(text.contains("    see: rdmactl check -H HOST --only port.down\n"), "{text}");
    }

    #[test]
    fn an_odd_name_is_escaped() {
        let text = told(&["a\u{1b}[1m", "b"], false, unresolved);
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
