//! The ports of a listing that do not work, with the fixes.

use std::collections::HashSet;

use crate::analyse::findings::port_states;
use crate::model::Subject;
use crate::query::DeviceRow;
use crate::render::render_problems;

/// Formats the findings about the state of listed ports.
pub(super) fn below(rows: &[DeviceRow<'_>], hosts_named: bool) -> String {
    let port = |row: &DeviceRow<'_>| {
        let subject = Subject::Port(row.device?.name.clone(), row.port?.number);
        Some((row.report.host.clone(), subject))
    };
    let listed: HashSet<(String, Subject)> = rows.iter().filter_map(port).collect();
    let mut hosts = HashSet::new();
    let reports = rows.iter().map(|row| row.report).filter(|report| hosts.insert(&report.host));
    let mut found = port_states(reports);
    for finding in &mut found {
        let subject = &finding.subject;
        finding.hosts.retain(|host| listed.contains(&(host.clone(), subject.clone())));
    }
    found.retain(|finding| !finding.hosts.is_empty());
    render_problems(&found, hosts_named, "rdmactl ports -w 'state!=ACTIVE'")
}
