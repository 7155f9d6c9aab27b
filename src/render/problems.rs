//! Findings as lines below a listing, each with its fix.

use std::fmt::Write as _;

use super::escape;
use crate::model::{Finding, Severity, Subject};
use crate::names;

const MAX_FINDINGS: usize = 20;

/// Formats the first findings below an empty line; `all` is the command that lists all. The hosts
/// stand before the subject if the user named them. Without findings, the text is empty.
pub fn render_problems(findings: &[Finding], hosts_named: bool, all: &str) -> String {
    let mut text = String::new();
    for finding in findings.iter().take(MAX_FINDINGS) {
        let mark = mark(finding.severity);
        let who = who(finding, hosts_named);
        let cause = Some((finding.what.as_str(), finding.fix.as_deref()));
        write_entry(&mut text, mark, &who, finding.code, cause);
    }
    if findings.len() > MAX_FINDINGS {
        let _ = writeln!(text, "{} more findings: {all}", findings.len() - MAX_FINDINGS);
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// Returns hosts and subject of a finding; the hosts only if the user named them, and the subject
/// does not. The text is not escaped.
pub(super) fn who(finding: &Finding, hosts_named: bool) -> String {
    let has_hosts = hosts_named && !matches!(finding.subject, Subject::Pair(_));
    let hosts = if has_hosts { names::fold(&finding.hosts) + " " } else { String::new() };
    format!("{hosts}{}", finding.subject)
}

/// Returns the mark of a severity, which shows the severity without color.
pub(super) fn mark(severity: Severity) -> char {
    match severity {
        Severity::Fail => '!',
        Severity::Unknown => '?',
        Severity::Warn => '~',
        Severity::Info | Severity::Past => '-',
    }
}

/// Writes an item below a listing: a line with a mark, then the cause and its fix.
pub(super) fn write_entry(
    text: &mut String,
    mark: char,
    who: &str,
    word: &str,
    cause: Option<(&str, Option<&str>)>,
) {
    let _ = writeln!(text, "{mark} {}: {word}", escape(who));
    if let Some((what, fix)) = cause {
        let _ = writeln!(text, "    {}", escape(what));
        if let Some(fix) = fix {
            let _ = writeln!(text, "    fix: {}", escape(fix));
        }
    }
}
