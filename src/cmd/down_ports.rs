//! The ports of a listing that do not work, with the fixes.

use std::collections::HashSet;

use crate::analyse::findings::{HostFacts, findings};
use crate::model::Subject;
use crate::query::DeviceRow;
use crate::render::render_problems;

/// Codes of the findings about the state of a port.
const CODES: [&str; 2] = ["port.down", "port.not_active"];

/// Formats the findings about the state of listed ports.
pub(super) fn below(rows: &[DeviceRow<'_>], hosts_named: bool) -> String {
    let listed: HashSet<(&str, Subject)> = rows
        .iter()
        .filter_map(|row| {
            let subject = Subject::Port(row.device?.name.clone(), row.port?.number);
            Some((row.report.host.as_str(), subject))
        })
        .collect();
    let mut hosts = HashSet::new();
    let reports = rows.iter().map(|row| row.report).filter(|report| hosts.insert(&report.host));
    let reports: Vec<_> = reports.collect();
    let facts = reports.into_iter().map(|report| HostFacts {
        report,
        failure: report.failure.as_ref(),
        connections: &[],
    });
    let mut found = findings(facts);
    found.retain(|finding| CODES.contains(&finding.code));
    for finding in &mut found {
        let Subject::Port(..) = finding.subject else { continue };
        finding.hosts.retain(|host| listed.contains(&(host.as_str(), finding.subject.clone())));
    }
    found.retain(|finding| !finding.hosts.is_empty());
    let text = render_problems(&found, hosts_named, "rdmactl ports -w 'state!=ACTIVE'");
    if text.is_empty() { text } else { format!("\n{text}") }
}
