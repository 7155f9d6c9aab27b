//! Names a rail by its number and its ports, for the captions of matrices.

use std::collections::BTreeMap;

use super::escape;
use crate::model::ping::{PingReport, RoutePort};
use crate::names;

const MAX_PORTS: usize = 3;

/// Formats a rail with at most three ports: `rail 0 (rxe0/1 on eth1)`, or `rail 0 (n[1-3] rxe0/1
/// on eth1, n4 rxe1/1 on eth2)` if the ports differ; `rail 0` without known ports, or with more.
pub(super) fn rail_title(report: &PingReport, rail: usize) -> String {
    let mut ports: BTreeMap<usize, &RoutePort> = BTreeMap::new();
    for pair in report.pairs.iter().filter(|pair| pair.rail == rail) {
        let Some(route) = &pair.route else { continue };
        ports.entry(pair.source).or_insert(&route.source);
        ports.entry(pair.target).or_insert(&route.target);
    }
    let mut hosts_of: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (host, port) in ports {
        let name = report.hosts.get(host).map_or("?", |host| &host.name);
        hosts_of.entry(port.place()).or_default().push(name);
    }
    if hosts_of.is_empty() || hosts_of.len() > MAX_PORTS {
        return format!("rail {rail}");
    }
    let is_one = hosts_of.len() == 1;
    let group = |(port, hosts)| {
        if is_one { port } else { format!("{} {port}", names::fold::<Vec<&str>>(hosts)) }
    };
    let groups: Vec<String> = hosts_of.into_iter().map(group).collect();
    format!("rail {rail} ({})", escape(&groups.join(", ")))
}
