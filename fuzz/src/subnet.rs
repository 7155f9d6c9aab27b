//! Properties of each subnet, independent of the data of its nodes or of a file.

use rdmactl::analyse::fabric::errors::Thresholds;
use rdmactl::analyse::fabric::{find_port, findings, routes};
use rdmactl::model::{Fabric, FabricEnd, HostReport};
use rdmactl::query::{
    FabricCounters, FabricErrors, FabricLinks, FabricManagers, FabricNodes, FabricPartitions,
    FabricProblems, FabricRoutes, FabricSubnets, FabricSwitches, fabric_counter_rows,
    fabric_error_rows, fabric_link_rows, fabric_node_rows, fabric_problem_rows, fabric_switch_rows,
    hop_rows, manager_rows, partition_rows, subnet_rows, subnets,
};
use rdmactl::render::{FabricDocument, fabric_dot, fabric_tree, notes, render_problems, to_json};
use rdmactl::topology::LeafSwitches;

use super::shown::{is_harmless, rows};

/// Maximum number of hops of a route, with both ends.
const MAX_HOPS: usize = 65;

/// Checks that the subnets of a report are consistent, then judges and prints them. Returns the
/// length of the JSON.
pub(crate) fn check(report: HostReport, thresholds: &Thresholds) -> usize {
    report.fabrics.iter().flatten().for_each(is_consistent);
    judge(report, thresholds)
}

/// Judges and prints the subnets of a report, which may be inconsistent. Routes end, and no
/// format controls the terminal. Returns the length of the JSON.
pub(crate) fn judge(report: HostReport, thresholds: &Thresholds) -> usize {
    for fabric in report.fabrics.iter().flatten() {
        drawn(fabric);
        let _ = LeafSwitches::of_fabric(fabric, std::slice::from_ref(&report));
    }
    let reports = [report];
    rows::<FabricSubnets>(&subnet_rows(&reports));
    rows::<FabricNodes>(&fabric_node_rows(&reports));
    rows::<FabricLinks>(&fabric_link_rows(&reports));
    rows::<FabricSwitches>(&fabric_switch_rows(&reports));
    rows::<FabricPartitions>(&partition_rows(&reports));
    rows::<FabricManagers>(&manager_rows(&reports));
    rows::<FabricProblems>(&fabric_problem_rows(&reports));
    rows::<FabricErrors>(&fabric_error_rows(&reports, thresholds));
    rows::<FabricCounters>(&fabric_counter_rows(&reports));
    for place in subnets(&reports) {
        let Some(fabric) = place.fabric else { continue };
        let found = routes_of_first_nodes(fabric);
        rows::<FabricRoutes>(&hop_rows(place, &found));
    }
    for note in notes(&reports, true, false) {
        assert!(is_harmless(&note.text), "{:?}", note.text);
        assert!(note.fix.is_none_or(|fix| is_harmless(&fix)));
    }
    let json = serde_json::to_vec(&reports[0]).expect("a report has a JSON form");
    assert!(serde_json::from_slice::<HostReport>(&json).expect("and back") == reports[0]);
    to_json(&FabricDocument::new(None, &reports, &findings)).expect("a document").len()
}

/// Checks that both ends of each link exist, and that ports are in order.
fn is_consistent(fabric: &Fabric) {
    for (near, far) in fabric.links() {
        assert!(fabric.port(near).is_some() && fabric.port(far).is_some());
    }
    for node in &fabric.nodes {
        assert!(node.ports.is_sorted_by(|one, next| one.number < next.number));
        assert!(node.route.as_ref().is_none_or(|route| route.len() <= 63));
        assert!(node.forwarding.as_ref().is_none_or(|table| table.0.len() <= 0xc000));
    }
}

fn drawn(fabric: &Fabric) {
    for text in [
        render_problems(&findings(fabric, "fuzzed"), true, "rdmactl fabric problems"),
        fabric_tree(fabric),
        fabric_dot(fabric),
    ] {
        assert!(is_harmless(&text), "{text:?}");
    }
}

/// Returns the routes between the first two nodes, found by their names.
fn routes_of_first_nodes(fabric: &Fabric) -> Vec<routes::FabricRoute> {
    let [first, second, ..] = &fabric.nodes[..] else { return Vec::new() };
    let port = |name: &str| -> Option<FabricEnd> {
        match find_port(fabric, name) {
            Ok(end) => {
                assert!(fabric.port(end).is_some());
                Some(end)
            }
            Err(error) => {
                assert!(error.to_string().len() <= 8 * 64 * 4 + 4 * name.len() + 200);
                None
            }
        }
    };
    let found = port(&first.title()).zip(port(&second.title()));
    let found = found.map(|(from, to)| routes::routes(fabric, from, to)).unwrap_or_default();
    for route in &found {
        assert!(!route.hops.is_empty() && route.hops.len() <= MAX_HOPS, "{route:?}");
        for hop in &route.hops {
            assert!(hop.node < fabric.nodes.len());
        }
    }
    found
}
