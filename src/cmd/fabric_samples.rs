//! Combines the samples of `fabric errors` and `fabric routes` into one outcome. The worst sample
//! decides, as in `listing::run`. `fabric` reads and prints the samples.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use super::Outcome;
use super::fabric_clear::ListedCounters;
use crate::analyse::fabric::errors::{Thresholds, above};
use crate::analyse::fabric::find_port;
use crate::analyse::fabric::routes::routes;
use crate::model::HostReport;
use crate::names;
use crate::query::{FabricErrorRow, HopRow, hop_rows, subnets};

/// Error counters above their thresholds, in all samples of a run.
#[derive(Debug, Default)]
pub(super) struct FoundErrors {
    /// True after a sample with such a counter. A later sample does not reset the flag.
    is_any: Cell<bool>,
    /// Counters of the last sample.
    listed: RefCell<ListedCounters>,
}

impl FoundErrors {
    /// Adds the listed rows of a sample.
    pub(super) fn note_rows(&self, rows: &[FabricErrorRow<'_>]) {
        if rows.iter().any(|row| row.item.is_some()) {
            self.is_any.set(true);
        }
        self.listed.replace(ListedCounters::of(rows));
    }

    /// Adds the reports of a sample that is printed without rows.
    pub(super) fn note_reports(&self, reports: &[HostReport], thresholds: &Thresholds) {
        let mut fabrics = reports.iter().flat_map(|report| report.fabrics.iter().flatten());
        if fabrics.any(|fabric| above(fabric, thresholds).next().is_some()) {
            self.is_any.set(true);
        }
    }

    /// Returns the outcome of the run: a problem if a sample had a counter above its threshold.
    pub(super) fn outcome(&self, of_listing: Outcome) -> Outcome {
        if self.is_any.get() { Outcome::Problem } else { of_listing }
    }

    /// Returns the counters of the last sample.
    pub(super) fn into_listed(self) -> ListedCounters {
        self.listed.into_inner()
    }
}

/// Search for the routes between two nodes, in all samples of a run.
#[derive(Debug)]
pub(super) struct RouteSearch<'ends> {
    from: &'ends str,
    to: &'ends str,
    /// Combined outcome of the samples; `None` until a sample has a subnet.
    outcome: Option<Outcome>,
    /// Error of the last sample; `None` if a subnet had both nodes.
    missing: Option<String>,
}

impl<'ends> RouteSearch<'ends> {
    pub(super) fn new(from: &'ends str, to: &'ends str) -> Self {
        Self { from, to, outcome: None, missing: None }
    }

    /// Returns the hops of all routes in a sample. Also returns an error if no subnet has both
    /// nodes, unless the previous sample had the same error.
    pub(super) fn sample<'report>(
        &mut self,
        reports: &'report [HostReport],
        hosts_named: bool,
    ) -> (Vec<HopRow<'report>>, Option<String>) {
        let mut rows = Vec::new();
        let mut found: Option<Outcome> = None;
        let mut places_by_error: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for place in subnets(reports) {
            let Some(fabric) = place.fabric else { continue };
            let from = find_port(fabric, self.from);
            match from.and_then(|from| Ok((from, find_port(fabric, self.to)?))) {
                Ok((from, to)) => {
                    let routes = routes(fabric, from, to);
                    let is_complete =
                        !routes.is_empty() && routes.iter().all(|route| route.failure.is_none());
                    let this = if is_complete { Outcome::Complete } else { Outcome::Problem };
                    found = Some(this.after(found));
                    rows.extend(hop_rows(place, &routes));
                }
                Err(error) => {
                    let host = hosts_named.then(|| format!("{} ", place.report.host));
                    let host = host.unwrap_or_default();
                    let title = format!("{host}{}/{}", fabric.device, fabric.port);
                    places_by_error.entry(error.to_string()).or_default().push(title);
                }
            }
        }
        let missing = missing_ends(places_by_error).filter(|_| found.is_none());
        if let Some(this) = found.or_else(|| missing.as_ref().map(|_| Outcome::Nothing)) {
            self.outcome = Some(this.after(self.outcome));
        }
        let is_new = self.missing != missing;
        self.missing.clone_from(&missing);
        (rows, missing.filter(|_| is_new))
    }

    /// Returns the outcome of the run. A sample without both nodes counts like a sample of a
    /// listing without data.
    pub(super) fn outcome(&self, of_listing: Outcome) -> Outcome {
        match self.outcome {
            None => of_listing,
            Some(Outcome::Nothing) => Outcome::Nothing,
            Some(outcome) => of_listing.and(outcome),
        }
    }
}

