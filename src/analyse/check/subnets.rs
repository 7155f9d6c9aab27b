//! Checks of InfiniBand subnets: the findings of `analyse::fabric`.

use super::responding;
use super::results::Results;
use crate::analyse::fabric::{findings, has_tables};
use crate::model::{CHECKS, CheckScope, HostReport};

pub(super) fn judge(reports: &[&HostReport], results: &mut Results<'_>) {
    let ids: Vec<&'static str> = CHECKS
        .iter()
        .filter(|check| check.scope == CheckScope::Subnet)
        .map(|check| check.id)
        .collect();
    for (host, report) in responding(reports) {
        for fabric in report.fabrics.iter().flatten() {
            let found = findings(fabric, &report.host);
            for id in ids.iter().filter(|id| !found.iter().any(|found| found.code == **id)) {
                let is_of_routes = id.starts_with("fabric.route");
                if is_of_routes && !has_tables(fabric) {
                    results.skip(host, id, "no forwarding table was read");
                } else if fabric.is_partial || fabric.nodes.is_empty() {
                    results.unknown(host, id, "the sweep is incomplete");
                } else {
                    results.pass(host, id);
                }
            }
            for one in found {
                results.found(host, one);
            }
        }
    }
}
