//! Findings as lines below a listing, each with its fix.

use std::fmt::Write as _;

use super::escape;
use crate::model::{Finding, Severity};
use crate::names;

/// Limit of the findings below a listing.
const MAX: usize = 20;

/// Formats findings, the first ones in full; `all` is the command that lists all.
///
/// The hosts stand before the subject if the user named them.
#[must_use]
pub fn render_problems(findings: &[Finding], hosts_named: bool, all: &str) -> String {
    let mut text = String::new();
    for finding in findings.iter().take(MAX) {
        let mark = match finding.severity {
            Severity::Fail => "!",
            Severity::Unknown => "?",
            Severity::Warn => "~",
            // A listing is one sample, and findings in the past need several.
            Severity::Past => "-",
        };
        let hosts = if hosts_named {
            format!("{} ", escape(&names::fold(&finding.hosts)))
        } else {
            String::new()
        };
        let subject = finding.subject.to_string();
        let _ = writeln!(text, "{mark} {hosts}{}: {}", escape(&subject), finding.code);
        let _ = writeln!(text, "    {}", escape(&finding.what));
        if let Some(fix) = &finding.fix {
            let _ = writeln!(text, "    fix: {}", escape(fix));
        }
    }
    if findings.len() > MAX {
        let _ = writeln!(text, "{} more findings: {all}", findings.len() - MAX);
    }
    text
}