/// Formats the errors of all subnets. Different errors get the places of their subnets, because
/// each subnet can lack another node.
fn missing_ends(places_by_error: BTreeMap<String, Vec<String>>) -> Option<String> {
    if places_by_error.len() < 2 {
        return places_by_error.into_keys().next();
    }
    let clause = |(error, places): (String, Vec<String>)| {
        format!("{}: {error}", names::listed(places.into_iter(), 3, "more subnets"))
    };
    Some(places_by_error.into_iter().map(clause).collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Counter, CounterGroup, CounterUnit, Fabric, FabricEnd, FabricNode, FabricNodeKind,
        FabricPort, ForwardingTable, Guid, SweepMethod, Via,
    };
    use crate::query::fabric_error_rows;

    const NO_NODE: &str = "and none has this GUID or LID";

    fn node(guid: u64, kind: FabricNodeKind, name: &str, ports: Vec<FabricPort>) -> FabricNode {
        FabricNode {
            guid: Guid(guid),
            system_image_guid: Guid(guid),
            kind,
            name: Some(name.into()),
            vendor_id: 0,
            device_id: 0,
            revision: 0,
            port_count: 1,
            partition_entries: None,
            enhanced_port_0: None,
            route: None,
            forwarding: None,
            ports,
        }
    }

    /// Returns a subnet of adapters with the LIDs 1, 2, …, all at one switch.
    fn fabric(device: &str, first_guid: u64, hosts: &[&str]) -> Fabric {
        let mut fabric = Fabric::empty(device, 1, SweepMethod::Smp);
        let mut switch_ports = vec![FabricPort { lid: 99, ..FabricPort::default() }];
        let mut table = vec![ForwardingTable::NO_PORT];
        for ((index, name), number) in hosts.iter().enumerate().zip(1_u8..) {
            let guid = first_guid + u64::from(number);
            let port = FabricPort {
                number: 1,
                guid: Some(Guid(guid)),
                lid: number.into(),
                peer: Some(FabricEnd { node: hosts.len(), port: number }),
                ..FabricPort::default()
            };
            fabric.nodes.push(node(guid, FabricNodeKind::Ca, name, vec![port]));
            let peer = Some(FabricEnd { node: index, port: 1 });
            switch_ports.push(FabricPort { number, peer, ..FabricPort::default() });
            table.push(number);
        }
        let switch = node(first_guid, FabricNodeKind::Switch, "leaf", switch_ports);
        fabric.nodes.push(FabricNode { forwarding: Some(ForwardingTable(table)), ..switch });
        fabric
    }

    fn report(fabrics: Vec<Fabric>) -> HostReport {
        HostReport { fabrics: Some(fabrics), ..HostReport::empty("n1", Via::Local) }
    }

    /// Returns the outcome of a run with these samples, and the new error of each sample.
    fn outcome_of(samples: Vec<Vec<Fabric>>) -> (Outcome, Vec<Option<String>>) {
        let mut search = RouteSearch::new("n1", "n2");
        let mut errors = Vec::new();
        for fabrics in samples {
            errors.push(search.sample(&[report(fabrics)], false).1);
        }
        (search.outcome(Outcome::Complete), errors)
    }

    #[test]
    fn worst_sample_of_routes_decides_the_outcome() {
        let good = || vec![fabric("mlx5_0", 0x100, &["n1", "n2"])];
        let missing = || vec![fabric("mlx5_0", 0x100, &["n1", "n3"])];
        let broken = || {
            let mut fabrics = good();
            fabrics[0].nodes[2].forwarding = Some(ForwardingTable(Vec::new()));
            fabrics
        };
        let error = Some(format!("no node is called n2, {NO_NODE}"));
        assert_eq!(outcome_of(vec![good(), good()]), (Outcome::Complete, vec![None, None]));
        assert_eq!(
            outcome_of(vec![missing(), good()]),
            (Outcome::Incomplete, vec![error.clone(), None])
        );
        // An error that did not change is printed only once.
        assert_eq!(
            outcome_of(vec![missing(), missing(), good(), missing()]),
            (Outcome::Incomplete, vec![error.clone(), None, None, error.clone()])
        );
        assert_eq!(outcome_of(vec![missing(), missing()]), (Outcome::Nothing, vec![error, None]));
        assert_eq!(outcome_of(vec![broken(), good()]).0, Outcome::Problem);
    }

    #[test]
    fn a_run_without_a_subnet_keeps_the_outcome_of_the_listing() {
        let mut search = RouteSearch::new("n1", "n2");
        assert_eq!(search.sample(&[report(Vec::new())], false).1, None);
        assert_eq!(search.outcome(Outcome::Nothing), Outcome::Nothing);
    }

    #[test]
    fn each_subnet_names_the_node_that_it_lacks() {
        let first = || fabric("mlx5_0", 0x100, &["n1", "n3"]);
        let second = |hosts: &[&str]| fabric("mlx5_1", 0x200, hosts);
        let (_, errors) = outcome_of(vec![vec![first(), second(&["n4", "n5"])]]);
        let expected = format!(
            "mlx5_1/1: no node is called n1, {NO_NODE}; mlx5_0/1: no node is called n2, {NO_NODE}"
        );
        assert_eq!(errors, [Some(expected)]);
        let (_, errors) = outcome_of(vec![vec![first(), second(&["n1", "n5"])]]);
        assert_eq!(errors, [Some(format!("no node is called n2, {NO_NODE}"))]);
        let (outcome, errors) = outcome_of(vec![vec![first(), second(&["n1", "n2"])]]);
        assert_eq!((outcome, errors), (Outcome::Complete, vec![None]));
    }

    #[test]
    fn an_error_of_an_earlier_sample_stays_a_problem() {
        let counter = Counter {
            name: "SymbolErrorCounter".into(),
            group: CounterGroup::Pma,
            value: Some(9),
            unit: CounterUnit::Events,
            saturated: false,
            read_ns: None,
            rate: None,
        };
        let good = report(vec![fabric("mlx5_0", 0x100, &["n1", "n2"])]);
        let mut bad = good.clone();
        bad.fabrics.as_mut().unwrap()[0].nodes[0].ports[0].counters = Some(vec![counter]);
        let thresholds = Thresholds::default();
        for (first, last, expected) in [
            (&good, &good, Outcome::Complete),
            (&bad, &good, Outcome::Problem),
            (&good, &bad, Outcome::Problem),
        ] {
            let (rows, document) = (FoundErrors::default(), FoundErrors::default());
            for report in [first, last] {
                let reports = std::slice::from_ref(report);
                rows.note_rows(&fabric_error_rows(reports, &thresholds));
                document.note_reports(reports, &thresholds);
            }
            assert_eq!(rows.outcome(Outcome::Complete), expected);
            assert_eq!(document.outcome(Outcome::Complete), expected);
        }
    }
}
