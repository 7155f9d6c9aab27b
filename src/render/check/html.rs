//! Page of `check --format html`: the findings, to attach to a ticket. It has no script and loads
//! nothing.

use std::fmt::Write as _;

use crate::clock::utc_text;
use crate::model::{CheckReport, CheckedFinding, Severity};
use crate::names;
use crate::render::escape;
use crate::render::json::TOOL;
use crate::render::ping::xml;
use crate::render::problems::who;

const STYLE: &str = "\
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2em;max-width:70em}\
table{border-collapse:collapse}td,th{border:1px solid #8888;padding:.2em .6em;text-align:left;\
vertical-align:top}code{font:13px ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere}\
.fail{border-left:.4em solid #c62828}.warn{border-left:.4em solid #ef9a00}\
.unknown{border-left:.4em solid #6a6f78}.info{border-left:.4em solid #1f6feb}\
section{padding-left:1em;margin:1.5em 0}dt{float:left;clear:left;width:8em;opacity:.7}\
dd{margin-left:8em}";

/// Renders findings, accepted findings, and the number of results of each host.
pub(super) fn page(taken_ns: Option<u64>, report: &CheckReport, summary: &str) -> String {
    let time = taken_ns.map(utc_text).unwrap_or_default();
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>rdmactl check {time}</title>\
         <style>{STYLE}</style></head><body>\n<h1>rdmactl check</h1>\n<p>{time} {TOOL}</p>\n\
         <p>{}</p>\n",
        text(summary)
    );
    for found in &report.findings {
        write_finding(&mut page, found);
    }
    if !report.accepted.is_empty() {
        page += "<h2>Accepted</h2>\n<table><tr><th>hosts</th><th>item</th><th>check</th><th>why</th></tr>\n";
        for (found, why) in &report.accepted {
            let cells = [
                names::fold(&found.finding.hosts),
                found.finding.subject.to_string(),
                found.check.id.to_owned(),
                why.clone(),
            ];
            write_row(&mut page, &cells);
        }
        page += "</table>\n";
    }
    page += "<h2>Results</h2>\n<table><tr><th>host</th>";
    let words = ["pass", "info", "warn", "fail", "unknown", "skip"];
    for word in words {
        let _ = write!(page, "<th>{word}</th>");
    }
    page += "</tr>\n";
    for host in &report.hosts {
        let counts = words.iter().map(|word| host.count(word).to_string());
        let cells: Vec<String> = std::iter::once(host.host.clone()).chain(counts).collect();
        write_row(&mut page, &cells);
    }
    page + "</table>\n</body></html>\n"
}

/// Escapes text for the terminal and for HTML: a line break of a host begins no line.
fn text(foreign: &str) -> String {
    xml(&escape(foreign))
}

fn write_row(page: &mut String, cells: &[String]) {
    *page += "<tr>";
    for cell in cells {
        let _ = write!(page, "<td>{}</td>", text(cell));
    }
    *page += "</tr>\n";
}

fn write_finding(page: &mut String, found: &CheckedFinding) {
    let CheckedFinding { check, finding, explains } = found;
    let class = match finding.severity {
        Severity::Fail => "fail",
        Severity::Warn => "warn",
        Severity::Unknown => "unknown",
        Severity::Info | Severity::Past => "info",
    };
    let _ = writeln!(
        page,
        "<section class=\"{class}\"><h3>{class}: {}: {}</h3><p>{}</p><dl>",
        text(&who(finding, true)),
        check.id,
        text(&finding.what)
    );
    let explains: Vec<&str> = explains.iter().copied().collect();
    let rule = format!("{} ({})", check.rule, check.origin);
    for (name, value) in [
        ("fix", finding.fix.as_deref().unwrap_or_default()),
        ("explains", &explains.join(", ")),
        ("read from", finding.source.as_deref().unwrap_or_default()),
        ("rule", &rule),
        ("consequence", check.consequence),
    ] {
        if !value.is_empty() {
            let _ = writeln!(page, "<dt>{name}</dt><dd><code>{}</code></dd>", text(value));
        }
    }
    *page += "</dl></section>\n";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::model::{Finding, HostResults, Subject, check};

    /// Returns the report of one finding.
    fn report(hosts: &[&str], subject: Subject, what: &str) -> CheckReport {
        let hosts = hosts.iter().map(ToString::to_string).collect();
        let finding = Finding::new(Severity::Fail, "port.down", subject, what);
        let found = CheckedFinding {
            check: check("port.down").unwrap(),
            finding: Finding { hosts, ..finding },
            explains: BTreeSet::default(),
        };
        CheckReport {
            findings: vec![found],
            hosts: Vec::new(),
            accepted: Vec::new(),
            usual: Vec::new(),
        }
    }

    #[test]
    fn text_of_a_host_is_no_markup() {
        let subject = Subject::Part("\"&\u{202e}".into());
        let report = report(&["<b>"], subject, "<script>\nfix: x");
        let report = CheckReport {
            hosts: vec![HostResults { host: "<i>".into(), ..HostResults::default() }],
            accepted: vec![(report.findings[0].clone(), "<u>".into())],
            ..report
        };
        let all = page(Some(0), &report, "<s>");
        for text in ["<b>", "<script>", "<i>", "<u>", "<s>", "\u{202e}", "\"&", "\nfix"] {
            assert!(!all.contains(text), "{text}: {all}");
        }
        assert!(all.contains("1970-01-01") && all.contains("&lt;script&gt;"), "{all}");
    }

    #[test]
    fn a_pair_names_its_hosts_once() {
        let heading = |hosts: &[&str], subject| {
            let all = page(None, &report(hosts, subject, "down"), "");
            let (_, heading) = all.split_once("<h3>").unwrap();
            heading.split_once("</h3>").unwrap().0.to_owned()
        };
        let pair = Subject::Pair("n1 -> n2".into());
        assert_eq!(heading(&["n1", "n2"], pair), "fail: n1 -&gt; n2: port.down");
        let port = Subject::Port("mlx5_0".into(), 1);
        assert_eq!(heading(&["n1", "n2"], port), "fail: n[1-2] mlx5_0/1: port.down");
    }
}
